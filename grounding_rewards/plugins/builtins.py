"""The import path of each built-in dialect, verifier, recipe, method and engine, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from grounding_rewards import parsing, verifiers

_NO_VERIFIERS = ("JudgedFormat", "StepReturn", "Verifier")  # these take functions or terms, or are the protocol
_METHODS = """
    answers:DispersionWeighted,RareCells cures:Cures,CuresRollouts dars:Dars
    dart:Dart,DartProportional,DartSteps,DartStored exploration:OutcomeExploration
    filters:Band,Every,MeanBand,MinRollouts,Source,Spread,Unsolved greso:Greso knapsack:Knapsack
    learnability:ItemResponse,Learnability,Screening mopps:Mopps moving_target:MovingTarget
    prime_rl:DifficultyBuffer,DifficultyPools rorecomp:RoRecomp step_returns:StepReturns target_size:TargetSize
    variance:D3s,Pods variance_aware:VarianceAware vip:Vip xrpo:Xrpo
"""
_PUBLISHED = """
    agentcpm-gui btl-ui gelato,gelato-pixel groundnext gta1 gui-g1 gui-g2 gui-r1 gui-rcpo,gui-rcpo-published infigui-g1
    se-gui ui-agile ui-ins ui-r1,ui-r1-dast,ui-r1-e ui-rft ui-s1 ui-venus,ui-venus-navigation
    agentfly gui-cursor gui-libra mobile-use nemo-gym orby,orby-action orby-subtask tailrl uishift
    vigorl,vigorl-uground,vigorl-web vision-reasoner vlm-r1
"""


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def _of_recipe(module: str, name: str) -> str:
    return f"grounding_rewards.recipes.{module.replace('-', '_')}:{name.replace('-', '_')}"


BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "parsers": {name.lower(): f"grounding_rewards.parsing:{name}" for name in parsing.__all__ if name.isupper()},
    "verifiers": {
        _snake(name): f"grounding_rewards.verifiers:{name}"
        for name in sorted(verifiers.__all__)
        if name[0].isupper() and name not in _NO_VERIFIERS
    },
    "recipes": {
        **{name: _of_recipe(name, name) for name in ("action", "click", "composite")},
        **{
            name: _of_recipe(f"published.{each.partition(',')[0]}", name)
            for each in _PUBLISHED.split()
            for name in each.split(",")
        },
    },
    "methods": {
        "rorecomp" if name == "RoRecomp" else _snake(name): f"grounding_rewards.pool.methods.{file}:{name}"
        for file, _, names in (each.partition(":") for each in _METHODS.split())
        for name in names.split(",")
    },
    "engines": {
        "openai": "grounding_rewards.engines.openai:OpenAI",
        "transformers": "grounding_rewards.engines.transformers:Transformers",
        "vllm": "grounding_rewards.engines.vllm:Vllm",
    },
    "families": {},  # those of families.toml are data
    "layouts": {},  # as those of training_sets.toml
}
"""By kind and name: ``package.module:attribute``."""
