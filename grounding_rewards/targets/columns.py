"""Targets as columns: one row a sample, its places as one ragged table."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, Literal, get_args

import numpy as np
from msgspec.structs import force_setattr
from numpy.typing import NDArray

from grounding_rewards.arrays import Floats, made, nowhere, read_only
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import CODES, SPACES, UNDECLARED, CoordSpace, as_space, convert, moves_px
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.targets.alternatives import Alternatives, alternatives_of, bare_places
from grounding_rewards.targets.box_format import BoxFormat, as_box_format
from grounding_rewards.targets.read import read_with_form
from grounding_rewards.targets.regions import Regions, bounding_box, converted, regions_of
from grounding_rewards.targets.requirements import Requirements, surely_usable, violations
from grounding_rewards.targets.suspects import described, suspect_targets
from grounding_rewards.targets.target import NONE, NativeForm, Region, RegionKind, Target
from grounding_rewards.targets.typed import Boxes, Rows, extent_of, read_typed, rows_of

BadTarget = Literal["raise", "abstain"]

_BAD_TARGETS = get_args(BadTarget)


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of n samples, read once and scored any number of times.

    Attributes:
        rows: the targets as read, None where unreadable.
        errors: why rows could not be read or used (``bad_target="abstain"``), by row, in order.
        regions: every sample's places.
        known_image_sizes: (n, 2) width and height of the original images; NaN where a target does not say, None where
            none does.
        known_model_image_sizes: the same of the images that the model saw.
        spaces: the spaces of the places; None stands for places that name none.
        default: the space of places that name none.
        into: the space into which all places were brought; None before that.
        box_format: how boxes were declared to be written; None where nothing said so, and they were read as xyxy.
        flat: True where any place is without width or height.
        in_image: True where every place is known to lie in its image.
        own_form: rows that were in the recipe's own form, which has its own way to write boxes.
        odd: the targets, by row, that may be other than a lone box; None where any may be.
        span: the least number of all boxes, the largest x and y, and the least of each box's largest.
        has_actions_or_refusals: True where any row is unreadable, a refusal, or has an action.
        needs_row_checks: True where any row is unreadable, a refusal, or has an action with another end.
        with_ends: rows of which an action has another end, which is a place, too.
    """

    rows: Sequence[Target | None]
    errors: Mapping[int, TargetError]
    regions: Regions
    known_image_sizes: Floats | None
    known_model_image_sizes: Floats | None
    spaces: frozenset[CoordSpace | None]
    span: tuple[float, float, float, float]
    has_actions_or_refusals: bool
    needs_row_checks: bool = False
    with_ends: tuple[int, ...] = ()
    default: CoordSpace | None = None
    into: CoordSpace | None = None
    box_format: BoxFormat | None = None
    flat: bool = False
    in_image: bool = False
    own_form: Collection[int] = frozenset()
    odd: Mapping[int, Target | None] | None = None
    _ready: dict[Any, Targets] = field(default_factory=dict, repr=False)  # prepared before, by what was asked for
    _looked: set[Requirements] = field(default_factory=set, repr=False)  # for what they were looked through
    _warned: set[str] = field(default_factory=set, repr=False)  # shared by what is prepared of the same targets
    _refused: Mapping[int, TargetError] = field(default_factory=dict, repr=False)  # why images cannot be resized
    _as_written: list[Alternatives] = field(default_factory=list, repr=False)  # of the rows, whatever the space

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def image_sizes(self) -> Floats:
        """(n, 2) width and height of the original image; NaN where unknown."""
        return self._unknown if self.known_image_sizes is None else self.known_image_sizes

    @cached_property
    def model_image_sizes(self) -> Floats:
        """(n, 2) width and height of the image that the model saw; NaN where unknown."""
        return self._unknown if self.known_model_image_sizes is None else self.known_model_image_sizes

    @cached_property
    def _unknown(self) -> Floats:
        sizes = nowhere(len(self.rows), 2)
        read_only(sizes)
        return sizes

    @cached_property
    def refusal(self) -> NDArray[np.bool_]:
        """(n,) True where nothing on the screen fits."""
        return self._marked(lambda row: row.refusal)

    @cached_property
    def acts(self) -> NDArray[np.bool_]:
        """(n,) True where the target names an action (``rows`` has it)."""
        return self._marked(lambda row: row.acts)

    def _marked(self, mark: Callable[[Target], bool]) -> NDArray[np.bool_]:
        """Return (n,) True where a row that is there has a mark that rows of places alone have not."""
        marks = np.zeros(len(self.rows), dtype=np.bool_)
        if self.has_actions_or_refusals:
            marks[[row for row, target in self._odd() if target is not None and mark(target)]] = True
        read_only(marks)
        return marks

    @cached_property
    def alternatives(self) -> Alternatives:
        """Every place with the action to do there, and actions that need no place."""
        if not self._as_written:
            collect = alternatives_of if self.has_actions_or_refusals else bare_places
            self._as_written.append(collect(dict(self._odd()), self.regions, len(self.rows)))
        alternatives = self._as_written[0]
        to, into = alternatives.arguments.to, self.into
        if to is None:
            return alternatives
        own = [(row.space if row and row.space else self.default) or into for row in self.rows]
        sizes = self.image_sizes[alternatives.row], self.model_image_sizes[alternatives.row]
        ends, moves = to.copy(), nowhere(len(to), 2)
        for space in set(own):
            mine = np.array([own[row] == space for row in alternatives.row.tolist()], dtype=np.bool_)
            moves[mine] = moves_px(alternatives.starts, to, space, *sizes)[mine]
            if space is not None and into is not None:
                ends[mine] = convert(to, space, into, *sizes)[mine]
        return alternatives.with_ends(ends, moves)

    def _odd(self) -> Iterable[tuple[int, Target | None]]:
        return enumerate(self.rows) if self.odd is None else self.odd.items()

    @property
    def valid(self) -> NDArray[np.bool_]:
        """(n,) False where the target could not be read or used."""
        valid = np.ones(len(self.rows), dtype=np.bool_)
        if self.errors:
            valid[list(self.errors)] = False
        return valid

    @cached_property
    def space_codes(self) -> NDArray[np.int8]:
        """(n,) index into ``spaces.SPACES`` of each row's space, or ``spaces.UNDECLARED``."""
        if len(self.spaces) == 1:
            (space,) = self.spaces
            return np.full(len(self.rows), UNDECLARED if space is None else CODES[space], dtype=np.int8)
        spaces = [(row and row.space) or self.default for row in self.rows]
        return np.array([UNDECLARED if space is None else CODES[space] for space in spaces], dtype=np.int8)

    @classmethod
    def from_list(
        cls,
        items: Iterable[Any],
        *,
        native: NativeForm | None = None,
        space: CoordSpace | str | None = None,
        bad_target: BadTarget = "raise",
        label_free: bool = False,
        box_format: str | None = None,
    ) -> Targets:
        """Read targets.

        Args:
            items: n targets, each a mapping, a JSON string, or a bare value in the ``native`` form.
            native: a recipe's own form (``Recipe.native``), tried first.
            space: the space of targets that do not name one; None leaves that to the recipe.
            bad_target: ``"raise"``, or ``"abstain"`` to keep unreadable rows as invalid.
            label_free: for recipes that compare nothing with targets: they need no right answer, None will do, and
                right answers are dropped.
            box_format: how boxes are written: ``"xyxy"`` (x1 y1 x2 y2), another of ``BoxFormat``; a ``native`` form
                ignores it. None is xyxy, too, but numbers that cannot be that are reported.

        Raises:
            TargetError: a target cannot be read and ``bad_target`` is ``"raise"``.
            RecipeError: there is no such box format.

        >>> targets = Targets.from_list([{"bbox": [0, 0, 10, 20]}, {"refusal": True}])
        >>> targets.regions.box, targets.refusal
        (array([[ 0.,  0., 10., 20.]]), array([False,  True]))
        >>> Targets.from_list([[30, 40, 10, 20]], box_format="xywh").regions.box
        array([[30., 40., 40., 60.]])
        """
        declared, written = None if space is None else as_space(space), as_box_format(box_format)
        _check_choice(bad_target)
        if not isinstance(items, list) and isinstance(items, str | Mapping):
            raise TypeError(
                f"targets: got one {type(items).__name__}; expected a list with one target for each response"
            )
        given: Any = items if type(items) is Boxes else list(items)
        targets = _read(given, range(len(given)), bad_target, native, declared, label_free, written)
        return targets.unlabelled() if label_free else targets

    def unlabelled(self) -> Targets:
        """Strip right answers, leaving names and sizes alone.

        >>> Targets.from_list([{"bbox": [0, 0, 10, 20], "id": "a"}]).unlabelled().rows[0]
        Target(id='a')
        """
        if not self.has_actions_or_refusals and not len(self.regions.row):
            return self
        blank = [row and row.changed((), refusal=False, action=None, actions=NONE) for row in self.rows]
        stripped = _columns(tuple(blank), dict(self.errors))
        sizes = self._known
        return stripped.changed(known_image_sizes=sizes[0], known_model_image_sizes=sizes[1], default=self.default)

    def changed(self, **columns: Any) -> Targets:
        """Return targets with other columns; nothing that was prepared of these is kept."""
        own = vars(self).copy()  # a tenth of the time of dataclasses.replace, which calls __init__ with every field
        for name in _CACHED:
            own.pop(name, None)
        new = object.__new__(Targets)
        vars(new).update(own, _ready={}, _looked=set())
        vars(new).update(columns)
        return new

    def suspicions(self, needs: Requirements) -> list[str]:
        """Return one line for each thing that looks wrong with them to a recipe and was not returned before."""
        if self.in_image and self.box_format is None and not (self.flat or self.has_actions_or_refusals or self.errors):
            return []  # mostly so
        if needs in self._looked:
            return []
        self._looked.add(needs)
        lines = [line for line in described(suspect_targets(self, needs)) if line not in self._warned]
        self._warned.update(lines)
        return lines

    @property
    def has_warned(self) -> bool:
        """True where ``suspicions`` has returned lines, of these or of what was prepared of them."""
        return bool(self._warned)

    def sample(self, row: int) -> str | int:
        """Return the name of a row in errors: the target's id, else the row number."""
        target = self.rows[row]
        return row if target is None or target.id is None else str(target.id)

    def prepare(
        self,
        needs: Requirements,
        *,
        image_sizes: Floats | None = None,
        model_image_sizes: Floats | None = None,
        bad_target: BadTarget = "raise",
    ) -> Targets:
        """Convert all places into one space and check them against a recipe's requirements; the result is read-only.

        Args:
            needs: the requirements (``Recipe.requirements``).
            image_sizes: (n, 2) sizes from outside; they override the targets' own.
            model_image_sizes: (n, 2) the same for the images that the model saw.
            bad_target: what to do with a row that lacks something, or that could not be read before.

        Raises:
            TargetError: a row lacks a size or a space, lies far outside its image, or is of a kind not accepted.
        """
        _check_choice(bad_target)
        sizes = image_sizes, model_image_sizes
        key: Any = needs, bad_target
        if image_sizes is not None or model_image_sizes is not None:
            if len(self) != 1:  # mostly other sizes at each call
                return self.sized(needs.resizing, *sizes)._prepared(needs, bad_target)
            key = needs, bad_target, *[None if each is None else each.tobytes() for each in sizes]
        ready = self._ready.get(key)
        if ready is None:
            own = [None if each is None else each.copy() for each in sizes]  # the caller may change theirs
            ready = self.sized(needs.resizing, *own)._prepared(needs, bad_target)
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            self._ready[key] = ready
        return ready

    def sized(
        self, resizing: Resizing | None, image_sizes: Floats | None, model_image_sizes: Floats | None
    ) -> Targets:  # fmt: skip
        """Return targets with sizes from outside, and with what a resizing makes of those of original images."""
        return self.changed(
            known_image_sizes=_override(self.known_image_sizes, image_sizes),
            known_model_image_sizes=_override(self.known_model_image_sizes, model_image_sizes),
        )._resized(resizing)

    def _resized(self, resizing: Resizing | None) -> Targets:
        """Compute the size that the model saw where only the original's is known."""
        if resizing is None or self.known_image_sizes is None:
            return self
        known = self.model_image_sizes
        missing = np.where(np.isnan(known), self.known_image_sizes, np.nan)
        made, refused = resizing.sizes(missing)
        why = {
            row: TargetError(self.sample(row), "image_size", missing[row].tolist(), f"what can be resized: {text}")
            for row, text in refused.items()
        }
        return self.changed(known_model_image_sizes=np.where(np.isnan(known), made, known), _refused=why)

    def _prepared(self, needs: Requirements, bad_target: BadTarget) -> Targets:
        declared = self
        if needs.default is not None and None in self.spaces:
            declared = self.changed(default=needs.default, spaces=self.spaces - {None} | {needs.default})
        sure = surely_usable(declared, needs)
        usable = declared if sure else declared._checked(needs, bad_target)
        prepared = usable.changed(
            regions=usable._regions(needs.into), spaces=usable.spaces and frozenset({needs.into}), into=needs.into,
            in_image=sure,
        )  # fmt: skip
        read_only(*prepared._known)
        prepared.regions.make_read_only()
        return prepared

    def _checked(self, needs: Requirements, bad_target: BadTarget) -> Targets:
        violated = violations(self, needs)
        if not violated and not self.errors:
            return self
        for row in violated.keys() & self._refused.keys():
            if violated[row].field == "model_image_size":
                violated[row] = self._refused[row]  # why there is no size, rather than that there is none
        errors = dict(sorted({**violated, **self.errors}.items()))  # in order of rows: the first is the one raised
        if bad_target == "raise":
            raise next(iter(errors.values()))
        # A size that cannot be used, such as 0, must not divide what is converted.
        known = [None if sizes is None else sizes.copy() for sizes in self._known]
        for sizes in known:
            if sizes is not None:
                sizes[list(errors)] = np.nan
        return self.changed(errors=errors, known_image_sizes=known[0], known_model_image_sizes=known[1])

    def _regions(self, into: CoordSpace) -> Regions:
        """Return the places, brought into a space."""
        if self.spaces <= {into}:
            return self.regions
        regions = self.regions
        codes = self.space_codes[regions.row]
        for space in SPACES:
            if space != into and space in self.spaces:
                regions = converted(
                    regions, codes == CODES[space], space, into, self.image_sizes, self.model_image_sizes
                )
        return regions

    @property
    def _known(self) -> tuple[Floats | None, Floats | None]:
        return self.known_image_sizes, self.known_model_image_sizes


