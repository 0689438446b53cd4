"""Rows and rollouts that are checked before a model is trained: targets, images, groups, and which space fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats, nowhere
from grounding_rewards.batch.joining import Join
from grounding_rewards.batch.samples import Problems, names_of, reads
from grounding_rewards.batch.score_rows import RecipeSlice
from grounding_rewards.batch.table_scorer import Scoring, TableScorer
from grounding_rewards.checks import accuracy
from grounding_rewards.checks.accuracy import Evaluation
from grounding_rewards.checks.data import DataCheck
from grounding_rewards.checks.diagnosis import Diagnosis
from grounding_rewards.checks.finding import Code, Finding, Naming
from grounding_rewards.checks.groups import GroupFigures, Groups
from grounding_rewards.checks.space_fit import SpaceFit
from grounding_rewards.coords.resizing import size_table
from grounding_rewards.coords.spaces import PIXEL, UNIT, extents
from grounding_rewards.errors import ConvertError, PictureError, TableError
from grounding_rewards.tables.columns import Columns, columns_read, has, resolve
from grounding_rewards.tables.image_files import Image, ImageFiles, read_images
from grounding_rewards.tables.prompts import image_path
from grounding_rewards.tables.rollout_columns import NUMBER, number_of
from grounding_rewards.tables.rows import Batch, value_at
from grounding_rewards.tables.sample_ids import CONTENT, PARTS, part_of
from grounding_rewards.targets.columns import Targets
from grounding_rewards.wording import plural


class _Images:
    """Images of a table, each of them looked at once."""

    def __init__(self, files: ImageFiles | None, *, contents: bool) -> None:
        self.files = files
        self._contents = contents  # True to read all bytes, for digests
        self._known: dict[str, tuple[Any, str, bytes]] = {}
        self.read, self.unread = 0, 0  # how many could be looked at, and how many could not

    def look(self, value: Any) -> tuple[Any, str, bytes]:
        """Return the size of a row's last image, why it cannot be read, and the digest of its bytes."""
        if value is None or self.files is None:
            return None, "", b""
        try:
            image = read_images(value)[-1]
        except ConvertError as error:
            return None, str(error), b""
        if image.remote:
            return None, "", b""
        if image.data is not None or image.path is None:
            return self._look(image)
        if image.path not in self._known:
            self._known[image.path] = self._look(image)
        return self._known[image.path]

    def _look(self, image: Image) -> tuple[Any, str, bytes]:
        assert self.files is not None  # it was asked
        try:
            info = self.files.look(image, turning=False)
            whole = self._contents or image.data is not None  # which is in memory
            digest = blake2b(self.files.read(image), digest_size=16).digest() if whole else b""
        except PictureError as error:
            self.unread += 1
            return None, str(error), b""
        self.read += 1
        return info and info.size, "", digest


def check_rows(
    file: Path,
    scoring: Scoring,
    join: Join,
    *,
    split: str | None = None,
    against: Path | None = None,
    against_split: str | None = None,
    answered: bool = True,
) -> DataCheck:
    """Check the rows of a file, with ``answered`` responses to come or not; ``against`` has images to compare."""
    seen = set[bytes]()
    if against is not None:
        seen = _contents_of(against, scoring, join, against_split)
    table = join.open(file, split, scoring.columns)
    scorer = scoring.of(table)
    check = DataCheck(scorer.recipe, answered)
    images = _Images(scorer.images.files if scorer.images else None, contents=against is not None)
    with join.reporting.progress(f"checking {table.path.name}") as advance:
        for batch in _batches(scorer):
            _add(check, scorer, batch, images, seen)
            advance(batch.done)
    if images.unread and not images.read:
        first = check.found.pop(Code.MISSING_IMAGE).evidence
        join.reporting.note(f"no image of {images.unread:,} can be read, so none is checked {first}")
    return check


def _contents_of(file: Path, scoring: Scoring, join: Join, split: str | None) -> set[bytes]:
    """Return the digests of a file's images, whatever its targets are; its columns may have names of their own."""
    try:
        table = join.open(file, split, Columns())
    except TableError as error:
        raise TableError(str(error).replace("--split", "--against-split")) from None
    named = scoring.columns.image if has(table, scoring.columns.image) else ""
    column = resolve(table, Columns(image=named), label_free=True, answered=False).columns.image
    files = scoring.image_files and scoring.image_files.of(table.path)
    images, seen, unread = _Images(files, contents=True), set[bytes](), 0
    with join.reporting.progress(f"reading images of {table.path.name}") as advance:
        for batch in table.batches([name for name in columns_read([column]) if name in table.columns], whole=False):
            digests = [images.look(value)[2] for value in batch.column(column)]
            unread += digests.count(b"")
            seen.update(digests)
            advance(batch.done)
    seen.discard(b"")
    if unread:
        join.reporting.warn(f"{file}: images of {plural(unread, 'row')} cannot be read, and are not compared")
    return seen


