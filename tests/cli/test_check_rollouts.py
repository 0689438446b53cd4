"""``check rollouts``: what was read, what groups of rollouts can teach, and which space fits."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Runner, page_data, result_of

BOX = {"bbox": [1400, 500, 1500, 540], "image_size": [1920, 1080]}
HIT, MISS, NEAR = "(1450, 520)", "(10, 10)", "(1390, 520)"


def rows(*groups: list[str], **fields: Any) -> list[dict[str, Any]]:
    """Return rollouts of samples with the same target."""
    return [
        {"sample_id": f"s{sample}", "rollout": number, "response": response, "target": BOX, **fields}
        for sample, group in enumerate(groups)
        for number, response in enumerate(group)
    ]


def check(run: Runner, folder: Path, several: list[dict[str, Any]], *words: str) -> dict[str, Any]:
    """Return the result and the findings."""
    file = folder / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in several))
    space = [] if "--response-space" in words else ["--response-space", "pixel"]
    found = run("check", "rollouts", file, *space, *words, "--json")
    assert found.code == 0
    return result_of(found.out)


def test_groups_are_counted_and_the_variance_inside_them_is_explained(run: Runner, tmp_path: Path) -> None:
    groups = rows([HIT, HIT], [MISS, MISS], [HIT, MISS], ["?", MISS], [HIT])
    result = check(run, tmp_path, groups, "--option", "format_weight=0.5")
    assert result["groups"] == {
        "groups": 4, "equal": 2, "right": 1, "wrong": 1, "form": pytest.approx(0.5), "place": pytest.approx(0.5),
    }  # fmt: skip
    assert result["reasons"] == {"OK": 8, "NO_ANSWER": 1}
    assert {name: part["valid"] for name, part in result["by"]["target size"].items()} == {"0.1 to 1 %": 9}


def test_rounds_of_a_sample_are_groups_of_their_own(run: Runner, tmp_path: Path) -> None:
    several = [*rows([HIT, HIT], round=1), *rows([MISS, MISS], round=2)]
    assert check(run, tmp_path, several)["groups"]["equal"] == 2
    assert check(run, tmp_path, rows([HIT, HIT, MISS, MISS]))["groups"]["equal"] == 0


def test_rounds_of_a_csv_file_are_numbers(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "rollouts.csv"
    lines = [f'a,{number},"(200, 150)","[190, 140, 210, 160]"\n' for number in ("1", "1.0", "2", "2.0")]
    file.write_text("sample_id,round,response,target\n" + "".join(lines))
    found = run("check", "rollouts", file, "--response-space", "pixel", "--target-space", "pixel", "--json")
    assert result_of(found.out)["groups"]["groups"] == 2


@pytest.mark.parametrize("number", [math.nan, None, [1], {"a": 1}, "1"])
def test_rounds_that_are_no_number_are_one_round(run: Runner, tmp_path: Path, number: Any) -> None:
    assert check(run, tmp_path, rows([HIT, MISS], round=number))["groups"]["groups"] == 1  # NaN equals nothing


def test_rows_of_a_source_count_together(run: Runner, tmp_path: Path) -> None:
    several = [*rows([HIT, MISS], source="web"), *rows([HIT, HIT], source="desktop")]
    by = check(run, tmp_path, several)["by"]["source"]
    assert {name: part["accuracy"] for name, part in by.items()} == {"web": 0.5, "desktop": 1.0}


@pytest.mark.parametrize(
    ("groups", "code", "message"),
    [
        ([[HIT, HIT]] * 6 + [[HIT, MISS]] * 4, "no-variance",
         "rollouts of 6 of 10 groups all earn the same, so that nothing is learnt of them: "
         "6 are all right, 0 all wrong"),
        ([["?", MISS]] * 6 + [[MISS, MISS], [HIT, HIT], [HIT, MISS], [HIT, MISS]], "form-alone",
         "75 % of the variance of rewards inside groups is whether an answer can be read, "
         "and 25 % whether it is right"),
    ],
)  # fmt: skip
def test_groups_that_teach_little_are_a_finding(
    run: Runner, tmp_path: Path, groups: list[list[str]], code: str, message: str
) -> None:
    weight = () if code == "no-variance" else ("--option", "format_weight=0.5")
    (finding,) = [each for each in check(run, tmp_path, rows(*groups), *weight)["findings"] if each["code"] != "unread"]
    assert (finding["code"], finding["severity"], finding["message"]) == (code, "warning", message)


def test_a_function_of_your_own_is_in_no_space_and_prints_nothing_to_stdout(run: Runner, tmp_path: Path) -> None:
    own = tmp_path / "printing.py"
    own.write_text("def reward(response, target):\n    print('noise')\n    return 1 / len(response)\n")
    result = check(run, tmp_path, rows([HIT, MISS], ["", HIT]), "--recipe", f"{own}:reward")
    assert (result["space"]["best"], [each["code"] for each in result["findings"]]) == (None, ["failed"])
    assert result["groups"]["groups"] == 2
    assert "noise" not in run("eval", tmp_path / "rollouts.jsonl", "--recipe", f"{own}:reward").out


def test_a_page_shows_figures_and_the_first_rows_of_each_finding(run: Runner, tmp_path: Path) -> None:
    file, page = tmp_path / "rollouts.jsonl", tmp_path / "page.html"
    several = [*rows(*[[HIT, MISS]] * 5, source="web"), *rows(["I see nothing"] * 30)]
    file.write_text("".join(json.dumps(row) + "\n" for row in several))
    found = run("check", "rollouts", file, "--response-space", "pixel", "--html", page, "--json")
    assert result_of(found.out)["page"] == str(page)
    first, figures, drawn = page_data(page)["sections"]
    assert [row[0] for row in first["blocks"][0]["rows"]] == ["unread"]
    tables = {each["caption"]: each["rows"] for each in figures["blocks"]}
    assert tables["by file"][0][:3] == ["rollouts.jsonl", "40", "5"]
    assert [row[0] for row in tables["by source"]] == ["(none)", "web"]
    assert tables["responses by reason"] == [["OK", "10"], ["NO_ANSWER", "30"]]
    assert tables["rewards inside groups"][0][:2] == ["5", "0"]
    assert [each["title"] for each in drawn["blocks"]] == [f"row {number}" for number in range(10, 15)]
    assert drawn["blocks"][0]["notes"] == ["response: I see nothing"]
    assert drawn["blocks"][0]["shapes"][0]["look"] == "target"


def test_a_page_shows_what_rollouts_answer(run: Runner, tmp_path: Path) -> None:
    """A target that cannot be used, and answers in thousandths that are read as pixels."""
    file, page = tmp_path / "rollouts.jsonl", tmp_path / "page.html"
    several: list[dict[str, Any]] = [{"target": {"bbox": [9, 2]}, "response": HIT, "instruction": "close"}]
    for at in range(60):
        x, y = 100 + 13 * at, 900 - 14 * at
        box = {"bbox": [2 * x - 20, 2 * y - 20, 2 * x + 20, 2 * y + 20], "image_size": [2000, 2000]}
        several.append({"target": box, "response": f"({x}, {y})"})
    file.write_text("".join(json.dumps(row) + "\n" for row in several))
    run("check", "rollouts", file, "--response-space", "pixel", "--html", page)
    _, figures, bad, space = page_data(page)["sections"]
    assert bad["blocks"][0]["facts"] == [["row", "0"], ["instruction", "close"], ["response", HIT]]
    assert space["title"].partition(":")[0] == "space"
    first = space["blocks"][0]
    assert (first["title"], first["notes"]) == ("row 1", ["response: (100, 900)"])
    fits, boxes = figures["blocks"][-2:]
    assert (fits["caption"], len(fits["rows"])) == ("right under other settings, the best first", 12)
    assert fits["rows"][0] == ["response_space=thousandths", "100.0 %"]
    assert boxes["caption"] == "right with boxes in another format: larger boxes are hit more often"
    assert boxes["rows"][0] == ["box_format=cxcywh", "100.0 %"]
    assert all("box_format" in name and share != "0.0 %" for name, share in boxes["rows"])
    assert not any("box_format" in name for name, _ in fits["rows"])
    assert first["marks"] == [{"look": "answer", "at": [0.05, 0.45], "text": "the answer: wrong"}]


def test_a_page_shows_what_policies_earn(run: Runner, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run("check", "recipe", "se-gui", "--html", page)
    found, figures = page_data(page)["sections"]
    assert found["blocks"][0]["rows"][0][:2] == ["farmed", "warning"]
    assert (found["blocks"][0]["caption"], found["blocks"][0]["heads"][2]) == ("1 recipe", "recipes")
    assert figures["blocks"][0]["rows"][0][0] == "centre"


def test_lively_groups_have_no_findings(run: Runner, tmp_path: Path) -> None:
    assert check(run, tmp_path, rows(*[[HIT, MISS, NEAR]] * 20))["findings"] == []


SHARED = Path(__file__).parents[3] / "shared" / "data" / "model_responses"


@pytest.mark.skipif(not SHARED.is_dir(), reason="published responses are not here: expected in ../shared/data")
@pytest.mark.parametrize(
    ("declared", "best", "codes"),
    [("model_pixel", "response_space=thousandths", ["space"]), ("thousandths", None, [])],
)
def test_the_space_that_answers_fit_is_named(
    run: Runner, tmp_path: Path, declared: str, best: str | None, codes: list[str]
) -> None:
    lines = (SHARED / "screenspot-pro-gelato-30b.jsonl").read_text().splitlines()[::15]
    result = check(run, tmp_path, list(map(json.loads, lines)), "--response-space", declared)
    space = result["space"]
    assert (space["declared"], space["best"], [each["code"] for each in result["findings"]]) == (declared, best, codes)
    answers = {name: share for name, share in space["scores"].items() if "box_format" not in name}
    assert answers[best or "declared"] == max(answers.values()) > 0.5


def test_the_command_finds_what_earns_without_skill(run: Runner) -> None:
    found = run("check", "recipe", "se-gui", "--json", "--strict")
    assert found.code == 1
    result = result_of(found.out)
    assert [row["policy"] for row in result["recipes"]["se-gui"]][::10] == ["centre", "honest"]
    assert [(each["code"], each["severity"], each["count"]) for each in result["findings"]] == [
        ("farmed", "warning", 8)
    ]
    assert "se-gui: a policy without skill (the middle of the screen) earns 55%" in found.err
    quiet = run("check", "recipe", "gelato", "--strict")
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.splitlines()[-1].split()[:1] == ["honest"]
    assert run("check", "recipe", "click", "--option", "format_weight=0.5", "--strict").code == 1


def test_policies_play_on_targets_of_your_own(run: Runner, tmp_path: Path) -> None:
    """The middle of the screen is right where all targets lie there."""
    size = {"image_size": [1000, 1000]}
    rows = [{"target": {"bbox": [450 + at, 450, 550 + at, 550], **size}} for at in range(30)]
    rows += [{"target": {"bbox": [990, 450, 1010, 550], **size}}, {"target": {"bbox": [5, 1], **size}}]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("check", "recipe", "gta1", "--data", file, "--json")
    (centre,) = [each for each in result_of(run(*words).out)["recipes"]["gta1"] if each["policy"] == "centre"]
    assert (centre["acc"], centre["share"], centre["farms"]) == (1.0, 1.0, False)
    file.write_text(json.dumps(rows[-1]) + "\n")
    assert "got 'no target'; expected boxes within screens of known sizes" in run(*words).err


FUNCTION = """
import json


