"""The page of rollouts: each filter shows the rollouts that it names, and a sample all that belongs to it."""

from __future__ import annotations

import json
import shlex
import subprocess
from urllib.parse import urlencode

import duckdb
import pytest
from PIL import Image

from grounding_rewards.errors import PictureError, PoolError
from grounding_rewards.pool.report import view
from grounding_rewards.pool.report.samples import Screenshots
from grounding_rewards.pool.report.view import write_view
from tests.cli.command import write_rows
from tests.viewer.reading import built, needs_node
from tests.viewer.test_page import CHROMIUM, HOSTILE

SAID = HOSTILE.removesuffix(" \ud800")  # which no file of rows keeps
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


@pytest.fixture
def file(tmp_path):
    return write_rows(tmp_path / "r.jsonl", *rows())


@pytest.fixture
def page(file, tmp_path):
    made = write_view([file], tmp_path / "out.html", target_space="pixel")
    assert made == {"page": str(tmp_path / "out.html"), "samples": 3, "rollouts": 25, "screenshots": 0}
    return (tmp_path / "out.html").read_text("utf-8")


def status(found):
    (said,) = [text for text in found.said("p") if "rollouts, of" in text]
    return said.partition(", of")[0]


@needs_node
@pytest.mark.parametrize(
    ("chosen", "condition"),
    [
        ({}, "true"), ({"outcome": "wrong"}, "acc = 0"), ({"outcome": "not scored"}, "acc IS NULL"),
        ({"reason": "REFUSED", "round": "1"}, "reason = 'REFUSED' AND round = 1"),
        ({"temperature": "1", "policy": "p2"}, "temperature = 1"), ({"source": "pdf"}, "source = 'pdf'"),
        ({"solved": "never"}, "sample_id = 'b'"), ({"suspect": "suspect", "outcome": "wrong"}, "sample_id = 'b'"),
        ({"text": "IT'S 3"}, "response LIKE 'it''s 3%'"), ({"text": "it's c"}, "sample_id LIKE '%c'"),
        ({"target size": "1 to 3 %"}, "target IS NOT NULL OR sample_id = 'a'"), ({"outcome": "no such"}, "false"),
    ],
    ids=str,
)  # fmt: skip
def test_each_filter_shows_the_rollouts_that_duckdb_counts(page, file, tmp_path, chosen, condition):
    ((count,),) = duckdb.sql(f"SELECT count(*) FROM '{file}' WHERE {condition}").fetchall()
    found = built(page, tmp_path, f"#{urlencode(chosen)}")
    assert status(found) == f"{count} of 25 rollouts"
    strips = [each for each in found.of("i") if each.get("class") in ("right", "wrong", "unscored")]
    assert len(strips) == count


@needs_node
def test_a_sample_shows_its_clicks_its_responses_and_the_command_that_explains_one(page, tmp_path):
    found = built(page, tmp_path, "#round=1&sample=it%27s+c")
    assert found.said("h2") == ["it's c"]
    shown = f"it's 0 {SAID[: SAID.index(chr(0x202E))]}" + r"\u202e\x1b[31m\x07"
    responses = found.said("pre")
    assert len(responses) == 8  # a command each
    assert responses[0] == shown
    words = shlex.split(responses[1])
    assert words[:4] == ["grounding-rewards", "explain", "click", "--response"]
    assert words[4:] == [shown, "--target", BOX, "--image-size", "200,100"]
    assert found.said("span")[-4] == "right · round 1 · temperature 0.5 · policy p1 · REFUSED · total 0.5"
    marks = [each["style"] for each in found.of("span") if each.get("class") == "mark right" and "style" in each]
    assert marks[0] == "left:10%;top:15%"
    assert found.said("b")[:4] == ["1", "2", "3", "4"]
    assert not found.of("script")


@needs_node
def test_keys_go_on_to_the_samples_that_the_filters_leave(page, tmp_path):
    def seen(*keys):
        found = built(page, tmp_path, "#source=pdf&sample=b", *keys)
        return found.said("h2"), [each["href"] for each in found.of("a")]

    assert seen()[0] == ["b"]
    assert seen("ArrowRight") == (["it's c"], ["#source=pdf", "#source=pdf&sample=b"])
    assert seen("ArrowLeft")[0] == ["b"]
    assert seen("Escape") == ([], ["#source=pdf&sample=b", "#source=pdf&sample=it%27s+c"])


@needs_node
def test_of_many_samples_those_in_sight_are_there(tmp_path):
    file = write_rows(tmp_path / "many.jsonl", *({"sample_id": f"s{place}", "acc": place % 2} for place in range(3000)))
    write_view([file], tmp_path / "out.html")
    found = built((tmp_path / "out.html").read_text("utf-8"), tmp_path)
    assert (status(found), len([each for each in found.of("a") if each["class"] == "sample"])) == (
        "3,000 of 3,000 rollouts", 50,
    )  # fmt: skip


def test_screenshots_go_to_suspects_first(file, tmp_path):
    Image.new("RGB", (200, 100), (9, 90, 200)).save(tmp_path / "i.png")
    names = [{"sample_id": name, "image": "i.png", "instruction": "Do it"} for name in ("a", "b", "it's c")]
    data = Screenshots(write_rows(tmp_path / "data.jsonl", *names))
    made = write_view([file], tmp_path / "out.html", target_space="pixel", data=data, screenshots=1)
    assert made["screenshots"] == 1
    block = block_of((tmp_path / "out.html").read_text("utf-8"))
    assert [(each["id"], each["image"], each["instruction"]) for each in block["samples"]] == [
        ("a", None, None), ("b", 0, "Do it"), ("it's c", None, None),
    ]  # fmt: skip
    write_view([file], tmp_path / "out.html", target_space="pixel", data=data)
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
    write_view([file], tmp_path / "out.html", target_space="pixel", data=data, screenshots=1)
    block = block_of((tmp_path / "out.html").read_text("utf-8"))
    assert [each["image"] for each in block["samples"]] == [None, 0]
    assert block["rows"]["total"] == [0.3333333] * 8


def test_a_page_that_cannot_be_made_is_an_error(file, tmp_path, monkeypatch):
    with pytest.raises(PictureError, match=r"a page ends in \.html"):
        write_view([file], tmp_path / "out.png")
    monkeypatch.setattr(view, "MOST", 24)
    with pytest.raises(PoolError, match="a page holds 24 rollouts; got 25: choose some by --round"):
        write_view([file], tmp_path / "out.html")
    assert write_view([file], tmp_path / "out.html", rounds=[1], target_space="pixel")["rollouts"] == 12


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the page was opened in no browser")
def test_a_browser_restores_what_the_address_says(page, tmp_path):
    (tmp_path / "page.html").write_text(page, "utf-8")
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--enable-logging=stderr", "--dump-dom", f"{(tmp_path / 'page.html').as_uri()}#source=pdf&outcome=wrong"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert "13 of 25 rollouts, of 2 samples, 0 of 13 scored ones right (0.0 %)" in done.stdout
    assert "CONSOLE" not in done.stderr
