from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def lines(tmp_path):
    def write(text: str | bytes, name: str = "in.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write
