"""Every registered dialect keeps what all dialects promise, on all hostile responses."""

import pytest

from grounding_rewards.plugins.registry import collect
from grounding_rewards.testing import check_dialect, hostile_responses

pytestmark = pytest.mark.slow

DIALECTS = collect([]).parsers
RESPONSES = hostile_responses(length=20_000)


@pytest.mark.parametrize("name", DIALECTS)
def test_it_keeps_its_promises(name):
    check_dialect(DIALECTS[name], RESPONSES)
