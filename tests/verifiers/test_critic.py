"""Verdicts of a critic and the action that it suggests."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.parsing import ACTION_JSON, AUTO_ACTION, TaggedDialect
from grounding_rewards.rollouts import Reason
from grounding_rewards.scoring import Example
from grounding_rewards.testing import check_recipe
from grounding_rewards.verifiers import ActionMatch, Suggestion, Verdict
from grounding_rewards.verifiers.critic import check_tag
from tests.testing.linear import check_linear, check_time
from tests.verifiers.judging import rollouts

JUDGE = Verdict("score", positive=["right", "1"], negative=["Wrong", "0"])
EXAMPLE = json.loads((Path(__file__).parents[2] / "examples" / "critic.json").read_text("utf-8"))
RECIPE = gr.recipe(EXAMPLE)
CLICK, ELSEWHERE = '{"action": "click", "coordinate": [20, 15]}', '{"action": "click", "coordinate": [90, 90]}'


def wanted(verdict=False, **more):
    return {"bbox": [10, 10, 30, 20], "action": "click", "extra": {"verdict": verdict}, **more}


def answer(verdict="incorrect", suggestion=CLICK, before=ELSEWHERE):
    return f"{before}<verdict>{verdict}</verdict><suggestion>{suggestion}</suggestion>"


def judged(text, verdict, **more):
    return JUDGE(rollouts([None], [wanted(verdict)], text=[text], **more)).item()


def test_case_is_that_of_any_language():
    judge = Verdict("score", positive=["klein"], negative=["groß"])
    assert judge.verdict("<score>GROSS</score>") is False


def test_a_refusal_may_be_judged_and_any_dialect_is_read_without_a_suggestion():
    parts = {"verdict": {"tag": "score", "positive": ["right"], "negative": ["wrong"], "weight": 1}}
    recipe = gr.recipe("composite", response_space="pixel", parts=parts, success="verdict")
    refused = {"refusal": True, "extra": {"verdict": True}}
    assert recipe.score(["<score>right</score>", "<score>wrong</score>"], [refused] * 2).total.tolist() == [1, 0]
    check_tag("own", TaggedDialect(ACTION_JSON, "to"), [JUDGE])


def test_thinking_that_the_prompt_opened_and_nothing_closes_holds_none():
    text = "<score>right</score>"
    assert judged(text, True, reasons=[Reason.UNFINISHED]) == 0
    open_, closed = (gr.recipe(EXAMPLE, thinking=thinking) for thinking in ("open", "closed"))
    assert [each.score(answer(), wanted()).parts["verdict"].item() for each in (open_, closed)] == [0, 1]
    assert open_.score(f"hm</think>{answer()}", wanted()).parts["verdict"].item() == 1


@pytest.mark.parametrize("truth", [True, 1, 1.0, np.True_, np.int64(1), np.float32(1), " RIGHT", "1"])
def test_a_target_calls_the_action_right(truth):
    assert [judged(f"<score>{word}</score>", truth) for word in ("right", "wrong")] == [1, 0]


@pytest.mark.parametrize("truth", [False, 0, 0.0, np.False_, np.uint8(0), "wrong", "0\n"])
def test_a_target_calls_the_action_wrong(truth):
    assert [judged(f"<score>{word}</score>", truth) for word in ("right", "wrong")] == [0, 1]


@pytest.mark.parametrize("truth", ["maybe", "", 2, -1, 0.5, float("nan"), 10**400, [True], {"right": 1}])
def test_a_verdict_that_is_none_is_an_error_that_names_the_sample(truth):
    expected = (
        r"sample 'a7', field 'extra.verdict': got .*; expected whether the proposed action is right: "
        "true or false, 1 or 0, or one of correct, incorrect"
    )
    with pytest.raises(gr.TargetError, match=expected):
        RECIPE.score(answer(), wanted(truth, id="a7"))


@pytest.mark.parametrize("extra", [None, {}, {"verdict": None}, {"Verdict": True}, "right", [1]])
def test_a_target_without_a_verdict_is_an_error_or_abstains(extra):
    bad = {**wanted(), "extra": extra}
    with pytest.raises(gr.TargetError, match=r"row 1, field 'extra\.verdict': got nothing; expected whether"):
        RECIPE.score([answer()] * 2, [wanted(), bad])
    scores = RECIPE.score([answer()] * 3, [wanted(), bad, wanted(True)], bad_target="abstain")
    assert (scores.total.tolist(), scores.valid.tolist()) == ([1, 0, 0.5], [1, 0, 1])
    assert scores.errors.keys() == {1}
    with pytest.raises(gr.TargetError, match=r"row 0, field 'extra\.verdict': got nothing"):
        JUDGE(rollouts([None], [bad]))


@pytest.mark.parametrize("name", ["tag", "positive", "negative"])
def test_nothing_about_a_verdict_has_a_default(name):
    arguments = {"tag": "score", "positive": ["right"], "negative": ["wrong"], "weight": 1}
    del arguments[name]
    with pytest.raises(gr.RecipeError, match=f"part 'verdict': verdict: needs {name}; it takes"):
        gr.recipe("composite", response_space="pixel", parts={"verdict": arguments})
    with pytest.raises(gr.RecipeError, match="suggestion: needs tag; it takes"):
        gr.recipe("composite", response_space="pixel", parts={"suggestion": 1})


@pytest.mark.parametrize(
    ("suggestion", "score", "reason"),
    [
        (CLICK, 1, "OK"),
        (ELSEWHERE, 0, "OK"),
        ('{"action": "long_press", "coordinate": [20, 15]}', 0, "OK"),
        (f" {CLICK}\n</suggestion>, so <suggestion>{CLICK}", 1, "OK"),
        (f"{CLICK}</suggestion><suggestion>{ELSEWHERE}", 0, "SEVERAL_ANSWERS"),
        (f"{CLICK} {ELSEWHERE}", 0, "SEVERAL_ANSWERS"),
        ("there", 0, "MALFORMED"),
        ("", 0, "MALFORMED"),
        ("refusal", 0, "REFUSED"),
    ],
)
def test_a_suggestion_is_the_action_of_its_tag_alone(suggestion, score, reason):
    for before in ("", ELSEWHERE, CLICK, f"<think><suggestion>{CLICK}</suggestion></think>{ELSEWHERE}"):
        [row] = RECIPE.score([answer(suggestion=suggestion, before=before)], [wanted()])
        assert (row.suggestion, row.reason, row.verdict) == (score, reason, 1), before


@pytest.mark.parametrize(
    ("text", "reason"),
    [(CLICK, "NO_ANSWER"), (f"<suggestion>{CLICK}", "MALFORMED"), (f"<think><suggestion>{CLICK}", "UNFINISHED"),
     (f"<think><suggestion>{CLICK}</suggestion></think>{CLICK}", "NO_ANSWER"), (None, "EMPTY")],
)  # fmt: skip
def test_without_its_tags_there_is_no_suggestion(text, reason):
    [row] = RECIPE.score([text], [wanted()])
    assert (row.total, row.reason) == (0, reason)


def test_a_suggestion_is_an_action_match_of_what_the_tag_holds():
    typed = {"action": {"name": "type", "text": "red hat"}, "extra": {"verdict": True}}
    point = {"point": [20, 20], "extra": {"verdict": True}}
    refusal = {"refusal": True, "extra": {"verdict": True}}
    both = {"regions": [{"bbox": [10, 10, 30, 20]}, {"action": typed["action"]}], "extra": {"verdict": True}}
    says = '{"action": "type", "text": "Red hat"}'
    rows = [(CLICK, point), (ELSEWHERE, point), (says, typed), (says, both), (CLICK, both), ("refusal", refusal),
            (CLICK, refusal), ("wait()", typed)]  # fmt: skip
    texts, targets = [answer(suggestion=text) for text, _ in rows], [target for _, target in rows]
    assert RECIPE.score(texts, targets).parts["suggestion"].tolist() == [1, 0, 1, 1, 1, 1, 0, 0]
    match = gr.recipe("composite", response_space="pixel", parts={"action_match": {"weight": 1, "point_radius": 14}})
    assert match.score([text for text, _ in rows], targets).acc.tolist() == [1, 0, 1, 1, 1, 1, 0, 0]
    assert issubclass(Suggestion, ActionMatch)
    with pytest.raises(gr.RecipeError, match=r"Suggestion\(enlarge=\): got 0; expected a number above 0"):
        Suggestion(tag="better", enlarge=0)
    with pytest.raises(gr.RecipeError, match=r"Suggestion\(tag=\): got 'a b'"):
        Suggestion(tag="a b")


def test_the_example_scores_verdict_suggestion_and_format():
    texts = [answer(), answer("correct"), answer(suggestion=ELSEWHERE), answer("correct", "there"), "", answer("?")]
    scores = RECIPE.score(texts, [wanted()] * 6)
    assert scores.total.tolist() == pytest.approx([1, 0.5, 0.6, 0, 0, 0.5])
    assert scores.acc.tolist() == scores.parts["verdict"].tolist() == [1, 0, 1, 0, 0, 0]
    assert RECIPE.accepts == {"bbox", "polygon", "circle", "point", "refusal", "action"}
    assert pickle.loads(pickle.dumps(RECIPE)) == RECIPE == gr.recipe(json.loads(json.dumps(RECIPE.to_dict())))
    assert RECIPE.success == Verdict("verdict", ("correct",), ("incorrect",))
    chosen = gr.recipe(EXAMPLE, success="suggestion")
    assert chosen.score(texts, [wanted()] * 6).acc.tolist() == [1, 1, 0, 0, 0, 1]


def test_a_verdict_alone_goes_with_any_dialect_and_the_other_parts():
    verdict = {"verdict": {**EXAMPLE["parts"]["verdict"], "weight": 1}}
    alone = gr.recipe("composite", response_space="pixel", parts=verdict, dialect="bare_tuple")
    texts = ["<verdict>correct</verdict>", "<verdict>incorrect</verdict>(20, 15)"]
    assert alone.score(texts, [wanted(True)] * 2).acc.tolist() == [1, 0]
    hit = gr.recipe("composite", response_space="pixel", parts={**verdict, "hit": 0.5}, dialect="bare_tuple")
    assert hit.score(texts, [wanted(False)] * 2).total.tolist() == [0, 1.5]
    with pytest.raises(gr.RecipeError, match="Verdict compares with targets, and label_free does without"):
        gr.recipe("composite", response_space="pixel", parts=verdict, success="in_consensus", label_free=True)


def test_a_recipe_reads_one_tag_and_nothing_else():
    two = {name: {"verifier": "suggestion", "weight": 1, "tag": name} for name in ("better", "best_of_all")}
    with pytest.raises(gr.RecipeError, match="suggestion: got the tags better, best_of_all; expected one"):
        gr.recipe("composite", response_space="pixel", parts=two)
    with pytest.raises(gr.RecipeError, match=r"composite: dialect: got auto_action; expected TaggedDialect\(..., 'sug"):
        replace(RECIPE, dialect=AUTO_ACTION)
    with pytest.raises(gr.RecipeError, match="got auto_action in <better>; expected"):
        replace(RECIPE, dialect=TaggedDialect(AUTO_ACTION, "better"))
    other = replace(RECIPE, dialect=TaggedDialect(ACTION_JSON, "suggestion"))
    assert other.score(answer(), wanted()).total.item() == 1


def test_a_part_may_take_them_as_its_argument():
    arguments = {"verifier": "suggestion", "tag": "suggestion"}, {"verifier": "verdict", **EXAMPLE["parts"]["verdict"]}
    del arguments[1]["weight"]
    for correct, abstains in zip(arguments, (False, True), strict=True):
        parts = {"length": {"verifier": "dast_length", "correct": correct, "weight": 1}}
        recipe = gr.recipe("composite", response_space="pixel", parts=parts, success="format")
        targets = [wanted(), wanted(), {"bbox": [1, 1, 2, 2]}]
        texts = [answer(), answer("correct", ELSEWHERE), ""]
        scores = recipe.score(texts, targets, groups=[0, 0, 1], bad_target="abstain")
        assert (scores.total[:2] > 0).tolist() == [True, False]
        assert scores.valid.tolist() == [1, 1, float(not abstains)]


@pytest.mark.slow
def test_it_keeps_the_promises_of_recipes_in_linear_work_and_time():
    recipe = replace(RECIPE, example=Example(answer(), wanted()))
    typed = {"action": {"name": "type", "text": "hi"}, "extra": {"verdict": "correct"}}
    check_recipe(recipe, [wanted(), typed])
    check_time(recipe, Example(answer(), wanted()), limit=1.0)
    check_linear(recipe, [Example(text, wanted()) for text in (answer(), answer("?"), answer() * 9, "")], rows=64)
