"""The page of a comparison says what its numbers say."""

from __future__ import annotations

from grounding_rewards.pool.plan import candidates, compare, page_of
from tests.pool.plan.made import five, five_rollouts


def test_bars_are_shares_and_cells_are_overlaps(made_up):
    shown = page_of(compare(five(), candidates(["unsolved", "further", "first"]), five_rollouts()))
    (bars,), (heat,) = (section["blocks"] for section in shown["sections"])
    assert [row["label"] for row in bars["rows"]] == ["1: control", "2: next", "3: unsolved", "4: further", "5: first"]
    shares = [{bars["key"][part][0]: share for part, share, *_ in row["parts"]} for row in bars["rows"]]
    assert {name for row in shares for name in row} == {"never", "0.2 to 0.4", "0.4 to 0.6", "always", "unmeasured"}
    assert [row.get("always", 0) for row in shares] == [0.25, 0, 0, 0, 0.25]
    assert shares[3]["never"] == 0.75
    (overlap,) = heat["matrices"]
    assert [cell[0] for cell in overlap["rows"][0]["cells"]] == ["100", "75", "75", "50", "100"]
    assert overlap["columns"] == ["1", "2", "3", "4", "5"]
