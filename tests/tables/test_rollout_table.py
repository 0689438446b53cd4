"""Rollouts from any files, read as one table."""

import json
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import TableError
from grounding_rewards.pool.aggregate import stats_of
from grounding_rewards.tables.recorder import RolloutRecorder
from grounding_rewards.tables.rollout_table import open_rollouts


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(paths, *columns, **chosen):
    return open_rollouts(paths).read(columns, **chosen).to_pylist()


def test_files_of_both_kinds_are_one_table_in_one_order(tmp_path):
    one = parquet(tmp_path / "b.parquet", sample_id=["b", "a"], acc=[1.0, 0.0], round=[2, 1])
    other = lines(tmp_path / "a.jsonl", {"sample_id": "a", "correct": True, "round": 0})
    expected = [
        {"sample_id": "a", "acc": 1.0, "round": 0},
        {"sample_id": "a", "acc": 0.0, "round": 1},
        {"sample_id": "b", "acc": 1.0, "round": 2},
    ]
    assert read([one, other], "sample_id", "acc", "round") == expected
    assert read([other, one], "sample_id", "acc", "round") == expected
    assert open_rollouts([one, other]).rounds() == {0: 1, 1: 1, 2: 1}
    assert read([one, other], "sample_id", samples=["b"]) == [{"sample_id": "b"}]
    assert read([one, other], "acc", rounds=[0]) == [{"acc": 1.0}]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, None], pa.bool_()),
        ([1, 0, None], pa.int8()),
        ([1.0, 0.0, float("nan")], pa.float32()),
        ([1.0, 0.0, None], pa.float64()),
    ],
)
def test_verdicts_are_read_from_any_numbers(tmp_path, values, kind):
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"sample_id": ["a", "b", "c"], "correct": pa.array(values, kind)}), path)
    assert read([path], "acc") == [{"acc": 1.0}, {"acc": 0.0}, {"acc": None}]


def test_correct_stands_in_where_acc_says_nothing(tmp_path):
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 0, "correct": 0}, {"sample_id": "b", "correct": 1})
    assert read([path], "acc") == [{"acc": 0.0}, {"acc": 1.0}]
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], acc=[0, None], correct=[False, True])
    assert read([path], "acc") == [{"acc": 0.0}, {"acc": 1.0}]


def test_acc_and_correct_that_contradict_each_other_are_an_error(tmp_path):
    agree = "expected the same of both: leave out the column that is wrong"
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1}, {"sample_id": "b", "acc": 0, "correct": True})
    with pytest.raises(TableError) as caught:
        read([path], "acc")
    assert str(caught.value) == f"{path}, row 1 (line 2), sample 'b': acc is 0 and correct is True; {agree}"
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], acc=[1, 0], correct=[True, True])
    with pytest.raises(TableError) as caught:
        read([path], "acc")
    assert str(caught.value) == f"{path}, row 1, sample b: acc is 0.0 and correct is 1.0; {agree}"


def test_a_total_of_nan_beside_an_acc_is_an_error(tmp_path):
    nan = float("nan")
    no_total = "total is NaN beside an acc; expected a finite number, or null in both where the rollout was not scored"
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1, "total": nan})
    with pytest.raises(TableError) as caught:
        stats_of(open_rollouts([path]))
    assert str(caught.value) == f"{path}, row 0 (line 1), sample 'a': {no_total}"
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], correct=[None, True], total=[nan, nan])
    with pytest.raises(TableError) as caught:
        stats_of(open_rollouts([path]))
    assert str(caught.value) == f"{path}, row 1, sample b: {no_total}"


def test_a_total_of_nan_without_an_acc_is_not_scored(tmp_path):
    # So pandas writes that there is none.
    nan = float("nan")
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], acc=[nan, 1.0], total=[nan, 0.5])
    rows = lines(tmp_path / "r.jsonl", {"sample_id": "a", "total": nan}, {"sample_id": "b", "acc": 1, "total": 0.5})
    for each in (path, rows):
        found = stats_of(open_rollouts([each]))
        assert (found.n.tolist(), found.unscored.tolist(), found.mean.tolist()[1]) == ([0, 1], [1, 0], 0.5)


