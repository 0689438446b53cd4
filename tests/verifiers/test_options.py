"""Options of verifiers and recipes: the annotation says what one takes, and the error says it back."""

from dataclasses import dataclass, fields, is_dataclass

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import verifiers
from grounding_rewards.verifiers import Hit
from grounding_rewards.verifiers.options import Count, Discount, Length, Number, Part, Positive, Share, checked
from grounding_rewards.verifiers.terms import Term

NEEDED = {
    "ArgumentMatch": {"field": "app"}, "Difficulty": {"most": 1}, "GradedFormat": {"steps": ["a"]},
    "JudgedFormat": {"judge": len, "signs": []}, "Noise": {"amplitude": 1}, "Suggestion": {"tag": "a"},
    "StepReturn": {"reward": Hit(), "match": Hit()}, "Verdict": {"tag": "a", "positive": ["b"], "negative": ["c"]},
}  # fmt: skip
TAKES = """
a number above 0: Consensus.size DenseDistance.reach EndHit.enlarge GaussianCoverage.alpha GaussianPoint.alpha
 Hit.enlarge ActionMatch.enlarge InConsensus.size PointDistance.reach Suggestion.enlarge ThinkingLength.spread
a number above 0 to 1: ActionMatch.text_threshold DenseDistance.floor Suggestion.text_threshold TextMatch.threshold
a number from 0: ActionMatch.duration_tolerance ActionMatch.point_radius ActionMatch.point_share
 DenseDistance.point_radius DenseDistance.point_share Difficulty.least Difficulty.most DurationMatch.longest
 DurationMatch.shortest DurationMatch.tolerance EndHit.radius EndHit.share Exploration.point_radius
 GaussianCoverage.least GaussianPoint.least GradedFormat.parsed Hit.point_radius Hit.point_share MatchedF1.point_radius
 MatchedPrecision.point_radius MatchedRecall.point_radius NearPoint.radius NearPoint.share Noise.amplitude
 Novelty.radius Novelty.share Repetition.radius Repetition.share Suggestion.duration_tolerance Suggestion.point_radius
 Suggestion.point_share ThinkingLength.ideal
a number from 0 to 1: ThinkingLength.bonus
a number from 0 to below 1: StepReturn.gamma
a number that is finite: DastLength.above
a whole number from 0 to 15: GaussianCoverage.digits GaussianPoint.digits
a whole number from 1: ActionMatch.nearest InConsensus.votes Suggestion.nearest
a whole number from 1 to 10000: Novelty.grid Repetition.grid
a whole number of at most 64 bits: Noise.seed
a list of texts: Hit.actions JudgedFormat.signs Verdict.negative Verdict.positive
true or false: ActionMatch.text_case ArgumentMatch.case DirectionMatch.axis Hit.whole_edges
 Overlap.pixel_convention Suggestion.text_case TextMatch.case
one of 1, 2: ScreenDistance.power
one of all, direction, axis, any: ActionMatch.scroll Suggestion.scroll
one of apart, one: ActionType.presses
one of app, status, button: ArgumentMatch.field
one of closed, open: ThinkingLength.thinking
one of content, finger: ActionMatch.response_scroll ActionMatch.target_scroll DirectionMatch.response
 DirectionMatch.target Suggestion.response_scroll Suggestion.target_scroll
one of exact, f1, contains, ratio, edits: ActionMatch.app ActionMatch.text Suggestion.app Suggestion.text TextMatch.rule
one of gaussian, linear, quadratic, inverse_quadratic, exponential, cosine, sigmoid, step, cubic, sqrt:
 Centredness.shape
one of inclusive, strict: NearPoint.border
one of inclusive, strict, half_open: DenseDistance.polygon Exploration.polygon Hit.polygon InsideDistance.polygon
 MatchedF1.polygon MatchedPrecision.polygon MatchedRecall.polygon
one of inclusive, strict, rounded: Hit.border
one of iou, giou, diou, ciou: Overlap.kind
one of others, group: Repetition.per
one of simple, plain: ThinkingLength.form
one of text, direction, button, app, status: TextMatch.field
one of vocabulary, written, lower, contained: ActionType.names
a pattern: Format.pattern
a list of patterns, each alone or with its weight: GradedFormat.steps
four lengths from 0 in order, such as 50, 120, 200, 300: ThinkingLength.ramp
the name of a field: Difficulty.key
the name of a tag, such as score: a letter first, then letters, digits, _, . or -; not think: Suggestion.tag Verdict.tag
"""


