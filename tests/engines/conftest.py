"""Fixtures of engines: a model that sees."""

import pytest

from tests.engines import tiny


@pytest.fixture(scope="session")
def vision_folder(tmp_path_factory):
    """The folder of the demo's model; nothing is written there."""
    tiny.register()
    return tiny.saved(tmp_path_factory.mktemp("vision"))
