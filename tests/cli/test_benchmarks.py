"""``eval --benchmark``: files in the exact shape of published benchmarks, and figures as these are published."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.benchmark_files import BOX, HIT, MISS, as_json, mmbench, osworld, pro, screenspot, ui_vision
from tests.cli.command import result_of, write_rows

PIXEL = ("--response-space", "pixel")
V1 = {
    "mobile / text": 273, "mobile / icon": 229, "desktop / text": 194, "desktop / icon": 140, "web / text": 230,
    "web / icon": 206,
}  # fmt: skip
V2 = {**V1, "mobile / text": 290, "mobile / icon": 211, "web / text": 234, "web / icon": 203}
GROUPS = {
    "Dev": (154, 145), "Creative": (198, 143), "CAD": (197, 64), "Scientific": (144, 110), "Office": (177, 53),
    "OS": (107, 89),
}  # fmt: skip


def evaluated(run, name, *words):
    """The one entry of an evaluation by the name of a benchmark, and its totals by name."""
    result = run("eval", *words, "--benchmark", name, *PIXEL, "--json")
    assert result.code == 0, result.err
    (entry,) = result_of(result.out)
    return entry, {each["name"]: each for each in entry["benchmark"]["totals"]}


def answered(rows, *right):
    """Rows in which only those of some values of ``data_type`` are right."""
    return [{**row, "prediction": row["prediction"] if row["data_type"] in right else MISS} for row in rows]


class TestScreenSpot:
    def test_the_headline_is_the_mean_of_six_cells(self, run, tmp_path):
        files = screenspot(V1)
        files["screenspot_mobile"] = answered(files["screenspot_mobile"], "text")
        files["screenspot_web"] = answered(files["screenspot_web"])
        entry, totals = evaluated(run, "screenspot", as_json(tmp_path / "annotations", files))
        assert [*totals] == ["mean of 6 cells", "all rows"]
        mean = totals["mean of 6 cells"]
        assert (mean["accuracy"], mean["interval"], mean["missing"]) == (0.5, None, "")
        assert mean["cells"]["mobile / icon"] == {"correct": 0, "rows": 229}
        assert (totals["all rows"]["correct"], totals["all rows"]["rows"]) == (607, 1272)
        assert totals["all rows"]["interval"] == pytest.approx([0.4498, 0.5047], abs=1e-4)
        platforms = {name: (part["correct"], part["valid"]) for name, part in entry["by"]["platform"].items()}
        assert platforms == {"mobile": (273, 502), "web": (0, 436), "desktop": (334, 334)}

    def test_v2_has_all_rows_first_and_the_platform_of_the_file(self, run, tmp_path):
        files = screenspot(V2, version="_v2", source="shop")
        files["screenspot_web_v2"][-1] = files["screenspot_web_v2"][-2]  # the row that is there twice
        folder = as_json(tmp_path / "v2", {**files, "screenspot_web": []})
        entry, totals = evaluated(run, "screenspot-v2", folder)
        assert [*totals] == ["all rows", "mean of 6 cells"]
        assert totals["all rows"]["accuracy"] == totals["mean of 6 cells"]["accuracy"] == 1.0
        assert {name: part["valid"] for name, part in entry["by"]["platform x type"].items()} == V2

    def test_files_may_be_named_one_by_one(self, run, tmp_path):
        folder = as_json(tmp_path / "v1", screenspot(V1))
        _, totals = evaluated(run, "screenspot", *sorted(folder.iterdir()))
        assert totals["mean of 6 cells"]["accuracy"] == 1.0

    def test_a_missing_file_leaves_no_headline(self, run, tmp_path):
        folder = as_json(tmp_path / "v1", screenspot(V1))
        (folder / "screenspot_web.json").unlink()
        entry, totals = evaluated(run, "screenspot", folder)
        mean = totals["mean of 6 cells"]
        assert (mean["accuracy"], mean["share"], mean["rows"], mean["of"]) == (None, 1.0, 836, 1272)
        text = "ScreenSpot, mean of 6 cells and all rows: 436 of 1272 rows are missing, so no figure of the benchmark"
        assert entry["warnings"] == [text]
        assert entry["benchmark"]["notes"][0] == text
        assert run("eval", folder, "--benchmark", "screenspot", *PIXEL, "--strict").code == 1
        assert "mean of 6 cells       836   836   1272          -               -" in run(
            "eval", folder, "--benchmark", "screenspot", *PIXEL
        ).out  # fmt: skip

    def test_rows_of_the_hub_have_their_platform_by_their_source(self, run, tmp_path):
        row = {"file_name": "a.png", "bbox": [0.01, 0.02, 0.04, 0.05], "data_type": "icon", "image_size": [1000, 1000]}
        sources = ("ios", "macos", "forum", "shop")
        rows = [{**row, "data_source": each, "response": HIT} for each in sources]
        file = write_rows(tmp_path / "test.jsonl", *rows)
        entry, _ = evaluated(run, "screenspot", file)
        assert {name: part["valid"] for name, part in entry["by"]["platform"].items()} == {
            "web": 2, "desktop": 1, "mobile": 1,
        }  # fmt: skip
        entry, _ = evaluated(run, "screenspot-v2", file)
        assert entry["by"]["platform"]["(none)"]["valid"] == 1  # shops are on all platforms there
        pixels = write_rows(tmp_path / "pixels.jsonl", *({**each, "bbox": BOX} for each in rows))
        assert evaluated(run, "screenspot-v2", pixels)[0]["correct"] == 4

    def test_a_converted_copy_writes_corners(self, run, tmp_path):
        row = {
            "img_filename": "a.png", "bbox": BOX, "img_size": [1000, 1000], "ui_type": "icon", "platform": "desktop",
            "group": "Dev", "data_type": "icon", "data_source": "windows", "response": "(39, 49)",
        }  # fmt: skip
        entry, _ = evaluated(run, "screenspot-v2", write_rows(tmp_path / "copy.jsonl", row, {**row, "response": MISS}))
        assert (entry["correct"], entry["by"]["platform x type"]["desktop / icon"]["valid"]) == (1, 2)


class TestScreenSpotPro:
    def test_groups_by_type_of_files_and_their_predictions(self, run, tmp_path):
        rows = pro(GROUPS)
        rows[0] = {**rows[0], "id": "inventor_windows_60", "bbox": [10, -1, 40, 50]}
        answers = write_rows(
            tmp_path / "answers.jsonl", *({"id": row["id"], "response": row.pop("prediction")} for row in rows)
        )
        folder = as_json(tmp_path / "annotations", {"word_macos": rows[:900], "inventor_windows": rows[900:]})
        entry, totals = evaluated(run, "screenspot-pro", folder, "--predictions", answers)
        assert entry["joined"]["annotations"] == 1581
        assert (totals["all rows"]["correct"], totals["all rows"]["accuracy"]) == (977, 977 / 1581)
        cells = {name: (part["correct"], part["valid"]) for name, part in entry["by"]["group x ui_type"].items()}
        assert (cells["CAD / text"], cells["CAD / icon"], len(cells)) == ((197, 197), (0, 64), 12)
        assert [*entry["by"]] == ["group x ui_type", "group", "application", "platform", "ui_type"]

    def test_each_sample_several_times_is_the_benchmark_too(self, run, tmp_path):
        rows = pro(GROUPS)
        file = write_rows(tmp_path / "twice.jsonl", *rows, *({**row, "prediction": HIT} for row in rows))
        _, totals = evaluated(run, "screenspot-pro", file)
        assert totals["all rows"]["accuracy"] == (977 + 1581) / 3162

    @pytest.mark.parametrize(
        ("change", "missing"),
        [
            (lambda rows: [*rows[:-2], *rows[:2]], "2 of 1581 rows are missing, and others come more than once"),
            (lambda rows: [*rows, rows[0]], "1582 rows, which are not the benchmark's 1581, each as often"),
            (lambda rows: rows[3:], "3 of 1581 rows are missing"),
        ],
    )
    def test_other_rows_than_the_benchmarks_have_no_headline(self, run, tmp_path, change, missing):
        file = write_rows(tmp_path / "rows.jsonl", *change(pro(GROUPS)))
        _, totals = evaluated(run, "screenspot-pro", file)
        assert (totals["all rows"]["accuracy"], totals["all rows"]["missing"]) == (None, missing)

    def test_rollouts_with_targets_of_their_own(self, run, tmp_path):
        row = {"sample_id": "a", "target": {"bbox": BOX}, "image_size": [1000, 1000], "ui_type": "text"}
        file = write_rows(tmp_path / "rollouts.jsonl", {**row, "response": HIT}, {**row, "response": MISS})
        entry, totals = evaluated(run, "screenspot-pro", file)
        assert (totals["all rows"]["share"], entry["by"]["ui_type"]["text"]["valid"]) == (0.5, 2)


class TestOSWorldG:
    def test_both_denominators_and_categories_beside_the_rows(self, run, tmp_path):
        rows = osworld()
        for place, answer in enumerate(("(-1, -1)", "(-5.5, -7)", "(-5, 7)", "refusal")):
            rows[510 + place]["prediction"] = answer
        categories = {"text_matching": [{"id": "ID-0"}, {"id": "ID-510"}], "refusal": [{"id": "ID-510"}]}
        files = {"OSWorld-G": rows, "OSWorld-G_refined": rows[:1]}
        folder = as_json(tmp_path / "benchmark", files)
        (folder / "classification_result.json").write_text(json.dumps({"classified": categories, "unclassified": []}))
        entry, totals = evaluated(run, "osworld-g", folder)
        assert [*totals] == ["without refusals", "with refusals"]
        assert (totals["without refusals"]["correct"], totals["without refusals"]["rows"]) == (510, 510)
        assert (totals["with refusals"]["correct"], totals["with refusals"]["rows"]) == (513, 564)
        counts = {name: (part["correct"], part["valid"]) for name, part in entry["by"]["category"].items()}
        assert counts == {"(none)": (511, 562), "text_matching": (2, 2), "refusal": (1, 1)}
        assert entry["refusals"] == {"targets": 54, "correct": 3, "false_clicks": 51, "false_refusals": 0}
        assert run("eval", folder, "--benchmark", "osworld-g", *PIXEL).err.splitlines()[0] == (
            f"note: {folder}: left out, for OSWorld-G has no files of these names: OSWorld-G_refined, "
            "classification_result"
        )

    def test_borders_of_boxes_are_in_and_right_and_bottom_edges_of_polygons_are_out(self, run, tmp_path):
        answers = {"bbox": ("(40, 50)", "(10.5, 20)", "(10, 20)"), "polygon": ("(10, 30)", "(40, 30)", "(20, 50)")}
        rows = osworld([kind for kind in answers for _ in range(3)])
        for row, answer in zip(rows, [each for three in answers.values() for each in three], strict=True):
            row["prediction"] = answer
        file = write_rows(tmp_path / "rows.jsonl", *rows)
        entry, _ = evaluated(run, "osworld-g", file, "--by", "box_type")
        assert [(part["correct"], part["valid"]) for part in entry["by"]["box_type"].values()] == [(2, 3), (1, 3)]
        assert entry["recipe"] == {"name": "click", "polygon": "half_open", "response_space": "pixel"}
        entry, _ = evaluated(run, "osworld-g", file, "--by", "box_type", "--option", "polygon=inclusive")
        assert entry["by"]["box_type"]["polygon"]["correct"] == 3

    def test_rows_without_refusals_have_the_figure_of_510(self, run, tmp_path):
        file = write_rows(tmp_path / "rows.jsonl", *osworld()[:510])
        entry, totals = evaluated(run, "osworld-g-refined", file)
        assert (totals["without refusals"]["accuracy"], totals["with refusals"]["accuracy"]) == (1.0, None)
        assert entry["warnings"] == []
        result = run("eval", file, "--benchmark", "osworld-g-refusal", *PIXEL)
        text = "OSWorld-G with refusals, with refusals: 54 of 564 rows are missing, so no figure of the benchmark"
        assert f"warning: {text}\n" in result.err


def test_ui_vision_is_the_mean_of_three_files(run, tmp_path):
    basic = ui_vision(1772, HIT, [40.25, 50.0, 10.5, 20.0])  # corners the other way round
    spatial = [*ui_vision(1934, MISS, [950.0, -1.7, 1000.5, 12.0]), *ui_vision(1, "(5, 6)", [5.0, 6.0, 5.0, 6.0])]
    files = {"basic": basic, "functional": ui_vision(1772, HIT), "spatial": spatial}
    folder = as_json(tmp_path / "ui", {f"element_grounding_{name}": rows for name, rows in files.items()})
    entry, totals = evaluated(run, "ui-vision", folder)
    assert totals["mean of 3 kinds"]["accuracy"] == pytest.approx((2 + 1 / 1935) / 3)
    assert (totals["all rows"]["correct"], totals["all rows"]["rows"]) == (3545, 5479)
    assert entry["by"]["kind"]["spatial"]["valid"] == 1935
    words = (folder / "element_grounding_basic.json", "--by", "category")
    assert evaluated(run, "ui-vision", *words)[1]["mean of 3 kinds"]["accuracy"] is None


def test_shards_in_parquet_with_their_images(run, tmp_path):
    for kind, count in {"basic": 3, "spatial": 4}.items():
        rows = [{**row, "image": {"bytes": b"\x89PNG", "path": None}} for row in ui_vision(count, HIT)]
        for shard, part in enumerate((rows[:2], rows[2:])):
            path = tmp_path / f"element_grounding_{kind}-0000{shard}-of-00002.parquet"
            pq.write_table(pa.Table.from_pylist(part), path)
    entry, totals = evaluated(run, "ui-vision", tmp_path)
    assert totals["mean of 3 kinds"]["cells"] == {
        "basic": {"correct": 3, "rows": 3},
        "spatial": {"correct": 4, "rows": 4},
    }
    assert entry["columns"]["image_size"] == "image_size"


def test_mmbench_is_the_mean_of_basic_and_advanced(run, tmp_path):
    pixels = [10, -1, 40, 50]
    rows = [*mmbench(1787, "basic", "(12, 30)"), *mmbench(1806, "advanced", MISS)]
    rows += [{**mmbench(1, "advanced", "(20, 0)", pixels)[0], "image_path": "pixels.png"}]
    for place in range(13):
        rows[place] = rows[20]  # rows that are there twice
    entry, totals = evaluated(run, "mmbench-gui-l2", as_json(tmp_path / "l2", {"L2_annotations": rows}))
    assert totals["Average"]["accuracy"] == pytest.approx((1 + 1 / 1807) / 2)
    assert totals["all rows"]["accuracy"] == 1788 / 3594
    assert entry["by"]["grounding_type x platform x data_type"]["basic / os_windows / icon"]["valid"] == 1787


@pytest.mark.parametrize("recipe", ["click", "action"])
def test_mmbench_judges_borders_in_shares_of_the_image(run, tmp_path, recipe):
    shares = [
        ([0.05, 0.05, 0.093, 0.1], "[93, 82]"),
        ([0.267, 0.1, 0.5, 0.2], "[267, 150]"),
        ([0.267, 0.1, 0.5, 0.2], "[266, 150]"),
    ]
    sizes = [[2560, 1440], [1440, 900], [1440, 900]]
    rows = [
        {**mmbench(1, "basic", answer, box)[0], "image_size": size}
        for (box, answer), size in zip(shares, sizes, strict=True)
    ]
    words = ("--benchmark", "mmbench-gui-l2", "--recipe", recipe, "--response-space", "thousandths", "--json")
    totals = result_of(run("eval", write_rows(tmp_path / "rows.jsonl", *rows), *words).out)[0]["benchmark"]["totals"]
    assert [(each["correct"], each["rows"]) for each in totals] == [(2, 3), (2, 3)]


def test_showdown_is_a_csv_file(run, tmp_path):
    lines = ["id,image,instruction,x1,y1,x2,y2,width,height,prediction"]
    lines += [
        f'{place:08x},frames/A/{place}.webp,open it,10,20.5,40,50,1440,900,"({place}, 30)"' for place in range(557)
    ]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    for words in ([tmp_path], [tmp_path / "data.csv"]):
        entry, totals = evaluated(run, "showdown-clicks", *words)
        assert (totals["all rows"]["correct"], totals["all rows"]["rows"]) == (31, 557)
        assert entry["columns"]["target"] == "x1,y1,x2,y2"


def claw(row):
    """Return a row as ClawGUI-Eval's output has it, with the answer in the column of its model."""
    box = row.get("box_coordinates") or row["bbox"]
    if row.get("box_type") == "bbox":
        box = [box[0], box[1], box[0] + box[2], box[1] + box[3]]
    if max(box) < 1:
        box = [1000 * each for each in box]
    more = {name: row[name] for name in ("id", "instruction", "group", "application", "platform") if name in row}
    return {
        "image": "a.png", "answer": box, "image_size": [1000, 1000], "task_type": "grounding", "correct": True,
        "box_type": row.get("box_type", "bbox"), "uivenus15_infer": row["prediction"], **more,
    }  # fmt: skip