def targets_of(file: Path, scoring: Scoring, join: Join) -> Iterator[tuple[Targets, Sequence[Any]]]:
    """Yield the targets of a file in pixels, and as they are there; rows that cannot be used in pixels abstain."""
    scorer = scoring.of(join.open(file, None, scoring.columns))
    for batch in scorer.batches(whole=False):
        yield _prepared(scorer, batch, into=PIXEL, response_space=PIXEL, screen=True), scorer.targets(batch)


def _prepared(scorer: TableScorer, batch: Batch, **needs: Any) -> Targets:
    """Return the targets of a batch for other needs than the recipe's; those that cannot be used abstain."""
    read, sizes = scorer.read_targets(scorer.targets(batch)), scorer.needed_sizes(batch)
    wanted, known = replace(scorer.recipe.requirements, **needs), None if sizes is None else size_table(sizes)
    return read.prepare(wanted, image_sizes=known, bad_target="abstain")


@dataclass(frozen=True)
class ShownRow:
    """A row to draw."""

    words: str  # its instruction; "" for none
    size: tuple[float, float] | None  # width and height of its screen, in pixels
    outlines: tuple[Floats, ...]  # each place as corners (k, 2) in shares of the screen
    image: Any  # its screenshot, decoded by Pillow; None where it cannot be read
    response: str | None = None  # of a rollout
    answer: Floats | None = None  # (2,) the point that it answers, in shares of the screen; NaN for none
    right: bool = False


def shown_rows(
    file: Path, scoring: Scoring, join: Join, rows: Collection[int], *, split: str | None = None
) -> dict[int, ShownRow]:
    """Read some rows of a file again, with their screenshots; of rollouts also what they answer."""
    table, found, count = join.open(file, split, scoring.columns), {}, 0
    scorer = replace(scoring, on_note=lambda text: None).of(table)
    rollouts = scorer.answered
    problems = Problems(scorer)
    for batch in problems.left_out(_batches(scorer, problems.reads)) if rollouts else _batches(scorer):
        some = [place for place in range(len(batch)) if count + place in rows]
        numbers, count = [count + place for place in some], count + len(batch)
        if not some:
            continue
        part = batch.take(some, whole=False)
        drawn = _prepared(scorer, part, into=UNIT, response_space=None)
        scored = scorer.score(part, groups=range(len(some))) if rollouts else None
        for place, number in enumerate(numbers):
            own = np.flatnonzero(drawn.regions.row == place).tolist() if drawn.valid[place] else []
            wide, high = drawn.image_sizes[place].tolist()
            shown = ShownRow(
                words=_words(part.rows[place]), size=None if np.isnan(wide) else (wide, high),
                outlines=tuple(drawn.regions.outline(each) for each in own),
                image=_decoded(scorer, value_at(part.rows[place], scorer.columns.image)),
            )  # fmt: skip
            if scored is not None:
                response, right = scored.inputs.responses[place], bool(scored.scores.acc[place] > 0)
                shown = replace(shown, response=response, answer=scored.xy_unit[place], right=right)
            found[number] = shown
    return found


def _decoded(scorer: TableScorer, value: Any) -> Any:
    """Return a row's last image; None where it cannot be read."""
    with suppress(ConvertError, PictureError):
        if scorer.images and value is not None:
            return scorer.images.files.decode(read_images(value)[-1])
    return None


def _batches(scorer: TableScorer, more: Sequence[str] = ()) -> Iterator[Batch]:
    further, there = [scorer.columns.image, *more, *CONTENT], {*scorer.table.columns}
    return scorer.batches(by=[name for name in further if name in there], whole=False)


def _add(check: DataCheck, scorer: TableScorer, batch: Batch, images: _Images, seen: set[bytes]) -> None:
    """Add a batch to a check."""
    read = scorer.read_targets(scorer.targets(batch))
    said = scorer.image_sizes(batch, read)
    sizes = nowhere(len(batch), 2)
    contents, written, unread = list[int](), batch.column(scorer.columns.image_size), dict[int, Any]()
    for row in range(len(batch)):
        value = value_at(batch.rows[row], scorer.columns.image)
        size, problem, digest = images.look(value)
        target = read.rows[row]
        own = (said[row] if said else None) or (target.image_size if target else None)
        if problem:
            check.note(Code.MISSING_IMAGE, row, problem, batch.place)
        if digest in seen:
            named = f"{path!r:.80}" if (path := image_path(value)) else "in the row"
            check.note(Code.SEEN_IMAGE, row, f"image {named}", batch.place)
        if own is None and size is not None:
            sizes[row] = size
        elif own is None:
            unread.update({} if written[row] is None else {row: written[row]})
        else:
            sizes[row] = own
            if size is not None and tuple(size) != tuple(own):
                said_, is_ = ("x".join(f"{side:g}" for side in each) for each in (own, size))
                check.note(Code.OTHER_SIZE, row, f"{said_} in the row, {is_} in the image", batch.place)
        contents.append(_content(batch.rows[row], value, digest))
    model = scorer.sizes(batch, scorer.columns.model_image_size)
    check.add(
        read, sizes, model_image_sizes=None if model is None else size_table(model), place=batch.place,
        contents=contents, unread=unread,
    )  # fmt: skip


