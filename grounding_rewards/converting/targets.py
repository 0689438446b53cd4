"""Read the targets of a data set, and write them as JSON that names its space."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grounding_rewards.batch.cells import TargetCells
from grounding_rewards.batch.layouts import Layout as Benchmark
from grounding_rewards.coords.spaces import PIXEL, CoordSpace
from grounding_rewards.errors import MISSING, ConvertError, TargetError
from grounding_rewards.scoring import KINDS, Recipe
from grounding_rewards.targets.box_format import BoxFormat
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.read import read_target, read_with_form
from grounding_rewards.targets.requirements import Requirements, violations
from grounding_rewards.targets.suspects import SuspectTargets, suspect_targets
from grounding_rewards.targets.target import NativeForm, Target
from grounding_rewards.targets.write import to_wire

NO_SPACE = (
    f"target: nothing names its space; give --target-space ({', '.join(CoordSpace)}), or --recipe NAME, whose own "
    "targets the rows have"
)
_SIZES = ("image_size", "model_image_size")


@dataclass(frozen=True)
class TargetReader:
    """Settings for reading targets.

    Attributes:
        native: a recipe's own form, tried first.
        space: the space of targets that do not name one; None where each must.
        accepts: the accepted kinds of targets.
        label_free: True where targets may be empty.
        needs: the requirements of the recipe that will score them, if known.
        box_format: how boxes are written, as of ``Targets.from_list``.
        benchmark: the layout of the benchmark whose rows these are; None for rows with one column of targets.
    """

    native: NativeForm | None = None
    space: CoordSpace | None = None
    accepts: frozenset[str] = frozenset(KINDS)
    label_free: bool = False
    needs: Requirements | None = None
    box_format: BoxFormat | None = None
    benchmark: Benchmark | None = None

    @classmethod
    def of(
        cls,
        recipe: Recipe | None,
        space: CoordSpace | None,
        box_format: BoxFormat | None = None,
    ) -> TargetReader:
        """Return a recipe's own reading, else that of the wire form."""
        if recipe is None:
            return cls(space=space, box_format=box_format)
        needs = recipe.requirements
        return cls(recipe.native, space or recipe.target_space, needs.accepts, needs.label_free, needs, box_format)

    def cells(self, column: str | None, refusal: str | None = None) -> TargetCells:
        """Return the columns of which targets are made."""
        return TargetCells(column or "", refusal or "", self.benchmark, self.native is not None)

    def read(self, row: Mapping[str, Any], cells: TargetCells, index: int) -> tuple[Target, bool]:
        """Read the target of a row; return True beside it where it is in the recipe's own form.

        Raises:
            TargetError: it cannot be read.
        """
        (value,) = cells.values([row], self.space)
        return read_with_form(value, index, self.native, self.space, self.label_free, self.box_format)

    def check(
        self, texts: Sequence[str], targets: Sequence[Target], own_form: Collection[int] = ()
    ) -> tuple[dict[int, str], list[SuspectTargets]]:
        """Return the errors of targets that could be read and written, by place in the list, and suspicious targets.

        ``own_form`` are the places of those that were in the recipe's own form.

        An error is: it does not read back as the same target; its space is unknown; its coordinates belong to another
        space; its kind is not accepted. A size that is not known yet is no error.
        """
        if self.label_free:
            again: Sequence[Target | None] = [read_target(text, native=self.native, label_free=True) for text in texts]
            errors: Mapping[int, TargetError] = {}
            noticed = list[SuspectTargets]()
        else:
            table = Targets.from_list(texts, native=self.native, space=self.space, bad_target="abstain")
            again = table.rows
            into = next((target.space for target in targets if target.space is not None), PIXEL)
            errors = {
                row: error
                for row, error in violations(table, Requirements(into, None, self.accepts)).items()
                if not (error.field in _SIZES and error.came is MISSING)
            }
            checked = table.changed(
                errors={**table.errors, **errors}, box_format=self.box_format, own_form=frozenset(own_form)
            )
            noticed = suspect_targets(checked, self.needs, partly=True)
        problems = {row: _why(error) for row, error in errors.items()}
        for row, (target, other) in enumerate(zip(targets, again, strict=True)):
            if target.space is None and target.ends:
                problems.setdefault(row, NO_SPACE)
            if other != target:
                problems[row] = 'target: would not read back as the same; JSON cannot hold its "extra"'
        return problems, noticed


def written(target: Target) -> str:
    """Return a target as the JSON of its wire form.

    Raises:
        ConvertError: ``extra`` holds a value that JSON lacks.

    >>> written(Target(space=CoordSpace.UNIT, id="ä"))
    '{"space": "unit", "id": "ä"}'
    """
    wire = to_wire(target)
    try:
        text = json.dumps(wire, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair: written as a JSON escape
        return json.dumps(wire)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConvertError(f"target: cannot be written as JSON ({error})") from None
    return text


def _why(error: TargetError) -> str:
    return NO_SPACE if error.field == "space" and error.came is MISSING else f"target, {error.problem}"
