"""Zero has one sign: however responses and targets write it, it is read as 0.0, one row at a time or many."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.parsing import Answers, parse
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.plugins.registry import collect
from grounding_rewards.targets.read import read_target
from grounding_rewards.testing import ANSWER_FORMATS
from grounding_rewards.testing._checks import same_bits
from grounding_rewards.testing.recipes import examples_of

pytestmark = pytest.mark.slow

DIALECTS = collect([]).parsers
ZEROS = ("0", "-0", "-0.0", "-.0", "-0.", "-0e0", "+0", "-1e-400", "-00", "-0x0", "−0")
NUMERAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
FEW = VECTOR_ROWS - 1


def with_zeros(text):
    """A response whose numbers are all zero, and with one zero at each of its last places."""
    yield from (NUMERAL.sub(zero, text) for zero in ZEROS)
    for found in list(NUMERAL.finditer(text))[-4:]:
        yield from (text[: found.start()] + zero + text[found.end() :] for zero in ZEROS[1:3])


RESPONSES = list(dict.fromkeys([text for form in ANSWER_FORMATS for text in with_zeros(form.right)]))
PIECES = [[text] for text in RESPONSES] + [RESPONSES[start : start + FEW] for start in range(0, len(RESPONSES), FEW)]


def columns(found):
    """All floats of predictions, by name."""
    arguments = {name: found.arguments.column(name, len(found)) for name in ("to", "duration")}
    return {"xy": found.xy, "box": found.box, **arguments}


def agree(pieces, table):
    """All zeros are 0.0, and the pieces have the bits that the rows have in the table, twice over."""
    for name, column in table.items():
        assert not (np.signbit(column) & (column == 0)).any(), name
        again = np.concatenate([piece[name] for piece in pieces])
        assert same_bits(again, np.concatenate([column, column])).all(), name


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_reads_zero_as_plus_zero(name):
    for answers in get_args(Answers):

        def read(texts, answers=answers):
            return parse(texts, DIALECTS[name], space=gr.CoordSpace.PIXEL, answers=answers, thinking="read")

        many = read(RESPONSES)
        agree([columns(read(piece)) for piece in PIECES], columns(many))
        if many.points is not None:
            assert not (np.signbit(many.points) & (many.points == 0)).any(), answers


def test_a_box_that_a_whole_number_and_a_decimal_write_alike():
    recipe, target = gr.recipe("gui-g1"), {"bbox": [590, 0, 842, 182], "image_size": [1024, 512]}
    text = '```json\n[\n\t{"bbox_2d": [590, -0, 842, 182], "label": "e"}\n]\n```'
    for rows in (1, FEW, VECTOR_ROWS):
        found = recipe.prepare([text] * rows, [target] * rows).predictions.box
        assert found.tobytes() == np.array([[590.0, 0.0, 842.0, 182.0]] * rows).tobytes()


@pytest.mark.parametrize("zero", ["-0.0", "-0", "-0e0", "-1e-400"])
def test_a_target_reads_zero_as_plus_zero(zero):
    text = f'{{"bbox": [{zero}, {zero}, 9, 9], "action": {{"name": "drag", "to": [{zero}, 5], "duration": {zero}}}}}'
    target = read_target(text)
    numbers = [*target.regions[0].numbers, *target.action.to, target.action.duration]
    assert np.array(numbers).tobytes() == np.array([0.0, 0.0, 9.0, 9.0, 0.0, 5.0, 0.0]).tobytes()


SETTINGS = ("image_size", "model_image_size", "step", "num_steps")


def with_corner(value, zero, left):
    """A target whose first numbers, as many as are left, are zero."""
    if isinstance(value, str):
        count, left[0] = left[0], 0
        return NUMERAL.sub(repr(zero), value, count=count) if count else value
    if isinstance(value, Mapping):
        return {key: item if key in SETTINGS else with_corner(item, zero, left) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_corner(item, zero, left) for item in value]
    if type(value) in (int, float) and left[0]:
        left[0] -= 1
        return zero
    return value


def scored(recipe, cases):
    """The floats of cases of text and example, each example's rows its own group."""
    scores = recipe.score(
        [text for text, _ in cases],
        [example.target for _, example in cases],
        image_sizes=[example.image_size for _, example in cases],
        model_image_sizes=[example.model_image_size for _, example in cases],
        groups=range(len(cases)),
        bad_target="abstain",
    )
    found = {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}
    return found | {"xy": scores.predictions.xy, "box": scores.predictions.box}


WHOLE = ("vigorl-uground", "vigorl-web")
"""Recipes whose targets are texts with whole numbers alone, in which 0.0 is another text."""


@pytest.mark.parametrize("name", gr.list_recipes())
def test_every_recipe_scores_zero_alike_however_it_is_written_alone_and_in_a_batch(name):
    recipe = gr.recipe(name, **shown_with(name))
    examples = examples_of(recipe)
    own = list(with_zeros(recipe.example.response))
    responses = [*own, *RESPONSES[:: len(RESPONSES) // 60]]
    of_zeros = [
        [replace(each, target=with_corner(each.target, zero, [2])) for each in examples]
        for zero in ((0,) if name in WHOLE else (0, 0.0, -0.0))
    ]
    tables = []
    for some in of_zeros:
        boxes = recipe.read_targets([each.target for each in some], bad_target="abstain").regions.box
        assert not (np.signbit(boxes) & (boxes == 0)).any()
        cases = [(text, some[row % len(some)]) for row, text in enumerate(responses)]
        tables.append(scored(recipe, cases))
        few = [cases[start : start + FEW] for start in range(0, len(cases), FEW)]
        agree([scored(recipe, piece) for piece in [[case] for case in cases] + few], tables[-1])
    for table in tables[1:]:
        assert all(same_bits(table[key], column).all() for key, column in tables[0].items())