_CACHED = [name for name, value in vars(Targets).items() if isinstance(value, cached_property)]
_BOXES = frozenset({RegionKind.BBOX})
_MOST_READY = 64
MOST_KNOWN = 1024


def _check_choice(bad_target: str) -> None:
    if bad_target not in _BAD_TARGETS:
        raise RecipeError(f"bad_target: got {bad_target!r}; expected one of {', '.join(_BAD_TARGETS)}")


def _override(own: Floats | None, outside: Floats | None) -> Floats | None:
    if own is None or outside is None:
        return own if outside is None else outside
    return np.where(np.isnan(outside), own, outside)


def _read(
    given: Any, numbers: Sequence[int], bad_target: BadTarget, native: NativeForm | None, space: CoordSpace | None,
    label_free: bool, box_format: BoxFormat | None,
) -> Targets:  # fmt: skip
    """Read targets, at once what can be and each other with care; ``numbers`` are their rows in errors."""
    plain = box_format in (None, BoxFormat.XYXY)
    rows: Any = given.as_targets(native, space) if plain and type(given) is Boxes else None
    if rows is None:
        given = list(given)
        rows = read_typed(given, native, space) if plain else [None] * len(given)
    if type(rows) is Boxes:
        own_form = range(len(rows)) if native and not rows.named else frozenset[int]()
        lone = _boxes_alone(rows, box_format=box_format, own_form=own_form)
        if not rows.odd:
            return lone
        odd = given.take(rows.odd) if type(given) is Boxes else [given[row] for row in rows.odd]
        others = [numbers[row] for row in rows.odd]
        return _joined(lone, rows, _read(odd, others, bad_target, native, space, label_free, box_format))
    if space is not None:  # nobody else has these targets yet
        bare = [row for row in rows if row is not None and row.space is None]
        deque(map(force_setattr, bare, repeat("space"), repeat(space)), maxlen=0)
    first_form = native and given and type(given[0]) is list  # those that are read at once are of one type
    own = {index for index, row in enumerate(rows) if row} if first_form else set[int]()
    errors: dict[int, TargetError] = {}
    known: dict[Any, tuple[Target, bool]] = {}  # what many rollouts of one sample share is read once
    for index in [index for index, row in enumerate(rows) if row is None]:
        item = given[index]
        try:
            key = content(item)
            read = None if key is None else known.get(key)
            if read is None:
                read = read_with_form(item, numbers[index], native, space, label_free, box_format)
                if len(known) >= MOST_KNOWN:
                    known.clear()
                if key is not None:
                    known[key] = read
            rows[index] = read[0]
            if read[1]:
                own.add(index)
        except TargetError as error:
            if bad_target == "raise":
                raise
            errors[index] = error
    return _columns(tuple(rows), errors, box_format=box_format, own_form=frozenset(own))


