"""What a batch of rollouts was given, whether one recipe judged it or each row had its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import UNIT, convert
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.targets.target import Target

Objects = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Piece:
    """The rows of a batch that one recipe judged.

    Attributes:
        recipe: the recipe.
        rollouts: what its verifiers saw.
        scores: what it gave.
        rows: (m,) which rows of the batch they are; None for all.
        sizes: (m, 2) image sizes and model image sizes that were told beside the targets' own; None where none were.
        routed: whether the rows name that recipe; where they name none it stands in, and their targets cannot be used.
    """

    recipe: gr.Recipe
    rollouts: Rollouts
    scores: gr.Scores
    rows: NDArray[np.int64] | None = None
    sizes: tuple[Floats | None, Floats | None] = (None, None)
    routed: bool = True

    @property
    def numbers(self) -> NDArray[np.int64]:
        """(m,) which rows of the batch they are."""
        return np.arange(len(self.scores)) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class Judged:
    """n scored rows. Columns are made when they are first asked for.

    Attributes:
        pieces: the rows by recipe.
        names: names of all parts that any recipe has.
        count: n.
    """

    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    count: int

    def __len__(self) -> int:
        return self.count

    @cached_property
    def total(self) -> Floats:
        """(n,) the reward; 0.0 where the target could not be used."""
        return self._numbers(lambda piece: np.where(piece.scores.valid > 0, piece.scores.total, 0.0))

    @cached_property
    def acc(self) -> Floats:
        """(n,) 1.0 for full success."""
        return self._numbers(lambda piece: piece.scores.acc)

    @cached_property
    def valid(self) -> Floats:
        """(n,) 0.0 where the target could not be used."""
        return self._numbers(lambda piece: piece.scores.valid)

    @cached_property
    def parsed(self) -> Floats:
        """(n,) 1.0 where an answer was read."""
        return self._numbers(lambda piece: piece.scores.predictions.parsed.astype(np.float64))

    @cached_property
    def in_image(self) -> Floats:
        """(n,) 1.0 where an answer was read that lies inside the image, and the target could be used."""
        inside: Floats = (self.reason == gr.Reason.OK).astype(np.float64)
        return inside

    @cached_property
    def parts(self) -> Mapping[str, Floats]:
        """(n,) by part; 0.0 in rows whose recipe has none of that name."""
        return {name: self._numbers(lambda piece, name=name: piece.scores.parts.get(name)) for name in self.names}  # type: ignore[misc]

    @cached_property
    def reason(self) -> NDArray[np.int8]:
        """(n,) ``Reason``."""
        found = np.zeros(self.count, dtype=np.int8)
        for piece in self.pieces:
            found[piece.numbers] = piece.scores.reason
        return found

    @cached_property
    def xy(self) -> Floats:
        """(n, 2) the point answered, in the space of ``spaces``; NaN where there is none."""
        return self._numbers(lambda piece: piece.scores.predictions.xy, 2)

    @cached_property
    def spaces(self) -> Objects:
        """(n,) the space of ``xy``: that in which the row's recipe works."""
        found = np.empty(self.count, dtype=np.object_)
        for piece in self.pieces:
            found[piece.numbers] = str(piece.recipe.space)
        return found

    @cached_property
    def xy_unit(self) -> Floats:
        """(n, 2) the point answered, in shares of the image; NaN where there is none, or the size is unknown."""
        return self._numbers(_in_unit, 2)

    @cached_property
    def image_sizes(self) -> Floats:
        """(n, 2) width and height of the original images; NaN where unknown."""
        return self._numbers(lambda piece: piece.rollouts.image_sizes, 2)

    @cached_property
    def model_image_sizes(self) -> Floats:
        """(n, 2) the same of the images that the model saw."""
        return self._numbers(lambda piece: piece.rollouts.model_image_sizes, 2)

    @cached_property
    def targets(self) -> Sequence[Target | None]:
        """(n,) the targets as read; None where unreadable."""
        found: list[Target | None] = [None] * self.count
        for piece in self.pieces:
            for row, target in zip(piece.numbers.tolist(), piece.rollouts.targets.rows, strict=True):
                found[row] = target
        return found

    @cached_property
    def samples(self) -> Sequence[str | int | None]:
        """(n,) the target's id; None where it has none."""
        return [None if target is None else target.id for target in self.targets]

    @cached_property
    def errors(self) -> Mapping[int, gr.TargetError]:
        """Why targets could not be used, by row."""
        found: dict[int, gr.TargetError] = {}
        for piece in self.pieces:
            for row, error in piece.scores.errors.items():
                own = row if piece.rows is None else int(piece.rows[row])
                found[own] = error if own == row else error.named(own)
        return dict(sorted(found.items()))

    def _numbers(self, column: Callable[[Piece], Floats | None], width: int = 1) -> Floats:
        """One column of the whole batch; 0.0 where a piece has none."""
        if len(self.pieces) == 1 and self.pieces[0].rows is None:
            only = column(self.pieces[0])
            if only is not None:
                return only
        found = np.zeros(self.count if width == 1 else (self.count, width))
        for piece in self.pieces:
            own = column(piece)
            if own is not None:
                found[piece.numbers] = own
        return found


def _in_unit(piece: Piece) -> Floats:
    seen = piece.rollouts
    return convert(piece.scores.predictions.xy, piece.recipe.space, UNIT, seen.image_sizes, seen.model_image_sizes)
