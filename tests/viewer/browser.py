"""Pages in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import time

import pytest

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")  # while it runs, so does its event loop, beside which others cannot be run
def chromium():
    """A browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no page was opened")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: no page was opened")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium):
    """A tab of it; a message of the console, an error of the script or a dialog fails the test."""
    context, said = chromium.new_context(viewport={"width": 928, "height": 900}), []
    page = context.new_page()
    for event, text in (("console", lambda message: message.text), ("pageerror", str), ("dialog", str)):
        page.on(event, lambda value, text=text: said.append(text(value)))
    yield page
    context.close()
    assert said == []


def go(tab, address):
    """Go to an address, or to another hash of the same, and wait until all is drawn."""
    tab.goto(address)
    tab.wait_for_timeout(20)  # of a new hash alone the script hears a moment later
    tab.wait_for_selector(".samples[aria-busy=false]", state="attached")


def until(tab, condition):
    """Wait until a condition holds; the policy of pages forbids Playwright's own way for it."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        tab.wait_for_timeout(20)


def serious(tab):
    """Return what axe-core finds serious or critical, with the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    found = axe.Axe().run(tab).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found
            if each["impact"] in ("serious", "critical")]  # fmt: skip
