"""The notebook in examples/ gives what it shows, from rollouts to a pool."""

from __future__ import annotations

import ast
import json
import shutil

from tests.test_docs import ROOT, Reader, reader

__all__ = ["reader"]

NOTEBOOK = ROOT / "examples" / "next_pool.ipynb"


def run(reader: Reader, source: str, shown: str) -> object:
    """Run a cell, check what it prints, and return the value of its last line."""
    if source.startswith("!"):
        reader.console(f"$ {source[1:]}\n{shown}")
        return None
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), reader.names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), reader.names)
    else:
        exec(compile(ast.Module([last], []), "cell", "exec"), reader.names)
        value = None
    assert reader.capsys.readouterr().out == shown
    return value


def test_every_cell_gives_what_it_shows_and_the_page_of_view_is_inside(reader):
    shutil.copy(ROOT / "examples" / "rollouts.jsonl", reader.folder)
    cells = [cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    values = [
        run(reader, "".join(cell["source"]), "".join(line for out in cell["outputs"] for line in out["text"]))
        for cell in cells
    ]
    (page,) = filter(None, values)
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert len((reader.folder / "pool.jsonl").read_text("utf-8").splitlines()) == 10
