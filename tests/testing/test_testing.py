"""The checks for authors of plugins really catch what they say: each fault here must be named, with its row."""

import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.combine import Combination, weighted
from grounding_rewards.parsing import BARE_TUPLE, BARE_TUPLE_WHOLE, PatternDialect
from grounding_rewards.parsing.reading import Form, Step
from grounding_rewards.scoring import Example
from grounding_rewards.testing import check_dialect, check_recipe, check_verifier, hostile_responses
from grounding_rewards.verifiers import Hit, InsideDistance
from tests.testing.timing import check_time

pytestmark = pytest.mark.slow


def clicked(rollouts):
    return (~np.isnan(rollouts.predictions.xy[:, 0])).astype(np.float64)


def out_of_bounds(rollouts):
    return 1.5 * clicked(rollouts)


def not_a_number(rollouts):
    return rollouts.predictions.xy[:, 0] * 0.0


def by_position(rollouts):
    return np.arange(len(rollouts)) / 1e6


def by_batch(rollouts):
    return clicked(rollouts) * min(1.0, 1.0 / max(len(rollouts), 1))


def by_the_rows_before(rollouts):
    return np.cumsum(clicked(rollouts)) / 1000


def by_chance(rollouts):
    return np.random.default_rng().random(len(rollouts))


def writes(rollouts):
    rollouts.predictions.xy[np.isnan(rollouts.predictions.xy)] = 0.0
    return clicked(rollouts)


def writes_a_target(rollouts):
    rollouts.targets.regions.box[:] += 1.0
    return clicked(rollouts)


def raises(rollouts):
    for text in rollouts.text:
        if "</think>" in text:
            raise ValueError(f"no answer in {text!r}")
    return clicked(rollouts)


def warns(rollouts):
    return clicked(rollouts) + 0.0 * np.log(np.zeros(len(rollouts)) + clicked(rollouts)) * 0.0


def prints(rollouts):
    print(len(rollouts), "rows")
    return clicked(rollouts)


def single_precision(rollouts):
    return clicked(rollouts).astype(np.float32)


def a_column_too_many(rollouts):
    return clicked(rollouts)[:, None]


def no_rows(rollouts):
    return clicked(rollouts) + 0.0 * rollouts.predictions.xy[0].size


def near(rollouts):
    regions = rollouts.targets.regions
    away = np.abs(rollouts.predictions.xy[regions.row] - regions.centre).max(axis=1)
    return regions.best((away < 14).astype(np.float64), len(rollouts))


def left(rollouts):
    with np.errstate(invalid="ignore"):
        return (rollouts.predictions.xy[:, 0] < 210).astype(np.float64)


def size_of_group(rollouts):
    return np.bincount(rollouts.groups)[rollouts.groups] / 1000


def size_of_batch(rollouts):
    return np.full(len(rollouts), len(rollouts) / 1000)


@dataclass(frozen=True)
class Plain:
    """A verifier without the checks that ``gr.verifier`` makes itself."""

    fn: object
    low: object = 0.0
    high: object = 1.0
    needs: object = frozenset()

    def __call__(self, rollouts):
        return self.fn(rollouts)


class Unequal(Plain):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


def fault(check, *arguments, **options):
    with pytest.raises(AssertionError) as caught:
        check(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (out_of_bounds, "returns 1.5 for row 0, expected 0.0 to 1.0: Row(target="),
        (not_a_number, "returns nan for row 0, expected 0.0 to 1.0: Row(target="),
        (by_position, "for row 2 (pixel, in a batch and alone): Row(target="),
        (by_batch, "(pixel, in a batch and alone): Row(target="),
        (by_the_rows_before, "(pixel, in a batch and alone): Row(target="),
        (by_chance, "for row 0 (pixel, in a batch and alone): Row(target="),
        (writes, "raises ValueError: 'assignment destination is read-only'"),
        (writes_a_target, "raises ValueError: 'output array is read-only'"),
        (raises, "raises ValueError: 'no answer in"),
        (warns, "raises RuntimeWarning: 'divide by zero encountered in log'"),
        (prints, "prints '"),
        (single_precision, "expected float64 of shape ("),
        (a_column_too_many, "expected float64 of shape ("),
        (no_rows, "(pixel, no rows) on 0 rows raises IndexError"),
    ],
)  # fmt: skip
def test_a_faulty_verifier_is_caught_and_named(fn, message):
    said = fault(check_verifier, Plain(fn))
    assert said.startswith(f"Plain(fn=<function {fn.__name__} at "), said
    assert message in said


def test_the_row_at_fault_is_shown():
    said = fault(check_verifier, Plain(raises))
    assert "(pixel, alone) on Row(target=" in said
    assert "</think>" in said


def test_a_sound_verifier_passes_whatever_the_seed():
    for seed in (0, 1):
        check_verifier(Plain(clicked), scale=True, translation=True, seed=seed)
        check_verifier(InsideDistance(), scale=True, translation=True, seed=seed)


def test_scale_and_translation_are_checked_where_they_are_claimed():
    check_verifier(Plain(near), translation=True)
    assert "(as it was and grown by 4)" in fault(check_verifier, Plain(near), scale=True)
    check_verifier(Plain(left))
    assert "(as it was and moved by (24, -16))" in fault(check_verifier, Plain(left), translation=True)
    assert "grown by 4" in fault(check_verifier, Hit(whole_edges=True), scale=True)


