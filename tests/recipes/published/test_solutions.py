"""Solutions, by hand."""

import pytest

from grounding_rewards.errors import MISSING
from grounding_rewards.recipes.published._solutions import SOLUTION, clicks_with_places, read_solution


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (SOLUTION, ("click", [100.0, 100.0, 300.0, 200.0])),
        (SOLUTION.replace("'", '"'), ("click", [100.0, 100.0, 300.0, 200.0])),
        (SOLUTION.replace("'click'", "click"), ("click", [100.0, 100.0, 300.0, 200.0])),
        (SOLUTION.replace("click", "open_app"), ("open_app", [100.0, 100.0, 300.0, 200.0])),
        ("it is <answer>{'action': 'click', 'coordinate': [-1.5, 2]}</answer> here", ("click", [-1.5, 2.0])),
        ("<answer>[{'action': 'click' ,'coordinate': [1, x] }]</answer>", ("click", [1.0, " x"])),
        ("<answer>[{'action': 'click' ,'coordinate': x }]</answer>",
         ("click", ["[{'action': 'click' ,'coordinate': x }]"])),
        ("<answer>[{'coordinate': [1, 2, 3, 4] }]</answer>", None),
        (SOLUTION.replace("</answer>", ""), None),
        (SOLUTION.replace("<answer>", ""), None),
        ("<answer>{'action': 'click', 'coordinate': [.5, 1., 2_00, 1e2, ４, +1, nan, 1.2.3]}</answer>",
         ("click", [0.5, 1.0, " 2_00", " 1e2", " ４", " +1", " nan", " 1.2.3"])),
        ("", None),
        (None, None),
        ([1, 2, 3, 4], None),
        ({"solution": SOLUTION}, None),
    ],
)  # fmt: skip
def test_what_is_read(written, read):
    assert read_solution(written) == read


@pytest.mark.parametrize(
    ("fields", "placed"),
    [
        ({"action": "click"}, {"action": "click", "bbox": MISSING}),
        ({"action": {"name": "click"}, "id": 3}, {"action": {"name": "click"}, "id": 3, "bbox": MISSING}),
        ({"action": "click", "point": [1, 2]}, None),
        ({"action": "click", "regions": [{"bbox": [1, 2, 3, 4]}]}, None),
        ({"action": "Click"}, None),
        ({"action": ["click"]}, None),
        ({"bbox": [1, 2, 3, 4]}, None),
        ({"regions": 5}, None),
        ({"regions": [5, {"action": "click"}]}, {"regions": [5, {"action": "click", "bbox": MISSING}]}),
    ],
)
def test_clicks_need_a_place(fields, placed):
    assert clicks_with_places(fields) == placed