def test_every_option_says_what_it_takes():
    said = {}
    for name in verifiers.__all__:
        kind = getattr(verifiers, name)
        for field in fields(kind) if is_dataclass(kind) else ():
            try:
                kind(**{**NEEDED.get(name, {}), field.name: object()})
            except gr.RecipeError as error:
                start = f"{name}({field.name}=): got <object object at 0x"
                if str(error).startswith(start) and name != "DastLength":
                    said.setdefault(str(error).partition("; expected ")[2], set()).add(f"{name}.{field.name}")
    with pytest.raises(gr.RecipeError, match=r"DastLength\(above=\): got '0'; expected a number that is finite"):
        verifiers.DastLength(above="0")
    said["a number that is finite"] = {"DastLength.above"}
    rows = [row.rpartition(": ") for row in TAKES.strip().replace(":\n ", ": ").replace("\n ", " ").split("\n")]
    assert said == {takes: set(names.split()) for takes, _, names in rows}


@dataclass(frozen=True)
class Every(Term):
    number: Number = 0.0
    length: Length = 0.0
    positive: Positive = 1.0
    share: Share = 0.0
    part: Part = 1.0
    discount: Discount = 0.0
    count: Count = 1
    names: tuple[str, ...] = ()
    truth: bool = False
    maybe: Length | None = None


NO_NUMBERS = [np.nan, np.inf, -np.inf, 1e13, "1", None, True, [1]]


@pytest.mark.parametrize(
    ("name", "kept", "refused"),
    [
        ("number", [-1e12, 0, 2.5], NO_NUMBERS), ("length", [0, 1e12], [-1e-9, *NO_NUMBERS]),
        ("positive", [1e-9], [0, -1, *NO_NUMBERS]), ("share", [0, 1], [-0.1, 1.1, *NO_NUMBERS]),
        ("part", [1e-9, 1], [0, 1.1, *NO_NUMBERS]), ("discount", [0, 0.99], [1, 1.0, -0.1, *NO_NUMBERS]),
        ("count", [1, 7], [0, -1, 1.5, *NO_NUMBERS]), ("names", [("a", "b"), ()], ["a", None, [1], {"a": 1}]),
        ("truth", [True, False], [0, 1, "yes", None]), ("maybe", [None, 0], [-1, "1", np.nan]),
    ],
)  # fmt: skip
def test_values_that_fit_are_kept_and_others_refused(name, kept, refused):
    for value in kept:
        assert getattr(Every(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(gr.RecipeError, match=rf"Every\({name}=\): got "):
            Every(**{name: value})


def test_lists_and_whole_floats_are_kept_in_one_form():
    every = Every(names=["b", "a"], count=2.0)
    assert (every.names, every.count, type(every.count)) == (("b", "a"), 2, int)
    assert Every(names={"b", "a"}) == Every(names=("a", "b"))
    assert hash(Every(names=["a"])) == hash(Every(names=("a",)))


def test_options_of_a_function_are_checked_as_it_is_annotated():
    def near(*, reach: Share = 0.5, free="", names: tuple[str, ...] = (), mine: "Unknown" = 0): ...  # noqa: F821

    def far(*, reach: Share = 0.5, free="", names: tuple[str, ...] = ()): ...

    assert checked(far, {"reach": 1, "free": 2, "names": ["a"]}) == {"reach": 1, "free": 2, "names": ("a",)}
    with pytest.raises(gr.RecipeError, match="option reach: got 2; expected a number from 0 to 1"):
        checked(far, {"reach": 2})
    assert checked(near, {"reach": 2}) == {"reach": 2}, "annotations that are not there when it runs check nothing"
