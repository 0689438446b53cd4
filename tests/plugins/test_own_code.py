"""The files of code that a config names."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from grounding_rewards import own_code, recipe
from grounding_rewards.own_code import files_of_code
from grounding_rewards.plugins.registry import registry
from grounding_rewards.recipes.published.gelato import gelato


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that hands on what one of its modules defines."""
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "own_code_lab"
    folder.mkdir()
    (folder / "__init__.py").write_text("from own_code_lab.inner import brief\n")
    (folder / "inner.py").write_text("def brief(rollouts): return 1.0\n")
    importlib.invalidate_caches()
    yield folder
    for name in ("own_code_lab", "own_code_lab.inner"):
        sys.modules.pop(name, None)


def test_the_module_and_the_one_behind_it(package):
    config = {"name": "composite", "parts": {"brief": {"verifier": "own_code_lab:brief", "weight": 1.0}}}
    assert files_of_code(config) == []
    importlib.import_module("own_code_lab")
    assert files_of_code(config) == [package / "__init__.py", package / "inner.py"]
    assert files_of_code({**config, "success": "own_code_lab.inner:brief"}) == [
        package / "__init__.py", package / "inner.py",
    ]  # fmt: skip


def test_what_stands_behind_a_function_that_builds_a_recipe(tmp_path, monkeypatch):
    (tmp_path / "own_code_parts.py").write_text("import own_code_sums\ndef brief(rollouts): return own_code_sums.ONE\n")
    (tmp_path / "own_code_sums.py").write_text("import json, numpy\nONE = numpy.ones(1)\n")
    own = tmp_path / "own.py"
    own.write_text(
        "from grounding_rewards import recipe\n"
        "def mine():\n"
        "    part = {'verifier': 'own_code_parts:brief', 'weight': 1, 'low': 0, 'high': 1}\n"
        "    return recipe('composite', dialect='auto', response_space='unit', parts={'brief': part})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    try:
        built = recipe(f"{own}:mine")
        found = files_of_code(built.to_dict(), built)
    finally:
        for name in ("own_code_parts", "own_code_sums"):
            sys.modules.pop(name, None)
    assert found == [own, tmp_path / "own_code_parts.py", tmp_path / "own_code_sums.py"]


def test_files_are_named_as_they_are(tmp_path):
    own = tmp_path / "own.py"
    own.touch()
    assert files_of_code({"name": "composite", "dialect": f"{own}:TAP", "success": f"{tmp_path}/none.py:x"}) == [own]


def test_selectors_by_name_and_inside_of_others(tmp_path):
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.touch(), two.touch()
    every = {"name": "every", "selectors": [{"name": f"{two}:x"}, f"{one}:x", "unsolved"]}
    assert files_of_code({"selectors": [f"{one}:x", every]}) == [one, two]
    assert files_of_code({"selectors": [every]}) == [two, one]


def test_a_plugin_and_what_it_offers(package, monkeypatch):
    plugin, inner = importlib.import_module("own_code_lab"), importlib.import_module("own_code_lab.inner")
    known = registry()
    offered = replace(
        known,
        verifiers={**known.verifiers, "acme/brief": inner.brief},
        recipes={**known.recipes, "acme/plain": gelato},
        plugins=(("acme", "acme-rewards", plugin), ("other", "others", SimpleNamespace())),
    )
    monkeypatch.setattr(own_code, "registry", lambda: offered)
    assert files_of_code({"name": "acme/plain"}) == [package / "__init__.py", package / "inner.py"]
    parts = {"one": {"verifier": "acme/brief"}, "two": {"verifier": "other/brief"}, "hit": 0.5}
    assert files_of_code({"name": "composite", "parts": parts}) == [package / "__init__.py", package / "inner.py"]


def test_what_names_no_code():
    assert files_of_code({"name": "gelato", "format_weight": 0.5, "response_space": "unit"}) == []
    assert files_of_code({"name": "grounding_rewards.recipes.published.gelato:gelato"}) == []
    assert files_of_code({"name": "acme", "vocabulary": "json:loads"}) == []
