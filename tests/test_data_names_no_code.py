"""Names that come from data are looked up and never loaded, in every reader of data."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import RecordedName, recorded_recipe
from grounding_rewards.errors import RecipeError
from grounding_rewards.plugins import loading
from grounding_rewards.plugins import named as building
from grounding_rewards.plugins import registry as plugins
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.tables.rollout_table import open_rollouts
from grounding_rewards_adapters import easyr1, trl, verl
from tests.cli.command import Runner

TRAP = """
import pathlib
pathlib.Path(__file__).with_name("trace").touch()
def make(*args, **options):
    pathlib.Path(__file__).with_name("trace").touch()
"""
BOX = {"bbox": [10, 10, 30, 20], "image_size": [200, 100]}


def hostile(folder: Path) -> list[Any]:
    """Names and mappings that a loader of code would follow."""
    part = {"x": {"verifier": f"{folder}/trap.py:make", "weight": 1.0}}
    return [
        f"{folder}/trap.py:make",
        "trap.py:make",
        "./trap.py:make",
        "trap:make",
        "os:abort",
        "builtins:exec",
        "os:abort/x",
        {"name": f"{folder}/trap.py:make"},
        {"name": "composite", "response_space": "pixel", "parts": part},
        json.dumps({"name": "composite", "response_space": "pixel", "parts": part, "success": "trap:make"}),
    ]


def rollouts(folder: Path) -> list[dict[str, Any]]:
    """Two rounds at two temperatures; each sample names something else as its recipe, and everywhere it can."""
    rows = []
    for number, name in enumerate(hostile(folder)):
        target = {**BOX, "task": name if isinstance(name, str) else "x", "extra": {"verifier": name, "recipe": name}}
        for rollout in range(8):
            rows.append({
                "sample_id": f"s{number}", "rollout": rollout, "round": rollout // 4, "temperature": 1.0 + rollout // 4,
                "recipe": name, "verifier": name, "dialect": name, "name": name, "selectors": [name], "task": name,
                "response": f"({100 * (rollout % 2)}, 150)", "total": float(rollout % 2), "acc": rollout % 2,
                "target": json.dumps(target),
                "image_size": [200, 100], "x_unit": 0.1, "y_unit": 0.15, "data_source": name, "source": "web",
            })  # fmt: skip
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trap.py").write_text(TRAP)
    rows = rollouts(tmp_path)
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = [
        {
            key: value if key == "image_size" or not isinstance(value, dict | list) else json.dumps(value)
            for key, value in row.items()
        }
        for row in rows
    ]
    pq.write_table(pa.Table.from_pylist(texts), tmp_path / "rollouts.parquet")
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    usual = {"input": "Close", "step": 1}
    lines = [{**row, **usual, "output": row["response"], "gts": row["target"], "score": row["total"]} for row in rows]
    (dumps / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    completions = tmp_path / "completions"
    completions.mkdir()
    table = {"step": 1, "prompt": "Close", "completion": "(20, 15)", "advantage": 0.0}
    pq.write_table(
        pa.Table.from_pylist([{**table, "gelato": row["total"], "acc": row["acc"], **row} for row in texts]),
        completions / "completions_00001.parquet",
    )
    (tmp_path / "generations.log").write_text(
        "".join(
            f"[prompt] Close\n[output] {row['response']}\n[ground_truth] {row['target']}\n[score] {row['total']}\n\n"
            for row in rows
        )
    )
    data = [{"sample_id": f"s{number}", "image": None, "target": BOX, "recipe": name, "prompt": "Close"}
            for number, name in enumerate(hostile(tmp_path))]  # fmt: skip
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    return tmp_path


@pytest.fixture
def attack(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command where the trap lies, and where a module of its name would be found; nothing may be loaded."""
    springs = lambda *names: (folder / "trace").touch()  # noqa: E731
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(os, "abort", springs)
    for module, loader in ((building, "load"), (loading, "load"), (plugins, "current")):
        monkeypatch.setattr(module, loader, springs)

    def run(*words: str, code: int = 0) -> None:
        result = Runner(capsys)(*words)
        assert result.code == code, result
        assert "Traceback" not in result.err
        assert not (folder / "trace").exists(), f"{words}: code that data name was run"

    return run


