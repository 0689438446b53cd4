"""Files as people have them, beside their session: images that are read once, embedded ones and data URLs."""

from __future__ import annotations

import base64
import io

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from grounding_rewards.tables import image_files
from tests.cli.command import result_of, write_rows
from tests.image_sources import BOMB
from tests.tables.test_layouts import HUB


def png():
    """Return the bytes of an image of 200 x 100 pixels."""
    file = io.BytesIO()
    Image.new("1", (200, 100)).save(file, "png")
    return file.getvalue()


def test_each_image_is_opened_once(run, tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(png())
    opened, read = [], image_files.open_regular
    monkeypatch.setattr(
        image_files, "open_regular", lambda path, *more, **m: opened.append(path) or read(path, *more, **m)
    )
    row = {"image": "a.png", "response": "(500, 500)", "target": [90, 40, 110, 60]}
    result = run("eval", write_rows(tmp_path / "in.jsonl", row, row), "--response-space", "thousandths", "--json")
    assert (result_of(result.out)[0]["correct"], opened) == (2, ["a.png"])


def test_embedded_images_of_a_data_set_and_data_urls(run, tmp_path):
    rows = [{**HUB, "output": answer} for answer in ("(0.55, 0.4)", "(0.65, 0.4)")]
    table = pa.Table.from_pylist([{**row, "image": {"bytes": png(), "path": None}} for row in rows])
    pq.write_table(table, tmp_path / "in.parquet")
    result = run("eval", tmp_path / "in.parquet", "--response-space", "unit", "--json")
    (entry,) = result_of(result.out)
    assert (entry["correct"], entry["columns"]) == (1, {"response": "output", "target": "bbox", "image": "image"})
    assert "rows as in ScreenSpot on the Hugging Face hub" in result.err
    url = "data:image/png;base64," + base64.b64encode(png()).decode()
    row = {"images": [BOMB.hex(), url], "response": "(500, 500)", "target": [90, 40, 110, 60]}
    words = (write_rows(tmp_path / "in.jsonl", row), "--response-space", "thousandths", "--json")
    assert result_of(run("eval", *words).out)[0]["correct"] == 1


def test_help_names_what_is_guessed(run):
    text = " ".join(run("eval", "--help").out.replace("│", " ").split())
    assert "--image-root" in text
    assert "By name: response responses prediction pred" in text
