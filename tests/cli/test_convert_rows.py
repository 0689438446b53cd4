"""``convert``: rows that are bad, images that are not there, and what rows have beside what is packed."""

import json
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.converting import run as converter
from grounding_rewards.coords.image_sizes import ENOUGH
from tests.cli.command import read_rows, result_of, write_rows
from tests.cli.test_convert import PIXEL, PNG, png
from tests.coords.test_image_header import exif, turned_jpeg

BARE = {"instruction": "Save", "bbox": [1, 2, 3, 4], "id": "a"}


def said(result):
    """Return the notes about rows."""
    return [
        line.removeprefix("note: ") for line in result.err.splitlines() if re.match(r"note: (\d+ rows, .*)?row ", line)
    ]


@pytest.fixture
def convert(run, tmp_path):
    """Converts rows, or a file of them; gives the result and what was written."""

    def converted(rows, *words, trainer="verl", name="out.jsonl"):
        source = rows if not isinstance(rows, list) else write_rows(tmp_path / "in.jsonl", *rows)
        out = tmp_path / name
        result = run("convert", source, "--out", out, "--for", trainer, *PIXEL, *words)
        written = None
        if result.code == 0:
            written = pq.read_table(out).to_pylist() if name.endswith("parquet") else read_rows(out)
        return result, written

    return converted


def test_bad_rows_at_the_start_are_left_out(convert, tmp_path, monkeypatch):
    monkeypatch.setattr(converter, "DECIDING", 20)
    rows = {"instruction": [None] * 12 + ["Save"] * 12, "bbox": [[1, 2, 3, 4]] * 24, "image": [PNG + bytes(200)] * 24}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    monkeypatch.setattr("grounding_rewards.tables.arrow_rows.BATCH_BYTES", 1000)
    result, written = convert(tmp_path / "in.parquet", "--skip-bad", name="out.parquet")
    assert [row["extra_info"]["index"] for row in written] == [*range(12, 24)]
    assert [line.partition(":")[0] for line in said(result)] == ["12 rows, first row 0"]
    rows["instruction"] = [None] * 22 + ["Save"] * 2
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    result, _ = convert(tmp_path / "in.parquet", "--skip-bad", name="out.parquet")
    assert result.code == 2
    assert "not one of the first 20 rows can be converted: row 0: instruction: got nothing" in result.err


def test_rows_of_later_batches_have_their_own_numbers(convert, tmp_path, monkeypatch):
    monkeypatch.setattr("grounding_rewards.tables.text_rows.BATCH_ROWS", 4)
    rows = [BARE if row not in (6, 9) else {**BARE, "bbox": None} for row in range(11)]
    result, _ = convert([*rows[:2], *rows[2:]], "--json")
    problems = result_of(result.out)["problems"]
    assert [(each["row"], each["place"]) for each in problems] == [(6, "row 6 (line 7)"), (9, "row 9 (line 10)")]
    result, written = convert(rows, "--skip-bad")
    assert [row["extra_info"]["index"] for row in written] == [0, 1, 2, 3, 4, 5, 7, 8, 10]


def test_all_problems_are_in_json_though_nothing_is_written(convert):
    bad = [{**BARE, "bbox": ["x" * count]} for count in range(1, 26)]
    result, _ = convert([BARE, *bad, *bad], "--json")
    found = result_of(result.out)
    assert (result.code, found["rows"], found["written"], len(found["problems"])) == (2, 51, 0, 50)
    assert found["problems"][24]["place"] == "row 25 (line 26)"
    assert (len(said(result)), "note: and 10 more rows\n" in result.err) == (20, True)
    assert said(result)[0].startswith("2 rows, first row 1 (line 2): target, field 'bbox': got ['x']; expected")
    assert "note: and 10 more rows; --json has all of them\n" in convert([BARE, *bad, *bad])[0].err


VERLS = {
    "data_source": "mine",
    "prompt": [{"role": "user", "content": "Save"}],
    "reward_model": {"style": "model", "ground_truth": {"bbox": [1, 2, 3, 4]}, "weight": 0.5},
    "extra_info": {"index": 7, "split": "dev", "answer": "x", "tools_kwargs": {"click": {"create_kwargs": {"n": 1}}}},
    "agent_name": "tool_agent",
}


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_verls_own_rows_have_beside_ours_stays(convert, tmp_path, form, name):
    rows = [VERLS, {**VERLS, "extra_info": {**VERLS["extra_info"], "need_tools_kwargs": True}}]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows[::-1]), tmp_path / "in.parquet")
        rows = tmp_path / "in.parquet"
    result, written = convert(rows, name=name)
    row = written[0 if form == "jsonl" else 1]
    assert "left out" not in result.err
    assert (row["data_source"], row["agent_name"]) == ("mine", "tool_agent")
    assert {**row["extra_info"], "id": None, "need_tools_kwargs": None} == {
        "index": 0 if form == "jsonl" else 1, "split": "dev", "answer": "x", "id": None, "image_size": None,
        "tools_kwargs": {"click": {"create_kwargs": {"n": 1}}}, "need_tools_kwargs": None,
    }  # fmt: skip
    assert (row["reward_model"]["style"], row["reward_model"]["weight"]) == ("rule", 0.5)
    assert json.loads(row["reward_model"]["ground_truth"])["bbox"] == [1, 2, 3, 4]


