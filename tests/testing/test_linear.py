"""Work grows as the rows do, for every recipe, verifier and dialect: counted by ``check_linear``, without a clock."""

import re
from dataclasses import replace

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.parsing import BARE_TUPLE, parse
from grounding_rewards.parsing.reading import Step
from grounding_rewards.plugins.named import build
from grounding_rewards.plugins.registry import collect
from grounding_rewards.scoring import Example
from tests.testing.linear import check_linear, work
from tests.verifiers.test_all import CASES

pytestmark = pytest.mark.slow

DIALECTS = collect([]).parsers


@pytest.mark.parametrize("name", gr.list_recipes())
def test_every_recipe_scores_four_times_the_rows_with_four_times_the_work(name):
    check_linear(gr.recipe(name, **shown_with(name)))


@pytest.mark.parametrize(("name", "arguments", "more"), CASES, ids=[f"{n} {a}" for n, a, _ in CASES])
def test_every_verifier_does(name, arguments, more):
    check_linear(build("verifiers", name, arguments), target_extras=more.get("target_extras", ()))


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_reads_four_times_the_texts_with_four_times_the_work(name):
    check_linear(DIALECTS[name], rows=128)


def test_returns_of_trajectories_do_too():
    recipe = gr.recipe("ui-s1", returns=True)
    target = {"bbox": [40, 560, 280, 640], "action": "click", "image_size": [1000, 2000]}
    sizes = {"image_size": (1000, 2000), "model_image_size": (500, 1000)}
    steps = [{**target, "trajectory": f"t{row // 8}", "step": row % 8} for row in range(64)]
    check_linear(recipe, [Example(recipe.example.response, step, **sizes) for step in steps])


def test_action_names_that_no_other_row_has_cost_no_more():
    def reads(rows):
        texts = [f'{{"arguments": {{"action": "tap{row}", "coordinate": [5, 6]}}}}' for row in range(rows)]
        return work(lambda: parse(texts, DIALECTS["action_json"], space=gr.CoordSpace.PIXEL))

    reads(64)
    assert reads(2048).allocated < 4.2 * reads(512).allocated


def test_targets_that_cannot_be_used_cost_no_more():
    def scores(rows):
        targets = [{"bbox": [row, 1]} if row % 2 else None for row in range(rows)]
        recipe = gr.recipe("click", response_space="pixel")
        return work(lambda: recipe.score(["(1, 2)"] * rows, targets, bad_target="abstain"))

    scores(64)
    few, many = scores(300), scores(1200)
    assert many.lines < 4.2 * few.lines
    assert many.allocated < 4.2 * few.allocated


def clicked(rollouts):
    return (~np.isnan(rollouts.predictions.xy[:, 0])).astype(np.float64)


def compares_all(rollouts):
    return np.array([float(sum(each == text for each in rollouts.text) > 0) for text in rollouts.text])


def copies_all(rollouts):
    xs = rollouts.predictions.xy[:, 0]
    return np.array([float((xs - x).size > 0) for x in xs.tolist()])


def copies_its_group(rollouts):
    groups = rollouts.groups
    return np.array([1 / np.flatnonzero(np.where(groups == group, 1, 0)).size for group in groups.tolist()])


class Again:
    """Reads all texts again for each of them."""

    name, names = "again", ("again",)

    def __init__(self):
        self.seen = []

    def one(self, text, answers):
        self.seen.append(text)
        for _ in self.seen:
            found = BARE_TUPLE.one(text, answers)
        return found

    def steps(self):
        return [Step(self)]


def fault(thing, **options):
    with pytest.raises(AssertionError) as error:
        check_linear(thing, **options)
    return str(error.value)


@pytest.mark.parametrize(
    ("fn", "needs", "rows", "what", "how"),
    [
        (compares_all, (), 64, "runs .* lines of Python", "each row alone"),
        (copies_all, (), 256, "takes .* bytes of memory", "each row alone"),
        (copies_its_group, ("groups",), 256, "takes .* bytes of memory", "groups of eight"),
    ],
)
def test_what_is_quadratic_is_named_with_numbers(fn, needs, rows, what, how):
    said = fault(gr.verifier(fn, low=0, high=1, needs=needs), rows=rows)
    assert said.startswith(f"FunctionVerifier(fn=<function {fn.__name__} at ")
    counts = rf"{what} for {4 * rows:,} rows and [0-9,]+ for {rows} \({how}\): 1[0-9]\.[0-9] times as much"
    assert re.search(counts, said), said


def test_a_recipe_or_a_dialect_that_is_quadratic_is_named():
    own = [Example("(1, 2)", [[0, 0, 9, 9], 1.0, 1.0])]
    check_linear(gr.recipe("gta1"), own, rows=64)
    slow = replace(gr.recipe("gta1"), reward=gr.verifier(copies_all, low=0, high=1))
    assert re.match(
        r"recipe\('gta1'\) takes .* for 512 rows and .* for 128 \(each row alone\)", fault(slow, examples=own)
    )
    assert re.match(r"<.*Again object at .*> runs .* \(answers='only'\)", fault(Again(), rows=1))


def test_what_is_linear_passes_in_one_call_or_row_by_row():
    check_linear(gr.verifier(clicked, low=0, high=1), rows=64)
    check_linear(gr.verifier(lambda rollouts: np.array([float(text > "") for text in rollouts.text]), low=0, high=1))


def test_further_columns_are_there():
    def easy(rollouts):
        return np.array([0.5 if each == "hard" else 1.0 for each in rollouts.extras["difficulty"]])

    check_linear(gr.verifier(easy, low=0, high=1), rows=64, extras={"difficulty": ["easy", "hard"]})


def test_counting_leaves_no_trace():
    import sys
    import tracemalloc

    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        work(lambda: 1 / 0)
    assert sys.gettrace() is before
    assert not tracemalloc.is_tracing()


def test_every_line_and_every_column_counts():
    def copies(times):
        for _ in range(times):
            np.zeros(1000)

    ten, hundred = work(lambda: copies(10)), work(lambda: copies(100))
    assert hundred.lines - ten.lines == 180
    assert 8000 * 90 <= hundred.allocated - ten.allocated < 8200 * 90
