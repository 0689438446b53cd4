"""The demo's vision model, rolled out in this process and by a real ``transformers serve``: the same table."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import result_of
from tests.engines import tiny
from tests.engines.serve import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("serve"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
SAMPLES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The model, and screens as image files and as bytes in a table."""
    folder = tmp_path_factory.mktemp("engines")
    tiny.register()
    tiny.saved(folder / "model")
    rows = []
    for seed in range(SAMPLES):
        image, instruction, box = tiny.screen(seed)
        (folder / f"{seed}.png").write_bytes(image)
        target = json.dumps({"bbox": box, "space": "pixel"})
        rows.append({"sample_id": f"screen-{seed}", "prompt": instruction, "image": image, "target": target})
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    with (folder / "rows.jsonl").open("w") as file:
        for seed, row in enumerate(rows):
            file.write(json.dumps({**row, "image": f"{seed}.png"}) + "\n")
    return folder


def rolled(run, folder, *words):
    """The rows of a run, by sample and rollout, and its summary."""
    out = folder / f"out-{len(list(folder.glob('out-*')))}"
    done = run("rollout", *words, "--recipe", "gelato", "--max-tokens", "8", "--out", out, "--json")
    assert done.code == 0, done.err
    table = pq.read_table(out).sort_by([("sample_id", "ascending"), ("rollout", "ascending")])
    return table, result_of(done.out)


def test_both_engines_make_the_same_table_of_greedy_answers(run, folder):
    greedy = ["--n", "1", "--temperature", "0", "--policy", "tiny"]
    model = folder / "model"
    local = ["--engine", "transformers", "--model", model, "--engine-option", "device=cpu"]
    here, summary = rolled(run, folder, folder / "rows.jsonl", *local, *greedy)
    embedded, _ = rolled(run, folder, folder / "rows.parquet", *local, *greedy)
    with served(model, folder / "hub") as url:
        served_by = ["--engine", "openai", "--model", model, "--engine-option", f"base_url={url}"]
        there, other = rolled(run, folder, folder / "rows.jsonl", *served_by, *greedy)
        several, _ = rolled(
            run, folder, folder / "rows.jsonl", *served_by, "--n", "3", "--temperature", "1", "--seed", "7"
        )
    assert here.num_rows == there.num_rows == SAMPLES
    assert summary["rows"] == other["rows"] == SAMPLES
    assert here.schema.names == there.schema.names
    assert here["problem"].null_count == there["problem"].null_count == SAMPLES
    # A server does not say in which size its model saw an image.
    same = [name for name in here.schema.names if name != "model_image_size"]
    assert here.select(same).to_pylist() == there.select(same).to_pylist()
    assert embedded.drop_columns("image_hash").to_pylist() == here.drop_columns("image").to_pylist()
    assert len(set(here["response"].to_pylist())) > 1
    assert here["model_image_size"].to_pylist() == [[96.0, 64.0]] * SAMPLES
    assert several["rollout"].to_pylist() == [0, 1, 2] * SAMPLES
    assert len(set(several["seed"].to_pylist())) == 3 * SAMPLES
