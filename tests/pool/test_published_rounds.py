"""Three models on one benchmark as three rounds: totals of every table are the published counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grounding_rewards as gr
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.pool.selection import next_pool
from grounding_rewards.pool.transitions import transitions
from grounding_rewards.tables.rollout_table import open_rollouts
from tests.pool.made import plainly

FOLDER = Path(__file__).parents[2].parent / "shared/data/model_responses"
OSWORLD = {
    1: ("osworld-g-uitars-7b-gelato-baseline.jsonl", "model_pixel"),
    2: ("osworld-g-gta1-7b-2507.jsonl", "model_pixel"),
    3: ("osworld-g-gelato-30b.jsonl", "thousandths"),
}
SCREENSPOT = {
    1: ("screenspot-pro-gta1-7b-2507.jsonl", "model_pixel"),
    2: ("screenspot-pro-gelato-30b.jsonl", "thousandths"),
}

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="published responses are not here: expected in ../shared/data/model_responses"
)


def recorded(files, path):
    """The responses, scored, as a rollout table with a round a model."""
    with path.open("w") as out:
        for number, (name, space) in files.items():
            rows = [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]
            sizes = {key: [row[key[:-1]] for row in rows] for key in ("image_sizes", "model_image_sizes")}
            scored = gr.recipe("click", response_space=space).score(
                [row["response"] for row in rows], [row["target"] for row in rows], **sizes
            )
            for row, acc in zip(rows, scored.acc.tolist(), strict=True):
                kept = {"sample_id": row["sample_id"], "round": number, "rollout": 0, "acc": acc}
                out.write(json.dumps({**kept, "application": row.get("application")}) + "\n")
    return open_rollouts([path])


@pytest.fixture(scope="module")
def osworld(tmp_path_factory):
    return recorded(OSWORLD, tmp_path_factory.mktemp("osworld") / "rollouts.jsonl")


@pytest.fixture(scope="module")
def screenspot(tmp_path_factory):
    return recorded(SCREENSPOT, tmp_path_factory.mktemp("screenspot") / "rollouts.jsonl")


def of_rounds(table, before, after, **options):
    return plainly(transitions(*(stats_of(table, rounds=[number], **options) for number in (before, after))))


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (1, 2, [[160, 17], [34, 299]]),  # 333 right, then 316
        (2, 3, [[103, 91], [28, 288]]),  # 316, then 379
        (1, 3, [[96, 81], [35, 298]]),
    ],
)
def test_matrices_of_osworld_g(osworld, before, after, counts):
    found = of_rounds(osworld, before, after)
    right = {1: 333, 2: 316, 3: 379}
    assert found.counts == counts
    assert found.before == [510 - right[before], right[before]]
    assert found.after == [510 - right[after], right[after]]
    assert (found.dropped, found.new, found.unscored, found.net) == (0, 0, 0, right[after] - right[before])
    assert (found.discordant.only_before, found.discordant.only_after) == (counts[1][0], counts[0][1])


def test_differences_between_models_are_tested_in_pairs(osworld):
    assert of_rounds(osworld, 1, 2).discordant.p_value == pytest.approx(0.0241, abs=1e-4)
    better = of_rounds(osworld, 2, 3)
    assert better.discordant.p_value < 1e-7
    assert (round(better.difference.mean, 4), better.difference.low > 0.08) == (round(63 / 510, 4), True)


def test_by_application_the_totals_are_the_published_counts(screenspot):
    found = of_rounds(screenspot, 1, 2, by="application")
    assert found.counts == [[479, 316], [92, 694]]
    assert (found.before, found.after) == ([795, 786], [571, 1010])
    each = {moves.source: moves for moves in found.by_source}
    assert len(each) == 26
    assert sum(moves.both for moves in each.values()) == 1581
    assert round(sum(moves.both * moves.difference.before for moves in each.values()), 6) == 786
    assert round(sum(moves.both * moves.difference.after for moves in each.values()), 6) == 1010
    assert (sum(moves.never_solved for moves in each.values()), sum(moves.escaped for moves in each.values())) == (
        795, 316,
    )  # fmt: skip
    assert each["matlab"].both == 93


def test_the_models_together_make_a_20_80_pool(osworld):
    stats = stats_of(osworld)
    assert [(stats.num_correct == right).sum() for right in range(4)] == [93, 80, 63, 274]
    assert stats.num_correct.sum() == 333 + 316 + 379
    pool = next_pool(stats, seed=7, zero_share=0.2)
    said = pool.to_json()
    # .2 / .8 of 143 are 35.75
    assert {name: said[name] for name in ("kept", "zero", "positive", "dropped_all_correct", "shortfall")} == {
        "kept": 179, "zero": 36, "positive": 143, "dropped_all_correct": 274, "shortfall": 0,
    }  # fmt: skip
    assert not stats.all_correct[pool.kept].any()
