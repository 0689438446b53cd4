"""GTA1's reward by hand: 1 inside any box, edges first cut to whole pixels; several tuples are a miss."""

import pytest

import grounding_rewards as gr
from tests.golden import harness

GTA1 = gr.recipe("gta1")


@pytest.mark.parametrize(
    ("response", "acc"),
    [
        ("(200,150) ٣", 1.0), ("第１步: (200,150)", 1.0), ("(200,150) (300,１50)", 1.0), ("(２００,150)", 0.0),
        ("(２,２) (3,3)", 0.0),
    ],
)  # fmt: skip
def test_digits_of_other_scripts_are_no_digits_and_spoil_nothing_beside_them(response, acc):
    target = [[100, 100, 300, 200], 1.0, 1.0]
    line = {"response": response, "ground_truth": target, "extra": {}}
    assert gr.recipe("gta1").score(response, target).acc.tolist() == [acc]
    found = harness.deviation("gta1", line)
    if found is not None:
        stated = harness.stated("gta1", gr.recipe("gta1"), found, line)
        assert stated["acc"] == acc