def _content(row: Mapping[str, Any], image: Any, digest: bytes) -> int:
    """Return 64 bits of a row's image and instruction; 0 where it lacks one of them."""
    words = _words(row)
    shown = digest or image_path(image) or part_of("image", row.get)
    if not words or not shown:
        return 0
    return int.from_bytes(blake2b(repr((shown, words)).encode(), digest_size=8).digest())


def _words(row: Mapping[str, Any]) -> str:
    """Return a row's instruction; "" without one."""
    return part_of("instruction", partial(value_at, row)) or ""


SIZE = "target size"
_SIZES = (("below 0.01 %", 1e-4), ("0.01 to 0.1 %", 1e-3), ("0.1 to 1 %", 1e-2), ("from 1 %", np.inf))
"""Shares of the screen."""


@dataclass(frozen=True)
class CheckedRollouts:
    """Figures of rollouts, and what looks wrong with them."""

    evaluation: Evaluation  # what was read and right, by source and by size of the target
    groups: GroupFigures
    fit: SpaceFit  # the search for other spaces
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        fit = self.fit
        return {
            **self.evaluation.to_dict(),
            "groups": vars(self.groups),
            "space": {
                "declared": str(fit.declared),
                "best": None if fit.better is None else _named(fit.better.settings),
                "scores": self.space_scores,
            },
        }

    @property
    def space_scores(self) -> dict[str, float]:
        """Shares of right rows under each setting that was tried."""
        rows = max(1, self.fit.rows)
        tried = {_named(each.settings): each.hits / rows for each in self.fit.tried}
        return {"declared": self.fit.hits / rows, **tried}


def _named(settings: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings)


def check_rollouts(
    file: Path, scoring: Scoring, join: Join, *, split: str | None = None, naming: Callable[[str], Naming]
) -> CheckedRollouts:
    """Check the rollouts of a file, with the answers of another one where ``join`` names it."""
    table = join.open(file, split, scoring.columns)
    scorer = scoring.of(table)
    diagnosis = Diagnosis(scorer.recipe, naming(scorer.columns.response), scorer.box_format)
    scorer = replace(scorer, diagnosis=diagnosis)
    problems, groups, parts = Problems(scorer), Groups(), list[Evaluation]()
    source = next((name for name in PARTS["source"][0] if name in table.columns), None)
    reading = [*reads(scorer, [*NUMBER, *([source] if source else [])]), *problems.reads]
    with join.reporting.progress(f"checking {table.path.name}") as advance:
        for batch in problems.left_out(scorer.batches(by=reading, whole=False)):
            scored = scorer.score(batch)
            read = scored.rollouts.targets.rows
            names = names_of(scorer, batch, batch.column(scorer.columns.id), read=read)
            scores, rounds = scored.scores, map(number_of, batch.numbers(NUMBER[0]))
            groups.add(
                list(zip(names, rounds, strict=True)), scores.total, scores.acc, scored.columns["parsed"], scores.valid
            )
            by = {**({source: batch.column(source)} if source else {}), SIZE: _sizes(scored)}
            parts.append(accuracy.evaluate(scores, by=by))
            advance(batch.done)
    for text in problems.left_out_words():
        join.reporting.warn(text)
    figures = groups.figures()
    findings = (*diagnosis.findings(), *figures.findings())
    return CheckedRollouts(accuracy.merge(parts), figures, diagnosis.fit(), findings)


def _sizes(scored: RecipeSlice) -> list[str | None]:
    """Return the size of each row's largest place, as a share of the screen; None where it is unknown."""
    rollouts = scored.rollouts
    regions = rollouts.targets.regions
    extent = extents(scored.recipe.space, rollouts.image_sizes, rollouts.model_image_sizes)[regions.row]
    share = np.prod((regions.box[:, 2:] - regions.box[:, :2]) / extent, axis=1)
    largest = np.full(len(scored.scores), np.nan)
    np.fmax.at(largest, regions.row, share)
    return [next((name for name, end in _SIZES if each < end), None) for each in largest.tolist()]
