"""Files and folders of rows, and outputs that are whole or absent."""

from __future__ import annotations

import gzip
import json
import os
import re
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.tables import arrow_rows
from grounding_rewards.tables.contents import folder_of
from grounding_rewards.tables.opening import open_rows, open_table
from grounding_rewards.tables.training_sets import Shape
from grounding_rewards.tables.writing import write_table
from tests.disks import full_disk
from tests.image_sources import NULL
from tests.tables.passing import NEW, scored


def test_paths_that_are_no_table(tmp_path):
    with pytest.raises(TableError, match=r"a\.jsonl: no such file$"):
        open_table(tmp_path / "a.jsonl")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(TableError, match=r"folder\.parquet: is a directory; expected a file$"):
        open_table(tmp_path / "folder.parquet")
    with pytest.raises(
        TableError,
        match=r"a\.txt: a file of rows ends in \.jsonl, .*, \.csv or \.tsv, also with \.gz or \.zst, or in \.parquet$",
    ):
        open_table(tmp_path / "a.txt")
    with pytest.raises(TableError, match=r"a: a file of rows ends in"):
        open_table(tmp_path / "a")


def test_outputs_that_cannot_be_written(lines, tmp_path):
    table = open_table(lines('{"a": 1}'))
    (tmp_path / "folder.jsonl").mkdir()
    for name, message in {
        "out.csv": r"out\.csv: a file of rows ends in",
        "folder.jsonl": r"folder\.jsonl: is no file, so it cannot be written",
        "nowhere/out.jsonl": r"out\.jsonl: there is no directory .*nowhere$",
    }.items():
        with pytest.raises(TableError, match=message), write_table(tmp_path / name, like=table, new=NEW):
            pytest.fail("opened")


