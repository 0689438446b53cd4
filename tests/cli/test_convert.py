"""``convert``: files in, files out, and what is said about them."""

import base64
import json
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.converting import run as converter
from tests.cli.command import names, read_rows, write_rows

ROW = {"instruction": "打开", "bbox": [1, 2, 3, 4], "width": 640, "height": 480, "id": "a", "app": "ä"}
WIRE = '{"bbox": [1, 2, 3, 4], "space": "pixel", "image_size": [640, 480], "id": "a"}'
PIXEL = ("--target-space", "pixel")
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 64, 48)


def png(folder, name="a.png"):
    (folder / name).write_bytes(PNG)
    return name


def test_nemo_gym_gets_images_in_its_rows(run, tmp_path):
    """One image is a file beside the rows, one is in the row, one on a network, and one is not there."""
    sizes = {"width": 64, "height": 48}
    images = [png(tmp_path), "data:image/png;base64,eA==", "https://host/a.png", "gone.png"]
    source = write_rows(tmp_path / "in.jsonl", *[{**ROW, **sizes, "image": each} for each in images])
    out = tmp_path / "out.jsonl"
    found = run("convert", source, "--out", out, "--for", "nemo_gym", *PIXEL, "--skip-bad")
    assert found.code == 0
    assert "image: its bytes cannot be read" in found.err
    assert "cannot read 'gone.png'" in found.err
    assert "have relative paths" not in found.err
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    rows = read_rows(out)
    shown = [row["responses_create_params"]["input"][0]["content"][0] for row in rows]
    assert shown == [{"type": "input_image", "image_url": each, "detail": "auto"} for each in (url, images[2])]
    assert [{"image", "images"} & {*row} for row in rows] == [set(), set()]


