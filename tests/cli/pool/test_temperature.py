"""``grounding-rewards pool temperature``: temperatures from a column or from the command line, and the choice."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import write_rows

RIGHT = {1.1: 4, 1.4: 4, 1.7: 3, 2.0: 1}


def rows(warm, right, samples=40, **further):
    """Half of the samples are never solved, the others ``right`` of 4 times."""
    said = {} if warm is None else {"temperature": warm}
    return [
        {"sample_id": f"s{sample}", "rollout": rollout, "acc": int(sample % 2 and rollout < right),
         "response": f"({rollout % 2}, 1)", "reason": "OK", **said, **further}
        for sample in range(samples)
        for rollout in range(4)
    ]  # fmt: skip


@pytest.fixture
def swept(tmp_path):
    return write_rows(tmp_path / "swept.jsonl", *(row for warm, right in RIGHT.items() for row in rows(warm, right)))


def found(run, *words):
    result = run("pool", "temperature", *words, "--json")
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def test_temperatures_of_the_column(run, swept):
    said = found(run, swept)
    assert (said["chosen"], said["compared_with"], said["rule"], said["samples"]) == (1.4, 1.1, "bootstrap", 40)
    assert [row["accuracy"] for row in said["rows"]] == [0.5, 0.5, 0.375, 0.125]
    assert [row["collapsed"] for row in said["rows"]] == [False, False, True, True]
    row = said["rows"][2]
    assert (row["parse_rate"], row["mixed_share"], row["zero_share"], row["distinct_share"]) == (1.0, 0.5, 0.5, 0.5)
    assert said["settings"] == {"margin": 0.01, "draws": 2000, "seed": 0, "confidence": 0.95}


def test_rules_and_their_settings(run, swept):
    assert found(run, swept, "--rule", "tolerance")["chosen"] == 1.4
    assert found(run, swept, "--rule", "tolerance", "--tolerance", 0.125)["chosen"] == 1.7
    assert found(run, swept, "--rule", "tolerance", "--reference", 1.7, "--tolerance", 0.3)["chosen"] == 2.0
    assert found(run, swept, "--margin", 0.2)["chosen"] == 1.7
    assert found(run, swept, "--seed", 7, "--draws", 50)["settings"]["seed"] == 7


def test_temperatures_said_on_the_command_line(run, tmp_path):
    cool, hot = (write_rows(tmp_path / f"{each}.jsonl", *rows(None, each)) for each in (4, 1))
    said = found(run, f"0.7={cool}", f"1.5={hot}")
    assert [row["temperature"] for row in said["rows"]] == [0.7, 1.5]
    assert said["chosen"] == 0.7
    message = run.error("pool", "temperature", f"0.7={cool}", hot)
    assert message.startswith(
        f"{hot}: 160 rollouts name no temperature; expected it in a column temperature, or before"
    )
    assert message.endswith(f"as 1.4={hot}")
    stats = tmp_path / "stats.NDJSON"
    assert run("pool", "stats", hot, "--out", stats).code == 0
    assert found(run, f"0.7={cool}", f"1.5={stats}")["rows"] == said["rows"]
    assert "its temperature is none; expected one" in run.error("pool", "temperature", f"0.7={cool}", stats)


def test_parts_of_one_temperature_are_read_as_one_table(run, swept, tmp_path):
    lines = [json.loads(line) for line in swept.read_text().splitlines()]
    parts = [write_rows(tmp_path / f"part{each}.jsonl", *lines[each::2]) for each in (0, 1)]
    assert found(run, *parts) == found(run, swept)


def test_a_temperature_of_32_bits_is_that_of_64(run, tmp_path):
    def half(which, name, kind):
        kept = [row for row in rows(0.7, 4) if row["rollout"] // 2 == which] + (rows(1.5, 4) if which else [])
        table = pa.Table.from_pylist(kept)
        place = table.column_names.index("temperature")
        pq.write_table(table.set_column(place, "temperature", table["temperature"].cast(kind)), tmp_path / name)
        return tmp_path / name

    narrow, wide = half(0, "f32.parquet", pa.float32()), half(1, "f64.parquet", pa.float64())
    said = found(run, narrow, wide)
    assert [(row["temperature"], row["rollouts"]) for row in said["rows"]] == [(0.7, 160), (1.5, 160)]
    again = write_rows(tmp_path / "again.jsonl", *rows(None, 4))
    message = run.error("pool", "temperature", narrow, wide, f"0.7={again}")
    assert message.startswith(f"temperature 0.7 is in {narrow}, {wide} and in {again}; give")


def test_one_round_of_several(run, tmp_path):
    mixed = write_rows(tmp_path / "mixed.jsonl", *rows(1.0, 4, round=1), *rows(1.5, 4, round=1), *rows(1.5, 0, round=2))
    assert found(run, f"{mixed}@1")["chosen"] == 1.5
    assert "holds rounds 1, 2; name the one that counts" in run.error("pool", "temperature", mixed)


def test_the_table_on_the_terminal(run, swept):
    lines = [line.rstrip() for line in run("pool", "temperature", swept, "--rule", "tolerance").out.splitlines()]
    assert [line.split()[:2] for line in lines[2:6]] == [["1.1", "50.0"], ["1.4", "*"], ["1.7", "x"], ["2", "x"]]
    assert lines[6:] == [
        "1.1  the reference",
        "1.4  equal to T 1.1, 95 % +0.0 to +0.0: held, not more than 2.0 lost",
        "1.7  12.5 points below T 1.1, 95 % -16.2 to -8.1: collapsed, more than 2.0 lost",
        "2    37.5 points below T 1.1, 95 % -48.8 to -24.4: collapsed, more than 2.0 lost",
        "",
        "In per cent, over 40 samples.",
        "* chosen, x collapsed, - lower accuracy, though not hotter.",
        "right: mean pass rate, with its 95 % interval; never: samples never solved;",
        "difference: its 95 % interval against 1.1; mixed: samples sometimes solved;",
        "spread: of clicks, over the diagonal; texts: different responses a rollout.",
        "1.4 is the highest before accuracy collapses (tolerance).",
    ]


def test_a_cooler_temperature_that_is_lower_has_not_collapsed(run, tmp_path):
    cool = write_rows(tmp_path / "cool.jsonl", *rows(0.5, 1), *rows(1.0, 4), *rows(1.5, 1))
    result = run("pool", "temperature", cool)
    assert [line.split()[:2] for line in result.out.splitlines()[2:5]] == [["0.5", "-"], ["1", "*"], ["1.5", "x"]]
    read = found(run, cool)
    assert [row["verdict"] for row in read["rows"]] == ["lower accuracy", "held", "collapsed"]
    assert [row["collapsed"] for row in read["rows"]] == [True, False, True]


@pytest.mark.parametrize(
    ("cool", "hot", "what"),
    [
        ({"round": 1}, {"round": 2}, "rounds 1, 2"),
        ({"round": 1, "policy": "a"}, {"round": 1, "policy": "b"}, "policies a, b"),
    ],
)
def test_nothing_is_chosen_where_more_than_the_temperature_differs(run, tmp_path, cool, hot, what):
    one = write_rows(tmp_path / "one.jsonl", *rows(0.7, 4, **cool))
    other = write_rows(tmp_path / "other.jsonl", *rows(1.5, 1, **hot))
    text = (
        f"none is chosen: temperatures 0.7, 1.5 are of {what}; needs rollouts of one round at two temperatures or more"
    )
    words = "pool", "temperature", f"0.7={one}", f"1.5={other}"
    shown = run(*words)
    assert (shown.code, shown.err) == (0, f"warning: {text}\n")
    assert shown.out.rstrip().endswith("No temperature is chosen: the rollouts differ in more than temperature.")
    assert "*" not in shown.out.partition("In per cent")[0]
    read = json.loads(run(*words, "--json").out)
    assert (read["chosen"], [row["verdict"] for row in read["rows"]]) == (None, ["confounded"] * 2)
    assert read["confounded"] == text.removeprefix("none is chosen: ")
    assert run(*words, "--strict").code == 1


def test_what_cannot_be_compared_is_one_line(run, swept, tmp_path):
    one = write_rows(tmp_path / "one.jsonl", *rows(1.1, 4))
    other = write_rows(tmp_path / "other.jsonl", *rows(1.4, 4, samples=1), {"sample_id": "z", "acc": 1})
    assert "got 1.1; expected rollouts of the same samples at two or more" in run.error("pool", "temperature", one)
    assert f"{one}: its temperature is 1.1, and is given as 1.4" in run.error(
        "pool", "temperature", f"1.4={one}", swept
    )
    message = run.error("pool", "temperature", f"1.1={one}", swept)
    assert message.startswith(f"temperature 1.1 is in {one} and in {swept}; give each temperature once")
    assert "1 rollouts name no temperature" in run.error("pool", "temperature", one, other)
    assert "got 3; expected one of the temperatures" in run.error("pool", "temperature", swept, "--reference", 3)


def test_temperatures_of_a_column_are_chosen(run, swept):
    said = found(run, f"1.1={swept}", f"1.7={swept}")
    assert [(row["temperature"], row["accuracy"]) for row in said["rows"]] == [(1.1, 0.5), (1.7, 0.375)]
    assert f"{swept}: its temperature is 1.1, 1.4, 1.7, 2, and is given as 3" in run.error(
        "pool", "temperature", f"1.1={swept}", f"3={swept}"
    )
