"""The algebra: literal values, bounds that hold to the last bit, names, nesting, and what cannot be built."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards import combine
from grounding_rewards.combine import (
    affine,
    asymmetric,
    best,
    clip,
    evaluate,
    gate,
    parts_of,
    product,
    steps,
    weighted,
)
from grounding_rewards.verifiers import Format, Hit


class Column:
    """A verifier that returns given scores: the algebra needs no text to be tested."""

    def __init__(self, scores, low=0.0, high=1.0, needs=()):
        self.scores, self.low, self.high, self.needs = np.asarray(scores, dtype=float), low, high, frozenset(needs)

    def __call__(self, rollouts):
        return self.scores


A, B = Column([0, 0.5, 1]), Column([1, 0.5, 0.25])
SIGNED = Column([-1, 0, 2], low=-1, high=2)


def rows(term):
    """As many rows as the columns inside a term have."""
    return rows(term.within[0]) if hasattr(term, "within") else range(len(term.scores))


def total(term):
    return evaluate(term, rows(term))[0].tolist()


def test_weighted_is_the_sum_of_weight_times_part():
    term = weighted(a=(0.75, A), b=(0.25, B))
    assert total(term) == [0.25, 0.5, 0.8125]
    assert (term.low, term.high) == (0, 1)
    assert (weighted(a=(2, SIGNED), b=(-3, B)).low, weighted(a=(2, SIGNED), b=(-3, B)).high) == (-5, 4)
    assert total(weighted(a=(2, SIGNED), b=(-3, B))) == [-5, -1.5, 3.25]


def test_product_multiplies():
    assert total(product(a=A, b=B)) == [0, 0.25, 0.25]
    assert (product(a=A, b=B).low, product(a=A, b=B).high) == (0, 1)
    both_signs = product(a=SIGNED, b=Column([1, 1, 1], low=-3, high=1))
    assert (both_signs.low, both_signs.high) == (-6, 3)


def test_best_takes_the_largest():
    assert total(best(a=A, b=B)) == [1, 0.5, 1]
    assert (best(a=A, b=SIGNED).low, best(a=A, b=SIGNED).high) == (0, 2)


def test_asymmetric_scales_each_side_apart():
    term = asymmetric("s", SIGNED, positive=1.5, negative=0.25)
    assert total(term) == [-0.25, 0, 3]
    assert (term.low, term.high) == (-0.25, 3)
    assert total(asymmetric("s", SIGNED)) == [-1, 0, 2]
    assert total(asymmetric("s", SIGNED, positive=0, negative=0)) == [0, 0, 0]
    with pytest.raises(gr.RecipeError, match="factors from 0"):
        asymmetric("s", SIGNED, negative=-1.0)


def test_gate_opens_above_zero_only():
    term = gate(when=("a", A), then=("b", B), otherwise=-0.5)
    assert total(term) == [-0.5, 0.5, 0.25]
    assert (term.low, term.high) == (-0.5, 1)
    assert total(gate(when=("s", SIGNED), then=("b", B))) == [0, 0, 0.25], "0 and below keep it shut"
    assert gate(when=("a", A), then=("b", B), otherwise=7).high == 7


def test_clip_limits():
    assert total(clip("s", SIGNED, -0.5, 1.5)) == [-0.5, 0, 1.5]
    assert (clip("s", SIGNED, -0.5, 1.5).low, clip("s", SIGNED, -0.5, 1.5).high) == (-0.5, 1.5)
    assert total(clip("s", SIGNED, 1, 1)) == [1, 1, 1]


def test_affine_scales_then_shifts():
    assert total(affine("s", SIGNED, 2, 1)) == [-1, 1, 5]
    assert (affine("s", SIGNED, 2, 1).low, affine("s", SIGNED, 2, 1).high) == (-1, 5)
    turned = affine("s", SIGNED, scale=-1.0)
    assert (total(turned), turned.low, turned.high) == ([1, 0, -2], -2, 1)
    assert total(affine("a", A)) == [0, 0.5, 1]


def test_steps_begin_at_their_edges():
    term = steps("s", SIGNED, edges=[-0.5, 0, 1.5], values=[3, -1, 0.5, 2])
    assert total(term) == [3, 0.5, 2]
    assert (term.low, term.high) == (-1, 3)
    assert total(steps("a", A, [0.0, 0.5, 1.0], [-1, 0, 1, 2])) == [0, 1, 2], "an edge itself belongs to the step above"
    assert total(steps("a", Column([-0.0, np.nextafter(0.5, 0), 0.5]), [0.0, 0.5], [-1, 0, 1])) == [0, 0, 1]
    assert total(steps("a", A, [], [0.25])) == [0.25] * 3


@pytest.mark.parametrize(
    ("edges", "values"), [([0.5], [1]), ([0.5], [1, 2, 3]), ([0.5, 0.5], [1, 2, 3]), ([1, 0], [1, 2, 3]), ([], [])]
)
def test_steps_need_rising_edges_and_one_value_more(edges, values):
    with pytest.raises(gr.RecipeError, match=r"steps a: .* expected rising edges and one value more"):
        steps("a", A, edges, values)


def test_parts_are_scores_before_weights_those_inside_first():
    term = weighted(main=(0.9, product(a=A, b=B)), c=(0.1, SIGNED))
    assert [name for name, _ in parts_of(term)] == ["a", "b", "main", "c"]
    _, parts = evaluate(term, rows(term))
    assert {name: part.tolist() for name, part in parts.items()} == {
        "a": [0, 0.5, 1], "b": [1, 0.5, 0.25], "main": [0, 0.25, 0.25], "c": [-1, 0, 2],
    }  # fmt: skip
    assert list(parts) == [name for name, _ in parts_of(term)]


def test_a_bare_verifier_has_no_parts():
    assert (list(parts_of(A)), evaluate(A, range(3))[1]) == ([], {})


def test_needs_are_those_of_all_parts_at_any_depth():
    term = weighted(q=(1, product(a=A, g=Column([1], needs=["groups"]))), r=(1, Column([1], needs=["screen"])))
    assert term.needs == {"groups", "screen"}
    assert weighted(a=(1, A)).needs == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        "reward", "score", "acc", "overall", "accuracy", "correct", "valid", "uid", "input", "output", "gts", "step",
        "num_turns", "index", "data_source", "overlong", "error", "pred",
    ],
)  # fmt: skip
def test_names_that_trainers_use_are_refused_at_any_depth(name):
    for build in (
        lambda: weighted(**{name: (1, A)}), lambda: product(**{name: A}), lambda: best(**{name: A, "b": B}),
        lambda: gate(when=(name, A), then=("b", B)), lambda: gate(when=("b", B), then=(name, A)),
        lambda: clip(name, A, 0, 1), lambda: affine(name, A),
        lambda: weighted(q=(1, product(b=B, r=clip(name, A, 0, 1)))),
    ):  # fmt: skip
        with pytest.raises(gr.RecipeError, match=f"part '{name}': trainers use that name"):
            build()


@pytest.mark.parametrize("name", ["", "a b", "1a", "a-b", "a.b"])
def test_a_part_has_an_identifier(name):
    with pytest.raises(gr.RecipeError, match="or it is no name; choose another"):
        product(**{name: A})


def test_a_name_stands_once_at_any_depth():
    for build in (
        lambda: gate(when=("a", A), then=("a", B)),
        lambda: weighted(a=(1, product(a=A, b=B))),
        lambda: weighted(q=(1, product(a=A)), r=(1, best(a=B))),
    ):
        with pytest.raises(gr.RecipeError, match="part 'a' occurs twice"):
            build()
    with pytest.raises(gr.RecipeError, match="part 'acc': trainers use that name"):
        gate(when=("acc", A), then=("acc", B))


@pytest.mark.parametrize("build", [weighted, product, best])
def test_no_parts_are_no_reward(build):
    with pytest.raises(gr.RecipeError, match="got no parts; name at least one"):
        build()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, "1", None, True, [1]])
def test_numbers_are_finite_numbers(number):
    for build in (
        lambda: weighted(a=(number, A)), lambda: gate(when=("a", A), then=("b", B), otherwise=number),
        lambda: affine("a", A, scale=number), lambda: affine("a", A, shift=number),
        lambda: asymmetric("a", A, positive=number), lambda: asymmetric("a", A, negative=number),
    ):  # fmt: skip
        with pytest.raises(gr.RecipeError, match="expected a finite number"):
            build()


def test_clip_needs_its_bounds_in_order():
    with pytest.raises(gr.RecipeError, match="clip a: got low 1 above high 0"):
        clip("a", A, 1, 0)
    with pytest.raises(gr.RecipeError, match="expected a finite number"):
        clip("a", A, -math.inf, 0)


@pytest.mark.parametrize("thing", [Hit, "hit", 0.5, None, len, {}])
def test_what_is_no_verifier_is_refused_when_built(thing):
    # The class in place of Hit() is the usual slip; it would only show at the first batch.
    for build in (lambda: product(hit=thing), lambda: weighted(hit=(1.0, thing)), lambda: clip("hit", thing, 0, 1)):
        with pytest.raises(gr.RecipeError, match=r"part 'hit': got .*(is a class|cannot be called|declares no)"):
            build()


@pytest.mark.parametrize("pair", [Hit(), 0.5, (1,), (1, Hit(), 2), None])
def test_weighted_wants_weight_and_verifier(pair):
    with pytest.raises(gr.RecipeError, match=r"part 'hit': got .* expected \(weight, verifier\)"):
        weighted(hit=pair)


def test_compositions_are_comparable_picklable_and_show_what_they_are():
    term = weighted(hit=(0.9, Hit(polygon="half_open")), format=(0.1, Format()))
    assert term == weighted(hit=(0.9, Hit(polygon="half_open")), format=(0.1, Format()))
    assert term != weighted(hit=(0.8, Hit(polygon="half_open")), format=(0.1, Format()))
    assert term != weighted(hit=(0.9, Hit()), format=(0.1, Format()))
    assert pickle.loads(pickle.dumps(term)) == term
    assert hash(term) == hash(pickle.loads(pickle.dumps(term)))
    assert "half_open" in repr(term)


weights = st.floats(-3, 3, allow_subnormal=False)


@st.composite
def verifiers(draw, rows=4):
    low, high = sorted(number + 0.0 for number in draw(st.lists(st.floats(-2, 2), min_size=2, max_size=2)))
    edge = st.sampled_from([low, high])
    return Column(draw(st.lists(edge | st.floats(low, high), min_size=rows, max_size=rows)), low, high)


@st.composite
def terms(draw, prefix=""):
    """Any composition, up to two deep; the path to a part is its name."""
    if len(prefix) == 2 or draw(st.booleans()):
        return draw(verifiers())
    names = [prefix + letter for letter in "abc"]
    a, b, c = (draw(terms(name)) for name in names)
    low, high = sorted((draw(weights), draw(weights)))
    return draw(st.sampled_from([
        lambda: weighted(**{name: (draw(weights), part) for name, part in zip(names, (a, b, c), strict=True)}),
        lambda: product(**dict(zip(names, (a, b, c), strict=True))),
        lambda: best(**dict(zip(names, (a, b, c), strict=True))),
        lambda: gate(when=(names[0], a), then=(names[1], b), otherwise=draw(weights)),
        lambda: clip(names[0], a, low, high),
        lambda: affine(names[0], a, draw(weights), draw(weights)),
        lambda: asymmetric(names[0], a, abs(draw(weights)), abs(draw(weights))),
    ]))()  # fmt: skip


@settings(max_examples=200)
@given(terms())
def test_scores_stay_within_the_declared_bounds_to_the_last_bit(term):
    scores, parts = evaluate(term, rows(term))
    assert term.low <= term.high
    assert (scores >= term.low).all()
    assert (scores <= term.high).all()
    assert np.isfinite(scores).all()
    assert list(parts) == [name for name, _ in parts_of(term)]


def test_bounds_add_up_as_scores_do_also_where_sum_rounds_otherwise(monkeypatch):
    # Python 3.12's sum compensates: 0.1 + 0.2 + 0.3 would be 0.6 there, but a score of 0.6000000000000001.
    monkeypatch.setattr(combine, "sum", math.fsum, raising=False)
    one = Column([1])
    term = weighted(a=(0.1, one), b=(0.2, one), c=(0.3, one))
    assert (total(term), term.high) == ([0.6000000000000001], 0.6000000000000001)


def test_a_part_of_weight_0_is_shown_and_adds_nothing():
    scores, parts = evaluate(weighted(a=(0.5, A), b=(0.0, B)), rows(A))
    assert scores.tolist() == [0, 0.25, 0.5]
    assert parts["b"].tolist() == [1, 0.5, 0.25]
    assert total(weighted(a=(0.0, A), b=(0, B))) == [0, 0, 0]


@pytest.mark.parametrize("build", [product, best, lambda a: weighted(a=(1.0, a))])
def test_a_total_is_an_array_of_its_own(build):
    scores, parts = evaluate(build(a=A), rows(A))
    scores += 1
    assert parts["a"].tolist() == A.scores.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("join", [product, best])
def test_parts_are_joined_from_left_to_right(join):
    columns = {"a": Column([0.1, 0.2, 0.3]), "b": Column([0.7, 0.1, 0.9]), "c": Column([0.3, 0.6, 0.7])}
    by_hand = {product: lambda a, b, c: a * b * c, best: max}[join]
    expected = [by_hand(*row) for row in zip(*(column.scores.tolist() for column in columns.values()), strict=True)]
    assert total(join(**columns)) == expected


def test_the_bounds_of_many_factors_are_those_of_all_corners():
    sides = [(-1.5, 0.5), (0.1, 3.0), (-2.0, -0.3), (0.7, 0.7), (-1.0, 1.0)]
    parts = {f"p{n}": gr.verifier(lambda rollouts: [], low=low, high=high) for n, (low, high) in enumerate(sides)}
    corners = [math.prod(corner) for corner in itertools.product(*sides)]
    bounds = product(**parts)
    assert (bounds.low, bounds.high) == (min(corners), max(corners))
    many = product(**{f"p{n}": gr.verifier(lambda rollouts: [], low=-1.0, high=1.0) for n in range(200)})
    assert (many.low, many.high) == (-1.0, 1.0)
