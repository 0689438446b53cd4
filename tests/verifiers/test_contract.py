"""One check of what verifiers and selectors declare and return, wherever one is named, composed, called or tested."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.pool import Band, sample_stats, select
from grounding_rewards.verifiers import DastLength, Hit
from tests.verifiers.judging import rollouts

BOX = [0, 0, 1, 1]
STATS = sample_stats(["a", "b"], [1, 0])


class Own:
    """Anybody's verifier, and selector."""

    def __init__(self, score=0.5, low=0.0, high=1.0, needs=frozenset()):
        self.score, self.low, self.high, self.needs = score, low, high, needs

    def __call__(self, table):
        if isinstance(self.score, BaseException):
            raise self.score
        return self.score(table) if callable(self.score) else self.score


class NoNeeds:
    low, high = 0.0, 1.0

    def __call__(self, table):
        return np.zeros(len(table))


class Failing(NoNeeds):
    @property
    def needs(self):
        raise ZeroDivisionError("no needs")


BAD = [
    (Own(low=float("-inf")), "declares low -inf and high 1.0: expected finite numbers, low <= high"),
    (Own(high=float("nan")), "declares low 0.0 and high nan"),
    (Own(low=2), "declares low 2 and high 1.0"),
    (Own(low=None), "declares low None"),
    (Own(low=False), "declares low False"),
    (Own(needs=frozenset({"group"})), "declares unknown needs: got 'group'; did you mean 'groups'?"),
    (Own(needs=["groups"]), r"declares needs \['groups'\]: expected a frozenset"),
    (NoNeeds(), "declares no needs"),
    (Failing(), r"cannot say what it declares \(ZeroDivisionError: no needs\)"),
    (Hit, r"is a class: build it, such as Hit\(\)"),
    (len, r"declares no low and no high and no needs: lift a plain function with verifier\(fn, low=, high=\)"),
    (None, "cannot be called: expected a verifier, with __call__"),
]


@pytest.mark.parametrize(("term", "message"), BAD)
def test_what_is_no_verifier_is_refused_wherever_it_would_stand(term, message):
    with pytest.raises(gr.RecipeError, match=rf"part 'mine': got .*, which {message}"):
        weighted(mine=(1, term))
    for role in ("reward", "success"):
        with pytest.raises(gr.RecipeError, match=rf"gelato: {role}: got .*, which {message}"):
            replace(gr.recipe("gelato"), **{role: term})
    with pytest.raises(gr.RecipeError, match=rf"DastLength\(correct=\): got .*; this {message}"):
        DastLength(correct=term)


def test_a_class_in_a_file_is_named_with_what_it_lacks(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "class Brief:\n    low, high = 0, 1\n    def __call__(self, rollouts): return [0] * len(rollouts)\n"
    )
    with pytest.raises(gr.RecipeError, match=r":Brief is a Brief; expected a verifier .*; this declares no needs"):
        gr.recipe("composite", response_space="pixel", parts={"a": {"verifier": f"{path}:Brief", "weight": 1}})


def test_bounds_may_be_numpys_and_must_be_finite():
    found = gr.verifier(len, low=np.float32(0.5), high=np.int64(2))
    assert (found.low, found.high) == (0.5, 2.0)
    low_and_high = [(low, 1) for low in (False, -(10**400), np.float32("-inf"), "0", 2, math.nan, None)]
    for low, high in [*low_and_high, (0, math.inf), (0, [1])]:
        with pytest.raises(gr.RecipeError, match=r"verifier\(low=, high=\): got .* expected finite bounds"):
            gr.verifier(len, low=low, high=high)


@pytest.mark.parametrize(("needs", "came"), [("group", "'group'"), (["Groups"], "'Groups'"), (5, "5"), (None, "None")])
def test_unknown_needs_of_a_function_are_refused(needs, came):
    with pytest.raises(gr.RecipeError, match=f"needs: got {came}.* There are: groups, screen, trajectories, points"):
        gr.verifier(len, low=0, high=1, needs=needs)


