"""A reward of one's own from a config: outcome 50 %, diagnosis 30 %, efficiency 20 %.

    python examples/composite.py

The three terms are the split that a lab settled on when a policy learned to fix without naming what was wrong: being
right earns 0.5, saying first what was found 0.3, being brief 0.2. The last is a plain function of this file.
The config is plain values, so that the same lines may stand in a YAML or JSON file of a trainer.
"""

from __future__ import annotations

import numpy as np

import grounding_rewards as gr

CONFIG = {
    "name": "composite",
    "response_space": "pixel",
    "parts": {
        "outcome": {"verifier": "hit", "weight": 0.5},
        "diagnosis": {"verifier": "format", "weight": 0.3, "pattern": "^<think>[^<]+</think>"},
        "efficiency": {"verifier": f"{__file__}:brief", "weight": 0.2, "low": 0, "high": 1, "words": 20},
    },
}

RESPONSES = [
    "<think>The save button is in the corner.</think>(20, 15)",
    "(20, 15)",
    "<think>The save button is in the corner.</think>(90, 90)",
    f"<think>{'Is it this one? ' * 6}</think>(20, 15)",
    "I do not know.",
]
TARGET = {"bbox": [10, 10, 30, 20]}


def brief(rollouts: gr.Rollouts, words: int) -> np.ndarray:
    """1 up to so many words, then falling to 0 at twice as many."""
    counts = np.array([len(text.split()) for text in rollouts.text], dtype=np.float64)
    return np.clip(2 - counts / words, 0.0, 1.0)


def main() -> None:
    recipe = gr.recipe(CONFIG)
    scores = recipe.score(RESPONSES, [TARGET] * len(RESPONSES))
    print(f"{'total':>6}  {'acc':>4}  " + "  ".join(f"{name:>10}" for name in recipe.parts))
    for row, response in enumerate(RESPONSES):
        parts = "  ".join(f"{scores.parts[name][row]:10.2f}" for name in recipe.parts)
        print(f"{scores.total[row]:6.2f}  {scores.acc[row]:4.0f}  {parts}  {response[:48]}")


if __name__ == "__main__":
    main()
