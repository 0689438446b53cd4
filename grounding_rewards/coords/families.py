"""Choose a model family by name or by checkpoint. It sets options of a recipe, and whoever names it may set each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.axes import XY
from grounding_rewards.coords.register import Family, families, further_family, read_toml
from grounding_rewards.coords.resizing import RESIZING, Resizing, pipelines, resizing_by
from grounding_rewards.coords.spaces import MODEL_PIXEL
from grounding_rewards.errors import RecipeError, near


def family_of(name: Any, known: Mapping[str, Family] | None = None) -> Family:
    """Return a family by its name, by FILE.toml:NAME, or by a checkpoint's folder, whose processor says the bounds.

    ``auto:MODEL`` is the family that a model's name says, as on the hub or of a server. A trainer before it, as in
    ``verl+gta1``, resizes first, by its launch's bounds, and the processor after it.
    """
    known = families() if known is None else known
    if isinstance(name, str):
        if name in known:
            return known[name]
        model = name.removeprefix("auto:")
        if Path(model).is_dir():
            return _of_checkpoint(Path(model), known)
        if model != name:
            return _sole(model, model, "", known)
        file, colon, own = name.rpartition(":")
        if colon and file.endswith(".toml"):
            register = read_toml(Path(file))
            if own not in register:
                raise RecipeError(f"family: {file} has no {own!r:.60}; it has {', '.join(register)}")
            return further_family(own, register[own], known)
        trainer, plus, own = name.partition("+")
        if plus and (own in known or Path(own).is_dir()):
            return _trained(family_of(own, known), f"{trainer}+", bounds=own not in known)
    hint = near(name, known) or "."
    expected = f"There are: {', '.join(sorted(known))}; the folder of a checkpoint, auto:MODEL, or FILE.toml:NAME"
    raise RecipeError(f"family: got {name!r:.80}{hint} {expected}")


def matching(name: str, model_type: str = "", known: Mapping[str, Family] | None = None) -> tuple[Family, ...]:
    """Return the families of a model by its name; where none has such a name, those of its type."""
    known = families() if known is None else known
    spelled = re.sub("[_ ]", "-", name.lower())
    found = [each for each in known.values() if re.search(each.names, spelled)]
    bases = {each.like for each in found}  # a fine-tune's name often holds that of its base
    return tuple(each for each in found if each.name not in bases) or tuple(
        each for each in known.values() if model_type in each.model_types
    )


def alike(space: str, axes: str, resizing: Resizing | None, image_sizes: Floats) -> tuple[str, ...]:
    """Return the names of the families whose answers are read so, which images of these sizes do not tell apart."""

    def seen(way: Resizing | None) -> Any:
        alone = way is not None and "+" not in way.model and space == MODEL_PIXEL
        return way.sizes(image_sizes)[0].tolist() if way is not None and alone else way

    return tuple(
        sorted(
            name
            for name, each in families().items()
            if (each.options["response_space"], each.options.get("axes", XY)) == (space, axes)
            and (space != MODEL_PIXEL or seen(resizing_of(each)) == seen(resizing))
        )
    )


def resizing_of(family: Family) -> Resizing | None:
    """Return the way of images into a family's models; None where it is unknown."""
    options: dict[str, Any] = {name: family.options.get(name) for name in RESIZING}
    return None if options["model"] is None else Resizing(**options)


def options_for(
    name: Any, own: Mapping[str, Any], given: Mapping[str, Any], known: Mapping[str, Family] | None = None
) -> dict[str, Any]:
    """Return the options that a family sets for a recipe, without those that the caller gives or implies.

    A recipe that has its own form of answers keeps it, and another ``model`` has other bounds.
    """
    left = set(given)
    if "dialect" not in own:
        left |= {"answers", "thinking", "dialect", "actions", "refusal_words"}
    if "model" in given:
        left |= set(RESIZING)
    return {key: value for key, value in family_of(name, known).options.items() if key not in left}


def _trained(family: Family, trainer: str, *, bounds: bool) -> Family:
    """Return a family whose images a trainer resizes first; ``bounds`` of a checkpoint are its processor's."""
    options = dict(family.options)
    if f"{trainer}{options.get('model')}" not in pipelines():
        trainers = sorted({name.partition("+")[0] for name in pipelines() if "+" in name})
        raise RecipeError(
            f"family: got {trainer}{family.name}; expected {' or '.join(trainers)} before a family whose images they "
            f"resize, and {family.name} alone for others"
        )
    own = {name: options.pop(name) for name in ("min_pixels", "max_pixels") if name in options}
    options["model"] = f"{trainer}{options['model']}"
    options |= {f"processor_{name}": bound for name, bound in own.items()} if bounds else {}
    return replace(family, options=MappingProxyType(options))


def _of_checkpoint(folder: Path, known: Mapping[str, Family]) -> Family:
    config = _settings(folder / "config.json")
    model_type = str(config.get("model_type", ""))
    names = " ".join([folder.resolve().name, str(config.get("_name_or_path", ""))])
    found = _sole(str(folder), names, model_type, known)
    processor = resizing_by(_settings(folder / "preprocessor_config.json"))
    if processor is None or "model" not in found.options:
        return found
    bounds = {"min_pixels": processor.min_pixels, "max_pixels": processor.max_pixels}
    taken = f"{found.taken}; bounds by its preprocessor_config.json"
    return replace(found, options=MappingProxyType({**found.options, **bounds}), taken=taken)


def _sole(model: str, names: str, model_type: str, known: Mapping[str, Family]) -> Family:
    """Return the only family that names, or else a type, mean."""
    found = matching(names, model_type, known)
    if len(found) != 1:
        came = ", ".join(each.name for each in found) or f"none (model_type {model_type or 'is not said'})"
        raise RecipeError(f"family: {model}: its name and config.json fit {came}; expected one: name the family")
    named = matching(names, known=known) == found
    why = "its name" if named else f"model_type {model_type} alone: if it is trained from that, name its own family"
    return replace(found[0], taken=f"{model} is of family {found[0].name} by {why}")


def _settings(file: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, Mapping) else {}
