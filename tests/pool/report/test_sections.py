"""Sections of a report say what its numbers say, and its page has all of them."""

from __future__ import annotations

import base64
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from grounding_rewards import recipe
from grounding_rewards.catalogue import RecordedName
from grounding_rewards.pool.report.command import page_of
from grounding_rewards.pool.report.rounds import NEEDS, Round, by_source, report
from grounding_rewards.pool.report.samples import Screenshots, commonest, first_of, shortened, views
from grounding_rewards.pool.report.sections import sections
from grounding_rewards.pool.target_boxes import outlines
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.viewer.page import page
from tests.cli.command import result_of, write_rows
from tests.image_sources import OUT, WHY, command, hostile
from tests.pool.report.made import HOSTILE, rounds, shown, stats
from tests.pool.report.test_rounds import whole
from tests.viewer.reading import built, needs_node


def said(found, key, kind):
    """Return the only block of a kind in a section."""
    (held,) = [section["blocks"] for section in sections(found) if section["key"] == key]
    (block,) = [block for block in held if block["kind"] == kind]
    return block


def test_samples_are_those_of_the_round_that_is_named():
    found = {section["key"]: section["lead"] for section in sections(report("", rounds()[:1], hardest=[shown()]))}
    assert found["hardest"].startswith("Never solved in round 1: those with most rollouts first")
    assert found["suspects"].startswith("Never solved in round 1, yet their clicks agree")


def test_what_is_lower_than_the_best_and_not_hotter_has_not_collapsed():
    cool, hot = stats([2] * 30, [0] * 30), stats([2] * 30, [2] * 30)
    swept = report("", [], by_temperature={0.7: cool, 1.0: hot, 1.4: cool})
    part = said(swept, "temperature", "table")
    assert [row[part["heads"].index("verdict")] for row in part["rows"]] == ["lower accuracy", "held", "collapsed"]


def test_rollouts_of_a_sample_are_all_and_places_that_are_missing_are_said():
    bare = shown(clicks=np.array([[0.5, 0.5], [1.5, 0.5]]), outlines=(), unscored=2)
    plain = dict(said(report("", [], hardest=[bare]), "hardest", "facts")["facts"])
    assert plain["rollouts"] == "6, 2 of them not scored, none of them right"
    assert plain["clicks"] == "1 of 2 outside of the screen"
    assert plain["target"] == "its place is not known"
    part = said(report("", [], hardest=[replace(bare, clicks=np.zeros((0, 2)), unscored=0)]), "hardest", "facts")
    assert dict(part["facts"])["rollouts"] == "4, none of them right"


def test_rounds_of_several_temperatures_are_remarked_on():
    warm = replace(rounds()[0], temperatures=(0.7, 1.0, 1.3, 1.6))
    lead, plain = (next(sections(report("", [each])))["lead"] for each in (warm, rounds()[0]))
    text = " round 1: rollouts at temperatures 0.7, 1, 1.3, 1.6 count together, and pass rates mix them."
    assert lead.endswith(text)
    assert text not in plain


def blocks(found, key, *kinds):
    """Return the blocks of a section, of these kinds."""
    (held,) = [each["blocks"] for each in sections(found) if each["key"] == key]
    return [block for block in held if block["kind"] in kinds or not kinds]


@needs_node
def test_a_page_shows_every_section_and_texts_as_texts(tmp_path):
    found = built(page(page_of(whole())), tmp_path)
    assert [each["id"] for each in found.of("h2")] == list(dict.fromkeys(each["id"] for each in found.of("h2")))
    assert {each["id"] for each in found.of("h2")} == set(NEEDS)
    assert any(HOSTILE.replace("\x1b", r"\x1b") in each for each in found.said("dd"))
    pictures = [each for each in found.tags if each[1].get("role") in ("img", "group")]
    assert len(pictures) == 16
    assert all(len(given["aria-label"]) > 10 for _, given in pictures)


@needs_node
def test_a_page_with_nothing_says_what_each_section_needs(tmp_path):
    found = built(page(page_of(report("nothing", []))), tmp_path)
    assert found.said("dd") == [NEEDS[each["key"]] for each in sections(report("nothing", []))]


