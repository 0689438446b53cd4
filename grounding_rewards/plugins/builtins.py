"""The dialects, verifiers and recipes that come with the package, as a plugin like any other."""

from __future__ import annotations

from grounding_rewards import parsing, pool, verifiers
from grounding_rewards.hookspecs import Register, hookimpl
from grounding_rewards.recipes import action, click, composite
from grounding_rewards.recipes.published import (
    agentcpm_gui,
    btl_ui,
    gelato,
    groundnext,
    gta1,
    gui_g1,
    gui_g2,
    gui_r1,
    gui_rcpo,
    infigui_g1,
    se_gui,
    ui_agile,
    ui_ins,
    ui_r1,
    ui_r1_dast,
    ui_rft,
    ui_s1,
    ui_venus,
    ui_venus_navigation,
)


@hookimpl
def register_parsers(register: Register) -> None:
    for dialect in (
        parsing.AUTO_ACTION, parsing.ACTION_BLINK, parsing.ACTION_JSON, parsing.ACTION_OS_ATLAS, parsing.ACTION_COMPACT,
        parsing.ACTION_CALLS,
        parsing.AUTO, parsing.BARE_TUPLE, parsing.BARE_TUPLE_WHOLE, parsing.JSON_2D, parsing.REFUSAL, parsing.TOOL_CALL,
        parsing.JSON_REFUSAL, parsing.UI_TARS, parsing.PYAUTOGUI, parsing.JSON_COORDINATE, parsing.JSON_COMPACT,
        parsing.JSON_DISTRIBUTION, parsing.JSON_XY, parsing.BOX_TOKENS, parsing.POINT_TAG, parsing.XY_TAGS,
        parsing.MOLMO, parsing.CROPPED, parsing.KEYWORD_CALL, parsing.CLICK_CALL, parsing.CORNER_TUPLES,
        parsing.CORNER_LISTS, parsing.NESTED_LIST, parsing.BARE_LIST,
        parsing.FIRST_CALL, parsing.FIRST_CALL_INTEGERS, parsing.INTEGER_LIST, parsing.BOX_LIST, parsing.LITERAL_BOX,
        parsing.UI_S1, parsing.UI_R1, parsing.GUI_R1, parsing.JSON_POINT, parsing.POINT_LIST,
        parsing.THOUGHT_POINT_LIST, parsing.UI_AGILE,
        parsing.BTL_UI, parsing.AGENTCPM,
        parsing.LIST_BOX, parsing.LIST_POINT, parsing.LIST_REFUSAL, parsing.LIST_POINT_OR_REFUSAL, parsing.UI_VENUS,
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
    register("centredness", verifiers.Centredness)
    register("thinking_length", verifiers.ThinkingLength)
    register("action_type", verifiers.ActionType)
    register("text_match", verifiers.TextMatch)
    register("direction_match", verifiers.DirectionMatch)
    register("argument_match", verifiers.ArgumentMatch)
    register("keys_match", verifiers.KeysMatch)
    register("duration_match", verifiers.DurationMatch)
    register("end_hit", verifiers.EndHit)
    register("action_match", verifiers.ActionMatch)
    register("refusal_match", verifiers.RefusalMatch)
    register("consensus", verifiers.Consensus)
    register("in_consensus", verifiers.InConsensus)
    register("repetition", verifiers.Repetition)
    register("novelty", verifiers.Novelty)
    register("dast_length", verifiers.DastLength)


@hookimpl
def register_recipes(register: Register) -> None:
    register("agentcpm-gui", agentcpm_gui.agentcpm_gui)
    register("btl-ui", btl_ui.btl_ui)
    register("action", action.action)
    register("click", click.click)
    register("composite", composite.composite)
    register("gelato", gelato.gelato)
    register("gelato-pixel", gelato.gelato_pixel)
    register("gta1", gta1.gta1)
    register("groundnext", groundnext.groundnext)
    register("gui-g1", gui_g1.gui_g1)
    register("gui-g2", gui_g2.gui_g2)
    register("gui-r1", gui_r1.gui_r1)
    register("gui-rcpo", gui_rcpo.gui_rcpo)
    register("infigui-g1", infigui_g1.infigui_g1)
    register("se-gui", se_gui.se_gui)
    register("ui-agile", ui_agile.ui_agile)
    register("ui-ins", ui_ins.ui_ins)
    register("ui-r1", ui_r1.ui_r1)
    register("ui-r1-dast", ui_r1_dast.ui_r1_dast)
    register("ui-r1-e", ui_r1.ui_r1_e)
    register("ui-rft", ui_rft.ui_rft)
    register("ui-s1", ui_s1.ui_s1)
    register("ui-venus", ui_venus.ui_venus)
    register("ui-venus-navigation", ui_venus_navigation.ui_venus_navigation)


@hookimpl
def register_selectors(register: Register) -> None:
    register("band", pool.Band)
    register("every", pool.Every)
    register("learnability", pool.Learnability)
    register("mean_band", pool.MeanBand)
    register("min_rollouts", pool.MinRollouts)
    register("source", pool.FromSources)
    register("spread", pool.Spread)
    register("unsolved", pool.Unsolved)