SOURCES = ("rollouts.jsonl", "rollouts.parquet", "dumps", "completions", "generations.log")
SCORE = ("--recipe", "gelato", "--option", "target_space=pixel")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_no_command_of_pools_loads_what_rollouts_name(attack, source):
    attack("pool", "score", source, *SCORE, "--out", "scored")
    scored = "scored" if source == "generations.log" else source  # which has no acc
    attack("pool", "stats", scored, "--out", "stats.parquet")
    data = () if source == "generations.log" else ("--data", "data.jsonl")  # whose samples have names of their own
    attack("pool", "next", scored, "--out", "pool.jsonl", "--seed", "1", *data)
    attack("pool", "allocate", scored, "--method", "dars", "--out", "further.jsonl")
    attack("pool", "report", scored, "--out", "report", "--samples", "20")
    if source != "generations.log":  # which has no rounds
        attack("pool", "temperature", f"{scored}@0", f"{scored}@1")
        attack("pool", "transitions", f"{scored}@0", f"{scored}@1")


@pytest.mark.slow
@pytest.mark.parametrize("source", ["rollouts.jsonl", "rollouts.parquet"])
def test_no_command_on_rows_loads_what_they_name(attack, source):
    attack("score", source, *SCORE, "--out", "out.jsonl", "--prefix", "gr_")
    attack("eval", source, *SCORE)
    for row in ("0", "32", "64", "72"):
        attack("explain", "--recipe", "gelato", *SCORE[2:], source, "--row", row)
    for trainer in ("verl", "trl", "easyr1"):
        columns = ("--target-column", "target", "--instruction-column", "response")
        attack("convert", source, "--out", f"{trainer}.parquet", "--for", trainer, "--target-space", "pixel", *columns)


@pytest.mark.slow
def test_no_manifest_names_code(folder, attack):
    attack("pool", "next", "rollouts.jsonl", "--out", "pool.jsonl", "--seed", "1")
    path = folder / "pool.jsonl.manifest.json"
    manifest = json.loads(path.read_text())
    for name in hostile(folder):
        path.write_text(json.dumps({**manifest, "selectors": [name], "recipe": name, "verifier": name}))
        attack("pool", "report", "pool.jsonl.manifest.json", "--out", "report")
    attack("pool", "score", "rollouts.jsonl", *SCORE, "--out", "scored")
    path = folder / "scored" / "_score.manifest.json"
    manifest = json.loads(path.read_text())
    for name in hostile(folder):
        path.write_text(json.dumps({**manifest, "recipe": {"name": name}, "code": [{"path": name, "sha256": ""}]}))
        attack("pool", "score", "rollouts.jsonl", *SCORE, "--out", "scored", code=2)  # made by another recipe
        attack("pool", "stats", "scored")


def test_no_adapter_loads_what_rows_name(folder, attack):
    attack("recipes")
    options = {"recipe": "gelato", "target_space": "unit", "bad_target": "abstain"}
    reward = trl.reward_funcs(**options)[0]
    for row in rollouts(folder):
        name, target = row["recipe"], {"bbox": [0.1, 0.1, 0.2, 0.2], "extra": {"verifier": row["recipe"]}}
        for wanted in (target, json.dumps(target), {**target, "recipe": name, "verifier": name}):
            verl.compute_score(str(name), "(150, 150)", wanted, {"recipe": name, "verifier": name}, **options)
            response = {"response": "(150, 150)", "response_length": 1, "ground_truth": wanted}
            easyr1.compute_score([response], **options)
        reward(prompts=["Close"], completions=["(150, 150)"], target=[target], recipe=[name], verifier=[name])
        for key in ("data_source", "task"):
            routes = {key: {"web": "gelato"}}
            with pytest.raises(RecipeError, match="expected one of web"):
                verl.compute_score(str(name), "(150, 150)", target, {"task": str(name)}, routes=routes)
    assert not (folder / "trace").exists()


