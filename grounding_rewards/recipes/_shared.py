"""Shared by recipe files: option checks, native forms and deviations that several sources have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from grounding_rewards.actions import CLICKS, WRITTEN, canonical, is_known
from grounding_rewards.coords.spaces import CoordSpace, as_space, sizes_needed
from grounding_rewards.errors import RecipeError, SpaceError, near
from grounding_rewards.parsing import Dialect
from grounding_rewards.parsing.refusal_words import with_refusal_words
from grounding_rewards.plugins.named import build
from grounding_rewards.plugins.registry import frozen, registry
from grounding_rewards.scoring import Deviation, Example, Recipe
from grounding_rewards.targets.target import NativeForm

_EDGES = ("x1", "y1", "x2", "y2")


def answering_space(recipe: str, space: CoordSpace | str | None) -> CoordSpace:
    """The space that the model answers in, of a recipe that has no default for it."""
    if space is None:
        spaces = ", ".join(CoordSpace)
        raise SpaceError(
            f"{recipe} needs response_space, the space that the model answers in: {spaces}; or family, or model (on "
            "the command line --response-space, --family and --pipeline)"
        )
    return as_space(space)


def bare_box(value: Any) -> dict[str, Any] | None:
    """``[x1, y1, x2, y2]`` as a bbox; None for other values."""
    return {"bbox": value} if isinstance(value, list) and len(value) == 4 else None


def listed_boxes(description: str, read: Callable[[Any], dict[str, Any] | None] = bare_box) -> NativeForm:
    """The native form of a source whose targets are bare lists, of four numbers a box."""
    return NativeForm(description, read, lists_alone=True, bare_box=True)


def numerals(value: Any) -> Any:
    """Texts that are all numerals, as floats, as several sources read them; None for other texts alone.

    Any other value stays as it is.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return value
    try:
        return [float(item) for item in value]
    except ValueError:
        return None


def box_by_edges(value: Any) -> dict[str, Any] | None:
    """``{"x1": .., "y1": .., "x2": .., "y2": ..}`` as a bbox, sizes and names beside it kept; None for other values."""
    if not isinstance(value, dict) or not set(_EDGES) <= set(value) or "bbox" in value:
        return None
    return {"bbox": [value[edge] for edge in _EDGES], **{key: value[key] for key in value if key not in _EDGES}}


def by_edges(*box: float) -> Any:
    """A box as ``box_by_edges`` reads it, for examples."""
    return frozen(dict(zip(_EDGES, box, strict=True)))


def names_of(option: str, value: Any) -> tuple[str, ...]:
    """Read an option of names: a text, or several; none of them empty."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, tuple | list) or not all(isinstance(each, str) and each.strip() for each in names):
        raise RecipeError(f"option {option}: got {value!r:.80}; expected a name, or several as a list")
    return tuple(dict.fromkeys([each.strip() for each in names]))


def clicks_and(actions: Any) -> tuple[str, ...]:
    """Return the names of clicks and of further actions, in all of their spellings."""
    kinds = set()
    for name in names_of("actions", actions):
        if not is_known(name):
            hint = near(name, WRITTEN) or "."
            raise RecipeError(f"option actions: got {name!r:.80}{hint} Expected names such as hover or mouse_move")
        kinds.add(canonical(name))
    return (*CLICKS, *(written for written in WRITTEN if canonical(written) in kinds and written not in CLICKS))


def dialect_named(name: str, refusal_words: Any = None, tools: Any = ()) -> Dialect:
    """A dialect by name, built in or from a plugin; or by ``module:attr`` or ``/path/file.py:attr``.

    ``refusal_words`` are further phrases that it is to read as a refusal, ``tools`` parts of the names of further
    tools whose calls are no answers.
    """
    try:
        dialect: Dialect = build("parsers", name)
    except RecipeError as error:
        raise RecipeError(f"option dialect: {error}") from error
    if parts := names_of("tools", tools):
        if not hasattr(dialect, "tools"):
            raise RecipeError(
                f"option tools: got {tools!r:.80}, and dialect {name} does not tell calls of tools from answers; use "
                "auto or auto_action"
            )
        more: Any = dialect
        dialect = replace(more, tools=(*more.tools, *[part.lower() for part in parts]))
    return with_refusal_words(dialect, refusal_words)


def in_vocabulary(dialect: Dialect, judge: str) -> Dialect:
    """The same dialect, whose actions are in the words of ``actions.ACTIONS``, in which ``judge`` compares them."""

    def shares(each: Dialect) -> bool:
        return getattr(each, "vocabulary", False) and not getattr(each, "placed", False)

    if shares(dialect):
        return dialect
    known = [name for name, each in registry().parsers.items() if shares(each)]
    raise RecipeError(
        f"option dialect: {dialect.name} does not share the vocabulary of actions, in which {judge} compares them; use "
        f"auto_action, or another of {', '.join(known)}, or your own with vocabulary=True"
    )


Build = TypeVar("Build", bound=Callable[..., Any])


def shown_with(**options: Any) -> Callable[[Build], Build]:
    """Say with which options to show a recipe that cannot be built without any, in lists and examples."""

    def mark(build: Build) -> Build:
        vars(build)["shown_with"] = options
        return build

    return mark


_WRITTEN = {
    **dict.fromkeys(("auto", "bare_tuple"), "({}, {})"),
    "json_2d": '{{"point_2d": [{}, {}]}}',
    "tool_call": '{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": [{}, {}]}}}}',
}
_CENTRE = {
    CoordSpace.PIXEL: (200, 150),
    CoordSpace.MODEL_PIXEL: (100, 75),
    CoordSpace.UNIT: (0.2, 0.3),
    CoordSpace.THOUSANDTHS: (200, 300),
}


def written(dialect: str, point: tuple[float, float]) -> str | None:
    """A point as an answer of a dialect; None for dialects that are not known here."""
    return _WRITTEN[dialect].format(*point) if dialect in _WRITTEN else None


def click_example(response_space: CoordSpace, space: CoordSpace, dialect: str) -> Example | None:
    """A click on the centre of a box in pixels, as a model of that space writes it; None for other dialects."""
    answer = written(dialect, _CENTRE[response_space])
    if answer is None:
        return None
    needed = sizes_needed(response_space, CoordSpace.PIXEL, into=space)
    return Example(
        answer,
        frozen({"bbox": [100, 100, 300, 200]}),
        image_size=(1000, 500) if "image_size" in needed else None,
        model_image_size=(500, 250) if "model_image_size" in needed else None,
    )


def published(
    *,
    space: CoordSpace | str,
    accepts: Iterable[str],
    response_space: CoordSpace | str | None = None,
    target_space: CoordSpace | str | None = None,
    deviations: Mapping[str, str],
    **more: Any,
) -> Recipe:
    """The recipe of a paper's code: in one space where no other is said, and thinking is text like any other.

    ``deviations`` has the reason of each departure from the code by its name.
    """
    return Recipe(
        space=as_space(space),
        accepts=frozenset(accepts),
        response_space=as_space(response_space or space),
        target_space=as_space(target_space or space),
        thinking="read",
        deviations=tuple(Deviation(*each) for each in deviations.items()),
        **more,
    )


BAD_TARGET = {
    "bad-target": "A target that does not fit is an error, or abstains; the source scores 0 in silence, or raises."
}
UNICODE_DIGITS = {
    "unicode-digits": "Only ASCII digits are digits; the source reads full-width and other scripts' digits as numbers."
}