def reward(response, target):
    answer = json.loads(response)
    x, y = answer["coordinate"]
    x1, y1, x2, y2 = json.loads(target)["bbox"]
    return float(x1 <= x <= x2 and y1 <= y <= y2) + 0.5 * (answer["action"] == "click")
"""


def test_policies_play_against_a_function_of_your_own(run: Runner, tmp_path: Path) -> None:
    """They answer in the form of an example, to targets as the data hold them."""
    own, file = tmp_path / "mine.py", tmp_path / "rows.jsonl"
    own.write_text(FUNCTION)
    box = [900, 40, 960, 80]
    target = json.dumps({"bbox": box, "image_size": [1000, 1000]})
    file.write_text("".join(json.dumps({"target": target}) + "\n" for _ in range(5)))
    words = ["check", "recipe", f"{own}:reward", "--data", file]
    found = run(*words, "--option", 'example={"action": "click", "coordinate": [5, 5]}', "--json")
    rows = {each["policy"]: each for each in result_of(found.out)["recipes"][f"{own}:reward"]}
    assert (rows["honest"]["total"], rows["centre"]["total"], rows["centre"]["farms"]) == (1.5, 0.5, True)
    assert rows["empty"]["total"] == 0.0
    assert run.error(*words).endswith("give an example of the answers that it reads in place of '(500, 300)'")
