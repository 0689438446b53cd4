"""verl: advantage estimators that it lacks, by the names ``mc_grpo`` and ``difficulty``.

``VERL_USE_EXTERNAL_MODULES=grounding_rewards_adapters.verl_advantages`` in the environment of the trainer's processes
lets verl import this file, which registers them; ``algorithm.adv_estimator`` names one. docs/advantages.md has the
launch. This file, unlike the others, imports its trainer: it exists to register in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verl.trainer.ppo.core_algos import register_adv_est

from grounding_rewards import advantages
from grounding_rewards.errors import RecipeError


def mc_grpo(
    token_level_rewards: Any, response_mask: Any, index: Any = None, config: Mapping[str, Any] | None = None, **_: Any
) -> tuple[Any, Any]:
    """Return ``advantages.mc_grpo`` of each response's summed rewards, at each of its tokens.

    Returns:
        (n, t) advantages, and the same as returns.

    Raises:
        RecipeError: no ``algorithm.mad_floor``, or one that is no number of 0 or more; no ``uid``.
    """
    floor = _setting(config, "mad_floor")
    if floor is None:
        raise RecipeError(
            "adv_estimator=mc_grpo: algorithm.mad_floor is missing; add +algorithm.mad_floor=NUMBER, the least "
            "deviation that advantages are divided by (0 as published: up to 1000 for rewards of 0 and 1)"
        )
    totals = token_level_rewards.sum(dim=-1)
    return _at_tokens(advantages.mc_grpo(totals, _samples(index, "mc_grpo"), mad_floor=floor), response_mask)


def difficulty(
    token_level_rewards: Any, response_mask: Any, index: Any = None, config: Mapping[str, Any] | None = None, **_: Any
) -> tuple[Any, Any]:
    """Return ``advantages.difficulty`` of each response's summed rewards, at each of its tokens.

    The difficulty of a sample is the mean reward of its group, brought into 0 to 1 from the lowest and the highest
    reward, ``algorithm.reward_low`` and ``algorithm.reward_high``, which are 0 and 1 unless set.

    Returns:
        (n, t) advantages, and the same as returns.

    Raises:
        RecipeError: a reward is beyond these bounds; they are no numbers; no ``uid``.
    """
    set_bounds = {name: _setting(config, f"reward_{name}") for name in ("low", "high")}
    bounds = {name: bound for name, bound in set_bounds.items() if bound is not None}
    totals, samples = token_level_rewards.sum(dim=-1), _samples(index, "difficulty")
    try:
        each = advantages.difficulty(totals, samples, **bounds)
    except RecipeError as error:
        raise RecipeError(
            f"adv_estimator=difficulty: {error}; in verl they are +algorithm.reward_low=NUMBER and "
            "+algorithm.reward_high=NUMBER (a KL penalty in the reward goes beyond them: use "
            "actor_rollout_ref.actor.use_kl_loss)"
        ) from None
    return _at_tokens(each, response_mask)


def _setting(config: Mapping[str, Any] | None, name: str) -> Any:
    return None if config is None else config.get(name, None)


def _samples(index: Any, name: str) -> Any:
    if index is None:
        raise RecipeError(f"adv_estimator={name}: verl gave no uid of samples; it compares the rollouts of each")
    return index


def _at_tokens(each: Any, response_mask: Any) -> tuple[Any, Any]:
    tokens = each.unsqueeze(-1) * response_mask
    return tokens, tokens


register_adv_est("mc_grpo")(mc_grpo)
register_adv_est("difficulty")(difficulty)
