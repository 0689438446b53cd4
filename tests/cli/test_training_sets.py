"""Files as published training sets have them, made by hand, through ``convert`` and the commands beside it."""

import base64
import json
import re
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from grounding_rewards.cli.listing import _things
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.plugins import registry
from grounding_rewards.plugins.registry import Registry, collect
from grounding_rewards.tables.training_sets import training_sets
from tests.engines import seeded

UNIT, PX = [0.1, 0.2, 0.3, 0.4], [192, 216, 576, 432]
ASKED = {"from": "human", "value": "<image>\nSave"}


def screen(width, height):
    """Return a screenshot's bytes, as far as its size is read."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


THOUSANDTHS = {"space": "thousandths"}
BYTES = {"bytes": screen(1920, 1080), "path": None}


def said(answer, **further):
    """Return a conversation of one question and its answer."""
    return [ASKED, {"from": "gpt", "value": answer, **further}]


def in_unit(*numbers):
    return {"point" if len(numbers) == 2 else "bbox": [*numbers], "space": "unit"}


def in_pixels(*numbers):
    return {"point" if len(numbers) == 2 else "bbox": [*numbers], "space": "pixel"}


ELEMENTS = [
    {"instruction": "Save", "bbox": UNIT},
    {"instruction": "Close", "bbox": [0.5, 0.5, 1, 1]},
    {"instruction": "Out", "bbox": [0.5, 0.5, 1.2, 1]},
    {"instruction": "Turned", "bbox": [0.5, 0.5, 0.4, 1]},
    {"instruction": "", "bbox": UNIT},
    {"instruction": "Flat", "bbox": [0.5, 0.5, 0.5, 1]},
]
LEFT = "1 outside the image, 1 inverted, 1 no instruction, 1 empty; 2 rows stay"
TWO = [("Save", in_unit(*UNIT)), ("Close", in_unit(0.5, 0.5, 1, 1))]
AUTOGUI = {
    "image": BYTES, "func": "funcpred", "instruction": "Save", "answer": "(20,28)", "elem_text": "Save",
    "image_size": "(1920, 1080)",
}  # fmt: skip
SAVE = [("Save", in_pixels(*PX))]
GUI_R1 = {"image": BYTES, "instruction": "Save", "gt_input_text": "", "history": "None", "task_type": "high", "id": "g"}
PIXMO = {"image_url": "a.png", "image_sha256": "0", "label": "Save", "collection_method": "pointing"}
GUIENV = {"uid": "u", "image_id": "a", "image_size": {"width": 1920, "height": 1080}, "question": "Save"}
LAYOUTS = [
    ("os-atlas", "json", [{"img_filename": "a.png", "elements": ELEMENTS}], TWO, LEFT),
    ("os-atlas", "json", [{"img_filename": "a.png", "instruction": "Save", "bbox": UNIT}], TWO[:1], ""),
    ("seeclick", "json", [{"img_filename": "a.png", "url": "x", "elements": ELEMENTS}], TWO, LEFT),
    ("showui", "json", [{"img_url": "a.png", "img_size": [1920, 1080], "element": ELEMENTS}], TWO, LEFT),
    (
        "showui", "parquet",
        [
            {
                "image_url": "x/y.png", "image": BYTES, "instruction": "Save", "bbox": UNIT, "point": [0.2, 0.3],
                "type": "original",
            }
        ],
        TWO[:1], "",
    ),
    (
        "uground", "parquet",
        [
            {
                "image": BYTES, "width": 1920, "height": 1080,
                "conversations": json.dumps([*said("(635, 96)"), *said("(1, 2, 30, 40)")]),
            }
        ],
        [("Save", {"point": [635, 96], **THOUSANDTHS}), ("Save", {"bbox": [1, 2, 30, 40], **THOUSANDTHS})],
        "",
    ),
    (
        "wave-ui", "parquet",
        [
            {
                "image": BYTES, "instruction": "Save", "bbox": [*map(float, PX)], "resolution": [1920, 1080],
                "source": "webui", "platform": "web",
            }
        ],
        [("Save", in_pixels(*PX))], "",
    ),
    (
        "autogui", "parquet",
        [
            {**AUTOGUI, "device": "web", "unnormalized_box": [96, 108, 288, 216]},
            {**AUTOGUI, "device": "mobile", "unnormalized_box": [64, 72, 192, 144]},
            {**AUTOGUI, "device": "web", "unnormalized_box": [96, 108, 288, 216], "answer": "It saves the file."},
        ],
        [("Save", in_pixels(*PX))] * 2, "1 no grounding; 2 rows stay",
    ),
    (
        "jedi", "json",
        [
            {
                "id": 1, "image_id": "s", "image": "large.png",
                "conversations": said(
                    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [966, '
                    "532]}}\n</tool_call>"
                ),
            },
            {
                "id": 2, "image_id": "s", "image": "large.png",
                "conversations": said(
                    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "terminate", "status": "failure"}}\n'
                    "</tool_call>"
                ),
            },
        ],
        # 3840 x 2160 became 1932 x 1064 under 2700 * 28 * 28 pixels
        [("Save", in_pixels(1920, 1080)), ("Save", {"refusal": True})], "",
    ),
    (
        "amex", "json",
        [
            {
                "image_path": "a.png", "page_caption": "x", "scrollable_elements": [{"bbox": [0, 0, 9, 9]}],
                "clickable_elements": [
                    {"bbox": PX, "xml_desc": ["Save", "a file"]}, {"bbox": [-3, 5, 9, 9], "xml_desc": ["Out"]},
                    {"bbox": PX, "xml_desc": ["x"], "functionality": "Saves the file"},
                ],
            }
        ],
        [("Save", in_pixels(*PX)), ("Saves the file", in_pixels(*PX))], "1 outside the image; 2 rows stay",
    ),
    (
        "aguvis", "json",
        [
            {
                "image": "a.png",
                "conversations": [
                    {"from": "system", "value": "You act."}, *said("pyautogui.click(x=0.64, y=0.1)", recipient="os"),
                    {"from": "human", "value": "Write"}, {"from": "gpt", "value": "pyautogui.write(message='a')"},
                ],
            }
        ],
        [("Save", in_unit(0.64, 0.1))], "1 no place; 1 rows stay",
    ),
    (
        "gui-actor", "json",
        [{"image": "a.png", "conversations": said("pyautogui.click(x=0.2, y=0.3)", recipient="os", bbox_gt=UNIT)}],
        TWO[:1], "",
    ),
    (
        "salesforce-grounding", "parquet",
        [{"image": BYTES, "bbox": PX, "instruction": "Save", "uuid": "u", "dataset": "ariaui", "function": "x"}],
        SAVE, "",
    ),
    (
        "click-100k", "parquet",
        [
            {
                "image_path": "x.png", "prompt": "Save", "normalized_bbox": UNIT, "images": [BYTES], "bbox": PX,
                "easyr1_prompt": "<image>Click: Save", "image_width": 1920, "image_height": 1080,
                "messages": [{"role": "user", "content": "Save"}],
            }
        ],
        SAVE, "",
    ),
    (
        "groundcua", "json",
        [
            {"id": "large", "bbox": PX, "text": "S", "category": "Menu", "platform": "x", "instruction": "Save"},
            {"id": "large", "bbox": PX, "text": "S", "category": "Menu", "platform": "x", "instruction": "Save"},
        ],
        SAVE * 2, "",
    ),
    (
        "groundcua", "json",
        [{"id": "a", "coordinate": [5, 6], "category": "Menu", "platform": "x", "instruction": "Save"}],
        [("Save", in_pixels(5, 6))], "",
    ),
    ("groundnext", "json", [{"unique_id": "u", "image_path": "a.png", "bbox": PX, "instruction": "Save"}], SAVE, ""),
    (
        "groundnext", "parquet",
        [
            {
                "prompt": json.dumps([{"role": "user", "content": "<image>Save"}]), "images": [BYTES],
                "reward_model": {"ground_truth": dict(zip(("x1", "y1", "x2", "y2"), PX, strict=True))},
                "extra_info": {"gt_bbox": PX, "image_size": [1920, 1080]},
            }
        ],
        SAVE, "",
    ),
    (
        "gui-r1", "parquet",
        [
            {**GUI_R1, "gt_bbox": UNIT, "gt_action": "click"},
            {**GUI_R1, "gt_bbox": [0.5, 0.25], "gt_action": "click"},
            {**GUI_R1, "gt_bbox": [-100, -100], "gt_action": "type"},
            {**GUI_R1, "gt_bbox": [-100, -100], "gt_action": "click"},
        ],
        [*TWO[:1], ("Save", in_unit(0.5, 0.25))], "1 no grounding, 1 no place; 2 rows stay",
    ),
    ("gui-g1", "json", [{"image": "a.png", "problem": "Save", "solution": PX, "rate": 0.5}], SAVE, ""),
    (
        "ui-r1", "json",
        [
            {"img_filename": "a.png", "instruction": "Save", "bbox": PX, "action": "click"},
            {"img_filename": "a.png", "instruction": "Up", "action": "scroll"},
        ],
        SAVE, "1 no place; 1 rows stay",
    ),
    (
        "android-control", "json",
        [
            {"image": "a.png", "gt": {"action_type": "click", "x": 5, "y": 6}, "task": "Save"},
            {"image": "a.png", "gt": {"action_type": "open_app", "app_name": "x"}, "task": "Open"},
        ],
        [("Save", in_pixels(5, 6))], "1 no grounding; 1 rows stay",
    ),
    (
        "android-control", "json",
        [
            {
                "episode_id": 1, "step_id": 0, "goal": "g", "instruction": "Save", "image_width": 1920,
                "image_height": 1080, "action": {"action_type": "click", "x": 5, "y": 6},
                "image_base64": base64.b64encode(BYTES["bytes"]).decode(),
            }
        ],
        [("Save", in_pixels(5, 6))], "",
    ),
    (
        "pc-agent-e", "jsonl",
        [
            {"action": "click (640, 360)", "screenshot": "a.png", "thought": "Save", "boost_responses": []},
            {"action": "type text: abc", "screenshot": "a.png", "thought": "Write"},
        ],
        [("Save", in_pixels(640, 360))], "1 no grounding; 1 rows stay",
    ),
    (
        "pixmo-points", "json",
        [
            {**PIXMO, "points": [{"x": 10.5, "y": 20}, {"x": 30, "y": 40}], "count": 2},
            {**PIXMO, "points": [], "count": 0},
        ],
        [
            ("Save", {"regions": [{"point": [105, 200]}, {"point": [300, 400]}], **THOUSANDTHS}),
            ("Save", {"refusal": True}),
        ],
        "",
    ),
    (
        "agentnet", "jsonl",
        [
            {
                "task_id": "t", "instruction": "Save", "traj": [
                    {"index": 0, "image": "a.png", "value": {"code": "pyautogui.click(x=0.97, y=0.5)"}},
                    {"index": 1, "image": "a.png", "value": {"code": "pyautogui.write('a')"}},
                ],
            }
        ],
        [("Save", in_unit(0.97, 0.5))], "1 no place; 1 rows stay",
    ),
    (
        "gui-net", "json",
        [
            {
                "custom_id": "c", "images": ["a.png"], "raw_link": "x", "messages": [
                    {"role": "user", "content": "<image>Save"},
                    {"role": "assistant", "content": '{"action": "CLICK", "position": [0.49, 0.42]}'},
                ],
            }
        ],
        [("Save", in_unit(0.49, 0.42))], "",
    ),
    (
        "aria-ui", "json",
        [
            {
                "img_file": "a.png", "elements": [
                    {
                        "position (top-left x&y)": [192, 216], "size (w&h)": [384, 216], "element_caption": "x",
                        "instructions": ["Save", "Keep"],
                    }
                ],
            }
        ],
        [*SAVE, ("Keep", in_pixels(*PX))], "",
    ),
    (
        "guiact", "json",
        [
            {
                "uid": "u", "image_id": "a", "image_size": {"width": 1920, "height": 1080}, "question": "Save",
                "actions_label": [
                    {"name": "click", "element": {"absolute": "<box>192,216,576,432</box>", "related": "x"}},
                    {"name": "scroll"},
                ],
            }
        ],
        SAVE, "1 no grounding; 1 rows stay",
    ),
    (
        "guienv", "json",
        [
            {**GUIENV, "task_type": "text2bbox", "answer": {"absolute": "<box>192,216,576,432</box>", "related": "x"}},
            {**GUIENV, "task_type": "bbox2text", "answer": {"absolute": "a text"}},
        ],
        SAVE, "1 no grounding; 1 rows stay",
    ),
]  # fmt: skip
ASK = [
    ("gta1", [457, 152, 542, 173], {"bbox": [457, 152, 542, 173], **THOUSANDTHS}),
    ("se-gui", [192, 216, 576, 432], in_pixels(190.807453416, 213.626373626, 572.422360248, 427.252747253)),
]
"""Layouts of the same fields; SE-GUI's pixels are those of 1932 x 1092, to which 1920 x 1080 is resized."""


