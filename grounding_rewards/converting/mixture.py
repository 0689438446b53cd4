"""Mixtures of training sets: one table of samples from several files, each as large as it is asked to be."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from grounding_rewards._version import __version__
from grounding_rewards.converting.filters import HARMFUL, Drop, Filters, Selection
from grounding_rewards.converting.layouts import UNCHANGED, Layout, plain
from grounding_rewards.converting.prompts import Wording
from grounding_rewards.converting.run import Converter
from grounding_rewards.converting.samples import Reading
from grounding_rewards.coords.image_sizes import image_format
from grounding_rewards.coords.spaces import as_space
from grounding_rewards.errors import ConvertError, GroundingRewardsError, TableError, near
from grounding_rewards.literals import yaml_values
from grounding_rewards.settings.declared import is_number, is_whole
from grounding_rewards.tables.atomic import atomic_file, remove
from grounding_rewards.tables.columns import NONE
from grounding_rewards.tables.contents import PARQUET, TEXTS, stem_of, suffix_of
from grounding_rewards.tables.data_paths import not_there
from grounding_rewards.tables.image_files import Image, ImageFiles
from grounding_rewards.tables.json_lines import is_utf8
from grounding_rewards.tables.manifests import fingerprint, manifest_bytes, unfinished
from grounding_rewards.tables.reporting import SILENT, Reporting
from grounding_rewards.tables.runs import Run, open_run
from grounding_rewards.tables.training_sets import Shape
from grounding_rewards.tables.writing import check_output

_FIELD = {"json_path": "path", "images_folder": "images", "sampling_strategy": "take"}
"""Keys as the field writes them, and ours."""
_FILTERS = tuple(each.name for each in fields(Filters) if not each.name.startswith("overlap"))
_SHARED = ("template", *_FILTERS, "overlap")
"""Keys that may also stand beside ``datasets``, for all of them."""
_OVERLAP = {"boxes": "overlap", "iou": "overlap_iou", "space": "overlap_space"}
_PATHS = ("path", "images", "name")
_VALUES: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    *((key, "a text", lambda value: isinstance(value, str)) for key in ("layout", "space", "instruction", "template")),
    *(
        (key, "a text that names a file", lambda value: is_utf8(str(value)) and "\0" not in str(value))
        for key in _PATHS
    ),
    ("share", "a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1),
    ("per_image", "a whole number from 1", lambda value: is_whole(value, 1)),
    ("where", "an object", lambda value: isinstance(value, Mapping)),
)
"""Keys of a data set whose values nothing else checks."""
_SHARDS = "_mix.manifest.json"


@dataclass(frozen=True)
class Part:
    """One data set of a mixture."""

    path: Path
    name: str
    images: str = ""  # the folder of relative paths; "" for that of the data
    layout: str = ""
    space: str | None = None
    instruction: str | None = None  # the column of instructions; None for the usual one
    template: str | None = None
    share: float | None = None  # its part of the whole
    selection: Selection = field(default_factory=Selection)

    def converter(self, layout: Layout, template: str | None, folder: Path) -> Converter:
        """Return the settings by which its rows become those of a mixture; bytes of images go to a folder."""
        columns = {"instruction": self.instruction, "source": "", "image-size": ""}  # whose images say it
        columns |= dict.fromkeys(("target", "image", "id", "refusal"))
        return Converter(
            layout=layout, columns=columns, shape=Shape(self.layout), selection=self.selection,
            reading=Reading(
                space=None if self.space is None else as_space(self.space), prefix=f"{self.name}/", source=self.name,
                wording=Wording(self.template or template),
            ),
            images=ImageFiles(self.images).of(self.path),
            stored=partial(stored, folder=folder),
        )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """Return what its samples depend on, for manifests."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "selection"}
        filters = vars(self.selection.filters)
        detected = filters["overlap"] and _fingerprint(filters["overlap"])
        kept = {name: getattr(self.selection, name) for name in ("where", "per_image", "take")}
        return {**own, **kept, **filters, "overlap": detected, "path": _fingerprint(self.path)}


