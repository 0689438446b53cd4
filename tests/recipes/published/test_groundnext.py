"""GroundNext's clipped reward by hand: six steps over the distance to corners inside, and to the box outside."""

import os
import time

import pytest

import grounding_rewards as gr
from grounding_rewards.parsing.texts import VECTOR_ROWS

GROUNDNEXT = gr.recipe("groundnext")
CALL = (
    '<tool_call>\n{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": {}}}}}\n</tool_call>'
)
TARGET = {"x1": 100, "y1": 100, "x2": 300, "y2": 200}
SIZE = {"image_sizes": (1000, 800)}


def columns(scores, row=0):
    parts = {name: float(part[row]) for name, part in scores.parts.items()}
    return {"total": float(scores.total[row]), "acc": float(scores.acc[row]), **parts}


def test_code_in_a_call_is_not_run(tmp_path):
    path = tmp_path / "written"
    code = f"open({str(path)!r},'w').write('x')"
    for text in (
        f"<tool_call>{code}</tool_call>",
        CALL.format(f"[{code}, 1]"),
        CALL.format(f'[200, 150], "x": {code}'),
    ):
        assert columns(GROUNDNEXT.score([text], [TARGET], **SIZE))["format"] == -1
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 6000, "<tool_call></tool_call>" * 2900, "</tool_call>" * 5000, "<" * 65536,
        '<tool_call>{"a":' * 4000 + "</tool_call>", "<tool_call>" + "[" * 65000 + "</tool_call>",
        CALL.format('[1, 2], "x": "' + '\\"' * 32000 + '"'),
        CALL.format('[1, 2], "x": [' + '"a",' * 16000 + "1]"),
        CALL.format("[" + "9" * 4200 + ", " + "9" * 4200 + "]"),
    ],
    ids=range(9),
)  # fmt: skip
def test_long_texts_take_no_longer_than_their_length(text):
    start = time.process_time()
    GROUNDNEXT.score(text, TARGET, **SIZE)
    GROUNDNEXT.score([text] * VECTOR_ROWS, [TARGET] * VECTOR_ROWS, **SIZE)
    assert time.process_time() - start < 5


def test_native_rows_may_carry_sizes_and_names():
    row = {"x1": 300, "y1": 100, "x2": 100, "y2": 200, "image_size": [1000, 500], "id": "a7"}
    recipe = gr.recipe("groundnext")
    (read,) = recipe.read_targets([row]).rows
    assert (read.id, read.image_size, read.regions[0].numbers) == ("a7", (1000.0, 500.0), (100.0, 100.0, 300.0, 200.0))
    with pytest.raises(gr.TargetError, match="field 'label'"):
        recipe.read_targets([{**row, "label": "save"}])
    with pytest.raises(gr.TargetError, match="field 'x1'"):
        recipe.read_targets([{**row, "bbox": [1, 2, 3, 4]}])
