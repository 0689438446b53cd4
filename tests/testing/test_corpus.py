"""The hostile corpus: long texts, rare characters, and every answer format whole and broken."""

from grounding_rewards.testing import ANSWER_FORMATS, hostile_responses, hostile_shapes


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
