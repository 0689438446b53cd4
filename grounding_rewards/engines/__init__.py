"""Engines: from a model to responses, behind one protocol."""

from typing import Any

from grounding_rewards.engines.protocol import Answer, Engine, Reply, Request, Running, Sampling
from grounding_rewards.errors import EngineError, RecipeError, near, short_repr
from grounding_rewards.plugins.loading import load, names_code
from grounding_rewards.plugins.named import made
from grounding_rewards.plugins.registry import left_out, origin, registry

__all__ = ["Answer", "Engine", "Reply", "Request", "Running", "Sampling", "engine"]


def engine(name: str, /, **arguments: Any) -> Engine:
    """Build an engine from its name and plain arguments, as the command line has them.

    Args:
        name: a registered engine's (``"openai"``, ``"plugin/name"``), or ``module:attr`` or ``/path/file.py:attr`` of
            a class of engines.
        arguments: the fields of the class; each engine has ``model``.

    Raises:
        EngineError: there is no such engine, or an argument is unknown, missing or invalid.

    >>> engine("opneai", model="m")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    grounding_rewards.errors.EngineError: unknown engine 'opneai'...
    """
    known = registry().engines
    if not isinstance(name, str) or not (name in known or names_code(name)):
        hint = left_out(name) or near(name, known) or "."
        raise EngineError(f"unknown engine {name!r:.80}{hint} There are: {', '.join(known)}; your own by module:attr")
    try:
        kind = known[name] if name in known else load(name)
        built: Engine = made(f"{name}{origin(kind)}", kind, arguments)
    except RecipeError as error:
        raise EngineError(str(error)) from None
    if not (hasattr(built, "model") and callable(getattr(built, "start", None))):
        raise EngineError(f"{name} is {short_repr(built)}; expected an engine, with model and start")
    return built