def test_trainers_that_read_no_such_file(run, tmp_path):
    source = write_rows(tmp_path / "in.jsonl", ROW)
    for trainer, form, said in [
        ("nemo_gym", "parquet", "nemo_gym reads JSON lines; write a file that ends in .jsonl"),
        (
            "openenv",
            "jsonl",
            "--for openenv: it reads no file of rows; give rows with instruction, image and target to",
        ),
    ]:
        found = run("convert", source, "--out", tmp_path / f"out.{form}", "--for", trainer, *PIXEL)
        assert found.code == 2
        assert said in found.err
    assert names(tmp_path) == ["in.jsonl"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_ended_on_the_way_it_leaves_nothing(run, tmp_path, monkeypatch, error, code):
    source, seen = write_rows(tmp_path / "in.jsonl", ROW), []

    def end(self, samples):
        seen.extend(names(tmp_path))
        raise error

    monkeypatch.setattr(converter.Converted, "count", end)
    assert run("convert", source, "--out", tmp_path / "out.parquet", "--for", "verl", *PIXEL).code == code
    assert [name for name in seen if name.endswith(".partial")]
    assert names(tmp_path) == ["in.jsonl"]


def parquet(path, image_type=None, **columns):
    types = {"image": image_type} if image_type is not None else {}
    arrays = {name: pa.array(values, types.get(name)) for name, values in columns.items()}
    features = {"image": {"_type": "Image"}, "app": {"dtype": "string", "_type": "Value"}}
    metadata = {"huggingface": json.dumps({"info": {"features": features}}), "pandas": "{}", "mine": "x"}
    pq.write_table(pa.table(arrays).replace_schema_metadata(metadata), path)
    return path


FIELDS = pa.struct({"bytes": pa.binary(), "path": pa.string()})
COLUMNS = {
    "instruction": ["Save", "Close"],
    "bbox": [[1, 2, 3, 4]] * 2,
    "app": ["x", None],
    "when": pa.array([1, 2], pa.timestamp("ms")),
}


@pytest.mark.parametrize("trainer", ["verl", "trl", "easyr1"])
@pytest.mark.parametrize(
    ("image_type", "images"),
    [
        (FIELDS, [{"bytes": PNG, "path": None}, {"bytes": PNG, "path": "b.png"}]),
        (pa.list_(FIELDS), [[{"bytes": PNG, "path": None}], [{"bytes": PNG, "path": "b.png"}]]),
        (pa.binary(), [PNG, PNG]),
    ],
)
def test_bytes_of_images_stay_and_datasets_metadata_declares_them(run, tmp_path, trainer, image_type, images):
    source = parquet(tmp_path / "in.parquet", image_type, image=images, **COLUMNS)
    out = tmp_path / "out.parquet"
    assert run("convert", source, "--out", out, "--for", trainer, *PIXEL).code == 0
    found = pq.read_table(out)
    assert "image" not in found.column_names
    assert found.schema.field("images").type == pa.list_(FIELDS)
    assert [[each["bytes"] for each in row] for row in found["images"].to_pylist()] == [[PNG], [PNG]]
    assert found.schema.field("when").type == pa.timestamp("ms")
    assert found["app"].to_pylist() == ["x", None]
    features = json.loads(found.schema.metadata[b"huggingface"])["info"]["features"]
    assert features == {"app": {"dtype": "string", "_type": "Value"}, "images": [{"_type": "Image"}]}
    assert found.schema.metadata[b"mine"] == b"x"
    assert b"pandas" not in found.schema.metadata
    packed = {"verl": "reward_model", "trl": "target", "easyr1": "answer"}[trainer]
    truth = found[packed].to_pylist()[0]
    assert json.loads(truth["ground_truth"] if trainer == "verl" else truth)["image_size"] == [64, 48]


def test_bytes_of_images_cannot_be_json(run, tmp_path):
    source = parquet(tmp_path / "in.parquet", FIELDS, image=[{"bytes": PNG, "path": None}] * 2, **COLUMNS)
    assert "write Parquet" in run("convert", source, "--out", tmp_path / "out.jsonl", "--for", "verl", *PIXEL).err
    assert names(tmp_path) == ["in.parquet"]


def test_rows_that_go_leave_the_others_as_they_are(run, tmp_path):
    rows = {**COLUMNS, "bbox": [None, [1, 2, 3, 4]]}
    source = parquet(tmp_path / "in.parquet", **rows)
    words = ("--for", "trl", *PIXEL, "--skip-bad", "--drop-column", "when")
    assert run("convert", source, "--out", tmp_path / "out.parquet", *words).code == 0
    (row,) = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert (row["instruction"], row["app"], "when" in row) == ("Close", None, False)
    assert run("convert", source, "--out", tmp_path / "out.jsonl", *words).code == 0
    assert read_rows(tmp_path / "out.jsonl")[0]["instruction"] == "Close"


def test_columns_of_mixed_rows_and_one_that_another_row_has(run, tmp_path):
    rows = [
        {**ROW, "bbox": {"bbox": [1, 2, 3, 4], "polygon": None}},
        {**ROW, "id": "b", "bbox": [5, 6, 7, 8], "new": 1.5},
    ]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    result = run("convert", source, "--out", tmp_path / "out.parquet", "--for", "verl", *PIXEL)
    assert "note: written as JSON strings, for want of one Parquet type: bbox" in result.err
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["new"] for row in found] == [None, 1.5]
    truths = [json.loads(row["reward_model"]["ground_truth"]) for row in found]
    assert [truth["bbox"] for truth in truths] == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_a_column_that_the_first_rows_lack(run, tmp_path):
    bare = {name: value for name, value in ROW.items() if name != "id"}
    source = write_rows(tmp_path / "in.jsonl", *[bare] * 40, {**ROW, "name": "b"})
    words = ("--for", "trl", *PIXEL, "--id-column", "name")
    assert run("convert", source, "--out", tmp_path / "out.jsonl", *words).code == 0
    rows = read_rows(tmp_path / "out.jsonl")
    assert (len(rows), rows[-1]["sample_id"], len(rows[0]["sample_id"])) == (41, "b", 32)


def test_a_split_of_a_folder_and_an_output_inside_of_it(run, tmp_path):
    (tmp_path / "set").mkdir()
    write_rows(tmp_path / "set/train-0.jsonl", ROW)
    write_rows(tmp_path / "set/test-0.jsonl", {**ROW, "id": "b"})
    words = ("--for", "verl", *PIXEL)
    assert "name one: --split test or train" in run.error(
        "convert", tmp_path / "set", "--out", tmp_path / "o.jsonl", *words
    )
    assert run("convert", tmp_path / "set", "--out", tmp_path / "o.jsonl", *words, "--split", "test").code == 0
    assert read_rows(tmp_path / "o.jsonl")[0]["extra_info"] == {
        "index": 0, "id": "b", "image_size": [640, 480], "split": "test",
    }  # fmt: skip
    inside = run.error("convert", tmp_path / "set", "--out", tmp_path / "set/o.jsonl", *words, "--split", "test")
    assert inside.endswith("lies in the input, of which it would become a part; write somewhere else")


