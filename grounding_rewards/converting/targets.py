"""Targets as somebody's rows have them into targets that name their space and can be packed as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grounding_rewards.coords.spaces import PIXEL, CoordSpace
from grounding_rewards.errors import MISSING, ConvertError, TargetError
from grounding_rewards.scoring import ACTION, BBOX, CIRCLE, POINT, POLYGON, REFUSAL, Recipe
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.findings import Finding, findings
from grounding_rewards.targets.read import PLACES, read_target
from grounding_rewards.targets.requirements import Requirements, violations
from grounding_rewards.targets.target import NativeForm, Target
from grounding_rewards.targets.write import to_wire

EVERY_KIND = frozenset((BBOX, POLYGON, CIRCLE, POINT, REFUSAL, ACTION))
NO_SPACE = (
    f"target: nothing names its space; give --target-space ({', '.join(CoordSpace)}), or --recipe NAME, whose own "
    "targets the rows have"
)
_SIZES = ("image_size", "model_image_size")


@dataclass(frozen=True)
class Truths:
    """How targets are read.

    Attributes:
        native: a recipe's own form, tried first.
        space: the space of targets that do not name one; None where each must.
        accepts: the kinds that are wanted.
        label_free: whether targets need not say what is right.
        recipe: the recipe that will judge, where one is known.
        place: the kind of place that a bare list of numbers is, where the column's name tells; else None.
    """

    native: NativeForm | None = None
    space: CoordSpace | None = None
    accepts: frozenset[str] = EVERY_KIND
    label_free: bool = False
    place: str | None = None
    recipe: Recipe | None = None

    @classmethod
    def of(cls, recipe: Recipe | None, space: CoordSpace | None, column: str | None) -> Truths:
        """As a recipe reads them; without one in wire form, or as what the column's name says."""
        if recipe is None:
            name = (column or "").rpartition(".")[2]
            return cls(space=space, place=name if name in PLACES else None)
        return cls(recipe.native, space or recipe.target_space, recipe.accepts, recipe.label_free, recipe=recipe)

    def read(self, value: Any, row: int) -> Target:
        """One target.

        Raises:
            TargetError: it cannot be read.
        """
        if self.place is not None and isinstance(value, list):
            value = {self.place: value}
        return read_target(value, row=row, native=self.native, space=self.space, label_free=self.label_free)

    def check(self, texts: Sequence[str], targets: Sequence[Target]) -> tuple[dict[int, str], list[Finding]]:
        """Return what is wrong with targets that could be read and written, by place in the list, and what looks wrong.

        Wrong is: it does not read back as the same target; nobody names its space; its coordinates belong to another
        space; it is of a kind that is not wanted. A size that is not known yet is not wrong.
        """
        if self.label_free:
            again: Sequence[Target | None] = [read_target(text, native=self.native, label_free=True) for text in texts]
            errors: Mapping[int, TargetError] = {}
            noticed = list[Finding]()
        else:
            table = Targets.from_list(texts, native=self.native, space=self.space, bad_target="abstain")
            again = table.rows
            into = next((target.space for target in targets if target.space is not None), PIXEL)
            errors = violations(table, Requirements(into, None, self.accepts))
            errors = {row: error for row, error in errors.items() if not _lacks_size(error)}
            noticed = findings(replace(table, errors={**table.errors, **errors}, _ready={}), self.recipe)
        found = {row: _why(error) for row, error in errors.items()}
        for row, (target, other) in enumerate(zip(targets, again, strict=True)):
            if target.space is None and target.ends:
                found.setdefault(row, NO_SPACE)
            if other != target:
                found[row] = 'target: would not read back as the same; JSON cannot hold its "extra"'
        return found, noticed


def written(target: Target) -> str:
    """A target as the JSON of its wire form.

    Raises:
        ConvertError: something in ``extra`` is nothing that JSON has.

    >>> written(Target(space=CoordSpace.UNIT, id="ä"))
    '{"space": "unit", "id": "ä"}'
    """
    wire = to_wire(target)
    try:
        text = json.dumps(wire, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, for which JSON has an escape
        return json.dumps(wire)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConvertError(f"target: cannot be written as JSON ({error})") from None
    return text


def with_facts(target: Target, size: tuple[float, float] | None, name: str | int) -> Target:
    """A target with what the row says beside it."""
    return replace(target, image_size=size or target.image_size, id=name)


def _why(error: TargetError) -> str:
    return NO_SPACE if error.field == "space" and error.came is MISSING else f"target, {error.problem}"


def _lacks_size(error: TargetError) -> bool:
    return error.field in _SIZES and error.came is MISSING
