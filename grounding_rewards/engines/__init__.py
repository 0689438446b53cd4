"""Engines: from a model to responses, behind one protocol."""

from typing import Any

from grounding_rewards.engines.protocol import Answer, Engine, Reply, Request, Running, Sampling
from grounding_rewards.errors import EngineError, RecipeError
from grounding_rewards.plugins.named import build

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
    try:
        built: Engine = build("engines", name, arguments)
    except RecipeError as error:
        raise EngineError(str(error)) from None
    return built
