"""Docstrings are in the field's words: they begin with a verb or a noun, and speak of rewards and scores."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import grounding_rewards as gr
import grounding_rewards_adapters

LIBRARY = [Path(package.__file__).parent for package in (gr, grounding_rewards_adapters)]
FOLDERS = [*LIBRARY, *(Path(__file__).parents[1] / name for name in ("tests", "examples", "benchmarks", "docs"))]
ASKING = {"How", "Of", "What", "When", "Where", "Whether", "Which", "Who"}
OURS = re.compile(r"(?<![^\W_])(mend(s|ed|ing)?|(un)?paid|pays?|told)(?![^\W_])", re.IGNORECASE)
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def files() -> Iterator[tuple[Path, str]]:
    """Yield Python files and their texts."""
    return ((file, file.read_text("utf-8")) for folder in FOLDERS for file in sorted(folder.rglob("*.py")))


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and functions, and the string constants after assignments."""
    for node in ast.walk(tree):
        body = node.body if isinstance(node, DOCUMENTED) else []
        for before, statement in zip([None, *body], body, strict=False):
            match before, statement:
                case None | ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str(text))):
                    yield text


def test_docstrings_begin_with_a_verb_or_a_noun():
    """Write "Return the share of ..." or "Share of ...", not "How large the share is ..."."""
    found = []
    for file, source in files():
        for text in docstrings(ast.parse(source)):
            if text.split() and text.split()[0].strip(",.:") in ASKING:
                found.append(f"{file.name}: {text.strip().splitlines()[0]}")
    assert found == []


def test_words_are_those_of_the_field():
    """Fix, describe, report, score and reward, which everybody knows, in names and texts."""
    found = [
        f"{file.name}: {match[0]}"
        for file, source in files()
        for match in OURS.finditer(source)
        if file != Path(__file__)
    ]
    assert found == []
