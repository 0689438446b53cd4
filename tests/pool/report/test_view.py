"""Rollouts to go through: each filter leaves what it names, in a file and served, and a sample shows all of its own."""

from __future__ import annotations

import http.client
import json
import re
import shlex
import threading
from contextlib import contextmanager
from urllib.parse import urlencode, urlsplit

import duckdb
import pytest
from PIL import Image

from grounding_rewards.errors import PictureError, PoolError
from grounding_rewards.pool.plan import plan_rollouts
from grounding_rewards.pool.report import command
from grounding_rewards.pool.report.command import serve_view, write_report, write_view
from grounding_rewards.pool.report.rounds import Options, read_inputs
from grounding_rewards.pool.report.rows import Rows
from grounding_rewards.pool.report.samples import Screenshots
from tests.cli.command import write_rows
from tests.viewer.browser import chromium, go, serious, tab, until
from tests.viewer.test_page import HOSTILE

__all__ = ["chromium", "tab"]
pytestmark = pytest.mark.xdist_group("chromium")

SAID = HOSTILE.removesuffix(" \ud800")  # which no file of rows keeps
SHOWN = SAID[: SAID.index("\u202e")] + r"\u202e\x1b[31m\x07"
BOX = '{"bbox": [10, 10, 30, 20], "space": "pixel"}'


def rows():
    """Two rounds of three samples, of which b is a suspect, and one rollout that is not scored."""
    for number in (1, 2):
        for sample, right in (("a", 4), ("b", 0), ("it's c", number)):
            for rollout in range(4):
                hit = rollout < right
                x, y = (0.1, 0.15) if hit else (0.8, 0.8)
                yield {
                    "sample_id": sample, "rollout": rollout, "round": number, "acc": float(hit), "total": hit / 2,
                    "x_unit": x, "y_unit": y, "target": BOX, "image_size": [200, 100], "policy": f"p{number}",
                    "source": "web" if sample == "a" else "pdf", "reason": "OK" if rollout else "REFUSED",
                    "recipe": "click", "temperature": 0.5 * number, "response": f"it's {rollout} {SAID}",
                }  # fmt: skip
    yield {"sample_id": "a", "rollout": 9, "round": 2, "acc": None, "response": None}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rollouts") / "r.jsonl", *rows())


@pytest.fixture(scope="module")
def page(file):
    """The address of a file with these rollouts."""
    out = file.with_name("out.html")
    made = write_view([str(file)], out, target_space="pixel")
    assert made == {"page": str(out), "samples": 3, "rollouts": 25, "screenshots": 0}
    return out.as_uri()


@pytest.fixture(scope="module", params=["a file", "served"])
def address(request, file, page):
    """The address of the page of these rollouts, by both ways."""
    if request.param == "a file":
        yield page
    else:
        with served([str(file)], target_space="pixel") as address:
            yield address


