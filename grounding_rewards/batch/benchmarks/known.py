"""The benchmarks that are known by name; docs/benchmarks.md has them as a table, with what is not certain."""

from __future__ import annotations

from dataclasses import replace

from grounding_rewards.batch import layouts
from grounding_rewards.batch.benchmarks.benchmark import ALL_ROWS, Benchmark, Total, mean_of
from grounding_rewards.errors import RecipeError, near

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
    layouts=(layouts.SCREENSPOT_PRO, layouts.SCREENSPOT, layouts.SCREENSPOT_V2_HUB),
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
    (layouts.SCREENSPOT_PRO,),
    (Total(ALL_ROWS, 1581),),
    (("group", "ui_type"), ("group",), ("application",), ("platform",), ("ui_type",)),
    files=r"\w+_(windows|mac|macos|linux)",
)

OSWORLD_G = Benchmark(
    "osworld-g",
    "OSWorld-G",
    (layouts.OSWORLD_G,),
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
    (layouts.UI_VISION,),
    (
        mean_of("mean of 3 kinds", "kind", {"basic": 1772, "functional": 1772, "spatial": 1935}),
        Total(ALL_ROWS, 5479),
    ),
    (("kind",),),
    files=r"element_grounding_(basic|functional|spatial)",
    named=r"(?<![a-z])(?P<kind>basic|functional|spatial)(?![a-z])",
    key=("kind", "image_path", "prompt_to_evaluate", "bbox"),
    repeated=None,
)
MMBENCH_GUI_L2 = Benchmark(
    "mmbench-gui-l2",
    "MMBench-GUI L2",
    (layouts.MMBENCH_GUI,),
    (mean_of("Average", "grounding_type", {"basic": 1787, "advanced": 1807}), Total(ALL_ROWS, 3594)),
    (("grounding_type",), ("grounding_type", "platform"), ("grounding_type", "platform", "data_type")),
    files=r"L2_annotations",
    key=("image_path", "instruction", "bbox"),
    repeated=13,
)
SHOWDOWN_CLICKS = Benchmark(
    "showdown-clicks",
    "Showdown-Clicks dev",
    (layouts.SHOWDOWN,),
    (Total(ALL_ROWS, 557),),
    files=r"data",
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
    """Return a benchmark by its name.

    >>> benchmark("screenspot-pro").totals
    (Total(name='all rows', rows=1581, group='', cells={}, refusals=True),)
    """
    if name not in BENCHMARKS:
        raise RecipeError(
            f"--benchmark: got {name!r:.80}; expected one of {', '.join(BENCHMARKS)}{near(name, BENCHMARKS)}"
        )
    return BENCHMARKS[name]
