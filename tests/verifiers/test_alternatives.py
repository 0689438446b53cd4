"""Terms over the alternatives of a target: literal scores, the trap that they are there for, and what they refuse."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.actions import Act
from grounding_rewards.combine import affine, best, evaluate, parts_of, product, weighted
from grounding_rewards.plugins.registry import collect
from grounding_rewards.verifiers import (
    ActionType,
    DirectionMatch,
    Format,
    Hit,
    InsideDistance,
    Overlap,
    TextMatch,
    any_of,
    if_placed,
    same_action,
)
from grounding_rewards.verifiers.match import TextAs, either_contains
from grounding_rewards.verifiers.terms import NOTHING, OfAlternatives
from tests.verifiers.acting import REFUSED, acting, judged
from tests.verifiers.judging import judge

PRESS_OR_CLICK = {"regions": [
    {"bbox": [0, 0, 10, 10], "action": "long_press"}, {"bbox": [50, 50, 90, 90], "action": "click"},
]}  # fmt: skip
THERE, ELSEWHERE = Act("click", (60, 60)), Act("click", (5, 5))


def test_a_product_by_itself_mixes_alternatives_and_any_of_does_not():
    """A click at the place of the long press: in a product alone each factor takes the alternative that suits it."""
    term = product(name=ActionType(), place=Hit())
    assert judged(term, [THERE, ELSEWHERE], PRESS_OR_CLICK) == [1, 1]
    assert judged(any_of(term), [THERE, ELSEWHERE], PRESS_OR_CLICK) == [1, 0]


def test_the_best_alternative_counts_and_a_refusal_target_has_none():
    term = any_of(weighted(name=(0.25, ActionType()), place=(0.75, Hit())))
    assert judged(term, [THERE, ELSEWHERE, Act("long_press", (5, 5)), Act("wait"), None, REFUSED], PRESS_OR_CLICK) == [
        1.0, 0.75, 1.0, 0.0, 0.0, 0.0,
    ]  # fmt: skip
    assert judged(term, [THERE], {"refusal": True}) == [0]


def test_it_is_one_part_whatever_is_in_it():
    reward = weighted(done=(1.0, any_of(product(name=ActionType(), place=Hit()))))
    assert [name for name, _ in parts_of(reward)] == ["done"]
    scores, parts = evaluate(reward, acting([THERE, ELSEWHERE], [PRESS_OR_CLICK] * 2))
    assert (scores.tolist(), parts["done"].tolist()) == ([1, 0], [1, 0])


VERIFIERS = {name: kind for name, kind in collect([]).verifiers.items() if hasattr(kind, "each")}
NEEDED = {
    "argument_match": {"field": "app"}, "near_point": {"radius": 5}, "consensus": {}, "hit": {"actions": ("click",)},
    "suggestion": {"tag": "better"},
}  # fmt: skip


def test_most_verifiers_of_targets_can_stand_in_it():
    assert {"hit", "overlap", "gaussian_point", "text_match", "end_hit", "action_match", "keys_match"} <= set(VERIFIERS)
    assert not {"format", "consensus", "refusal_match", "exploration", "step_return"} & set(VERIFIERS)


@pytest.mark.parametrize("name", VERIFIERS)
@pytest.mark.parametrize(
    "target",
    [{"bbox": [0, 0, 10, 10]}, {"regions": [{"bbox": [0, 0, 10, 10]}, {"bbox": [2, 2, 70, 70], "point": [60, 60]}]},
     PRESS_OR_CLICK, {"action": {"name": "type", "text": "hi"}}],
    ids=["one place", "places", "actions", "no place"],
)  # fmt: skip
def test_a_verifier_alone_in_it_scores_what_it_scores_outside(name, target):
    term = VERIFIERS[name](**NEEDED.get(name, {}))
    acts = [THERE, ELSEWHERE, Act("type", (), {"text": "hi"}), None]
    rollouts = acting(acts, [target] * len(acts), size=(100, 100))
    assert any_of(term)(rollouts).tolist() == pytest.approx(term(rollouts).tolist(), abs=0)


def test_bounds_and_needs_are_those_of_the_term_and_of_a_target_without_alternatives():
    assert (any_of(Overlap("diou")).low, any_of(affine("hit", Hit(), 1.0, 1.0)).low) == (-1, 0)
    assert any_of(Hit(point_share=0.1)).needs == {"screen"}
    signed = same_action(click=affine("hit", Hit(), 2.0, -1.0), otherwise=None)
    assert (signed.low, signed.high) == (-1, 1)
    assert (same_action(click=affine("hit", Hit(), 0.5), otherwise=TextMatch()).high) == 1


def test_an_action_is_scored_by_its_own_term():
    term = any_of(same_action(click=Hit(), type=TextMatch("f1"), scroll=DirectionMatch(), otherwise=None))
    click = {"bbox": [50, 50, 90, 90]}
    assert judged(term, [THERE, ELSEWHERE, Act("type", (), {"text": "hi"}), None, REFUSED], click) == [1, 0, 0, 0, 0]
    typed = {"action": {"name": "type", "text": "red hat"}}
    said = [Act("type", (), {"text": text}) for text in ("Red hat", "red shoe", "blue")] + [Act("type"), THERE]
    assert judged(term, said, typed) == [1, 0.5, 0, 0, 0]
    assert judged(term, [Act("wait"), THERE], {"action": "wait"}) == [1, 0]
    both = {"regions": [{"bbox": [50, 50, 90, 90]}, typed]}
    assert judged(term, [THERE, ELSEWHERE, said[1], Act("wait")], both) == [1, 0, 0.5, 0]


def test_names_are_compared_as_asked_for():
    target, acts = {"action": "Wait"}, [Act("Wait"), Act("wait"), Act("WAITING"), Act("")]
    scores = {
        names: judged(any_of(same_action(names, otherwise=None, unnamed=unnamed)), acts, target)
        for names, unnamed in (("written", ""), ("lower", "wait"), ("contained", ""), ("vocabulary", ""))
    }
    assert scores == {
        "written": [1, 0, 0, 0], "lower": [1, 1, 0, 1], "contained": [1, 0, 0, 0], "vocabulary": [1, 1, 0, 0],
    }  # fmt: skip
    assert judged(any_of(same_action("contained", otherwise=None)), [Act("do wait")], {"action": "wait"}) == [1]


def test_a_place_alone_asks_for_the_bare_action():
    box = {"bbox": [50, 50, 90, 90]}
    acts = [Act("tap", (60, 60)), Act("tap", (5, 5)), Act("click", (60, 60)), Act("", (60, 60))]
    for target in (box, {"regions": [box, {"action": "wait"}]}):
        assert judged(any_of(same_action("written", bare="tap", tap=Hit(), otherwise=None)), acts, target) == [
            1, 0, 0, 0,
        ]  # fmt: skip
    assert judged(any_of(same_action(click=Hit(), otherwise=None)), acts, box) == [1, 0, 1, 1]


def test_what_has_no_place_is_right_if_placed_and_wrong_otherwise():
    target = {"regions": [{"action": "wait"}, {"bbox": [50, 50, 90, 90], "action": "hover"}]}
    acts = [Act("wait"), Act("hover", (60, 60)), Act("hover", (5, 5))]
    assert judged(any_of(same_action(otherwise=if_placed(Hit()))), acts, target) == [1, 1, 0]
    assert judged(any_of(same_action(otherwise=Hit())), acts, target) == [0, 1, 0]
    half = if_placed(affine("half", Hit(), scale=0.5))
    assert (half.low, half.high) == (0.0, 1.0)


def test_texts_as_written_are_the_first_there_is():
    term = any_of(TextAs(either_contains, ("text", "button"), missing="none"))
    target = {"action": {"name": "press", "button": "Back"}}
    acts = [Act("press", (), {"button": "back"}), Act("press", (), {"text": "x", "button": "back"}), Act("press")]
    assert judged(term, acts, target) == [1, 0, 0]
    assert judged(term, acts, {"action": {"name": "press", "text": "none of these"}}) == [0, 0, 1]
    assert judged(term, acts[:1], {"action": "press"}) == [1]
    assert judged(any_of(TextAs(either_contains, unasked=0.0)), acts[:1], {"action": "press"}) == [0]


class Counting(OfAlternatives):
    """Counts the alternatives that it is asked about."""

    low, high, needs = 0.0, 1.0, NOTHING

    def __init__(self):
        self.asked = []

    def each(self, rollouts, among=None):
        count = len(rollouts.targets.alternatives)
        self.asked.append(count if among is None else int(among.sum()))
        return np.ones(count)


def test_what_an_earlier_factor_makes_0_is_not_asked_of_those_after_it():
    last = Counting()
    assert judged(any_of(product(name=ActionType(), last=last)), [THERE, Act("wait"), None], PRESS_OR_CLICK) == [
        1,
        0,
        0,
    ]
    assert last.asked == [1]
    judged(any_of(product(name=ActionType(), last=last)), [Act("wait")], PRESS_OR_CLICK)
    assert last.asked == [1], "nothing is left to ask"
    judged(any_of(same_action(long_press=last, otherwise=None)), [THERE, Act("long_press", (5, 5))], PRESS_OR_CLICK)
    assert last.asked == [1, 1]


class Wild(OfAlternatives):
    low, high, needs = 0.0, 1.0, NOTHING

    def each(self, rollouts, among=None):
        return np.array([0.0, 1.0, 7.0, 0.0])


def test_an_error_names_the_row_and_the_alternative():
    rollouts = acting([THERE, THERE], [PRESS_OR_CLICK] * 2)
    with pytest.raises(gr.VerifierError, match=r"verifier Wild returned 7\.0 for row 1, alternative 0; expected 0\.0"):
        any_of(product(wild=Wild(), place=Hit()))(rollouts)
    with pytest.raises(gr.VerifierError, match=r"part 'done': verifier Wild returned 7\.0 for row 1, alternative 0"):
        evaluate(weighted(done=(1.0, any_of(Wild()))), rollouts)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: any_of(Format()), "any_of: Format scores whole responses, not each alternative of a target"),
        (lambda: any_of(product(hit=Hit(), form=Format())), "any_of: Format scores whole responses"),
        (lambda: any_of(best(hit=Hit(), any=any_of(Hit()))), "any_of: AnyOf scores whole responses"),
        (lambda: any_of(gr.verifier(len, low=0, high=1)), "any_of: len scores whole responses"),
        (lambda: any_of(Hit), "any_of: .* is a class: build it"),
        (lambda: any_of("hit"), "any_of: got 'hit', which cannot be called"),
        (lambda: same_action(click=Format(), otherwise=None), "same_action, click: Format scores whole responses"),
        (lambda: same_action(clik=Hit(), otherwise=None), "action 'clik'; did you mean 'click'"),
        (lambda: same_action("upper", otherwise=None), "upper"),
        (lambda: if_placed(Format()), "if_placed: Format scores whole responses"),
    ],
)
def test_what_cannot_stand_in_it_is_named(build, message):
    with pytest.raises(gr.RecipeError, match=message):
        build()


def test_there_is_no_default_for_other_actions():
    with pytest.raises(TypeError, match="otherwise"):
        same_action(click=Hit())


def test_equal_terms_are_equal_and_can_be_pickled():
    term = any_of(same_action("lower", click=InsideDistance(), otherwise=if_placed(Hit())), formula="in words")
    assert pickle.loads(pickle.dumps(term)) == term
    assert term.high == 1
    assert pickle.loads(pickle.dumps(term)) == term, "whether its bounds were asked for or not"


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=5))
def test_places_alone_score_as_places_beside_an_action_that_nobody_does(points):
    """Targets of places alone take a short way."""
    box = {"bbox": [20, 20, 70, 70]}
    term = any_of(same_action(click=InsideDistance(), otherwise=None))
    long = {"regions": [box, {"action": "wait"}]}
    assert judge(term, points, box) == judge(term, points, long) == judge(InsideDistance(), points, box)
