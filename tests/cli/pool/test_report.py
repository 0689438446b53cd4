"""``grounding-rewards pool report``: one page, the same for the same command."""

from __future__ import annotations

import io
import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.cli.command import names, result_of, write_rows
from tests.cli.test_published_verdicts import FOLDER, space
from tests.pool.report.made import HOSTILE, manifest

BOX = '{"bbox": [10, 10, 30, 20]}'
PIXEL = ("--target-space", "pixel")


def rollouts(sample, right, **more):
    """Four rollouts of a sample, of which so many are right; the others agree on another place."""
    for number in range(4):
        place = (0.1, 0.15) if number < right else (0.8, 0.8)
        yield {
            "sample_id": sample, "rollout": number, "acc": float(number < right), "total": float(number < right),
            "x_unit": place[0], "y_unit": place[1], "target": BOX, "image_size": [200, 100], "source": "web",
            "reason": "OK", "response": f"{HOSTILE} {place}", **more,
        }  # fmt: skip


@pytest.fixture
def two(tmp_path):
    """Two rounds of three samples, in one file, that the column tells apart."""
    before = [row for sample, right in zip("abc", (4, 0, 1), strict=True) for row in rollouts(sample, right, round=1)]
    after = [row for sample, right in zip("abc", (4, 0, 3), strict=True) for row in rollouts(sample, right, round=2)]
    return write_rows(tmp_path / "two.jsonl", *after, *before)


def reported(run, *words):
    result = run("pool", "report", *words, "--json")
    assert result.code == 0, result.err
    return result_of(result.out)


def test_one_page_the_same_whatever_the_order_of_rows(run, two, tmp_path):
    pool = tmp_path / "pool.parquet.manifest.json"
    pool.write_text(json.dumps(manifest()))
    out = tmp_path / "new" / "report"
    result = run("pool", "report", two, pool, "--out", out, *PIXEL)
    assert (result.code, result.out) == (0, "")
    assert result.err == f"2 rounds and 1 pool written to {out}/report.html\n"
    assert names(out) == ["report.html"]
    first = (out / "report.html").read_bytes()
    lines = two.read_text().splitlines()
    two.write_text("\n".join(reversed(lines)) + "\n")
    (out / "mine.png").write_text("stays")
    run("pool", "report", two, pool, "--out", out, *PIXEL)
    assert (out / "report.html").read_bytes() == first
    assert names(out) == ["mine.png", "report.html"]


def test_json_holds_the_numbers_that_are_shown(run, two, tmp_path):
    found = reported(run, two, "--out", tmp_path / "report", "--title", HOSTILE, *PIXEL)
    assert found["page"] == str(tmp_path / "report" / "report.html")
    assert [(each["round"], each["correct"], each["none_correct"]) for each in found["rounds"]] == [
        ("round 1", 5, 1), ("round 2", 7, 1),
    ]  # fmt: skip
    (moved,) = found["transitions"]
    assert (moved["up"], moved["same"], moved["down"], moved["never_solved"], moved["escaped"]) == (1, 2, 0, 1, 0)
    assert found["sizes"][0]["by_size"][0]["samples"] == 3
    (suspect,) = found["suspects"]
    assert (suspect["sample_id"], suspect["clicks_unit"]) == ("b", [[0.8, 0.8]] * 4)
    assert suspect["targets_unit"] == [[[0.05, 0.1], [0.15, 0.1], [0.15, 0.2], [0.05, 0.2]]]
    assert set(found["missing"]) == {"temperature", "pools", "hardest"}
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "\\u003cscript>alert" in page


def png(size=(200, 100)):
    file = io.BytesIO()
    Image.new("RGB", size, (240, 240, 240)).save(file, "PNG")
    return file.getvalue()


