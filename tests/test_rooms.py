"""Imports run one way: a room imports only rooms to its left, lazily or not, and no file imports itself by a detour."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

ORDER = (
    "_version _lazy errors wording", "arrays geometry literals", "actions", "coords", "targets", "rollouts",
    "groups parsing", "advantages verifiers", "combine", "hookspecs", "plugins", "scoring", "recipes", "wrapping",
    "catalogue", "stats", "tables", "cluster evaluators processes settings", "viewer", "checks", "batch explain",
    "converting", "pool", "engines", "testing", "cli", "__init__ __main__", "adapters",
)  # fmt: skip
RANKS = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms.split()}
PACKAGES = {"grounding_rewards": (), "grounding_rewards_adapters": ("adapters",)}
FILES = {
    ".".join((*room, *path.relative_to(folder).with_suffix("").parts)): path
    for package, room in PACKAGES.items()
    for folder in [Path(import_module(package).__file__).parent]
    for path in folder.rglob("*.py")
}


def imports(name: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the file of each import, also within functions; those for types alone are left out."""
    tree = ast.parse(FILES[name].read_text("utf-8"))
    blocks = [each for each in ast.walk(tree) if isinstance(each, ast.If) and "TYPE_CHECKING" in ast.dump(each.test)]
    types = {id(each) for block in blocks for each in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) not in types and isinstance(node, ast.Import | ast.ImportFrom):
            assert not getattr(node, "level", 0), f"{name}:{node.lineno}: a relative import hides its room"
            base = [node.module] if isinstance(node, ast.ImportFrom) else []
            for alias in node.names:
                package, *parts = ".".join([*base, alias.name]).split(".")
                if package in PACKAGES:
                    path = [*PACKAGES[package], *parts]
                    yield node.lineno, next(filter(None, (file(path[:end]) for end in range(len(path), -1, -1))))


def file(parts: list[str]) -> str:
    name = ".".join(parts)
    return name if name in FILES else next((each for each in (f"{name}.__init__".strip("."),) if each in FILES), "")


GRAPH = {name: list(imports(name)) for name in FILES}


def test_every_room_has_its_place_in_the_order() -> None:
    assert {name.partition(".")[0] for name in FILES} == RANKS.keys()


def test_no_import_runs_against_the_order_of_rooms() -> None:
    """Turn the arrow: move what is imported to the left, hand it over as an argument, or name it by its import path."""
    wrong = [
        f"{name}:{line} imports {other}"
        for name, found in GRAPH.items()
        for line, other in found
        if (here := name.partition(".")[0]) != (there := other.partition(".")[0]) and RANKS[there] >= RANKS[here]
    ]
    assert wrong == []


def test_no_file_imports_itself_by_a_detour() -> None:
    graph = {name: {other for _, other in found if other != name} for name, found in GRAPH.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)  # raises where there is a circle