def test_a_verifier_that_needs_groups_is_scored_a_group_at_a_time():
    grouped = Plain(size_of_group, needs=frozenset({"groups"}))
    check_verifier(grouped)
    assert "in a batch and alone" in fault(check_verifier, replace(grouped, needs=frozenset()))
    assert "in a batch and alone" in fault(check_verifier, replace(grouped, fn=size_of_batch))


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"low": 1.0, "high": 0.0}, "declares low 1.0 and high 0.0"),
        ({"low": None}, "declares low None"),
        ({"high": float("inf")}, "and high inf"),
        ({"high": float("nan")}, "and high nan"),
        ({"needs": "groups"}, "declares needs 'groups': expected a frozenset"),
        ({"needs": frozenset({"group"})}, "declares unknown needs: got 'group'; did you mean 'groups'?"),
    ],
)
def test_what_it_declares_must_make_sense(declared, message):
    assert message in fault(check_verifier, Plain(clicked, **declared))


def test_it_must_survive_the_way_to_another_process():
    assert "cannot be pickled" in fault(check_verifier, Plain(lambda rollouts: clicked(rollouts)))
    assert "does not equal itself pickled" in fault(check_verifier, Unequal(clicked))


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
    return None


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


def test_a_pattern_that_means_two_things_is_caught():
    # Python's re reads the digits of all scripts, RE2 only those of ASCII.
    digits = PatternDialect("digits", r"\((?P<x>\d+),\s*(?P<y>\d+)\)", signs=("(",))
    said = fault(check_dialect, digits)
    assert 'dialect digits raises RecipeError: "dialect digits: got the pattern' in said


BOX = [[[100, 100, 300, 200], 1.0, 1.0]]


def with_part(fn, needs=frozenset()):
    """GTA1 with one part of one's own."""
    return replace(gr.recipe("gta1"), reward=weighted(own=(1.0, Plain(fn, needs=needs))))


def too_sure(rollouts):
    return np.array([2.0 * text.startswith("[") for text in rollouts.text])


def breaks_on_surrogates(rollouts):
    return np.array([float(len(text.encode()) > 5) for text in rollouts.text])


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


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (with_part(too_sure), "part 'own': verifier too_sure returned 2.0"),
        (with_part(breaks_on_surrogates), "verifier breaks_on_surrogates raised UnicodeEncodeError"),
        (with_part(by_position), "total is 1e-06 in a batch and 0.0 alone for response '(512, 384'"),
        (with_part(by_chance), "in a batch and"),
        (with_part(prints), "prints '"),
        (with_part(warns), "verifier warns raised RuntimeWarning"),
        (replace(gr.recipe("gta1"), reward=Loose()), "returns a total outside 0.0 to 1.0: total 3.0, acc 1.0"),
        (
            replace(gr.recipe("gta1"), reward=Loose(factor=1.0, dtype=np.float32)),
            "dtype=float32): expected float64 of shape (",
        ),
        (with_part(lambda rollouts: clicked(rollouts)), "recipe('gta1') cannot be pickled"),
    ],
)
def test_a_faulty_recipe_is_caught_and_named(recipe, message):
    said = fault(check_recipe, recipe, BOX, responses=[*hostile_responses(length=100), "(200, 150)"])
    assert said.startswith("recipe('gta1')")
    assert message in said


def test_the_response_at_fault_is_shown():
    said = fault(check_recipe, with_part(breaks_on_surrogates), BOX)
    assert "on response '\\ud800' and target [[100, 100, 300, 200], 1.0, 1.0], alone, raises" in said


def test_a_sound_recipe_passes_with_targets_and_sizes_of_ones_own():
    sizes = {"image_sizes": (1000, 800), "model_image_sizes": (500, 400)}
    targets = [{"bbox": [1, 1, 9, 9], "space": "pixel"}, {"bbox": [100, 100, 300, 200]}]
    check_recipe(gr.recipe("gta1", target_space="pixel"), targets, responses=["(1, 2)", None, "("], **sizes)
    check_recipe(gr.recipe("click", response_space="thousandths"), responses=["(1, 2)", "none"])


def notes(rollouts):
    for row in rollouts.targets.rows:
        row.extra["seen"] = True
    return clicked(rollouts)


def test_a_recipe_that_writes_into_its_targets_is_caught():
    target = {"bbox": [100, 100, 300, 200], "space": "model_pixel", "extra": {}}
    said = fault(check_recipe, with_part(notes), [target], responses=["(1, 2)"])
    assert said.startswith("recipe('gta1') on ")
    assert said.endswith(" changes its targets")


def test_a_recipe_that_needs_groups_is_scored_a_group_at_a_time():
    texts = ["(1, 2)", "", "(3, 4)", None] * 20
    groups = frozenset({"groups"})
    check_recipe(with_part(size_of_group, groups), BOX, responses=texts)
    assert "in a batch and" in fault(check_recipe, with_part(size_of_batch, groups), BOX, responses=texts)


def test_a_recipe_without_targets_is_not_passed_over():
    assert "there is no target to check it with" in fault(check_recipe, gr.recipe("gta1"), [])


def slow(rollouts):
    for text in rollouts.text:
        for start in range(0, len(text) if text.startswith("[[[[") else 0, 1024):
            for _ in range(0, len(text), 15 * 1024):
                sum(map(ord, text[start:]))
    return clicked(rollouts)


def test_time_that_grows_with_the_cube_of_the_text_is_caught():
    said = fault(check_time, with_part(slow), Example("", BOX[0]), limit=60.0)
    assert re.search(r"takes [1-9][0-9]\.[0-9] times as long for 60 KiB as for 15 KiB of '\[+': time must grow", said)


def test_a_time_limit_is_kept():
    assert "expected at most 1e-09 s" in fault(check_time, gr.recipe("gta1"), Example("", BOX[0]), limit=1e-9)


def test_the_checks_depend_on_no_test_framework():
    code = "import sys, grounding_rewards.testing; print([m for m in ('pytest', 'hypothesis') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout.strip() == "[]"