def test_names_may_be_whole_numbers_dictionaries_or_categories(tmp_path):
    ids = pa.array(["x", "y", "x"]).dictionary_encode()
    assert read([parquet(tmp_path / "a.parquet", sample_id=ids, acc=[1, 0, 1])], "sample_id")[2] == {"sample_id": "y"}
    assert read([parquet(tmp_path / "b.parquet", sample_id=[10, 9], acc=[1, 0])], "sample_id")[0] == {"sample_id": "10"}
    assert read([lines(tmp_path / "c.jsonl", {"sample_id": 7, "acc": 1})], "sample_id") == [{"sample_id": "7"}]


def test_targets_and_sizes_come_in_any_form(tmp_path):
    path = parquet(
        tmp_path / "r.parquet", sample_id=["a"], acc=[1], target=[{"bbox": [1.0, 2.0, 3.0, 4.0]}],
        image_size=pa.array([[100, 50]], pa.list_(pa.int64(), 2)),
    )  # fmt: skip
    expected = {"target": '{"bbox":[1.0,2.0,3.0,4.0]}', "image_size": [100.0, 50.0]}
    assert read([path], "target", "image_size") == [expected]
    row = {"sample_id": "a", "acc": 1, "target": {"bbox": [1, 2]}, "image_size": [100, 50]}
    found = read([lines(tmp_path / "r.jsonl", row)], "target", "image_size", "policy")
    assert found == [{"target": '{"bbox":[1,2]}', "image_size": [100.0, 50.0], "policy": None}]


def test_a_recorded_directory_is_read_and_hidden_files_are_not(tmp_path):
    recorder = RolloutRecorder(tmp_path / "run", ["hit"])
    recorder.append({"sample_id": ["a", "b"], "response": ["(1, 2)", "?"], "acc": [1.0, 0.0], "hit": [1.0, 0.0]})
    recorder.close()
    (tmp_path / "run" / ".rollouts.partial.parquet").write_bytes(b"half")
    table = open_rollouts([tmp_path / "run"])
    assert table.read(["sample_id", "acc"]).to_pylist() == [
        {"sample_id": "a", "acc": 1.0},
        {"sample_id": "b", "acc": 0.0},
    ]
    assert [len(batch) for batch in table.batches(["sample_id"])] == [2]


def test_names_of_files_may_hold_patterns_and_quotes(tmp_path):
    path = parquet(tmp_path / "it's [1]*?.parquet", sample_id=["a"], acc=[1])
    parquet(tmp_path / "it's 1.parquet", sample_id=["other"], acc=[1])
    assert read([path], "sample_id") == [{"sample_id": "a"}]


def test_inputs_are_identified_by_their_hash(tmp_path):
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    first = open_rollouts([path]).inputs()
    assert [(each["path"], each["files"], each["bytes"]) for each in first] == [(str(path), 1, path.stat().st_size)]
    lines(path, {"sample_id": "a", "acc": 0})
    assert open_rollouts([path]).inputs()[0]["sha256"] != first[0]["sha256"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"sample": "a", "acc": 1}], "no column 'sample_id'; did you mean 'sample'[?] It has: sample, acc"),
        ([{"response": "x"}], "no column 'sample_id'; make a rollout table of them: `grounding-rewards pool score`"),
        ([{"sample_id": "a", "corect": 1}], "no column 'acc'; did you mean 'corect'[?]"),
        ([{"sample_id": "a", "response": "x"}], "no column 'acc'; score them first: `grounding-rewards pool score`"),
        ([{"sample_id": None, "acc": 1}], r"row 0 \(line 1\): sample_id is None; expected the name"),
        ([{"sample_id": 1, "acc": 1}, {"sample_id": "1", "acc": 1}], r"a number in row 0 .* a text \('1'\) in row 1"),
        ([{"sample_id": "a", "acc": 1}, {"sample_id": "a", "acc": "yes"}], r"line 2\): acc is 'yes'; expected 0 or 1"),
        ([{"sample_id": "a", "acc": 1, "round": 1.5}], "round is 1.5; expected a whole number, or null"),
        ([{"sample_id": "a", "acc": 1, "rollout": "0"}], "rollout is '0'; expected a whole number"),
    ],
)
def test_rows_that_do_not_fit_are_named(tmp_path, rows, message):
    path = lines(tmp_path / "r.jsonl", *rows)
    with pytest.raises(TableError, match=message):
        stats_of(open_rollouts([path]))