def test_bars_of_right_rollouts_have_counts_and_shares():
    first, _ = blocks(whole(), "num_correct")
    assert first["title"] == "round 1: 5 samples"
    assert [(row["label"], [part[:3] for part in row["parts"]], row["end"]) for row in first["rows"]] == [
        ("0", [[0, 1.0, "2"]], "2 · 40.0 %"),
        ("1", [[1, 0.5, "1"]], "1 · 20.0 %"),
        ("2", [[1, 0.5, "1"]], "1 · 20.0 %"),
        ("3", [], "0 · 0.0 %"), ("4", [[2, 0.5, "1"]], "1 · 20.0 %"),
    ]  # fmt: skip


def test_the_matrix_has_counts_and_shares_of_its_rows():
    (map_,) = blocks(whole(), "transitions", "heat")
    seen, chance = map_["matrices"]
    assert [row["label"] for row in seen["rows"]] == ["0 (2)", "1 (1)", "2 (1)", "3 (0)", "4 (1)"]
    assert [cell and cell[:3] for cell in seen["rows"][0]["cells"]] == [
        ["1", "50 %", 0.5], ["1", "50 %", 0.5], None, None, None,
    ]  # fmt: skip
    assert seen["rows"][3]["cells"] == [None] * 5
    assert [cell and cell[:2] for cell in chance["rows"][0]["cells"]] == [
        ["1.6", "79 %"], ["0.3", "15 %"], ["0.1", "5 %"], ["", "1 %"], ["", ""],
    ]  # fmt: skip
    (facts,) = blocks(whole(), "transitions", "facts")
    assert [list(each) for each in facts["facts"][:2]] == [
        ["temperature", "1.1 to 1.7"], ["never solved before", "2 of 5 samples"],
    ]  # fmt: skip


def test_a_large_matrix_has_no_empty_ends():
    rng = np.random.default_rng(0)
    large = [Round(name, stats([40] * 20, [*rng.integers(0, 30, 19), 32])) for name in "ab"]
    (map_,) = blocks(report("", large), "transitions", "heat")
    assert [len(each["rows"]) for each in map_["matrices"]] == [33, 33]
    assert len(map_["matrices"][0]["columns"]) < 41


def test_pools_show_what_each_step_left_and_removed():
    (funnel,) = blocks(whole(), "pools", "bars")
    assert funnel["title"] == "pool 2: 15 of 50 samples kept, 20.0 % of them never solved"
    assert [row["end"] for row in funnel["rows"]] == ["50", "48 (-2)", "42 (-6)", "15 (-27)", "15"]
    assert [row["parts"] for row in funnel["rows"]][2:] == [
        [[0, 0.84, "42"], [1, 0.12, "6"]], [[0, 0.3, "15"], [1, 0.54, "27"]], [[2, 0.06, "3"], [3, 0.24, "12"]],
    ]  # fmt: skip


def test_the_smallest_sources_share_a_bar():
    many = Round("round", stats([1] * 70, [1] * 69 + [0], source=[f"s{min(place, 40)}" for place in range(70)]))
    (bars_,) = blocks(report("", [many]), "sources", "bars")
    named = {row["label"]: row for row in bars_["rows"]}
    assert len(named) == 30
    assert (named["12 other sources"]["end"], named["s40"]["end"]) == ("n = 12", "n = 30")
    assert all(sum(part[1] for part in row["parts"]) == pytest.approx(1.0) for row in bars_["rows"])
    assert len(by_source(many.stats)) == 41


