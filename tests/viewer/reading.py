"""Reading of a page as its script shows it, by node over a small DOM."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the script of the page was not run")


class Built(HTMLParser):
    """Tags with their attributes, and texts by the tag that they stand in."""

    def __init__(self, html):
        super().__init__()
        self.html, self.tags, self.texts, self._open = html, [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self._open[-1], data))

    def of(self, tag):
        """Return the attributes of each such tag."""
        return [given for name, given in self.tags if name == tag]

    def said(self, *tags):
        """Return the texts in such tags, or all."""
        return [text for tag, text in self.texts if tag in tags or not tags]


def built(html: str, folder: Path) -> Built:
    """Run the script of a page."""
    (folder / "page.html").write_text(html, "utf-8")
    words = [NODE, str(Path(__file__).with_name("dom.js")), str(folder / "page.html")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return Built(done.stdout)