def test_bytes_among_fields_that_stay_cannot_be_json(convert, tmp_path):
    row = {"query": "a", "bbox": [1, 2, 3, 4], "extra_info": {"raw": b"x"}}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "in.parquet")
    result, _ = convert(tmp_path / "in.parquet")
    assert "JSON lines cannot hold the bytes in column extra_info; write Parquet" in result.err
    assert convert(tmp_path / "in.parquet", name="out.parquet")[1][0]["extra_info"]["raw"] == b"x"


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_tool_calls_stay_in_conversations(convert, tmp_path, form, name):
    call = {"function": {"name": "click"}}
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "done", "tool_call_id": "7"},
    ]
    rows = [{"messages": talk, "bbox": [1, 2, 3, 4]}]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
        rows = tmp_path / "in.parquet"
    for trainer in ("verl", "trl"):
        _, (row,) = convert(rows, trainer=trainer, name=name)
        filled = [{key: value for key, value in message.items() if value is not None} for message in row["prompt"]]
        assert filled == [talk[0], {**talk[1], "content": ""}, talk[2]]
    assert "for which EasyR1 has no place" in convert(rows, trainer="easyr1")[0].err


def test_a_column_that_only_a_late_row_has(convert, tmp_path, monkeypatch):
    monkeypatch.setattr("grounding_rewards.tables.text_rows.BATCH_ROWS", 4)
    rows = [BARE] * 9
    late = {**BARE, "id": "z", "image": png(tmp_path), "uid": 1}
    result, _ = convert([*rows, late], "--image-root", tmp_path)
    (line,) = said(result)
    assert line.startswith("9 rows, first row 0 (line 1): image: got nothing; expected a path")
    assert "left out, for verl has columns of these names: uid" in result.err
    result, written = convert([*rows, late], "--image-column", "none")
    assert (result.code, len(written), "images" in written[0]) == (0, 10, False)


@pytest.mark.parametrize(
    ("trainer", "name", "size", "words"),
    [
        ("verl", "out.parquet", [1920, 1080], "verl opens paths as they are stored"),
        ("easyr1", "out.jsonl", [1920, 1080], "easyr1 opens paths as they are stored"),
        ("trl", "out.parquet", [1080, 1920], "trl opens them by datasets, which does so"),
    ],
)
def test_images_that_are_to_be_turned(convert, tmp_path, trainer, name, size, words):
    (tmp_path / "photo.jpg").write_bytes(turned_jpeg(exif(6)))
    row = {**BARE, "image": str(tmp_path / "photo.jpg")}
    result, (written,) = convert([row], "--json", trainer=trainer, name=name)
    assert f"note: 1 images say in their EXIF data that they are to be turned or mirrored; {words}" in result.err
    assert result_of(result.out)["turned"] == 1
    packed = {"verl": "reward_model", "trl": "target", "easyr1": "answer"}[trainer]
    wire = written[packed]["ground_truth"] if trainer == "verl" else written[packed]
    assert json.loads(wire)["image_size"] == size


def test_a_webp_says_at_its_end_that_it_is_to_be_turned(convert, tmp_path):
    image = pytest.importorskip("PIL.Image")
    way = image.Exif()
    way[0x0112] = 6
    noise = image.frombytes("RGB", (300, 200), random.Random(0).randbytes(180_000))
    noise.save(tmp_path / "photo.webp", lossless=True, exif=way)
    assert (tmp_path / "photo.webp").stat().st_size > 2 * ENOUGH
    _, (written,) = convert([{**BARE, "image": str(tmp_path / "photo.webp")}], trainer="trl", name="out.parquet")
    assert json.loads(written["target"])["image_size"] == [200, 300]


def test_bytes_that_are_to_be_turned_are_opened_by_datasets(convert, tmp_path):
    image = pa.array([turned_jpeg(exif(8))], pa.binary())
    pq.write_table(pa.table({"query": ["a"], "bbox": [[1, 2, 3, 4]], "image": image}), tmp_path / "in.parquet")
    _, (row,) = convert(tmp_path / "in.parquet", name="out.parquet")
    assert row["extra_info"]["image_size"] == [1080, 1920]


def test_ids_that_arrow_holds_and_json_numbers_do_not(convert, tmp_path):
    large = pa.array([2**63, 1], pa.uint64())
    pq.write_table(pa.table({"query": ["a", "b"], "bbox": [[1, 2, 3, 4]] * 2, "id": large}), tmp_path / "in.parquet")
    result, _ = convert(tmp_path / "in.parquet")
    assert said(result) == [f"row 0: id (id): got {2**63}, which 64 bits do not hold; write it as text"]
