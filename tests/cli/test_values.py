"""Small functions of the commands, and of what they read: what goes in, and what comes out."""

from __future__ import annotations

import pytest

from grounding_rewards import catalogue
from grounding_rewards.batch.benchmarks import BENCHMARKS
from grounding_rewards.batch.consensus_answers import target_numbers
from grounding_rewards.batch.samples import _image
from grounding_rewards.batch.score_rows import forgets_space
from grounding_rewards.cli import options
from grounding_rewards.cli.render.evaluation import _differing
from grounding_rewards.cli.render.tables import clipped, interval
from grounding_rewards.cli.rollout import duration
from grounding_rewards.coords.spaces import PIXEL
from grounding_rewards.settings.reading import by_table
from grounding_rewards.tables.layouts import TargetCells
from grounding_rewards.targets.columns import Targets

OSWORLD, SCREENSPOT = BENCHMARKS["osworld-g"], BENCHMARKS["screenspot"]
MIXED = [{"bbox": [0, 0, 0, 0], "refusal": True}, {"bbox": [1, 2, 3, 4], "refusal": False}]
SQUARE, DENTED = [0, 0, 4, 0, 4, 4, 0, 4], [0, 0, 4, 0, 2, 2, 4, 4, 0, 4]
PLACES = Targets.from_list([{"bbox": [0, 0, 4, 4]}, {"polygon": SQUARE}, {"polygon": DENTED}])


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([duration(59), duration(8100)], ["1 min", "2 h 15 min"]),
        (interval(0.0, 0.3244), "0.0 - 32.4"),
        ([clipped("Click the blue button", 16), clipped("[100,100,300,200]", 10)], ["Click the...", "[100,10..."]),
        (_differing(["osworld-g-gta1-7b", "osworld-g-gelato-30b"]), ["gta1-7b", "gelato-30b"]),
        ([options.flag_of("model"), options.flag_of("option")], ["--pipeline", "--option"]),
        (
            options.of_each({"response_space": "pixel,thousandths", "format_weight": 0.1}, 2)[1],
            {"response_space": "thousandths", "format_weight": 0.1},
        ),
        (options.target_recipe("click").target_space, PIXEL),
        (
            by_table({"recipe": "gelato", "option": ["format_weight=0.5"], "model": "qwen3_vl", "seed": 7}),
            {
                "recipe": {"name": "gelato", "format_weight": 0.5}, "answers": {"model": "qwen3_vl"},
                "options": {"seed": 7},
            },
        ),
        ([OSWORLD.sample({"id": "ID-0"}), OSWORLD.sample({})], ['["ID-0"]', None]),
        (SCREENSPOT.label({"data_source": "ios", "data_type": "icon"}, ("platform", "type")), "mobile / icon"),
        (TargetCells("bbox", "refusal").values(MIXED, None), [{"refusal": True}, {"bbox": [1, 2, 3, 4]}]),
        (target_numbers(PLACES, PIXEL)[:, 7].tolist(), [16.0, 16.0, 12.0]),
        ([_image(["a.png"]), _image({"path": "a.png", "bytes": b"..."}), _image([])], ["a.png", "a.png", None]),
        (
            [forgets_space(catalogue.recipe("gelato", **own)) for own in ({}, {"target_space": "pixel"})],
            [False, True],
        ),
    ],
)  # fmt: skip
def test_what_comes_out(made, expected):
    assert made == expected