@pytest.mark.parametrize("link", ["in.jsonl", "soft.jsonl", "hard.jsonl", "folder/../in.jsonl"])
def test_the_input_is_never_the_output(lines, tmp_path, link):
    source = lines('{"a": 1}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft.jsonl").symlink_to(source)
    (tmp_path / "hard.jsonl").hardlink_to(source)
    with pytest.raises(TableError, match="is the input itself; write to another file"):
        scored(source, tmp_path / link)
    assert source.read_text() == '{"a": 1}'


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
def test_a_name_that_is_taken(lines, tmp_path, out):
    source = lines('{"total": 1, "reason": 2}')
    with pytest.raises(TableError, match=r"in\.jsonl: already has columns total, reason; give .* --prefix gr_"):
        scored(source, tmp_path / out)
    pq.write_table(pa.table({"total": [1]}), tmp_path / "in.parquet")
    with pytest.raises(TableError, match=r"in\.parquet: already has a column total; give"):
        scored(tmp_path / "in.parquet", tmp_path / out)


def test_a_name_that_is_taken_late(lines, tmp_path):
    source = lines('{"a": 1}\n' * 9000 + '{"total": 1}\n')
    with pytest.raises(TableError, match=r"already has a column total"):
        scored(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("rows", [1, 9000])
def test_a_full_disk_is_said_with_the_file(lines, tmp_path, out, rows):
    source = lines('{"a": 1}\n' * rows)  # one row is written when the file is closed
    with full_disk(), pytest.raises(OSError, match="File too large") as caught:
        scored(source, tmp_path / out)
    assert caught.value.filename == str(tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def shard(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"n": list(values) or pa.array([], pa.int64())}), path)
    else:
        path.write_text("".join(f'{{"n": {value}}}\n' for value in values))


def values(table, **options):
    return [row["n"] for batch in table.batches(**options) for row in batch.rows]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_shards_of_a_split_are_one_table(tmp_path, suffix):
    shard(tmp_path / f"data/train-00001-of-00002.{suffix}", 3, 4, 5)
    shard(tmp_path / f"data/train-00000-of-00002.{suffix}", 1, 2)
    shard(tmp_path / f"data/test-00000-of-00001.{suffix}", 6)
    (tmp_path / "README.md").write_text("about")
    shard(tmp_path / f".cache/train.{suffix}", 7)
    table = open_rows(tmp_path, "train")
    assert table.columns == ("n",)
    assert values(table) == [1, 2, 3, 4, 5]
    batches = list(table.batches(size=2))
    assert [batch.start for batch in batches] == [0, 2, 4]
    assert [batch.done for batch in batches][-1] == 1.0
    line = "line 3 of " if suffix == "jsonl" else ""
    assert batches[-1].place(0) == f"row 4 ({line}train-00001-of-00002.{suffix})"
    assert values(open_rows(tmp_path, "test")) == [6]
    with pytest.raises(TableError, match="holds several splits; name one: --split test or train"):
        open_rows(tmp_path)
    with pytest.raises(TableError, match=re.escape("no split 'tran'; did you mean 'train'? It has: test, train")):
        open_rows(tmp_path, "tran")


def test_folders_tell_splits_where_files_have_but_numbers(tmp_path):
    shard(tmp_path / "default/train/0000.parquet", 1)
    shard(tmp_path / "default/train/0001.parquet", 2)
    shard(tmp_path / "default/test/0000.parquet", 3)
    assert values(open_rows(tmp_path, "train")) == [1, 2]


def test_a_folder_with_one_split_needs_no_name(tmp_path):
    shard(tmp_path / "clicks.jsonl", 1, 2)
    assert values(open_rows(tmp_path)) == [1, 2]
    assert values(open_rows(tmp_path / "clicks.jsonl")) == [1, 2]
    with pytest.raises(TableError, match="is one file, which has no splits; leave --split train out"):
        open_rows(tmp_path / "clicks.jsonl", "train")


def test_a_number_at_the_end_of_a_name_is_a_shard_only_behind_a_separator(tmp_path):
    for name in ("gui_v1", "gui_v2", "train.0", "train_1", "val-00000-of-00001-a09b74b3ef9c3b56"):
        shard(tmp_path / f"{name}.jsonl", 1)
    with pytest.raises(TableError, match=r"name one: --split gui_v1 or gui_v2 or train or val$"):
        open_rows(tmp_path)


def test_shards_are_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 1):
        shard(tmp_path / f"train-{number}.jsonl", number)
    table = open_rows(tmp_path)
    assert values(table) == [1, 2, 10]
    assert (table.split, [each.path.name for each in table.tables]) == (
        "train", ["train-1.jsonl", "train-2.jsonl", "train-10.jsonl"],
    )  # fmt: skip


def test_splits_of_one_name_in_several_folders_are_several(tmp_path):
    shard(tmp_path / "web/train-0.jsonl", 1)
    shard(tmp_path / "web/train-1.jsonl", 2)
    shard(tmp_path / "desktop/train-0.jsonl", 3)
    shard(tmp_path / "mobile/test/0.jsonl", 4)
    with pytest.raises(TableError, match=r"name one: --split desktop/train or test or web/train$"):
        open_rows(tmp_path)
    with pytest.raises(TableError, match="several folders in it hold a split train; name one of them: --split desktop"):
        open_rows(tmp_path, "train")
    assert values(open_rows(tmp_path, "web/train")) == [1, 2]
    assert values(open_rows(tmp_path, "test")) == [4]
    assert values(open_rows(tmp_path / "web")) == [1, 2]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_shards_without_rows_are_skipped(tmp_path, suffix):
    for number, rows in enumerate([(), (1, 2), (), (3,)]):
        shard(tmp_path / f"train-{number}.{suffix}", *rows)
    table = open_rows(tmp_path)
    assert values(table) == [1, 2, 3]
    assert table.skipped == [f"train-0.{suffix}", f"train-2.{suffix}"]
    shard(tmp_path / f"test-0.{suffix}")
    with pytest.raises(TableError, match=f"no rows in any file of it: test-0.{suffix}"):
        open_rows(tmp_path, "test")


def test_arrow_shards_without_rows_are_skipped(tmp_path):
    files = ["a.arrow", "b.arrow"]
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in files]}))
    schema = pa.schema([("n", pa.int64())])
    for name, rows in zip(files, ([], [{"n": 1}]), strict=True):
        with pa.ipc.new_stream(tmp_path / name, schema) as writer:
            writer.write_table(pa.Table.from_pylist(rows, schema))
    assert (values(open_rows(tmp_path)), open_rows(tmp_path).skipped) == ([1], ["a.arrow"])


