"""verl: ``reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl``; the README has the launch line.

Functions only and absolute imports: verl can load this file by its path, under a name that is in no table of modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grounding_rewards.targets import BadTarget, Targets
from grounding_rewards_adapters import _bridge, _scorers

_TRAINER = _scorers.Trainer(
    name="verl",
    key="reward.custom_reward_function.reward_kwargs.recipe (+ before it on the command line)",
    where="the data set's reward_model.ground_truth",
    lacking={
        "groups": "verl gives single samples; TRL and EasyR1 give whole groups",
        "trajectories": "verl gives single samples",
    },
    patience=64,
)
_SIZE_FIELDS = ("image_size", "model_image_size")


def compute_score(
    data_source: str,
    solution_str: str | None,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    recipe: Any = None,
    bad_target: BadTarget = "abstain",
    reward_router_address: str | None = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> dict[str, float]:
    """Score one response, as verl's reward managers ask for it.

    Args:
        data_source: where the sample comes from; verifiers find it in ``Rollouts.extras``.
        solution_str: the response.
        ground_truth: the target, in wire form, as a JSON string of it, or in the recipe's native form.
        extra_info: ``image_size`` and ``model_image_size`` are taken from it where the target has none, ``index`` names
            a target without an id in the log, and verifiers find all of it in ``Rollouts.extras``. It is not changed.
        recipe: a recipe's name, its dict form, or a recipe.
        bad_target: ``"abstain"``, or ``"raise"`` at the first target that cannot be used.
        reward_router_address: ignored; verl gives it where a reward model runs.
        reward_model_tokenizer: ignored, likewise.
        options: the recipe's options, such as ``response_space`` or ``format_weight``.

    Returns:
        ``score``, ``acc``, ``valid``, ``parsed``, ``in_image`` (an answer was read, and it lies in the image) and every
        part: the same keys each time, finite floats. A target that cannot be used gets 0.0 for all but ``parsed`` and
        one ERROR log line.

    Raises:
        RecipeError: no recipe is named, it or an option is unknown, it needs other rows than this one, or none of the
            first 64 targets of this process can be used.
        TargetError: the target cannot be used, and ``bad_target`` is ``"raise"``.

    >>> compute_score("clicks", "(250, 250)", [0.0, 0.0, 0.5, 0.5], recipe="gelato")
    {'score': 1.0, 'acc': 1.0, 'valid': 1.0, 'parsed': 1.0, 'in_image': 1.0, 'distance': 1.0, 'format': 1.0}
    """
    scorer = _scorers.scorer(_TRAINER, recipe, bad_target, options)
    info = extra_info if isinstance(extra_info, Mapping) else {}
    targets = scorer.read([ground_truth])
    scores = scorer.score(
        [solution_str],
        targets,
        names=[None if info.get("index") is None else f"index {info['index']}"],
        extras={**{key: [value] for key, value in info.items()}, "data_source": [data_source]},
        **_sizes(scorer, targets, info),
    )
    columns = {"score": _scorers.totals(scores), "acc": scores.acc, **_scorers.beside(scores)}
    return _scorers.rows(columns)[0]


def _sizes(scorer: _scorers.Scorer, targets: Targets, info: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes that the target lacks, as ``Recipe.score`` takes them."""
    known = targets.known_image_sizes, targets.known_model_image_sizes
    return {
        f"{name}s": _bridge.read_sizes(f"extra_info.{name}", [info[name]], scorer.seen)
        for name, own in zip(_SIZE_FIELDS, known, strict=True)
        if own is None and info.get(name) is not None
    }
