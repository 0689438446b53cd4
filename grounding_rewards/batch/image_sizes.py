"""Sizes that rows lack and conversions need, read from the images that rows name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from grounding_rewards.batch.score_rows import Sizes
from grounding_rewards.errors import MISSING, ConvertError, PictureError, TargetError
from grounding_rewards.scoring import Recipe
from grounding_rewards.tables.base import Batch, Note, value_at
from grounding_rewards.tables.image_files import ImageFiles, read_images


@dataclass(frozen=True)
class RowImages:
    """Images of the rows of a table.

    Attributes:
        files: the folder of the images, and bounds on them.
        column: the column of images.
        note: takes, once, where sizes were read.
        unknown: why no column of images is known; "" where one is.
    """

    files: ImageFiles
    column: str
    note: Note
    unknown: str = ""
    _noted: list[str] = field(default_factory=list, repr=False, compare=False)

    @property
    def read(self) -> bool:
        """Return True once a size was read."""
        return bool(self._noted)

    def filled(
        self, batch: Batch, sizes: Sizes | None, errors: Mapping[int, TargetError], recipe: Recipe
    ) -> tuple[Sizes | None, dict[int, str]]:
        """Return sizes, with those of images in rows whose errors say that one is missing, and why others have none.

        Without a way to resize it an image's size does not say that of the image that the model saw.
        """
        fields = {"image_size", "model_image_size"} if recipe.resizing else {"image_size"}
        known, why = list(sizes or [None] * len(batch)), dict[int, str]()
        for row, error in errors.items():
            if error.came is MISSING and error.field in fields:
                try:
                    known[row] = self._size(batch, row)
                except (ConvertError, PictureError) as problem:
                    why[row] = str(problem)
        if not any(known):
            return None, why
        if known != sizes and not self.read:
            self._noted.append(
                f"image sizes: of the images in column {self.column}, in {self.files.root}; --image-column, "
                "--image-root or --image-size-column name others"
            )
            self.note(self._noted[0])
        return known, why

    def known(self, batch: Batch, rows: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the sizes of some rows' images, as far as these can be read."""
        sizes = {}
        for row in rows:
            with suppress(ConvertError, PictureError):
                sizes[row] = self._size(batch, row)
        return sizes

    def _size(self, batch: Batch, row: int) -> tuple[float, float]:
        """Return the size of a row's image, of several of the last one, as stored.

        Raises:
            ConvertError: the row names none.
            PictureError: it cannot be read.
        """
        value = value_at(batch.rows[row], self.column)
        if value is None and self.unknown:
            raise ConvertError(self.unknown)
        image = read_images(value)[-1]
        info = self.files.look(image, turning=False)
        if info is None:
            raise PictureError(f"image: {image.path!r:.80} is an address on a network, which is not read")
        return info.size