def write(folder, form, rows):
    """Write the file of a layout, and the screenshots that it names."""
    for name, size in (("a.png", (1920, 1080)), ("large.png", (3840, 2160))):
        (folder / name).write_bytes(screen(*size))
    file = folder / f"rows.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text(json.dumps(rows) if form == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    return file


WIRES = {
    "verl": lambda row: (row["prompt"][0]["content"], row["reward_model"]["ground_truth"]),
    "trl": lambda row: (row["prompt"][0]["content"], row["target"]),
    "easyr1": lambda row: (row["problem"], row["answer"]),
}


def converted(out, trainer):
    """Return instructions and targets, without what ``convert`` adds to them."""
    pairs = map(WIRES[trainer], pq.read_table(out).to_pylist())
    return [
        (
            text.removeprefix("<image>"),
            {k: v for k, v in json.loads(wire).items() if k not in ("id", "image_size", "extra")},
        )
        for text, wire in pairs
    ]


@pytest.mark.parametrize("trainer", WIRES)
@pytest.mark.parametrize(("name", "form", "rows", "samples", "left"), LAYOUTS, ids=lambda value: str(value)[:9])
def test_a_layout_is_read_without_an_option(run, tmp_path, trainer, name, form, rows, samples, left):
    out = tmp_path / "out.parquet"
    result = run("convert", write(tmp_path, form, rows), "--for", trainer, "--out", out)
    assert result.code == 0, result.err
    assert converted(out, trainer) == samples
    assert f"rows as in {name}: " in result.err
    assert left in result.err
    assert ("left out" in result.err) == bool(left)
    assert all(len(row["images"]) == 1 for row in pq.read_table(out).to_pylist())


