"""Trainers' packages where they are not installed: what each was seen to have, of that which our adapters import."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

REAL = os.environ.get("GROUNDING_REWARDS_REAL", "")  # the package that make matrix installed
_BASES = {
    "nemo_gym": "nemo_gym.base_resources_server", "openenv": "openenv.core.env_server",
    "skyrl": "skyrl_gym.envs.base_text_env", "swift": "swift.rewards",
    "verifiers": "verifiers.v1",
}  # fmt: skip


def restated(monkeypatch: pytest.MonkeyPatch, trainer: str) -> Any:
    """Return the module that an adapter imports, of the trainer itself where it is installed."""
    monkeypatch.delitem(sys.modules, f"grounding_rewards_adapters.{trainer}", raising=False)
    if trainer not in _BASES:
        return None
    name = _BASES[trainer]
    top = name.partition(".")[0]
    if top == REAL or importlib.util.find_spec(top) is not None:
        return import_module(name)
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(sys.modules[name]).update(globals()[f"_{trainer}"]())
    if trainer == "openenv":
        rubric = type("Rubric", (), {"__call__": lambda self, *given: self.forward(*given)})
        monkeypatch.setitem(sys.modules, "openenv.core.rubrics", ModuleType("openenv.core.rubrics"))
        vars(sys.modules["openenv.core.rubrics"]).update(Rubric=rubric)
    return sys.modules[name]


def _swift() -> dict[str, Any]:
    return {"orms": {}}


def _skyrl() -> dict[str, Any]:
    return {"BaseTextEnv": object, "BaseTextEnvStepOutput": dict}


def _nemo_gym() -> dict[str, Any]:
    pydantic = pytest.importorskip("pydantic")
    part = pydantic.create_model("Part", type=(str, ...), text=(str, ...))
    item = pydantic.create_model("Item", type=(str, ...), content=(list[part], []))
    response = pydantic.create_model("Response", output=(list[item], ...))
    asked = pydantic.create_model("Asked", response=(response, ...))
    return {
        "BaseResourcesServerConfig": pydantic.BaseModel,
        "BaseVerifyRequest": asked,
        "BaseVerifyResponse": pydantic.create_model("Rewarded", reward=(float, ...), __base__=asked),
        "SimpleResourcesServer": pydantic.BaseModel,
    }


def _openenv() -> dict[str, Any]:
    pydantic = pytest.importorskip("pydantic")
    made = {"__init__": lambda self, rubric: setattr(self, "rubric", rubric)}
    return {
        "Action": pydantic.BaseModel,
        "Environment": type("Environment", (), {**made, "_apply_rubric": lambda self, *given: self.rubric(*given)}),
        "Observation": pydantic.create_model(
            "Seen", done=(bool, False), reward=(Any, None), metadata=(dict[str, Any], {})
        ),
        "State": pydantic.create_model("State", episode_id=(Any, None), step_count=(int, 0)),
    }


def _verifiers() -> dict[str, Any]:
    pydantic = pytest.importorskip("pydantic")
    generic = {"__class_getitem__": classmethod(lambda cls, _: cls)}
    task = {"__init__": lambda self, data, config: vars(self).update(data=data, config=config)}
    taskset = {"__init__": lambda self, config: setattr(self, "config", config)}
    return {
        "Task": type("Task", (), {**generic, **task}), "Taskset": type("Taskset", (), {**generic, **taskset}),
        "TaskData": pydantic.create_model("TaskData", prompt=(Any, None)), "Trace": object,
        "TasksetConfig": pydantic.create_model("TasksetConfig", task=(Any, None)),
        "metric": lambda function: function, "reward": lambda function: function,
    }  # fmt: skip