@contextmanager
def served(inputs, **options):
    """Serve a page from a thread, and end it as Ctrl-C does."""
    ready, found, made = threading.Event(), [], []
    server = command.serve.__globals__["_Server"]

    class Kept(server):
        def __init__(self, *arguments):
            made.append(self)
            super().__init__(*arguments)

    def run():
        serve_view(inputs, lambda address, *_: (found.append(address), ready.set()), **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(command.serve.__globals__, "_Server", Kept)
        thread = threading.Thread(target=run)
        thread.start()
        assert ready.wait(60)
        try:
            yield found[0]
        finally:
            made[0].shutdown()
            thread.join()


def status(tab):
    return tab.inner_text("[role=status]").partition(", of")[0]


CHOSEN = [
    ({}, "true"), ({"outcome": "wrong"}, "acc = 0"), ({"outcome": "not scored"}, "acc IS NULL"),
    ({"reason": "REFUSED", "round": "round 1"}, "reason = 'REFUSED' AND round = 1"),
    ({"temperature": "1", "policy": "p2"}, "temperature = 1"), ({"source": "pdf"}, "source = 'pdf'"),
    ({"solved": "never"}, "sample_id = 'b'"), ({"suspect": "suspect", "outcome": "wrong"}, "sample_id = 'b'"),
    ({"solved": "sometimes", "round": "round 2"}, "sample_id LIKE '%c' AND round = 2"),
    ({"right": "1"}, "sample_id LIKE '%c' AND round = 1"),
    ({"right in round 1": "1", "right in round 2": "2"}, "sample_id LIKE '%c'"),
    ({"from round 1 to round 2": "up"}, "sample_id LIKE '%c'"),
    ({"from round 1 to round 2": "same", "round": "round 1"}, "sample_id IN ('a', 'b') AND round = 1"),
    ({"text": "IT'S 3"}, "response LIKE 'it''s 3%'"), ({"text": "it's c"}, "sample_id LIKE '%c'"),
    ({"target size": "1 to 3 %"}, "target IS NOT NULL OR sample_id = 'a'"), ({"outcome": "no such"}, "false"),
]  # fmt: skip


def test_each_filter_shows_the_rollouts_that_duckdb_counts(address, file, tab):
    for chosen, condition in CHOSEN:
        ((count,),) = duckdb.sql(f"SELECT count(*) FROM '{file}' WHERE {condition}").fetchall()
        go(tab, f"{address}#{urlencode(chosen)}")
        assert (chosen, status(tab)) == (chosen, f"{count} of 25 rollouts")
        until(tab, lambda count=count: tab.locator(".strip i").count() == count)


def test_a_sample_shows_its_clicks_its_responses_and_the_command_that_explains_one(address, tab):
    go(tab, f"{address}#round=round+1&sample=it%27s+c")
    assert tab.inner_text("h2 >> nth=0") == "it's c"
    assert tab.locator(".responses li > pre").all_text_contents() == [f"it's {place} {SHOWN}" for place in range(4)]
    words = shlex.split(tab.locator("details pre").first.text_content())
    assert words[:5] == ["grounding-rewards", "explain", "--recipe", "click", "--response"]
    assert words[5:] == [f"it's 0 {SHOWN}", "--target", BOX, "--image-size", "200,100"]
    assert tab.inner_text(".said >> nth=0") == "right · round 1 · temperature 0.5 · policy p1 · REFUSED · total 0.5"
    assert tab.locator(".views > .view .mark b").all_text_contents() == ["1", "2", "3", "4"]


def test_two_rounds_stand_beside_each_other_and_the_list_keeps_them_apart(address, tab):
    go(tab, f"{address}#beside=round")
    tab.wait_for_selector(".sample")
    assert [len(each.split()) for each in tab.locator(".sample b").all_text_contents()] == [1, 1, 2]
    strips = tab.locator(".sample:last-child .strip > span")
    assert [strips.nth(place).get_attribute("title") for place in range(2)] == ["round 1", "round 2"]
    tab.click(".sample:last-child")
    tab.wait_for_selector(".responses")
    assert tab.locator("h3:visible").all_text_contents()[:2] == ["round 1: 1 of 4 right", "round 2: 2 of 4 right"]
    assert tab.locator(".beside ol").nth(1).locator("li").first.get_attribute("value") == "5"


def test_clicks_lie_within_a_pixel_of_the_table_and_the_target_is_in_sight(address, tab):
    widths = []
    for zoom in (1, 4):
        go(tab, f"{address}#sample=a&zoom={zoom}")
        tab.wait_for_selector(".view .clip")
        screen = tab.locator(".views > .view .clip").bounding_box()
        widths.append(screen["width"])
        for look, x, y in (("right", 0.1, 0.15), ("wrong", 0.8, 0.8)):
            mark = tab.locator(f".views > .view .mark.{look}")
            if look == "right" or mark.count():
                box = mark.first.bounding_box()
                assert box["x"] == pytest.approx(screen["x"] + x * screen["width"], abs=1)
                assert box["y"] == pytest.approx(screen["y"] + y * screen["height"], abs=1)
    assert widths[1] == 4 * widths[0]
    pan, target = (tab.locator(name).first.bounding_box() for name in (".pan", ".pan polygon"))
    assert pan["x"] <= target["x"] < pan["x"] + pan["width"]


def test_a_reload_restores_the_view(address, tab):
    go(tab, f"{address}#source=pdf&beside=round&zoom=2&sample=b")
    before = tab.inner_html("#page")
    tab.reload()
    go(tab, tab.url)
    assert tab.inner_html("#page") == before
    assert [tab.locator(f"select >> nth={place}").input_value() for place in (5, -1)] == ["pdf", "2"]


def test_keys_alone_reach_everything(address, tab):
    def focused():
        return tab.evaluate(
            "(e => e.className || e.tagName + ' ' + (e.value || e.textContent))(document.activeElement)"
        )

    go(tab, f"{address}#source=pdf")
    tab.wait_for_selector(".sample")
    tab.focus(".filters select")
    seen = []
    while len(seen) < 40 and "sample" not in seen:
        tab.keyboard.press("Tab")
        seen.append(focused())
    assert [each.split()[0] for each in seen] == ["SELECT"] * 9 + ["INPUT", "SELECT", "SUMMARY", "box", "sample"]
    tab.keyboard.press("Enter")
    tab.wait_for_selector("h2:focus")
    assert tab.inner_text("h2 >> nth=0") == "b"
    tab.keyboard.press("ArrowRight")
    tab.wait_for_selector('h2:text-is("it\'s c")')
    tab.keyboard.press("ArrowRight")  # the last one stays
    tab.keyboard.press("Tab")
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".sample:focus")
    assert tab.inner_text(".sample:focus b") == "it's c"
    assert urlsplit(tab.url).fragment == "source=pdf"