def parsed(rows):
    """Module level, so that it pickles."""
    return rows.predictions.parsed


def test_a_function_of_rollouts_becomes_a_verifier():
    lifted = gr.verifier(parsed, low=0, high=1)
    assert (lifted.low, lifted.high, lifted.needs) == (0.0, 1.0, frozenset())
    scores = lifted(rollouts([(1, 1), None], [{"bbox": BOX}] * 2))
    assert (scores.tolist(), scores.dtype) == ([1, 0], np.float64)
    assert pickle.loads(pickle.dumps(lifted)) == lifted == gr.verifier(parsed, low=0.0, high=1.0)
    for needs in ("groups", ["groups"], ("groups",), {"groups"}):  # of one name no letters
        assert gr.verifier(parsed, low=0, high=1, needs=needs).needs == {"groups"}


def test_a_lifted_verifier_keeps_its_needs_and_a_class_is_none():
    for fn in (None, "parsed", 3):
        with pytest.raises(gr.RecipeError, match="expected a function of Rollouts"):
            gr.verifier(fn, low=0, high=1)
    assert gr.verifier(DastLength(), low=-1, high=1, needs="screen").needs == {"groups", "screen"}
    with pytest.raises(gr.RecipeError, match=r"verifier\(fn\): got the class Hit; build it: Hit\(\)"):
        gr.verifier(Hit, low=0, high=1)


NO_NUMBERS = [
    (None, "None"),
    (["0.5"], r"\['0.5'\]"),
    ([b"0.5"], r"\[b'0.5'\]"),
    (np.array(["0.5"], dtype=object), "array"),
    (np.ma.array([0.5]), "masked_array"),
    (np.array([0.5 + 0j]), "array"),
    (np.zeros(1, "M8[s]"), "array"),
    (np.zeros(1, [("a", float)]), "array"),
    ([10**400], r"\[1000"),
]


@pytest.mark.parametrize(("returned", "came"), NO_NUMBERS)
def test_what_is_no_number_is_not_taken_for_one(returned, came):
    with pytest.raises(gr.VerifierError, match=rf"(?s)part 'own': verifier Own returned {came}.*; expected 1 numbers"):
        replace(gr.recipe("gelato"), reward=weighted(own=(1, Own(returned)))).score("(1, 1)", BOX)
    with pytest.raises(gr.errors.SelectorError, match=rf"(?s) returned {came}.*; expected 2 numbers"):
        select(STATS, Own(returned))


@pytest.mark.parametrize(
    "returned", [[True], (1,), np.array([1], np.uint8), np.array([1.0], np.float16), [np.int64(1)]]
)
def test_any_number_is_one(returned):
    total = replace(gr.recipe("gelato"), reward=weighted(own=(1, Own(returned)))).score("(1, 1)", BOX).total
    assert (total.tolist(), total.dtype) == ([1.0], np.float64)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([0.5, math.nan], "returned nan for row 1; expected 0.0 to 1.0"),
        ([0.5, 1.5], "returned 1.5 for row 1; expected 0.0 to 1.0"),
        ([-0.1, 0.5], "returned -0.1 for row 0; expected 0.0 to 1.0"),
        ([math.inf, 0], "returned inf for row 0"),
        ([0.5], r"returned shape \(1,\); expected \(2,\)"),
        ([[1], [0]], r"returned shape \(2, 1\); expected \(2,\)"),
        (1.0, r"returned shape \(\); expected \(2,\)"),
    ],
)
def test_scores_are_as_many_as_rows_and_within_the_bounds(returned, message):
    for own in (Own(returned), gr.verifier(Own(returned), low=0, high=1)):
        with pytest.raises(gr.VerifierError, match=f"^part 'own': verifier Own {message}"):
            replace(gr.recipe("gelato"), reward=weighted(own=(1, own))).score(["(1, 1)"] * 2, [BOX] * 2)