@dataclass(frozen=True)
class Mixture:
    """Data sets, and the seed of draws."""

    path: Path
    parts: tuple[Part, ...]
    seed: int = 0

    def run(
        self, out: Path, trainer: Layout | None, *, template: str | None = None, skip_bad: bool = False,
        all_in_json: bool = False, reporting: Reporting = SILENT,
    ) -> dict[str, Any]:  # fmt: skip
        """Write the mixture and its manifest, which is returned; after a kill it goes on with the next data set."""
        check_output(out, (self.path, *(part.path for part in self.parts)))
        settings = {part.name: part.identity() for part in self.parts}
        settings = json.loads(json.dumps(settings, default=str))
        identity = {
            "kind": "mixture", "for": trainer and trainer.name, "seed": self.seed, "template": template,
            "skip_bad": skip_bad, "version": __version__, "datasets": settings,
        }  # fmt: skip
        sets = out.with_name(f".{out.name}.sets")
        once = out.with_name(f".{out.name}.images") if trainer and trainer.embedded else None  # in the rows at the end
        images = once or out.with_name(f"{out.name.partition('.')[0]}.images")
        names = [f"sets-{number:05}-of-{len(self.parts):05}" for number in range(len(self.parts))]
        own = replace(reporting, warn=lambda text: None)  # of each set, said before
        options: dict[str, Any] = {"skip_bad": skip_bad, "all_in_json": all_in_json}
        try:
            with open_run(sets, _SHARDS, identity, command="mix", overwrite=True) as run:
                if run is not None:
                    for name, part in zip(names, self.parts, strict=True):
                        if f"{name}.json" not in run:
                            make = partial(part.converter, plain(trainer), template, images)
                            _convert(make, options, part, run, name, reporting)
                    run.finish([f"{name}{suffix}" for name in names for suffix in (".jsonl", ".json")], {})
            texts = [(sets / f"{name}.json").read_text("utf-8") for name in names]
            counts = {part.name: json.loads(text) for part, text in zip(self.parts, texts, strict=True)}
            whole = replace(self._whole(trainer), **options, reporting=own)
            left = whole.run(sets, out).filtered
        except GroundingRewardsError:
            for folder in (sets, unfinished(sets), *filter(None, [once])):
                remove(folder)
            raise
        for folder in (sets, *filter(None, [once])):
            remove(folder)
        for name, count in counts.items():
            gone = Counter(left.get(name, {}))
            count["taken"] -= gone.total()
            count["left_out"] = dict(Counter(count["left_out"]) + gone)
        manifest = {**identity, "datasets": {name: {**settings[name], **counts[name]} for name in counts}}
        with atomic_file(out.with_name(f"{out.name}.manifest.json")) as file:
            file.write(manifest_bytes(manifest))
        return manifest

    def _whole(self, trainer: Layout | None) -> Converter:
        """Return the settings by which the samples of all data sets become one table."""
        every = frozenset(Drop).intersection(*(part.selection.dropped for part in self.parts))
        compared: list[Drop] = [each for each in (Drop.DUPLICATE, Drop.AMBIGUOUS) if each in every]
        shares = {part.name: part.share for part in self.parts if part.share is not None}
        columns = {"image": "images", "image-size": "", "refusal": ""}
        columns |= {name: name for name in ("instruction", "target", "id", "source")}
        return Converter(
            layout=trainer or UNCHANGED, columns=columns, shape=Shape(NONE),
            selection=Selection(Filters(drop=compared), shares=shares, seed=self.seed), image_check=False,
        )  # fmt: skip


def _convert(
    make: Callable[[], Converter], options: Mapping[str, Any], part: Part, run: Run, name: str, reporting: Reporting
) -> None:
    """Write the samples of one data set, and then their counts."""

    def named(text: str) -> str:
        return f"{part.name}: {in_keys(text)}"

    said = replace(
        reporting, note=lambda text: reporting.note(named(text)), warn=lambda text: reporting.warn(named(text))
    )
    try:
        converter = replace(make(), **options, reporting=said)
        result = converter.run(part.path, run.folder / f"{name}.jsonl", lambda path: run.write(path.name))
    except GroundingRewardsError as error:
        raise ConvertError(named(str(error))) from error
    unread = {"that cannot be read": len(result.problems)} if result.problems else {}
    left = sum(result.filtered.values(), Counter(unread))
    with run.write(f"{name}.json") as file:
        counts = {"samples": result.written + left.total(), "taken": result.written, "left_out": dict(left)}
        file.write(json.dumps(counts).encode())


_KEYS = {
    "target-space": "space", "image-root": "images", "layout": "layout", "instruction-column": "instruction",
    "overlap-space": "space in overlap", "source-column": "name",
    "target-column": "place in a file of its layout", "image-column": "image in a file of its layout",
    "id-column": "id in a file of its layout", "image-size-column": "size in a file of its layout",
    "box-format": "form in a file of its layout",
}  # fmt: skip
"""Keys by the options of ``convert`` that say the same."""
_OPTION = re.compile(rf"--({'|'.join(sorted(_KEYS, key=len, reverse=True))})(?![a-z-])")
_OTHERS = re.compile(r", or (?:give )?--(?:no-image-check|recipe) [^;]*")