def test_axe_finds_nothing_serious_and_a_phone_scrolls_down_alone(page, tab):
    for hash in ("", "#sample=a&beside=round&zoom=2"):
        go(tab, page + hash)
        assert serious(tab) == []
    tab.set_viewport_size({"width": 390, "height": 800})
    for hash in ("", "#sample=a&beside=round&zoom=2"):
        go(tab, page + hash)
        assert tab.evaluate("document.scrollingElement.scrollWidth") == 390


def test_of_many_samples_those_in_sight_are_there_and_scrolling_brings_others(tmp_path, tab):
    file = write_rows(
        tmp_path / "many.jsonl",
        *(
            {"sample_id": f"s{place:04}", "acc": place % 2, "response": "x" * (1 << 16) if place == 9 else "y"}
            for place in range(3000)
        ),
    )
    write_view([str(file)], tmp_path / "out.html")
    address = (tmp_path / "out.html").as_uri()
    go(tab, address)
    tab.wait_for_selector(".sample")
    assert (status(tab), tab.locator(".sample").count()) == ("3,000 of 3,000 rollouts", 50)
    tab.evaluate("document.querySelector('.box').scrollTop = 34 * 2000")
    tab.wait_for_selector("text=s2000")
    assert tab.locator(".sample").count() == 50
    go(tab, f"{address}#sample=s0009")
    assert len(tab.inner_text("pre")) == 8000


def test_numbers_of_a_report_and_a_plan_lead_to_what_they_count(file, tmp_path, tab):
    write_report([str(file)], tmp_path / "report", target_space="pixel")
    plan_rollouts([file], ["unsolved"], picture=tmp_path / "plan.html", target_space="pixel")
    checked = []
    for out in (tmp_path / "report" / "report.html", tmp_path / "plan.html"):
        go(tab, out.as_uri())
        links = tab.eval_on_selector_all(
            "a[href*='=']:not(.sample)", "all => all.map(a => [a.hash, a.firstChild ? a.firstChild.textContent : ''])"
        )
        for hash, text in links:
            go(tab, out.as_uri() + hash)
            if "sample=" in hash:
                assert tab.inner_text("#list ~ div h2") == text
                continue
            text = re.sub(r"^the (\d+) that went .*", r"\1", text)
            counts = re.findall(r"^(\d+) of 25 rollouts, of (\d+) samples|, (\d+) of", tab.inner_text("[role=status]"))
            found = {each for some in counts for each in some if each}
            assert int(counts[0][0]) > 0
            if text.isdigit() and out.name == "report.html":
                assert (hash, text in found) == (hash, True)
                checked.append(hash)
    assert len(checked) > 25


