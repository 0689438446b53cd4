"""``mix``: several training sets to the rows of one trainer."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from grounding_rewards.tables.opening import open_rows
from tests.cli.command import read_rows
from tests.cli.test_training_sets import BYTES, ELEMENTS, PX, UNIT, WIRES, in_pixels, in_unit, said, write
from tests.engines import seeded

MIX = """
datasets:
  - {json_path: rows.json, sampling_strategy: all}
  - {json_path: gta.json, sampling_strategy: "end:1", layout: gta1, images_folder: .}
  - {path: wave.parquet, name: wave, take: "random:50%", where: {platform: web}, per_image: 2}
  - {path: own.jsonl, space: unit, take: "first:1"}
"""


@pytest.fixture
def mixture(tmp_path):
    """Files of four data sets, with images as paths and as bytes, and the mixture of them."""
    write(tmp_path, "json", [{"img_filename": "a.png", "elements": ELEMENTS}])
    gta = [{"id": n, "image": "a.png", "bbox": [1, 2, 30 + n, 40], "conversations": said("x")} for n in (1, 2)]
    (tmp_path / "gta.json").write_text(json.dumps(gta))
    wave = {"image": BYTES, "bbox": PX, "resolution": [1920, 1080], "source": "webui"}
    kinds = ["web", "mobile"] * 5
    rows = [{**wave, "instruction": f"Save {n}", "platform": kind} for n, kind in enumerate(kinds)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "wave.parquet")
    own = {"image": "a.png", "instruction": "Own", "bbox": UNIT}
    (tmp_path / "own.jsonl").write_text(f"{json.dumps(own)}\n" * 2)
    (tmp_path / "mix.yaml").write_text(MIX)
    return tmp_path / "mix.yaml"


@pytest.mark.parametrize("trainer", WIRES)
def test_sources_become_one_table_with_names_of_their_own(run, tmp_path, mixture, trainer):
    out = tmp_path / "out.parquet"
    result = run("mix", mixture, "--for", trainer, "--out", out)
    assert result.code == 0, result.err
    rows = pq.read_table(out).to_pylist()
    wires = [json.loads(WIRES[trainer](row)[1]) for row in rows]
    assert [wire["id"].partition("/")[0] for wire in wires] == ["rows", "rows", "gta", "wave", "wave", "own"]
    assert len({wire["id"] for wire in wires}) == 6
    places = [{k: v for k, v in wire.items() if k in ("bbox", "space")} for wire in wires]
    gta = {"bbox": [1, 2, 32, 40], "space": "thousandths"}
    assert places == [in_unit(*UNIT), in_unit(0.5, 0.5, 1, 1), gta, *[in_pixels(*PX)] * 2, in_unit(*UNIT)]
    sources = {
        "verl": lambda row, wire: row["data_source"], "trl": lambda row, wire: row["source"],
        "easyr1": lambda row, wire: wire["extra"]["source"],
    }[trainer]  # fmt: skip
    assert [sources(*pair) for pair in zip(rows, wires, strict=True)] == ["rows"] * 2 + ["gta"] + ["wave"] * 2 + ["own"]
    manifest = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    lost = {"outside the image": 1, "inverted": 1, "no instruction": 1, "empty": 1}
    assert manifest["datasets"]["rows"] == {
        "path": str(tmp_path / "rows.json"),
        "samples": 2,
        "taken": 2,
        "left_out": lost,
    }
    taken = {name: each["taken"] for name, each in manifest["datasets"].items()}
    assert taken == {"rows": 2, "gta": 1, "wave": 2, "own": 1}
    assert "wave: 2 of 5 samples\n" in result.err


def test_the_same_seed_gives_the_same_rows_and_rollouts_read_them(run, tmp_path, mixture):
    first, again, other = (tmp_path / f"{name}.jsonl" for name in ("first", "again", "other"))
    mixture.write_text('datasets: [{path: wave.parquet, take: "random:3"}]')
    for out, seed in ((first, 0), (again, 0), (other, 3)):
        assert run("mix", mixture, "--out", out, "--seed", seed).code == 0
    names = [[row["instruction"] for row in read_rows(out)] for out in (first, again, other)]
    assert names[0] == names[1] != names[2]
    assert {*read_rows(first)[0]} == {"image", "instruction", "target", "id", "source"}
    (image,) = {row["image"] for row in read_rows(first)}  # bytes of ten rows are one file
    with open(image, "rb") as file:
        assert file.read() == BYTES["bytes"]


def test_rollouts_keep_the_source_of_each_sample(run, tmp_path, mixture):
    out = tmp_path / "out.jsonl"
    assert run("mix", mixture, "--out", out).code == 0
    for each in tmp_path.rglob("*.png"):  # whose headers alone are there
        Image.new("RGB", (64, 48)).save(each)
    engine = ("--engine", f"{seeded.__file__}:Scripted", "--model", "m")
    result = run("rollout", out, *engine, "--n", 1, "--out", tmp_path / "rollouts")
    assert result.code == 0, result.err
    rows = open_rows(tmp_path / "rollouts").batches()
    named = {(row["sample_id"], row["source"]) for batch in rows for row in batch.rows}
    assert {name.partition("/")[0] for name, _ in named} == {source for _, source in named}
    assert len(named) == 6


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("datasets: 7", "is no mixture ('int' object is not iterable); expected datasets: a list with a path for each"),
        ("datasets: [", "is no mixture ("),
        ("datasets: []", "is empty"),
        ("datasets: [{path: own.jsonl}, {path: own.jsonl}]", "two data sets are called own; give each a name"),
        ("datasets: [{name: x}]", "data set 0: got {'name': 'x'}; expected an object with path, or json_path"),
        ("datasets: [{path: own.jsonl, tak: all}]", "data set 0: got 'tak'; expected json_path, "),
        ("datasets: [{path: own.jsonl, take: 'some:1'}]", "own, take: got 'some:1'; expected all, first:N, end:N or"),
        ("datasets: [{path: own.jsonl, take: 'first:0'}]", "no sample is taken of any data set"),
        ("datasets: [{path: gta.json}]", "gta.json: which layout is it? Its fields are those of gta1 (thousandths), "),
        ("datasets: [{path: own.jsonl}]", "nothing names its space"),
        ("datasets: [{path: no.jsonl}]", "no.jsonl: "),
    ],
)
def test_a_mixture_that_cannot_be_read_is_one_error(run, tmp_path, mixture, text, error):
    mixture.write_text(text)
    result = run("mix", mixture, "--for", "verl", "--out", tmp_path / "out.parquet")
    assert result.code == 2
    assert error in result.err.splitlines()[-1]
    assert not list(tmp_path.glob("out*"))
