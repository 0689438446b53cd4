"""Small functions of the tables, each on the values that tell it from a near miss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from grounding_rewards.converting.layouts import over
from grounding_rewards.tables.atomic import output_of
from grounding_rewards.tables.columns import columns_read, offered
from grounding_rewards.tables.contents import is_stream, stem_of, suffix_of
from grounding_rewards.tables.image_files import looks_like_images
from grounding_rewards.tables.json_lines import dumps
from grounding_rewards.tables.layouts import is_refusal, place_named, places_of
from grounding_rewards.tables.matched import _fold, _shown, _unlike
from grounding_rewards.tables.opening import split_of
from grounding_rewards.tables.prompts import answer, image_path, prompt_text, response_text
from grounding_rewards.tables.rollout_columns import arrow, held
from grounding_rewards.tables.rollout_sql import last_parts
from grounding_rewards.tables.rows import Batch, number, value_at
from grounding_rewards.tables.sample_ids import as_json, from_json, name_of, name_paths, plain
from grounding_rewards.tables.trainer_logs import logged
from grounding_rewards.targets.box_format import BoxFormat

_PARTS = [Path(f"rollouts-0000000{shard}-00000{part}.parquet") for shard, part in ("a1", "a2", "b1")]

_CLOSE: list[Any] = [
    "Close",
    [{"role": "user", "content": "Close"}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Close"}]}],
    [{"content": None, "text": "Close"}],  # as Arrow fills keys that some messages lack
]


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([number(each) for each in ("17", "0.5", "True", "007", None)], [17, 0.5, True, "007", None]),
        ([logged.number(each) for each in (True, "0.5", "True", float("nan"), "high")], [1.0, 0.5, 1.0, None, None]),
        ([logged.missing(each) for each in (None, "nan", "", 0)], [True, True, False, False]),
        (value_at({"width": "640", "height": 480}, "width,height"), [640, 480]),
        (Batch(start=8192, rows=[{}], whole=None, done=1.0, lines=[8195]).place(0), "row 8192 (line 8195)"),
        (Batch(start=8192, rows=[{}, {}], whole=None, done=1.0).take([1]).place(0), "row 8193"),
        ([name_of(each) for each in ("a", 1.0, None, True)], ["a", "1", None, None]),
        (name_paths(["id", "answer.id"])[2:5:2], [("reward_model", "ground_truth", "id"), ("answer.id",)]),
        ([from_json(each) for each in ('{"a": 1}', "[1, 2]", "7", "{")], [{"a": 1}, [1, 2], "7", "{"]),
        ([as_json("[1, 2]"), as_json("up")], ["[1, 2]", '"up"']),
        (plain({"size": np.array([16.0, 9.5]), "point": None, "at": ("a", np.int64(2))}),
         {"size": [16, 9.5], "at": ["a", 2]}),
        (dumps({"a": [float("nan"), "é", "\ud800"]}).decode(), '{"a": [null, "é", "\\ud800"]}'),
        (held(np.array([[16.0, 9.0], [np.nan, np.nan]])), [[16.0, 9.0], None]),
        (arrow([1, float("nan"), "x"], pa.float64()).to_pylist(), [1.0, None, None]),
        (arrow(["a", 7, None], pa.string()).to_pylist(), ["a", "7", None]),
        ([suffix_of(Path(each)) for each in ("a.JSONL.gz", "a.parquet.gz")], [".jsonl", ".parquet.gz"]),
        ([stem_of(Path(each)) for each in ("data/train.jsonl.gz", "v1.2.parquet", ".")],
         ["train", "v1.2", Path.cwd().stem]),
        ([is_stream(Path(each)) for each in ("-", "/dev/fd/63", "a.jsonl")], [True, True, False]),
        ([split_of(Path("gui_v1.jsonl.gz")), split_of(Path("data/0.jsonl"))], [(".", "gui_v1"), ("data", "")]),
        ([output_of(Path(each)) for each in ("a/.p.parquet.tmp-00ff00ff.partial", "a/b")],
         [Path("a/p.parquet"), Path("a/b")]),
        (last_parts(_PARTS), {*_PARTS[1:]}),
        (_fold(("e\u0301", 7), digits=True), ("é", "7")),
        (_shown([("a",), ("a.png", 7), None, ("d",)]), "'a', ('a.png', 7), null"),
        (_unlike(("a" * 99 + "b",), ("a" * 99 + "c",)), "...b'"),
        (_unlike(("\u00e9",), ("e\u0301",)), "...\\xe9'"),
        (columns_read(["extra_info.id", "width,height", None]),
         ("extra_info.id", "extra_info", "width,height", "width", "height")),
        (place_named("label.gt_bbox_xywh"), ("bbox", BoxFormat.XYWH)),
        ([place_named("polygon"), place_named("answer")], [("polygon", None), (None, None)]),
        (place_named("polygon,gt_bbox_xywh"), (None, BoxFormat.XYWH)),
        ([places_of(each) for each in ("polygon,gt_bbox", "bbox,gt_bbox", "x1,y1,x2,y2")],
         [("polygon", "gt_bbox"), (), ()]),
        (offered("target", ["Answer", "gt_bbox_xyxy", "label", "label.bbox"]),
         [["gt_bbox_xyxy"], ["Answer"], ["label"]]),
        ([is_refusal(each) for each in (True, "refusal", "0", "bbox", "perhaps")], [True, True, False, False, None]),
        ([looks_like_images(each) for each in ("a/1.PNG", [{"bytes": b"GIF", "path": None}])], [True, True]),
        ([looks_like_images(each) for each in ("Open a.png and close it", 7)], [False, False]),
        (image_path(["a.png", {"path": "b.png", "bytes": b""}]), ("a.png", "b.png")),
        ({prompt_text(each) for each in _CLOSE}, {"Close"}),
        (answer([{"role": "assistant", "content": "(1, 2)"}, {"role": "tool", "content": "done"}]), "(1, 2)"),
        (response_text({"choices": [{"message": {"content": "(1, 2)"}}]}), "(1, 2)"),
        ([response_text(each) for each in ([195, 273], {"point": [1, 2], "box": None}, ["a", "b"])],
         ["[195, 273]", '{"point": [1, 2]}', None]),
        (over({"index": 7, "answer": "x"}, {"index": 0, "answer": None, "id": None}),
         {"index": 0, "answer": "x", "id": None}),
    ],
)  # fmt: skip
def test_value(got: Any, expected: Any) -> None:
    assert got == expected
