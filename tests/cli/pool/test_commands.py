"""Pool commands beside their sessions: other orders of rows, types of numbers, widths, links and progress."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.command import next_round
from grounding_rewards.pool.serving import read_weights
from grounding_rewards.tables.reporting import Reporting
from tests.cli.command import read_rows, result_of, write_rows
from tests.cli.pool.made import GELATO, INPUTS, counted, warm
from tests.pool.plan.made import ROWS, SELECTED, made_up

__all__ = ["made_up"]

XRPO = {"name": "xrpo", "budget": 5, "alpha": 0.05, "exploration": 0.1, "total": 12}


def test_the_order_of_rows_changes_no_allocation_and_there_is_no_clock(run, tmp_path):
    path, out = write_rows(tmp_path / "r.jsonl", *INPUTS["kinds.jsonl"]), tmp_path / "more.jsonl"
    words = ("pool", "allocate", path, "--method", json.dumps(XRPO), "--out", out)
    run(*words)
    first = out.read_bytes(), (tmp_path / "more.jsonl.manifest.json").read_bytes()
    run(*words)
    assert (out.read_bytes(), (tmp_path / "more.jsonl.manifest.json").read_bytes()) == first
    path.write_text("".join(sorted(path.read_text().splitlines(keepends=True), reverse=True)))
    run(*words)
    assert out.read_bytes() == first[0]
    assert sum(row["n"] for row in read_rows(out)) == 5
    assert read_rows(out)[-1] == {"sample_id": "u", "n": 4}  # 2 before all others, and 2 by exploration


def test_a_bare_run_takes_every_method_and_fits(run, made_up, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    file = write_rows(tmp_path / "r.jsonl", *ROWS)
    result = run("pool", "plan", file)
    assert {*SELECTED, "further", "budget", "first", "short", "raising"} <= set(result.out.split())
    assert ["every", "selector", "needs", "selectors"] in [line.split() for line in result.out.splitlines()]
    assert max(map(len, result.out.splitlines())) <= 100


def test_weights_are_written_for_each_method(run, made_up, tmp_path):
    file = write_rows(tmp_path / "r.jsonl", *ROWS)
    for name in ("w.jsonl", "w.parquet"):
        chosen = ("--method", "learnability", "--method", '{"name": "first"}', "--method", "budget")
        result = run("pool", "plan", file, *chosen, "--weights", tmp_path / name)
        assert (result.code, result.err) == (0, f"weights written to {tmp_path / name}\n")
    rows = pq.read_table(tmp_path / "w.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "w.jsonl").read_text().splitlines()]
    by_method = {"learnability": [0.0, 0.1875, 0.25, 0.0, 0.0], "first": [2.0, 2.0, 2.0, 2.0, 0.0]}
    assert [tuple(row.values()) for row in rows] == [
        (sample, name, weight)
        for name, column in by_method.items()
        for sample, weight in zip("abcde", column, strict=True)
    ]
    assert read_weights(tmp_path / "w.parquet", "learnability") == dict(
        zip("abcde", by_method["learnability"], strict=True)
    )


def test_no_digit_is_cut_off_at_eighty_columns(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "a_source_with_a_name_of_many_letters"
    rows = [{"sample_id": f"s{each}", "acc": each % 2, "total": 0.5, "source": long} for each in range(12_345)]
    out = run("pool", "stats", write_rows(tmp_path / "r.jsonl", *rows)).out
    for whole in ("12,345", "6,172", "6,173", "50.0 %", "rollouts", "no signal", "accuracy", "parsed"):
        assert whole in out


def test_rows_in_another_order_give_the_same_difficulties(run, tmp_path):
    rows = INPUTS["policies.jsonl"]
    for name, some in (("one", rows), ("other", rows[::-1])):
        path = write_rows(tmp_path / f"{name}.jsonl", *some)
        assert run("pool", "stats", path, "--item-response", "policy", "--out", tmp_path / f"{name}.parquet").code == 0
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_abilities_by_temperature_are_those_of_any_type_of_float(run, tmp_path):
    counts = [(0.7, 1), (0.7000000001, 1), (1.0, 3)]
    rows = [{"sample_id": "a", "temperature": each, "acc": int(n < right)} for each, right in counts for n in range(4)]
    path, out = write_rows(tmp_path / "r.jsonl", *rows), tmp_path / "s.jsonl"
    summary = result_of(run("pool", "stats", path, "--item-response", "temperature", "--out", out, "--json").out)
    assert list(summary["item_response"]["abilities"]) == ["0.7", "1.0"]


def swept(run, *words):
    return result_of(run("pool", "temperature", *words, "--json").out)


def test_parts_of_one_temperature_are_read_as_one_table(run, tmp_path):
    rows = INPUTS["swept.jsonl"]
    whole = write_rows(tmp_path / "swept.jsonl", *rows)
    parts = [write_rows(tmp_path / f"part{each}.jsonl", *rows[each::2]) for each in (0, 1)]
    assert swept(run, *parts) == swept(run, whole)


def test_a_temperature_of_32_bits_is_that_of_64(run, tmp_path):
    def half(which, name, kind):
        kept = [row for row in warm(0.7, 4) if row["rollout"] // 2 == which] + (warm(1.5, 4) if which else [])
        table = pa.Table.from_pylist(kept)
        place = table.column_names.index("temperature")
        pq.write_table(table.set_column(place, "temperature", table["temperature"].cast(kind)), tmp_path / name)
        return tmp_path / name

    narrow, wide = half(0, "f32.parquet", pa.float32()), half(1, "f64.parquet", pa.float64())
    said = swept(run, narrow, wide)
    assert [(row["temperature"], row["rollouts"]) for row in said["rows"]] == [(0.7, 160), (1.5, 160)]
    again = write_rows(tmp_path / "again.jsonl", *warm(None, 4))
    message = run.error("pool", "temperature", narrow, wide, f"0.7={again}")
    assert message.startswith(f"temperature 0.7 is in {narrow}, {wide} and in {again}; give")


def test_out_holds_what_json_prints_and_the_same_bytes_again(run, tmp_path):
    before, after = (write_rows(tmp_path / name, *INPUTS[name]) for name in ("before.jsonl", "after.jsonl"))
    out = tmp_path / "transitions.json"
    result = run("pool", "transitions", before, after, "--out", out, "--json")
    written = {name: value for name, value in json.loads(out.read_text()).items() if name != "warnings"}
    assert written == json.loads(result.out)["result"]
    write_rows(after, *reversed(INPUTS["after.jsonl"]))
    assert run("pool", "transitions", before, after, "--out", out, "--json").out == result.out


def test_many_rollouts_fit_into_80_columns(run, tmp_path):
    counts = {f"s{place}": place % 33 for place in range(66)}
    wide = write_rows(tmp_path / "wide.jsonl", *counted(counts, n=32))
    other = write_rows(tmp_path / "other.jsonl", *counted(dict.fromkeys(counts, 16), n=32))
    result = run("pool", "transitions", wide, other)
    assert "0  1-5  6-10  11-15  16-20  21-25  26-30  31  32  all" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_a_link_leads_to_the_same_rollouts(run, tmp_path):
    before = write_rows(tmp_path / "before.jsonl", *INPUTS["before.jsonl"])
    (tmp_path / "link.jsonl").symlink_to(before)
    said = result_of(run("pool", "transitions", before, tmp_path / "link.jsonl", "--json").out)
    assert said["warnings"].count("BEFORE and AFTER are the same rollouts") == 1


def test_what_is_nested_too_deep_is_one_line(run, tmp_path):
    source = write_rows(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    nested: object = "unsolved"
    for _ in range(3000):
        nested = {"name": "every", "selectors": [nested]}
    with pytest.raises(PoolError, match="selectors: is nested too deep"):
        next_round([source], tmp_path / "p.jsonl", selectors=[nested])
    (tmp_path / "c.json").write_text("[" * 100_000)
    message = run.error("pool", "curriculum", source, "--stages", tmp_path / "c.json", "--validate")
    assert message == f"{tmp_path / 'c.json'}: is nested too deep"


def test_progress_begins_with_the_names_of_rows(tmp_path):
    source = write_rows(tmp_path / "rollouts.jsonl", *GELATO)
    data = write_rows(tmp_path / "data.jsonl", *({"id": name} for name in sorted({row["sample_id"] for row in GELATO})))
    shares = []
    reporting = Reporting(progress=lambda what: nullcontext(shares.append))
    next_round([source], tmp_path / "pool.jsonl", data=data, reporting=reporting)
    assert shares[0] == pytest.approx(0.2)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
