"""Verdicts of a rule, as tables of tests have them."""

from __future__ import annotations

from typing import Any

import grounding_rewards as gr

SIZE = (1080.0, 2400.0)


def marks(benchmark: str, rule: str, response: Any, gold: Any, **options: Any) -> str:
    """Return type, place and step as 1, 0 or - for none."""
    verdict = gr.judge_step(benchmark, rule, response=response, gold=gold, image_size=SIZE, options=options)
    return "".join("-" if each is None else str(int(each)) for each in verdict[:3])