def in_keys(text: str) -> str:
    """Return a text that names options of ``convert`` with the keys of a mixture in their place.

    >>> in_keys("give --target-space (unit), or --recipe NAME, whose targets they are; these look like unit")
    'give space (unit); these look like unit'
    """
    return _OPTION.sub(lambda found: _KEYS[found[1]], _OTHERS.sub("", text))


def _fingerprint(path: Path) -> dict[str, Any]:
    """Return the path of data, and the hash of its files."""
    if not path.exists():
        raise TableError(f"{path}: {not_there(path)}")
    files = [each for each in path.rglob("*") if suffix_of(each) in (*TEXTS, *PARQUET)] if path.is_dir() else [path]
    return fingerprint(path, sorted(files))


def stored(image: Image, folder: Path) -> Image:
    """Return an image by its path; one in bytes is written to a folder first, under a name of its content."""
    if image.data is None:
        return image
    suffix = (image_format(image.data) or "bin").lower()
    file = folder / f"{blake2b(image.data, digest_size=16).hexdigest()}.{suffix}"
    if not file.exists():
        folder.mkdir(exist_ok=True)
        partial_file = file.with_name(f".{file.name}.{os.getpid()}")
        partial_file.write_bytes(image.data)
        partial_file.rename(file)
    return Image(str(file.absolute()))


def read_mixture(path: Path, seed: int = 0) -> Mixture:
    """Read the data sets of a mixture from YAML or JSON; relative paths start in its folder."""
    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml_values(text)
        rows, common = content["datasets"], {key: value for key, value in content.items() if key != "datasets"}
        if (own := common.pop("seed", None)) is not None:
            seed = own
        if not is_whole(seed, 0):
            raise ConvertError(f"{path}, seed: got {seed!r:.60}; expected a whole number from 0")
        _check_keys(f"{path}", common, _SHARED)
        parts = tuple(_part(path, number, row, common, seed) for number, row in enumerate(rows))
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
    shares = [Fraction(str(part.share)) for part in parts if part.share is not None]
    whole = len(shares) == len(parts)
    if sum(shares) > 1 + 1e-9 or (not whole and sum(shares) >= 1):
        raise ConvertError(
            f"{path}: shares are {float(sum(shares)):g} in all; expected {'at most 1' if whole else 'less than 1'}"
        )
    return Mixture(path, parts, seed)


def _check_keys(where: str, row: Mapping[str, Any], known: Any) -> None:
    if unknown := [key for key in row if key not in known]:
        raise ConvertError(f"{where}: got {unknown[0]!r:.60}; expected {', '.join(known)}{near(unknown[0], known)}")


def _part(path: Path, number: int, row: Any, common: Mapping[str, Any], seed: int) -> Part:
    where = f"{path}, data set {number}"
    if not isinstance(row, Mapping) or not ("path" in row or "json_path" in row):
        raise ConvertError(f"{where}: got {row!r:.80}; expected an object with path, or json_path")
    own = tuple(each.name for each in fields(Part) if each.name != "selection")
    _check_keys(where, row, (*_FIELD, *own, "take", "per_image", "where", *_FILTERS, "overlap"))
    named = {_FIELD.get(str(key), str(key)): value for key, value in row.items()}
    every: dict[str, Any] = {"drop": HARMFUL, **common, **named}
    given = {key: value for key, value in every.items() if value is not None}
    for key, expected, fits in _VALUES:
        if key in given and not fits(given[key]):
            raise ConvertError(f"{where}, {key}: got {given[key]!r:.60}; expected {expected}")
    file = path.parent / str(given.pop("path"))
    if "images" in given:
        given["images"] = os.path.abspath(path.parent / str(given["images"]))
    name = str(given.pop("name", stem_of(file)))
    overlap: Mapping[str, Any] = given.pop("overlap", {})
    _check_keys(f"{where}, overlap", overlap, _OVERLAP)
    given.update((_OVERLAP[key], path.parent / each if key == "boxes" else each) for key, each in overlap.items())
    filters = Filters(**{each.name: given.pop(each.name) for each in fields(Filters) if each.name in given})
    selected = {key: given.pop(key) for key in ("where", "per_image", "take") if key in given}
    return Part(path=file, name=name, selection=Selection(filters, **selected, seed=seed, name=name), **given)