def test_images_that_cannot_be_measured(run, tmp_path):
    (tmp_path / "text.png").write_text("no image")
    rows = [
        {**ROW, "width": None, "height": None, "image": name} for name in (png(tmp_path), "gone.png", "text.png", None)
    ]
    source = write_rows(tmp_path / "in.jsonl", *rows)
    result = run("convert", source, "--out", tmp_path / "o.jsonl", "--for", "easyr1", *PIXEL, "--image-root", tmp_path)
    said = [line for line in result.err.splitlines() if line.startswith("note: row ")]
    gone, text, nothing = said
    assert f"cannot read 'gone.png' in {tmp_path} (No such file or directory); name the folder" in gone
    assert f"'text.png' in {tmp_path} (is no image whose header says its size; expected PNG, JPEG" in text
    assert "image: got nothing" in nothing
    far = write_rows(
        tmp_path / "in.jsonl", {**ROW, "width": None, "height": None, "image": "https://example.com/a.png"}
    )
    result = run("convert", far, "--out", tmp_path / "o.jsonl", "--for", "easyr1", *PIXEL)
    assert (result.code, read_rows(tmp_path / "o.jsonl")[0]["images"]) == (0, ["https://example.com/a.png"])
    assert "1 rows say no image size" in result.err


@pytest.mark.parametrize("trainer", ["verl", "easyr1", "areal", "openrlhf", "skyrl", "slime", "swift", "verifiers"])
def test_what_was_packed_is_read_and_not_what_it_was_made_of(run, tmp_path, trainer):
    """The column of targets stays beside the packed ones, without its space, and that of instructions unworded."""
    row = {"instruction": "Save", "target": {"bbox": [1, 2, 300, 400]}, "image": png(tmp_path), "id": "a"}
    source, written = write_rows(tmp_path / "in.jsonl", row), tmp_path / "written.parquet"
    words = ("--target-space", "thousandths", "--template", "Click: {instruction}", "--image-root", tmp_path)
    assert run("convert", source, "--out", written, "--for", trainer, *words).code == 0
    assert run("convert", written, "--out", tmp_path / "trl.jsonl", "--for", "trl").code == 0
    (found,) = read_rows(tmp_path / "trl.jsonl")
    assert found["prompt"] == [{"role": "user", "content": "Click: Save"}]
    packed = {"bbox": [1, 2, 300, 400], "space": "thousandths", "image_size": [64, 48], "id": "a"}
    assert {name: value for name, value in json.loads(found["target"]).items() if name != "extra"} == packed
    assert found["images"] == [str(tmp_path / "a.png")]


def test_what_was_written_for_one_trainer_is_read_for_another(run, tmp_path):
    row = {**ROW, "image": png(tmp_path), "width": 64, "height": 48}
    source = write_rows(tmp_path / "in.jsonl", row)
    assert (
        run(
            "convert", source, "--out", tmp_path / "verl.parquet", "--for", "verl", *PIXEL, "--image-root", tmp_path
        ).code
        == 0
    )
    words = ("--for", "trl", "--target-column", "reward_model.ground_truth", "--instruction-column", "prompt")
    result = run("convert", tmp_path / "verl.parquet", "--out", tmp_path / "trl.jsonl", *words)
    (found,) = read_rows(tmp_path / "trl.jsonl")
    assert found["prompt"] == [{"role": "user", "content": "打开"}]
    assert found["images"] == [str(tmp_path / "a.png")]
    assert json.loads(found["target"]) == {**json.loads(WIRE), "image_size": [64, 48]}
    assert "note: images holds paths, and trl wants images, which JSON cannot say: write Parquet" in result.err
    (row,) = pq.read_table(tmp_path / "verl.parquet")["images"].to_pylist()
    assert row == [str(tmp_path / "a.png")]
