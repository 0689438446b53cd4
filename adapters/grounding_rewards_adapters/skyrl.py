"""SkyRL: rows with ``env_class: grounding_rewards``, once the trainer's task has called ``skyrl.register()``.

The target is ``reward_spec.ground_truth``. The options come from the variable GROUNDING_REWARDS_OPTIONS, or from
``environment.skyrl_gym.grounding_rewards`` in a config that has such a field. Unlike most others, this file imports its
trainer: it exists to subclass its environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from grounding_rewards_adapters import _small

_TRAINER = _small.trainer("SkyRL", "the data set's reward_spec.ground_truth")


class GroundingEnv(BaseTextEnv):  # type: ignore[misc]  # its types are not read
    """One answer to one screenshot."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._options, self._row, self._scored = dict(env_config or {}), dict(extras or {}), dict[str, float]()

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Score the answer, and end the episode."""
        target = (self._row.get("reward_spec") or {}).get("ground_truth")
        (self._scored,) = _small.scored(_TRAINER, self._options, [action], [target], [self._row])
        return BaseTextEnvStepOutput(observations=[], reward=self._scored["total"], done=True, metadata=self._scored)

    def get_metrics(self) -> dict[str, Any]:
        """Return acc, valid, parsed, in_image and the parts of the answer."""
        return {name: value for name, value in self._scored.items() if name != "total"}


def register() -> None:
    """Make the environment known to skyrl_gym as ``grounding_rewards``."""
    skyrl_gym.register(id="grounding_rewards", entry_point=f"{__name__}:GroundingEnv")
