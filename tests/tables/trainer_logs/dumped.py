"""verl's own functions that dump rollouts, taken out of its sources: importing its trainers takes a quarter minute."""

from __future__ import annotations

import ast
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

OLD, NEW = "trainer/ppo/ray_trainer.py", "trainer/ppo/v1/trainer_base.py"
_OURS = ("_write_generations", "_dump_generations", "_log_rollout_data")


def trainer(source: str, step: int, **more: Any) -> Any:
    """A stand-in for a trainer at a step, with the dumping methods of the real one."""
    spec = find_spec("verl")
    if spec is None or spec.origin is None:
        pytest.skip("verl is not installed; it needs a Python below 3.13")
    file = Path(spec.origin).parent / source
    tree = ast.parse(file.read_text())
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in _OURS]
    assert {node.name for node in methods} == set(_OURS)
    body = ast.ClassDef("Trainer", [], [], [*methods], [], type_params=[])
    annotations = ast.parse("from __future__ import annotations").body
    module = ast.fix_missing_locations(ast.Module([*annotations, body], []))
    known: dict[str, Any] = {"os": os, "json": json, "np": np, "marked_timer": lambda *_, **__: nullcontext(), **more}
    exec(compile(module, str(file), "exec"), known)
    found = known["Trainer"]()
    found.global_steps, found._dump_futures, found._dump_executor = step, [], ThreadPoolExecutor(1)
    return found


def dump(found: Any, folder: Path, infos: dict[str, Any], **rows: Any) -> None:
    """Have it dump rows, and wait until they are written."""
    count = len(rows["outputs"])
    filled = {"inputs": ["Close"] * count, "gts": [None] * count, "scores": [0.0] * count, **rows}
    found._dump_generations(**filled, reward_extra_infos_dict=infos, dump_path=str(folder))
    wait(found)


def wait(found: Any) -> None:
    """Until what was dumped is written."""
    for each in found._dump_futures:
        each.result()
    found._dump_executor.shutdown()


class Tokens:
    """Tokenizer with all that the dumping methods ask of one: rows of token codes become the words they stand for."""

    pad_token_id = 0

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def decode(self, ids: Any, skip_special_tokens: bool) -> str:
        """Words by their codes."""
        assert skip_special_tokens
        return "".join(self.words[code] for code in np.asarray(ids).tolist())

    def batch_decode(self, rows: Any, skip_special_tokens: bool) -> list[str]:
        """The same of rows."""
        return [self.decode(row, skip_special_tokens) for row in rows]


def padded(rows: list[list[int]]) -> Any:
    """Rows that the second trainer fetches."""
    return SimpleNamespace(to_padded_tensor=lambda padding: np.array(rows))


class Summed:
    """Scores of tokens, of which the trainers ask for the sums."""

    def __init__(self, sums: list[float]) -> None:
        self.sums = sums

    def sum(self, axis: int = 1, dim: int = 1) -> Summed:
        """Over tokens."""
        assert {axis, dim} <= {1, -1}
        return self

    def cpu(self) -> Summed:
        """The same."""
        return self

    def tolist(self) -> list[float]:
        """The sums."""
        return self.sums


class Items(SimpleNamespace):
    """A batch that gives one item a row."""

    def __iter__(self) -> Any:
        return iter(self.items)
