"""``rollout`` beside its session: runs that are killed, stopped or made in parts."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.engines.rollout import MANIFEST, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.children import ENDING
from tests.cli.command import Runner, result_of
from tests.engines import pointing, seeded
from tests.engines.test_rollout import BOX, contents, data, rows

ENGINE = ("--engine", f"{Path(seeded.__file__)}:Scripted", "--model", "m")
CLICK = ("--recipe", "click", "--response-space", "pixel")
WORDS = ["go", "easy", "hard", "refused", "stop", "move", "open", "close"]


def words(source: Path, out: Path, *more: Any) -> list[str]:
    return [str(word) for word in ("rollout", source, *ENGINE, "--n", 2, "--shard-rows", 3, "--out", out, *more)]


def test_another_encoding(run: Runner, tmp_path: Path):
    source, out = tmp_path / "data.csv", tmp_path / "out"
    source.write_bytes('id,instruction,bbox\ns0,点击,"[100, 100, 400, 300]"\n'.encode("gbk"))
    assert "--encoding gbk" in run.error(*words(source, out))
    assert run(*words(source, out, "--encoding", "gbk")).code == 0
    assert [row["instruction"] for row in rows(out)] == ["点击"] * 2
    assert json.loads((out / MANIFEST).read_text())["encoding"] == "gbk"


def test_comparisons_know_samples_of_one_screenshot_whose_image_is_bytes(run: Runner, tmp_path: Path):
    table = []
    for row in range(6):
        file = BytesIO()
        Image.new("RGB", (640, 480), (0, 0, row // 2)).save(file, "PNG")
        table.append({"id": str(row), "prompt": "go", "image": file.getvalue(), "bbox": BOX})
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "data.parquet")
    for seed in (1, 2):
        assert run(*words(tmp_path / "data.parquet", tmp_path / str(seed), "--seed", seed)).code == 0
    plain = run("eval", tmp_path / "1", tmp_path / "2", "--paired", "--response-space", "pixel", "--json")
    paired = result_of(plain.out)["paired"]
    assert (paired["n"], paired["images"]) == (6, 3)


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


def test_a_killed_run_goes_on_and_makes_the_same_rows(run: Runner, tmp_path: Path):
    source, log = pointing.screens(tmp_path, *pointing.corners(320, 240)), tmp_path / "asked"
    line = ["rollout", source, "--engine", f"{Path(pointing.__file__)}:Pointing", "--model", "m", "--n", 2,
            "--shard-rows", 2, "--zoom", "0.5:2", "--recipe", "click", "--response-space", "thousandths",
            "--engine-option", f"log={log}", "--out"]  # fmt: skip
    assert run(*line, tmp_path / "whole").code == 0
    whole = log.read_text().split()
    assert len(whole) == 9 * 2 * 3
    log.unlink()
    killed = begun([*map(str, line), str(tmp_path / "out"), "--engine-option", "dies_after=7"])
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert run(*line, tmp_path / "out").code == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert len(whole) < len(log.read_text().split()) <= len(whole) + 2 * 2 * 3
    assert 'was made with zoom "0.5:2", and not "0.4"' in run(*line, tmp_path / "out", "--zoom", "0.4").err


def test_eval_compares_both_answers_and_other_commands_judge_the_last(run: Runner, tmp_path: Path):
    source = pointing.screens(tmp_path, *pointing.corners(640, 480))
    space = ("--response-space", "thousandths")
    roll_out(
        source, pointing.Pointing("m", form="({:.1f}, {:.1f})"), tmp_path / "out",
        settings=RolloutSettings(n=1, zoom="0.5"), recipe=gr.recipe("click", response_space="thousandths"),
    )  # fmt: skip
    whole = result_of(run("eval", tmp_path / "out", "--paired", *space, "--json").out)
    assert [(each["valid"], each["accuracy"]) for each in whole["files"]] == [(9, 0.0), (9, 1.0)]
    paired = whole["paired"]
    assert (paired["n"], paired["difference"], paired["only_second"], paired["images"]) == (9, 1.0, 9, 9)
    assert paired["files"] == [f"{tmp_path / 'out'}, first answers", str(tmp_path / "out")]
    assert result_of(run("eval", tmp_path / "out", *space, "--json").out)[0]["accuracy"] == 1.0
    assert (
        "all        9         9       9      0      0          9   100.0 %"
        in run("pool", "stats", tmp_path / "out").out
    )
