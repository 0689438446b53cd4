"""``grounding-rewards pool transitions``: two rounds, rollouts or statistics, as tables and as JSON."""

from __future__ import annotations

import json

import pytest

from tests.cli.command import write_rows

BEFORE = {"a": 0, "b": 0, "c": 3, "d": 7, "e": 8, "f": 5}
AFTER = {"a": 0, "b": 2, "c": 8, "d": 8, "f": 4, "g": 1}


def rows(counts, n=8, **further):
    return [
        {"sample_id": name, "rollout": rollout, "acc": float(rollout < right), **further}
        for name, right in counts.items()
        for rollout in range(n)
    ]


@pytest.fixture
def before(tmp_path):
    return write_rows(tmp_path / "before.jsonl", *rows(BEFORE, round=1, temperature=1.1, source="web", app="x"))


@pytest.fixture
def after(tmp_path):
    return write_rows(tmp_path / "after.jsonl", *rows(AFTER, round=2, temperature=1.7, source="web", app="x"))


@pytest.fixture
def both(tmp_path):
    return write_rows(tmp_path / "both.jsonl", *rows(BEFORE, round=1), *rows(AFTER, round=2))


def found(run, *words):
    result = run("pool", "transitions", *words, "--json")
    said = json.loads(result.out)
    assert (result.code, result.err) == (0, "".join(f"warning: {text}\n" for text in said["warnings"]))
    return said


def test_the_worked_example_as_json(run, before, after):
    said = found(run, before, after)
    assert {name: said[name] for name in ("both", "up", "same", "down", "net", "dropped", "new", "unscored")} == {
        "both": 5, "up": 3, "same": 1, "down": 1, "net": 7, "dropped": 1, "new": 1, "unscored": 0,
    }  # fmt: skip
    assert (said["never_solved"], said["escaped"], said["escape_share"]) == (2, 1, 0.5)
    assert [said["counts"][row][column] for row, column in [(0, 0), (0, 2), (3, 8), (7, 8), (5, 4)]] == [1] * 5
    assert sum(map(sum, said["counts"])) == 5
    assert (said["n_before"], said["n_after"], said["before_path"]) == ([8], [8], str(before))
    assert [each["source"] for each in said["by_source"]] == ["web"]
    assert (said["null"]["prior"]["name"], round(said["null"]["prior"]["a"], 3)) == ("fit", 0.319)
    assert list(said["null"]["prior"]) == ["name", "a", "b", "said", "rate"]
    assert said["warnings"][0].startswith("temperatures differ, 1.1 before and 1.7 after")


def test_rounds_of_one_table(run, both):
    assert found(run, f"{both}@1", f"{both}@2")["net"] == 7
    assert found(run, f"{both}@2", f"{both}@1")["warnings"] == ["round 2 stands before round 1: swapped?"]
    assert run.error("pool", "transitions", both, f"{both}@2") == (
        f"{both}: holds rounds 1, 2; name the one that counts, as {both}@2"
    )
    assert f"{both}: no rollouts of round 3" in run.error("pool", "transitions", f"{both}@1", f"{both}@3")


@pytest.mark.parametrize("name", ["stats.parquet", "STATS.PARQUET", "stats.ndjson", "stats.jsonl"])
def test_statistics_say_the_same_as_rollouts(run, before, after, tmp_path, name):
    kept = tmp_path / name
    assert run("pool", "stats", before, "--out", kept).code == 0
    from_stats, from_rollouts = found(run, kept, after), found(run, before, after)
    assert from_stats | {"before_path": None} == from_rollouts | {"before_path": None}
    assert "counted by source; --by app takes rollouts" in run.error("pool", "transitions", kept, after, "--by", "app")


def test_a_measured_null_and_another_column(run, before, after, tmp_path):
    null = write_rows(tmp_path / "null.jsonl", *rows({**BEFORE, "b": 1}))
    said = found(run, before, after, "--null", null, "--by", "app")
    assert (said["null"]["kind"], said["null"]["escape_share"]) == ("measured", 0.5)
    assert said["by_source"][0]["source"] == "x"


