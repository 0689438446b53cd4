"""A rollout table: what is read back, which files there are, and what is refused."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import recorder as module
from grounding_rewards.tables.launches import MARK
from grounding_rewards.tables.recorder import RolloutRecorder, read_rollouts
from grounding_rewards.tables.rollout_columns import COLUMNS, fields

ROWS = {
    "sample_id": ["a7", "b8"],
    "round": [1, None],
    "recipe": ["gelato", "gelato"],
    "response": ["(1, 2)", None],
    "total": [1.0, None],
    "acc": np.array([1.0, np.nan]),
    "reason": ["OK", "BAD_TARGET"],
    "x_unit": np.array([0.25, np.nan]),
    "y_unit": [0.5, float("nan")],
    "target": ['{"bbox": [0, 0, 1, 1]}', None],
    "image_size": np.array([[1920.0, 1080.0], [np.nan, np.nan]]),
    "model_image_size": [(1904, 1064), None],
    "source": ["clicks", None],
    "temperature": [1.0, None],
    "policy": ["step 100", None],
    "trajectory": ["t", None],
    "step": [3, None],
    "train_step": [100, None],
    "token_length": [5, 0],
    "hit": [1.0, 0.0],
}
READ = [
    {
        "sample_id": "a7", "round": 1, "recipe": "gelato", "response": "(1, 2)", "total": 1.0, "acc": 1.0,
        "reason": "OK", "x_unit": 0.25, "y_unit": 0.5, "target": '{"bbox": [0, 0, 1, 1]}',
        "image_size": [1920.0, 1080.0], "model_image_size": [1904.0, 1064.0], "source": "clicks", "temperature": 1.0,
        "policy": "step 100", "trajectory": "t", "step": 3, "train_step": 100, "token_length": 5, "hit": 1.0,
    },
    {
        **dict.fromkeys(COLUMNS), "sample_id": "b8", "recipe": "gelato", "reason": "BAD_TARGET", "token_length": 0,
        "hit": 0.0,
    },
]  # fmt: skip


@pytest.fixture
def recorder(tmp_path):
    made = RolloutRecorder(tmp_path / "run", parts=["hit"])
    yield made
    made.close()


def names(directory):
    return sorted(path.name for path in Path(directory).iterdir() if path.name != MARK)


def responses(directory):
    return read_rollouts(directory, ["response"]).column("response").to_pylist()


def test_rows_are_read_back_as_they_were_given(recorder):
    recorder.append(ROWS)
    recorder.close()
    (name,) = names(recorder.directory)
    shard = int(re.fullmatch(r"rollouts-([0-9a-f]{8})-000001\.parquet", name)[1], 16)
    expected = [{**row, "rollout": shard * 2**32 + place} for place, row in enumerate(READ)]
    assert read_rollouts(recorder.directory).to_pylist() == expected
    assert pq.read_table(recorder.directory).to_pylist() == expected
    assert ds.dataset(recorder.directory).schema.names == [*COLUMNS, "hit"]
    query = f"SELECT * FROM '{recorder.directory}/*.parquet' ORDER BY rollout"
    assert duckdb.connect().sql(query).to_arrow_table().to_pylist() == expected
    frame = pd.read_parquet(recorder.directory)
    assert frame["image_size"][0].tolist() == [1920.0, 1080.0]
    assert frame["rollout"].tolist() == [row["rollout"] for row in expected]


def test_columns_that_nobody_gives_are_null_and_of_their_type(recorder):
    recorder.append({"response": ["?"]})
    recorder.close()
    table = pq.read_table(recorder.directory)
    assert {name for name, values in table.to_pydict().items() if values != [None]} == {"response", "rollout"}
    assert {field.name: field.type for field in table.schema} == dict(fields({**COLUMNS, "hit": "double"}))


def test_what_does_not_fit_its_column_is_null_and_costs_no_row(recorder):
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    given = {
        "response": ["\ud800", b"\xff", 7, Odd(), "é", "10" * 3],
        "round": [2**63, 2.0, 2.5, "2", np.int64(3), True],
        "total": ["x", "0.5", np.float32(0.5), [], 10**400, 1],
        "image_size": [[1], [16, 9.0], "[16, 9]", [0, 9], 5, {}],
        "trajectory": [1, "t", None, float("nan"), "", np.str_("u")],
    }
    recorder.append(given)
    recorder.close()
    found = read_rollouts(recorder.directory, list(given)).to_pydict()
    assert found == {
        "response": ["�", "b'\\xff'", "7", None, "é", "101010"],
        "round": [None, 2, None, None, 3, 1],
        "total": [None, 0.5, 0.5, None, None, 1.0],
        "image_size": [None, [16.0, 9.0], [16.0, 9.0], None, None, None],
        "trajectory": ["1", "t", None, "nan", "", "u"],
    }


def test_later_changes_of_what_was_given_are_not_recorded(recorder):
    texts, totals = ["(1, 2)"], np.array([0.5])
    recorder.append({"response": texts, "total": totals})
    texts[0], totals[0] = "(3, 4)", 0.0
    recorder.close()
    assert read_rollouts(recorder.directory, ["response", "total"]).to_pylist() == [
        {"response": "(1, 2)", "total": 0.5}
    ]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({"response": ["?"], "score": [1.0]}, r"got a column 'score'; expected some of sample_id, round, .*, hit$"),
        ({"response": ["?"], "rollout": [1]}, r"got a column 'rollout'; expected some of sample_id, round, recipe"),
        ({"response": ["?"], "acc": [1.0, 0.0]}, r"got \{'response': 1, 'acc': 2\} rows; expected responses, and as"),
        ({"acc": [1.0]}, r"got \{'acc': 1\} rows; expected responses"),
    ],
)  # fmt: skip
def test_columns_that_are_refused_leave_nothing(recorder, columns, complaint):
    with pytest.raises(TableError, match=complaint):
        recorder.append(columns)
    recorder.close()
    assert names(recorder.directory) == []


@pytest.mark.parametrize("parts", [["hit", "target"], ["hit", "hit", "hit"], ["rollout"]])
def test_a_part_bears_no_name_that_is_taken(tmp_path, parts):
    with pytest.raises(TableError, match=f"part '{parts[-1]}': another column .* has this name; rename the part"):
        RolloutRecorder(tmp_path / "run", parts)
    assert names(tmp_path) == []


@pytest.fixture
def _patient(monkeypatch):
    """Rows wait for others as long as these tests take."""
    monkeypatch.setattr(module, "FLUSH_AFTER_S", 600.0)


def sizes(directory):
    files = [pq.read_metadata(file) for file in sorted(Path(directory).glob("*.parquet"))]
    assert {file.num_row_groups for file in files} <= {1}
    return [file.num_rows for file in files]


@pytest.mark.usefixtures("_patient")
def test_single_rows_are_written_when_enough_are_there(recorder, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 6)
    for _ in range(14):
        recorder.append({"response": ["x"]})
    assert sizes(recorder.directory) == [6, 6]
    recorder.append({"response": ["x"] * 20})
    assert sizes(recorder.directory) == [6, 6, 22]
    rollouts = read_rollouts(recorder.directory, ["rollout"]).column("rollout").to_numpy()
    assert (np.diff(rollouts) == 1).all()


@pytest.mark.usefixtures("_patient")
def test_a_batch_is_there_at_once_with_all_before_it(recorder):
    recorder.append({"response": ["first"]})
    recorder.append({"response": ["second", "third"]})
    assert responses(recorder.directory) == ["first", "second", "third"]


def test_the_last_file_grows_until_it_is_full(recorder, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 6)
    seen = []
    for rows in (1, 2, 2, 3, 1, 6, 7, 1):
        for _ in range(rows):
            recorder.append({"response": ["x"]})
        recorder.flush()
        seen.append(sizes(recorder.directory))
    assert seen[:5] == [[1], [3], [5], [8], [8, 1]]
    assert [sum(files) for files in seen] == [1, 3, 5, 8, 9, 15, 22, 23]
    assert all(rows >= 6 for files in seen for rows in files[:-1])
    rollouts = read_rollouts(recorder.directory, ["rollout"]).column("rollout").to_numpy()
    assert (np.diff(rollouts) == 1).all()


def test_a_file_with_long_texts_is_full_before(recorder, monkeypatch):
    monkeypatch.setattr(module, "PART_BYTES", 10_000)
    for length in (10, 10, 10_000, 10):
        recorder.append({"response": ["x" * length] * 2})
    assert sizes(recorder.directory) == [6, 2]


def test_rows_of_a_file_that_was_moved_away_are_not_written_again(recorder, tmp_path):
    recorder.append({"response": ["first"] * 2})
    (file,) = recorder.directory.glob("*.parquet")
    file.rename(tmp_path / file.name)
    recorder.append({"response": ["second"] * 2})
    recorder.close()
    assert responses(recorder.directory) == ["second"] * 2
    assert responses(tmp_path) == ["first"] * 2


def test_single_rows_are_written_when_they_have_waited(recorder, monkeypatch):
    monkeypatch.setattr(module, "FLUSH_AFTER_S", 0.01)
    before = threading.active_count()
    for text in ("first", "second"):
        recorder.append({"response": [text]})
        assert _comes(lambda text=text: text in _read(recorder.directory))
    assert _comes(lambda: threading.active_count() == before)


@pytest.mark.usefixtures("_patient")
def test_closing_ends_the_thread_that_writes(recorder):
    before = threading.active_count()
    recorder.append({"response": ["?"]})
    assert threading.active_count() == before + 1
    recorder.close()
    assert _comes(lambda: threading.active_count() == before)


def _read(directory):
    return responses(directory) if list(directory.glob("*.parquet")) else []


def _comes(true) -> bool:
    return any(true() or threading.Event().wait(0.005) for _ in range(2000))


def test_recorders_of_several_recipes_share_a_directory(tmp_path):
    for parts, row in (
        (["hit", "format"], {"recipe": ["gta1"], "hit": [1.0], "format": [0.0]}),
        (["distance", "hit"], {"recipe": ["gelato"], "hit": [0.5], "distance": [0.25]}),
        ([], {"recipe": ["click"]}),
    ):
        recorder = RolloutRecorder(tmp_path, parts)
        recorder.append({"response": ["?"], **row})
        recorder.close()
    found = sorted(read_rollouts(tmp_path, ["recipe", "hit", "format", "distance"]).to_pylist(), key=str)
    assert found == [
        {"recipe": "click", "hit": None, "format": None, "distance": None},
        {"recipe": "gelato", "hit": 0.5, "format": None, "distance": 0.25},
        {"recipe": "gta1", "hit": 1.0, "format": 0.0, "distance": None},
    ]
    query = f"SELECT recipe, hit, format, distance FROM read_parquet('{tmp_path}/*.parquet', union_by_name=true)"
    assert sorted(duckdb.connect().sql(query).to_arrow_table().to_pylist(), key=str) == found


@pytest.mark.parametrize("another", [copy.deepcopy, lambda recorder: pickle.loads(pickle.dumps(recorder))])
def test_a_copy_writes_files_of_its_own_and_takes_no_rows_along(recorder, another):
    recorder.append({"response": ["mine"]})
    copied = another(recorder)
    copied.append({"response": ["its own"], "hit": [1.0]})
    copied.close()
    assert responses(recorder.directory) == ["its own"]
    recorder.close()
    assert sorted(responses(recorder.directory)) == ["its own", "mine"]
    shards = {name.rpartition("-")[0] for name in names(recorder.directory)}
    assert len(shards) == 2


def test_a_relative_directory_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recorder = RolloutRecorder("run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    recorder.append({"response": ["?"]})
    recorder.close()
    assert responses(tmp_path / "run") == ["?"]


def test_nothing_recorded_leaves_no_file_and_is_no_table(recorder):
    assert names(recorder.directory) == []
    recorder.close()
    assert names(recorder.directory) == []
    with pytest.raises(TableError, match=r"run: no rollouts \(rollouts-\*\.parquet\) are there"):
        read_rollouts(recorder.directory)
    recorder.append({"response": ["?"]})
    recorder.close()
    assert responses(recorder.directory) == ["?"]


def test_a_number_that_another_process_has_is_not_taken(tmp_path, monkeypatch):
    for drawn in ([7], [7, 7, 8]):
        monkeypatch.setattr(module.secrets, "randbits", lambda bits, drawn=drawn: drawn.pop(0))
        recorder = RolloutRecorder(tmp_path)
        recorder.append({"response": ["?"]})
        recorder.close()
    assert names(tmp_path) == ["rollouts-00000007-000001.parquet", "rollouts-00000008-000001.parquet"]


def test_reading_opens_each_file_once(tmp_path, monkeypatch):
    for parts in (["hit"], ["distance"], []):
        recorder = RolloutRecorder(tmp_path, parts)
        recorder.append({"response": ["?"], **{name: [0.5] for name in parts}})
        recorder.close()
    opened = []
    usual = pq.ParquetFile
    monkeypatch.setattr(module.pq, "ParquetFile", lambda file: opened.append(Path(file.name).name) or usual(file))
    found = read_rollouts(tmp_path, ["distance"]).to_pydict()
    assert sorted(found["distance"], key=str) == [0.5, None, None]
    assert sorted(opened) == names(tmp_path)
    assert set(read_rollouts(tmp_path).column_names) == {*COLUMNS, "hit", "distance"}
    with pytest.raises(TableError, match="no rollouts have a column 'score'"):
        read_rollouts(tmp_path, ["acc", "score"])
