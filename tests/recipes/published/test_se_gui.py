"""SE-GUI's format is that of the published pattern."""

import re

from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.recipes.published.se_gui import is_well_formed
from tests.parsing.fragments import responses

CALL = '<tool_call>\n{"name": "computer_use", "arguments": {"coordinate": [7, 8]}}\n</tool_call>'
pieces = st.sampled_from(
    ["<tool_call>", "</tool_call>", "{", "}", "[1,2]", "[1, 2]", "[１, 2]", "[1,\xa02]", "[1 ,2]", CALL]
)
texts = st.lists(st.one_of(pieces, pieces, responses), min_size=1, max_size=8).map("".join)


@given(texts)
def test_the_format_is_that_of_the_published_pattern(text):
    published = r"<tool_call>.*?\{.*\[\d+,\s*\d+\].*\}.*?</tool_call>"
    assert is_well_formed(text) == bool(re.search(published, text, re.DOTALL))