def test_out_holds_what_json_prints_and_the_same_bytes_again(run, before, after, tmp_path):
    out = tmp_path / "transitions.json"
    result = run("pool", "transitions", before, after, "--out", out, "--json")
    assert out.read_text() == result.out
    turned = write_rows(tmp_path / "turned.jsonl", *map(json.loads, reversed(after.read_text().splitlines())))
    after.unlink()
    turned.rename(after)
    assert run("pool", "transitions", before, after, "--out", out, "--json").out == result.out
    assert "expected a file that ends in .json" in run.error("pool", "transitions", before, after, "--out", before)


def test_tables_on_the_terminal(run, before, after):
    result = run("pool", "transitions", before, after)
    assert result.code == 0
    lines = [line.rstrip() for line in result.out.splitlines()]
    assert lines == [
        "Samples by right rollouts before (rows) and after (columns)",
        "     0  1  2  3  4  5  6  7  8  all",
        "───────────────────────────────────",
        "0    1  .  1  .  .  .  .  .  .    2",
        "3    .  .  .  .  .  .  .  .  1    1",
        "5    .  .  .  .  1  .  .  .  .    1",
        "7    .  .  .  .  .  .  .  .  1    1",
        "all  1  .  1  .  1  .  .  .  2    5",
        "",
        "Shares of each row in per cent, and by chance alone",
        "              0   1   2   3    4   5   6   7    8",
        "─────────────────────────────────────────────────",
        "0  observed  50   .  50   .    .   .   .   .    .",
        "     chance  80  13   4   1   <1  <1  <1  <1   <1",
        "3  observed   .   .   .   .    .   .   .   .  100",
        "     chance   7  15  20  20   17  12   7   3   <1",
        "5  observed   .   .   .   .  100   .   .   .    .",
        "     chance  <1   3   7  12   17  20  19  14    6",
        "7  observed   .   .   .   .    .   .   .   .  100",
        "     chance  <1  <1  <1   2    5  10  18  28   36",
        "",
        "never solved before  2 of 5 samples",
        "solved after         1, 50.0 %, 95 % 9.5 to 90.5",
        "by chance alone      19.7 %, 95 % 0.0 to 100.0; p = 0.71",
        "                     beta-binomial, fit prior Beta(0.319, 0.394)",
        "up, same, down       3, 1, 1; right rollouts +7",
        "mean pass rate       37.5 % to 55.0 %: +17.5 points, 95 % -2.5 to +42.5",
        "not compared         1 before alone, 1 after alone",
        "",
        "By source",
        "source  both  never  solved   share  95 % interval  up  down  points",
        "────────────────────────────────────────────────────────────────────",
        "web        5      2       1  50.0 %     9.5 - 90.5   3     1   +17.5",
    ]
    assert result.err.startswith("warning: temperatures differ")


def test_many_rollouts_fit_into_80_columns(run, tmp_path):
    counts = {f"s{place}": place % 33 for place in range(66)}
    wide = write_rows(tmp_path / "wide.jsonl", *rows(counts, n=32))
    other = write_rows(tmp_path / "other.jsonl", *rows(dict.fromkeys(counts, 16), n=32))
    result = run("pool", "transitions", wide, other)
    assert "0  1-5  6-10  11-15  16-20  21-25  26-30  31  32  all" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_samples_of_one_rate_and_what_a_histogram_contradicts(run, tmp_path):
    level = write_rows(tmp_path / "level.jsonl", *rows({f"s{place}": 4 for place in range(9)}))
    result = run("pool", "transitions", level, level)
    assert "never solved before  0 of 9 samples" in result.out
    low = write_rows(tmp_path / "low.jsonl", *rows({f"s{place}": int(place < 8) for place in range(30)}))
    result = run("pool", "transitions", low, low)
    assert "binomial, fit: one rate of 3.3 % for all samples" in result.out
    assert "are these the same rollouts twice?" in result.err
    spike = {f"s{place}": max(place - 400, 0) % 9 for place in range(1003)}
    spiked = write_rows(tmp_path / "spike.jsonl", *rows(spike))
    result = run("pool", "transitions", spiked, spiked)
    assert "warning: num_correct before does not look like Beta(0.246, 0.614): 467 never solved for " in result.err