def test_a_key_that_appears_late_is_found(tmp_path):
    rows = [{"sample_id": f"s{row}"} for row in range(9000)] + [{"sample_id": "late", "acc": 1}]
    table = open_rollouts([lines(tmp_path / "r.jsonl", *rows)])
    table.need("sample_id", "acc")
    assert table.read(["sample_id", "acc"], samples=["late"]).to_pylist() == [{"sample_id": "late", "acc": 1.0}]


def test_columns_of_other_types_are_named(tmp_path):
    path = parquet(tmp_path / "r.parquet", sample_id=[1.5], acc=["yes"])
    with pytest.raises(TableError, match="column sample_id holds double; expected texts or whole numbers"):
        read([path], "sample_id")
    with pytest.raises(TableError, match="column acc holds string; expected numbers"):
        open_rollouts([path]).query("SELECT sum(acc) a FROM {rollouts}", ["acc"])


def test_an_empty_shard_beside_others_has_lost_its_rows(tmp_path):
    lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    (tmp_path / "empty.jsonl").touch()
    assert len(open_rollouts([tmp_path]).read(["sample_id"])) == 1
    (tmp_path / "rollouts-0000000a-000001.parquet").touch()
    with pytest.raises(TableError, match=r"000001\.parquet: cannot be read as Parquet .*0 bytes"):
        open_rollouts([tmp_path])


def test_paths_that_hold_no_rollouts_are_errors(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    (tmp_path / "folder").mkdir()
    good = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1})
    for paths, message in (
        ([], "no rollouts are given"),
        ([tmp_path / "none.jsonl"], "none.jsonl: no such file"),
        ([empty], "empty.jsonl: is empty"),
        ([tmp_path / "folder"], "folder: no rollouts are there"),
        ([good, good], "r.jsonl: is given twice"),
        (
            [good, tmp_path / "folder" / ".." / "r.jsonl"],
            "r.jsonl and .*r.jsonl are one file; its rollouts would count",
        ),
        ([good, tmp_path], "r.jsonl: is given twice"),
    ):
        with pytest.raises(TableError, match=message):
            open_rollouts(paths)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_table_is_queried_while_a_stream_of_it_is_open(tmp_path, suffix):
    rows = [{"sample_id": f"s{row}", "rollout": 0, "acc": row % 2, "more": "x"} for row in range(200_000)]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    else:
        lines(tmp_path / "rows.jsonl", *rows)
    table = open_rollouts([tmp_path / f"rows.{suffix}"])
    stream = table.stream("SELECT sample_id FROM {rollouts}", ["sample_id"])
    read = len(next(stream))
    assert table.query("SELECT sum(acc) AS right FROM {rollouts}", ["acc"]).to_pylist() == [{"right": 100_000}]
    assert table.query("SELECT count(more) AS rows FROM {rollouts}", ["more"]).to_pylist() == [{"rows": 200_000}]
    other = table.stream("SELECT sample_id FROM {rollouts}", ["sample_id"])
    assert len(next(other)) + sum(map(len, other)) == 200_000
    assert read + sum(map(len, stream)) == 200_000
    batches = [len(batch) for batch in table.batches(["sample_id"])]
    assert (len(batches) > 1, sum(batches)) == (True, 200_000)


