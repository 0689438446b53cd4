"""The checks for authors of plugins really catch what they say: each fault here must be named, with its row."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import Combination, weighted
from grounding_rewards.errors import PoolError
from grounding_rewards.parsing import BARE_TUPLE, BARE_TUPLE_WHOLE, PatternDialect
from grounding_rewards.parsing.reading import Form, Step
from grounding_rewards.pool import Band, Choice, Every, Unsolved
from grounding_rewards.scoring import Example
from grounding_rewards.testing import (
    ANSWER_FORMATS,
    check_dialect,
    check_method,
    check_recipe,
    check_verifier,
    hostile_responses,
    hostile_shapes,
)
from grounding_rewards.verifiers import Hit, InsideDistance
from tests.testing.linear import check_time


@dataclass(frozen=True)
class Plain:
    """A verifier or a selector of an expression, without the checks that ``gr.verifier`` makes itself."""

    code: object = "clicked"
    low: object = 0.0
    high: object = 1.0
    needs: object = frozenset()
    seen: dict = field(default_factory=dict, compare=False)

    def __call__(self, table):
        names = {"rollouts": table, "stats": table, "warnings": warnings, "PoolError": PoolError}
        if isinstance(table, gr.Rollouts):
            names["clicked"] = (~np.isnan(table.predictions.xy[:, 0])).astype(np.float64)
        return eval(self.code, globals(), names)


def raised(kind):
    raise kind("got none")


def fault(check, *arguments, **options):
    with pytest.raises(AssertionError) as caught:
        check(*arguments, **options)
    return str(caught.value)


NEAR = (
    "rollouts.targets.regions.best((np.abs(rollouts.predictions.xy[rollouts.targets.regions.row]"
    " - rollouts.targets.regions.centre).max(axis=1) < 14).astype(float), len(rollouts))"
)
LEFT = "(np.nan_to_num(rollouts.predictions.xy[:, 0], nan=999.0) < 210).astype(float)"
BY_POSITION, BY_CHANCE = "np.arange(len(rollouts)) / 1e6", "np.random.default_rng().random(len(rollouts))"
PRINTS, WARNS = "print(len(rollouts), 'rows') or clicked", "clicked + 0.0 * np.log(0.0 * clicked)"
THINKS = "np.array([float(raised(ValueError) if '</think>' in text else 0) for text in rollouts.text])"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("1.5 * clicked", "returns 1.5 for row 0, expected 0.0 to 1.0: Row(target="),
        ("rollouts.predictions.xy[:, 0] * 0.0", "returns nan for row 0, expected 0.0 to 1.0: Row(target="),
        (BY_POSITION, "for row 2 (pixel, in a batch and alone): Row(target="),
        ("clicked * min(1.0, 1.0 / max(len(rollouts), 1))", "(pixel, in a batch and alone): Row(target="),
        ("np.cumsum(clicked) / 1000", "(pixel, in a batch and alone): Row(target="),
        (BY_CHANCE, "for row 0 (pixel, in a batch and alone): Row(target="),
        ("rollouts.predictions.xy.fill(0.0)", "raises ValueError: 'assignment destination is read-only'"),
        ("rollouts.targets.regions.box.__iadd__(1.0)", "raises ValueError: 'output array is read-only'"),
        ("rollouts.text.append('more') or clicked", " writes into rollouts.text"),
        ("rollouts.extras.update(seen=1) or clicked", " writes into rollouts.extras"),
        (THINKS, "(pixel, alone) on Row(target="),
        (THINKS, "</think>"),
        (WARNS, "raises RuntimeWarning: 'divide by zero encountered in log'"),
        (PRINTS, "prints '"),
        ("print('1', file=sys.stderr) or clicked", "prints '1"),
        ("sys.exit(3)", "raises SystemExit: '3'"),
        ("None", "returns None: expected float64 of shape ("),
        ("1.0", "returns 1.0: expected float64 of shape ("),
        ("np.array(['much'] * len(rollouts))", "expected float64 of shape ("),
        ("clicked.astype(np.float32)", "expected float64 of shape ("),
        ("clicked[:, None]", "expected float64 of shape ("),
        ("np.ma.masked_array(clicked)", "returns masked_array("),
        ("clicked + 0.0 * rollouts.predictions.xy[0].size", "(pixel, no rows) on 0 rows raises IndexError"),
        ("rollouts.token_lengths / 1e4", "(pixel, alone, with nothing but its needs) on Row(target="),
        ("np.random.seed(0) or clicked", " changes the state of numpy.random, which all code shares: leave it alone"),
        ("np.seterr(all='ignore') and clicked", " changes numpy's handling of errors, which"),
        ("warnings.simplefilter('ignore') or clicked", " changes the filters of warnings, which"),
        ("raised(ValueError) if len(rollouts) == 2 else clicked", "(pixel, 2 rows) on 2 rows raises ValueError"),
        (
            "raised(ValueError) if max(map(len, rollouts.text), default=0) > 20_000 else clicked",
            "raises ValueError: 'got none'",
        ),
    ],
)
def test_a_faulty_verifier_is_caught_and_named(code, message):
    handling = np.geterr()
    try:
        said = fault(check_verifier, Plain(code))
    finally:
        np.seterr(**handling)
    assert said.startswith("Plain(code="), said
    assert message in said


def test_a_fault_that_the_library_finds_itself_is_named_too():
    said = fault(check_verifier, gr.verifier(raised, low=0, high=1))
    assert said.startswith("FunctionVerifier(fn=<function raised at ")
    assert "raises VerifierError: \"verifier raised raised TypeError: 'Rollouts' object is not callable" in said


@pytest.mark.slow
def test_a_sound_verifier_passes_whatever_the_seed():
    for seed in (0, 1):
        check_verifier(Plain(), scale=True, translation=True, seed=seed)
        check_verifier(InsideDistance(), scale=True, translation=True, seed=seed)
    easy = "np.array([float(value == 'easy') for value in rollouts.extras['difficulty']])"
    check_verifier(Plain(easy), extras={"difficulty": ["easy", "hard", None]})


@pytest.mark.slow
def test_scale_and_translation_are_checked_where_they_are_claimed():
    check_verifier(Plain(NEAR), translation=True)
    assert "(as it was and grown by 4)" in fault(check_verifier, Plain(NEAR), scale=True)
    check_verifier(Plain(LEFT))
    assert "(as it was and moved by (24, -16))" in fault(check_verifier, Plain(LEFT), translation=True)
    assert "grown by 4" in fault(check_verifier, Hit(whole_edges=True), scale=True)


GROUPS = frozenset({"groups"})
OF_GROUP, OF_BATCH = "np.bincount(rollouts.groups)[rollouts.groups] / 1000", "clicked * 0 + len(rollouts) / 1000"


@pytest.mark.slow
def test_a_verifier_that_needs_groups_is_scored_a_group_at_a_time():
    check_verifier(Plain(OF_GROUP, needs=GROUPS))
    assert "in a batch and alone" in fault(check_verifier, Plain(OF_GROUP))
    assert "in a batch and alone" in fault(check_verifier, Plain(OF_BATCH, needs=GROUPS))


class Unequal(Plain):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


COUNT = itertools.count()


class OtherHash(Plain):
    def __hash__(self):
        return next(COUNT)


@dataclass
class Open:
    """A dataclass that is not frozen."""

    low: float = 0.0
    high: float = 1.0
    needs: frozenset = frozenset()

    def __call__(self, table):
        return np.zeros(len(table))


@dataclass(frozen=True)
class Rising:
    low, needs, __call__ = 0.0, frozenset(), Open.__call__

    @property
    def high(self):
        return 1.0 + next(COUNT)


class Counts(Open):
    """Another score at each call."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return type(other) is type(self)

    def __call__(self, table):
        self.calls = getattr(self, "calls", 0) + 1
        return np.full(len(table), 1.0 / self.calls)


