"""``mix``: several training sets to the rows of one trainer."""

import base64
import json
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from grounding_rewards.tables.opening import open_rows
from tests.cli.command import read_rows, write_rows
from tests.cli.test_training_sets import BYTES, ELEMENTS, PX, UNIT, WIRES, in_pixels, in_unit, said, write
from tests.engines import seeded

MIX = """
datasets:
  - {json_path: rows.json, sampling_strategy: all}
  - {json_path: gta.json, sampling_strategy: "end:1", layout: gta1, images_folder: .}
  - {path: wave.parquet, name: wave, take: "random:50%", where: {platform: web}, per_image: 4}
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
    rows = manifest["datasets"]["rows"]
    assert (rows["path"]["path"], rows["samples"], rows["taken"]) == (str(tmp_path / "rows.json"), 6, 2)
    assert (rows["left_out"], manifest["datasets"]["wave"]["left_out"]) == (
        lost,
        {"by where": 5, "by per_image": 1, "by take": 2},
    )
    assert len(rows["path"]["sha256"]) == 64
    taken = {name: each["taken"] for name, each in manifest["datasets"].items()}
    assert taken == {"rows": 2, "gta": 1, "wave": 2, "own": 1}
    assert "wave: 2 of 10 samples, left out 5 by where, 2 by take, 1 by per_image\n" in result.err


def test_the_same_seed_gives_the_same_rows_and_rollouts_read_them(run, tmp_path, mixture):
    first, again, other = (tmp_path / f"{name}.jsonl" for name in ("first", "again", "other"))
    mixture.write_text('datasets: [{path: wave.parquet, take: "random:3"}]')
    for out, seed in ((first, 0), (again, 0), (other, 3)):
        assert run("mix", mixture, "--out", out, "--seed", seed).code == 0
    names = [[row["instruction"] for row in read_rows(out)] for out in (first, again, other)]
    assert names[0] == names[1] != names[2]
    assert {*read_rows(first)[0]} == {"images", "instruction", "target", "id", "source"}
    ((image,),) = {(*row["images"],) for row in read_rows(first)}  # bytes of ten rows are one file
    with open(image, "rb") as file:
        assert file.read() == BYTES["bytes"]


def test_rows_that_hold_their_images_leave_no_folder_of_them(run, tmp_path, mixture):
    out = tmp_path / "out.jsonl"
    assert run("mix", mixture, "--for", "verl", "--out", tmp_path / "out.parquet").code == 0
    kept = sorted((tmp_path / "out.images").iterdir())  # which rows of verl name
    before = {*tmp_path.iterdir()}
    result = run("mix", mixture, "--for", "nemo_gym", "--out", out)
    assert result.code == 0, result.err
    assert {*tmp_path.iterdir()} - before == {out, tmp_path / "out.jsonl.manifest.json"}
    assert sorted((tmp_path / "out.images").iterdir()) == kept
    parts = [row["responses_create_params"]["input"][0]["content"][0] for row in read_rows(out)]
    encoded = base64.b64encode(BYTES["bytes"]).decode()
    assert {part["image_url"] for part in parts} == {f"data:image/png;base64,{encoded}"}


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


def test_a_pool_of_a_mixture_leaves_out_a_source(run, tmp_path, mixture):
    out, rollouts, pool = (tmp_path / f"{name}.jsonl" for name in ("out", "rollouts", "pool"))
    assert run("mix", mixture, "--out", out).code == 0
    samples = [{"sample_id": row["id"], "source": row["source"]} for row in read_rows(out)]
    write_rows(rollouts, *({**each, "rollout": acc, "acc": acc} for each in samples for acc in (0, 1)))
    result = run("pool", "next", rollouts, "--data", out, "--exclude-source", "rows", "--out", pool)
    assert result.code == 0, result.err
    assert [row["source"] for row in read_rows(pool)] == ["gta", "wave", "wave", "own"]


FILTERED = """
max_area: 0.2
drop: [outside, duplicate]
datasets:
  - {path: a.jsonl, space: unit, template: "Click {instruction}", overlap: {boxes: boxes.jsonl, space: unit}}
  - {path: b.jsonl, space: unit, instruction: long, share: 0.5, max_area: null}
