"""Every registered dialect keeps what all dialects promise, on all hostile responses."""

import pytest

from grounding_rewards.plugins.registry import collect
from grounding_rewards.testing import check_dialect
from grounding_rewards.testing.hostile import hostile_shapes, short_responses

pytestmark = pytest.mark.slow

DIALECTS = collect([]).parsers
RESPONSES = [*short_responses(), *(text for _, text in hostile_shapes(2_400))]  # places of more than 256 answers


@pytest.mark.parametrize("name", DIALECTS)
def test_it_keeps_its_promises(name):
    check_dialect(DIALECTS[name], RESPONSES)
