"""Times the evaluation of a made-up file of AndroidControl's steps by one rule, and by all of them.

    python benchmarks/steps.py [--steps 10000]

Rows are those of AgentCPM-GUI, five candidate boxes each; half of the answers are in OS-Atlas' own form, half in one
that the recipe `action` reads.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

import grounding_rewards as gr


def rows(steps: int) -> list[dict[str, object]]:
    """Return steps with answers, of which most are near to what is right."""
    rng, made = random.Random(0), []
    for number in range(steps):
        x, y, kind = rng.random(), rng.random(), rng.choice([4, 4, 4, 3, 5, 10])
        place = json.dumps([y, x])
        boxes = [[max(0, y + rng.gauss(0, 0.1)), max(0, x + rng.gauss(0, 0.1)), 0.05, 0.2] for _ in range(5)]
        at = [round(1000 * (each + rng.gauss(0, 0.05))) for each in (x, y)]
        text = f"CLICK <point>[[{at[0]},{at[1]}]]</point>" if kind == 4 else "TYPE [red hat]"
        call = {"action": "click", "coordinate": at} if kind == 4 else {"action": "type", "text": "red shop"}
        made.append({
            "episode_id": number // 6, "step_id": number % 6, "image_width": 1080, "image_height": 2400,
            "result_action_type": kind, "result_touch_yx": place, "result_lift_yx": place,
            "result_action_text": "red hat" if kind == 3 else "", "ui_positions": json.dumps(boxes),
            "response": f"actions:\n{text}" if number % 2 else json.dumps(call),
        })  # fmt: skip
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "steps.json"
        file.write_text(json.dumps(rows(asked.steps)))
        for rule in ("os-atlas", "all"):
            start = time.perf_counter()
            found = gr.evaluate_steps(file, "androidcontrol", rule, response_space="thousandths")
            seconds = time.perf_counter() - start
            count = len(found.rules)
            print(f"{rule:8}  {count} rule{'s' if count > 1 else ' '}  {asked.steps} steps in {seconds:.1f} s")