def test_a_name_from_data_is_looked_up_alone(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert recorded_recipe(RecordedName("gelato")) == gr.recipe("gelato")
    assert recorded_recipe(RecordedName("click"), response_space="pixel") == gr.recipe("click", response_space="pixel")
    for name in hostile(folder):
        assert recorded_recipe(RecordedName(name if isinstance(name, str) else json.dumps(name))) is None
    assert not (folder / "trace").exists()
    with pytest.raises(RecipeError, match="is a name from data; look it up by recorded_recipe"):
        gr.recipe(RecordedName("gelato"))  # type: ignore[arg-type]


LOADERS = {"load", "recipe", "selector", "dialect_named", "import_module", "__import__"}
LOADERS |= {"catalogue", "importlib", "pickle", "eval", "exec", "NamedTerm", "OwnVerifier", "OwnMethod", "built"}
LOADERS |= {"method_named", "build", "thing_named"}
READ_DATA = ("tables", "pool", "batch", "converting")
OF_THE_CALLER = (  # --selector, --method, configs, Python; the recipe click, and those that are listed
    "batch/evaluate.py", "batch/first_settings.py", "batch/steps.py", "batch/suggested.py", "pool/__init__.py",
    "pool/methods/", "pool/plan.py", "pool/selection.py",
)  # fmt: skip


def test_rooms_that_read_data_import_nothing_that_loads_code():
    package = Path(gr.__file__).parent
    for room in READ_DATA:
        assert (package / room).is_dir()
        for file in sorted((package / room).rglob("*.py")):
            if str(file.relative_to(package)).startswith(OF_THE_CALLER):
                continue
            tree = ast.parse(file.read_text())
            imported = {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            called = {node.func.id for node in ast.walk(tree)
                      if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
            assert not (imported | called) & LOADERS, f"{file}: names that come from data must not reach a loader"
            assert not modules & {"grounding_rewards.plugins.loading", "grounding_rewards.plugins.named"}, file


def test_targets_of_recipes_that_are_not_installed_are_read_by_the_callers_recipe_or_space(tmp_path):
    file = tmp_path / "rollouts.jsonl"
    rows = [
        {"sample_id": name, "acc": 1, "recipe": recipe, "target": target, "image_size": [200, 100]}
        for name, recipe, target in [
            ("a", "lab:reward", "[0.1, 0.1, 0.2, 0.3]"),
            ("b", "gelato", "[0.1, 0.1, 0.2, 0.3]"),
            ("c", "lab:reward", json.dumps({**BOX, "space": "pixel"})),
        ]
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    warnings: list[str] = []
    stats = stats_of(open_rollouts([file]), warn=warnings.append)
    assert stats.target_area.tolist()[1:] == pytest.approx([0.02, 0.01])
    assert str(stats.target_area[0]) == "nan"
    assert stats.num_correct.tolist() == [1, 1, 1]
    assert len(warnings) == 1
    assert warnings[0].startswith(
        "1 samples have a target that is not read, because their recipe is neither built in nor"
    )
    assert "'lab:reward'" in warnings[0]
    by_recipe = stats_of(open_rollouts([file]), recipe=gr.recipe("gelato"), warn=warnings.append)
    assert by_recipe.target_area.tolist() == pytest.approx([0.02, 0.02, 0.01])
    by_space = stats_of(open_rollouts([file]), target_space="unit", warn=warnings.append)
    assert by_space.target_area.tolist() == pytest.approx([0.02, 0.02, 0.01])
    assert len(warnings) == 1