def test_sizes_have_intervals_and_signals_a_mark():
    (drawn,) = blocks(whole(), "sizes", "lines")
    first, second = (series["points"] for series in drawn["series"])
    assert [point[0] for point in first] == [0.0, None, 0.0, 0.375, None, None, 1.0]
    assert [point[0] for point in second] == [0.0, None, 0.25, 0.5, None, None, 1.0]
    assert (first[3][3], drawn["labels"][3]) == ("37.5 % (13.7 to 69.4 %)", ["0.1 to 0.3 %", "n = 2"])
    (bars_,) = blocks(whole(), "signal", "bars")
    assert [row["mark"] for row in bars_["rows"]] == [0.4, None]
    many = [replace(rounds()[0], name=str(number)) for number in range(9)]
    (drawn,) = blocks(report("", many), "sizes", "lines")
    assert [series["name"] for series in drawn["series"]] == ["0", "1", "5", "6", "7", "8"]


def test_temperatures_show_accuracies_and_paired_differences():
    accuracy, gaps, others = blocks(whole(), "temperature", "lines")
    assert [point[:3] for point in accuracy["series"][0]["points"]] == [
        [0.35, 0.123652, 0.672653], [0.45, 0.194011, 0.73552],
    ]  # fmt: skip
    assert (gaps["ticks"], gaps["series"][0]["points"][0][0]) == ([[0.0, "-20.0"], [0.5, "0"], [1.0, "+20.0"]], 0.25)
    assert [series["name"] for series in others["series"]] == ["samples with some correct", "never-solved samples"]
    assert accuracy["labels"] == [["1.1", ""], ["1.7", "chosen"]]


def test_clicks_that_agree_are_seen_closely():
    (seen,) = blocks(whole(), "suspects", "screen")
    assert [each["title"] for each in seen["views"]] == [
        "", "1: around the target, 100 px wide", "2: around the clicks, 15 px wide",
    ]  # fmt: skip
    x1, _, x2, _ = seen["views"][2]["window"]
    assert x1 < 0.8 < 0.81 < x2
    assert [(each["look"], each["at"], each["text"]) for each in seen["marks"]] == [
        ("wrong", [0.8, 0.8], "wrong: 160, 80 px"), ("wrong", [0.81, 0.8], "wrong: 162, 80 px"),
    ]  # fmt: skip
    assert (seen["names"]["wrong"], seen["alt"]) == (
        "2 wrong clicks", "Sample b: its target; 2 wrong clicks; an empty screen",
    )  # fmt: skip


def test_a_view_of_the_target_that_shows_the_clicks_is_enough():
    near = shown(clicks=np.array([[0.2, 0.4], [0.21, 0.4]]))
    assert [each["title"] for each in views(near)] == ["", "1: around the target, 100 px wide"]
    apart = shown(clicks=np.array([[0.5, 0.4], [0.9, 0.4]]))
    assert len(views(apart)) == 2
    assert [each["title"] for each in views(replace(apart, outlines=(), image_size=None))] == [""]


def test_what_cannot_be_drawn_is_said_and_what_can_is_drawn():
    bare = shown(clicks=np.zeros((0, 2)), right=np.zeros(0, bool), outlines=(), image_size=None)
    assert blocks(report("", [], hardest=[bare]), "hardest", "screen") == []
    seen = replace(bare, image="data:image/webp;base64,AA==")
    (drawn,) = blocks(report("", [], hardest=[seen]), "hardest", "screen")
    assert (drawn["alt"], drawn["size"]) == ("Sample b: its screenshot", [16.0, 9.0])
    assert drawn["image"] == seen.image
    point = shown(outlines=(np.array([[0.5, 0.5]]),), right=np.array([True, False]))
    (drawn,) = blocks(report("", [], hardest=[point]), "hardest", "screen")
    assert [each["look"] for each in drawn["marks"]] == ["point", "right", "wrong"]


def test_samples_that_are_not_shown_are_counted():
    (lead,) = [each["lead"] for each in sections(report("", [], suspects=[shown()], counted={"suspects": 1200}))
               if each["key"] == "suspects"]  # fmt: skip
    assert lead.endswith(" There are 1,200; the first 1 are shown.")


def test_of_a_round_without_scores_nothing_is_drawn():
    empty, other = Round("none", stats([0, 0], [0, 0])), Round("some", stats([2], [1]))
    found = report("none", [empty])
    assert [block for each in sections(found) for block in each["blocks"] if block["kind"] != "table"] == []
    assert found["missing"]["num_correct"].endswith("of which some are scored (column acc)")
    assert [each["round"] for each in report("one", [empty, other])["num_correct"]] == ["some"]