CLAW = {
    "screenspot-pro": pro({"Dev": (2, 1)}),
    "osworld-g": osworld(("bbox", "polygon", "refusal")),
    "ui-vision": [*ui_vision(2, HIT), *ui_vision(1, MISS, [40.25, 50, 10.5, 20])],
    "mmbench-gui-l2": [*mmbench(2, "basic", HIT), *mmbench(1, "advanced", MISS)],
}


@pytest.mark.parametrize("name", CLAW)
def test_outputs_of_clawgui_eval_are_rows_of_the_benchmark(run, tmp_path, name):
    counts = [
        [(each["name"], each["correct"], each["rows"]) for each in evaluated(run, name, path)[0]["benchmark"]["totals"]]
        for path in (
            write_rows(tmp_path / "own.jsonl", *CLAW[name]),
            write_rows(tmp_path / "claw.jsonl", *map(claw, CLAW[name])),
        )
    ]
    assert counts[0] == counts[1]
    assert counts[0][0][1:] == (2, 2 if name == "osworld-g" else 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "claw.json: is empty"),
        ("[]", "claw.json: no rows"),
        (json.dumps([claw(CLAW["screenspot-pro"][0])])[:-40], "claw.json, line 1: not JSON"),
        (json.dumps([{"answer": [1, 2, 3, 4], "image_size": [9, 9], "box_type": "bbox", "x_infer": "(1, 2)"}]),
         "rows are not as in ClawGUI-Eval: no column task_type"),
    ],
)  # fmt: skip
def test_files_that_are_no_outputs_of_clawgui_eval(run, tmp_path, text, said):
    (tmp_path / "claw.json").write_text(text)
    assert said in run.error(
        "eval", tmp_path / "claw.json", "--benchmark", "screenspot-pro", "--response-space", "pixel"
    )