def test_rounds_that_share_no_sample(run, before, tmp_path):
    other = write_rows(tmp_path / "other.jsonl", *rows({"x": 1, "y": 2}))
    assert run.error("pool", "transitions", before, other) == (
        "no sample is in the round before and the round after: the round before has 'a', 'b', 'c' and 3 more; the "
        "round after has 'x', 'y'; expected the same names of samples"
    )


def test_a_temperature_is_chosen_or_named(run, before, after, tmp_path):
    swept = write_rows(tmp_path / "swept.jsonl", *rows(BEFORE, temperature=1.1), *rows(AFTER, temperature=1.7))
    plain = write_rows(tmp_path / "plain.jsonl", *rows(AFTER))
    kept = tmp_path / "kept.parquet"
    assert run("pool", "stats", plain, "--out", kept).code == 0
    expected = found(run, before, after)
    for other in (f"1.7={swept}", f"1.7={plain}", f"1.7={kept}", f"1.7={after}@2"):
        said = found(run, f"1.1={swept}", other)
        assert said["counts"] == expected["counts"]
        assert said["warnings"][0] == expected["warnings"][0]
    assert run.error("pool", "transitions", f"1.4={swept}", after) == (
        f"{swept}: its temperature is 1.1, 1.7, and is given as 1.4; expected one, as 1.4={swept}"
    )
    assert f"{before}: its temperature is 1.1, and is given as 1.4" in run.error(
        "pool", "transitions", f"1.4={before}", after
    )
    assert "1.4=PATH" in run("pool", "transitions", "--help").out


def test_the_same_rollouts_twice_are_one_warning(run, before, both, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(before)
    warning = "BEFORE and AFTER are the same rollouts"
    assert found(run, before, tmp_path / "link.jsonl")["warnings"].count(warning) == 1
    assert warning not in found(run, f"{both}@1", f"{both}@2")["warnings"]
    many = write_rows(tmp_path / "many.jsonl", *rows({f"s{place}": place % 9 for place in range(30)}))
    assert [each for each in found(run, many, many)["warnings"] if "same" in each] == [
        "both rounds show the same in all samples: are these the same rollouts twice?"
    ]


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "1e999"])
@pytest.mark.parametrize("verb", ["transitions", "report", "temperature"])
def test_temperatures_that_are_none(run, before, after, tmp_path, verb, number):
    out = ["--out", tmp_path / "report"] if verb == "report" else []
    message = run.error("pool", verb, *out, "--", before, f"{number}={after}")
    assert message == f"{number}={after}: got temperature {number}; expected a number from 0, such as 1.2"
    assert not (tmp_path / "report").exists()


def test_mixed_temperatures_of_a_round_are_a_warning(run, after, tmp_path):
    half = [{**row, "temperature": 1.1 if row["rollout"] < 4 else 1.7} for row in rows(BEFORE, round=1)]
    mixed = write_rows(tmp_path / "mixed.jsonl", *half)
    text = (
        f"{mixed}@1: rollouts at temperatures 1.1, 1.7 count together, and pass rates mix them; a temperature before "
        f"it, as 1.4={mixed}@1, takes those at one"
    )
    assert found(run, f"{mixed}@1", after)["warnings"][-1] == text
    assert run("pool", "transitions", f"{mixed}@1", after, "--strict").code == 1
    assert not [each for each in found(run, f"1.7={mixed}@1", after)["warnings"] if "count together" in each]
    stats = tmp_path / "stats.parquet"
    warm = [{**row, "temperature": 1.1 if row["sample_id"] == "a" else 1.7} for row in half]
    assert run("pool", "stats", write_rows(tmp_path / "warm.jsonl", *warm), "--out", stats).code == 0
    text = f"{stats}: rollouts at temperatures 1.1, 1.7 count together, and pass rates mix them"
    assert found(run, stats, after)["warnings"][-1] == text


def test_greedy_answers_are_at_temperature_0(run, after, tmp_path):
    greedy = write_rows(tmp_path / "greedy.jsonl", *rows(BEFORE, round=1))
    said = json.loads(run("pool", "transitions", f"0={greedy}", after, "--json").out)
    assert said["warnings"][0].startswith("temperatures differ, 0 before and 1.7 after")