@pytest.mark.parametrize(("name", "box", "wire"), ASK)
def test_layouts_of_the_same_fields_are_asked_for(run, tmp_path, name, box, wire):
    file = write(tmp_path, "json", [{"id": 1, "image": "a.png", "bbox": box, "conversations": said("(500, 162)")}])
    words = ("convert", file, "--for", "verl", "--out", tmp_path / "out.parquet")
    assert run.error(*words) == (
        f"{file}: which layout is it? Its fields are those of gta1 (thousandths), se-gui (model_pixel), and numbers of "
        f"its first places are {min(box)} to {max(box)}; give --layout"
    )
    assert run(*words, "--layout", name).code == 0
    assert converted(tmp_path / "out.parquet", "verl") == [("Save", wire)]


def test_every_layout_has_its_case():
    assert {each.name for each in training_sets()} == {name for name, *_ in (*LAYOUTS, *ASK)}


@pytest.mark.parametrize(
    ("files", "samples"),
    [
        (
            {
                "data/app/a.json": [{"text": "Save", "bbox": PX, "category": "Menu", "id": "1"}],
                "data/app/large.json": [{"text": "Save", "bbox": PX, "category": "Menu", "id": "2"}],
            },
            SAVE * 2,
        ),
        (
            {
                "element_anno/1.json": {
                    "image_path": "a.png", "clickable_elements": [{"bbox": PX, "xml_desc": ["Save"]}],
                    "scrollable_elements": [{"bbox": PX}],
                },
                "element_anno/2.json": {"image_path": "a.png", "clickable_elements": [], "scrollable_elements": []},
                "element_anno/3.json": {
                    "image_path": "a.png", "clickable_elements": [{"bbox": PX, "xml_desc": ["Save"]}],
                    "scrollable_elements": [],
                },
            },
            SAVE * 2,
        ),
    ],
)  # fmt: skip
def test_a_folder_of_a_file_a_screenshot_is_one_table(run, tmp_path, files, samples):
    for name, content in files.items():
        (tmp_path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / name).write_text(json.dumps(content))
    write(tmp_path / "set", "csv", [])
    (tmp_path / "set" / "rows.csv").unlink()
    out = tmp_path / "out.parquet"
    assert run("convert", tmp_path / "set", "--for", "verl", "--out", out).code == 0
    assert converted(out, "verl") == samples


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([{"img_filename": "a.png", "elements": "x"}], "elements: got 'x'; expected a list, or the JSON of one"),
        ([{"img_filename": "a.png", "elements": [7]}], "elements: got 7; expected a list of objects"),
        (
            [{"img_filename": "a.png", "elements": [{"instruction": "x", "bbox": [1, 2, 3, "\ud800"]}]}],
            "row 1, elements 0: target, field 'bbox': got [1, 2, 3, '\\ud800']; expected 4 numbers x1 y1 x2 y2",
        ),
        (
            [{"img_filename": "a.png", "elements": [{"instruction": "a", "bbox": ["x", 1, 2, 3]}]}],
            "row 1, elements 0: target, field 'bbox': got ['x', 1, 2, 3]; expected 4 numbers x1 y1 x2 y2, as numbers",
        ),
        ([{"img_filename": "no.png", "elements": ELEMENTS[:1]}], "row 1, elements 0: image: cannot read 'no.png'"),
    ],
)
def test_a_row_that_is_broken_is_named_and_nothing_is_written(run, tmp_path, rows, error):
    file = write(tmp_path, "json", [{"img_filename": "a.png", "elements": ELEMENTS[:1]}, *rows])
    result = run("convert", file, "--for", "trl", "--out", tmp_path / "out.parquet")
    assert result.code == 2
    assert "row 1" in result.err
    assert error in result.err
    assert not (tmp_path / "out.parquet").exists()


