"""Patterns of a config: what is refused, and that a call of one and a batch agree on what is not."""

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grounding_rewards.parsing.patterns import why_invalid
from grounding_rewards.parsing.texts import VECTOR_ROWS, Texts, matches
from tests.cases import cases

GOOD = [
    "", "a", "^a$", "$", "a|b$", "[$]$", r"\$", "[]$]", "[^]]", "[^a]", r"[\]\[]", "(?:a)", "(?s:.*?)b", "(?P<x>a)",
    "a{2}", "a{2,}", "a{2,3}?", "{", '{"a": [0-9]+}', r"\n", r"\x41", r"\.", r"[\t ]*", "a{1000}", "é", "[а-я]", "(a)",
    "^<think>(?s:.*?)</think>[ \n]*<answer>[0-9]+</answer>$", "a*?b+?c??", "(?:(?:a|b)*c){3}", "a+|$", "}+", "a}+",
]  # fmt: skip
BAD = {
    "(": "missing )", "[": "unterminated", "*a": "nothing to repeat", "a**": "multiple repeat", "\\": "bad escape",
    None: "a pattern", 5: "a pattern", b"a": "a pattern", r"\d": r"without \d", r"[\d]": r"without \d",
    r"\w+": r"without \w", r"a\b": r"without \b", r"(a)\1": r"without \1", r"\Z": r"without \Z",
    r"\u00e9": r"without \u", r"\_": r"without \_", "(?=a)": "without (?=", "(?!a)": "without (?!",
    "(?<=a)": "without (?<=", "(?i)a": "without (?i", "(?i:a)": "without (?i:: write both cases, such as [Cc]lick",
    "(?m:a$)": "without (?m", "(?>a)": "without (?>", "(?#a)": "without (?#", "(?P<x>a)(?P=x)": "without (?P=",
    "a*+": "possessive", "a{2}+": "possessive", "a{2,3}+": "possessive", "a?+": "possessive", "a++": "possessive",
    "a{1001}": "up to 1000", "a{1,2000}": "up to 1000", "a{,5}": "from a number", "[a[]": "inside a set",
    "[^[]": "inside a set",
}  # fmt: skip


@cases("pattern", GOOD)
def test_portable_patterns_are_taken_and_both_engines_run_them(pattern):
    assert why_invalid(pattern) is None
    texts = ["a", "b\n", "a\n", "", "aab", "<think>x</think>\n<answer>12</answer>", '{"a": 5}', "$", "A\n.", "]["]
    one = [matches(Texts([text]), pattern)[0] for text in texts]
    assert one == matches(Texts(texts * VECTOR_ROWS), pattern)[: len(texts)].tolist()
    assert one == pc.match_substring_regex(pa.array(texts), pattern=pattern).to_pylist()


@cases(("pattern", "why"), BAD.items())
def test_what_one_of_the_engines_reads_otherwise_is_refused(pattern, why):
    message = why_invalid(pattern)
    assert message is not None
    assert message.startswith("a pattern")
    assert why in message


def test_a_dollar_is_the_very_end():
    # Python's re alone would also match before a last line feed, and a batch would then disagree with a single call.
    for copies in (1, VECTOR_ROWS):
        texts = ["ab", "ab\n", "ab\n\n"] * copies
        assert matches(Texts(texts), "^ab$").tolist() == [True, False, False] * copies
        assert matches(Texts(texts), "^ab[\n]?$").tolist() == [True, True, False] * copies


atoms = st.sampled_from(["a", "b", "\n", ".", "[ab]", "[^a]", "[$]", r"\$", "^", "$", "(?:a|b)", "(?s:.)", "(?:$|a)"])
repeats = st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}"])
patterns = st.lists(st.tuples(atoms, repeats), max_size=4).map(
    lambda pairs: "".join(atom + (repeat if atom not in ("^", "$") else "") for atom, repeat in pairs)
)


@settings(max_examples=150)
@given(
    st.lists(patterns, min_size=1, max_size=2).map("|".join),
    st.lists(st.text("ab$\n", max_size=6), min_size=1, max_size=8),
)
def test_a_call_of_one_and_a_batch_agree(pattern, texts):
    assume(why_invalid(pattern) is None)
    batch = matches(Texts(texts * VECTOR_ROWS), pattern)[: len(texts)].tolist()
    assert [matches(Texts([text]), pattern)[0] for text in texts] == batch
