"""GUI-G2's reward by hand: two Gaussians and a format, each at most 1, the first two to 3 decimals."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, matches
from grounding_rewards.recipes.published.gui_g2 import _WHOLE_BOX
from tests.parsing.fragments import SPACES

GUI_G2 = gr.recipe("gui-g2")
TARGET = [100, 100, 300, 200]


def parts(response, target=TARGET, recipe=GUI_G2):
    scores = recipe.score([response], [target])
    return tuple(float(scores.parts[name][0]) for name in ("point", "coverage", "format"))


@settings(max_examples=150, deadline=None)
@given(st.tuples(*[st.floats(-3000, 3000).map("{:.3f}".format) | st.integers(-(10**30), 10**30).map(str)] * 4))
def test_any_box_is_finite_within_bounds_and_rounded(box):
    point, coverage, well_formed = parts(f"[{','.join(box)}]")
    for score in (point, coverage):
        assert 0 <= score <= 1
        assert score == round(score, 3)
    assert well_formed == all(number.isdigit() for number in box)


gaps = st.sampled_from(["", " ", *SPACES])
answers = st.builds("{}[{}1{},2,{}03,4{}]{}".format, gaps, gaps, gaps, gaps, gaps, gaps)
lines = st.lists(answers | st.sampled_from(["assistant\n", "x", "assistant", "\n"]), max_size=4).map("".join)


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, min_size=1, max_size=5))
@example(["assistant\n[1,2,3,4]\n"])
def test_the_format_pattern_judges_alike_over_many_and_few(texts):
    many = matches(Texts(texts * VECTOR_ROWS), _WHOLE_BOX)
    assert many[: len(texts)].tolist() == [bool(matches(Texts([text]), _WHOLE_BOX)[0]) for text in texts]
