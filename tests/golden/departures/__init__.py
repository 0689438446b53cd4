"""Oracles of where recipes depart from published code, one module a source: which lines, and what then is right.

They restate what a source reads, and import of the library as little of what they test as they can.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from tests.golden.departures.oracle import Oracle

_SOURCES = """
    agentcpm_gui agentfly btl_ui gelato groundnext gta1 gui_cursor gui_g1 gui_g2 gui_libra gui_r1 gui_rcpo_published
    infigui_g1 mobile_use nemo_gym orby se_gui tailrl ui_agile ui_r1 ui_rft ui_s1 uishift vigorl vision_reasoner vlm_r1
"""
_FOUND = {source: import_module(f"{__name__}.{source}").ORACLES for source in _SOURCES.split()}

ORACLES: Mapping[str, tuple[Oracle, ...]] = {
    recipe: oracles
    for source, found in _FOUND.items()
    for recipe, oracles in (found if isinstance(found, Mapping) else {source.replace("_", "-"): found}).items()
}
"""The oracles of each recipe by name, in the order of its deviations: of several that apply the first is in force."""