SCREEN, PLACE = [3840, 2160], [3000, 1800, 3040, 1830]
BY_FAMILY = [  # an answer on (3020, 1815) as the family writes it, and one that other readings take for it
    ("screenspot-pro", "holo1", "Click(1035, 612)", "Click(3020, 1815)"),
    ("screenspot-pro", "phi_ground", "<point>786, 709</point>", "<point>786, 840</point>"),
    ("screenspot-pro", "internvl2", "<box>[[781, 833, 792, 847]]</box>", "<box>[[3000, 1800, 3040, 1830]]</box>"),
    ("osworld-g", "gta1", "(3017,1812)", "(786,840)"),
    ("osworld-g", "ui_venus_1_5", "[786,840]", "[3020,1815]"),
    ("ui-vision", "gemini", '{"box_2d": [833, 781, 847, 792]}', '{"box_2d": [781, 833, 792, 847]}'),
    ("ui-vision", "jedi", "(1519, 894)", "(3020, 1815)"),
    ("mmbench-gui-l2", "molmo", '<point x="78.6" y="84.0">Save</point>', '<point x="786" y="840">Save</point>'),
    ("mmbench-gui-l2", "paligemma", "<loc0852><loc0799><loc0867><loc0810> save", "<loc0799><loc0852>"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "family", "right", "wrong"), BY_FAMILY)