@dataclass(frozen=True)
class Mute:
    low: float = 0.0
    high: float = 1.0


@pytest.mark.parametrize(
    ("check", "thing", "message"),
    [
        (check_verifier, Plain(low=1.0, high=0.0), "declares low 1.0 and high 0.0"),
        (check_verifier, Plain(low=None), "declares low None"),
        (check_verifier, Plain(high=float("inf")), "and high inf"),
        (check_verifier, Plain(needs="groups"), "declares needs 'groups': expected a frozenset"),
        (check_verifier, Plain(needs=frozenset({"group"})), "declares unknown needs: got 'group'; did you mean"),
        (check_verifier, Plain(lambda: 0), "cannot be pickled"),
        (check_verifier, Unequal(), "does not equal itself pickled"),
        (check_verifier, Rising(), "declares low, high, needs as (0.0, "),
        (check_verifier, OtherHash(), "has another hash than its copy, which equals it"),
        (check_verifier, raised, "declares no low and no high and no needs: lift a plain function with verifier("),
        (check_verifier, Open, "is a class: build it, such as Open()"),
        (check_verifier, Open(), "Open(low=0.0, high=1.0, needs=frozenset()) has no hash (unhashable type: 'Open')"),
        (check_verifier, Mute(), "Mute(low=0.0, high=1.0) cannot be called: expected a verifier, with __call__"),
        (check_verifier, "hit", "'hit' cannot be called: expected a verifier"),
        (check_verifier, Counts(), "returns 1.0 and 0.5 for row 0 (pixel, in a batch and alone)"),
        (check_method, Band, "is a class: build it, such as Band()"),
        (check_method, Mute(), "selector Mute(low=0.0, high=1.0) cannot be called: expected a selector"),
        (check_method, Open(high=float("nan")), "declares low 0.0 and high nan: expected finite numbers, low <= high"),
        (check_method, Open(), "has no hash"),
        (check_method, Counts(), "returns 1.0 and 0.5 (the first time and the second): sample sample_id='s"),
    ],
)
def test_what_cannot_be_one_is_distinguished_from_what_is_wrong_with_it(check, thing, message):
    assert message in fault(check, thing)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raised(PoolError) if (stats.clicks == 0).any() else stats.clicks", "on 300 samples raises PoolError"),
        ("raised(ValueError) if not stats.clicks.any() else np.minimum(stats.clicks, 1.0)", "raises ValueError"),
        ("stats.pass_rate", "returns nan, expected 0.0 to 1.0: sample sample_id='s"),
        ("(np.arange(len(stats)) < 10).astype(float)", "(in one order and in another): sample sample_id='s"),
        ("np.nan_to_num(stats.pass_rate / np.max(stats.n))", "on 0 samples raises ValueError"),
        ("stats.n.fill(0) or np.zeros(len(stats))", "on 300 samples writes into n"),
        ("stats.n", "on 300 samples returns array(["),
        ("np.zeros(max(len(stats) - 1, 0))", "expected float64 of shape (300,)"),
        (lambda stats: 0, "cannot be pickled"),
    ],
)
def test_a_faulty_selector_is_named_with_its_fault(code, message):
    said = fault(check_method, Plain(code))
    assert said.startswith("selector Plain(code=")
    assert message in said


