"""Texts of prompts, in the forms in which rows hold them."""

from __future__ import annotations

import pytest

from grounding_rewards.tables.prompts import prompt_text


@pytest.mark.parametrize(
    "prompt",
    [
        "Close",
        [{"role": "user", "content": "Close"}],
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Close"}]}],
        [{"content": None, "text": "Close"}],  # as Arrow fills keys that some messages lack
    ],
)
def test_every_form_of_a_prompt_has_the_same_text(prompt: object) -> None:
    assert prompt_text(prompt) == "Close"