@pytest.mark.parametrize("error", [SystemExit(3), gr.SpaceError("which?"), KeyError("which?")])
def test_whatever_is_raised_is_named(error):
    said = f"raised {type(error).__name__}: "
    with pytest.raises(gr.VerifierError, match=f"^part 'own': verifier Own {said}") as raised:
        replace(gr.recipe("gelato"), reward=weighted(own=(1, Own(error)))).score("(1, 1)", BOX)
    assert raised.value.__cause__ is error
    for where in ("reward", "success"):
        with pytest.raises(gr.VerifierError, match=f"^{where}: verifier Own {said}"):
            replace(gr.recipe("gelato"), **{where: Own(error)}).score("(1, 1)", BOX)
    with pytest.raises(gr.errors.SelectorError, match=f"^selector <.*Own object.*> {said}"):
        select(STATS, Own(error))


def test_what_a_verifier_says_of_the_arguments_of_score_stays_a_recipe_error():
    broken = replace(gr.recipe("gelato"), reward=weighted(own=(1, Own(gr.RecipeError("extras: got 5")))))
    with pytest.raises(gr.RecipeError, match=r"^part 'own': extras: got 5$"):
        broken.score("(1, 1)", BOX)


def test_errors_about_targets_pass_through():
    error = gr.TargetError(3, "bbox", 7, "a box")
    with pytest.raises(gr.TargetError, match="target of row 3, field 'bbox': got 7; expected a box"):
        replace(gr.recipe("gelato"), reward=Own(error)).score("(1, 1)", BOX)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (len, r'declares no low and no high: lift a plain function with selector\("module:fn", low=, high=\)'),
        (Band, r"is a class: build it, such as Band\(\)"),
        (Own(high=float("inf")), "declares low 0.0 and high inf"),
        (Own(lambda stats: stats.n.fill(0)), "raised ValueError: .*read-only"),
    ],
)
def test_what_is_no_selector_is_named(thing, message):
    with pytest.raises(gr.errors.SelectorError, match=f"^selector .* {message}"):
        select(STATS, thing)
    assert STATS.n.tolist() == [1, 1]


WRITES = [
    lambda rows: rows.predictions.xy.fill(0), lambda rows: rows.predictions.reason.fill(0),
    lambda rows: rows.targets.regions.box.fill(0), lambda rows: rows.targets.refusal.fill(True),
    lambda rows: rows.targets.alternatives.row.fill(0), lambda rows: rows.image_sizes.fill(1),
    lambda rows: rows.groups.fill(0), lambda rows: rows.token_lengths.fill(0),
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_nobody_writes_into_what_others_see(write):
    recipe = gr.recipe("composite", response_space="unit", parts={"hit": 1.0})
    targets = recipe.read_targets([{"bbox": [0, 0, 10, 10]}] * 2)
    sizes, lengths = np.array([[20.0, 20.0]] * 2), np.array([3, 4])
    bad = replace(recipe, reward=weighted(own=(1, Own(write)), hit=(1, Hit())))
    with pytest.raises(gr.VerifierError, match=r"verifier Own raised ValueError: .*read-only"):
        bad.score(["(0.9, 0.9)"] * 2, targets, image_sizes=sizes, token_lengths=lengths)
    sizes[:], lengths[:] = 40.0, 5  # the caller's own stay the caller's
    assert recipe.score(["(0.2, 0.2)"] * 2, targets, image_sizes=sizes).acc.tolist() == [1.0, 1.0]


def test_extras_are_a_dict_of_ones_own():
    seen = {"difficulty": ["easy"]}

    def adds(rollouts):
        rollouts.extras["x"] = 1
        return [0.5]

    replace(gr.recipe("gelato"), reward=weighted(own=(1, Own(adds)))).score(["(1, 1)"], [BOX], extras=seen)
    assert seen == {"difficulty": ["easy"]}