def test_a_familys_answers_are_read_as_its_authors_do(run, tmp_path, name, family, right, wrong):
    corners = {"bbox": PLACE, "image_size": SCREEN}
    made = {
        "screenspot-pro": pro({"OS": (1, 1)})[0] | {"bbox": PLACE, "img_size": SCREEN},
        "osworld-g": osworld(["bbox"])[0] | {"box_coordinates": [3000, 1800, 40, 30], "image_size": SCREEN},
        "ui-vision": ui_vision(1, "")[0] | corners,
        "mmbench-gui-l2": mmbench(1, "basic", "")[0] | corners | {"bbox": [0.78125, 0.83334, 0.79166, 0.84722]},
    }[name]
    rows = [{**made, "id": at, "index": at, "prediction": text} for at, text in enumerate([right, wrong])]
    file = write_rows(tmp_path / "rows.jsonl", *rows)
    (entry,) = result_of(run("eval", file, "--benchmark", name, "--family", family, "--json").out)
    assert (entry["correct"], entry["valid"]) == (1, 2)
    alone = write_rows(tmp_path / "alone.jsonl", rows[0])
    (entry,) = result_of(run("eval", alone, "--benchmark", name, "--family", family, "--json").out)
    assert entry["correct"] == 1


def test_a_familys_refusal_is_one_where_the_benchmark_asks_for_it(run, tmp_path):
    rows = [{**row, "id": at, "prediction": "[-1,-1]"} for at, row in enumerate(osworld(["refusal", "bbox"]))]
    file = write_rows(tmp_path / "rows.jsonl", *rows)
    (entry,) = result_of(run("eval", file, "--benchmark", "osworld-g", "--family", "ui_venus_1_5", "--json").out)
    assert (entry["correct"], entry["valid"], entry["refusals"]["targets"]) == (1, 2, 1)
