"""The documentation as a site: built without a warning, read in a real browser from its files alone."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import grounding_rewards as gr
from docs.gallery import reference
from tests.viewer.browser import chromium, serious

__all__ = ["chromium"]

ROOT = Path(__file__).parents[2]
START = "docs/README.html"
pytestmark = pytest.mark.xdist_group("chromium")


class Page(HTMLParser):
    """Links and the names that they find."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links, self.names, self.outside = list[str](), set[str](), list[str]()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        link = found.get("href" if tag in ("a", "link") else "src")
        if link and re.match(r"(https?:)?//", link) and tag != "a":
            self.outside.append(link)
        elif link and not re.match(r"\w+:", link):
            self.links.append(unquote(link))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, and its pages by place."""
    out = tmp_path_factory.mktemp("site")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(out)]
    run = subprocess.run(sphinx, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    return out, {str(path.relative_to(out)): Page(path) for path in out.rglob("*.html") if "_static" not in path.parts}


def test_links_and_anchors_hold_and_nothing_is_loaded_from_outside(site):
    out, pages = site
    assert len(pages) > 80
    wrong = []
    for place, page in pages.items():
        for link in page.links:
            path, name = urlsplit(link).path, urlsplit(link).fragment
            target = (out / place).parent / path if path else out / place
            found = pages.get(str(target.resolve().relative_to(out.resolve())))
            if not target.exists() or (name and found and name not in found.names):
                wrong.append((place, link))
        assert page.outside == [], place
    assert wrong == []


def test_the_index_has_every_recipe_and_public_name_and_a_page_every_command(site):
    out, _ = site
    index = (out / "genindex.html").read_text("utf-8")
    assert [name for name in gr.list_recipes() if f">{name} (recipe)<" not in index] == []
    public = reference.public()
    assert {"grounding_rewards", "grounding_rewards.pool", "grounding_rewards.verifiers"} <= {*public}
    assert {"evaluate", "recipe", "wrap", "Recipe"} <= {*public["grounding_rewards"]}
    assert [name for names in public.values() for name in names if not re.search(rf">{name}\b", index)] == []
    commands = (out / "docs/reference/commands.html").read_text("utf-8")
    listed = reference.commands()["commands"]
    assert {"eval", "pool next", "check data"} <= {*listed}
    assert [name for name in listed if f'id="{name.replace(" ", "-")}"' not in commands] == []


def test_search_from_files_finds_the_pages_of_a_word_without_an_outside_request(site, chromium):
    asked, tab = [], chromium.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    found = {}
    for word in ("gelato", "thousandths", "McNemar"):
        tab.goto(f"{(site[0] / 'search.html').as_uri()}?q={word}")
        tab.wait_for_selector(".search-summary:has-text('finished')")
        tab.wait_for_selector("#search-results li a")
        found[word] = [
            link.get_attribute("href").partition("?")[0] for link in tab.locator("#search-results li a").all()
        ]
    tab.close()
    assert "docs/recipes/gelato.html" in found["gelato"][:2]
    assert "docs/reference/spaces.html" in found["thousandths"]
    assert "docs/files.html" in found["McNemar"]
    assert [url for url in asked if urlsplit(url).scheme not in ("file", "data")] == []


def test_pages_fit_a_telephone_and_axe_finds_nothing_serious(site, chromium):
    out, pages = site
    tab = chromium.new_page(viewport={"width": 390, "height": 800})
    wide, found = [], {}
    for place in pages:
        tab.goto((out / place).as_uri())
        if tab.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(place)
        if place in (START, "docs/start.html", "docs/recipes/gelato.html", "docs/files.html", "docs/methods/dars.html"):
            found[place] = serious(tab)
    tab.close()
    assert wide == []
    assert {place: problems for place, problems in found.items() if problems} == {}
    assert len(found) == 5
