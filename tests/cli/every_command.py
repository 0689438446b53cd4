"""One working line of each command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from PIL import Image

from grounding_rewards.cli.application import build
from grounding_rewards.cli.options import Trainer
from tests.cli.command import HIT, MISS, write_rows
from tests.cli.pool.test_curriculum import EXAMPLE, rollouts
from tests.engines import seeded

COMMANDS = {
    "score": "rows.jsonl --recipe gelato --out out.jsonl",
    "eval": "rows.jsonl --recipe gelato",
    "compare": "rows.jsonl --recipe gelato --with gelato",
    "suggest": "rows.jsonl --reward gelato",
    "init": "rows.jsonl --out out.toml",
    "explain": "rows.jsonl --row 0 --recipe gelato --out out.html",
    "convert": "data.jsonl --out out.jsonl --for verl --target-space pixel",
    "mix": "mix.json --out mixed.jsonl",
    "check data": "data.jsonl --target-space pixel",
    "check rollouts": "rows.jsonl --recipe gelato",
    "check recipe": "gelato",
    "check verl": "--dataset verl.jsonl --recipe gelato",
    "recipes": "gelato",
    "families": "gta1",
    "plugins": "--all",
    "rollout": f"data.jsonl --engine {Path(seeded.__file__)}:Scripted --model m --out out",
    "view": "rollouts.jsonl --out out.html",
    "where": "easyr1",
    "pool allocate": "rollouts.jsonl --method dars --out out.jsonl",
    "pool curriculum": f"rollouts.jsonl --stages {EXAMPLE} --out out",
    "pool next": "rollouts.jsonl --out out.parquet",
    "pool plan": "rollouts.jsonl --picture out.html",
    "pool report": "rollouts.jsonl --out out",
    "pool rollouts": """rollouts.jsonl --method {"name":"pods","keep":2,"of":"acc"} --out out.jsonl""",
    "pool score": "rows.jsonl --recipe gelato --out out",
    "pool stats": "rollouts.jsonl --out out.jsonl",
    "pool temperature": "1=rollouts.jsonl 1.4=warmer.jsonl",
    "pool transitions": "rollouts.jsonl later.jsonl --out out.json",
}
"""Words of each command, with files that `write_inputs` writes."""


def words_of(name: str) -> list[str]:
    """The words of a command, its name first."""
    return [*name.split(), *COMMANDS[name].split()]


def write_inputs(folder: Path) -> None:
    """Write the files that the commands read."""
    write_rows(folder / "rows.jsonl", HIT, MISS)
    row = {"instruction": "Open the menu", "bbox": [10, 20, 30, 40], "image_size": [640, 480]}
    write_rows(folder / "data.jsonl", {**row, "id": "a"}, {**row, "id": "b"})
    (folder / "mix.json").write_text('{"datasets": [{"path": "screens.jsonl", "space": "pixel"}]}')
    write_rows(folder / "screens.jsonl", {**row, "id": "a", "image": "a.png"})
    Image.new("RGB", (64, 48)).save(folder / "a.png")
    box = '{"bbox": [0.1, 0.1, 0.3, 0.2]}'
    truth = {"data_source": "web", "reward_model": {"ground_truth": box}}
    write_rows(folder / "verl.jsonl", {"prompt": "Open the menu", **truth})
    for file in ("rollouts.jsonl", "warmer.jsonl", "later.jsonl"):
        rollouts(folder / file)


def commands() -> dict[str, Any]:
    """Return all commands by name, of the launches of trainers, which are one, the first."""
    found = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    inside = {name: dict(getattr(each, "commands", {"": each})) for name, each in found.items()}
    inside["check"] = {name: each for name, each in inside["check"].items() if name not in [*Trainer][1:]}
    return {f"{name} {last}".strip(): each for name, group in inside.items() for last, each in group.items()}
