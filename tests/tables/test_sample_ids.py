"""Names of samples: made of their content, and where training rows have them."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.errors import PoolError, TableError
from grounding_rewards.tables.opening import open_table
from grounding_rewards.tables.sample_ids import as_json, sample_id, sample_names, shared_id

TARGET = {"bbox": [0.1, 0.2, 0.3, 0.4], "action": {"name": "click"}, "refusal": False}
NAME = "6b47ca8f81b02585672a39c5dfdfb3cf"

LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=5)
CONTENT = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def held_otherwise(value):
    """The same content: tuples, numpy, other keys first, None-filled keys, whole numbers as floats."""
    if isinstance(value, dict):
        return {"nothing": None, **{key: held_otherwise(item) for key, item in reversed(value.items())}}
    if isinstance(value, list):
        numbers = bool(value) and all(type(item) is float for item in value)
        return np.array(value) if numbers else tuple(held_otherwise(item) for item in value)
    if type(value) is int:
        return float(value)
    return np.float64(value) if type(value) is float else value


def changed(value):
    """Other content: every leaf another one, and something more in what has none."""
    if isinstance(value, dict):
        return {**{key: changed(item) for key, item in value.items()}, "more than before": 1}
    if isinstance(value, list):
        return [changed(item) for item in value] if value else [1]
    if isinstance(value, str):
        return value + "x"
    return not value if isinstance(value, bool) else "something else"


def test_the_name_of_a_sample_never_changes():
    name = sample_id(source="clicks", image="a.png", instruction="Close the tab", target=TARGET)
    assert name == NAME


@pytest.mark.parametrize(
    "target",
    [
        json.dumps(TARGET),
        json.dumps(TARGET, indent=2, sort_keys=True),
        {**TARGET, "bbox": np.array([0.1, 0.2, 0.3, 0.4]), "polygon": None, "refusal": np.False_},
        {**TARGET, "bbox": (0.1, np.float64(0.2), 0.3, 0.4), "action": {"name": "click", "text": None}},
        {**TARGET, "regions": {"x": None}},
        pa.array([TARGET, {"point": [1, 2]}]).to_pylist()[0],
    ],
)
def test_one_content_has_one_name(target):
    assert sample_id(source="clicks", image=Path("a.png"), instruction="Close the tab", target=target) == NAME


def test_different_contents_have_different_names():
    samples = [
        {"source": "a"}, {"image": "a"}, {"instruction": "a"}, {"target": "a"}, {"index": "a"}, {"index": 1},
        {"source": "ab"}, {"source": "a", "image": "b"}, {"source": "b", "image": "a"}, {"image": b"a"},
        {"image": b"b"}, {"target": [1, 2]}, {"target": [2, 1]}, {"target": [12]}, {"target": [1.5, 2]},
        {"target": ["1", 2]}, {"target": [[1], 2]}, {"target": {"bbox": [1, 2]}}, {"target": {"point": [1, 2]}},
        {"target": {}}, {"target": [True, 2]}, {"target": "{"}, {"instruction": "[1, 2]"},
        {"instruction": "\ud800"}, {"instruction": [{"role": "user", "content": "a"}]},
        {"target": [0.1 + 0.2, 2]}, {"target": [0.3, 2]}, {"target": {"extra": [None]}}, {"target": {"extra": []}},
        {"target": [float("nan")]}, {"index": 1, "split": "train"}, {"index": 1, "split": "test"},
    ]  # fmt: skip
    assert len({sample_id(**each) for each in samples}) == len(samples)


@given(CONTENT.filter(lambda value: value is not None))
def test_how_content_is_held_does_not_matter(content):
    name = sample_id(target=content)
    assert sample_id(target=held_otherwise(content)) == name
    if isinstance(content, dict | list):
        assert sample_id(target=json.dumps(content)) == name


@given(CONTENT.filter(lambda value: value is not None))
def test_what_content_says_matters(content):
    assert sample_id(source="a", target=changed(content)) != sample_id(source="a", target=content)


def test_a_number_and_a_split_name_only_samples_that_show_and_ask_nothing():
    assert sample_id(image="a", index=1, split="train") == sample_id(image="a")
    assert sample_id(instruction="a", index=1, split="train") == sample_id(instruction="a")


def test_a_name_does_not_depend_on_those_made_before():
    assert [shared_id(index=each) for each in (1, True, 1.0)] == [sample_id(index=each) for each in (1, True, 1)]
    assert shared_id(index=1) != shared_id(index=True)


def test_what_json_cannot_hold_has_no_name():
    nested: list = []
    nested.append(nested)
    with pytest.raises(PoolError, match="recursion"):
        sample_id(target=nested)


def test_a_sample_of_which_nothing_is_known_has_no_name():
    with pytest.raises(PoolError, match="nothing names this sample: give a source, an image, an instruction, a target"):
        sample_id()


@pytest.mark.parametrize("value", [object(), {1, 2}, {"deep": [object()]}])
def test_what_is_no_plain_value_is_an_error(value):
    with pytest.raises(PoolError, match=r"got (object|set) among what names .* of an image its path or its bytes"):
        sample_id(source="a", image=value)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ({"bbox": np.array([1.0, 2.5])}, '{"bbox": [1.0, 2.5]}'),
        ({"bbox": [float("nan"), 1]}, '{"bbox": [null, 1]}'),
        ({"extra": {"on": date(2026, 1, 2), "of": Decimal("1.50")}}, '{"extra": {"on": "2026-01-02", "of": "1.50"}}'),
        ({"id": "\ud800"}, '{"id": "\\ud800"}'),
        ('{"point": [1, 2]}', '{"point": [1, 2]}'),
        ("[1, 2", '"[1, 2"'),
        (None, None),
        ({"image": object()}, None),
    ],
)
def test_targets_as_json(target: object, text: str | None) -> None:
    assert as_json(target) == text


def table(path, *rows):
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_table(path)


PACKED = json.dumps({"bbox": [0, 0, 1, 1], "id": "a7"})


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "row",
    [
        {"sample_id": "a7", "id": "row 1"},
        {"sample_id": None, "target": PACKED},
        {"extra_info": {"index": 3, "id": "a7"}, "reward_model": {"ground_truth": "{}"}},
        {"extra_info": {"index": 3}, "reward_model": {"style": "rule", "ground_truth": PACKED}},
        {"problem": "<image>", "answer": PACKED},
        {"prompt": "p", "target": PACKED},
        {"target": {"bbox": [0, 0, 1, 1], "id": "a7"}, "id": "row 1"},
        {"id": "a7", "target": "[0, 0, 1, 1]"},
    ],
)
def test_places_of_names(tmp_path, suffix, row):
    assert sample_names(table(tmp_path / f"rows.{suffix}", row)) == ["a7"]


def test_numbers_are_names_and_rows_may_have_none(tmp_path):
    rows = table(tmp_path / "rows.jsonl", {"sample_id": 1}, {"sample_id": 2.0}, {"prompt": "x"}, {"sample_id": "é"})
    assert sample_names(rows) == ["1", "2", None, "é"]


def test_a_column_that_is_named_or_a_field_of_one(tmp_path):
    rows = table(tmp_path / "rows.parquet", {"sample_id": "x", "uid": "a", "info": {"key": "b"}, "a.b": "c"})
    assert [sample_names(rows, name) for name in ("uid", "info.key", "a.b")] == [["a"], ["b"], ["c"]]


def test_what_names_nothing_or_twice_is_an_error(tmp_path):
    rows = table(tmp_path / "rows.jsonl", {"uid": "a"}, {"uid": "b"}, {"uid": "a"})
    with pytest.raises(TableError, match=r"rows.jsonl: no row says which sample it is \(looked into sample_id, extra_"):
        sample_names(rows)
    with pytest.raises(TableError, match=r"no column 'uidd' \(--id-column\); did you mean 'uid'\?"):
        sample_names(rows, "uidd")
    with pytest.raises(
        TableError, match=r"row 2 \(line 3\): sample 'a' is in row 0 already; expected one row a sample"
    ):
        sample_names(rows, "uid")
