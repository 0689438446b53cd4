from __future__ import annotations

import pytest

from tests.cli.command import HIT, MISS, Runner, write_rows


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return Runner(capsys)


@pytest.fixture
def source(tmp_path):
    return write_rows(tmp_path / "in.jsonl", HIT, MISS)
