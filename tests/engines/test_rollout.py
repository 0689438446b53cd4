"""Rollouts of a scripted engine: rows, problems, scores, and what is taken for the same run."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import grounding_rewards as gr
from grounding_rewards.batch.rescore import rescore
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines.prompts import Prompt
from grounding_rewards.engines.rollout import RolledOut, roll_out
from grounding_rewards.engines.settings import RolloutSettings
from grounding_rewards.errors import EngineError, RecipeError, TableError
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.recorder import read_rollouts
from tests.cli.command import write_rows
from tests.engines.seeded import HIT, Scripted, Wrong

BOX = [100, 100, 400, 300]
CLICK = gr.recipe("click", response_space="pixel")
SMALL = RolloutSettings(n=2, shard_rows=3)


def data(folder: Path, *words: str, **more: Any) -> Path:
    """Rows of text alone: a sample for each instruction."""
    rows = [
        {"id": f"s{row}", "instruction": word, "bbox": BOX, "kind": "icon"} | more for row, word in enumerate(words)
    ]
    return write_rows(folder / "data.jsonl", *rows)


def rows(out: Path, *columns: str) -> list[dict[str, Any]]:
    """Rows of the shards, in their order."""
    files = sorted(out.glob("*.parquet"))
    table = pa.concat_tables([pq.read_table(file) for file in files])
    return (table.select(list(columns)) if columns else table).to_pylist()


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def test_a_row_has_all_that_is_known_of_it(tmp_path):
    source = data(tmp_path, "easy", source="clicks", step=4)
    done = roll_out(source, Scripted("m/7b"), tmp_path / "out", settings=RolloutSettings(n=1, round=2), recipe=CLICK)
    (row,) = rows(tmp_path / "out")
    seed = RolloutSettings().seed_of("s0", 1.0, 0)
    assert row == {
        "sample_id": "s0", "round": 2, "rollout": 0, "recipe": "click", "response": f"{HIT} {seed}", "total": 1.0,
        "acc": 1.0, "reason": "OK", "x_unit": None, "y_unit": None,
        "target": '{"bbox": [100, 100, 400, 300], "space": "pixel"}',
        "image_size": None, "model_image_size": None, "source": "clicks", "temperature": 1.0, "policy": "m/7b",
        "trajectory": None, "step": 4, "train_step": None, "token_length": 7, "id": "s0", "instruction": "easy",
        "kind": "icon", "problem": None, "cut": seed % 10 == 0, "seed": seed, "prompt_tokens": 40, "hit": 1.0,
        "refusal": 0.0, "outcome": 1.0, "format": 1.0,
    }  # fmt: skip
    assert isinstance(done, RolledOut)
    assert (done.made, done.found, done.missing) == (1, 0, 0)
    figures = {
        name: done.manifest[name] for name in ("samples", "rows", "answered", "scored", "hit_rate", "parse_rate")
    }
    assert figures == {"samples": 1, "rows": 1, "answered": 1, "scored": 1, "hit_rate": 1.0, "parse_rate": 1.0}
    assert done.manifest["mean_token_length"] == 7.0


@pytest.mark.parametrize("name", ["click", "gui-rcpo", "ui-r1-dast"])
def test_scores_are_those_of_pool_score(tmp_path, name):
    options = {} if name == "ui-r1-dast" else {"response_space": "pixel"}
    recipe = gr.recipe(name, **options)
    source = data(tmp_path, *"abcdefg", bbox={"bbox": BOX}, image_size=[640, 480])
    roll_out(source, Scripted("m"), tmp_path / "scored", settings=SMALL, recipe=recipe)
    roll_out(source, Scripted("m"), tmp_path / "bare", settings=SMALL)
    assert {row["acc"] for row in rows(tmp_path / "bare")} == {None}
    rescore([tmp_path / "bare"], recipe, tmp_path / "later", bad_target="abstain")
    both = [read_rollouts(tmp_path / each).to_pylist() for each in ("scored", "later")]
    assert both[0] == both[1]
    assert len({row["response"] for row in both[0]}) == len(both[0]) == 14


def test_rows_of_an_image(tmp_path):
    for name, size in (("a.png", (1280, 720)), ("b.png", (300, 200))):
        Image.new("RGB", size, "white").save(tmp_path / name)
    source = write_rows(
        tmp_path / "data.jsonl",
        *({"id": name, "prompt": "go", "image": f"{name}.png", "bbox": BOX} for name in "abc"),
    )
    recipe = gr.recipe("click", response_space="model_pixel")
    out = tmp_path / "out"
    done = roll_out(source, Scripted("m", right=100, resizes="qwen3_vl"), out, settings=SMALL, recipe=recipe)
    named = rows(out, "sample_id", "image_size", "model_image_size", "problem", "acc")
    assert named[0] == named[1] == {
        "sample_id": "a", "image_size": [1280, 720], "model_image_size": [1280, 704], "problem": None, "acc": 1.0,
    }  # fmt: skip
    assert (named[2]["image_size"], named[2]["model_image_size"]) == ([300, 200], [320, 224])
    assert named[4] == named[5]
    assert (named[4]["image_size"], named[4]["acc"]) == (None, None)
    assert named[4]["problem"].startswith("image: cannot read 'c.png'")
    assert done.manifest["problems"] == [{"rows": 2, "sample_id": "c", "problem": named[4]["problem"]}]
    assert done.manifest["answered"] == 4
    named_size = Resizing("qwen2_5_vl", max_pixels=100_000)
    roll_out(source, Scripted("m", resizes="qwen3_vl"), tmp_path / "own", settings=SMALL, resizing=named_size)
    assert rows(tmp_path / "own", "model_image_size")[0] == {"model_image_size": [420, 224]}


def test_the_pipeline_says_the_size_of_rows_without_an_image(tmp_path):
    source = data(tmp_path, "easy", bbox={"bbox": BOX, "space": "model_pixel"}, image_size=[1920, 1080])
    recipe, resizing = gr.recipe("click", response_space="model_pixel"), Resizing("qwen2_5_vl")
    roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL, recipe=recipe, resizing=resizing)
    assert rows(tmp_path / "out", "acc", "recipe", "model_image_size") == 2 * [
        {"acc": 1.0, "recipe": "click", "model_image_size": [1932, 1092]},
    ]  # fmt: skip
    rescore([tmp_path / "out"], recipe, tmp_path / "later", bad_target="raise")  # the rows say it to later readers


def test_embedded_images_are_sent_and_not_written(tmp_path):
    file = BytesIO()
    Image.new("RGB", (64, 64)).save(file, "PNG")
    image = {"bytes": file.getvalue(), "path": None}
    table = pa.table(
        {"sample_id": ["a", "b"], "prompt": ["go", "go"], "images": [[image], [image, image]], "n": [1, 2]}
    )
    pq.write_table(table, tmp_path / "data.parquet")
    notes, out = list[str](), tmp_path / "out"
    roll_out(
        tmp_path / "data.parquet", Scripted("m"), out, settings=SMALL, columns=Columns(target="none"), note=notes.append
    )
    assert "columns that hold bytes, such as images, are not written: images" in notes
    assert [(row["sample_id"], row["image_size"], row["n"]) for row in rows(out)][::2] == [
        ("a", [64, 64], 1), ("b", [64, 64], 2),
    ]  # fmt: skip
    one = sha256(file.getvalue())
    assert [row["image_hash"] for row in rows(out)][::2] == [
        f"sha256:{one.hexdigest()}", f"sha256:{sha256(2 * one.digest()).hexdigest()}",
    ]  # fmt: skip
    url = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    source = write_rows(tmp_path / "data.jsonl", {"id": "a", "prompt": "go", "shot": url}, {"id": "b", "prompt": "go"})
    roll_out(source, Scripted("m"), tmp_path / "urls", settings=SMALL, columns=Columns(image="shot"))
    assert [(row["image_size"], row["problem"]) for row in rows(tmp_path / "urls")][::2] == [
        ([64, 64], None), (None, 'image: got nothing; expected a path, bytes, {"bytes": ..., "path": ...}, a data URL '
         "or a list of these"),
    ]  # fmt: skip
    assert "shot" not in rows(tmp_path / "urls")[0]
    assert [row["image_hash"] for row in rows(tmp_path / "urls")][::2] == [f"sha256:{one.hexdigest()}", None]
    assert "image_hash" not in rows(_of_a_file(tmp_path, file.getvalue()))[0]


def _of_a_file(folder: Path, image: bytes) -> Path:
    (folder / "a.png").write_bytes(image)
    source = write_rows(folder / "files.jsonl", {"id": "a", "prompt": "go", "image": "a.png"})
    roll_out(source, Scripted("m"), folder / "files", settings=SMALL)
    return folder / "files"


def test_refused_prompts_and_bad_instructions_are_rows(tmp_path):
    words = ["easy", "refused", "refused as well", "", "hard"]
    warnings = list[str]()
    done = roll_out(
        data(tmp_path, *words), Scripted("m"), tmp_path / "out", settings=SMALL, recipe=CLICK, warn=warnings.append
    )
    named = rows(tmp_path / "out", "response", "problem", "acc", "cut", "rollout", "total")
    assert [row["acc"] for row in named] == [1.0, 1.0, *[None] * 6, 0.0, 0.0]
    assert [row["rollout"] for row in named] == [0, 1] * 5
    assert named[2]["problem"] == "the prompt of 7 characters is refused"
    assert (named[2]["response"], named[2]["cut"], named[2]["total"]) == (None, None, None)
    assert named[6]["problem"].startswith("instruction: got ''")
    assert [(each["rows"], each["sample_id"]) for each in done.manifest["problems"]] == [(4, "s1"), (2, "s3")]
    assert warnings[0] == (
        "4 rollouts have no response, the first is of sample 's1': the prompt of 7 characters is refused"
    )


def test_a_template_sees_the_row_and_the_sizes(tmp_path):
    prompt = Prompt("mine", "{{ row.kind }}: {{ instruction }} easy", "be brief")
    roll_out(
        data(tmp_path, "go"), Scripted("m", right=0), tmp_path / "out", settings=SMALL, recipe=CLICK, prompt=prompt
    )
    assert {row["acc"] for row in rows(tmp_path / "out")} == {1.0}


def test_targets_that_cannot_be_read_are_not_scored(tmp_path):
    source = write_rows(
        tmp_path / "data.jsonl",
        *({"id": name, "prompt": "easy", "bbox": box} for name, box in (("a", BOX), ("b", [1]))),
    )
    warnings = list[str]()
    roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL, recipe=CLICK, warn=warnings.append)
    assert [(row["acc"], row["reason"]) for row in rows(tmp_path / "out")] == [(1.0, "OK")] * 2 + [
        (None, "BAD_TARGET")
    ] * 2
    assert any("'b'" in text for text in warnings)
    write_rows(source, {"id": "a", "prompt": "easy", "bbox": [1]}, {"id": "b", "prompt": "easy", "bbox": [2]})
    with pytest.raises(TableError, match=r"no target can be used, the first is row 0 \(line 1\): .*expected 4 numbers"):
        roll_out(source, Scripted("m"), tmp_path / "other", settings=SMALL, recipe=CLICK)
    assert not (tmp_path / "other").exists()


def test_a_row_that_repeats_another_is_left_out_and_a_name_of_two_samples_is_an_error(tmp_path):
    source = data(tmp_path, "go", "stop")
    first = source.read_text().splitlines()[0]
    source.write_text(source.read_text() + first + "\n")
    warnings = list[str]()
    done = roll_out(source, Scripted("m"), tmp_path / "out", settings=SMALL, warn=warnings.append)
    assert (done.manifest["samples"], len(rows(tmp_path / "out"))) == (2, 4)
    assert warnings == ["1 rows repeat an earlier one, with its name, and are left out: one sample is asked once"]
    source.write_text(source.read_text() + json.dumps({**json.loads(first), "instruction": "else"}) + "\n")
    with pytest.raises(TableError, match=r"row 3 \(line 4\): sample 's0' is in row 0 already, with another"):
        roll_out(source, Scripted("m"), tmp_path / "other", settings=SMALL)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"settings": RolloutSettings(n=3, shard_rows=3)}, "n 2, and not 3"),
        ({"settings": RolloutSettings(n=2, shard_rows=3, seed=1)}, "seed 0, and not 1"),
        ({"engine": Scripted("other")}, "engine"),
        ({"engine": Scripted("m", right=1)}, "engine.right 50, and not 1"),
        ({"recipe": gr.recipe("click", response_space="unit")}, "recipe"),
        ({"prompt": Prompt("mine", "{{ instruction }}!")}, "prompt"),
        ({"resizing": Resizing("qwen3_vl")}, "resizing null, and not"),
    ],
)
def test_a_directory_of_other_settings_is_refused(tmp_path, change, differs):
    source, out = data(tmp_path, *"abcd"), tmp_path / "out"
    known = {"engine": Scripted("m"), "settings": SMALL, "recipe": CLICK}
    roll_out(source, out=out, **known)
    before = contents(out)
    with pytest.raises(TableError, match=f"was made with {differs}"):
        roll_out(source, out=out, **known | change)
    assert contents(out) == before
    again = roll_out(source, out=out, **known | {"engine": Scripted("m", pace=0.01, batches=2)})
    assert (again.made, again.found) == (0, 2)
    assert roll_out(source, out=out, overwrite=True, **known | change).made == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"settings": RolloutSettings(most=9)}, EngineError, "until mixed: needs a recipe"),
        ({"settings": RolloutSettings(n=None)}, EngineError, "n: expected either"),
        ({"allocated": "more.jsonl"}, EngineError, "n: expected either"),
        ({"shard": (2, 2)}, EngineError, "shard: got 2/2; expected i/n with i from 0 to n - 1"),
        ({"recipe": gr.recipe("ui-s1", returns=True)}, RecipeError, "adds up a trajectory"),
        ({"engine": Scripted("none")}, EngineError, "^there is no model 'none'$"),
        ({"engine": Wrong("raises")}, EngineError, "the engine raised KeyError: 'logits'"),
        ({"engine": Wrong("m")}, EngineError, "the engine gave 0 answers in 0 replies; expected 16 in 2"),
        ({"columns": Columns(image="screen")}, TableError, "no column 'screen'"),
        ({"instruction": "ask"}, TableError, r"no column 'ask' \(--instruction-column\)"),
    ],
)
def test_what_does_not_fit_is_one_clear_error_and_leaves_nothing(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        roll_out(data(tmp_path, "a", "b"), out=tmp_path / "out", **{"engine": Scripted("m"), **arguments})
    assert not (tmp_path / "out").exists()


def test_the_directory_may_not_hold_the_data(tmp_path):
    with pytest.raises(TableError, match="lies in the input"):
        roll_out(data(tmp_path, "a").parent, Scripted("m"), tmp_path / "out")
