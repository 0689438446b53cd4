"""Readers that go and streams that are closed change nothing of what a command writes to files."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.children import run_child
from tests.cli.command import names
from tests.cli.every_command import COMMANDS, words_of, write_inputs

pytestmark = pytest.mark.slow

ERROR = "error: <stdout>: no space is left on the disk; free some, or write elsewhere\n"


@pytest.fixture
def folder(tmp_path):
    write_inputs(tmp_path)
    return tmp_path


@pytest.fixture
def gone():
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def command(name):
    return ["-m", "grounding_rewards", *words_of(name)]


def files(folder):
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    # A mixture names the images of several folders in full.
    return {str(path.relative_to(folder)): path.read_bytes().replace(bytes(folder), b"") for path in found}


@pytest.mark.parametrize("name", COMMANDS)
def test_readers_of_stdout_and_stderr_that_have_gone(run, folder, tmp_path_factory, monkeypatch, gone, name):
    monkeypatch.chdir(folder)
    with monkeypatch.context() as patched, ExitStack() as streams:
        for stream in ("stdout", "stderr"):
            patched.setattr(sys, stream, streams.enter_context(open(os.dup(gone), "w", buffering=1)))
        code = run(*words_of(name)).code
    there = tmp_path_factory.mktemp("there")
    write_inputs(there)
    monkeypatch.chdir(there)
    assert (code, run(*words_of(name)).code) == (0, 0)
    assert files(folder) == files(there)


@pytest.mark.parametrize("name", ["recipes", "score", "pool report"])
def test_a_process_whose_readers_have_gone_ends_well(folder, gone, name):
    assert run_child(command(name), cwd=folder, capture_output=False, stdout=gone, stderr=gone).returncode == 0


@pytest.mark.parametrize(
    ("name", "closed"),
    [
        *(("score", closed) for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-")),
        ("pool stats", "<&- >&- 2>&-"), ("pool report", "<&- >&- 2>&-"),
    ],
)  # fmt: skip
def test_streams_that_the_caller_closed(folder, name, closed):
    # A file that is opened gets the lowest free number: without care an output would become stdout.
    words = " ".join([sys.executable, *command(name), closed])
    done = subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    out = folder / "out" / "report.html" if name == "pool report" else folder / "out.jsonl"
    assert out.read_text("utf-8").lower().startswith("<!doctype html>" if name == "pool report" else "{")
    assert out.read_text("utf-8").endswith("</html>\n" if name == "pool report" else "}\n")


@pytest.mark.parametrize("name", ["recipes", "eval", "pool temperature"])
def test_a_full_disk_below_stdout(folder, name):
    with open("/dev/full", "w") as full:
        done = run_child(command(name), cwd=folder, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, ERROR)


def test_a_full_disk_below_stderr_is_no_error(folder):
    with open("/dev/full", "w") as full:
        done = run_child(command("score"), cwd=folder, capture_output=False, stdout=subprocess.PIPE, stderr=full)
    assert (done.returncode, done.stdout) == (0, "")
    assert "out.jsonl" in names(folder)


def test_an_error_keeps_its_code_though_nobody_reads_it(folder):
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m grounding_rewards score nothing 2>&-"], cwd=folder)
    assert done.returncode == 2
