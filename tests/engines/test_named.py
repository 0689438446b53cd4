"""Engines by name."""

from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from grounding_rewards.engines import engine
from grounding_rewards.errors import EngineError


@dataclass(frozen=True)
class Echo:
    model: str
    size: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size: got {self.size}; expected 1 or more")

    def start(self):
        return nullcontext(lambda requests: [])


def not_an_engine(model):
    return object()


def test_a_class_by_its_place_in_code():
    assert engine(f"{__name__}:Echo", model="m", size=2) == Echo("m", 2)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("opneai", {}, r"unknown engine 'opneai'.* There are: .*; your own by module:attr"),
        (f"{__name__}:Echo", {"model": "m", "sizes": 2}, r"unknown argument 'sizes'; did you mean 'size'\?"),
        (f"{__name__}:Echo", {}, "needs model; it takes: model, size"),
        (f"{__name__}:Echo", {"model": "m", "size": 0}, "size: got 0; expected 1 or more"),
        (f"{__name__}:not_an_engine", {"model": "m"}, "expected an engine, with model and start"),
        (7, {}, "unknown engine 7"),
    ],
)
def test_what_is_no_engine_is_named(name, arguments, message):
    with pytest.raises(EngineError, match=message):
        engine(name, **arguments)
