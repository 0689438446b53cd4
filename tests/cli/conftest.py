from __future__ import annotations

import signal

import pytest

from tests.children import ENDING
from tests.cli.command import HIT, MISS, Runner, write_rows


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return Runner(capsys)


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "in.jsonl", HIT, MISS)


@pytest.fixture
def signals_as_at_a_terminal():
    """Signals that end programs are not ignored, as they are where tests run under ``nohup``."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
