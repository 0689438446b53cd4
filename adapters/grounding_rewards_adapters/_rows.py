"""What a trainer gives of n rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = Sequence[tuple[float, float] | None]


@dataclass(frozen=True, eq=False)
class Rows:
    """Responses and targets as they came, and what came beside them.

    Attributes:
        responses: n texts.
        targets: n targets as they came.
        columns: further columns; what is no column, such as a trainer's state, is every row's.
        image_sizes: n sizes of the original images from outside of targets.
        model_image_sizes: n sizes of the images that the model saw, likewise.
        groups: (n,) which sample each row belongs to; or a function that says so.
        token_lengths: (n,) lengths of the responses.
    """

    responses: Sequence[str | None]
    targets: Sequence[Any]
    columns: Mapping[str, Any]
    image_sizes: Sizes | None
    model_image_sizes: Sizes | None
    groups: Any
    token_lengths: Sequence[int] | None

    def take(self, chosen: NDArray[np.int64] | None) -> Rows:
        """Some of the rows; all for None."""
        if chosen is None:
            return self
        rows = chosen.tolist()

        def some(column: Any) -> Any:
            if isinstance(column, np.ndarray) and column.ndim:
                return column[chosen]
            return [column[row] for row in rows] if isinstance(column, list | tuple) else column

        return Rows(
            responses=some(list(self.responses)),
            targets=some(list(self.targets)),
            columns={name: some(column) for name, column in self.columns.items()},
            image_sizes=some(self.image_sizes),
            model_image_sizes=some(self.model_image_sizes),
            groups=some(self.groups),
            token_lengths=some(self.token_lengths),
        )
