"""The table of docs/trainers.md that `make matrix` writes."""

from __future__ import annotations

from tests.matrix import PAGE, TABLE, written


def test_results_take_the_place_of_earlier_ones_and_leave_the_others() -> None:
    page = "a\n\n| environment | tests |\n|---|---|\n| trl-1.0 | old |\n| swift | kept |\n\n| environment | own |\n"
    wanted = "a\n\n| environment | tests |\n|---|---|\n| swift | kept |\n| trl-1.0 | new |\n| verl-0.9 | first |\n\n"
    found = written(page, {"verl-0.9": "| verl-0.9 | first |", "trl-1.0": "| trl-1.0 | new |"})
    assert found == f"{wanted}| environment | own |\n"


def test_every_version_in_the_table_is_one_that_the_matrix_installs() -> None:
    lines = [line.split(" | ") for line in PAGE.read_text("utf-8").partition("| environment |")[2].splitlines()[2:]]
    shown = {line[0].strip("| "): line[1] for line in lines if len(line) == 5}
    assert {"swift", "verl-0.7.1", "verl-0.8"} <= set(shown)
    assert shown == {name: ", ".join(TABLE[name].packages).replace("==", " ") for name in shown}