NEVER = stats([8, 8, 8, 4, 8], [0, 0, 0, 0, 1], target_area=[0.2, float("nan"), 0.001, 0.0001, 0.0001])


def test_the_hardest_have_most_rollouts_and_then_the_smallest_targets():
    assert first_of(NEVER, NEVER.none_correct, 9).tolist() == [2, 0, 1, 3]
    assert first_of(NEVER, NEVER.none_correct, 2).tolist() == [2, 0]
    doubtful = np.array([False, False, True, True, False])
    assert first_of(NEVER, NEVER.none_correct & ~doubtful, 9).tolist() == [0, 1]
    assert first_of(NEVER, doubtful, 9).tolist() == [2, 3]


def test_equal_samples_come_in_the_order_of_their_names():
    order = np.array([3, 1, 0, 2])
    found = stats([1] * 4, [0] * 4).taken(order)
    assert [found.sample_id[row] for row in first_of(found, found.none_correct, 3)] == ["a", "b", "c"]


def test_responses_are_counted_and_shortened():
    assert commonest(["b", "a", "b", None, "c", "d"]) == (("b", 2), ("a", 1), ("c", 1))
    assert shortened("a" * 400) == "a" * 150 + "…" + "a" * 149
    assert commonest([]) == ()


def test_clicks_outside_of_the_screen_cannot_be_drawn():
    away = shown(clicks=np.array([[1.2, 0.5], [1.0, 0.0]]), outlines=())
    assert (away.inside.tolist(), away.drawable) == ([False, True], True)
    assert not shown(clicks=np.array([[0.5, -0.1]]), right=np.zeros(1, bool), outlines=()).drawable


def test_a_sample_as_json_is_plain_values():
    plain = shown(image="data:,").to_json()
    assert plain["clicks_unit"] == [[0.8, 0.8], [0.81, 0.8]]
    assert (plain["screenshot"], plain["image_size"], plain["n"]) == (True, [200.0, 100.0], 4)


def corners(*given, **more):
    return [np.round(each, 9).tolist() for each in outlines(*given, **more)]


def test_every_place_of_a_target_has_its_own_shape():
    polygon = '{"polygon": [0, 0, 20, 0, 20, 10]}'
    assert corners(polygon, (200, 100), target_space="pixel") == [[[0.0, 0.0], [0.1, 0.0], [0.1, 0.1]]]
    assert corners('{"point": [500, 250]}', None, target_space="thousandths") == [[[0.5, 0.25]]]
    several = '{"space": "unit", "regions": [{"point": [0.1, 0.2]}, {"bbox": [0.1, 0.1, 0.2, 0.2]}]}'
    assert [len(each) for each in corners(several, None)] == [1, 4]
    (circle,) = outlines('{"circle": [100, 50, 10]}', (200, 100), target_space="pixel")
    assert np.round([*circle.min(axis=0), *circle.max(axis=0)], 9).tolist() == [0.45, 0.4, 0.55, 0.6]


def test_a_recipe_says_its_form_and_space():
    text, expected = "[0.1, 0.1, 0.2, 0.3]", [[[0.1, 0.1], [0.2, 0.1], [0.2, 0.3], [0.1, 0.3]]]
    assert corners(text, None, name=RecordedName("gelato")) == expected
    assert corners(text, None, name=RecordedName("lab:reward")) == []
    assert corners(text, None, name=RecordedName("lab:reward"), recipe=recipe("gelato")) == expected


@pytest.mark.parametrize(
    ("target", "size", "space"),
    [(None, None, None), ("{", None, "unit"), ('{"refusal": true}', None, "unit"), ('{"action": "wait"}', None, "unit"),
     ('{"bbox": [1, 1, 2, 2]}', (9, 9), None), ('{"bbox": [1, 1, 2, 2]}', None, "pixel")],
)  # fmt: skip
def test_a_target_that_cannot_be_placed_has_no_outline(target, size, space):
    assert outlines(target, size, target_space=space) == ()