def changed(value, change):
    """Return a row with another value in place of each number and each text in it."""
    if isinstance(value, dict):
        return {key: changed(each, change) for key, each in value.items()}
    return [changed(each, change) for each in value] if isinstance(value, list) else change(value)


HOSTILE = {
    "numbers": lambda value: re.sub(r"\d", "9" * 99, value) if isinstance(value, str) else -(10**300),
    "nothing": lambda value: None,
    "texts": lambda value: "\ud800[" * 9 if isinstance(value, str) else value,
    "lists": lambda value: [[[value]]],
}


@pytest.mark.parametrize("kind", [*HOSTILE, "cut"])
@pytest.mark.parametrize("case", [case for case in LAYOUTS if case[1] != "parquet"], ids=lambda case: case[0])
def test_hostile_files_are_one_error_and_nothing_is_written(run, tmp_path, case, kind):
    name, form, rows, *_ = case
    file, out = (
        write(tmp_path, form, [changed(row, HOSTILE.get(kind, lambda value: value)) for row in rows[:1]]),
        "out.jsonl",
    )
    if kind == "cut":
        file.write_bytes(file.read_bytes()[:-7])
    result = run("convert", file, "--for", "verl", "--layout", name, "--out", tmp_path / out)
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith("error: ")
    assert any(where in result.err for where in ("row 0", "line 1", "rows are not as in", "no row can be"))
    assert not (tmp_path / out).exists()


