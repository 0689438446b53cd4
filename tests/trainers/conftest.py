"""Shared by the tests of real trainers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trainers import verl_launch


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of own code, an installed plugin and a tokenizer, for launches of verl."""
    with verl_launch.lab_in(tmp_path_factory.mktemp("lab")) as folder:
        yield folder


@pytest.fixture(scope="module")
def base(lab: Path) -> Any:
    """verl's own config."""
    return verl_launch.compose(lab)
