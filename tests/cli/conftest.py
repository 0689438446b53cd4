from __future__ import annotations

import pytest

from tests.cli.command import Runner


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return Runner(capsys)