"""


def test_filters_count_what_each_source_lost_and_shares_are_of_what_is_left(run, tmp_path):
    write(tmp_path, "json", [])
    box, row = [0, 0, 0.1, 0.1], {"image": "a.png", "instruction": "Own", "long": "Longer"}
    boxes = {
        "a": [box, [0.5, 0.5, 0.6, 0.6], [0, 0, 1, 1], [0, 0, 2, 1], box],
        "b": [[0, 0, 0.5, n / 9] for n in range(1, 7)],
    }
    for name, each in boxes.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({**row, "bbox": one}) + "\n" for one in each))
    (tmp_path / "boxes.jsonl").write_text(json.dumps({"image": "a.png", "boxes": [[0, 0, 0.1, 0.2]]}))
    (tmp_path / "mix.yaml").write_text(FILTERED)
    out = tmp_path / "out.jsonl"
    result = run("mix", tmp_path / "mix.yaml", "--out", out, "--json")
    assert result.code == 0, result.err
    left = {name: each["left_out"] for name, each in json.loads(result.out)["result"]["datasets"].items()}
    lost = {"beside detected boxes": 1, "with a large box": 1, "outside the image": 1, "duplicate": 1}
    assert left == {"a": lost, "b": {"by share": 5}}
    rows = read_rows(out)
    assert [(each["instruction"], each["source"]) for each in rows] == [("Click Own", "a"), ("Longer", "b")]
    again = run("convert", tmp_path / "a.jsonl", "--for", "trl", "--target-space", "unit", "--out", out, "--drop",
                "outside", "--drop", "duplicate", "--max-area", 0.2, "--overlap", tmp_path / "boxes.jsonl",
                "--overlap-space", "unit", "--json")  # fmt: skip
    assert json.loads(again.out)["result"]["filtered"] == {"a": lost}
    assert "left out by filters: 1 beside detected boxes, 1 with a large box, " in again.err
    assert len(read_rows(out)) == 1


def test_a_killed_mixture_goes_on_with_the_next_data_set(run, tmp_path, mixture):
    out, manifest = tmp_path / "out.jsonl", tmp_path / "out.jsonl.manifest.json"
    assert run("mix", mixture, "--out", out).code == 0
    whole = out.read_bytes(), manifest.read_bytes()
    out.unlink()
    script = (
        "import os, signal, sys\n"
        "from grounding_rewards.converting import mixture\n"
        "from grounding_rewards.cli import main\n"
        "own = mixture.Part.converter\n"
        "def killed(part, *rest):\n"
        "    if part.name == 'wave':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return own(part, *rest)\n"
        "mixture.Part.converter = killed\n"
        "main(sys.argv[1:])\n"
    )
    words = ("mix", str(mixture), "--out", str(out))
    assert subprocess.run([sys.executable, "-c", script, *words], check=False).returncode == -signal.SIGKILL
    assert not out.exists()
    made = [*(tmp_path / "..out.jsonl.sets.unfinished").glob("sets-*")]
    assert len(made) == 4
    result = run(*words)
    assert result.code == 0
    assert "note: gta: " not in result.err  # which was there
    assert "note: wave: " in result.err
    assert (out.read_bytes(), manifest.read_bytes()) == whole
    assert not [*tmp_path.glob(".*")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("datasets: 7", "is no mixture ('int' object is not iterable); expected datasets: a list with a path for each"),
        ("datasets: [", "is no mixture ("),
        ("datasets: []", "is empty"),
        ("datasets: [{path: own.jsonl}, {path: own.jsonl}]", "two data sets are called own; give each a name"),
        ('datasets: [{path: "a\\0b"}]', r"data set 0, path: got 'a\x00b'; expected a text that names a file"),
        ('datasets: [{path: a, images: "\\ud800"}]', r"data set 0, images: got '\ud800'; expected a text that names a"),
        ("datasets: [{name: x}]", "data set 0: got {'name': 'x'}; expected an object with path, or json_path"),
        ("datasets: [{path: own.jsonl, tak: all}]", "data set 0: got 'tak'; expected json_path, "),
        ("datasets: [{path: own.jsonl, take: 'some:1'}]", "own, take: got 'some:1'; expected all, first:N, end:N or"),
        ("datasets: [{path: own.jsonl, space: unit, take: 'first:0'}]", "own: no sample is left: 2 by take"),
        ("datasets: [{path: gta.json}]", "gta.json: which layout is it? Its fields are those of gta1 (thousandths), "),
        (
            "datasets: [{path: own.jsonl}]",
            "nothing names its space; give space (pixel, model_pixel, unit, thousandths)",
        ),
        ("datasets: [{path: own.jsonl, space: unot}]", "error: own: unknown space 'unot'; use one of pixel, "),
        ("datasets: [{path: own.jsonl, layout: gta}]", "error: own: layout: got 'gta'; expected a file of layouts"),
        ("datasets: [{path: own.jsonl, instruction: x}]", "error: own: no column 'x' (instruction). There are: image"),
        ("datasets: [{path: own.jsonl, images: b}]", "; name the folder of relative paths by images\n"),
        ("datasets: [{path: no.jsonl}]", "no.jsonl: "),
        ("datasets: [{path: own.jsonl, max_area: 5}]", "max_area: got 5; expected a number above 0, and at most 1"),
        (
            "datasets: [{path: own.jsonl, overlap: {box: x}}]",
            "data set 0, overlap: got 'box'; expected boxes, iou, space",
        ),
        ("datasets: [{path: own.jsonl, share: 2}]", "data set 0, share: got 2; expected a number from 0 to 1"),
        ("datasets: [{path: own.jsonl, share: -0.5}]", "data set 0, share: got -0.5; expected a number from 0 to 1"),
        ("datasets: [{path: own.jsonl, share: .nan}]", "data set 0, share: got nan; expected a number from 0 to 1"),
        ("datasets: [{path: own.jsonl, share: half}]", "data set 0, share: got 'half'; expected a number from 0 to 1"),
        ("datasets: [{path: own.jsonl, per_image: true}]", "per_image: got True; expected a whole number from 1"),
        ("datasets: [{path: own.jsonl, template: 5}]", "data set 0, template: got 5; expected a text"),
        ("datasets: [{path: own.jsonl, layout: 5}]", "data set 0, layout: got 5; expected a text"),
        ("datasets: [{path: own.jsonl, space: .nan}]", "data set 0, space: got nan; expected a text"),
        ("seed: x\ndatasets: [{path: own.jsonl}]", "mix.yaml, seed: got 'x'; expected a whole number from 0"),
        ("seed: -1\ndatasets: [{path: own.jsonl}]", "mix.yaml, seed: got -1; expected a whole number from 0"),
        ("seed: 1.5\ndatasets: [{path: own.jsonl}]", "mix.yaml, seed: got 1.5; expected a whole number from 0"),
        (
            f"datasets: [{', '.join(f'{{path: own.jsonl, name: n{n}, share: 0.1}}' for n in range(10))}, {{path: a}}]",
            "shares are 1 in all; expected less than 1",  # floats would be 1e-16 below it
        ),
        (
            "datasets: [{path: own.jsonl, share: 0.6}, {path: own.jsonl, share: 0.6, name: b}]",
            "shares are 1.2 in all; expected at most 1",
        ),
        (
            "max_aera: 1\ndatasets: [{path: own.jsonl}]",
            "got 'max_aera'; expected template, drop, max_area, max_instruct",
        ),
    ],
)
def test_a_mixture_that_cannot_be_read_is_one_error(run, tmp_path, mixture, text, error):
    mixture.write_text(text)
    result = run("mix", mixture, "--for", "verl", "--out", tmp_path / "out.parquet")
    assert result.code == 2
    assert error in result.err.splitlines(keepends=True)[-1]
    assert " --" not in result.err
    assert not list(tmp_path.glob("out*"))