def test_only_statistics_without_a_column_may_be_refused_and_by_a_pool_error():
    without = "raised(PoolError) if len(stats) and not stats.clicks.any() else np.minimum(stats.clicks, 1.0)"
    check_method(Plain(without))
    check_method(Every([Plain(without), Unsolved()]))


@dataclass(frozen=True)
class FirstOfAll:
    """A choice that takes the first rollout of all samples, whatever it says."""

    samples_apart: bool

    kind, needs, low, high = "choice", (), 0.0, 1.0

    def __call__(self, rollouts):
        return Choice(np.arange(min(1, len(rollouts))))


def test_a_choice_of_each_sample_by_itself_is_the_same_of_some_samples_at_a_time():
    check_method(FirstOfAll(samples_apart=False))
    said = fault(check_method, FirstOfAll(samples_apart=True))
    assert said.endswith("chooses otherwise of some samples at a time; expected samples_apart = False")


def test_sound_selectors_pass_whatever_the_seed():
    for seed in (0, 1):
        for selector in (Unsolved(), Band(0.2, 0.8), Band(), Band(0.5, 0.5, inclusive=True)):
            check_method(selector, seed=seed)
    assert "returns 1.0, expected 0.0 to 0.5" in fault(check_method, Plain("Unsolved()(stats)", high=0.5))