def test_screenshots_and_instructions_come_from_data(run, two, tmp_path):
    (tmp_path / "b.png").write_bytes(png())
    images = [[{"bytes": png(), "path": None}], [{"bytes": None, "path": "b.png"}], [{"bytes": b"no", "path": None}]]
    columns = {"sample_id": ["a", "b", "x"], "instruction": ["A", "B", "X"], "images": images}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    words = (two, "--out", tmp_path / "report", *PIXEL)
    found = reported(run, *words, "--data", tmp_path / "data.parquet")
    assert (found["suspects"][0]["instruction"], found["suspects"][0]["screenshot"]) == ("B", True)
    assert found["remarks"] == []
    (tmp_path / "b.png").unlink()
    found = reported(run, *words, "--data", tmp_path / "data.parquet")
    assert (found["suspects"][0]["instruction"], found["suspects"][0]["screenshot"]) == ("B", False)
    assert found["remarks"][0].startswith("1 screenshot cannot be read, the first: ")
    prompt = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Do it"}]}]
    packed = write_rows(tmp_path / "verl.jsonl", {"extra_info": {"id": "b"}, "prompt": prompt, "image": HOSTILE})
    found = reported(run, *words, "--data", packed)
    assert (found["suspects"][0]["instruction"], found["suspects"][0]["screenshot"]) == ("Do it", False)


def test_a_page_that_cannot_be_written_leaves_the_old_one(run, two, tmp_path, monkeypatch):
    out = tmp_path / "report"
    reported(run, two, "--out", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def failing(partial, target):
        raise OSError(28, "No space left on device", str(target))

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", failing)
        assert "no space is left" in run.error("pool", "report", two, "--out", out, "--title", "new")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.skipif(not FOLDER.is_dir(), reason="published responses are not here: ../shared/data/model_responses")
def test_three_published_models_as_three_rounds(run, tmp_path):
    files = ["osworld-g-uitars-7b-gelato-baseline", "osworld-g-gta1-7b-2507", "osworld-g-gelato-30b"]
    for name in files:
        words = ("--recipe", "click", "--response-space", space(FOLDER / f"{name}.jsonl"), "--out", tmp_path / name)
        assert run("pool", "score", FOLDER / f"{name}.jsonl", *words).code == 0
    paths = [tmp_path / name for name in files]
    found = reported(run, *paths, "--out", tmp_path / "report", *PIXEL)
    assert [(each["round"], each["samples"], each["correct"]) for each in found["rounds"]] == [
        (files[0], 510, 333), (files[1], 510, 316), (files[2], 510, 379),
    ]  # fmt: skip
    first, second = found["transitions"]
    assert (first["before"], first["after"], first["both"]) == ([177, 333], [194, 316], 510)
    assert (second["before"], second["after"], second["both"]) == ([194, 316], [131, 379], 510)
    assert [sum(line["correct"] for line in each["by_size"]) for each in found["sizes"]] == [333, 316, 379]
    assert all(each["responses"] for each in found["hardest"])


def test_targets_of_an_own_recipe_are_read_by_it_and_never_by_its_name_in_the_rollouts(run, tmp_path):
    own = tmp_path / "lab.py"
    own.write_text("import grounding_rewards as gr\n\n\ndef make():\n    return gr.recipe('gelato')\n")
    rows = [{**row, "recipe": f"{own}:make", "target": "[0.1, 0.1, 0.2, 0.3]"} for row in rollouts("a", 0)]
    file = write_rows(tmp_path / "own.jsonl", *rows)
    found = reported(run, file, "--out", tmp_path / "report")
    (remark,) = [each for each in found["remarks"] if "neither built in nor installed" in each]
    assert "give --recipe NAME or --target-space SPACE" in remark
    (only,) = [*found["hardest"], *found["suspects"]]
    assert (found["sizes"], only["targets_unit"]) == ([], [])
    found = reported(run, file, "--out", tmp_path / "report", "--recipe", f"{own}:make")
    assert not [each for each in found["remarks"] if "installed" in each]
    (only,) = [*found["hardest"], *found["suspects"]]
    assert only["targets_unit"] == [[[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]]]
    assert found["sizes"][0]["by_size"]


def test_a_pool_of_an_own_recipe_records_whose_form_targets_have(run, tmp_path):
    rows = [{**row, "recipe": "lab:make", "target": "[0.1, 0.1, 0.2, 0.3]"} for row in rollouts("a", 2)]
    file = write_rows(tmp_path / "own.jsonl", *rows)
    words = ("pool", "next", file, "--out", tmp_path / "pool.jsonl", "--seed", 1, "--zero-share", 0, "--json")
    result = run(*words)
    assert (result.code, result_of(result.out)["settings"]["recipe"]) == (0, None)
    assert "1 samples have a target that is not read" in result.err
    result = run(*words, "--recipe", "gelato")
    assert result_of(result.out)["settings"]["recipe"] == {"name": "gelato"}
    assert "not read" not in result.err
