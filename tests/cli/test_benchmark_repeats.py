"""``eval --benchmark``: rows of a benchmark that repeat others, rollouts of its samples, and what counts of both."""

from __future__ import annotations

import json

import pytest

from grounding_rewards.stats.intervals import wilson, wilson_of_samples
from tests.cli.benchmark_files import HIT, MISS, as_json, mmbench, osworld, pro, screenspot, ui_vision
from tests.cli.command import result_of, write_rows
from tests.cli.test_benchmarks import GROUPS, PIXEL, V2, evaluated


def v2():
    """Return ScreenSpot-v2's files, one of whose rows is there twice."""
    files = screenspot(V2, version="_v2")
    files["screenspot_web_v2"][-1] = {**files["screenspot_web_v2"][-2]}
    return files


def l2():
    """Return rows of MMBench-GUI L2, 13 of which differ from earlier ones in their number and group alone."""
    rows = [*mmbench(1787, "basic", HIT), *mmbench(1807, "advanced", MISS)]
    for place in range(13):
        rows[place] = {**rows[place + 2000], "index": place, "grounding_type": "basic"}
    return [{**row, "index": number} for number, row in enumerate(rows)]


def rolled_out(rows, times=1):
    """Return a row for each rollout of each sample, as ``rollout`` writes them: a sample that is there twice is one."""
    samples = {(row["image_path"], row["instruction"]): row for row in reversed(rows)}
    return [
        {**row, "sample_id": f"s{number}", "rollout": rollout, "target": {"bbox": [10, 20, 40, 50], "space": "pixel"}}
        for number, row in enumerate(reversed(samples.values()))
        for rollout in range(times)
    ]


@pytest.mark.parametrize("times", [1, 2])
def test_rollouts_count_each_sample_once_and_a_note_says_so(run, tmp_path, times):
    rows = rolled_out(l2(), times)
    entry, totals = evaluated(run, "mmbench-gui-l2", write_rows(tmp_path / "rollouts.jsonl", *rows))
    assert (entry["valid"], totals["all rows"]["of"]) == (3581 * times, 3594)
    assert totals["all rows"]["accuracy"] == 1774 / 3581
    assert totals["all rows"]["interval"] == pytest.approx([float(end) for end in wilson(1774, 3581)], abs=2e-16)
    assert totals["Average"]["accuracy"] == (1774 / 1787 + 0 / 1794) / 2
    assert entry["warnings"] == []
    assert entry["benchmark"]["notes"] == [
        "MMBench-GUI L2: 13 rows of the benchmark repeat others, and each sample counts once: 3581 of 3594"
    ]


def test_a_missing_sample_among_rollouts_leaves_no_figure(run, tmp_path):
    rows = rolled_out(l2())
    _, totals = evaluated(run, "mmbench-gui-l2", write_rows(tmp_path / "lost.jsonl", *rows[1:]))
    assert totals["all rows"]["missing"] == "14 of 3594 rows are missing"
    _, totals = evaluated(run, "mmbench-gui-l2", write_rows(tmp_path / "twice.jsonl", *rows[1:], rows[9]))
    assert totals["all rows"]["missing"] == "13 of 3594 rows are missing"
    rows[0] = {**rows[0], "grounding_type": None}
    _, totals = evaluated(run, "mmbench-gui-l2", write_rows(tmp_path / "group.jsonl", *rows))
    assert totals["Average"]["missing"] == "1 of 3581 rows are in none of the cells of grounding_type"


def test_answers_to_rows_that_repeat_others_count_for_each_of_them(run, tmp_path):
    files = v2()
    answers = {}
    for rows in files.values():
        for row in rows:
            name, words = row["img_filename"], row["instruction"]
            answers[name] = {"img_filename": name, "instruction": words, "response": row.pop("prediction")}
    folder = as_json(tmp_path / "v2", files)
    once = [*answers.values()]
    shots = [*once, {**once[-1], "response": MISS}]  # an answer to each row, the last two are of one sample
    for number, each, right in ((1, once, 1272), (2, shots, 1271), (3, once * 3, 3816), (4, shots * 2, 2542)):
        file = write_rows(tmp_path / f"{number}.jsonl", *each)
        entry, totals = evaluated(run, "screenspot-v2", folder, "--predictions", file)
        assert (totals["all rows"]["correct"], totals["all rows"]["missing"]) == (right, "")
        assert totals["mean of 6 cells"]["missing"] == ""
        assert entry["benchmark"]["notes"] == []
    result = run("eval", folder, "--predictions", file, "--benchmark", "screenspot-v2", *PIXEL)
    text = "1 of 1272 rows repeat another one in img_filename, instruction, bbox, data_type, data_source, and count as"
    assert f"{folder}: {text} often\n" in result.err


def test_repeats_may_differ_in_what_names_no_sample(run, tmp_path):
    rows = l2()
    answers = [{"image_path": row["image_path"], "instruction": row["instruction"], "response": HIT} for row in rows]
    annotations = [{name: value for name, value in row.items() if name != "prediction"} for row in rows]
    folder = as_json(tmp_path / "l2", {"L2_annotations": annotations})
    for number, each in enumerate((answers, answers[13:])):
        file = write_rows(tmp_path / f"{number}.jsonl", *each)
        _, totals = evaluated(run, "mmbench-gui-l2", folder, "--predictions", file)
        assert totals["Average"]["cells"] == {
            "basic": {"correct": 1787, "rows": 1787}, "advanced": {"correct": 1807, "rows": 1807},
        }  # fmt: skip
    unanswered = write_rows(tmp_path / "few.jsonl", *answers[2013:])
    _, totals = evaluated(run, "mmbench-gui-l2", folder, "--predictions", unanswered)
    assert (totals["all rows"]["correct"], totals["all rows"]["rows"]) == (3594 - 2013, 3594)


