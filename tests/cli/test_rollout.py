"""``rollout``: words to rows, summaries, errors, and runs that are killed, stopped or made in parts."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grounding_rewards.engines.rollout import MANIFEST
from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.children import ENDING
from tests.cli.command import Runner, names, read_rows, result_of
from tests.engines import seeded
from tests.engines.test_rollout import contents, data, rows

ENGINE = ("--engine", f"{Path(seeded.__file__)}:Scripted", "--model", "m")
CLICK = ("--recipe", "click", "--response-space", "pixel")
WORDS = ["go", "easy", "hard", "refused", "stop", "move", "open", "close"]


def words(source: Path, out: Path, *more: Any) -> list[str]:
    return [str(word) for word in ("rollout", source, *ENGINE, "--n", 2, "--shard-rows", 3, "--out", out, *more)]


def test_a_run_and_its_summary(run: Runner, tmp_path: Path):
    source, out = data(tmp_path, *WORDS), tmp_path / "out"
    result = run(*words(source, out, *CLICK, "--engine-option", "right=100"))
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[-3:] == [
        "note: instruction: column instruction, by its name; --instruction-column names another",
        "warning: 2 rollouts have no response, the first is of sample 's3': the prompt of 7 characters is refused",
        "16 rollouts (2 without a response) of 8 samples by m: mean total 0.8714, accuracy 85.7 %, parse rate 100.0 %; "
        f"written to {out}",
    ]
    again = run(*words(source, out, *CLICK, "--engine-option", "right=100", "--engine-option", "pace=9", "--json"))
    summary = result_of(again.out)
    assert summary["pieces"] == {"made": 0, "found": 3, "missing": 0}
    assert (summary["rows"], summary["samples"], summary["engine"]["right"], summary["n"]) == (16, 8, 100, 2)
    assert summary["problems"] == [
        {"rows": 2, "sample_id": "s3", "problem": "the prompt of 7 characters is refused"},
    ]  # fmt: skip
    assert run(*words(source, out, *CLICK, "--engine-option", "right=100", "--strict")).code == 1


def test_a_family_says_the_prompt_the_resizing_and_how_answers_are_read(run: Runner, tmp_path: Path):
    source, out = data(tmp_path, "go"), tmp_path / "out"
    assert run(*words(source, out, "--recipe", "click", "--family", "holo1")).code == 0
    manifest = json.loads((out / MANIFEST).read_text())
    settings = {"answers": "first", "max_pixels": 1003520, "model": "qwen2_5_vl"}
    assert {name: manifest["recipe"][name] for name in settings} == settings
    assert (manifest["resizing"]["model"], manifest["resizing"]["max_pixels"]) == ("qwen2_5_vl", 1003520)
    assert manifest["prompt"] == {"template": None, "system": None}  # no published one is known
    assert run(*words(source, tmp_path / "known", "--family", "gelato")).code == 0
    manifest = json.loads((tmp_path / "known" / MANIFEST).read_text())
    assert (manifest["recipe"], manifest["resizing"]["max_pixels"]) == (None, 10000000)
    assert manifest["prompt"]["system"].endswith("Answer with nothing but this point, in whole numbers: (x, y)")
    assert run(*words(source, tmp_path / "own", "--family", "gelato", "--prompt", "plain")).code == 0
    assert json.loads((tmp_path / "own" / MANIFEST).read_text())["prompt"]["system"] is None


def test_another_encoding(run: Runner, tmp_path: Path):
    source, out = tmp_path / "data.csv", tmp_path / "out"
    source.write_bytes('id,instruction,bbox\ns0,点击,"[100, 100, 400, 300]"\n'.encode("gbk"))
    assert "--encoding gbk" in run.error(*words(source, out))
    assert run(*words(source, out, "--encoding", "gbk")).code == 0
    assert [row["instruction"] for row in rows(out)] == ["点击"] * 2
    assert json.loads((out / MANIFEST).read_text())["encoding"] == "gbk"


def test_a_sweep_for_pool_temperature(run: Runner, tmp_path: Path):
    out = tmp_path / "out"
    more = (*CLICK, "--temperature", "0,0.7,1.4", "--top-p", "0.9", "--engine-option", "right=100")
    result = run(*words(data(tmp_path, *WORDS), out, *more))
    assert (result.code, [line for line in result.err.splitlines() if line.startswith("temperature")]) == (0, [
        "temperature 0: 16 rollouts, accuracy 85.7 %", "temperature 0.7: 16 rollouts, accuracy 85.7 %",
        "temperature 1.4: 16 rollouts, accuracy 85.7 %",
    ])  # fmt: skip
    assert {row["temperature"] for row in rows(out)} == {0, 0.7, 1.4}
    compared = result_of(run("pool", "temperature", out, "--json").out)
    assert [(row["temperature"], row["rollouts"]) for row in compared["rows"]] == [(0.0, 14), (0.7, 14), (1.4, 14)]


def test_eval_takes_the_table(run: Runner, tmp_path: Path):
    out = tmp_path / "out"
    run(*words(data(tmp_path, "easy", "hard"), out))
    result = result_of(run("eval", out, "--response-space", "pixel", "--by", "kind", "--json").out)
    assert (result[0]["n"], result[0]["correct"]) == (4, 2)


def test_parts_say_what_is_missing(run: Runner, tmp_path: Path):
    source, out = data(tmp_path, *WORDS), tmp_path / "out"
    first = run(*words(source, out, "--shard", "0/2"))
    assert first.err.splitlines()[-1] == (
        f"2 of 3 shards of {out} are there, 2 of them new; other processes make the rest, and the last one finishes it"
    )
    assert result_of(run(*words(source, out, "--shard", "0/2", "--json")).out)["pieces"] == {
        "made": 0, "found": 2, "missing": 1,
    }  # fmt: skip
    assert "shards were there" in run(*words(source, out, "--shard", "1/2")).err


def test_allocated_rollouts(run: Runner, tmp_path: Path):
    source, first, more = data(tmp_path, *WORDS), tmp_path / "first", tmp_path / "more.jsonl"
    run(*words(source, first, *CLICK))
    assert run("pool", "allocate", first, "--method", "dars", "--out", more).code == 0
    further = ("--allocate", more, "--first-rollout", 2, "--out", tmp_path / "more")
    assert run("rollout", source, *ENGINE, *further).code == 0
    assert len(rows(tmp_path / "more")) == sum(row["n"] for row in read_rows(more))
    assert min(row["rollout"] for row in rows(tmp_path / "more")) == 2
    assert run("pool", "stats", first, tmp_path / "more").code == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--until", "mixed", *CLICK), "--until mixed and --max N: one needs the other"),
        (("--max", 8), "--until mixed and --max N: one needs the other"),
        (("--until", "mixed", "--max", 8), "until mixed: needs a recipe, which says what is right"),
        (("--allocate", "more.jsonl"), "--allocate: says how many responses samples get, so leave --n and --until out"),
        (("--temperature", "1.0,hot"), "--temperature: got '1.0,hot'; expected numbers, such as 1.0 or 1.0,1.2,1.4"),
        (("--temperature", "1,1"), "temperature: got 1.0 twice; expected different ones"),
        (("--shard", "2"), "--shard: got '2'; expected I/N, such as 0/8"),
        (("--shard", "2/2"), "shard: got 2/2; expected i/n with i from 0 to n - 1, such as 0/8"),
        (("--max-pixels", 9), "--min-pixels and --max-pixels are bounds of --pipeline; name it, too"),
        (("--pipeline", "qwen"), "unknown pipeline 'qwen'; did you mean "),
        (("--prompt", "gelatto"), "unknown prompt 'gelatto'; did you mean 'gelato'?"),
        (
            ("--response-space", "unit"),
            "--response-space: got it without a recipe; name it by --recipe",
        ),
        (("--engine-option", "right"), "--engine-option: got 'right'; expected KEY=VALUE, such as timeout=60"),
        (("--engine-option", "rihgt=1"), "unknown argument 'rihgt'; did you mean 'right'?"),
        (("--id-column", "uid"), "no column 'uid' (--id-column)"),
        (("--instruction-column", "ask"), "no column 'ask' (--instruction-column)"),
        (("--engine-option", "down_after=0"), "error: the server is down"),
    ],
)
def test_what_does_not_fit_is_one_line(run: Runner, tmp_path: Path, more: tuple[Any, ...], message: str):
    result = run(*words(data(tmp_path, *WORDS), tmp_path / "out", *more))
    assert (result.code, result.out) == (2, "")
    (error,) = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert message in error
    assert names(tmp_path) == ["data.jsonl"]


def test_the_help_offers_no_standard_input(run: Runner):
    assert "standard input" not in run("rollout", "--help").out


def begun(line: list[str]) -> subprocess.Popen[str]:
    """Begin a command as a process of its own, with the signals of a terminal."""

    def signals() -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        [sys.executable, "-m", "grounding_rewards", *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=signals,
    )  # fmt: skip


@pytest.mark.slow
def test_killed_again_and_again_it_makes_the_same_rows(run: Runner, tmp_path: Path):
    source = data(tmp_path, *(f"{word} {number}" for number in range(8) for word in WORDS))
    more = (*CLICK, "--until", "mixed", "--max", 6)
    assert run(*words(source, tmp_path / "whole", *more)).code == 0
    out, log, chance, killed = tmp_path / "out", tmp_path / "asked", random.Random(7), 0
    line = words(source, out, *more, "--engine-option", "pace=0.04", "--engine-option", f"log={log}")
    while True:
        process = begun([*line, "--engine-option", f"batches={chance.choice([1, 2, 3])}"])
        before = log.stat().st_size if log.exists() else 0
        while process.poll() is None and (log.stat().st_size if log.exists() else 0) == before:
            time.sleep(0.01)  # until it asks: starting takes longer than the work
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        process.communicate()
        if process.returncode == 0:
            break
        killed += 1
        if not (out / MANIFEST).exists():
            with pytest.raises(TableError, match="is unfinished"):
                open_rollouts([out])
    assert killed >= 2
    assert contents(out) == contents(tmp_path / "whole")
    made = rows(out, "sample_id", "rollout")
    assert len({(row["sample_id"], row["rollout"]) for row in made}) == len(made)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_while_the_model_answers(run: Runner, tmp_path: Path, number: int, code: int):
    source, out, log = data(tmp_path, *WORDS), tmp_path / "out", tmp_path / "asked"
    process = begun(words(source, out, "--engine-option", "pace=600", "--engine-option", f"log={log}"))
    while not log.exists():
        time.sleep(0.01)
    process.send_signal(number)
    err = process.communicate(timeout=60)[1]
    assert (process.returncode, err.splitlines()[-1].startswith("stopped by ")) == (code, True)
    assert run(*words(source, out)).code == 0
    assert len(rows(out)) == 16


@pytest.mark.slow
def test_two_processes_make_one_table_at_once(run: Runner, tmp_path: Path):
    source = data(tmp_path, *(f"{word} {number}" for number in range(4) for word in WORDS))
    assert run(*words(source, tmp_path / "one", *CLICK)).code == 0
    pace = ("--engine-option", "pace=0.05")
    processes = [begun(words(source, tmp_path / "out", *CLICK, *pace, "--shard", f"{part}/2")) for part in (0, 1)]
    ends = [(process.communicate(timeout=60)[1], process.returncode) for process in processes]
    assert [code for _, code in ends] == [0, 0]
    assert any("written to" in err for err, _ in ends)
    assert contents(tmp_path / "out") == contents(tmp_path / "one")


def test_without_a_terminal_a_line_a_minute_says_how_far_it_is(run: Runner, tmp_path: Path, monkeypatch):
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr("grounding_rewards.cli.rollout.monotonic", lambda: next(clock))
    err = run(*words(data(tmp_path, *"abcdefgh"), tmp_path / "out")).err
    assert "6 of 8 samples, 0.06 a second, 1 min left\n" in err
    assert err.count(" a second, ") == 1