@dataclass(frozen=True)
class LikeATuple:
    """A dialect of one's own around one that is right."""

    name: str = "like_a_tuple"

    @property
    def names(self):
        return (self.name,)

    def one(self, text, answers):
        return BARE_TUPLE.one(text, answers)

    def steps(self):
        return [Step(self)]


def twice(text):
    """Half of what the usual form captures."""
    return [(float(x) / 2, float(y) / 2) for x, y in re.findall(r"\(([0-9]+), ([0-9]+)\)", text)]


def breaks(text):
    text.encode()


@pytest.mark.slow
def test_a_faulty_dialect_is_caught_and_named():
    check_dialect(LikeATuple())
    check_dialect(BARE_TUPLE_WHOLE, ["(1, 2)", None])
    said = fault(check_dialect, Form("own", read=breaks))
    assert said.startswith("dialect own (answers='only') on '\\ud800' raises DialectError")
    assert "dialect 'own' raised UnicodeEncodeError" in said
    said = fault(check_dialect, Form("own", read=twice, usual=(r"^\((?P<x>[0-9]+), (?P<y>[0-9]+)\)$",)))
    assert "reads xy [[" in said
    assert "alone from '" in said
    unpicklable = Form("own", read=lambda text: None, signs=("1",))
    assert "dialect own cannot be pickled" in fault(check_dialect, unpicklable, [])
    # Python's re reads the digits of all scripts, RE2 only those of ASCII.
    digits = PatternDialect("digits", r"\((?P<x>\d+),\s*(?P<y>\d+)\)", signs=("(",))
    assert 'dialect digits raises RecipeError: "dialect digits: got the pattern' in fault(check_dialect, digits)


BOX = [[[100, 100, 300, 200], 1.0, 1.0]]


def with_part(code, needs=frozenset()):
    """GTA1 with one part of one's own."""
    return replace(gr.recipe("gta1"), reward=weighted(own=(1.0, Plain(code, needs=needs))))


ENCODES = "np.array([float(len(text.encode()) > 5) for text in rollouts.text])"


@dataclass(frozen=True)
class Loose(Combination):
    """A combination that does not stay within what it declares."""

    op: str = "best"
    parts: tuple = (("hit", Hit()),)
    factor: float = 3.0
    dtype: object = np.float64

    def join(self, columns):
        return (self.factor * columns[0]).astype(self.dtype)

    def __call__(self, rollouts):
        raise AssertionError("a combination is joined")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (with_part("np.array([2.0 * text.startswith('[') for text in rollouts.text])"), "returned 2.0"),
        (with_part(ENCODES), "raised UnicodeEncodeError"),
        (with_part(ENCODES), "on response '\\ud800' and target [[100, 100, 300, 200], 1.0, 1.0], alone, raises"),
        (with_part(BY_POSITION), "total is 1e-06 in a batch and 0.0 alone for response '(512, 384'"),
        (with_part(BY_CHANCE), "in a batch and"),
        (with_part(PRINTS), "prints '"),
        (with_part(WARNS), "raised RuntimeWarning"),
        (with_part("[row.extra.update(seen=1) for row in rollouts.targets.rows] and clicked"), " changes its targets"),
        (replace(gr.recipe("gta1"), reward=Loose()), "returns a total outside 0.0 to 1.0: total 3.0, acc 1.0"),
        (
            replace(gr.recipe("gta1"), reward=Loose(factor=1.0, dtype=np.float32)),
            "dtype=float32): expected float64 of shape (",
        ),
        (with_part(lambda: 0), "recipe('gta1') cannot be pickled"),
    ],
)
def test_a_faulty_recipe_is_caught_and_named(recipe, message):
    noted = "changes" in message
    target = {"bbox": [100, 100, 300, 200], "space": "model_pixel", "extra": {}} if noted else BOX[0]
    said = fault(check_recipe, recipe, [target], responses=[*hostile_responses(length=100), "(200, 150)"])
    assert said.startswith("recipe('gta1')")
    assert message in said