def test_shards_that_differ_are_an_error_that_names_one(tmp_path):
    shard(tmp_path / "train-0.parquet", 1)
    shard(tmp_path / "train-1.parquet", "a")
    message = r"train-1.parquet: its columns differ from those of train-0.parquet in type: n is string here and int64"
    with pytest.raises(TableError, match=message):
        open_rows(tmp_path)
    pq.write_table(pa.table({"m": [1]}), tmp_path / "train-1.parquet")
    with pytest.raises(TableError, match=r"those of train-0.parquet in name: m, n"):
        open_rows(tmp_path)
    pq.write_table(pa.table({"n": [1], "m": [1]}), tmp_path / "train-0.parquet")
    pq.write_table(pa.table({"m": [1], "n": [1]}), tmp_path / "train-1.parquet")
    with pytest.raises(TableError, match=r"those of train-0.parquet in order"):
        open_rows(tmp_path)


def test_columns_that_are_null_in_one_shard_take_the_others_type(tmp_path):
    said = {name: {"dtype": "null", "_type": "Value"} for name in ("a", "n")}
    nothing = {"n": [None], "a": [1], "s": [{"x": None}], "l": [[]]}
    something = {"n": ["b"], "a": [2], "s": [{"x": 1.5}], "l": [[3]]}
    metadata = {"huggingface": json.dumps({"info": {"features": said}})}
    pq.write_table(pa.table(nothing).replace_schema_metadata(metadata), tmp_path / "t-0.parquet")
    pq.write_table(pa.table(something), tmp_path / "t-1.parquet")
    table = open_rows(tmp_path)
    assert [str(field.type) for field in table.schema] == [
        "string", "int64", "struct<x: double>", "list<element: int64>",
    ]  # fmt: skip
    batches = list(table.batches())
    assert all(batch.whole.schema.equals(table.schema) for batch in batches)
    assert [batch.whole.to_pylist()[0] for batch in batches] == [
        {"n": None, "a": 1, "s": {"x": None}, "l": []}, {"n": "b", "a": 2, "s": {"x": 1.5}, "l": [3]},
    ]  # fmt: skip
    assert json.loads(table.schema.metadata[b"huggingface"])["info"]["features"] == {"a": said["a"]}
    assert [batch.whole.schema.names for batch in table.batches(["s"], whole=False)] == [["s"], ["s"]]


def test_fields_that_a_shard_lacks_in_its_objects_are_null(tmp_path):
    for number, target in enumerate(({"x": 1}, {"y": 2.5})):
        pq.write_table(pa.table({"t": [target]}), tmp_path / f"t-{number}.parquet")
    rows = [row for batch in open_rows(tmp_path).batches() for row in batch.whole.to_pylist()]
    assert rows == [{"t": {"x": 1, "y": None}}, {"t": {"x": None, "y": 2.5}}]


def test_a_folder_without_rows_says_what_is_read(tmp_path):
    (tmp_path / "rows.txt").write_text("a,b")
    with pytest.raises(TableError, match=r"no rows in it; expected files that end in \.parquet, \.jsonl, .*\.json, or"):
        open_rows(tmp_path)


def test_formats_of_a_folder(tmp_path):
    (tmp_path / "about.json").write_text('{"name": "clicks"}')
    (tmp_path / "train-1.csv.gz").write_bytes(gzip.compress(b"n\n2\n"))
    (tmp_path / "train-0.csv").write_text("n\n1\n")
    table = open_rows(tmp_path)
    assert (values(table), table.split) == (["1", "2"], "train")
    (tmp_path / "train-0.jsonl.gz").write_bytes(gzip.compress(b'{"n": 3}\n'))
    shard(tmp_path / "train-1.jsonl", 4)
    table = open_rows(tmp_path)
    assert (values(table), table.split) == ([3, 4], "train")
    assert next(iter(table.batches())).place(0) == "row 0 (line 1 of train-0.jsonl.gz)"


