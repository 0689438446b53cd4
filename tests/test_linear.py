"""Work grows as the rows do, for every recipe, verifier and dialect: counted by ``check_linear``, without a clock."""

import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.parsing import parse
from grounding_rewards.plugins import collect
from grounding_rewards.testing import check_linear
from grounding_rewards.testing.linear import work
from tests.verifiers.test_all import CASES, VERIFIERS

DIALECTS = collect([]).parsers
FURTHER = {"ui-s1": {"returns": True}}


@pytest.mark.parametrize("name", gr.recipes())
def test_every_recipe_scores_four_times_the_rows_with_four_times_the_work(name):
    check_linear(gr.recipe(name, **shown_with(name)))


@pytest.mark.parametrize(("name", "arguments"), [case[:2] for case in CASES], ids=[f"{n} {a}" for n, a, _ in CASES])
def test_every_verifier_does(name, arguments):
    check_linear(VERIFIERS[name](**arguments))


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_does(name):
    check_linear(DIALECTS[name])


def test_action_names_that_no_other_row_has_cost_no_more():
    def reads(rows):
        texts = [f'{{"arguments": {{"action": "tap{row}", "coordinate": [5, 6]}}}}' for row in range(rows)]
        return work(lambda: parse(texts, DIALECTS["action_json"], space=gr.CoordSpace.PIXEL))

    reads(64)
    assert reads(2048).allocated < 4.2 * reads(512).allocated
