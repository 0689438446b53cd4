"""Contents of a report, and its notes on what is missing."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from grounding_rewards.pool.report.inputs import funnel
from grounding_rewards.pool.report.rounds import NEEDS, Round, report
from tests.pool.report.made import manifest, rounds, shown, stats


def whole():
    """A report with every section."""
    first, second = rounds()
    return report(
        "pools", [first, second], by_temperature={1.1: first.stats, 1.7: second.stats},
        pools=[funnel("pool 2", manifest())], hardest=[shown()], suspects=[shown()], remarks=["mind <this>"],
    )  # fmt: skip


def test_a_report_with_everything_lacks_nothing():
    found = whole()
    assert found["missing"] == {}
    (moved,) = found["transitions"]
    assert (moved["from"], moved["both"], moved["up"], moved["same"], moved["down"]) == ("round 1", 5, 2, 3, 0)
    assert moved["counts"] == [[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert found["temperature"] is not None
    assert [row["accuracy"] for row in found["temperature"]["rows"]] == [0.35, 0.45]
    assert found["pools"][0]["kept"] == 15


def test_numbers_are_plain_json():
    plain = json.loads(json.dumps(report("pools", rounds()), allow_nan=False))
    assert [each["correct"] for each in plain["rounds"]] == [7, 9]
    assert [each["round"] for each in plain["sources"]] == ["round 1", rounds()[1].name]


def test_every_section_without_data_says_what_it_needs():
    found = report("nothing", [])
    assert found["missing"] == NEEDS
    lone = report("one", [Round("1", stats([1], [1]))])
    assert set(NEEDS) - set(lone["missing"]) == {"rounds", "num_correct", "signal"}
    assert "two rounds" in lone["missing"]["transitions"]


def test_rounds_that_share_no_sample_are_said():
    first, second = stats([1, 1], [1, 0]), stats([1, 1, 1], [1, 0, 1]).taken([2])
    found = report("apart", [Round("1", first), Round("2", second)])
    assert found["missing"]["transitions"].startswith("from 1 to 2: ")
    assert found["remarks"] == []
    joined = report("apart", [Round("1", first), Round("2", second), Round("3", second)])
    assert [each["to"] for each in joined["transitions"]] == ["3"]
    assert joined["remarks"][0].startswith("from 1 to 2: ")
    swept = report("apart", [], by_temperature={1.0: first, 2.0: second})
    assert "temperature" in swept["missing"]["temperature"]


def test_temperatures_of_one_round_are_no_steps_of_training():
    first, second = (replace(each, swept=True) for each in rounds())
    swept = report("swept", [first, second], by_temperature={1.1: first.stats, 1.7: second.stats})
    assert (swept["transitions"], swept["temperature"] is None) == ([], False)
    assert swept["missing"]["transitions"].startswith("temperatures of one round are no steps of training")
    third = Round("3", second.stats)
    assert [(each["from"], each["to"]) for each in report("", [first, *rounds(), third])["transitions"]] == [
        ("round 1", rounds()[1].name), (rounds()[1].name, "3"),
    ]  # fmt: skip


def test_confounded_temperatures_are_not_shown():
    first, second = (replace(each.stats, round=np.full(5, number)) for number, each in enumerate(rounds(), 1))
    page = report("", [], by_temperature={1.1: first, 1.7: second})
    assert page["temperature"] is None
    assert page["missing"]["temperature"].startswith("temperatures 1.1, 1.7 are of rounds 1, 2; needs")


def test_rounds_that_mix_temperatures_are_a_warning():
    first, second = rounds()
    mixed = report("", [replace(first, temperatures=(1.1, 1.4)), second])
    assert mixed["transitions"][0]["warnings"][-1] == (
        "round 1: rollouts at temperatures 1.1, 1.4 count together, and pass rates mix them"
    )


def test_why_temperatures_are_not_compared_is_said():
    found = report("apart", rounds(), unswept="of rounds 1, 2")
    assert (found["temperature"], found["missing"]["temperature"]) == (None, "of rounds 1, 2")
