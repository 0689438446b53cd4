"""The page stands alone, escapes what it shows, and can be read without seeing."""

from __future__ import annotations

import base64
import re
import sys
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from grounding_rewards.errors import PictureError
from grounding_rewards.pool.report.data import NEEDS, report
from grounding_rewards.pool.report.files import page
from grounding_rewards.pool.report.pictures import drawings
from tests.pool.report.made import HOSTILE
from tests.pool.report.test_data import whole

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x05\x46\x00\x00\x02\x58\x08\x02\x00\x00\x00"
VOID = {"meta", "img"}


class Read(HTMLParser):
    """Tags, texts and images; complains about tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.opened, self.tags, self.texts, self.images = [], [], [], []
        self.feed(text)
        assert self.opened == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag == "img":
            self.images.append(dict(attributes))
        if tag not in VOID:
            self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def found():
    return whole()


@pytest.fixture(scope="module")
def text(found):
    return page(found, {drawing.file: (drawing, PNG) for drawing in drawings(found)})


def test_nothing_is_asked_for_on_a_network(text):
    read = Read(text)
    links = [value for _, given in read.tags for name, value in given.items() if name in ("href", "src", "srcset")]
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not {tag for tag, _ in read.tags} & {"script", "link", "iframe", "object", "base", "form"}
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(" not in text


def test_every_picture_is_inside_with_its_size_and_in_words(found, text):
    read = Read(text)
    assert len(read.images) == len(list(drawings(found))) == 9
    for image in read.images:
        assert base64.b64decode(image["src"].partition(",")[2]) == PNG
        assert (image["width"], image["height"]) == ("900", "400")
        assert len(image["alt"]) > 30


def test_texts_from_anywhere_are_shown_and_never_read(text):
    read = Read(text)
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(&#39;$x$&#39;)&lt;/script&gt;") > 4
    assert "mind <this>" in read.texts
    assert any(HOSTILE in each for each in read.texts)


def test_headings_are_in_order_and_the_list_of_sections_leads_to_them(text):
    read = Read(text)
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    named = [given["id"] for tag, given in read.tags if tag == "h2"]
    assert [given["href"] for tag, given in read.tags if tag == "a"] == [f"#{name}" for name in named]
    assert named == list(dict.fromkeys(named))
    assert set(named) == set(NEEDS)


def test_tables_have_as_many_cells_in_each_row_and_heads_that_say_so(text):
    for table in re.findall("<table>.*?</table>", text, re.DOTALL):
        rows = [len(re.findall(r"<t[hd][ >]", row)) for row in re.findall("<tr>.*?</tr>", table, re.DOTALL)]
        assert len(set(rows)) == 1
        assert rows[0] > 3
        assert "<caption>" in table


def test_a_page_with_nothing_says_what_each_section_needs():
    text = page(report("nothing", []), {})
    read = Read(text)
    assert read.images == []
    assert [each for each in read.texts if each.startswith("Nothing to show: ")] == [
        f"Nothing to show: {why}." for why in (NEEDS[name] for name in re.findall('<h2 id="(.*?)"', text))
    ]


def test_lone_surrogates_do_not_end_it():
    assert "?" in page(report("a\ud800", []), {})


def test_without_jinja2_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(PictureError, match=r"a report needs jinja2: pip install 'grounding-rewards\[report\]'"):
        page(report("nothing", []), {})
