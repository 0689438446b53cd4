"""Annotations and predictions joined by the id of samples: order, counts, columns of both, ids."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding_rewards.coords.image_sizes import ENOUGH
from grounding_rewards.errors import TableError
from grounding_rewards.tables.matched import JoinCounts, MatchedTable
from grounding_rewards.tables.opening import open_table
from tests.tables.written import FORMATS

SAMPLES = [{"sample_id": name, "kind": kind} for name, kind in (("a", "icon"), ("b", "text"), ("c", "icon"))]
ANSWERS = [{"sample_id": name, "response": text} for name, text in (("c", "1"), ("a", "2"), ("x", "3"), ("c", "4"))]


@pytest.fixture
def join(tmp_path):
    """Join rows, written in formats."""

    def joining(samples, answers, id=None, formats=("jsonl", "jsonl"), **options):
        files = []
        for name, rows, suffix in zip(("samples", "answers"), (samples, answers), formats, strict=True):
            files.append(tmp_path / f"{name}.{suffix}")
            files[-1].write_bytes(FORMATS[suffix](rows))
        return MatchedTable(*map(open_table, files), id, **options)

    return joining


def rows_of(table, **options):
    return [row for batch in table.batches(**options) for row in batch.rows]


def messages(join, *args, **options):
    """The notes and the warnings of a join."""
    notes, warnings = [], []
    join(*args, note=notes.append, warn=warnings.append, **options)
    return notes, warnings


JOINED = [
    {"sample_id": "c", "kind": "icon", "response": "1"},
    {"sample_id": "a", "kind": "icon", "response": "2"},
    {"sample_id": "c", "kind": "icon", "response": "4"},
    {"sample_id": "b", "kind": "text", "response": None},
]


@pytest.mark.parametrize("first", FORMATS)
@pytest.mark.parametrize("second", ["parquet", "jsonl", "json", "csv", "jsonl.gz"])
def test_a_row_a_prediction_in_their_order_then_samples_without_any(join, first, second):
    table = join(SAMPLES, ANSWERS, formats=(first, second))
    assert rows_of(table) == rows_of(table, size=2) == JOINED
    assert table.counts == JoinCounts(annotations=3, predictions=4, without_prediction=1, without_annotation=1)
    assert (table.columns, table.id) == (("sample_id", "kind", "response"), "sample_id")
    assert [batch.start for batch in table.batches(size=1)] == [0, 1, 2, 3]
    assert [row["response"] for row in rows_of(table, columns=["response"], whole=False)] == ["1", "2", "4", None]


def test_samples_without_a_prediction_can_be_left_out(join):
    table = join(SAMPLES, ANSWERS, unanswered=False)
    assert rows_of(table) == JOINED[:3]
    assert messages(join, SAMPLES, ANSWERS, unanswered=False)[1][0].endswith("such as 'b': they are left out")


def test_an_image_and_an_instruction_are_the_id_of_benchmarks_without_one(join):
    samples = [{"img_filename": "a.png", "instruction": text, "bbox": [1, 2, 3, 4]} for text in ("open", "close")]
    answers = [{"instruction": "close", "img_filename": "a.png", "response": "(2, 3)"}]
    notes, warnings = messages(join, samples, answers)
    assert notes == ["predictions are joined by img_filename and instruction; --id names others"]
    assert warnings == ["1 of 2 samples have no prediction, such as ('a.png', 'open'): they count as wrong"]


def test_what_has_no_other_half_is_counted_with_the_first_ids(join, tmp_path):
    samples = [{"id": n} for n in range(9)]
    answers = [{"id": n, "response": ""} for n in (0, "x", None, float("nan"), 7, 11)]
    notes, warnings = messages(join, samples, answers)
    assert notes == ["predictions are joined by id; --id names others"]
    assert warnings == [
        "7 of 9 samples have no prediction, such as 1, 2, 3: they count as wrong",
        f"4 of 6 predictions belong to no sample of {tmp_path / 'samples.jsonl'}, such as 'x', null, null: they are "
        "left out",
    ]


def test_places_name_both_files_and_rows(join, tmp_path):
    answers = tmp_path / "answers.jsonl"
    (first, *_), (last,) = join(SAMPLES, ANSWERS).batches(size=3), list(join(SAMPLES, ANSWERS).batches(size=3))[-1:]
    assert first.place(0) == f"row 2 (line 3), with {answers}, row 0 (line 1)"
    assert first.place(1) == f"row 0 (line 1), with {answers}, row 1 (line 2)"
    assert last.place(0) == "row 1 (line 2), without a prediction"


ALIKE = [{"sample_id": name, "box": [1, 2, 3, 4], "index": n} for n, name in enumerate("abab")]


@pytest.mark.parametrize(
    ("names", "joined"),
    [
        ("ba", [(1, 0), (3, 0), (0, 1), (2, 1)]),  # one each answers both of its rows
        ("baba", [(1, 0), (0, 1), (3, 2), (2, 3)]),
        ("bbaacc", [(1, 0), (3, 0), (1, 1), (3, 1), (0, 2), (2, 2), (0, 3), (2, 3), (4, 4), (4, 5)]),
        ("babca", [(1, 0), (0, 1), (3, 2), (4, 3), (2, 4)]),  # as many as rows: c has one
        ("bbc", [(1, 0), (3, 1), (4, 2), (0, None), (2, None)]),
        ("bbbc", [(1, 0), (3, 0), (1, 1), (3, 1), (1, 2), (3, 2), (4, 3), (0, None), (2, None)]),
    ],
)
def test_annotations_that_repeat_others_are_rows_of_their_own(join, names, joined):
    samples = [*ALIKE, *([{"sample_id": "c", "box": [1, 2, 3, 4], "index": 4}] if "c" in names else [])]
    answers = [{"sample_id": name, "response": str(place)} for place, name in enumerate(names)]
    table = join(samples, answers, alike=("sample_id", "box"))
    for size in (1, 100):
        rows = [(row["index"], row["response"] and int(row["response"])) for row in rows_of(table, size=size)]
        assert rows == joined
    notes, _ = messages(join, samples, answers, alike=("sample_id", "box"))
    assert notes[0].endswith(f"2 of {len(samples)} rows repeat another one in sample_id, box, and count as often")


def test_annotations_of_one_id_that_are_not_alike_are_an_error(join):
    rows = [ALIKE[0], {**ALIKE[2], "box": [1, 2, 3, 5]}]
    with pytest.raises(TableError, match=r"'a' is in row 0 \(line 1\), too, and the rows differ"):
        join(rows, [{"sample_id": "a", "response": ""}], alike=("sample_id", "box"))


ROWS = {
    "an id that is the predictions' column otherwise": (
        [{"round": 3, "target": 1}], [{"round": 3, "response": "a"}], "round",
        [{"round": 3, "target": 1, "response": "a"}],
    ),
    "several columns": (
        [{"file": "1.png", "text": text, "n": n} for n, text in enumerate("xy")],
        [{"file": "1.png", "text": text, "response": text} for text in "yx"], "file,text",
        [{"file": "1.png", "text": text, "n": n, "sample_id": f'["1.png", "{text}"]', "response": text}
         for text, n in (("y", 1), ("x", 0))],
    ),
    "several columns leave sample_id as it is": (
        [{"sample_id": "s", "file": "1.png", "text": "x"}], [{"file": "1.png", "text": "x", "response": ""}],
        "file,text", [{"sample_id": "s", "file": "1.png", "text": "x", "response": ""}],
    ),
    "two names": (
        SAMPLES, [{"question": each["sample_id"], "response": each["response"], "kind": "icon"} for each in ANSWERS],
        "sample_id=question", JOINED,
    ),
    "two names of which both have one": (
        [{"id": 1, "key": "k"}], [{"id": "k", "key": 5, "response": "r"}], "key=id",
        [{"id": 1, "key": "k", "pred.key": 5, "response": "r"}],
    ),
    "two names in a composite": (
        [{"a": 1, "b": 2, "c": 3}], [{"x": 1, "b": 2, "response": ""}], "a=x,b",
        [{"a": 1, "b": 2, "c": 3, "sample_id": "[1, 2]", "response": ""}],
    ),
    "a name with a comma": ([{"a,b": 1}], [{"a,b": 1, "response": ""}], "a,b", [{"a,b": 1, "response": ""}]),
    "sample_id before id": (
        [{"id": 1, "sample_id": "a"}], [{"id": 2, "sample_id": "a"}], None,
        [{"id": 1, "sample_id": "a", "pred.id": 2}],
    ),
    "a column ROW before numbers of rows": (
        [{"ROW": "a"}, {"ROW": "b"}], [{"ROW": "b", "response": "r"}], "ROW",
        [{"ROW": "b", "response": "r"}, {"ROW": "a", "response": None}],
    ),
    "columns that are the predictions' own": (
        [{"id": 1, "pred": "old", "token_length": 9}, {"id": 2, "pred": "old", "token_length": 9}],
        [{"id": 1, "pred": "new"}, {"id": 1, "pred": None, "token_length": 3}], None,
        [{"id": 1, "pred": "new"}, {"id": 1, "pred": None, "token_length": 3},
         {"id": 2, "pred": None, "token_length": None}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_of(join, name):
    samples, answers, id, rows = ROWS[name]
    table = join(samples, answers, id)
    assert rows_of(table) == rows
    assert table.id in rows[0]
    assert {*table.columns} == {key for row in rows for key in row}


def test_of_several_columns_the_id_is_sample_id(join):
    assert [join(*ROWS[name][:3]).id for name in ROWS if name.startswith("several columns")] == ["sample_id"] * 2


@pytest.mark.parametrize(("one", "other"), [(7, 7.0), (7.0, 7), (10**17, 10**17), ("é", "é")])
def test_equal_ids(join, one, other):
    assert join([{"id": one}], [{"id": other}]).counts.without_prediction == 0


@pytest.mark.parametrize("formats", [("csv", "jsonl"), ("jsonl", "csv"), ("csv", "parquet"), ("csv", "csv")])
def test_numbers_are_their_digits_beside_csv(join, formats):
    table = join([{"id": 7, "n": 1}, {"id": 8, "n": 2}], [{"id": 8, "response": "512"}], formats=formats)
    assert (table.counts.without_prediction, rows_of(table)[0]["response"]) == (1, "512")


FORMS = "ids of one text in two Unicode forms (NFC, NFD) are one id"


@pytest.mark.parametrize(
    ("ours", "theirs", "expected", "notes"),
    [
        ((7, 8), ("8", "7"), (1, 0), []),
        (("7", "8"), (8, 7), (1, 0), []),
        ((7, 8), (8, "7"), (1, 0), []),
        (("7", 8), (8, 7), (1, 0), []),
        ((7, "a", "8"), ("a", 8), (1, None), []),  # neither side is all numbers
        ((7, "7"), (7, 9), (0, None), []),
        (("caf\u00e9", "b"), ("b", "cafe\u0301"), (1, 0), [FORMS]),
        (("cafe\u0301", "b"), ("caf\u00e9", "b"), (0, 1), [FORMS]),
        (("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9"), (1, 0), []),
        (("\ud800", "\ud801"), ("\ud801", "\ud800"), (1, 0), []),
    ],
)
def test_forms_of_one_id(join, ours, theirs, expected, notes):
    samples, said = [{"id": each, "n": n} for n, each in enumerate(ours)], []
    answers = [{"id": each, "response": str(n)} for n, each in enumerate(theirs)]
    answered = {row["response"]: row["n"] for row in rows_of(join(samples, answers, "id", note=said.append))}
    assert (tuple(answered.get(str(n)) for n in range(len(theirs))), said) == (expected, notes)


class TestRowNumbers:
    @pytest.mark.parametrize("first", [0, 1])
    @pytest.mark.parametrize("kind", [int, str])
    @pytest.mark.parametrize("name", ["id", "sample_id", "doc_id"])
    def test_are_the_ids_of_annotations_that_have_none(self, join, first, kind, name, tmp_path):
        answers = [{name: kind(n + first), "response": str(n)} for n in (2, 0, 1, 2)]
        samples = [{"target": n} for n in range(3)]
        table = join(samples, answers)
        expected = [{"target": n, "sample_id": n, "response": str(n)} for n in (2, 0, 1, 2)]
        assert (rows_of(table), table.id) == (expected, "sample_id")
        assert messages(join, samples, answers) == (
            [f"predictions are joined by row number: {name} counts the rows of {tmp_path / 'samples.jsonl'}; --id ROW"],
            [],
        )

    @pytest.mark.parametrize(
        ("id", "ids", "joined"),
        [
            ("ROW", (2, 0), [(2, "0"), (0, "1"), (1, None)]),
            ("ROW", (3, 1), [(2, "0"), (0, "1"), (1, None)]),
            ("ROW=n", (1, 0), [(1, "0"), (0, "1"), (2, None)]),
            ("kind=ROW", (1, 0), [(2, "0"), (0, "1"), (1, None)]),
            ("ROW=ROW", (9, 9, 9), [(0, "0"), (1, "1"), (2, "2")]),
        ],
    )
    def test_that_are_named(self, join, id, ids, joined):
        samples = [{"target": n, "kind": kind} for n, kind in enumerate((1, 2, 0))]
        answers = [{"id": n, "n": n, "response": str(place)} for place, n in enumerate(ids)]
        assert [(row["target"], row["response"]) for row in rows_of(join(samples, answers, id))] == joined


def named(*ids):
    return [{"id": each} for each in ids]


SEVERAL = "expected COLUMN, COLUMN,COLUMN or ANNOTATIONS=PREDICTIONS, names of columns"
NO_ID = "row 1 (line 2): id: got {}; expected the id of a sample (--id), a text or a whole number$"
ERRORS = [
    (named("a"), named("b"), None, "^{answers}: no row names a sample of {samples}: id is 'b' here, id is 'a' there; "
     "name the columns that hold the same in both by --id$"),
    *((named(one), named(other), None, "no row names a sample") for one, other in
      (("07", "7"), ("07", 7), ("a", "A"), ("a", "a "))),
    (named(7, "a"), named("7", 8), None,
     "id is '7' here, id is 7 there; digits are texts in one of them and numbers in the other: write"),
    (named("a"), named(None), None, "id is null here, id is 'a' there"),
    (named("e\u0323\u0301", "e\u0301\u0323"), named("\u1eb9\u0301"), None,
     r"id is ...\u1eb9\u0301' here, id is ...e\u0323\u0301' there"),  # never two that look equal
    (named("a" * 90 + "b"), named("a" * 90 + "c"), None, "id is ...c' here, id is ...b' there"),
    ([{"id": "a"}, {"id": "b"}, {"id": "a", "kind": 1}], named("a"), None,
     "^{samples}, row 2 (line 3): id: 'a' is in row 0 (line 1), too, and the rows differ; expected one row a sample: "
     "remove one, or tell them apart by several columns: --id COLUMN,COLUMN$"),
    *((named("a", bad), named("a"), None, "^{samples}, row 1 (line 2): id: got null; expected the id of the sample "
       "(--id)$") for bad in (None, float("nan"))),
    ([{"a": 1, "b": None}], [{"a": 1, "b": 2}], "a,b", "row 0 (line 1): a, b: got null"),
    *((named("a", bad), named("a"), None, "^{samples}, " + NO_ID.format(bad)) for bad in (True, 0.5, ["a"], {"a": 1})),
    *((named("a"), named("a", bad), None, "^{answers}, " + NO_ID.format(bad)) for bad in (True, 0.5, ["a"], {"a": 1})),
    ([{"file": 1, "text": "", "n": 1}], [{"file": 1, "text": "", "response": ""}], None,
     "both have neither sample_id nor id nor an image with an instruction, but file, text; name what holds the id of "
     "samples, such as --id file or --id file,text; --id ROW=ROW says that both have the same rows in one order$"),
    ([{"key": 1}], [{"question": 1, "response": ""}], None,
     "have no column in common (key; question, response); name the id of samples by --id ANNOTATIONS=PREDICTIONS; "
     "--id ROW=ROW says that both have the same rows in one order$"),
    *(([{"a": 1}], [{"a": 1}], id, f"^--id: got {id!r}; {SEVERAL}$") for id in ("", "a,", "a=", "=a", ",", "=")),
    (SAMPLES, ANSWERS, "kind", "^{answers}: no column 'kind' (--id). It has: sample_id, response$"),
    (SAMPLES, ANSWERS, "sampleid", "samples.jsonl: no column 'sampleid' (--id); did you mean 'sample_id'?"),
    *(([{"target": n} for n in range(3)], named(*ids), None, "have no column in common") for ids in
      ((0, 1), (1, 2), (0, 1, 2, 3), (1, 2, 3, 4), (0, 1, "a"), (0, 2, 4))),  # not each is the number of a row
    ([{"target": n} for n in range(3)], named(1, 2), "ROW",
     "names neither row 0 nor row 3 of {samples}; expected one of them"),
    ([{"target": n} for n in range(3)], [{"response": ""}] * 2, "ROW",
     "got 2 rows for the 3 of {samples}; expected one a row, in one"),
    (named("a", "b"), named(0, 1), None, "by --id, or --id ROW=id where these are the numbers of rows$"),
]  # fmt: skip


@pytest.mark.parametrize(("samples", "answers", "id", "message"), ERRORS)
def test_what_cannot_be_joined(join, tmp_path, samples, answers, id, message):
    with pytest.raises(TableError) as caught:
        join(samples, answers, id)
    for name in ("samples", "answers"):
        message = message.replace(f"{{{name}}}", str(tmp_path / f"{name}.jsonl"))
    assert message in f"^{caught.value}$"


class TestColumns:
    def test_equal_in_both_are_one(self, join):
        samples = [{"id": 1, "size": [4, 3], "at": {"x": 1.0, "y": None}, "kind": "a"}]
        answers = [{"id": 1, "size": [4, 3], "at": {"x": 1}, "kind": None, "response": "r"}]
        assert messages(join, samples, answers, "id") == ([], [])
        assert rows_of(join(samples, answers)) == [{**samples[0], "response": "r"}]

    def test_that_differ_anywhere_have_two_names(self, join, tmp_path):
        samples = [{"id": 1, "size": [4, 3]}, {"id": 2, "size": [9, 9]}]
        answers = [{"id": 1, "size": [4, 3], "pred.size": 0}, {"id": 2, "size": [1, 1]}]
        table = join(samples, answers)
        assert rows_of(table) == [
            {"id": 1, "size": [4, 3], "pred.pred.size": [4, 3], "pred.size": 0},
            {"id": 2, "size": [9, 9], "pred.pred.size": [1, 1]},
        ]
        assert messages(join, samples, answers, "id")[0] == [
            f"columns of {tmp_path / 'answers.jsonl'} that differ from those of {tmp_path / 'samples.jsonl'} are "
            "renamed: size as pred.pred.size"
        ]

    def test_that_the_caller_calls_the_predictions_own(self, join):
        samples, answers = [{"id": 1, "output": "target"}], [{"id": 1, "output": "text"}]
        table = join(samples, answers, predicted=["response"])
        assert rows_of(table) == [{"id": 1, "output": "target", "pred.output": "text"}]

    def test_responses_are_never_those_of_annotations(self, join, tmp_path):
        samples, answers = [{"id": 1, "response": "old"}, {"id": 2}], [{"id": 1, "answer": "new"}]
        assert rows_of(join(samples, answers)) == [{"id": 1, "answer": "new"}, {"id": 2, "answer": None}]
        assert messages(join, samples, answers, "id")[0] == [
            f"column response of {tmp_path / 'samples.jsonl'} is left out: responses are those of "
            f"{tmp_path / 'answers.jsonl'}"
        ]

    def test_numbers_in_a_csv_file_are_equal_to_numbers(self, join):
        rows = [{"id": 1, "size": [4, 3], "n": 5, "response": "r"}]
        table = join([{"id": 1, "size": [4, 3], "n": 5}], rows, formats=("jsonl", "csv"))
        assert rows_of(table) == rows

    def test_repeated_samples_count_once(self, join, tmp_path):
        samples = [SAMPLES[0], SAMPLES[1], SAMPLES[0], SAMPLES[0]]
        table = join(samples, ANSWERS)
        assert table.counts.annotations == 2
        assert messages(join, samples, ANSWERS)[0] == [
            f"{tmp_path / 'samples.jsonl'}: 2 of 4 rows repeat another one in every column, and count once"
        ]

    @pytest.mark.parametrize("head", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38", b"nothing known"])
    def test_images_are_held_by_their_beginning_and_not_written(self, join, head):
        samples = [{"id": 1, "image": {"bytes": head + bytes(1 << 20), "path": "1.png"}}]
        table = join(samples, [{"id": 1, "response": "r", "crop": b"x"}], formats=("parquet", "parquet"))
        (batch,) = table.batches()
        assert batch.rows[0]["image"]["bytes"][:24] == head[:24].ljust(24, b"\0")
        assert len(batch.rows[0]["image"]["bytes"]) == (4096 if head[0] == 0x89 else ENOUGH)
        assert batch.whole == [{"id": 1, "response": "r"}]
        assert table.left_out == ("crop", "image")


def test_rows_of_predictions_in_parquet_are_as_many_at_once_as_of_lines(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "image": ["a.png"]}), tmp_path / "samples.parquet")
    answers = {"id": ["a"] * 9000, "response": list(map(str, range(9000)))}
    pq.write_table(pa.table(answers), tmp_path / "answers.parquet")
    table = MatchedTable(open_table(tmp_path / "samples.parquet"), open_table(tmp_path / "answers.parquet"))
    first, second = table.batches()
    assert (len(first), len(second), second.start, second.place(0)) == (
        8192, 808, 8192,
        f"row 0, with {tmp_path / 'answers.parquet'}, row 8192",
    )  # fmt: skip
    assert second.rows[0] == {"id": "a", "image": "a.png", "response": "8192"}


def test_dates_and_decimals_of_parquet(tmp_path):
    from datetime import date

    files = [tmp_path / "samples.parquet", tmp_path / "answers.parquet"]
    for file, day in zip(files, (date(2026, 1, 1), date(2026, 1, 2)), strict=True):
        pq.write_table(pa.table({"id": [1], "day": [day], "same": [date(2026, 1, 1)]}), file)
    (row,) = rows_of(MatchedTable(*map(open_table, files)))
    assert row == {"id": 1, "day": date(2026, 1, 1), "pred.day": date(2026, 1, 2), "same": date(2026, 1, 1)}


IDS = st.integers(0, 6)


@given(st.lists(IDS, unique=True, min_size=1), st.lists(IDS, min_size=1), st.integers(1, 4))
def test_joined_rows_are_those_of_a_nested_loop(tmp_path_factory, samples, answers, size):
    folder = tmp_path_factory.mktemp("join")
    lines = {
        "samples": [{"id": n, "a": -n} for n in samples],
        "answers": [{"id": n, "r": k} for k, n in enumerate(answers)],
    }
    for name, rows in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables = [open_table(folder / f"{name}.jsonl") for name in lines]
    if not {*samples} & {*answers}:
        with pytest.raises(TableError, match="no row names a sample"):
            MatchedTable(*tables)
        return
    table = MatchedTable(*tables)
    both = [{**one, **other} for other in lines["answers"] for one in lines["samples"] if one["id"] == other["id"]]
    left = [{**one, "r": None} for one in lines["samples"] if one["id"] not in answers]
    assert rows_of(table) == rows_of(table, size=size) == both + left
    assert table.counts == JoinCounts(len(samples), len(answers), len(left), len(answers) - len(both))


def test_a_table_can_be_a_stream(tmp_path, monkeypatch):
    (tmp_path / "samples.jsonl").write_text('{"id": 1, "kind": "icon"}')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"id": 1, "response": "r"}')))
    table = MatchedTable(open_table(tmp_path / "samples.jsonl"), open_table("-"))
    assert rows_of(table) == rows_of(table) == [{"id": 1, "kind": "icon", "response": "r"}]
