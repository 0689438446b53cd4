"""``grounding-rewards suggest``: the recipes that come closest to a reward function of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Runner, result_of

ROLLOUTS = Path(__file__).parents[2] / "examples" / "rollouts.jsonl"
OLD = """
import re


def reward(solution_str, ground_truth, data_source=None, extra_info=None):
    numbers = re.search(r"([0-9]+), ([0-9]+)", solution_str)
    if numbers is None:
        return 0.0
    width, height = ground_truth["image_size"]
    x, y = int(numbers[1]) / 1000 * width, int(numbers[2]) / 1000 * height
    x1, y1, x2, y2 = ground_truth["bbox"]
    return 0.7 * (x1 <= x <= x2 and y1 <= y <= y2) + 0.3
"""


def suggested(run: Runner, reward: str, *words: str, file: Path = ROLLOUTS) -> tuple[dict[str, Any], str]:
    """Return the result, and what is said beside it."""
    found = run("suggest", file, "--reward", reward, *words, "--json")
    assert found.code == 0, found.err
    return result_of(found.out), found.err


def test_a_regex_and_a_box_test_are_a_click_with_its_space_and_its_weight(run: Runner, tmp_path: Path) -> None:
    own = tmp_path / "old_reward.py"
    own.write_text(OLD)
    result, _ = suggested(run, f"{own}:reward")
    first = result["recipes"][0]
    assert (first["recipe"], first["options"]) == ("click", {"response_space": "thousandths", "format_weight": 0.3})
    assert (result["rows"], first["right"], first["alike"], first["correlation"]) == (172, 172, 172, pytest.approx(1))
    assert first["interval"] == [pytest.approx(0.978, abs=1e-3), 1.0]
    said = run("suggest", ROLLOUTS, "--reward", f"{own}:reward")
    assert (
        "in a launch of trl: reward_funcs(recipe='click', response_space='thousandths', format_weight=0.3)" in said.err
    )
    out = tmp_path / "settings.json"
    suggested(run, f"{own}:reward", "--out", str(out))
    settings = {"recipe": {"name": "click", "format_weight": 0.3}, "answers": {"response_space": "thousandths"}}
    assert json.loads(out.read_text()) == settings
    assert result_of(run("eval", ROLLOUTS, "--settings", out, "--json").out)[0]["valid"] == 172
    assert run("suggest", ROLLOUTS, "--reward", "click", "--out", out).err == (
        f"error: --out: got {out}; expected a new file that ends in .json\n"
    )
    assert "0 of 172 rows differ from click; next: grounding-rewards compare " in said.err
    assert said.err.endswith("--with click --response-space thousandths --option format_weight=0.3\n")


@pytest.mark.parametrize("name", ["gta1", "gui-g2", "se-gui", "infigui-g1"])
def test_a_published_recipe_is_closest_to_itself(run: Runner, tmp_path: Path, name: str) -> None:
    """Rows have the form of its own example, with places in and around the target."""
    import grounding_rewards as gr

    example = gr.recipe(name).example
    assert example is not None
    target = dict(example.target) if not isinstance(example.target, tuple) else list(example.target)
    texts = [example.response, "?", *(example.response.replace(digit, "1") for digit in "23456789")]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"response": text, "target": target}) + "\n" for text in texts * 3))
    result, _ = suggested(run, name, file=file)
    found = {each["recipe"]: each for each in result["recipes"]}
    assert (found[name]["right"], found[name]["alike"]) == (30, 30)
    assert result["recipes"][0]["alike"] == 30


ONE_OF_TWO = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    x, y = map(int, solution_str.split(" or ")[PLACE].strip("()").split(","))
    x1, y1, x2, y2 = ground_truth["bbox"]
    return FORMULA
"""


@pytest.mark.parametrize(
    ("place", "formula", "options"),
    [
        ("0", "float(x1 <= x <= x2 and y1 <= y <= y2)", {"answers": "first", "format_weight": 0.0}),
        ("1", "float(x1 <= x <= x2 and y1 <= y <= y2)", {"answers": "last", "format_weight": 0.0}),
        ("1", "0.4 * (x1 <= x <= x2 and y1 <= y <= y2) + 0.1", {"answers": "last"}),  # no row is a success
    ],
)
def test_a_rule_for_several_answers_is_found_with_its_space(
    run: Runner, tmp_path: Path, place: str, formula: str, options: dict[str, Any]
) -> None:
    own, rows = tmp_path / "of_two.py", []
    own.write_text(ONE_OF_TWO.replace("PLACE", place).replace("FORMULA", formula))
    for row in range(40):
        said = [f"({10 * row}, 50)", "(990, 990)"][:: 1 if place == "0" else -1]
        target = {"bbox": [100, 0, 250, 90]}
        rows.append({"response": " or ".join(said), "target": target, "image_size": [1600, 1000]})
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = suggested(run, f"{own}:compute_score", file=file)[0]["recipes"][0]
    assert (first["recipe"], first["options"]) == ("click", {"response_space": "pixel", **options})
    assert first["correlation"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("0.5", "give it rows with right and wrong responses"),
        ("target['nothing']", "it raised KeyError: 'nothing'"),
    ],
)
def test_totals_that_never_differ_fit_anything(run: Runner, tmp_path: Path, body: str, hint: str) -> None:
    own = tmp_path / "constant.py"
    own.write_text(f"def reward(response, target):\n    return {body}\n")
    assert run("suggest", ROLLOUTS, "--reward", f"{own}:reward").err == (
        f"error: {own}:reward: gives all of 172 rows the same total, which fits anything; {hint}\n"
    )
