"""The flags of ``model`` and its bounds, on every command that scores."""

from __future__ import annotations

import json

from grounding_rewards.coords.resizing import model_image_size

SCREEN = (1920, 1080)
QWEN = {"model": "qwen2_5_vl", "max_pixels": 1003520}
SEEN = model_image_size(*SCREEN, "qwen2_5_vl", max_pixels=1003520)
CLICK = f"({960 * SEEN[0] / 1920:.2f}, {530 * SEEN[1] / 1080:.2f})"


def test_every_command_that_scores_has_the_flags(run, tmp_path):
    row = {"sample_id": "a", "response": CLICK, "target": {"bbox": [940, 500, 980, 560], "image_size": SCREEN}}
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps(row) + "\n")
    words = ("--pipeline", "qwen2_5_vl", "--max-pixels", "1003520")
    assert json.loads(run("score", source, "--recipe", "click", *words, "--out", out, "--json").out)["hit_rate"] == 1.0
    (found,) = json.loads(run("eval", source, *words, "--json").out)
    assert (found["accuracy"], found["recipe"]) == (1.0, {"name": "click", **QWEN})
    options = ("--option", "model=qwen2_5_vl", "--option", "max_pixels=1003520")
    assert json.loads(run("eval", source, *options, "--json").out) == [found]
    explained = json.loads(run("explain", "--recipe", "click", source, "--row", "0", *words, "--json").out)
    assert (explained["total"], explained["extents"][-1]) == (
        1.0,
        {
            "space": "model_pixel",
            "width": SEEN[0],
            "height": SEEN[1],
            "origin": "made from image_size by the option model",
        },
    )
    assert run("pool", "score", source, "--recipe", "click", *words, "--out", tmp_path / "scored").code == 0
    shown = json.loads(run("recipes", "click", *words, "--json").out)
    assert (shown["response_space"], shown["needs"], shown["with"]) == ("model_pixel", ["image_size"], QWEN)
    assert "option model: got 'qwen'; did you mean" in run.error("eval", source, "--pipeline", "qwen")
