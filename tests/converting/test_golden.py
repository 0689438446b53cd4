"""Published rows, packed for a trainer: they score as they did."""

import pytest

from grounding_rewards.converting import LAYOUTS
from grounding_rewards.converting.samples import ColumnNames, Reading, read_rows
from tests.golden import harness
from tests.golden.test_golden import lines


@pytest.mark.filterwarnings("ignore:.*has no area as x1 y1 x2 y2")
@pytest.mark.parametrize("peer", harness.PEERS)
def test_a_packed_row_scores_as_the_native_one(peer):
    adapter, compared = harness.PEERS[peer], 0
    chosen = [line for line in lines(peer) if isinstance(line["response"], str)][::8]
    for line in chosen:
        recipe, sizes = harness.build(peer, line), adapter.score_options(line)
        row = {"ask": "Save", "truth": adapter.target(line), "size": sizes.get("image_sizes")}
        reading = Reading(ColumnNames("ask", "truth", image_size="size"), recipe)
        native = recipe.score([line["response"]], [row["truth"]], bad_target="abstain", **sizes)
        found = read_rows([row], reading)
        if found.samples[0] is None:
            continue
        packed = LAYOUTS["easyr1"].row(found.samples[0])["answer"]
        beside = {} if "model_image_sizes" not in sizes else {"model_image_sizes": sizes["model_image_sizes"]}
        again = recipe.score([line["response"]], [packed], bad_target="abstain", **beside)
        compared += 1
        assert (again.total, again.acc, again.valid, again.reason) == (
            native.total, native.acc, native.valid, native.reason,
        ), line  # fmt: skip
        assert {name: part.item() for name, part in again.parts.items()} == {
            name: part.item() for name, part in native.parts.items()
        }
    assert compared > 0.8 * len(chosen)


@pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning")  # published rows
def test_rows_that_cannot_be_packed_are_those_whose_target_is_bad():
    bad = 0
    for peer in ("gelato_norm", "gta1", "uir1"):
        for line in lines(peer)[::4]:
            recipe = harness.build(peer, line)
            native = recipe.read_targets([line["ground_truth"]], bad_target="abstain")
            found = read_rows(
                [{"ask": "Save", "truth": line["ground_truth"]}],
                Reading(ColumnNames("ask", "truth"), recipe),
            )
            if native.errors:
                assert found.problems
                bad += 1
    assert bad >= 10
