"""Check that a verifier keeps its promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import Arguments, columns
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.errors import TargetError
from grounding_rewards.parsing.responses import MAX_LENGTH
from grounding_rewards.rollouts import Predictions, Reason, Rollouts, group_codes
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL, into_space
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.requirements import Requirements
from grounding_rewards.testing._checks import brief, close, declared, members, quietly, same_bits
from grounding_rewards.testing.hostile import short_responses
from grounding_rewards.verifiers.terms import VERIFIER, Verifier


def check_verifier(
    verifier: Verifier,
    *,
    scale: bool = False,
    translation: bool = False,
    seed: int = 0,
    extras: Mapping[str, Sequence[Any]] | None = None,
    target_extras: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Check the promises of every verifier, over rollouts of all kinds in all four spaces.

    Some 900 rollouts: boxes (also without extent, beside the image, with a marked point), polygons, circles, points,
    several places, refusals, actions with arguments and unusable targets; points on, in, beside and far from them (up
    to ``COORDINATE_LIMIT``), boxes (inverted, empty, huge), ragged lists of answers, and no place for every reason.
    Responses have up to 64 KiB.

    Checked: it declares finite ``low`` <= ``high`` and known ``needs``, the same ones at every call; it returns (n,)
    float64, finite and within these bounds, also for no rows; it neither raises, warns, prints, writes into its inputs
    (arrays cannot be written into) nor changes what all code shares, such as seeds; rows in another order have the same
    scores; each row alone (each group, where it needs groups) scores as in the batch, to the last bit (but for rounding
    where it needs groups); it has a hash, can be pickled, and copies equal it. Without image sizes it may raise
    TargetError, and nothing else.

    Args:
        verifier: what to check.
        scale: also check that nothing changes when predictions, targets and image sizes grow by a power of two.
        translation: also check that nothing changes when predictions and targets move by whole numbers.
        seed: order and groups of the rollouts.
        extras: values of the further columns that it reads, by name; the rollouts have them in turn.
        target_extras: what it reads of the ``extra`` of targets; the targets have them in turn.

    Raises:
        AssertionError: a promise is broken; names the verifier, the row and what is in it.

    >>> from grounding_rewards.verifiers import Hit
    >>> check_verifier(Hit(), scale=True, translation=True)
    >>> check_verifier(Hit(whole_edges=True), scale=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: Hit(...) returns ... for row ... (as it was and grown by 4): Row(target={'bbox': ...
    """
    name, columns = brief(verifier), tuple(extras or ())
    rows = with_extras(generated_rows(seed), extras or {}, target_extras)
    with declared(name, VERIFIER, verifier):
        for turn, space in enumerate(CoordSpace):
            # A quarter of the groups in each space: all of them in all four would take four times as long.
            some = tuple(row for row in rows if row.group % len(CoordSpace) == turn)
            _Check(name, verifier, some, columns).space(space)
        check = _Check(name, verifier, rows, columns)
        check.without_sizes()
        if scale:
            check.moved("grown by 4", 4.0, (0.0, 0.0))
            check.moved("shrunk by 2", 0.5, (0.0, 0.0))
        if translation:
            check.moved("moved by (24, -16)", 1.0, (24.0, -16.0))


