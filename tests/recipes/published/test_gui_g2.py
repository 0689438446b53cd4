"""GUI-G2's reward by hand: two Gaussians and a format, each at most 1, the first two to 3 decimals."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, matches
from grounding_rewards.recipes.published.gui_g2 import _WHOLE_BOX
from tests.parsing.fragments import SPACES

gaps = st.sampled_from(["", " ", *SPACES])
answers = st.builds("{}[{}1{},2,{}03,4{}]{}".format, gaps, gaps, gaps, gaps, gaps, gaps)
lines = st.lists(answers | st.sampled_from(["assistant\n", "x", "assistant", "\n"]), max_size=4).map("".join)


@settings(max_examples=150)
@given(st.lists(lines, min_size=1, max_size=5))
@example(["assistant\n[1,2,3,4]\n"])
def test_the_format_pattern_judges_alike_over_many_and_few(texts):
    many = matches(Texts(texts * VECTOR_ROWS), _WHOLE_BOX)
    assert many[: len(texts)].tolist() == [bool(matches(Texts([text]), _WHOLE_BOX)[0]) for text in texts]
