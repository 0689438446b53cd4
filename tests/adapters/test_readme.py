"""Lists in adapters/README.md are complete: options, links, keys, and how a table of rollouts is read."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import grounding_rewards as gr
from grounding_rewards.cli.listing import TRAINERS
from grounding_rewards.cli.options import Trainer
from grounding_rewards.converting import LAYOUTS
from grounding_rewards.coords.resizing import RESIZING
from grounding_rewards.tables.recorder import read_rollouts
from grounding_rewards_adapters import easyr1, verl
from grounding_rewards_adapters._launch import Settings
from grounding_rewards_adapters._wiring import WIRINGS

PAGE = Path(__file__).parents[2] / "adapters" / "README.md"
TEXT = PAGE.read_text("utf-8")
BOX = [0.0, 0.0, 0.5, 0.5]
TEXTS = ["(250, 250)", "?", "?"]


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE)
    return str(found)


def test_every_common_option_has_its_row() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", section("Options"), flags=re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    own = [field.name for field in fields(Settings) if field.name != "options"]
    assert named == [own[0], "settings", own[1], *RESIZING, *own[2:]]


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len([link for link in links if "examples/launch" in link]) == 6
    for link in links:
        place, _, heading = link.partition("#")
        assert (PAGE.parent / place).exists()
        text = (PAGE.parent / place).read_text("utf-8") if place.endswith(".md") else TEXT
        titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
        assert not heading or heading in {re.sub("[,.]", "", title.lower()).replace(" ", "-") for title in titles}, link


def test_every_launch_is_named() -> None:
    folder = PAGE.parents[1] / "examples" / "launch"
    there = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    further = (PAGE.parents[1] / "docs" / "trainers.md").read_text("utf-8")
    named = re.findall(r"\]\(\.\./examples/launch/([\w./]+)\)", TEXT + further)
    assert there == {name.partition("/")[0] for name in named}
    assert all((folder / name).is_file() for name in named)


def test_every_list_of_trainers_is_the_same() -> None:
    further = (PAGE.parents[1] / "docs" / "trainers.md").read_text("utf-8")
    first = ["verl", "trl", "easyr1"]
    assert f"`grounding-rewards where {'|'.join([*first, 'easyr1_sequential'])}`" in TEXT
    named = {*first, *re.findall(r"where (\w+)`", further), "nemo_gym", "skyrl"} & {*Trainer}
    assert {*Trainer} == named == {*WIRINGS} == {*TRAINERS} - {"easyr1_sequential"} == {*LAYOUTS} | {"openenv"}
    launches = [path.name for path in (PAGE.parents[1] / "examples" / "launch").iterdir()]
    assert [name for name in Trainer if not any(each.startswith(f"{name}_") for each in launches)] == ["openenv"]


@pytest.mark.parametrize("title", ["verl", "EasyR1"])
def test_returned_keys_are_named(title: str) -> None:
    if title == "verl":
        found = verl.compute_score("clicks", "(250, 250)", BOX, recipe="gelato")
    else:
        (found,) = easyr1.compute_score([{"response": "(250, 250)", "ground_truth": BOX}], recipe="gelato")
    (item,) = re.findall(r"^- Returned.*?(?=^- )", section(title), flags=re.DOTALL | re.MULTILINE)
    parts = {"distance", "format"}
    assert [key for key in found if f"`{key}`" not in item and key not in parts] == []
    assert all(f"`{key}`" in TEXT for key in found)


@pytest.mark.parametrize("recipes", [["gelato"], ["gelato", "gta1"]])
def test_how_records_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipes: list[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    (query,) = re.findall(r"^```sql\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
    folder = str(tmp_path / "rollouts")
    sizes = {"image_size": [100, 100], "model_image_size": [100, 100]}
    targets = [{"bbox": BOX, "id": name, "space": "unit", **sizes} for name in ("a", "a", "b")]
    rows = [{"response": text, "ground_truth": target} for text, target in zip(TEXTS, targets, strict=True)]
    for recipe in recipes:
        easyr1.compute_score(rows, recipe=recipe, record=folder, diagnose=False)
    found = duckdb.sql(query.replace("DIR/", f"{folder}/")).fetchall()
    assert sorted(found) == [("a", 2 * len(recipes), 0.5 / len(recipes)), ("b", len(recipes), 0.0)]
    parts = {name for recipe in recipes for name in gr.recipe(recipe).parts}
    assert parts <= set(read_rollouts(folder).column_names)
    for usual in (pytest.importorskip("pyarrow.dataset").dataset, pytest.importorskip("pandas").read_parquet):
        read = usual(folder)
        names = {*(read.schema.names if hasattr(read, "schema") else read.columns)}
        assert (parts <= names) == (len(recipes) == 1)
    everything = re.sub(r"^SELECT .*\n|GROUP BY ALL", "", query.replace("DIR/", f"{folder}/"), flags=re.MULTILINE)
    assert parts <= set(duckdb.sql(everything).columns)


def test_the_yaml_of_own_terms_builds_a_recipe_with_the_function_below_it(tmp_path: Path) -> None:
    shown = section("Own terms")
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", shown, flags=re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"^```py\n(# lab_terms\.py\n.*?)^```$", shown, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "lab_terms.py").write_text(code)
    launch = pytest.importorskip("yaml").safe_load(config.replace("/data/lab", str(tmp_path)))["worker"]["reward"]
    assert launch["reward_function"].endswith("/grounding_rewards_adapters/easyr1.py:compute_score")
    texts = ["(20, 15)", "well, it is here, I think: (20, 15)"]
    rows = [{"response": text, "ground_truth": {"bbox": [10, 10, 30, 20]}} for text in texts]
    found = easyr1.compute_score(rows, diagnose=False, **launch["reward_function_kwargs"])
    assert [row["overall"] for row in found] == pytest.approx([1.0, 0.8])