def test_a_kind_tells_rows_of_ui_vision_apart_and_how_many_repeat_is_not_known(run, tmp_path):
    kinds = {"basic": ui_vision(1772, HIT), "functional": ui_vision(1772, HIT), "spatial": ui_vision(1935, HIT)}
    kinds["spatial"][:20] = kinds["spatial"][20:40]
    folder = as_json(tmp_path / "ui", {f"element_grounding_{name}": rows for name, rows in kinds.items()})
    _, totals = evaluated(run, "ui-vision", folder)
    assert [each["missing"] for each in totals.values()] == ["", ""]


def test_rows_of_two_kinds_are_not_each_other_s_rollouts(run, tmp_path):
    kinds = {
        "basic": ui_vision(1772, HIT) * 2,
        "functional": ui_vision(1772, HIT) * 2,
        "spatial": ui_vision(1935, HIT) * 2,
    }
    kinds["basic"].append(kinds["basic"][0])
    kinds["functional"].pop(0)
    folder = as_json(tmp_path / "ui", {f"element_grounding_{name}": rows for name, rows in kinds.items()})
    _, totals = evaluated(run, "ui-vision", folder)
    assert totals["all rows"]["missing"].endswith(" has 3 rows, where 10958 rows are 2 of each")


def test_rows_that_come_less_often_than_others_leave_no_figure(run, tmp_path):
    rows = pro(GROUPS)
    uneven = [*rows, *rows[:1], *rows[2:], rows[0]]
    _, totals = evaluated(run, "screenspot-pro", write_rows(tmp_path / "rows.jsonl", *uneven))
    text = 'sample ["Dev_text_0"] has 3 rows, where 3162 rows are 2 of each'
    assert (totals["all rows"]["accuracy"], totals["all rows"]["missing"]) == (None, text)


def test_intervals_count_samples(run, tmp_path):
    rows = pro(GROUPS)
    intervals = []
    for times in (1, 3):
        _, totals = evaluated(run, "screenspot-pro", write_rows(tmp_path / f"{times}.jsonl", *rows * times))
        intervals.append(totals["all rows"]["interval"])
    low, high = wilson(977, 1581)
    assert intervals == [pytest.approx([float(low), float(high)])] * 2
    rows += [{**row, "prediction": HIT if number % 2 else MISS} for number, row in enumerate(rows)]
    _, totals = evaluated(run, "screenspot-pro", write_rows(tmp_path / "half.jsonl", *rows))
    pairs = [
        int(rows[place]["prediction"] == HIT) + int(rows[place + 1581]["prediction"] == HIT) for place in range(1581)
    ]
    assert totals["all rows"]["interval"] == pytest.approx(wilson_of_samples(pairs, [2] * 1581))


def test_the_benchmark_s_own_repeats_are_rows_in_the_interval(run, tmp_path):
    files = v2()
    files["screenspot_web_v2"][-1]["prediction"] = MISS
    _, totals = evaluated(run, "screenspot-v2", as_json(tmp_path / "v2", files))
    assert totals["all rows"]["correct"] == 1271
    assert totals["all rows"]["interval"] == pytest.approx([float(end) for end in wilson(1271, 1272)])


@pytest.mark.parametrize("own", [{}, {"category": "mine"}])
def test_a_group_of_the_benchmark_goes_before_a_column_of_its_name(run, tmp_path, own):
    folder = as_json(tmp_path / "osworld", {"OSWorld-G": [{**row, **own} for row in osworld()]})
    categories = {"classified": {"text_matching": [{"id": "ID-0"}]}}
    (folder / "classification_result.json").write_text(json.dumps(categories))
    words = "eval", folder, "--benchmark", "osworld-g", "--by", "category", "--by", "box_type", *PIXEL
    result = run(*words)
    assert result.code == 0
    assert "note: --by category: a group of OSWorld-G itself, which is always shown\n" in result.err
    (entry,) = result_of(run(*words, "--json").out)
    assert [*entry["by"]] == ["category", "box_type"]
    assert {name: part["valid"] for name, part in entry["by"]["category"].items()} == {
        "(none)": 563,
        "text_matching": 1,
    }


def test_a_point_left_of_and_above_the_image_is_diagnosed_as_the_refusal_it_is(run, tmp_path):
    rows = osworld(["refusal"] * 20)
    answers = ["(-0.5, -0.5)", "(-5, -7)"] * 10
    file = write_rows(tmp_path / "r.jsonl", *({**row, "prediction": a} for row, a in zip(rows, answers, strict=True)))
    entry, totals = evaluated(run, "osworld-g", file)
    assert (totals["with refusals"]["correct"], entry["refusals"]["correct"]) == (20, 20)
    assert entry["findings"] == []


def test_a_sample_without_a_response_for_another_cause_is_missing(run, tmp_path):
    further = {"problem": None, "cut": False, "seed": 1, "prompt_tokens": None}
    rows = [row | further for row in rolled_out(l2())]
    rows[0] |= {"response": None, "problem": "no reply from the server (503)"}
    entry, totals = evaluated(run, "mmbench-gui-l2", write_rows(tmp_path / "down.jsonl", *rows))
    assert (entry["valid"], entry["left_out"], totals["all rows"]["accuracy"]) == (3580, 1, None)
    assert totals["all rows"]["missing"] == "14 of 3594 rows are missing"
    assert (
        "1 of 3,581 rows has no response for a cause that is not the model's ('no reply from the server (503)'); it is "
        "left out"
    ) in entry["warnings"]