def content(target: Any) -> Any:
    """Return what a plain target is known by, to read it once; None for others, which are read each time."""
    if type(target) is str:
        return target
    if type(target) not in (list, dict) or (type(target) is dict and "extra" in target):
        return None
    try:
        return pickle.dumps(target)
    except Exception:  # somebody's own object among the values, which the reader complains of
        return None


def _joined(lone: Targets, boxes: Boxes, odd: Targets) -> Targets:
    """Put odd targets among lone boxes."""
    places, count = boxes.odd, len(lone) + len(odd)
    at, others = np.array(places), dict(zip(places, odd.rows, strict=True))
    lone_at = np.delete(np.arange(count), at)

    def made_rows(chosen: Sequence[int]) -> list[Target | None]:
        some = np.searchsorted(lone_at, [row for row in chosen if row not in others]).tolist()
        rows = iter(boxes.take(some))
        return [others[row] if row in others else next(rows) for row in chosen]

    def sizes(of_lone: Floats | None, of_odd: Floats | None) -> Floats | None:
        if of_lone is None and of_odd is None:
            return None
        joined = nowhere(count, 2)
        joined[lone_at], joined[at] = (np.nan if known is None else known for known in (of_lone, of_odd))
        return joined

    (left, right, bottom, end), (other_left, other_right, other_bottom, other_end) = lone.span, odd.span
    return odd.changed(
        rows=Rows(count, made_rows, others), odd=others,
        errors={places[row]: error for row, error in odd.errors.items()},
        regions=odd.regions.among(lone.regions.box, at, lone_at),
        known_image_sizes=sizes(lone.known_image_sizes, odd.known_image_sizes),
        known_model_image_sizes=sizes(lone.known_model_image_sizes, odd.known_model_image_sizes),
        spaces=lone.spaces | odd.spaces, flat=lone.flat or odd.flat,
        span=(min(left, other_left), max(right, other_right), max(bottom, other_bottom), min(end, other_end)),
        with_ends=tuple([places[row] for row in odd.with_ends]),
        own_form=frozenset([*(lone_at.tolist() if lone.own_form else ()), *[places[row] for row in odd.own_form]]),
    )  # fmt: skip