def test_folders_named_like_columns_are_folders(tmp_path):
    folder = tmp_path / "acc=0" / "temperature=1.4"
    folder.mkdir(parents=True)
    path = parquet(folder / "r.parquet", sample_id=["a"], acc=[1.0], temperature=[0.7])
    assert read([path], "acc", "temperature") == [{"acc": 1.0, "temperature": 0.7}]


def test_columns_that_differ_in_case_alone_are_an_error_where_one_is_used(tmp_path):
    path = parquet(tmp_path / "r.parquet", ACC=[0], acc=[1], sample_id=["a"], Note=["x"], note=["y"])
    assert read([path], "sample_id") == [{"sample_id": "a"}]
    with pytest.raises(TableError, match="columns acc and ACC differ only in case; rename one"):
        read([path], "acc")


def test_names_are_texts_in_all_files_or_numbers_in_all(tmp_path):
    numbers = parquet(tmp_path / "n.parquet", sample_id=[1], acc=[1])
    texts = lines(tmp_path / "t.jsonl", {"sample_id": "1", "acc": 0})
    with pytest.raises(TableError, match=r"a whole number in .*n\.parquet and a text in .*t\.jsonl; write all"):
        stats_of(open_rollouts([numbers, texts]))
    assert stats_of(open_rollouts([numbers, lines(tmp_path / "m.jsonl", {"sample_id": 2, "acc": 0})])).n.tolist() == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"total": 10**400}, "total is 1000.*; expected a number, or null"),
        ({"acc": 10**400}, "acc is 1000.*; expected 0 or 1"),
        ({"round": 1e300}, r"round is 1e\+300; expected a whole number"),
        ({"rollout": 2**70}, "rollout is 1180591620717411303424; expected a whole number"),
        ({"round": True}, "round is True; expected a whole number"),
    ],
)
def test_numbers_without_a_place_are_errors(tmp_path, row, message):
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1, **row})
    with pytest.raises(TableError, match=message):
        stats_of(open_rollouts([path]))


def test_whole_numbers_may_be_floats_with_nan_for_null(tmp_path):
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], acc=[1, 0], round=[2.0, float("nan")])
    assert read([path], "round") == [{"round": 2}, {"round": None}]
    for number in (1.5, 2.0**63):
        path = parquet(tmp_path / "s.parquet", sample_id=["a"], acc=[1], round=[number])
        with pytest.raises(TableError, match="column round holds a number that is not whole, or too large"):
            read([path], "round")
    path = parquet(tmp_path / "t.parquet", sample_id=["a"], acc=[1], round=[True])
    with pytest.raises(TableError, match="column round holds bool; expected whole numbers"):
        read([path], "round")


def test_sizes_without_a_number_say_nothing(tmp_path):
    sizes = [[float("inf"), 10.0], [float("nan"), 10.0], [100.0, 50.0]]
    point = {"x_unit": [0.1] * 3, "y_unit": [0.1] * 3}
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "a", "a"], acc=[1, 1, 1], image_size=sizes, **point)
    found = stats_of(open_rollouts([path]))
    assert (found.clicks.tolist(), np.isnan(found.dispersion).tolist()) == ([3], [True])
    path = parquet(tmp_path / "s.parquet", sample_id=["a"], acc=[1], image_size=[["w", "h"]])
    assert read([path], "image_size") == [{"image_size": [None, None]}]
    point = {"x_unit": [0.1] * 2, "y_unit": [0.1] * 2}
    path = parquet(tmp_path / "t.parquet", sample_id=["a"] * 2, acc=[1, 1], image_size=[["w", "h"]] * 2, **point)
    assert np.isnan(stats_of(open_rollouts([path])).dispersion).tolist() == [True]


