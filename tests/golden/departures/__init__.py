"""Oracles of where recipes depart from published code, one module a source: which lines, and what then is right.

They restate what a source reads, and import of the library as little of what they test as they can.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.golden.departures import (
    agentcpm_gui,
    agentfly,
    btl_ui,
    gelato,
    groundnext,
    gta1,
    gui_cursor,
    gui_g1,
    gui_g2,
    gui_libra,
    gui_r1,
    gui_rcpo_published,
    infigui_g1,
    mobile_use,
    nemo_gym,
    orby,
    se_gui,
    tailrl,
    ui_agile,
    ui_r1,
    ui_rft,
    ui_s1,
    uishift,
    vigorl,
    vision_reasoner,
    vlm_r1,
)
from tests.golden.departures.oracle import Oracle

ORACLES: Mapping[str, tuple[Oracle, ...]] = {
    "agentcpm-gui": agentcpm_gui.ORACLES,
    "btl-ui": btl_ui.ORACLES,
    "gelato": gelato.GELATO,
    "gelato-pixel": gelato.GELATO_PIXEL,
    "groundnext": groundnext.ORACLES,
    "gta1": gta1.GTA1,
    "gui-g1": gui_g1.ORACLES,
    "gui-g2": gui_g2.ORACLES,
    "gui-libra": gui_libra.ORACLES,
    "gui-r1": gui_r1.ORACLES,
    "infigui-g1": infigui_g1.ORACLES,
    "se-gui": se_gui.ORACLES,
    "tailrl": tailrl.ORACLES,
    "ui-agile": ui_agile.ORACLES,
    "ui-ins": gta1.UI_INS,
    "ui-r1": ui_r1.UI_R1,
    "ui-r1-dast": ui_r1.UI_R1_DAST,
    "ui-r1-e": ui_r1.UI_R1_E,
    "ui-rft": ui_rft.ORACLES,
    "ui-s1": ui_s1.ORACLES,
    "uishift": uishift.ORACLES,
    "vigorl": vigorl.ORACLES,
    "mobile-use": mobile_use.ORACLES,
    "nemo-gym": nemo_gym.ORACLES,
    "vlm-r1": vlm_r1.ORACLES,
    "vision-reasoner": vision_reasoner.ORACLES,
    "agentfly": agentfly.ORACLES,
    "orby": orby.ORACLES,
    "gui-rcpo-published": gui_rcpo_published.ORACLES,
    "gui-cursor": gui_cursor.ORACLES,
}
"""The oracles of each recipe by name, in the order of its deviations: of several that apply the first is in force."""