def test_files_without_responses_are_passed_over_beside_others(tmp_path):
    notes, rows = [], [{"Response": "a"}, {"Response": "b"}]
    opened = partial(open_rows, tmp_path, responses=["response", "pred"], note=notes.append)
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ([row["Response"] for row in next(opened().batches()).rows], notes) == (["a", "b"], [])
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "broken.csv").write_text("a,a\n1,2\n")
    (tmp_path / "log.jsonl").write_text('{"event": 1}\n')
    (tmp_path / "deep").mkdir()
    pq.write_table(pa.table({"vector": [1]}), tmp_path / "deep" / "vectors.parquet")
    assert [row["Response"] for row in next(opened().batches()).rows] == ["a", "b"]
    assert notes == [f"{tmp_path}: only run is read, for no other file has a column of responses"]
    shard(tmp_path / "other.jsonl", 1)
    assert opened().split == "run"
    assert open_rows(tmp_path).split == "vectors"
    (tmp_path / "other.jsonl").write_text('{"pred": "c"}\n')
    with pytest.raises(TableError, match=r"holds several splits; name one: --split other or run$"):
        opened()


def test_a_folder_of_json_files(tmp_path):
    for name in ("desktop", "mobile"):
        (tmp_path / f"screens_{name}.json").write_text('[{"n": 1}]')
    assert values(open_rows(tmp_path, "screens_mobile")) == [1]
    with pytest.raises(TableError, match=r"name one: --split screens_desktop or screens_mobile$"):
        open_rows(tmp_path)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_stream_has_no_splits_and_data_beside_it_lie_here(name):
    with pytest.raises(TableError, match=f"^{name}: is one file, which has no splits; leave --split train out$"):
        open_rows(name, "train")
    assert folder_of(Path(name)) == Path()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "state.json: cannot be read; expected JSON with '_data_files'"),
        ("[]", "cannot be read"),
        ('{"_data_files": []}', "names no files"),
        ('{"_data_files": [{"filename": 3}]}', "names no files"),
        (
            '{"_data_files": [{"filename": "a.arrow"}]}',
            "state.json names 'a.arrow' (No such file or directory); save the data set again",
        ),
    ],
)
def test_a_saved_data_set_that_is_broken(tmp_path, state, message):
    (tmp_path / "state.json").write_text(state)
    with pytest.raises(TableError, match=re.escape(message)):
        open_rows(tmp_path)


