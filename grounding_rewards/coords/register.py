"""The register of model families: the facts of ``families.toml``, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from grounding_rewards.errors import RecipeError, near

OPTIONS = (
    "response_space", "axes", "model", "min_pixels", "max_pixels", "answers", "thinking", "dialect", "actions",
    "refusal_words",
)  # fmt: skip
"""Options of recipes that a family may set."""


class Processor(Struct, frozen=True):
    """Image processor of a model."""

    factor: int = 1  # the number that both sides are multiples of
    min_pixels: int = 1  # least number of pixels
    max_pixels: int = 1  # the most
    # width and height of the canvas that an image is fitted into, at its upper left corner; None for none
    canvas: tuple[int, int] | None = None


class PublishedPrompt(Struct, frozen=True):
    """Prompt after that of a published model."""

    model: str  # the models that are asked so
    user: str  # the template of the user's text
    system: str  # that of the system message; "" for none
    space: str  # the space of the answers
    answer: str  # an answer in the form that it asks for
    recipe: str  # a recipe that reads such answers
    taken: str  # the part that is the source's, word by word
    ours: str  # the part that is written again
    options: Mapping[str, Any] = {}  # the recipe's options


class Family(Struct, frozen=True):
    """A family of models that answer alike."""

    name: str
    options: Mapping[str, Any]  # options of a recipe
    source: str  # where these facts stand
    seen: str  # ``"code"``, ``"page"``, or ``"memory"`` where nobody checked them
    response: str  # an answer as these models write it
    image_size: tuple[int, int]  # width and height of the image that it is about
    point: tuple[float, float]  # the place that it means, in that image's pixels
    names: str  # a pattern of the models' names
    # values of ``model_type`` in config.json that mean this family where no name says more
    model_types: tuple[str, ...] = ()
    like: str = ""  # the family that it was trained from; "" where its options stand alone
    # its own image processor; None where that is another's (``options["model"]``) or unknown
    processor: Processor | None = None
    taken: str = ""  # of a model's name or folder: what says the family, and where its bounds stand
    prefill: str = ""  # the beginning of each answer, which the model is given with its own prompt
    stop: tuple[str, ...] = ()  # texts before which its answers end
    # prompts after its published ones, by name, the usual one first
    prompts: Mapping[str, PublishedPrompt] = {}


@cache
def families() -> Mapping[str, Family]:
    """Return all families by name."""
    made = dict[str, Family]()
    for name, row in read_toml(Path(__file__).with_name("families.toml")).items():
        made[name] = _made(name, row, made)
    return MappingProxyType(made)


def read_toml(file: Path) -> Mapping[str, Any]:
    """Read the tables of a register."""
    import tomllib  # which commands that meet no family do without

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RecipeError(f"family: {file}: cannot be read ({error}); expected a register in TOML") from None


_NEEDED = ("names", "source", "seen", "example")
_TAKEN = (*_NEEDED, *OPTIONS, "model_types", "like", "prefill", "stop")


def further_family(name: str, row: Any, known: Mapping[str, Family]) -> Family:
    """Make a family of one's own of a table as ``families.toml`` has them; ``like`` is one of the ``known``."""
    if not isinstance(row, Mapping):
        raise RecipeError(f"family {name}: got {row!r:.80}; expected a table such as [gta1] in families.toml")
    for key in row:
        if key not in _TAKEN:
            raise RecipeError(f"family {name}: {key}: expected one of {', '.join(_TAKEN)}{near(key, _TAKEN)}")
    if missing := [key for key in _NEEDED if key not in row]:
        raise RecipeError(f"family {name}: has no {missing[0]}; a family needs {', '.join(_NEEDED)}")
    if "like" in row and row["like"] not in [*known]:
        raise RecipeError(f"family {name}: like: got {row['like']!r:.60}; expected a family{near(row['like'], known)}")
    if "like" not in row and "response_space" not in row:
        raise RecipeError(f"family {name}: has no response_space; name it, or another family under like")
    try:
        made = _made(name, row, known)
        re.compile(made.names)
    except (TypeError, ValueError, re.error) as error:
        raise RecipeError(f"family {name}: {error}; expected values as those in families.toml") from None
    return made


def _made(name: str, row: Mapping[str, Any], known: Mapping[str, Family]) -> Family:
    response, size, point = row["example"]
    options = {**(known[row["like"]].options if "like" in row else {}), **row}
    space, prompts = str(options["response_space"]), row.get("prompts", {})
    processor: dict[str, Any] = {
        key: tuple(each) if key == "canvas" else each for key, each in row.get("processor", {}).items()
    }
    return Family(
        name=name, options=MappingProxyType({key: options[key] for key in OPTIONS if key in options}),
        source=row["source"], seen=row["seen"], response=response, image_size=tuple(size), point=tuple(point),
        names=row["names"], model_types=tuple(row.get("model_types", ())), like=row.get("like", ""),
        processor=Processor(**processor) if processor else None, prefill=row.get("prefill", ""),
        stop=tuple(row.get("stop", ())),
        prompts={key: PublishedPrompt(**{"system": "", "space": space, **each}) for key, each in prompts.items()},
    )  # fmt: skip


@cache
def processors() -> Mapping[str, Processor]:
    """Return the image processors of models, by the name of the family that has each."""
    return MappingProxyType({name: each.processor for name, each in families().items() if each.processor})


@cache
def published_prompts() -> Mapping[str, PublishedPrompt]:
    """Return the prompts after published ones, by name."""
    return MappingProxyType({name: each for family in families().values() for name, each in family.prompts.items()})


def space_of(model: str) -> str:
    """Return the space in which a model answers, whatever trainer's pipeline its name has before it."""
    return str(families()[model.rpartition("+")[2]].options["response_space"])
