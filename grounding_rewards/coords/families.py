"""Model families by name: what their numbers mean, how their images are resized, and which of several answers counts.

``families.toml`` is the register. A family sets options of a recipe, and whoever names it may set each otherwise.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from grounding_rewards.coords.resizing import RESIZING, Resizing
from grounding_rewards.coords.spaces import MODELS
from grounding_rewards.errors import RecipeError, near

OPTIONS = ("response_space", "axes", "model", "min_pixels", "max_pixels", "answers", "thinking", "dialect", "actions")
"""Options of recipes that a family may set."""


@dataclass(frozen=True)
class Family:
    """A family of models that answer alike.

    Attributes:
        name: its name.
        options: options of a recipe.
        source: where these facts stand.
        seen: ``"code"``, ``"page"``, or ``"memory"`` where nobody checked them.
        response: an answer as these models write it.
        image_size: width and height of the image that it is about.
        point: the place that it means, in that image's pixels.
        names: a pattern of the models' names.
        model_types: values of ``model_type`` in config.json that mean this family where no name says more.
        like: the family that it was trained from; "" where its options stand alone.
    """

    name: str
    options: Mapping[str, Any]
    source: str
    seen: str
    response: str
    image_size: tuple[int, int]
    point: tuple[float, float]
    names: str
    model_types: tuple[str, ...] = ()
    like: str = ""


@cache
def families() -> Mapping[str, Family]:
    """Return all families by name.

    >>> dict(families()["gta1"].options)
    {'response_space': 'model_pixel', 'model': 'qwen2_5_vl', 'max_pixels': 8847360, 'answers': 'first'}
    """
    register = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return MappingProxyType({name: _family(name, register) for name in sorted(register)})


def family_of(name: Any) -> Family:
    """Return a family by its name, or by the folder of a checkpoint, whose processor then says the bounds.

    Raises:
        RecipeError: there is no such family or folder, or the folder says no family, or several.

    >>> family_of("qwen3_vl").options["response_space"]
    'thousandths'
    """
    known = families()
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and Path(name).is_dir():
        return _of_checkpoint(Path(name))
    hint = near(name, known) or "."
    expected = f"There are: {', '.join(known)}; or the folder of a checkpoint"
    raise RecipeError(f"family: got {name!r:.80}{hint} {expected}")


def matching(name: str, model_type: str = "") -> tuple[Family, ...]:
    """Return the families of a model by its name; where none has such a name, those of its type.

    >>> [each.name for each in matching("ByteDance-Seed/UI-TARS-1.5-7B", "qwen2_5_vl")]
    ['ui_tars_1_5']
    >>> [each.name for each in matching("checkpoint-400", "qwen2_5_vl")]
    ['qwen2_5_vl']
    """
    spelled = re.sub("[_ ]", "-", name.lower())
    found = [each for each in families().values() if re.search(each.names, spelled)]
    bases = {each.like for each in found}  # a fine-tune's name often holds that of its base
    return tuple(each for each in found if each.name not in bases) or tuple(
        each for each in families().values() if model_type in each.model_types
    )


def resizing_by(settings: Mapping[str, Any]) -> Resizing | None:
    """Return the resizing by an image processor of Qwen's; None for others, and where its settings are not all there.

    >>> size = {"shortest_edge": 65536, "longest_edge": 16777216}
    >>> kind = {"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 16, "merge_size": 2}
    >>> resizing = resizing_by({**kind, "size": size})
    >>> resizing.model, resizing.min_pixels, resizing.max_pixels
    ('qwen3_vl', 65536, 16777216)
    """
    if not str(settings.get("image_processor_type")).startswith("Qwen2VLImageProcessor"):
        return None
    size = settings.get("size") or {}
    least = settings.get("min_pixels") or size.get("shortest_edge")
    most = settings.get("max_pixels") or size.get("longest_edge")
    pipeline = _PIPELINES.get(settings.get("patch_size", 0) * settings.get("merge_size", 0))
    return Resizing(pipeline, least, most) if pipeline and least and most else None


_PIPELINES = {28: "qwen2_5_vl", 32: "qwen3_vl"}
"""By patch size x merge size of the one image processor that both families have."""


def _family(name: str, register: Mapping[str, Any]) -> Family:
    row = register[name]
    response, size, point = row["example"]
    options = dict(_family(row["like"], register).options) if "like" in row else {}
    options |= {key: row[key] for key in OPTIONS if key in row}
    if "response_space" not in options:
        options["response_space"] = str(MODELS[options["model"]])
    ordered = {key: options[key] for key in OPTIONS if key in options}
    return Family(
        name, MappingProxyType(ordered), row["source"], row["seen"], response, tuple(size), tuple(point),
        row["names"], tuple(row.get("model_types", ())), row.get("like", ""),
    )  # fmt: skip


def _of_checkpoint(folder: Path) -> Family:
    config = _settings(folder / "config.json")
    model_type = str(config.get("model_type", ""))
    names = " ".join([folder.resolve().name, str(config.get("_name_or_path", ""))])
    found = matching(names, model_type)
    if len(found) != 1:
        came = ", ".join(each.name for each in found) or f"none (model_type {model_type or 'is not said'})"
        raise RecipeError(f"family: {folder}: its name and config.json fit {came}; expected one: name the family")
    processor = resizing_by(_settings(folder / "preprocessor_config.json"))
    if processor is None or "model" not in found[0].options:
        return found[0]
    bounds = {"min_pixels": processor.min_pixels, "max_pixels": processor.max_pixels}
    return replace(found[0], options=MappingProxyType({**found[0].options, **bounds}))


def _settings(file: Path) -> Mapping[str, Any]:
    try:
        read = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, Mapping) else {}


def options_for(name: Any, own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a family sets for a recipe, without those that the caller gives.

    Args:
        name: the family, as ``family_of`` takes it.
        own: the recipe's own options: one that has its own form of answers keeps it, with its rule for several.
        given: the caller's options; with another ``model`` the family's bounds do not hold.
    """
    left = set(given)
    if "dialect" not in own:
        left |= {"answers", "thinking", "dialect", "actions"}
    if "model" in given:
        left |= set(RESIZING)
    return {key: value for key, value in family_of(name).options.items() if key not in left}