def test_screenshots_are_turned_as_their_exif_data_say_and_other_shapes_are_reported(tmp_path):
    upright = Image.new("L", (100, 200), 255)
    upright.paste(0, (0, 0, 100, 50))  # dark on top, once it is turned by 90 degrees: at the right
    exif = upright.getexif()
    exif[0x0112] = 6
    upright.save(tmp_path / "turned.png", exif=exif)
    rows = [{"sample_id": name, "image": "turned.png"} for name in "bc"]
    data = Screenshots(write_rows(tmp_path / "data.jsonl", *rows))
    wide, tall = shown(), shown(sample_id="c", image_size=(100.0, 200.0))
    (first, _), remarks = data.shown([wide, tall])
    with Image.open(io.BytesIO(base64.b64decode(first.image.partition(",")[2]))) as image:
        assert image.size == (200, 100)
        assert [image.getpixel((x, 50))[0] for x in (20, 180)] == pytest.approx([255, 0], abs=4)
    assert remarks == [
        "1 screenshot not of the shape that rollouts name: 'c' is 200 x 100, its image_size 100 x 200"
    ]  # fmt: skip
    _, remarks = data.shown([wide, shown(sample_id="x")])
    assert remarks == [f"{data.path} lacks 1 sample that the page shows, such as 'x'"]


@pytest.mark.parametrize("name", [name for name in (*WHY, *OUT) if name not in ("fifo", "device")])
def test_a_screenshot_that_is_none_is_left_out_and_the_reason_stated(tmp_path, name):
    folder = tmp_path / "data"
    path = hostile(folder)[name]
    data = Screenshots(write_rows(folder / "data.jsonl", {"sample_id": "b", "image": path, "instruction": "Do it"}))
    (sample,), (remark,) = data.shown([shown()])
    assert (sample.image, sample.instruction, sample.image_size) == (None, "Do it", (200.0, 100.0))
    assert remark.startswith("1 screenshot cannot be read, the first: row 0 (line 1), 'b': image: cannot read ")
    assert (WHY | OUT)[name] in remark


@pytest.mark.slow
def test_a_report_waits_for_nothing_and_reads_nothing_without_end(tmp_path):
    folder = tmp_path / "data"
    paths = hostile(folder)
    rollouts = [{"sample_id": name, "acc": 0} for name in ("fifo", "device", "good") for _ in range(4)]
    (folder / "good.png").write_bytes(stored())
    paths["good"] = "good.png"
    write_rows(folder / "rollouts.jsonl", *rollouts)
    write_rows(
        folder / "data.jsonl", *({"sample_id": name, "image": paths[name]} for name in ("fifo", "device", "good"))
    )
    words = ("pool", "report", "rollouts.jsonl", "--data", "data.jsonl", "--out", "report", "--json")
    done = command(*words, cwd=folder)
    found = result_of(done.stdout)
    assert {each["sample_id"]: each["screenshot"] for each in found["hardest"]} == {
        "device": False, "fifo": False, "good": True,
    }  # fmt: skip
    (remark,) = found["remarks"]
    assert remark.startswith(
        "2 screenshots cannot be read, the first: row 0 (line 1), 'fifo': image: cannot read 'fifo"
    )
    assert "is a FIFO; expected an image file" in (folder / "report" / "report.html").read_text("utf-8")
    for limit in (("--max-image-pixels", 199), ("--image-root", tmp_path / "outside")):
        done = command(*words, *limit, cwd=folder)
        assert [each["screenshot"] for each in result_of(done.stdout)["hardest"]] == [False] * 3
    for images in ({"root": str(tmp_path / "outside")}, {"max_image_bytes": 3}):
        data = Screenshots(folder / "data.jsonl", images=ImageFiles(**images))
        assert data.shown([shown(sample_id="good")])[0][0].image is None


def stored():
    file = io.BytesIO()
    Image.new("L", (20, 10), 200).save(file, "PNG")
    return file.getvalue()
