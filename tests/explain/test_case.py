"""A row among those that its score depends on."""

import pytest

import grounding_rewards as gr
from grounding_rewards.explain import Case
from grounding_rewards.scoring import Example

UNIT = [0.1, 0.1, 0.3, 0.2]
GELATO = gr.recipe("gelato")


def test_the_own_target_counts_by_the_name_of_its_row_and_those_of_mates_do_not():
    case = Case(("(200, 150)", "?"), (UNIT, [1, 2]), names=(7, 9))
    assert case.score(GELATO).valid.tolist() == [1.0, 0.0]
    assert case.rollouts(GELATO).targets.valid.tolist() == [True, False]
    for judge in (case.score, case.rollouts):
        bad = Case(case.responses, case.targets, 1, names=case.names)
        judge = getattr(bad, judge.__name__)
        with pytest.raises(gr.TargetError, match="target of row 9, field"):
            judge(GELATO)


def test_an_example_becomes_the_first_row_with_its_group_behind_it():
    case = Case.of(Example("(1, 2)", UNIT, image_size=(10, 20), group=("(3, 4)", "(5, 6)")))
    assert case.responses == ("(1, 2)", "(3, 4)", "(5, 6)")
    assert case.targets == (UNIT, UNIT, UNIT)
    assert case.groups == (0, 0, 0)
    assert case.image_sizes == ((10, 20),) * 3
    assert case.model_image_sizes is None
    assert (case.response, case.target) == ("(1, 2)", UNIT)


def test_scoring_scores_all_rows_and_another_response_takes_the_rows_place():
    case = Case(("?", "(200, 150)"), (UNIT, UNIT), row=1)
    assert case.score(GELATO).acc.tolist() == [0.0, 1.0]
    assert case.score(GELATO, "(900, 900)").acc.tolist() == [0.0, 0.0]
    assert case.answering(None).responses == ("?", None)
    assert case.rollouts(GELATO).predictions.xy[1].tolist() == [0.2, 0.15]


def test_lengths_in_tokens_are_those_of_the_responses_that_came():
    case = Case(("(200, 150)",), (UNIT,), token_lengths=(7,))
    assert case.rollouts(GELATO).token_lengths.tolist() == [7]
    assert case.answering("(1, 2)").token_lengths is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"targets": ()}, "targets: got 0; expected one for each of 1 responses"),
        ({"groups": (1, 2)}, "groups: got 2; expected one for each of 1 responses"),
        ({"row": 1}, "row: got 1; expected one from 0 to 0"),
        ({"row": -1}, "row: got -1; expected one from 0 to 0"),
    ],
)
def test_rows_that_do_not_go_together_are_an_error(fields, message):
    with pytest.raises(gr.RecipeError, match=message):
        Case(**{"responses": ("?",), "targets": (UNIT,), **fields})