def test_a_sound_recipe_passes_with_targets_and_sizes_of_ones_own():
    sizes = {"image_sizes": (1000, 800), "model_image_sizes": (500, 400)}
    targets = [{"bbox": [1, 1, 9, 9], "space": "pixel"}, {"bbox": [100, 100, 300, 200]}]
    check_recipe(gr.recipe("gta1", target_space="pixel"), targets, responses=["(1, 2)", None, "("], **sizes)
    check_recipe(gr.recipe("click", response_space="thousandths"), responses=["(1, 2)", "none"])


def test_a_recipe_that_needs_groups_is_scored_a_group_at_a_time():
    texts = ["(1, 2)", "", "(3, 4)", None] * 20
    check_recipe(with_part(OF_GROUP, GROUPS), BOX, responses=texts)
    assert "in a batch and" in fault(check_recipe, with_part(OF_BATCH, GROUPS), BOX, responses=texts)


def test_a_recipe_without_targets_is_not_passed_over():
    assert "there is no target to check it with" in fault(check_recipe, gr.recipe("gta1"), [])


def slow(text):
    for start in range(0, len(text) if text.startswith("[[[[") else 0, 1024):
        for _ in range(0, len(text), 15 * 1024):
            sum(map(ord, text[start:]))
    return 0.0


@pytest.mark.slow
def test_time_that_grows_with_the_cube_of_the_text_is_caught():
    cubic = with_part("np.array([slow(text) for text in rollouts.text])")
    said = fault(check_time, cubic, Example("", BOX[0]), limit=60.0)
    assert re.search(r"takes [1-9][0-9]\.[0-9] times as long for 60 KiB as for 15 KiB of '\[+': time must grow", said)
    assert "expected at most 1e-09 s" in fault(check_time, gr.recipe("gta1"), Example("", BOX[0]), limit=1e-9)


def test_the_checks_depend_on_no_test_framework():
    code = "import sys, grounding_rewards.testing; print([m for m in ('pytest', 'hypothesis') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout.strip() == "[]"


def test_the_corpus_holds_each_kind_of_text():
    responses = hostile_responses()
    texts = [text or "" for text in responses]
    assert None in responses
    assert sum(len(text) >= 900_000 for text in texts) >= 12
    assert len(set(responses)) == len(responses)
    parts = ["\ud800", "\x00", "NaN", "1e999", "２００", "9" * 5000, "[" * 900_000, "open(", "<tool_call>", "<think>"]
    for part in parts:
        assert any(part in text for text in texts), part
    for form in ANSWER_FORMATS:
        assert form.right != form.broken
        assert {form.right, form.broken} <= set(responses), form.name
    assert len({form.name for form in ANSWER_FORMATS}) == len(ANSWER_FORMATS)


def test_shapes_are_as_long_as_asked_and_have_names_of_their_own():
    shapes = list(hostile_shapes(10_000))
    assert len(dict(shapes)) == len(shapes)
    assert all(9_000 <= len(text) <= 25_000 for _, text in shapes)
