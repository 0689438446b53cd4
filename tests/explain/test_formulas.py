"""Formula of each combination, literally."""

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import combine
from grounding_rewards.explain import Case, formulas
from grounding_rewards.explain.formulas import term_of
from grounding_rewards.scoring import Example
from grounding_rewards.verifiers import Format, Hit, verifier

HIT, FORMAT = Hit(), Format()
ROLLOUTS = Case.of(Example("(200, 150)", [0.1, 0.1, 0.3, 0.2])).rollouts(gr.recipe("gelato"))


def always(value):
    return verifier(lambda rollouts: np.full(len(rollouts), value), low=-2, high=2)


@pytest.mark.parametrize(
    ("term", "scores", "formula", "numbers", "enters"),
    [
        (
            combine.weighted(a=(1.0, HIT), b=(-0.5, FORMAT), c=(0.0, FORMAT)), {"a": -0.25, "b": 1.0, "c": 1.0},
            "a - 0.5 · b + 0 · c", "(-0.25) - 0.5 · 1 + 0 · 1", {"a": "times 1", "b": "times -0.5", "c": "times 0"},
        ),
        (
            combine.product(a=HIT, b=FORMAT), {"a": 0.5, "b": -1.0},
            "a · b", "0.5 · (-1)", {"a": "a factor", "b": "a factor"},
        ),
        (
            combine.best(a=HIT, b=FORMAT), {"a": 0.5, "b": -1.0},
            "max(a, b)", "max(0.5, -1)", {"a": "the largest", "b": "not the largest"},
        ),
        (
            combine.gate(when=("a", HIT), then=("b", FORMAT), otherwise=-1), {"a": 0.5, "b": 0.25},
            "b where a is above 0, else -1", "0.25, the score of b, because a is 0.5",
            {"a": "above 0, so that b counts", "b": "counts"},
        ),
        (
            combine.gate(when=("a", HIT), then=("b", FORMAT), otherwise=-1), {"a": 0.0, "b": 0.25},
            "b where a is above 0, else -1", "-1, because a is 0",
            {"a": "not above 0, so that -1 counts", "b": "does not count"},
        ),
        (combine.clip("a", HIT, 0, 0.5), {"a": 0.75}, "a, limited to 0..0.5", "0.75, limited to 0..0.5",
         {"a": "limited to 0..0.5"}),
        (combine.clip("a", HIT, 0, 0.5), {"a": 0.25}, "a, limited to 0..0.5", "0.25, limited to 0..0.5",
         {"a": "as it is"}),
        (combine.affine("a", HIT, 2, -1), {"a": 0.75}, "2 · a - 1", "2 · 0.75 - 1", {"a": "times 2"}),
        (combine.asymmetric("a", HIT, 1.5, 0.5), {"a": -0.5}, "1.5 · a above 0, 0.5 · a below", "0.5 · (-0.5)",
         {"a": "times 0.5"}),
        (combine.steps("a", HIT, [0.5], [-1, 1]), {"a": 0.5}, "by a: -1 below 0.5, 1 from 0.5", "1, because a is 0.5",
         {"a": "chooses the step: from 0.5 on"}),
        (combine.steps("a", HIT, [0.5], [-1, 1]), {"a": 0.25}, "by a: -1 below 0.5, 1 from 0.5",
         "-1, because a is 0.25", {"a": "chooses the step: below all edges"}),
    ],
)  # fmt: skip
def test_each_combination(term, scores, formula, numbers, enters):
    found = formulas.equation_of(term, scores)
    assert (found.formula, found.numbers, dict(found.enters)) == (formula, numbers, enters)


def test_contributions_go_through_sums_multiples_and_choices():
    inner = combine.affine("scaled", combine.asymmetric("side", always(-0.5), 1.5, 0.5), 2.0, -1.0)
    whole = combine.weighted(one=(0.5, inner), two=(2.0, combine.best(a=always(0.25), b=always(0.5))))
    total = term_of(whole, ROLLOUTS, 0)
    one, two = total.parts
    (scaled,) = one.parts
    assert (one.score, one.contribution, one.constant) == (-1.5, -0.75, -0.5)
    assert (scaled.contribution, scaled.parts[0].contribution) == (-0.25, -0.25)
    assert (two.contribution, [part.contribution for part in two.parts]) == (1.0, [0.0, 1.0])
    assert (total.score, total.contribution) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("term", "contributions", "constant"),
    [
        (combine.best(a=always(0.5), b=always(0.5)), [0.5, 0.0], 0),
        (combine.gate(when=("a", always(1.0)), then=("b", always(0.25)), otherwise=-1), [0.0, 0.25], 0),
        (combine.gate(when=("a", always(0.0)), then=("b", always(0.25)), otherwise=-1), [0.0, 0.0], -1),
        (combine.clip("a", always(0.5), 0, 1), [0.5], 0),
        (combine.clip("a", always(1.5), 0, 1), [None], 0),
        (combine.steps("a", always(0.5), [0.5], [-1, 1]), [None], 0),
    ],
)
def test_what_is_chosen_contributes_and_what_is_limited_does_not(term, contributions, constant):
    total = term_of(term, ROLLOUTS, 0)
    assert ([part.contribution for part in total.parts], total.constant) == (contributions, constant)


def test_a_combination_of_ones_own_says_what_its_docstring_says():
    class Twice(combine.Combination):
        """Twice the part."""

        def join(self, columns):
            return 2.0 * columns[0]

    found = term_of(Twice("affine", (("a", always(0.5)),), (("scale", 2.0), ("shift", 0.0))), ROLLOUTS, 0)
    assert (found.formula, found.in_words, found.numbers, found.parts[0].enters) == (
        "Twice the part.", True, "a = 0.5", "see total",
    )  # fmt: skip
    assert (found.parts[0].contribution, found.contribution) == (None, 1.0)
