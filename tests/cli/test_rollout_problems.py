"""Rows of a rollout table that nobody answered: they count neither as right nor as wrong."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tests.cli.command import Runner, result_of, write_rows
from tests.cli.test_rollout import CLICK, words
from tests.engines.test_rollout import BOX, data

LEFT_OUT = (
    "2 of 6 rows have no response for a cause that is not the model's ('the prompt of 7 characters is refused'); they "
    "are left out"
)


def test_eval_leaves_them_out_and_says_so(run: Runner, tmp_path: Path):
    out = tmp_path / "out"
    run(*words(data(tmp_path, "easy", "refused", "hard"), out))
    result = run("eval", out, "--response-space", "pixel", "--by", "instruction", "--json")
    (counts,) = result_of(result.out)
    assert (counts["n"], counts["correct"], counts["left_out"], [*counts["by"]["instruction"]]) == (
        4, 2, 2, ["easy", "hard"],
    )  # fmt: skip
    assert LEFT_OUT in counts["warnings"]
    assert f"warning: {LEFT_OUT}\n" in result.err


def test_so_do_comparisons_consensus_and_joined_answers(run: Runner, tmp_path: Path):
    source, out = data(tmp_path, "easy", "refused", "hard", problem="which?"), tmp_path / "out"
    run(*words(source, out, "--instruction-column", "instruction"))
    for more in (["--consensus"], ["--paired", out]):
        result = run("eval", out, *more, "--response-space", "pixel", "--json")
        assert LEFT_OUT in result.err
        plain = result_of(result.out)
        first = plain["files"][0] if "files" in plain else plain[0]
        assert first["left_out"] == 2
        assert first["reasons"] == ({"OK": 2} if more == ["--consensus"] else {"OK": 4})
    joined = ("--predictions", out, "--id", "id", "--response-space", "pixel", "--json", "--target-column", "bbox")
    result = run("eval", source, *joined)
    assert result_of(result.out)[0]["left_out"] == 2, result.err


def test_other_files_have_a_column_of_that_name(run: Runner, tmp_path: Path):
    rows = ({"problem": "click save", "response": text, "bbox": BOX} for text in ("(250, 200)", None))
    result = run("eval", write_rows(tmp_path / "rows.jsonl", *rows), "--response-space", "pixel", "--json")
    (counts,) = result_of(result.out)
    assert (counts["n"], counts["correct"], "left_out" in counts) == (2, 1, False)


def test_an_image_that_cannot_be_read_needs_no_size(run: Runner, tmp_path: Path):
    Image.new("RGB", (640, 480)).save(tmp_path / "a.png")
    rows = ({"id": name, "prompt": "easy", "image": f"{name}.png", "bbox": BOX} for name in "ab")
    source, out = write_rows(tmp_path / "data.jsonl", *rows), tmp_path / "deep" / "out"
    out.parent.mkdir()
    assert run(*words(source, out)).code == 0
    result = run("eval", out, "--response-space", "thousandths", "--option", "target_space=pixel", "--json")
    assert result_of(result.out)[0]["n"] == 2, result.err
    assert run("pool", "score", out, *CLICK, "--out", tmp_path / "scored").code == 0
    stats = result_of(run("pool", "stats", tmp_path / "scored", "--json").out)
    assert (stats["rollouts"], stats["unscored"], stats["accuracy"]) == (4, 2, 1.0)


def test_comparisons_know_samples_of_one_screenshot_whose_image_is_bytes(run: Runner, tmp_path: Path):
    table = []
    for row in range(6):
        file = BytesIO()
        Image.new("RGB", (640, 480), (0, 0, row // 2)).save(file, "PNG")
        table.append({"id": str(row), "prompt": "go", "image": file.getvalue(), "bbox": BOX})
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "data.parquet")
    for seed in (1, 2):
        assert run(*words(tmp_path / "data.parquet", tmp_path / str(seed), "--seed", seed)).code == 0
    plain = run("eval", tmp_path / "1", tmp_path / "2", "--paired", "--response-space", "pixel", "--json")
    paired = result_of(plain.out)["paired"]
    assert (paired["n"], paired["images"]) == (6, 3)


def test_without_any_response_there_is_nothing_to_count(run: Runner, tmp_path: Path):
    out = tmp_path / "out"
    run(*words(data(tmp_path, "refused"), out))
    result = run("eval", out, "--response-space", "pixel")
    assert (result.code, result.out) == (2, "")
    assert "no row has a response, the first for this: the prompt of 7 characters is refused" in result.err


def test_samples_without_names_are_paired_by_what_they_hold(run: Runner, tmp_path: Path):
    further = {"problem": None, "cut": False, "seed": 1, "prompt_tokens": None, "response": "(250, 200)"}
    table = [{"prompt": word, "bbox": BOX, **further} for word in ("easy", "hard", "open")]
    table[0] |= {"response": None, "problem": "the server is down"}
    write_rows(tmp_path / "a.jsonl", *table)
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "a.parquet")
    files = (tmp_path / "a.jsonl", tmp_path / "a.parquet")
    plain = result_of(run("eval", *files, "--paired", "--response-space", "pixel", "--json").out)
    assert ([each["left_out"] for each in plain["files"]], plain["paired"]["n"]) == ([1, 1], 2)
