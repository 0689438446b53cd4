"""Data of a run: what tells samples apart, directories, and tables of rollouts."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.engines.data import Plan, stretches
from grounding_rewards.engines.rollout import read_allocated, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError, TableError
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.rows import Batch
from tests.cli.command import write_rows
from tests.engines.seeded import Scripted
from tests.engines.test_rollout import BOX, CLICK, SMALL, data, rows

ROW = {"id": "s", "instruction": "go", "bbox": BOX}


def picture(shade: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (32, 32), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    ("one", "other"),
    [({"image": "a.png"}, {"image": "b.png"}), ({"image_size": [10, 20]}, {"image_size": [20, 10]})],
)
def test_two_samples_of_one_name_are_an_error_where_the_image_alone_differs(
    tmp_path: Path, one: dict[str, Any], other: dict[str, Any]
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(picture(7))
    source = write_rows(tmp_path / "data.jsonl", ROW | one, ROW | other)
    with pytest.raises(TableError, match="'s' is in row 0 already, with another instruction, image, image size"):
        roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL)
    warnings = list[str]()
    roll_out(
        write_rows(source, ROW | one, ROW | one), Scripted("m"), tmp_path / "out", settings=SMALL, warn=warnings.append
    )
    assert len(rows(tmp_path / "out")) == 2
    assert warnings[0].startswith("1 rows repeat an earlier one")


def test_two_samples_of_one_name_are_an_error_where_the_bytes_of_images_differ(tmp_path: Path) -> None:
    table = pa.table({"id": ["s", "s"], "prompt": ["go", "go"], "image": [picture(1), picture(2)]})
    pq.write_table(table, tmp_path / "data.parquet")
    with pytest.raises(TableError, match="'s' is in row 0 already, with another instruction, image"):
        roll_out(tmp_path / "data.parquet", Scripted("m"), tmp_path / "out", settings=SMALL)


def test_names_are_made_of_the_columns_that_are_chosen(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(picture(7))
    samples = [("go", "a.png"), ("go", "b.png"), ("stop", "a.png")]
    odd = [{"ask": ask, "shot": image, "bbox": BOX} for ask, image in samples]
    usual = [{"instruction": ask, "image": image, "bbox": BOX} for ask, image in samples]
    source = write_rows(tmp_path / "data.jsonl", *odd)
    columns = Columns(image="shot")
    roll_out(source, Scripted("m"), tmp_path / "odd", settings=SMALL, columns=columns, instruction="ask")
    roll_out(write_rows(source, *usual), Scripted("m"), tmp_path / "usual", settings=SMALL)
    made = [row["sample_id"] for row in rows(tmp_path / "odd")]
    assert len({*made}) == 3
    assert made == [row["sample_id"] for row in rows(tmp_path / "usual")]


def texts(count: int) -> dict[str, list[Any]]:
    return {"id": [f"s{row}" for row in range(count)], "prompt": ["go"] * count, "bbox": [BOX] * count}


def test_directories_of_rows(tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    folder.mkdir()
    for part in range(2):
        rows_of_it = {name: values[part * 2 : part * 2 + 2] for name, values in texts(4).items()}
        pq.write_table(pa.table(rows_of_it), folder / f"train-0000{part}-of-00002.parquet")
    datasets.Dataset.from_dict(texts(4)).save_to_disk(tmp_path / "saved")
    pq.write_table(pa.table(texts(4)), tmp_path / "file.parquet")
    for source in ("parquet", "saved", "file.parquet"):
        roll_out(tmp_path / source, Scripted("m"), tmp_path / f"of {source}", settings=SMALL, recipe=CLICK)
    assert rows(tmp_path / "of parquet") == rows(tmp_path / "of saved") == rows(tmp_path / "of file.parquet")
    assert len(rows(tmp_path / "of saved")) == 8


def test_a_table_of_rollouts_is_rolled_out_again(tmp_path: Path) -> None:
    source = data(tmp_path, "go", "easy", "hard", "refused")
    roll_out(source, Scripted("m"), tmp_path / "first", settings=SMALL, recipe=CLICK)
    settings = RolloutSettings(n=2, first_rollout=2, shard_rows=3)
    roll_out(tmp_path / "first", Scripted("m"), tmp_path / "more", settings=settings, recipe=CLICK)
    roll_out(source, Scripted("m"), tmp_path / "other", settings=settings, recipe=CLICK)
    columns = ("sample_id", "rollout", "seed", "response", "acc", "problem", "instruction")
    assert rows(tmp_path / "more", *columns) == rows(tmp_path / "other", *columns)


def test_problems_are_instructions_where_a_table_of_rollouts_has_no_other(tmp_path: Path) -> None:
    engines = {"cut": False, "seed": 1, "prompt_tokens": 40, "rollout": 0, "policy": "m"}
    source = write_rows(tmp_path / "data.jsonl", {"id": "s", "bbox": BOX, "problem": "go", **engines})
    done = roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL)
    assert done.manifest is not None
    assert done.manifest["columns"]["instruction"] == "problem"


def test_a_name_with_half_a_surrogate_pair_is_an_error_of_its_row(tmp_path: Path) -> None:
    bad = json.dumps({**ROW, "sample_id": "s\ud800", "response": "(1, 2)"})
    source = tmp_path / "data.jsonl"
    source.write_text(f"{json.dumps({**ROW, 'sample_id': 's', 'response': '(1, 2)'})}\n{bad}\n")
    message = r"data\.jsonl, row 1 \(line 2\): sample_id: got 's\\ud800', which has half a surrogate pair"
    with pytest.raises(TableError, match=message):
        roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL)
    with pytest.raises(TableError, match=message):
        rescore([source], CLICK, tmp_path / "scored")


def test_allocated_numbers(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "n.jsonl", {"sample_id": "s0", "n": 2.0}, {"sample_id": "s1", "n": 0})
    assert read_allocated(file) == {"s0": 2, "s1": 0}


def test_without_labels_nothing_is_mixed(tmp_path: Path) -> None:
    recipe = gr.recipe("gui-rcpo", response_space="pixel")
    with pytest.raises(EngineError, match="until mixed: gui-rcpo scores without labels, so that no response is right"):
        roll_out(
            data(tmp_path, "go"), Scripted("m"), tmp_path / "out", settings=RolloutSettings(n=2, most=4), recipe=recipe
        )


class Batches:
    """A table whose batches have these sizes, of Arrow rows or of dicts."""

    path = Path("rows")
    columns = ("row",)

    def __init__(self, sizes: list[int], arrow: bool) -> None:
        self.sizes, self.arrow = sizes, arrow

    def batches(self, columns=None, *, whole=True, size=None):
        start = 0
        for count in self.sizes:
            rows = [{"row": row} for row in range(start, start + count)]
            yield Batch(start, rows, pa.RecordBatch.from_pylist(rows) if self.arrow else rows, 1.0)
            start += count


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 7), st.booleans(), st.data())
def test_shards_hold_each_wanted_row_once(sizes, size, arrow, data):
    wanted = data.draw(st.lists(st.integers(0, 2), min_size=sum(sizes), max_size=sum(sizes)))
    plan = Plan(np.array(wanted, dtype=np.int64), size)
    numbers = [row for row, count in enumerate(wanted) if count]
    made = list(stretches(Batches(sizes, arrow), plan, range(len(plan.names))))
    assert [each.number for each in made] == list(range(len(plan.names)))
    assert [row["row"] for each in made for row in each.batch.rows] == numbers
    whole = [each.batch.whole.to_pylist() if arrow else each.batch.whole for each in made]
    assert [row["row"] for rows in whole for row in rows] == numbers
    assert [count for each in made for count in each.wanted] == [count for count in wanted if count]
    assert [len(each.batch) for each in made] == [plan.of(number) for number in range(len(made))]
    assert all(len(each.batch) == size for each in made[:-1])
    places = [each.batch.place(row) for each in made for row in range(len(each.batch))]
    assert places == [f"row {number}" for number in numbers]
    some = data.draw(st.sets(st.integers(0, max(len(made) - 1, 0)), max_size=3)) if made else set()
    again = stretches(Batches(sizes, arrow), plan, some)
    assert [(each.number, list(each.batch.rows)) for each in again] == [
        (each.number, list(each.batch.rows)) for each in made if each.number in some
    ]


def test_no_rows_are_no_shards():
    plan = Plan(np.zeros(4, dtype=np.int64), 2)
    assert (plan.samples, plan.names, list(stretches(Batches([4], True), plan, []))) == (0, (), [])
