"""GroundNext's clipped reward by hand: six steps over the distance to corners inside, and to the box outside."""

import pytest

import grounding_rewards as gr


def test_native_rows_may_carry_sizes_and_names():
    row = {"x1": 300, "y1": 100, "x2": 100, "y2": 200, "image_size": [1000, 500], "id": "a7"}
    recipe = gr.recipe("groundnext")
    (read,) = recipe.read_targets([row]).rows
    assert (read.id, read.image_size, read.regions[0].numbers) == ("a7", (1000.0, 500.0), (100.0, 100.0, 300.0, 200.0))
    with pytest.raises(gr.TargetError, match="field 'label'"):
        recipe.read_targets([{**row, "label": "save"}])
    with pytest.raises(gr.TargetError, match="field 'x1'"):
        recipe.read_targets([{**row, "bbox": [1, 2, 3, 4]}])