Equal = Callable[[Any, Any], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Check:
    name: str
    verifier: Verifier
    rows: tuple[Row, ...]
    columns: tuple[str, ...]

    @property
    def grouped(self) -> bool:
        return "groups" in self.verifier.needs

    @cached_property
    def first(self) -> Floats:
        """The scores in pixels, before anything moves."""
        return self.scores(range(len(self.rows)), CoordSpace.PIXEL, "in a batch")

    def space(self, space: CoordSpace) -> None:
        """Run the checks of one space."""
        rows = range(len(self.rows))
        batch = self.scores(rows, space, "in a batch")
        groups = members([row.group for row in self.rows] if self.grouped else None, len(rows))
        for chosen in groups[::2]:  # half of them: single calls take most of the time
            self.agree(batch, chosen, self.scores(chosen, space, "alone"), f"{space}, in a batch and alone")
        order = np.random.default_rng(len(rows)).permutation(len(rows)).tolist()
        self.agree(batch, order, self.scores(order, space, "shuffled"), f"{space}, in a batch and in another order")
        self.agree(batch, rows, self.scores(rows, space, "again"), f"{space}, the first time and the second")
        for few in (range(2), range(4)):  # as many as a point and a box have numbers
            scores = self.scores(few, space, f"{len(few)} rows")
            if not self.grouped:  # a few rows may cut a group in two
                self.agree(batch, few, scores, f"{space}, in a batch and in {len(few)} rows")
        self.scores([], space, "no rows")  # no rows: reductions fail on them
        self.scores(rows, space, "with nothing but its needs", bare=self.verifier.needs)

    def without_sizes(self) -> None:
        """Check that a missing size that the formula needs is a TargetError, and that nothing else is an error."""
        unknown = [replace(row, image_size=(NAN, NAN)) for row in self.rows]
        try:
            self.sound(self.table(unknown, CoordSpace.PIXEL), unknown, "without image sizes")
        except AssertionError as error:
            if not isinstance(error.__cause__, TargetError):  # the one error that is allowed
                raise

    def moved(self, how: str, factor: float, shift: tuple[float, float]) -> None:
        """Check moved rollouts. A point moved off the image keeps its reason: its offset from the target counts."""
        table = self.table(_moved_rows(self.rows, factor, shift), CoordSpace.PIXEL)
        reason = self.table(self.rows, CoordSpace.PIXEL).predictions.reason
        table = replace(table, predictions=replace(table.predictions, reason=reason))
        after = self.sound(table, self.rows, how)
        self.agree(self.first, range(len(self.rows)), after, f"as it was and {how}", close)

    def scores(self, chosen: Sequence[int], space: CoordSpace, how: str, bare: frozenset[str] | None = None) -> Floats:
        """Return the scores, checked by themselves; an error that one row alone shows names that row."""
        rows = [self.rows[row] for row in chosen]
        try:
            return self.sound(self.table(rows, space, bare), rows, f"{space}, {how}")
        except AssertionError:
            alone = "alone" if bare is None else f"alone, {how}"
            for row in rows if len(rows) > 1 else ():
                self.sound(self.table([row], space, bare), [row], f"{space}, {alone}")
            raise

    def table(self, rows: Sequence[Row], space: CoordSpace, bare: frozenset[str] | None = None) -> Rollouts:
        """Return the rows as the verifier reads them."""
        return rollouts(rows, space, bare=bare, extras=self.columns)

    def sound(self, table: Rollouts, rows: Sequence[Row], how: str) -> Floats:
        what = f"{self.name} ({how}) on " + (brief(rows[0], limit=400) if len(rows) == 1 else f"{len(rows)} rows")
        whole = len(rows) != 1  # the state of all seeds is slow to compare, row by row
        before = {path: np.copy(array) for path, array in _inputs(table, whole)}
        scores: Any = quietly(what, lambda: self.verifier(table), settled=whole)
        for path, array in _inputs(table, whole):
            if path not in before or not same_bits(array, before[path]).all():
                raise AssertionError(f"{what} writes into {path}")
        if type(scores) is not np.ndarray or scores.dtype != np.float64 or scores.shape != (len(rows),):
            raise AssertionError(f"{what} returns {brief(scores)}: expected float64 of shape ({len(rows)},)")
        low, high = self.verifier.low, self.verifier.high
        for row in np.flatnonzero(~((scores >= low) & (scores <= high)))[:1]:
            wrong = f"{scores[row]} for row {row}, expected {low} to {high}"
            raise AssertionError(f"{self.name} ({how}) returns {wrong}: {brief(rows[row], limit=400)}")
        return np.asarray(scores, dtype=np.float64)

    def agree(self, batch: Floats, rows: Sequence[int], theirs: Floats, what: str, equal: Equal | None = None) -> None:
        """Check that the chosen rows score as in the batch."""
        equal = equal or (close if self.grouped else same_bits)  # sums over a group round by their order
        ours = batch[list(rows)]
        for place in np.flatnonzero(~equal(ours, theirs))[:1]:
            both = f"{float(ours[place])!r} and {float(theirs[place])!r} for row {rows[place]} ({what})"
            raise AssertionError(f"{self.name} returns {both}: {brief(self.rows[rows[place]], limit=400)}")


def _inputs(table: Rollouts, whole: bool) -> Iterator[tuple[str, Any]]:
    """Yield writable parts by their paths: all of a table, or only those that no read-only array protects."""
    if whole:
        yield from _arrays("rollouts", table)
    else:
        yield from _arrays("rollouts.text", table.text)
        yield from _arrays("rollouts.extras", table.extras)


def _arrays(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all arrays and sequences of texts inside a table, by their paths."""
    if is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            if item.name.startswith("_"):  # what a table keeps for itself, once it is asked for
                continue
            yield from _arrays(f"{path}.{item.name}", getattr(value, item.name))
    elif isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, Mapping):
        yield path, np.array([*map(str, value), None], dtype=np.object_)[:-1]  # None keeps numpy from making it 2-D
        for name, each in value.items():
            yield from _arrays(f"{path}[{name!r}]", each)
    elif isinstance(value, list):
        yield path, np.array([*value, None], dtype=np.object_)[:-1]


Pair = tuple[float, float]
Box = tuple[float, float, float, float]

NAN = float("nan")
_SIZES: tuple[Pair, ...] = ((1024.0, 512.0), (512.0, 512.0), (2048.0, 1024.0))  # powers of two: halves are exact
_ACTIONS = (
    "", "click", "left_click", "type", "scroll", "LEFT_CLICK", "点击", "a" * 300, "drag", "key", "open_app", "wait",
    "finished", "swipe",
)  # fmt: skip
_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {}, {"text": "hello wide world"}, {"text": "HELLO"}, {"text": ""}, {"direction": "down"}, {"direction": "up"},
    {"keys": ("ctrl", "c")}, {"app": "clock"}, {"to": (400.0, 300.0)}, {"duration": 2.0}, {"duration": 1e300},
    {"status": "failure"}, {"button": "right"}, {"text": "é" * 5000}, {"to": (COORDINATE_LIMIT, -COORDINATE_LIMIT)},
    {"direction": "点击", "raw": {"POINT": [1, 2]}}, {"text": "hello", "direction": "left", "app": "Clock", "keys": ()},
)  # fmt: skip
_LONG = ("(1, 2) " * (MAX_LENGTH // 7), "<think>" + "x" * (MAX_LENGTH - 7))  # as long as is read
_BARE_REASONS = tuple(reason for reason in Reason if reason not in (Reason.OK, Reason.OUT_OF_IMAGE, Reason.BAD_TARGET))


_KINDS = frozenset({BBOX, POLYGON, CIRCLE, POINT, REFUSAL, ACTION})


@dataclass(frozen=True, eq=False)
class Row:
    """One rollout, in pixels of the original image, of which the model sees half; a size of NaN is unknown.

    It equals itself alone, so that what was made of it is found again. ``target`` is the wire form, or what cannot be
    read; ``more`` are the points answered after the first; ``text`` need not fit the prediction.
    """

    target: Any
    point: Pair | None
    box: Box | None
    more: tuple[Pair, ...]
    reason: Reason
    action: str
    arguments: Mapping[str, Any]
    text: str
    image_size: Pair
    group: int
    tokens: int
    extras: Mapping[str, Any] = field(default_factory=dict)

    def moved(self, factor: float, shift: Pair) -> Row:
        """Return the same rollout on a screen that is ``factor`` times as large, with all places shifted."""
        return replace(
            self,
            target=_moved_target(self.target, factor, shift),
            point=self.point and _moved(self.point, factor, shift),  # None stays None
            box=self.box and _moved(self.box, factor, shift),
            more=tuple(_moved(point, factor, shift) for point in self.more),
            arguments=_moved_target(self.arguments, factor, shift),
            image_size=(self.image_size[0] * factor, self.image_size[1] * factor),
        )


@lru_cache(maxsize=16)
def _moved_rows(rows: tuple[Row, ...], factor: float, shift: Pair) -> tuple[Row, ...]:
    return tuple(row.moved(factor, shift) for row in rows)


@lru_cache(maxsize=4)
def generated_rows(seed: int = 0) -> tuple[Row, ...]:
    """Pair every target with every prediction, in an order that the seed decides; groups are of mixed sizes."""
    rng = np.random.default_rng(seed)
    texts = [text or "" for text in short_responses() if len(text or "") < 10_000]
    pairs = [(target, make) for target in _TARGETS for make in _PREDICTIONS]
    rows = []
    for place, index in enumerate(rng.permutation(len(pairs)).tolist()):
        target, make = pairs[index]
        point, box, reason = make(_bounds(target))
        unknown = isinstance(target, Mapping) and target.get("space") == "unit"  # no size: unusable
        rows.append(
            Row(
                target, point, box, _more_points(point, place) if reason == Reason.OK else (), reason,
                _ACTIONS[place % len(_ACTIONS)], _ARGUMENTS[place % len(_ARGUMENTS)],
                _LONG[place] if place < len(_LONG) else texts[place % len(texts)],
                (NAN, NAN) if unknown else _SIZES[place % len(_SIZES)], int(rng.integers(len(pairs) // 5)),
                int(rng.integers(1, 2000)),
            )
        )  # fmt: skip
    return tuple(rows)


def with_extras(
    rows: tuple[Row, ...], extras: Mapping[str, Sequence[Any]], target_extras: Sequence[Mapping[str, Any]] = ()
) -> tuple[Row, ...]:
    """Add further columns to rows, and the field ``extra`` to their targets; both take their values in turn."""
    if not extras and not target_extras:
        return rows
    more = [{"extra": extra} for extra in target_extras] or [{}]
    return tuple(
        replace(
            row,
            extras={name: values[place % len(values)] for name, values in extras.items()},
            target={**row.target, **more[place % len(more)]} if isinstance(row.target, Mapping) else row.target,
        )
        for place, row in enumerate(rows)
    )


def rollouts(
    rows: Sequence[Row], space: CoordSpace, *, bare: frozenset[str] | None = None, extras: Sequence[str] = ()
) -> Rollouts:
    """Return rows as a verifier of a recipe that works in ``space`` reads them, with columns of ``extras``.

    ``bare`` names the required columns (``needs``): the other optional ones are left out.
    """
    targets, predictions = _as_read(tuple(rows), space, bare is None or "points" in bare)
    counted = bare is None or "token_lengths" in bare
    return Rollouts(
        predictions=predictions,
        targets=targets,
        text=[row.text for row in rows],
        groups=group_codes([row.group for row in rows], len(rows)),  # codes from 0, as recipes hand them over
        token_lengths=np.array([row.tokens for row in rows], dtype=np.int64) if counted else None,
        extras={name: [row.extras[name] for row in rows] for name in extras},
    ).read_only()  # as verifiers see them: writing into an array raises


@lru_cache(maxsize=1024)  # the tables of one verifier are those of the next, and take most of the time
def _as_read(rows: tuple[Row, ...], space: CoordSpace, several: bool) -> tuple[Targets, Predictions]:
    """Return targets and predictions of rows in a space; with ``several`` all points that a row answers with."""
    sizes = np.array([row.image_size for row in rows], dtype=np.float64).reshape(-1, 2)
    targets = Targets.from_list([row.target for row in rows], space=CoordSpace.PIXEL, bad_target="abstain").prepare(
        Requirements(space, CoordSpace.PIXEL, _KINDS, CoordSpace.PIXEL),
        image_sizes=sizes, model_image_sizes=sizes / 2, bad_target="abstain",
    )  # fmt: skip
    answered = [([row.point] if row.point else []) + list(row.more) for row in rows]
    predictions = Predictions(
        xy=np.array([row.point or (NAN, NAN) for row in rows], dtype=np.float64).reshape(-1, 2),
        box=np.array([row.box or [NAN] * 4 for row in rows], dtype=np.float64).reshape(-1, 4),
        reason=np.array([row.reason for row in rows], dtype=np.int8),
        dialect=np.array([0 if row.point else -1 for row in rows], dtype=np.int8),
        dialects=("generated",),
        space=CoordSpace.PIXEL,
        actions=np.array([row.action for row in rows], dtype=np.object_),
        points=np.array(list(chain(*answered)), dtype=np.float64).reshape(-1, 2) if several else None,
        offsets=np.cumsum([0, *map(len, answered)], dtype=np.int64) if several else None,
        arguments=Arguments(**columns([row.arguments for row in rows])),
    )
    return targets, into_space(predictions, space, targets)


def _bounds(target: Any) -> Box:
    """Return a box around a target, roughly; one in the middle of the screen where it has no place."""
    if not isinstance(target, Mapping) or target.get("space"):
        return (200.0, 150.0, 300.0, 200.0)
    place = target["regions"][0] if "regions" in target else target
    if "circle" in place:
        x, y, r = place["circle"]
        return (x - r, y - r, x + r, y + r)
    flat = place.get("bbox") or place.get("polygon") or place.get("point") or (200.0, 150.0, 300.0, 200.0)
    return (min(flat[::2]), min(flat[1::2]), max(flat[::2]), max(flat[1::2]))


def _more_points(point: Pair | None, place: int) -> tuple[Pair, ...]:
    """Return no further points, the same again, some on one line with the first, others, or all that are read (256)."""
    if point is None:
        return ()
    x, y = point
    far = ((0.0, 0.0), (250.0, 175.0), (511.0, 3.0))
    curve = tuple((float(step), step * step / 256) for step in range(255 if place % 200 == 0 else 20))
    return ((), (point,), ((x + 8, y + 8), (x + 16, y + 16)), far, curve)[place % 5]


def _moved(flat: tuple[float, ...], factor: float, shift: Pair) -> Any:
    return tuple(number * factor + shift[index % 2] for index, number in enumerate(flat))


def _moved_target(target: Any, factor: float, shift: Pair) -> Any:
    if not isinstance(target, Mapping) or target.get("space"):
        return target
    moved = dict(target)
    for name in ("bbox", "polygon", "point", "to"):
        if name in moved:
            moved[name] = list(_moved(tuple(moved[name]), factor, shift))
    if "circle" in moved:
        x, y, r = moved["circle"]
        moved["circle"] = [*_moved((x, y), factor, shift), r * factor]
    if "regions" in moved:
        moved["regions"] = [_moved_target(place, factor, shift) for place in moved["regions"]]
    if "action" in moved:
        moved["action"] = _moved_target(moved["action"], factor, shift)
    return moved


_TARGETS: tuple[Any, ...] = (
    {"bbox": [100, 100, 300, 200]}, {"bbox": [0, 0, 512, 512]}, {"bbox": [200, 150, 200, 150]},
    {"bbox": [200, 150, 300, 150]}, {"bbox": [210.25, 110.5, 210.75, 110.75]}, {"bbox": [-20, -10, 40, 30]},
    {"bbox": [100, 100, 300, 200], "point": [110, 190]}, {"polygon": [100, 100, 300, 100, 300, 200]},
    {"polygon": [100, 100, 300, 100, 300, 200, 200, 120, 100, 200]},
    {"polygon": [100, 100, 300, 200, 300, 100, 100, 200]},
    {"circle": [200, 150, 50]}, {"point": [200, 150]}, {"regions": [{"bbox": [100, 100, 300, 200]}]},
    {"regions": [{"bbox": [100, 100, 300, 200]}, {"bbox": [200, 150, 400, 300]}, {"bbox": [480, 480, 487, 487]}]},
    {"regions": [{"point": [200, 150]}, {"circle": [250, 175, 9]}, {"polygon": [100, 100, 300, 100, 300, 200]}]},
    {"refusal": True}, {"action": {"name": "type", "text": "hello wide world"}},
    {"bbox": [100, 100, 300, 200], "action": "left_click"}, {"action": {"name": "scroll", "direction": "down"}},
    {"bbox": [100, 100, 300, 200], "action": {"name": "drag", "to": [400, 300]}},
    {"action": {"name": "key", "keys": ["Control", "c"]}}, {"action": {"name": "open_app", "app": "Clock"}},
    {"action": {"name": "wait", "duration": 2}}, {"action": {"name": "finished", "status": "failure"}},
    {"regions": [{"bbox": [100, 100, 300, 200], "action": "long_press"},
                 {"action": {"name": "swipe", "direction": "up", "to": [200, 20, 220, 40]}}]},
    None, "no target",
    {"bbox": [0.1, 0.1, 0.3, 0.2], "space": "unit"},
)  # fmt: skip
"""The last three cannot be used: two cannot be read, the third is in unit space, and its image size is unknown."""

Make = Callable[[Box], tuple[Pair | None, Box | None, Reason]]


def _at(u: float, v: float, dx: float = 0.0, dy: float = 0.0) -> Make:
    """Return a prediction at a point in shares of the target's bounds, shifted by some pixels."""
    return lambda b: ((b[0] + u * (b[2] - b[0]) + dx, b[1] + v * (b[3] - b[1]) + dy), None, Reason.OK)


def _point(x: float, y: float) -> Make:
    return lambda b: ((x, y), None, Reason.OK)


def _box(make: Callable[[Box], Box]) -> Make:
    def prediction(bounds: Box) -> tuple[Pair, Box, Reason]:
        x1, y1, x2, y2 = box = make(bounds)
        return ((x1 + x2) / 2, (y1 + y2) / 2), box, Reason.OK

    return prediction


def _none(reason: Reason) -> Make:
    return lambda b: (None, None, reason)


_PREDICTIONS: tuple[Make, ...] = (
    _at(0.5, 0.5), _at(0, 0), _at(1, 1), _at(1, 0.5), _at(0.5, 0), _at(0.25, 0.75), _at(1, 0.5, 1),
    _at(0.5, 0, 0, -0.25),
    _at(2, 3), _point(0, 0), _point(512, 512), _point(-7, 600), _point(COORDINATE_LIMIT, -COORDINATE_LIMIT),
    _point(-COORDINATE_LIMIT, 1), *map(_none, _BARE_REASONS), _box(lambda b: b),
    _box(lambda b: (b[2], b[3], b[0], b[1])), _box(lambda b: (b[0], b[1], b[0], b[1])),
    _box(lambda b: (b[0], b[1], b[2], b[1])), _box(lambda b: (0, 0, 512, 512)),
    _box(lambda b: (b[0] + 8, b[1] + 8, b[2] + 8, b[3] + 8)), _box(lambda b: (b[0] - 1, b[1], b[0], b[3])),
    _box(lambda b: (-COORDINATE_LIMIT, -COORDINATE_LIMIT, COORDINATE_LIMIT, COORDINATE_LIMIT)),
    _box(lambda b: (COORDINATE_LIMIT, 0, COORDINATE_LIMIT, 0)),
)  # fmt: skip