def asked(address, path=None, host=None):
    """Return the status and the body of a question."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=20)
    connection.request("GET", place.path + "find" if path is None else path, headers={"Host": host or place.netloc})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_the_server_answers_who_knows_its_token_and_its_name(file, monkeypatch):
    monkeypatch.setattr(command, "LINES", 2)
    with served([str(file)]) as address:
        place = urlsplit(address)
        assert len(json.loads(asked(address, f"{place.path}lines?first=0&most=1000000")[1])) == 2
        assert place.hostname == "127.0.0.1"
        assert json.loads(asked(address)[1])["rollouts"] == 25
        assert asked(address, host=f"localhost:{place.port}")[0] == 200
        refused = [
            asked(address, "/"), asked(address, "/find"), asked(address, f"/{'x' * 32}/find"),
            asked(address, place.path[:-2] + "/find"),
            asked(address, host="example.org"), asked(address, host=f"example.org:{place.port}"),
        ]  # fmt: skip
        assert refused == [(403, b"")] * 6
        assert asked(address, f"{place.path}../../etc/passwd") == (404, b"")
        assert asked(address, f"{place.path}lines?first=x&most=5")[0] == 400
        assert json.loads(asked(address, f"{place.path}sample?sample=none")[1]) is None


def test_the_server_shows_images_of_the_folder_alone(file, tmp_path):
    outside, folder = tmp_path / "outside.png", tmp_path / "data"
    folder.mkdir()
    Image.new("RGB", (200, 100), (9, 90, 200)).save(outside)
    Image.new("RGB", (200, 100), (9, 90, 200)).save(folder / "i.png")
    (folder / "link.png").symlink_to(outside)
    named = {"a": str(folder / "i.png"), "b": str(outside), "it's c": "link.png"}
    rows = [{"sample_id": name, "image": image, "instruction": "Do it"} for name, image in named.items()]
    data = Screenshots(write_rows(folder / "data.jsonl", *rows), confined=True)
    with served([str(file)], data=data) as address:
        found = [
            json.loads(asked(address, f"{urlsplit(address).path}sample?{urlencode({'sample': name})}")[1])
            for name in named
        ]
    assert [each["image"] and each["image"][:23] for each in found] == ["data:image/webp;base64,", None, None]
    assert [each["instruction"] for each in found] == ["Do it"] * 3
    assert "lies outside of" in found[1]["notes"][0]
    assert "link.png" in found[2]["notes"][0]


def test_screenshots_go_to_suspects_first(file, tmp_path):
    Image.new("RGB", (200, 100), (9, 90, 200)).save(tmp_path / "i.png")
    names = [{"sample_id": name, "image": "i.png", "instruction": "Do it"} for name in ("a", "b", "it's c")]
    data = Screenshots(write_rows(tmp_path / "data.jsonl", *names))
    made = write_view([str(file)], tmp_path / "out.html", target_space="pixel", data=data, screenshots=1)
    assert made["screenshots"] == 1
    block = block_of((tmp_path / "out.html").read_text("utf-8"))
    assert [(each["id"], each["image"], each["instruction"]) for each in block["samples"]] == [
        ("a", None, None), ("b", 0, "Do it"), ("it's c", None, None),
    ]  # fmt: skip
    write_view([str(file)], tmp_path / "out.html", target_space="pixel", data=data)
    text = (tmp_path / "out.html").read_text("utf-8")
    assert text.count("data:image/webp;base64,") == 1  # of one screenshot that three samples have


def block_of(page):
    """Return the one block of a page of rollouts."""
    (block,) = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["sections"][0]["blocks"]
    return block


def test_a_suspect_has_its_screenshot_before_others_that_are_never_solved_and_numbers_have_seven_digits(tmp_path):
    Image.new("RGB", (200, 100)).save(tmp_path / "i.png")
    rows = [
        {"sample_id": name, "rollout": rollout, "acc": 0, "total": 1 / 3, "x_unit": x, "y_unit": 0.8, "target": BOX,
         "image_size": [200, 100], "response": "?"}
        for name, xs in (("apart", (0.3, 0.5, 0.7, 0.9)), ("suspect", (0.8, 0.8, 0.8, 0.8)))
        for rollout, x in enumerate(xs)
    ]  # fmt: skip
    data = Screenshots(
        write_rows(tmp_path / "d.jsonl", *({"sample_id": n, "image": "i.png"} for n in ("apart", "suspect")))
    )
    file = write_rows(tmp_path / "r.jsonl", *rows)
    write_view([str(file)], tmp_path / "out.html", target_space="pixel", data=data, screenshots=1)
    block = block_of((tmp_path / "out.html").read_text("utf-8"))
    assert [each["image"] for each in block["samples"]] == [None, 0]
    assert block["rows"]["total"] == [0.3333333] * 8


def test_rollouts_are_chosen_by_falling_pass_rates_and_by_a_temperature_that_only_their_input_names(tmp_path):
    write_rows(tmp_path / "a.jsonl", *({"sample_id": name, "acc": 1} for name in "de"))
    write_rows(tmp_path / "b.jsonl", {"sample_id": "d", "acc": 0}, {"sample_id": "e", "acc": 1})
    with Rows(read_inputs([str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")], Options()).parts) as found:
        assert found.find({"from a to b": "down"})["samples"] == 1
    with Rows(read_inputs([f"0.5={tmp_path}/a.jsonl", f"1={tmp_path}/b.jsonl"], Options()).parts) as found:
        assert found.find({"temperature": "0.5"})["right"] == 2


def test_a_page_that_cannot_be_made_is_an_error(file, tmp_path, monkeypatch):
    with pytest.raises(PictureError, match=r"a page ends in \.html"):
        write_view([str(file)], tmp_path / "out.png")
    monkeypatch.setattr(command, "MOST", 24)
    with pytest.raises(
        PoolError,
        match="a page holds 24 rollouts; got 25: choose a round as PATH@ROUND, or look at all of them by --serve",
    ):
        write_view([str(file)], tmp_path / "out.html")
    assert write_view([f"{file}@1"], tmp_path / "out.html", target_space="pixel")["rollouts"] == 12