@pytest.mark.parametrize("temperature", [float("inf"), float("-inf"), float("nan"), None])
def test_a_temperature_that_is_no_finite_number_is_unknown(tmp_path, temperature):
    path = parquet(tmp_path / "r.parquet", sample_id=["a", "b"], acc=[1, 1], temperature=[temperature, 0.7])
    assert open_rollouts([path]).temperatures() == {None: 1, 0.7: 1}


@pytest.mark.parametrize("size", [[640.0], [640.0, 480.0, 3.0], []])
def test_sizes_that_are_no_pair_say_nothing(tmp_path, size):
    rows = {"sample_id": ["a", "b"], "acc": [1, 1], "target": ['{"bbox": [1, 2, 3, 4], "space": "pixel"}'] * 2}
    path = parquet(tmp_path / "r.parquet", **rows, image_size=[size, [100.0, 50.0]])
    area = stats_of(open_rollouts([path])).target_area
    assert area.tolist() == pytest.approx([np.nan, 4 / 5000], nan_ok=True)
    same = pa.array([size] * 2, pa.list_(pa.float64(), len(size)))
    path = parquet(tmp_path / "s.parquet", **rows, image_size=same)
    assert np.isnan(stats_of(open_rollouts([path])).target_area).all()


def test_numbers_of_any_size_tell_rollouts_apart(tmp_path):
    path = parquet(tmp_path / "r.parquet", sample_id=["a"] * 2, acc=[1, 1], round=[1, 2**62], rollout=[2**63 - 1] * 2)
    assert stats_of(open_rollouts([path])).n.tolist() == [2]


def test_temperatures_are_the_same_in_every_type(tmp_path):
    narrow = pa.array([0.7], pa.float32())
    paths = [
        parquet(tmp_path / "a.parquet", sample_id=["a"], acc=[1], temperature=narrow),
        parquet(tmp_path / "b.parquet", sample_id=["a"], acc=[0], temperature=[0.7]),
    ]
    table = open_rollouts(paths)
    assert table.temperatures() == {0.7: 2}
    assert stats_of(table, temperature=0.7).n.tolist() == [2]
    assert stats_of(table).temperature.tolist() == [0.7]


@pytest.mark.slow
def test_a_directory_is_read_while_it_is_written(tmp_path):
    recorder = RolloutRecorder(tmp_path / "run")
    written = threading.Event()

    def write():
        for number in range(120):
            recorder.append({"sample_id": ["a", "b"], "response": ["x", "y"], "acc": [1.0, 0.0], "step": [number] * 2})
            recorder.flush()
        written.set()

    recorder.append({"sample_id": ["a", "b"], "response": ["x", "y"], "acc": [1.0, 0.0]})
    writer = threading.Thread(target=write)
    writer.start()
    counts = []
    while not written.is_set():
        found = stats_of(open_rollouts([tmp_path / "run"]))
        counts.append(found.n.tolist())
    writer.join()
    recorder.close()
    assert all(one == other for one, other in counts)
    assert counts == sorted(counts)
    assert stats_of(open_rollouts([tmp_path / "run"])).n.tolist() == [121, 121]


def test_names_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"sample_id": "a", "acc": 1}\n{"sample_id": "\\ud800", "acc": 1}\n')
    with pytest.raises(TableError, match=r"r\.jsonl, row 1 \(line 2\): sample_id is '\\ud800'; expected the name"):
        stats_of(open_rollouts([tmp_path / "r.jsonl"]))


def test_a_round_behind_a_path_is_an_option_here(tmp_path):
    path = lines(tmp_path / "r.jsonl", {"sample_id": "a", "acc": 1, "round": 2})
    with pytest.raises(TableError, match=r"r\.jsonl@2: no such file; for one round of .*r\.jsonl name it by --round 2"):
        open_rollouts([f"{path}@2"])
    with pytest.raises(TableError, match=r"gone\.jsonl@2: no such file$"):
        open_rollouts([tmp_path / "gone.jsonl@2"])


