"""The files and the plugins that a config names."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import pytest

from grounding_rewards.plugins import registry as plugins
from grounding_rewards.plugins.registry import files_named, plugins_named


def test_files_are_named_as_they_are(tmp_path):
    own = tmp_path / "own.py"
    own.touch()
    assert files_named({"name": "composite", "dialect": f"{own}:TAP", "success": f"{tmp_path}/none.py:x"}) == [own]


def test_files_of_selectors_and_of_verifiers_inside_of_others(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.touch(), two.touch()
    every = {"name": "every", "selectors": [{"name": f"{two}:x"}, f"{one}:x", "unsolved"]}
    assert files_named({"selectors": [f"{one}:x", every]}) == [one, two]
    assert files_named({"selectors": [every]}) == [two, one]
    brief = {"verifier": "dast_length", "weight": 1, "correct": {"verifier": f"{one}:x"}}
    assert files_named({"name": "composite", "parts": {"brief": brief, "own": f"{two}:x"}}) == [one]
    assert files_named({"name": "composite", "parts": {"brief": {**brief, "correct": f"{two}:x"}}}) == [two]


def test_what_names_no_file():
    for name in ("gelato", "grounding_rewards.recipes.published.gelato:gelato", "acme/brief"):
        assert files_named({"name": name, "format_weight": 0.5, "vocabulary": "own.py:x"}) == []


@pytest.mark.parametrize(("distribution", "expected"), [("numpy", version("numpy")), ("not-there", "unknown")])
def test_the_versions_of_plugins(monkeypatch, distribution, expected):
    offered = replace(plugins.registry(), plugins=(("acme", distribution, None), ("other", "pytest", None)))
    monkeypatch.setattr(plugins, "_registry", lambda: offered)
    parts = {"one": {"verifier": "acme/brief"}, "two": {"verifier": "other/own.py:brief"}, "hit": 0.5}
    assert plugins_named({"name": "composite", "parts": parts}) == {distribution: expected}
    assert plugins_named({"name": "gelato", "title": "acme/brief"}) == {}
