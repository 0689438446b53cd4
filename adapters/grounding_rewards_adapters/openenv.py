"""OpenEnv: ``create_app(GroundingEnv, Answer, Screen)`` serves an environment of one step, whose rubric is a recipe.

A reset takes a row: ``instruction``, ``image`` and ``target``, and further columns. The options are arguments of
``GroundingEnv``, or come from the variable GROUNDING_REWARDS_OPTIONS. Unlike most others, this file imports its
trainer: it exists to subclass its environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openenv.core.env_server import Action, Environment, Observation, State
from openenv.core.rubrics import Rubric

from grounding_rewards_adapters import _small

_TRAINER = _small.trainer("OpenEnv", "the targets that reset gets")


class Answer(Action):  # type: ignore[misc]  # its types are not read
    """The model's text."""

    response: str = ""


class Screen(Observation):  # type: ignore[misc]
    """A screenshot, by its path or as a data URL, and the instruction; both are empty after the answer."""

    instruction: str = ""
    image: str = ""


class GroundingRubric(Rubric):  # type: ignore[misc]
    """A recipe; ``row`` holds the target, which no observation shows, and ``scored`` all values of the last answer."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options, self.row, self.scored = options, dict[str, Any](), dict[str, float]()

    def forward(self, action: Answer, observation: Any) -> float:
        """Return the total of an answer; 0.0 where the target cannot be used."""
        target = [self.row.get("target")]
        (self.scored,) = _small.scored(_TRAINER, self.options, [action.response], target, [self.row])
        return self.scored["total"]


class GroundingEnv(Environment):  # type: ignore[misc]
    """One answer to one screenshot: of the row that a reset gets, else of ``rows``, by its index or in turn."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, rows: Sequence[Mapping[str, Any]] = (), **options: Any) -> None:
        super().__init__(rubric=GroundingRubric(**options))
        self._rows, self._next, self._state = rows, 0, State()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, index: int | None = None, **row: Any
    ) -> Screen:
        """Show a screenshot and its instruction."""
        if not row and self._rows:
            place = self._next if index is None else index
            row, self._next = dict(self._rows[place % len(self._rows)]), place + 1
        self.rubric.row, self._state = row, State(episode_id=episode_id)
        return Screen(instruction=str(row.get("instruction") or ""), image=str(row.get("image") or ""))

    def step(self, action: Answer, timeout_s: float | None = None, **_: Any) -> Screen:
        """Score the answer, and end the episode; all values are in ``metadata``."""
        reward = self._apply_rubric(action, None)
        self._state.step_count += 1
        return Screen(done=True, reward=reward, metadata=self.rubric.scored)

    @property
    def state(self) -> State:
        """The name of the episode, and its number of steps."""
        return self._state
