"""Judge a step of a benchmark by an evaluator's rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from grounding_rewards.errors import RecipeError, near
from grounding_rewards.evaluators.rule import Size, StepRule, StepVerdict

RULES: Mapping[str, str] = {
    "agentnetbench": "opencua:AGENTNET",
    "aitw": "aitw:AUTO_GUI aitw:SEECLICK",
    "aitz": "agentcpm:CPM coat:COAT coat:COAT_CLICK agentcpm:KIT",
    "androidcontrol": "agentcpm:CPM_ANDROID_CONTROL agentcpm:KIT_ANDROID_CONTROL clawgui:ANDROID_CONTROL "
    "gui_r1:OMNI os_atlas:ANDROID_CONTROL ui_s1:EVALUATION ui_s1:REWARD uground:ANDROID_CONTROL",
    "cagui": "agentcpm:CPM agentcpm:KIT",
    "gui-odyssey": "agentcpm:CPM_ODYSSEY agentcpm:KIT_ODYSSEY gui_odyssey:ODYSSEY gui_r1:OMNI os_atlas:GUI_ODYSSEY",
    "mind2web": "mind2web:SEECLICK mind2web:UGROUND",
    "omniact": "omniact:UGROUND os_atlas:OMNIACT",
}
"""Rules of each benchmark, as file and name in ``evaluators.rules``."""

ALL = "all"
"""Stands for every rule of a benchmark."""

ALSO = {"multimodalmind2web": "mind2web"}


def judge_step(
    benchmark: str,
    rule: str,
    *,
    response: Any,
    gold: Any,
    image_size: Size = None,
    options: Mapping[str, Any] | None = None,
) -> StepVerdict:
    r"""Return the verdict that a published evaluator gives one step, its faults included.

    Args:
        benchmark: name of the benchmark, such as ``androidcontrol``.
        rule: name of the rule; benchmarks are judged differently by each author, so there is no default.
        response: the answer in the evaluator's own form, a model's text or its decoded action.
        gold: what is right, in the evaluator's own form.
        image_size: width and height of the screenshot in pixels.
        options: further settings of the evaluator.

    Returns:
        ``type``, ``place`` and ``step``, each True, False, or None where the rule has none or its evaluator stops.

    Raises:
        RecipeError: benchmark or rule are not known.

    >>> judge_step("androidcontrol", "os-atlas", response="actions:\nTYPE [red shop]", gold="TYPE [red hat]").step
    True
    """
    size = None if image_size is None else (float(image_size[0]), float(image_size[1]))
    return step_rule(benchmark, rule).judge(response, gold, size, options or {})


def step_rule(benchmark: str, rule: str) -> StepRule:
    """Return a rule of a benchmark by its name, alone or with the benchmark's."""
    rules, known = rules_of(benchmark), benchmark_name(benchmark)
    for each in rules:
        if _plain(rule) in map(_plain, (each.name, known + each.name, each.name + known, *each.also)):
            return each
    names = [each.name for each in rules]
    raise RecipeError(f"rule of {benchmark}: got {rule!r:.80}; expected one of {', '.join(names)}{near(rule, names)}")


def rules_of(benchmark: str) -> tuple[StepRule, ...]:
    """Return the rules of a benchmark by name."""
    files = [each.partition(":") for each in RULES[_required(benchmark)].split()]
    return tuple(getattr(import_module(f"grounding_rewards.evaluators.rules.{file}"), name) for file, _, name in files)


def benchmark_name(written: str) -> str:
    """Return the name of a benchmark of whole actions, however it is written; "" of none."""
    plain = re.sub("(low|high)$", "", _plain(written))
    return next((name for name in RULES if _plain(name) == ALSO.get(plain, plain)), "")


def _required(benchmark: str) -> str:
    if name := benchmark_name(benchmark):
        return name
    names = ", ".join(RULES)
    raise RecipeError(
        f"benchmark of whole actions: got {benchmark!r:.80}; expected one of {names}{near(benchmark, RULES)}"
    )


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
