"""Docstrings are in the field's words: they begin with a verb or a noun, and rewards are scored, not paid."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import grounding_rewards as gr
import grounding_rewards_adapters

FILES = [file for each in (gr, grounding_rewards_adapters) for file in sorted(Path(each.__file__).parent.rglob("*.py"))]
ASKING = {"How", "Of", "What", "When", "Where", "Whether", "Which", "Who"}
OURS = re.compile(r"\b(mend(s|ed|ing)?|(un)?paid|pays|told)\b")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def test_docstrings_begin_with_a_verb_or_a_noun():
    """Write "Return the share of ..." or "Share of ...", not "How large the share is ..."."""
    found = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text and text.split()[0].strip(",.:") in ASKING:
                found.append(f"{file.name}: {text.splitlines()[0]}")
    assert found == []


def test_words_are_those_of_the_field():
    """Fix, describe, score and reward, which everybody knows, in names and texts."""
    found = [f"{file.name}: {match[0]}" for file in FILES for match in OURS.finditer(file.read_text("utf-8"))]
    assert found == []
