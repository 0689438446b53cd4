"""The table of docs/trainers.md that `make matrix` writes."""

from __future__ import annotations

import pytest

from tests.matrix import PAGE, TABLE, outcome, written


def test_results_take_the_place_of_earlier_ones_and_leave_the_others() -> None:
    page = "a\n\n| environment | tests |\n|---|---|\n| trl-1.0 | old |\n| swift | kept |\n\n| environment | own |\n"
    wanted = "a\n\n| environment | tests |\n|---|---|\n| swift | kept |\n| trl-1.0 | new |\n| verl-0.9 | first |\n\n"
    found = written(page, {"verl-0.9": "| verl-0.9 | first |", "trl-1.0": "| trl-1.0 | new |"})
    assert found == f"{wanted}| environment | own |\n"


def test_every_version_in_the_table_is_one_that_the_matrix_installs() -> None:
    lines = [line.split(" | ") for line in PAGE.read_text("utf-8").partition("| environment |")[2].splitlines()[2:]]
    shown = {line[0].strip("| "): line[1] for line in lines if len(line) == 5}
    assert {"swift", "verl-0.7.1", "verl-0.8"} <= set(shown)
    assert shown == {name: TABLE[name].installed for name in shown}


def test_rows_without_a_trainer_say_so() -> None:
    assert TABLE["python-3.13"].installed == "no trainer"
    assert TABLE["verl-0.8"].installed == "torch 2.13.0, verl 0.8.0, pyarrow<26"


@pytest.mark.parametrize(
    ("last", "code", "wanted"),
    [
        ("61 passed, 3 deselected, 1 warning in 9.81s\n", 0, "61 passed"),
        ("=== 1 failed, 2 passed in 1.00s ===\n", 1, "1 failed, 2 passed"),
        ("1 error in 0.10s\n", 2, "1 error"),
        ("....... [ 12%]\n", -11, "failed, by ending with -11"),
        ("12 deselected in 0.10s\n", 5, "failed, by ending with 5"),
        ("", 4, "failed, by ending with 4"),
    ],
)
def test_a_run_that_does_not_end_by_passing_failed(last: str, code: int, wanted: str) -> None:
    assert outcome(last, code) == wanted
