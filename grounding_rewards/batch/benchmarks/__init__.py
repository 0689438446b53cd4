"""The benchmarks that are known by name: layouts, rules, groups and totals; docs/benchmarks.md has them as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from grounding_rewards.errors import RecipeError, near
from grounding_rewards.tables import layouts
from grounding_rewards.tables.layouts import Layout, Row

__all__ = ["BENCHMARKS", "Benchmark", "Total", "benchmark"]


ALL_ROWS = "all rows"  # name of the share of right rows among all rows


class Total(Struct, frozen=True):
    """A published figure of a benchmark: the share of right rows, or the plain mean of the shares of cells."""

    name: str  # what tables call it
    rows: int  # number of rows that it is published over
    group: str = ""  # name of the group whose cells it is the mean of; "" for a share of rows
    cells: Mapping[str, int] = {}  # number of rows of each cell, by its label
    refusals: bool = True  # True where rows that are to be refused count


def mean_of(name: str, group: str, cells: Mapping[str, int]) -> Total:
    """Return the total that is the plain mean of the shares of cells, each of which has that many rows."""
    return Total(name, sum(cells.values()), group, cells)


class Benchmark(Struct, frozen=True):
    """A published benchmark."""

    name: str  # the name of the option
    title: str  # what texts call it
    layouts: tuple[Layout, ...]  # layouts of its rows, in the order in which they are tried
    totals: tuple[Total, ...]  # its figures; the first is the headline
    # fields to break down by; several together make one group, such as ``platform x type``
    groups: tuple[tuple[str, ...], ...] = ()
    # pattern of its files' stems, by which they are chosen in a folder; upper and lower case are alike
    files: str = ".*"
    named: str = ""  # pattern of stems whose named groups are fields that the name of a file says of all its rows
    # columns in which a field stands, the first that is there; without an entry the column of its name
    fields: Mapping[str, tuple[str, ...]] = {}
    # a column, and the field's value for each of that column's, where no column holds the field
    derived: Mapping[str, tuple[str, Mapping[str, str]]] = {}
    # options of the recipe ``click`` that make its rule the benchmark's
    options: Mapping[str, Any] = {}
    # True where a point with both coordinates below 0 is a refusal, however it is written
    negative_refuses: bool = False
    categories: str = ""  # name of the file beside the annotations that says the categories of each id; "" for none
    key: tuple[str, ...] = ("id",)  # columns that tell samples apart where rows have no ``sample_id``
    # number of rows that are the same as earlier ones in all of ``key``; None where it is not known
    repeated: int | None = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the groups."""
        return tuple(map(name_of, self.groups))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that groups, and what tells samples apart, may be read of."""
        names = [column for group in self.groups for each in group for column in self.fields.get(each, (each,))]
        return tuple(dict.fromkeys([*names, *(column for column, _ in self.derived.values()), "sample_id", *self.key]))

    def sample(self, row: Row) -> str | None:
        """Return what tells the sample of a row from others: its ``sample_id``, else its ``key``; None without."""
        named = row.get("sample_id")
        key = [row.get(name) for name in self.key] if named is None else [named]
        return None if None in key else json.dumps(key, default=str, ensure_ascii=False)

    def label(self, row: Row, group: tuple[str, ...]) -> Any:
        """Return the label of a row in a group; None where a field of it is not known."""
        values = [self._value(row, each) for each in group]
        if len(values) == 1:
            return values[0]
        return None if None in values else " / ".join(map(str, values))

    def _value(self, row: Row, name: str) -> Any:
        known = (row.get(column) for column in self.fields.get(name, (name,)))
        value = next((each for each in known if each is not None), None)
        if value is None and name in self.derived:
            column, values = self.derived[name]
            return values.get(str(row.get(column)))
        return value


def name_of(group: tuple[str, ...]) -> str:
    """Return the name of a group, such as ``platform x type``."""
    return " x ".join(group)


_PLATFORM = r"(?<![a-z])(?P<platform>mobile|desktop|web)(?![a-z])"
_CELLS = "platform x type"
_SOURCES = {
    "ios": "mobile", "android": "mobile", "macos": "desktop", "windows": "desktop", "tool": "web", "gitlab": "web",
    "forum": "web",
}  # fmt: skip

SCREENSPOT = Benchmark(
    "screenspot",
    "ScreenSpot",
    (layouts.SCREENSPOT, layouts.SCREENSPOT_HUB),
    (
        mean_of("mean of 6 cells", _CELLS, {
            "mobile / text": 273, "mobile / icon": 229, "desktop / text": 194, "desktop / icon": 140,
            "web / text": 230, "web / icon": 206,
        }),
        Total(ALL_ROWS, 1272),
    ),
    (("platform", "type"), ("platform",)),
    files=r"screenspot_(mobile|desktop|web)",
    named=_PLATFORM,
    fields={"type": ("data_type", "ui_type")},
    derived={"platform": ("data_source", {**_SOURCES, "shop": "web"})},
    key=("img_filename", "instruction", "bbox", "data_type", "data_source"),
)  # fmt: skip
SCREENSPOT_V2 = replace(
    SCREENSPOT,
    name="screenspot-v2",
    title="ScreenSpot-v2",
    # Copies in the form of Pro keep some of ScreenSpot's fields, but write corners.
    layouts=(layouts.SCREENSPOT_PRO, layouts.SCREENSPOT, layouts.SCREENSPOT_V2_HUB, layouts.CLAWGUI),
    totals=(
        Total(ALL_ROWS, 1272),
        mean_of("mean of 6 cells", _CELLS, {
            "mobile / text": 290, "mobile / icon": 211, "desktop / text": 194, "desktop / icon": 140,
            "web / text": 234, "web / icon": 203,
        }),
    ),
    files=r"screenspot_(mobile|desktop|web)_v2",
    derived={"platform": ("data_source", _SOURCES)},  # "shop" is on rows of all three platforms
    repeated=1,
)  # fmt: skip
SCREENSPOT_PRO = Benchmark(
    "screenspot-pro",
    "ScreenSpot-Pro",
    (layouts.SCREENSPOT_PRO, layouts.CLAWGUI),
    (Total(ALL_ROWS, 1581),),
    (("group", "ui_type"), ("group",), ("application",), ("platform",), ("ui_type",)),
    files=r"\w+_(windows|mac|macos|linux)",
)

OSWORLD_G = Benchmark(
    "osworld-g",
    "OSWorld-G",
    (layouts.OSWORLD_G, layouts.CLAWGUI),
    (Total("without refusals", 510, refusals=False), Total("with refusals", 564)),
    (("category",),),
    files=r"OSWorld-G",
    options={"polygon": "half_open"},
    negative_refuses=True,
    categories="classification_result.json",
)
OSWORLD_G_REFINED = replace(OSWORLD_G, name="osworld-g-refined", title="OSWorld-G refined", files=r"OSWorld-G_refined")
OSWORLD_G_REFUSAL = replace(
    OSWORLD_G, name="osworld-g-refusal", title="OSWorld-G with refusals", totals=OSWORLD_G.totals[::-1]
)

UI_VISION = Benchmark(
    "ui-vision",
    "UI-Vision element grounding",
    (layouts.UI_VISION, layouts.CLAWGUI),
    (mean_of("mean of 3 kinds", "kind", {"basic": 1772, "functional": 1772, "spatial": 1935}), Total(ALL_ROWS, 5479)),
    (("kind",),),
    files=r"element_grounding_(basic|functional|spatial)",
    named=r"(?<![a-z])(?P<kind>basic|functional|spatial)(?![a-z])",
    key=("kind", "image_path", "prompt_to_evaluate", "bbox"),
    repeated=None,
)
MMBENCH_GUI_L2 = Benchmark(
    "mmbench-gui-l2",
    "MMBench-GUI L2",
    (layouts.MMBENCH_GUI, layouts.CLAWGUI),
    (mean_of("Average", "grounding_type", {"basic": 1787, "advanced": 1807}), Total(ALL_ROWS, 3594)),
    (("grounding_type",), ("grounding_type", "platform"), ("grounding_type", "platform", "data_type")),
    files=r"L2_annotations",
    fields={"grounding_type": ("grounding_type", "group")},  # MAI-UI's copy calls it group
    key=("image_path", "instruction", "bbox"),
    repeated=13,
)
SHOWDOWN_CLICKS = Benchmark(
    "showdown-clicks", "Showdown-Clicks dev", (layouts.SHOWDOWN,), (Total(ALL_ROWS, 557),), files=r"data"
)

BENCHMARKS = {
    each.name: each
    for each in (
        SCREENSPOT, SCREENSPOT_V2, SCREENSPOT_PRO, OSWORLD_G, OSWORLD_G_REFINED, OSWORLD_G_REFUSAL, UI_VISION,
        MMBENCH_GUI_L2, SHOWDOWN_CLICKS,
    )
}  # fmt: skip
"""Benchmarks by name."""


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by its name."""
    if name not in BENCHMARKS:
        from grounding_rewards.evaluators.layouts import step_benchmark

        if step_benchmark(name):
            raise RecipeError(f"{name} is a benchmark of whole actions: use evaluate_steps(rows, {name!r}, rule)")
        raise RecipeError(
            f"--benchmark: got {name!r:.80}; expected one of {', '.join(BENCHMARKS)}{near(name, BENCHMARKS)}"
        )
    return BENCHMARKS[name]