def test_files_of_json_and_recorded_rows_are_one_table(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(f'{{"sample_id": "{name}", "acc": 1}}\n')
    recorder = RolloutRecorder(tmp_path / "run")
    recorder.append({"sample_id": ["c"], "response": ["?"], "acc": [0.0], "temperature": [float(np.float32(0.7))]})
    recorder.close()
    table = open_rollouts([tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "run"])
    assert table.read(["sample_id", "acc"])["acc"].to_pylist() == [1.0, 1.0, 0.0]
    assert table.temperatures() == {None: 2, 0.7: 1}
    assert table.policies() == set()


def test_json_that_only_python_reads_is_read_from_a_copy(tmp_path):
    """Half a surrogate pair, a mark of the order of bytes, a row without keys, and keys that differ only in case."""
    path = tmp_path / "r.jsonl"
    first = b'\xef\xbb\xbf{"sample_id": "a", "acc": 1, "response": "x\\ud800", "misfit acc": [1]}\n'
    path.write_bytes(first + b'{"sample_id": "b", "Note": 1, "note": 2}\n')
    assert read([path], "sample_id", "acc", "response", "misfit acc") == [
        {"sample_id": "a", "acc": 1.0, "response": "x\ufffd", "misfit acc": "[1]"},
        {"sample_id": "b", "acc": None, "response": None, "misfit acc": None},
    ]
    with pytest.raises(TableError, match=r"r\.jsonl: columns note and Note differ only in case; rename one"):
        read([path], "note")
    path.write_text('{"sample_id": "a"}\n{}\n')
    assert len(open_rollouts([path]).query("SELECT * FROM {rollouts}", ["acc"])) == 2
    with pytest.raises(TableError, match=r"row 1 \(line 2\): sample_id is None; expected the name"):
        read([path], "sample_id")


@pytest.mark.parametrize("bad", ["null", "[1]", '{"a": 1, "a": 2}', '{"a": 1} {"a": 2}', '{"a": 0x1}', '{"a": 2'])
def test_lines_that_are_no_objects_are_named(tmp_path, bad):
    path = tmp_path / "r.jsonl"
    path.write_text(f'{{"sample_id": "a"}}\n{bad}\n')
    with pytest.raises(TableError, match=r"r\.jsonl, line 2: "):
        read([path], "sample_id")


def test_what_fits_no_column_is_null_where_it_may_be_and_an_error_only_where_it_is_asked_for(tmp_path):
    rows = [
        {
            "sample_id": "a", "acc": "yes", "round": 2.0, "x_unit": "0.5", "step": 2.5, "token_length": 9,
            "image_size": 5,
        },
        {
            "sample_id": "b", "rollout": 2**63 - 1, "x_unit": [1], "step": 2.0,
            "image_size": {"width": 640, "height": 480},
        },
        {"sample_id": "c", "temperature": 0.7000000001, "policy": 7, "image_size": ["w", 1]},
    ]  # fmt: skip
    path = lines(tmp_path / "r.jsonl", *rows)
    found = read([path], "round", "rollout", "x_unit", "step", "token_length", "temperature", "policy", "image_size")
    names = ("round", "rollout", "x_unit", "step", "token_length", "temperature", "policy", "image_size")
    expected = [
        (2, None, 0.5, None, 9, None, None, None),
        (None, 2**63 - 1, None, 2, None, None, None, [640.0, 480.0]),
        (None, None, None, None, None, 0.7, "7", [None, 1.0]),
    ]
    assert found == [dict(zip(names, row, strict=True)) for row in expected]
    with pytest.raises(TableError, match=r"row 0 \(line 1\): acc is 'yes'; expected 0 or 1"):
        read([path], "acc")
