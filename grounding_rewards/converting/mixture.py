"""Mixtures of training sets: one table of samples from several files, each as large as it is asked to be."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from grounding_rewards.coords.image_header import image_format
from grounding_rewards.coords.spaces import as_space
from grounding_rewards.errors import ConvertError, GroundingRewardsError, TableError, near
from grounding_rewards.literals import yaml_values
from grounding_rewards.tables.columns import find_columns
from grounding_rewards.tables.contents import stem_of
from grounding_rewards.tables.image_files import ImageFiles, read_images
from grounding_rewards.tables.opening import folder_of, open_rows
from grounding_rewards.tables.rows import BATCH_ROWS, Batch, Note, Table, value_at
from grounding_rewards.tables.sample_ids import from_json
from grounding_rewards.tables.training_sets import Shape, ShapedTable

COLUMNS = ("image", "instruction", "target", "id", "source")
_KEYS = {
    "json_path": "path", "images_folder": "images", "sampling_strategy": "take", "path": "path", "images": "images",
    "take": "take", "name": "name", "layout": "layout", "space": "space", "per_image": "per_image", "where": "where",
}  # fmt: skip
"""Keys of a data set, as the field writes them and as we do, with the attributes of ``Part``."""


@dataclass(frozen=True)
class Part:
    """One data set of a mixture."""

    path: Path
    name: str
    images: str = ""  # the folder of relative paths; "" for that of the data
    take: str = "all"  # which samples: all, first:N, end:N or random:N, where N may be a share, such as 33%
    layout: str = ""
    space: str | None = None
    per_image: int | None = None  # the most samples of one image
    where: Mapping[str, Any] = field(default_factory=dict)  # values that fields of a sample have

    def opened(self, note: Note) -> Table:
        """Open the rows."""
        images = ImageFiles(self.images or str(folder_of(self.path).absolute()))
        shape = Shape(self.layout, space=None if self.space is None else as_space(self.space), images=images)
        return open_rows(self.path, note=lambda text: note(f"{self.name}: {text}"), shape=shape)

    def chosen(self, count: int, seed: int) -> set[int] | range:
        """Return the numbers of the samples to take, of ``count``; draws depend on seed, name and number alone."""
        kind, _, text = self.take.partition(":")
        number = text.removesuffix("%")
        if kind == "all" and not text:
            return range(count)
        if kind not in ("first", "end", "random") or not number.isdecimal():
            raise ConvertError(
                f"{self.name}, take: got {self.take!r:.60}; expected all, first:N, end:N or random:N, N also as 33%"
            )
        n = min(count, -(-count * int(number) // 100) if text.endswith("%") else int(number))
        if kind != "random":
            return range(n) if kind == "first" else range(count - n, count)
        drawn = (
            (blake2b(f"{seed}/{self.name}/{each}".encode(), digest_size=8).digest(), each) for each in range(count)
        )
        return {each for _, each in sorted(drawn)[:n]}


def read_mixture(path: Path) -> list[Part]:
    """Read the data sets of a mixture from YAML or JSON; relative paths start in its folder."""
    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml_values(text)
        rows = content["datasets"]
        parts = [_part(path, number, row) for number, row in enumerate(rows)]
    except ImportError:
        raise ConvertError(f"{path}: YAML needs PyYAML: pip install pyyaml; JSON does without") from None
    except GroundingRewardsError:
        raise
    except Exception as error:  # YAML's own errors are of many types
        raise ConvertError(
            f"{path}: is no mixture ({error!s:.120}); expected datasets: a list with a path for each"
        ) from None
    twice = [name for name, count in Counter(part.name for part in parts).items() if count > 1]
    if twice or not parts:
        raise ConvertError(
            f"{path}: {f'two data sets are called {twice[0]}; give each a name' if twice else 'is empty'}"
        )
    return parts


def _part(path: Path, number: int, row: Any) -> Part:
    where = f"{path}, data set {number}"
    if not isinstance(row, Mapping) or not ("path" in row or "json_path" in row):
        raise ConvertError(f"{where}: got {row!r:.80}; expected an object with path, or json_path")
    if unknown := [key for key in row if key not in _KEYS]:
        raise ConvertError(f"{where}: got {unknown[0]!r:.60}; expected {', '.join(_KEYS)}{near(unknown[0], _KEYS)}")
    given = {_KEYS[key]: value for key, value in row.items() if value is not None}
    file = path.parent / str(given.pop("path"))
    images = str(path.parent / str(given.pop("images"))) if "images" in given else ""
    if not isinstance(given.get("where", {}), Mapping) or not isinstance(given.get("per_image", 1), int):
        raise ConvertError(f"{where}: expected a number as per_image, and an object as where")
    return Part(**{"path": file, "images": os.path.abspath(images) if images else "", "name": stem_of(file), **given})


class MixedTable:
    """Samples of all data sets in turn, with the same columns, ids ``NAME/ID``, and images as paths.

    Images that rows hold as bytes are written to ``images``, by their content.
    """

    schema = None
    columns = COLUMNS

    def __init__(self, path: Path, parts: Sequence[Part], images: Path, seed: int, note: Note) -> None:
        self.path, self.parts, self.images, self.seed = path, parts, images, seed
        self.inputs = (path, *(part.path for part in parts))
        self.counts: dict[str, dict[str, Any]] = {}  # samples that are there, taken and left out, by data set
        self._tables = {part.name: part.opened(note) for part in parts}

    def batches(
        self, columns: Sequence[str] | None = None, *, whole: bool = True, size: int | None = None
    ) -> Iterator[Batch]:
        """Yield the rows in order; see ``Table``."""
        start = 0
        for number, part in enumerate(self.parts, 1):
            held, places = list[dict[str, Any]](), list[str]()
            for place, row in self._samples(part):
                held.append(row)
                places.append(place)
                if len(held) == (size or BATCH_ROWS):
                    yield self._batch(start, held, places, number)
                    start, held, places = start + len(held), [], []
            if held:
                yield self._batch(start, held, places, number)
                start += len(held)
        if not start:
            raise TableError(f"{self.path}: no sample is taken of any data set")

    def _batch(self, start: int, rows: list[dict[str, Any]], places: list[str], number: int) -> Batch:
        return Batch(start, rows, rows, number / len(self.parts), places=places)

    def _samples(self, part: Part) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the samples that are taken of a data set, with their places."""
        table = self._tables[part.name]
        names = _columns(table, part)
        count = sum(self._fits(part, row) for batch in table.batches(whole=False) for row in batch.rows)
        chosen, number, taken = part.chosen(count, self.seed), -1, 0
        of_image = Counter[str]()
        for batch in table.batches(whole=False):
            for index, row in enumerate(batch.rows):
                number += (fits := self._fits(part, row))
                if not fits or number not in chosen:
                    continue
                image = self._image(value_at(row, names["image"]), part, table, batch, index)
                of_image[image] += 1
                if part.per_image is None or of_image[image] <= part.per_image:
                    taken += 1
                    own = value_at(row, names.get("id"))
                    yield f"{part.name}, {batch.place(index)}", {
                        "image": image, "instruction": value_at(row, names["instruction"]),
                        "target": _target(value_at(row, names["target"]), part),
                        "id": f"{part.name}/{number if own is None else own}", "source": part.name,
                    }  # fmt: skip
        left = dict(table.left) if isinstance(table, ShapedTable) else {}
        self.counts[part.name] = {"path": str(part.path), "samples": count, "taken": taken, "left_out": left}

    def _fits(self, part: Part, row: Mapping[str, Any]) -> bool:
        return all(str(value_at(row, path)) == str(value) for path, value in part.where.items())

    def _image(self, value: Any, part: Part, table: Table, batch: Batch, index: int) -> str:
        """Return the path of an image; one in bytes is written first."""
        try:
            image = read_images(value)[-1]
        except ConvertError as error:
            raise TableError(f"{table.path}, {batch.place(index)}: {error}") from None
        if image.data is None:
            return str(image.within(part.images or str(folder_of(part.path).absolute())).path)
        suffix = (image_format(image.data) or "bin").lower()
        file = self.images / f"{blake2b(image.data, digest_size=16).hexdigest()}.{suffix}"
        if not file.exists():
            self.images.mkdir(exist_ok=True)
            partial = file.with_name(f".{file.name}.{os.getpid()}")
            partial.write_bytes(image.data)
            partial.rename(file)
        return str(file.absolute())


def _columns(table: Table, part: Part) -> dict[str, str]:
    """Return the columns of a data set by role."""
    first = next(iter(table.batches(whole=False, size=64)))
    roles = ("image", "instruction", "target", "id")
    try:
        found = find_columns(first.rows, dict.fromkeys(roles), needed=("instruction", "target")).columns
    except TableError as error:
        raise TableError(f"{table.path}: {error}; or name its layout: {part.name}, layout") from None
    if "image" not in found:
        raise TableError(f"{table.path}: no column holds images; there are: {', '.join(table.columns)}")
    return found


def _target(value: Any, part: Part) -> str:
    """Return a target as the JSON of its wire form, with the space of the data set where it names none."""
    own = from_json(value) if isinstance(value, str) else value
    if isinstance(own, list):
        own = {"point" if len(own) == 2 else "bbox": own}
    if isinstance(own, Mapping):
        own = {**({"space": part.space} if part.space else {}), **{k: v for k, v in own.items() if v is not None}}
    return json.dumps(own, default=str)
