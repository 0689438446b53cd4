"""The documentation as a site: built without a warning, read in a real browser from its files alone."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

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
        self.body, self.inside = list[str](), False  # links of the text itself
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.inside |= tag == "article"
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        link = found.get("href" if tag in ("a", "link") else "src")
        if link and re.match(r"(https?:)?//", link) and tag != "a":
            self.outside.append(link)
        elif link and not re.match(r"\w+:", link):
            self.links.append(unquote(link))
            self.body += [unquote(link)] * (self.inside or "toc" in (found.get("class") or "") or link.startswith("#"))

    def handle_endtag(self, tag):
        self.inside &= tag != "article"


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


TASKS = {
    "declare the space of answers": "docs/reference/spaces.html",
    "compute the size that a model saw": "docs/reference/spaces.html#the-size-that-the-model-saw",
    "see that no response raises": "SECURITY.html",
    "know the parts of a score in each trainer": "adapters/README.html#scores-in-each-trainer",
    "filter by success beside a shaped reward": "docs/pools.html#the-next-pool",
    "make a trainer's rows": "docs/files.html#convert-for-a-trainer",
    "see what a reward can be tricked with": "docs/reference/audit.html",
    "find the accepted forms of answers": "docs/reference/answers.html#dialects",
    "score refusals": "docs/reference/answers.html#refusals",
    "shape a reward by size": "docs/recipes/gui-g1.html",
    "filter rollouts into a pool": "docs/pools.html",
    "see which groups have no signal": "docs/checks.html#rollouts",
    "find a wrong coordinate space": "docs/files.html#what-looks-wrong",
    "check a launch": "docs/checks.html#launches",
    "see which versions of trainers work": "adapters/README.html#versions",
    "abstain on a bad target": "adapters/README.html#options",
    "audit data": "docs/checks.html#data",
    "match several places one to one": "docs/matching.html",
    "use a published reward": "docs/recipes/gelato.html",
    "match actions with a tolerance": "docs/actions.html#a-step",
}


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_two_links_from_the_start_page(site, task):
    _, pages = site
    reached = {START}
    for _ in range(2):
        links = [urljoin(place, link) for place in reached for link in pages[place.partition("#")[0]].body]
        reached |= {link for link in links if link.partition("#")[0] in pages}
    assert TASKS[task] in reached


def test_the_design_space_says_of_each_step_what_is_here_with_links_that_hold(site):
    _, pages = site
    assert "design-space.md" in (ROOT / "docs" / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+) \|(.*)\|(.*)\|(.*)\|$", (ROOT / "docs" / "design-space.md").read_text("utf-8"), re.MULTILINE
    )
    assert [row[0] for row in rows[1:]] == ["generate", "filter", "control", "replay"]
    for _, _, here, trainer in rows[1:]:
        links = re.findall(r"\]\(([^)]+)\.md", here)
        assert links
        assert {str(Path(urljoin("docs/", link))) + ".html" for link in links} <= {*pages}
        assert trainer.strip()


def test_every_tutorial_is_one_link_from_the_start_page_by_its_name(site):
    _, pages = site
    links = dict(re.findall(r"\[([^]]+)\]\(([^)]+)\)", (ROOT / "docs" / "README.md").read_text("utf-8")))
    for name, link in {
        "Score your benchmark": "files.md",
        "TRL in ten lines": "../README.md#in-a-trainer",
        "verl": "../adapters/README.md#verl",
        "EasyR1": "../adapters/README.md#easyr1",
        "The next round's pool": "pools.md",
        "A reward of your own": "extending.md",
    }.items():
        assert links[name] == link
        assert link.replace(".md", ".html") in pages[START].body


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


def test_tables_fit_beside_the_list_of_pages_on_a_small_screen(site, chromium):
    out, pages = site
    tab = chromium.new_page(viewport={"width": 1100, "height": 800})
    wide = []
    for place in sorted(pages.keys() - {"index.html"}):
        tab.goto((out / place).as_uri())
        tables = "[...document.querySelectorAll('.pst-scrollable-table-container')]"
        if tab.evaluate(f"{tables}.some(each => each.scrollWidth > each.clientWidth + 1)"):
            wide.append(place)
    tab.close()
    assert wide == []


def test_pages_fit_a_telephone_and_axe_finds_nothing_serious(site, chromium):
    out, pages = site
    telephone, screen = {"width": 390, "height": 800}, {"width": 1100, "height": 800}
    still, tab = chromium.new_page(viewport=telephone, java_script_enabled=False), chromium.new_page(viewport=telephone)
    wide, found = [], {}
    for place in pages.keys() - {"index.html"}:  # which leads away
        still.goto((out / place).as_uri())
        if still.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(place)
    for name in ("README", "start", "recipes/gelato", "files", "reference/commands"):
        place = f"docs/{name}.html"
        for size in (telephone, screen):  # a screen has the list of pages, too
            tab.set_viewport_size(size)
            tab.goto((out / place).as_uri())
            found[place, size["width"]] = [
                tab.evaluate("document.documentElement.scrollWidth") > size["width"], serious(tab),
            ]  # fmt: skip
    still.close()
    tab.close()
    assert wide == []
    assert found == {place: [False, []] for place in found}
