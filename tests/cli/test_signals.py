"""Ctrl-C, SIGTERM and SIGHUP end every command with one line, 130, 143 or 129, and nothing half done."""

from __future__ import annotations

import signal
import time

import pytest

from grounding_rewards.cli import application, process
from grounding_rewards.errors import TableError
from grounding_rewards.tables.rollout_table import RolloutTable
from tests.children import run_child
from tests.cli.command import names, write_rows
from tests.cli.every_command import COMMANDS, commands, words_of, write_inputs

ENDS = [
    (signal.SIGINT, 130, "stopped by Ctrl-C\n"),
    (signal.SIGTERM, 143, "stopped by SIGTERM\n"),
    (signal.SIGHUP, 129, "stopped by SIGHUP\n"),
]


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signals_as_at_a_terminal")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_has_its_words():
    assert set(COMMANDS) == {*commands()}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(("number", "code", "line"), ENDS)
def test_every_command_ends_with_one_line(run, folder, monkeypatch, name, number, code, line):
    imported = application.import_module

    def stopped(module):
        if not module.endswith(".pool"):
            signal.raise_signal(number)
        return imported(module)

    before = names(folder)
    monkeypatch.setattr(application, "import_module", stopped)
    assert run(*words_of(name)) == (code, "", line)
    assert names(folder) == before
    assert [signal.getsignal(each) for each, _, _ in ENDS] == [signal.SIG_DFL] * 3


AT_AN_EVENT = """
import os, signal, sys
event, place, number = sys.argv[1:4]
sent = []
def watch(name, given):
    if name == event and not sent and place in str(given[0]):
        sent.append(1)
        os.kill(os.getpid(), int(number))
sys.addaudithook(watch)
del sys.argv[1:4]
from grounding_rewards.cli import main
main()
"""


@pytest.mark.parametrize(
    ("name", "event", "place", "number"),
    [
        ("score", "import", "numpy", signal.SIGINT),
        ("score", "open", "rows.jsonl", signal.SIGHUP),
        ("score", "open", "partial", signal.SIGTERM),
        ("eval", "open", "rows.jsonl", signal.SIGINT),
        ("explain", "open", "rows.jsonl", signal.SIGINT),
        ("explain", "import", "grounding_rewards.explain", signal.SIGHUP),
        ("convert", "open", "data.jsonl", signal.SIGINT),
        ("convert", "open", "partial", signal.SIGHUP),
        ("recipes", "import", "typer", signal.SIGINT),
        ("plugins", "import", "grounding_rewards.plugins", signal.SIGHUP),
        ("where", "import", "typer", signal.SIGINT),
        ("pool curriculum", "os.mkdir", "out", signal.SIGINT),
        ("pool next", "import", "duckdb", signal.SIGINT),
        ("pool next", "open", "partial", signal.SIGINT),
        ("pool report", "open", "report.html", signal.SIGINT),
        ("pool score", "os.rename", "", signal.SIGINT),
        ("pool stats", "open", "partial", signal.SIGHUP),
        ("pool temperature", "open", "warmer.jsonl", signal.SIGINT),
        ("pool transitions", "open", "later.jsonl", signal.SIGTERM),
    ],
)
def test_stopped_in_the_middle(folder, name, event, place, number):
    before = names(folder)
    done = run_child(["-c", AT_AN_EVENT, event, place, int(number), *words_of(name)], cwd=folder)
    code, line = next((code, line) for each, code, line in ENDS if each == number)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.endswith(line)
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    assert names(folder) == before


def test_an_error_that_the_signal_became_is_not_shown(run, folder, monkeypatch):
    def query(self, *words, **named):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TableError("INTERRUPT Error: Interrupted!") from None

    monkeypatch.setattr(RolloutTable, "query", query)
    monkeypatch.setattr(RolloutTable, "read", query)
    assert run("pool", "next", "rollouts.jsonl", "--out", "out.jsonl") == (130, "", "stopped by Ctrl-C\n")


LONG = """
import os, signal, threading
from grounding_rewards.cli import main
from grounding_rewards.tables import rollout_table
run = rollout_table.interruptible
QUERY = "CREATE TABLE held AS SELECT count(*) FROM range(100000000000) a WHERE a.range % 3 = 1"
def long(connection, *call):
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    run(connection, connection.execute, QUERY)
rollout_table.interruptible = long
main()
"""


def test_a_query_of_minutes_is_stopped(folder):
    done = run_child(["-c", LONG, *words_of("pool stats")], cwd=folder, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped by Ctrl-C\n")


def test_an_exception_that_is_dropped_is_raised_again(run, folder, monkeypatch):
    dropped = []

    class Destroyed:
        def __del__(self):
            dropped.append("by Python")
            signal.raise_signal(signal.SIGINT)

    def score(self, *words, **named):
        Destroyed()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                time.sleep(0.01)
            except KeyboardInterrupt:
                dropped.append("by the work")
                if len(dropped) == 3:
                    raise

    monkeypatch.setattr(process, "AGAIN", 0.05)
    monkeypatch.setattr("grounding_rewards.scoring.Recipe.evaluate", score)
    result = run("score", "rows.jsonl", "--recipe", "gelato", "--out", "out.jsonl")
    assert result == (130, "", "stopped by Ctrl-C\n")
    assert dropped == ["by Python", "by the work", "by the work"]
    assert "out.jsonl" not in names(folder)


def test_a_second_signal_does_not_end_the_clean_up(run, folder, monkeypatch):
    def score(self, *words, **named):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            (folder / "cleaned").touch()

    monkeypatch.setattr("grounding_rewards.scoring.Recipe.evaluate", score)
    assert run("score", "rows.jsonl", "--recipe", "gelato", "--out", "out.jsonl").code == 130
    assert (folder / "cleaned").exists()
    assert "out.jsonl" not in names(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_was_ignored_stays_ignored(folder, number):
    words = ["-c", AT_AN_EVENT, "open", "rows.jsonl", int(number), *words_of("score")]
    done = run_child(words, cwd=folder, ignored=[number])
    assert (done.returncode, done.stdout) == (0, "")
    assert len((folder / "out.jsonl").read_text().splitlines()) == 2


LATE = """
import atexit, os, signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    atexit.register(os.kill, os.getpid(), number)
from grounding_rewards.cli import main
main()
"""


def test_a_signal_after_the_work_changes_nothing(folder):
    done = run_child(["-c", LATE, *words_of("where")])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("/easyr1.py:compute_score\n")


def test_old_outputs_stay(folder):
    write_rows(folder / "out.jsonl", {"old": 1})
    done = run_child(["-c", AT_AN_EVENT, "open", "partial", 2, *words_of("score")], cwd=folder)
    assert done.returncode == 130
    assert (folder / "out.jsonl").read_text() == '{"old": 1}\n'