@pytest.mark.parametrize("case", [case for case in LAYOUTS if case[1] == "parquet"], ids=lambda case: case[0])
def test_parquet_that_is_cut_or_holds_no_place_is_one_error_and_nothing_is_written(run, tmp_path, case):
    name, form, rows, *_ = case
    file, out = write(tmp_path, form, rows[:1]), tmp_path / "out.jsonl"
    whole, table = file.read_bytes(), pq.read_table(file)
    nulls = [pa.nulls(len(table), column.type) for column in table.columns]
    pq.write_table(pa.table(nulls, table.schema), file)
    for content in (whole[:-7], whole[: len(whole) // 2], b"", file.read_bytes()):
        file.write_bytes(content)
        result = run("convert", file, "--for", "verl", "--layout", name, "--out", out)
        assert (result.code, out.exists()) == (2, False), result
        assert result.err.splitlines()[-1].startswith(f"error: {file}"), result.err


def test_other_items_of_a_row_with_a_broken_one_stay(run, tmp_path):
    items = [ELEMENTS[0], {"instruction": "a", "bbox": ["x", 1, 2, 3]}, ELEMENTS[1]]
    file, out = write(tmp_path, "json", [{"img_filename": "a.png", "elements": items}]), tmp_path / "out.parquet"
    assert run("convert", file, "--for", "verl", "--skip-bad", "--out", out).code == 0
    assert converted(out, "verl") == TWO


def test_rows_that_all_train_nothing_are_an_error(run, tmp_path):
    file = write(tmp_path, "json", [{"img_filename": "a.png", "elements": ELEMENTS[2:4]}])
    result = run("convert", file, "--for", "trl", "--out", tmp_path / "out.parquet")
    left = "of 1 are left out 1 outside the image, 1 inverted"
    assert (result.code, result.err.splitlines()[-1]) == (2, f"error: {file}: no row can be trained on: {left}")


def test_an_image_by_its_name_must_be_there(run, tmp_path):
    answer = {"absolute": "<box>1,2,3,4</box>"}
    file = write(tmp_path, "json", [{**GUIENV, "image_id": "b", "task_type": "text2bbox", "answer": answer}])
    result = run("convert", file, "--for", "trl", "--out", tmp_path / "out.parquet")
    assert result.code == 2
    assert f"image: no file 'b' of any suffix in {tmp_path}; name its folder by --image-root" in result.err


def test_options_go_before_a_layout(run, tmp_path):
    file = write(tmp_path, "json", [{"img_filename": "a.png", "instruction": "Save", "bbox": UNIT}])
    out, own = tmp_path / "out.parquet", tmp_path / "own.toml"
    words = ("convert", file, "--for", "verl", "--out", out)
    assert "unit" in run(*words, "--target-space", "pixel").err.splitlines()[-1]
    assert "target: nothing names its space" in run(*words, "--layout", "none").err
    lost = "no column image, platform, resolution, source"
    assert run.error(*words, "--layout", "wave-ui") == f"{file}: rows are not as in wave-ui: {lost}"
    assert run.error(*words, "--layout", "os-atlass").endswith("; did you mean 'os-atlas'?")
    own.write_text('[mine]\nhas = ["bbox"]\nimage = "img_filename"\ninstruction = "instruction"\nplace = "bbox"\n')
    assert run(*words, "--layout", own, "--target-space", "unit").code == 0
    assert converted(out, "verl") == TWO[:1]
    own.write_text("[mine]\nhas = 7")
    assert run.error(*words, "--layout", own).endswith("expected keys and values as in training_sets.toml")


LAB = {"has": ["shot", "parts.box"], "explode": "parts", "image": "shot", "instruction": "parts.ask",
       "place": "parts.box", "space": "pixel", "published": "our screens"}  # fmt: skip


def test_layouts_of_plugins_are_recognised_and_named(run, tmp_path, monkeypatch):
    class Lab:
        @hookimpl
        def register_layouts(self, register):
            register("screens", [LAB, {**LAB, "has": ["shot", "boxes.box"], "place": "boxes.box"}])

    known = collect([("lab", "lab-package", Lab())])
    monkeypatch.setattr(registry, "registry", lambda: known)
    rows = [{"shot": "a.png", "parts": [{"ask": "Save", "box": PX}]}]
    file, out = write(tmp_path, "json", rows), tmp_path / "out.parquet"
    words = ("convert", file, "--for", "trl", "--out", out)
    for named in ((), ("--layout", "lab/screens")):
        assert "note: rows as in lab/screens: parts.box in pixel, " in run(*words, *named).err
        assert converted(out, "trl") == SAVE
    assert run.error(*words, "--layout", "lab/screen").endswith("; did you mean 'lab/screens'?")
    wrong = Registry(**{**vars(known), "layouts": {"lab/screens": {**LAB, "palce": "x"}}})
    monkeypatch.setattr(registry, "registry", lambda: wrong)
    assert re.match(
        r"layout lab/screens: .*'palce'(\. Did you mean 'place'\?)?; expected keys and values as in ", run.error(*words)
    )
    assert _things(known)["layouts"] == [{"name": "lab/screens", "says": "our screens"}]


@pytest.mark.parametrize("kind", ["json", "jsonl", "parquet"])
def test_a_list_becomes_rows_by_an_option(run, tmp_path, kind):
    rows = [{"screen": "a.png", "parts": [{"ask": "Save", "box": PX}, {"ask": "Close", "box": [1, 2, 3, 4]}]}]
    file, out = write(tmp_path, kind, rows), tmp_path / "out.parquet"
    words = ("convert", file, "--for", "verl", "--out", out)
    columns = ("--instruction-column", "parts.ask", "--image-column", "screen", "--target-space", "pixel")
    assert run(*words, "--explode", "parts", *columns).code == 0
    assert converted(out, "verl") == [*SAVE, ("Close", in_pixels(1, 2, 3, 4))]
    assert run.error(*words, "--explode", "part") == f"{file}: no column 'part' (--explode). It has: screen, parts"
    assert ": got 'a.png'; expected" in run.error(*words, "--explode", "screen") or kind == "parquet"


def test_lists_within_parquet_become_rows_with_the_columns_beside_them(run, tmp_path):
    turns = [{"role": "user", "content": "Save"}, {"role": "assistant", "content": "[192, 216, 576, 432]"}]
    parts = [{"asks": ["Save", "Store"], "box": PX}, {"asks": [], "box": PX}]
    rows = [{"image": BYTES, "talk": turns, "parts": parts, "device": "web"}]
    rows.append({"image": BYTES, "talk": [], "parts": [], "device": "pc"})
    file, out = write(tmp_path, "parquet", rows), tmp_path / "out.parquet"
    words = ("convert", file, "--for", "verl", "--out", out, "--target-space", "pixel")
    talk = ("--explode", "talk", "--instruction-column", "talk.asked", "--target-column", "talk.answer")
    several = ("--explode", "parts", "--explode", "parts.asks", "--instruction-column", "parts.asks")
    for more, asked in ((talk, ["Save"]), ((*several, "--target-column", "parts.box"), ["Save", "Store"])):
        result = run(*words, *more)
        assert result.code == 0, result.err
        made = pq.read_table(out).to_pylist()
        assert [row["prompt"][0]["content"] for row in made] == [f"<image>{each}" for each in asked]
        assert {json.dumps(json.loads(row["reward_model"]["ground_truth"])["bbox"]) for row in made} == {str(PX)}
        assert {(row["device"], row["images"][0]["bytes"]) for row in made} == {("web", BYTES["bytes"])}
    expected = "--explode device: got a column of string; expected lists of objects or texts"
    assert run.error(*words, "--explode", "device").endswith(expected)


def test_eval_reads_the_same_rows(run, tmp_path):
    file, answers = write(tmp_path, "json", [{"img_filename": "a.png", "elements": ELEMENTS[:2]}]), tmp_path / "a.jsonl"
    answers.write_text("".join(json.dumps({"row": n, "response": "(0.2, 0.3)"}) + "\n" for n in range(2)))
    result = run("eval", file, "--predictions", answers, "--id", "ROW=row", "--response-space", "unit", "--json")
    assert result.code == 0, result.err
    figures = json.loads(result.out)["result"]["files"][0]
    assert (figures["valid"], figures["correct"], figures["columns"]["image"]) == (2, 1, "img_filename")


def test_pools_are_drawn_from_rows_without_names_by_what_they_say(run, tmp_path):
    elements = [{"instruction": each, "bbox": [0.1, 0.1, 0.3, 0.3]} for each in ("Save", "Open")]
    file = write(tmp_path, "json", [{"img_filename": "a.png", "elements": elements}])
    Image.new("RGB", (1920, 1080)).save(tmp_path / "a.png")
    words = ("--engine", f"{seeded.__file__}:Scripted", "--model", "m", "--n", 8, "--recipe", "click")
    assert run("rollout", file, *words, "--response-space", "thousandths", "--out", tmp_path / "r").code == 0
    result = run("pool", "next", tmp_path / "r", "--data", file, "--out", tmp_path / "pool.jsonl", "--json")
    assert result.code == 0, result.err
    manifest = json.loads((tmp_path / "pool.jsonl.manifest.json").read_text())
    assert manifest["join"] == {"both": 2, "data_only": 0, "rollouts_only": 0, "rows_without_name": 0}


def test_items_of_a_row_have_names_of_their_own_and_what_lies_below_the_image_is_left_out(run, tmp_path):
    items = [
        {"text": "Save", "bbox": [1, 1, 9, 9]},
        {"text": "Open", "bbox": [1, 1, 9, 1081]},
        {"text": "Copy", "bbox": [2, 2, 9, 9]},
    ]
    rows = [
        {
            "image_path": "a.png",
            "clickable_elements": [{"bbox": each["bbox"], "xml_desc": [each["text"]]} for each in items],
        }
    ]
    file, out = write(tmp_path, "jsonl", rows), tmp_path / "out.jsonl"
    mine = tmp_path / "mine.toml"
    mine.write_text(
        '[mine]\nhas = ["image_path"]\nexplode = "clickable_elements"\nimage = "image_path"\nspace = "pixel"\n'
        'instruction = "clickable_elements.xml_desc"\nplace = "clickable_elements.bbox"\n'
        'id = "image_path"\nsize = "size"\n'
    )
    rows[0]["size"] = [1920, 1080]
    write(tmp_path, "jsonl", rows)
    done = run("convert", file, "--layout", mine, "--for", "trl", "--out", out)
    assert done.code == 0
    assert "1 outside the image" in done.err
    assert [json.loads(json.loads(line)["target"])["id"] for line in out.read_text().splitlines()] == [
        "a.png-0",
        "a.png-2",
    ]


def test_the_first_rows_with_an_earlier_name_are_shown_and_all_are_counted(run, tmp_path):
    row = {"id": "a", "image": "a.png", "instruction": "Save", "bbox": [*PX]}
    file = write(tmp_path, "jsonl", [row] * 8)
    words = ("convert", file, "--for", "trl", "--target-space", "pixel", "--out", tmp_path / "out.jsonl", "--json")
    found = json.loads(run(*words).out)["result"]["repeated_ids"]
    assert found == {"count": 7, "rows": [[0, each] for each in range(1, 6)]}
