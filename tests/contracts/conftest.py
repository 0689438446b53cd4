"""Each test has scorers of its own, as each process of a trainer has."""

from __future__ import annotations

import pytest

from grounding_rewards_adapters import _scorer


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scorer, "_SCORERS", {})
