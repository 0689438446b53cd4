"""The dialects, verifiers and recipes that come with the package, as a plugin like any other."""

from __future__ import annotations

from grounding_rewards import parsing, verifiers
from grounding_rewards.hookspecs import Register, hookimpl
from grounding_rewards.recipes import (
    click,
    composite,
    gelato,
    groundnext,
    gta1,
    gui_g1,
    gui_g2,
    infigui_g1,
    se_gui,
    ui_ins,
    ui_rft,
    ui_venus,
)


@hookimpl
def register_parsers(register: Register) -> None:
    for dialect in (
        parsing.AUTO, parsing.BARE_TUPLE, parsing.BARE_TUPLE_WHOLE, parsing.JSON_2D, parsing.REFUSAL, parsing.TOOL_CALL,
        parsing.JSON_REFUSAL, parsing.UI_TARS, parsing.PYAUTOGUI, parsing.JSON_COORDINATE, parsing.JSON_COMPACT,
        parsing.JSON_DISTRIBUTION, parsing.JSON_XY, parsing.BOX_TOKENS, parsing.POINT_TAG, parsing.XY_TAGS,
        parsing.MOLMO, parsing.CROPPED, parsing.KEYWORD_CALL, parsing.CLICK_CALL, parsing.CORNER_TUPLES,
        parsing.CORNER_LISTS, parsing.NESTED_LIST, parsing.BARE_LIST,
        parsing.FIRST_CALL, parsing.FIRST_CALL_INTEGERS, parsing.INTEGER_LIST, parsing.BOX_LIST, parsing.LITERAL_BOX,
        parsing.JSON_POINT, parsing.POINT_LIST, parsing.THOUGHT_POINT_LIST,
        parsing.LIST_BOX, parsing.LIST_POINT, parsing.LIST_REFUSAL, parsing.LIST_POINT_OR_REFUSAL,
    ):  # fmt: skip
        register(dialect.name, dialect)


@hookimpl
def register_verifiers(register: Register) -> None:
    register("hit", verifiers.Hit)
    register("near_point", verifiers.NearPoint)
    register("inside_distance", verifiers.InsideDistance)
    register("dense_distance", verifiers.DenseDistance)
    register("screen_distance", verifiers.ScreenDistance)
    register("corner_distance", verifiers.CornerDistance)
    register("gaussian_point", verifiers.GaussianPoint)
    register("gaussian_coverage", verifiers.GaussianCoverage)
    register("overlap", verifiers.Overlap)
    register("box_size", verifiers.BoxSize)
    register("exploration", verifiers.Exploration)
    register("not_collinear", verifiers.NotCollinear)
    register("format", verifiers.Format)
    register("graded_format", verifiers.GradedFormat)
    register("correct_refusal", verifiers.CorrectRefusal)
    register("false_refusal", verifiers.FalseRefusal)
    register("false_click", verifiers.FalseClick)
    register("difficulty", verifiers.Difficulty)
    register("noise", verifiers.Noise)


@hookimpl
def register_recipes(register: Register) -> None:
    register("click", click.click)
    register("composite", composite.composite)
    register("gelato", gelato.gelato)
    register("gelato-pixel", gelato.gelato_pixel)
    register("gta1", gta1.gta1)
    register("groundnext", groundnext.groundnext)
    register("gui-g1", gui_g1.gui_g1)
    register("gui-g2", gui_g2.gui_g2)
    register("infigui-g1", infigui_g1.infigui_g1)
    register("se-gui", se_gui.se_gui)
    register("ui-ins", ui_ins.ui_ins)
    register("ui-rft", ui_rft.ui_rft)
    register("ui-venus", ui_venus.ui_venus)