@pytest.fixture
def outside(tmp_path):
    """A file of Arrow in a folder beside that of a data set."""
    for folder in ("set", "out"):
        (tmp_path / folder).mkdir()
    table = pa.table({"n": [7]})
    with pa.ipc.new_stream(tmp_path / "out" / "a.arrow", table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../out/a.arrow", "leads out of"),
        ("link.arrow", "leads out of"),
        ("fifo.arrow", "is a FIFO; expected a regular file"),
        ("/dev/zero", "is an absolute path; expected a name inside its folder"),
        ("a\0", NULL),
    ],
)
def test_a_saved_data_set_names_files_of_its_own_alone(tmp_path, outside, name, why):
    (tmp_path / "set" / "link.arrow").symlink_to(tmp_path / "out" / "a.arrow")
    os.mkfifo(tmp_path / "set" / "fifo.arrow")
    (tmp_path / "set" / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(TableError, match=re.escape(f"state.json names {name!r} ({why}")):
        open_rows(tmp_path / "set")


@pytest.mark.parametrize("split", ["../out", "link", "/absolute"])
def test_splits_of_a_saved_data_set_lie_in_it(tmp_path, outside, split):
    (tmp_path / "out" / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    (tmp_path / "set" / "link").symlink_to(tmp_path / "out")
    split = str(tmp_path / "out") if split == "/absolute" else split
    (tmp_path / "set" / "dataset_dict.json").write_text(json.dumps({"splits": [split]}))
    with pytest.raises(TableError, match=rf"dataset_dict\.json names '{split}' \((leads out of|is an absolute path)"):
        open_rows(tmp_path / "set")


def test_a_snapshot_in_the_cache_of_the_hub_is_one_folder(tmp_path):
    """Its files are links to those of the repository, which lie beside it."""
    repository = tmp_path / "hub" / "datasets--lab--clicks"
    snapshot = repository / "snapshots" / "0f" / "train"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    with (
        (repository / "blobs" / "11").open("wb") as file,
        pa.ipc.new_stream(file, pa.schema([("n", pa.int64())])) as writer,
    ):
        writer.write_table(pa.table({"n": [7]}))
    (snapshot / "a.arrow").symlink_to("../../../blobs/11")
    (snapshot / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    assert values(open_rows(snapshot)) == [7]
    repository.rename(tmp_path / "hub" / "mine")
    with pytest.raises(TableError, match="leads out of"):
        open_rows(tmp_path / "hub" / "mine" / "snapshots" / "0f" / "train")


def test_what_is_no_arrow_file(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    (tmp_path / "a.arrow").write_bytes(b"ARROW but not")
    with pytest.raises(TableError, match=r"a\.arrow: cannot be read as an Arrow file"):
        open_rows(tmp_path)


@pytest.mark.parametrize("kind", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow_files_in_parts_and_cut_off(tmp_path, kind):
    table = pa.table({"n": range(10), "other": ["x"] * 10})
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    path = tmp_path / "a.arrow"
    with path.open("wb") as file, kind(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    found = open_rows(tmp_path)
    assert values(found) == list(range(10))
    assert [len(batch) for batch in found.batches(size=3)] == [3, 1, 3, 1, 2]
    (first, *_) = found.batches(["other"], whole=False)
    assert (first.rows[0], first.whole.schema.names) == ({"other": "x"}, ["other"])
    assert first.whole.num_rows == 4
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(TableError, match=r"a\.arrow: cannot be read as an Arrow file"):
        values(open_rows(tmp_path))


@pytest.mark.parametrize("kind", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow_files_with_large_rows_make_small_batches(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(arrow_rows, "BATCH_BYTES", 100_000)
    shared = pa.array([b"a" * 10_000] * 20 + [b""] * 20)
    table = pa.table({"n": range(40), "image": shared, "kind": shared.dictionary_encode()})
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    with (tmp_path / "a.arrow").open("wb") as file, kind(file, table.schema) as writer:
        writer.write_table(table)
    batches = list(open_rows(tmp_path).batches())
    assert [row["n"] for batch in batches for row in batch.rows] == list(range(40))
    assert max(sum(2 * len(row["image"]) for row in batch.rows) for batch in batches) <= 100_000
    assert max(len(batch) for batch in batches) >= 10


def test_images_of_a_split_that_datasets_saved_lie_in_the_folder_that_is_named(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = {"img_filename": ["a.png"], "instruction": ["Open it"], "bbox": [[0.1, 0.1, 0.2, 0.2]]}
    datasets.DatasetDict(train=datasets.Dataset.from_dict(rows)).save_to_disk(tmp_path / "saved")
    shaped = open_rows(tmp_path / "saved", "train", shape=Shape(explode=("bbox",)))
    assert (shaped.path, shaped.root) == (tmp_path / "saved" / "train", str(tmp_path / "saved"))


def test_data_sets_that_datasets_saved(tmp_path):
    datasets = pytest.importorskip("datasets")
    train = datasets.Dataset.from_dict({"n": list(range(5))})
    train.save_to_disk(tmp_path / "one", num_shards=2)
    both = datasets.DatasetDict(train=train, test=train.select([1]))
    both.save_to_disk(tmp_path / "both")
    assert values(open_rows(tmp_path / "one")) == [0, 1, 2, 3, 4]
    assert values(open_rows(tmp_path / "both", "test")) == [1]
    assert b"huggingface" in open_rows(tmp_path / "one").schema.metadata
    with pytest.raises(TableError, match="holds several splits; name one: --split train or test"):
        open_rows(tmp_path / "both")
    with pytest.raises(TableError, match="holds one split; leave --split train out"):
        open_rows(tmp_path / "one", "train")