def _boxes_alone(rows: Boxes, **more: Any) -> Targets:
    """Columns of lone boxes, as typed reading has them."""
    beside, (span, flat, _) = rows.beside, rows.extent
    return made(
        Targets, rows=rows, errors={},
        regions=made(Regions, row=np.arange(len(rows)), box=rows.box, kinds=_BOXES, one_per_row=True, shapes=None),
        known_image_sizes=beside.get("image_size"), known_model_image_sizes=beside.get("model_image_size"),
        spaces=frozenset(beside.get("space", (rows.space,))), span=span, flat=flat,
        has_actions_or_refusals=False, needs_row_checks=False, with_ends=(), default=None, into=None, in_image=False,
        odd={}, _ready={}, _looked=set(), _warned=set(), _refused={}, _as_written=[], **more,
    )  # fmt: skip


def _columns(
    rows: tuple[Target | None, ...],
    errors: dict[int, TargetError],
    box_format: BoxFormat | None = None,
    own_form: Collection[int] = frozenset(),
) -> Targets:
    owners, places, boxes = [], list[Region | None](), list[tuple[float, ...]]()
    with_ends, irregular, acts = [], False, False
    spaces: set[CoordSpace | None] = set()
    for row, target in enumerate(rows):
        irregular = irregular or target is None or target.refusal
        if target is None:
            continue
        if target.acts:
            acts = True
            if target.ends:
                with_ends.append(row)  # the end is converted, so that its space counts as a place's
                spaces.add(target.space)
        if target.bbox or target.places:
            spaces.add(target.space)
            for place in target.places if target.bbox is None else (None,):
                owners.append(row)
                places.append(place)
                boxes.append(bounding_box(place) if place else target.bbox or ())
    regions = regions_of(owners, places, boxes, len(rows))
    span, flat, _ = extent_of(regions.box)
    return Targets(
        rows,
        errors,
        regions,
        rows_of([row.image_size if row else None for row in rows]),
        rows_of([row.model_image_size if row else None for row in rows]),
        frozenset(spaces),
        span,
        irregular or acts,
        irregular or bool(with_ends),
        tuple(with_ends),
        flat=flat,
        box_format=box_format,
        own_form=own_form,
    )
