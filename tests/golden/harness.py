"""Runs one golden line, the input of a published reward, through our recipe of the same name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grounding_rewards as gr
from grounding_rewards.coords.image_sizes import read_size
from grounding_rewards.parsing.readers import TURN
from tests.golden.departures import ORACLES, agentcpm_gui, btl_ui, orby
from tests.golden.departures.oracle import Line, Oracle, extra_of, truth_of

Columns = dict[str, float]


@dataclass(frozen=True)
class Peer:
    """Translation of a published function's line to a call of ours, and of our columns to its values.

    Attributes:
        recipe: name of our recipe.
        keys: what the published function calls each column of ours.
        options: the recipe's options that the line was made with.
        score_options: further arguments of ``Recipe.score``, such as sizes.
        more: values that are no column of ours, from the line and its scores.
        target: the target that the line's ground truth is for us.
        unlike: published values that say nothing of the reward, and are not ours.
        only: is a line one of those that the recipe restates?
        file: name of the lines' file, where it is not the source's.
    """

    recipe: str
    keys: Mapping[str, str]
    options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    score_options: Callable[[Line], dict[str, Any]] = field(default=lambda line: {})
    more: Callable[[Line, gr.Scores], Columns] = field(default=lambda line, scores: {})
    target: Callable[[Line], Any] = field(default=lambda line: line["ground_truth"])
    unlike: frozenset[str] = frozenset()
    only: Callable[[Line], bool] = field(default=lambda line: True)
    file: str = ""


def format_weight(line: Line) -> dict[str, Any]:
    return {name: value for name, value in extra_of(line).items() if name == "format_weight"}


def image_size(line: Line) -> dict[str, Any]:
    return {"image_sizes": read_size(extra_of(line).get("image_size"))}


def raw_distance(line: Line, scores: gr.Scores) -> Columns:
    """GroundNext's distance in pixels: to the nearest corner inside the box, below 0 outside."""
    (x, y), truth = scores.predictions.xy[0], truth_of(line)
    if not scores.valid[0] or math.isnan(x):  # a bad target or no answer, whose distance is not compared
        return {"raw_distance": 0.0}
    (x1, x2), (y1, y2) = sorted((truth["x1"], truth["x2"])), sorted((truth["y1"], truth["y2"]))
    if x1 == x2 or y1 == y2:
        return {"raw_distance": -math.hypot(*line["extra"]["image_size"])}
    if x1 <= x <= x2 and y1 <= y <= y2:
        return {"raw_distance": math.hypot(min(x - x1, x2 - x), min(y - y1, y2 - y))}
    return {"raw_distance": -math.hypot(max(x1 - x, 0, x - x2), max(y1 - y, 0, y - y2))}


def image_sides(line: Line) -> dict[str, Any]:
    return {"image_sizes": read_size([extra_of(line).get(side) for side in ("image_width", "image_height")])}


def gui_g1_weighted(line: Line, scores: gr.Scores) -> Columns:
    """GUI-G1's functions return the parts times their weights."""
    return {"weighted_iou": 0.25 * float(scores.parts["iou"][0]), "weighted_box": 0.125 * float(scores.parts["box"][0])}


def no_think(line: Line) -> dict[str, Any]:
    return {"no_think": bool(extra_of(line).get("no_think"))}


def several_points(line: Line, scores: gr.Scores) -> Columns:
    """InfiGUI-G1's counts, which are 0 where the format is."""
    start, end = scores.predictions.offsets.tolist()
    formatted, hit = float(scores.parts["format"][0]), scores.parts["exploration"][0] > 0
    return {
        "num_pred": (end - start) * formatted, "has_correct": float(hit),
        "only_correct": float(hit and end - start == 1),
        "is_collinear": float(end - start > 2 and not formatted),
    }  # fmt: skip


def resized(line: Line) -> dict[str, Any]:
    """Sizes with which original / resized is exactly the line's scale."""
    across, down = line["extra"]["scale"]
    return {"image_sizes": (2**20 * across, 2**20 * down), "model_image_sizes": (2**20, 2**20)}


def with_parameter(line: Line) -> dict[str, Any]:
    """UI-AGILE's solution with the column beside it."""
    return {"solution": line["ground_truth"], "parameter": line["extra"]["parameter"]}


def model_size(line: Line) -> dict[str, Any]:
    """The size to which Qwen's processor brings the image: sides of whole multiples of 28, at most MAX_PIXELS."""
    width, height = line["extra"]["image_size"]
    sides = [max(28, round(side / 28) * 28) for side in (width, height)]
    if sides[0] * sides[1] > line["extra"]["MAX_PIXELS"]:
        shrink = math.sqrt(width * height / line["extra"]["MAX_PIXELS"])
        sides = [max(28, math.floor(side / shrink / 28) * 28) for side in (width, height)]
    return {"model_image_sizes": sides}


def same_keys(line: Line, scores: gr.Scores) -> Columns:
    """AgentCPM-GUI's type, which is a truth value where it compares keys."""
    value = float(scores.parts["type"][0])
    return {"same_keys": value if isinstance(line["ground_truth"], str) or value < 0 else bool(value)}


_AGENTCPM = {"schema": "schema", "type": "same_keys", "args": "args"}


def two_sizes(line: Line) -> dict[str, Any]:
    extra = line["extra"]
    original, seen = (extra["width"], extra["height"]), (extra["resized_width"], extra["resized_height"])
    return {"image_sizes": original, "model_image_sizes": seen}


def type_match(line: Line, scores: gr.Scores) -> Columns:
    """UI-S1's type is right where the action is the target's and takes what it needs."""
    return {"type_match": float(scores.parts["kind"][0] == 0.5)}


def gui_libra_form(line: Line) -> dict[str, Any]:
    version = "qwen3_vl" if extra_of(line).get("variant") == "qwen3vl" else "qwen2_5_vl"
    return {"version": version, **format_weight(line)}


def thinks(line: Line, scores: gr.Scores) -> Columns:
    """GUI-Libra's log of whether a response thinks, which for targets of grounding it should not."""
    grounding = bool(scores.valid[0]) and bool(truth_of(line).get("is_grounding"))
    return {"use_reasoning": abs(float(grounding) - float(scores.parts["thinks"][0]))}


def forms(recipe: str, **options: tuple[str, ...]) -> Callable[[Line, gr.Scores], Columns]:
    """Return the columns of the recipe's other forms for a line, as "form.column"."""

    def more(line: Line, scores: gr.Scores) -> Columns:
        peer = next(peer for peer in PEERS.values() if peer.recipe == recipe)
        found = {}
        for option, name in ((option, name) for option, names in options.items() for name in names):
            other = gr.recipe(recipe, **{**peer.options(line), option: name}).score(
                [line["response"]], [peer.target(line)], bad_target="abstain", **peer.score_options(line)
            )
            columns = {"total": other.total, "acc": other.acc, **other.parts}
            found |= {f"{name}.{column}": float(values[0]) for column, values in columns.items()}
        return found

    return more


def tailrl_options(line: Line) -> dict[str, Any]:
    """TailRL gives the same bounds to both steps of the resizing; without a spread there is no recipe."""
    extra = {name: value for name, value in extra_of(line).items() if name != "sigma_scale" or value}
    processor = {f"processor_{name}": value for name, value in extra.items() if name.endswith("_pixels")}
    return {**extra, **processor, "model": "easyr1+qwen2_5_vl"} if processor else extra


_TAILRL = {
    "gaussian.overall": "total", "gaussian.format": "format", "gaussian.accuracy": "acc",
    "segui_point.overall": "segui.total", "segui_point.point": "segui.point", "segui_point.format": "segui.format",
    "segui_point.accuracy": "segui.acc",
}  # fmt: skip
_VIGORL = {
    f"{form or 'point'}.{key}": ".".join(filter(None, (form, column)))
    for form in ("", "grounded", "multicrop")
    for key, column in (("overall", "total"), ("format", "format"), ("accuracy", "acc"))
}
_VIGORL_UGROUND = {
    f"uground{suffix}.{key}": f"{form}{column}"
    for suffix, form in (("", ""), ("_inter", "intermediate."))
    for key, column in (("reward", "total"), ("format_reward", "format"), ("acc_reward", "nearness"))
}
_VIGORL_WEB = {
    f"web{suffix}.{key}": f"{form}{column}"
    for suffix, form in (("", ""), ("_grounded", "grounded."))
    for key, column in (("overall", "total"), ("format", "format"), ("accuracy", "matched"))
}


def max_dist(line: Line) -> dict[str, Any]:
    return {name: value for name, value in extra_of(line).items() if value > 0}


def model_input(line: Line) -> dict[str, Any]:
    """Return the original's size, and the model's, a grid of patches of 14 pixels."""
    seen = [side // 14 * 14 for side in line["extra"]["input_size"]]
    return {"image_sizes": line["extra"]["image_size"], "model_image_sizes": seen}


def formatted(line: Line, scores: gr.Scores) -> Columns:
    """VisionReasoner's format, of the tags and of the objects."""
    return {"format": float(scores.parts["tags"][0] + scores.parts["items"][0])}


def orby_form(line: Line) -> dict[str, Any]:
    extra = extra_of(line)
    form = "qwen" if extra.get("prompt_format") else extra.get("task", "qwen")
    return {"form": form, "gaussian": bool(extra.get("use_gaussian"))}


def grounds(line: Line) -> bool:
    return extra_of(line).get("task") in ("uground", "screenspot")


def orby_subtask_options(line: Line) -> dict[str, Any]:
    """Return whose response a line is, and its metric; of boxes none, which is a deviation."""
    asked = extra_of(line).get("kw", {})
    square = asked.get("coordinates_metric") == "pixel_square"
    return {
        **orby.subtask_form(line),
        "metric": "square" if square else "gaussian",
        "sigma": asked.get("coordinates_gaussian_sigma", 5),
    }


def other_form(line: Line, scores: gr.Scores) -> Columns:
    """Orby's values of the form that a response is not in are 0."""
    return {column: 0.0 for column in _ORBY_SUBTASK.values() if column not in ("total", *scores.parts)}


_ORBY = {"score": "total", "format_score": "format", "coordinates_score": "place"}
_LOGGED = {"has_thinking", "has_answer", "has_tool_call", "scoring_method", *(
    f"coordinates_{name}" for name in ("predicted", "ground_truth")
), *(
    f"None/None/{name}" for name in (*_ORBY, "has_thinking", "has_answer", "has_tool_call", "scoring_method")
)}  # fmt: skip
_ORBY_LOG = (f"{what}_{side}" for what in ("action_type", "arg") for side in ("predicted", "ground_truth"))
_ORBY_SUBTASK = {
    "score": "total", "format": "format", "executor/action_type": "kind", "executor/coordinates": "place",
    "executor/action_args": "content",
    **{f"reward_model/{name}": name for name in ("should_end", "goal_achieved", "answer")},
}  # fmt: skip
_GELATO = {"overall": "total", "format": "format", "accuracy": "distance", "correct": "acc"}
_GUI_G1 = {"hit": "hit", "iou": "weighted_iou", "box": "weighted_box"}
_GUI_G2 = {"gaussian_point": "point", "gaussian_plane": "coverage", "format": "format"}
_GROUNDNEXT = {
    "score": "total", "clipped_reward": "clipped", "format": "format", "accuracy": "acc",
    "norm_distance": "norm_distance", "raw_distance": "raw_distance",
}  # fmt: skip
_INFIGUI_G1 = {
    "score": "total", "format": "format", "accuracy": "exploration", "num_pred": "num_pred",
    "has_correct": "has_correct", "first_correct": "acc", "only_correct": "only_correct",
    "is_collinear": "is_collinear",
}  # fmt: skip
_UI_AGILE = {
    **{name: name for name in ("grounding", "action", "format", "parameter")},
    "binary_grounding": "binary.grounding", "simple_length": "simple.thinking", "plain_length": "plain.thinking",
}  # fmt: skip
_UI_R1 = {
    **{name: name for name in ("action", "coord", "format")},
    "dast_coord": "dast.coord", "nothink_coord": "nothink.coord", "nothink_format": "nothink.format",
}  # fmt: skip
_BTL_UI = {"format": "format", "blink": "blink", "accuracy": "link"}
_UI_S1 = {
    "score": "total", "format_score": "format", "type_match": "type_match", "extract_match": "match",
    "step_reward": "step_reward",
}  # fmt: skip
PEERS = {
    "agentcpm": Peer("agentcpm-gui", _AGENTCPM, target=agentcpm_gui.row_of, more=same_keys),
    "btlui": Peer("btl-ui", _BTL_UI, score_options=model_size, target=btl_ui.row_of),
    "gelato_norm": Peer("gelato", _GELATO, format_weight),
    "gelato_px": Peer("gelato-pixel", _GELATO, format_weight),
    "gta1": Peer("gta1", {"accuracy": "hit", "format": "format"}),
    "guig1": Peer("gui-g1", _GUI_G1, score_options=image_sides, more=gui_g1_weighted),
    "guig2": Peer("gui-g2", _GUI_G2),
    "guilibra": Peer(
        "gui-libra",
        {"overall": "total", "format": "format", "accuracy": "matched", "use_reasoning": "use_reasoning"},
        gui_libra_form,
        more=thinks,
    ),
    "guir1": Peer("gui-r1", {"overall": "total", "format": "format", "accuracy": "matched"}),
    "infigui_g1": Peer("infigui-g1", _INFIGUI_G1, no_think, more=several_points),
    "segui": Peer("se-gui", {"point": "point", "format": "format"}),
    "tailrl": Peer(
        "tailrl",
        _TAILRL,
        tailrl_options,
        more=forms("tailrl", form=("segui",)),
        unlike=frozenset({"frame", "frame.exception", "gaussian.parse_error", "segui_point.parse_error"}),
    ),
    "uiagile": Peer(
        "ui-agile",
        _UI_AGILE,
        score_options=resized,
        target=with_parameter,
        more=forms("ui-agile", shape=("binary",), thinking_length=("simple", "plain")),
    ),
    "uiins": Peer("ui-ins", {"score": "total"}),
    "uir1": Peer("ui-r1", _UI_R1, score_options=resized, more=forms("ui-r1", form=("dast", "nothink"))),
    "uis1": Peer("ui-s1", _UI_S1, score_options=two_sizes, more=type_match),
    "uirft": Peer("ui-rft", {"score": "total"}),
    "uishift": Peer("uishift", {"action": "action", "format": "format"}),
    "vigorl": Peer("vigorl", _VIGORL, more=forms("vigorl", form=("grounded", "multicrop"))),
    "vigorl_uground": Peer("vigorl-uground", _VIGORL_UGROUND, more=forms("vigorl-uground", form=("intermediate",))),
    "vigorl_web": Peer("vigorl-web", _VIGORL_WEB, more=forms("vigorl-web", form=("grounded",))),
    "mobileuse_easyr1": Peer("mobile-use", {"overall": "total", "format": "format", "accuracy": "matched"}),
    "nemogym_gui": Peer(
        "nemo-gym", {"reward": "total"}, max_dist, unlike=frozenset({"distance", "extracted_x", "extracted_y"})
    ),
    "vlmr1": Peer("vlm-r1", {"iou": "iou", "format": "format"}, score_options=model_input),
    "visionreasoner": Peer(
        "vision-reasoner",
        {"total": "total", "format": "format", "accuracy": "matched", "non_repeat": "fresh"},
        more=formatted,
    ),
    "agentfly": Peer(
        "agentfly",
        {"reward": "total", "format": "format", "accuracy": "matched"},
        unlike=frozenset({"f1", "precision", "recall"}),
    ),
    "orby": Peer("orby", _ORBY, orby_form, unlike=frozenset(_LOGGED), only=grounds),
    "orby_action": Peer(
        "orby-action",
        {"score": "total", "format_score": "format", "action_type_score": "kind", "arg_score": "argument"},
        unlike=frozenset({"has_thinking", "has_answer", *_ORBY_LOG}),
        only=lambda line: extra_of(line).get("task") == "action_description",
        file="orby",
    ),
    "orby_subtask": Peer(
        "orby-subtask",
        _ORBY_SUBTASK,
        orby_subtask_options,
        more=other_form,
        only=lambda line: extra_of(line).get("task") == "subtask",
        file="orby",
    ),
    "groundnext": Peer("groundnext", _GROUNDNEXT, score_options=image_size, more=raw_distance),
}


def rcpo_options(line: Line) -> dict[str, Any]:
    """Return the space of a model's answers, and by how much its places grow."""
    model = extra_of(line).get("model", "UI-TARS")
    space = "unit" if model.startswith("InternVL") else "pixel"
    grows = model.startswith(("UI-TARS", "InternVL", "UGround"))
    return {
        "scale": "thousandths" if model.startswith(("UGround", "OS-Atlas")) else space,
        "expand": extra_of(line).get("point_expand_size", 50) if grows else 0,
    }


GROUPS = {
    "guircpo": Peer("gui-rcpo-published", {}, rcpo_options, image_size, target=lambda line: None),
}
"""Sources of which each line is a group of responses."""


def cursor_options(line: Line) -> dict[str, Any]:
    extra = extra_of(line)
    shape = "power" if extra.get("kw", {}).get("distance_func_name") == "powerfunc" else "linear"
    form = "qwen3" if extra.get("base_model") == "qwen3" else "tags"
    form = "ui_tars" if extra.get("extractor") == "uitars_action" else form
    method = _CURSOR_METHODS.get(extra.get("kw", {}).get("reward_method_name"), "trajectory")
    thought = not extra.get("kw", {}).get("format_without_think", False)
    return {
        "max_steps": extra.get("max_steps", 4), "shape": shape, "form": form, "method": method, "thought": thought,
    }  # fmt: skip


_CURSOR_METHODS = {"distance_success_format_step": "distance", "discrete_success_reward": "discrete"}


EPISODES = {
    "guicursor": Peer(
        "gui-cursor",
        {
            "overall": "total",
            "format": "format",
            "traj": "episode",
            "success": "acc",
            "distance": "distance",
            "steps": "steps",
            "in_bbox": "inside",
        },
        cursor_options,
        lambda line: {"model_image_sizes": line["extra"]["image_size"]},
    ),
}
"""Sources of which each line is the turns of one response, whose values are those under "reward"."""

SINGLE = PEERS | EPISODES
"""Sources of which each line is one response."""

EVERY = SINGLE | GROUPS


def file_of(peer: str) -> Path:
    """Return the golden lines of a source: in GROUNDING_REWARDS_GOLDEN_DIR, else in ../shared/data, else here."""
    named = os.environ.get("GROUNDING_REWARDS_GOLDEN_DIR")
    here = Path(__file__).parent
    shared = here.parents[2] / "shared/data"
    places = [Path(named)] if named else [shared / "golden", shared / "golden_more", here]
    return next(file for file in (place / f"{EVERY[peer].file or peer}.jsonl" for place in places) if file.is_file())


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by names such as "a.b" as those of "b" under "a", as published functions return them."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        first, _, rest = name.partition(".")
        if rest:
            tree.setdefault(first, {})[rest] = value
        else:
            tree[first] = value
    return tree


def build(peer: str, line: Line) -> gr.Recipe:
    """The peer's recipe with the options that the line was made with."""
    known = EVERY[peer]
    return gr.recipe(known.recipe, **known.options(line))


def evaluate(peer: str, line: Line) -> tuple[dict[str, Any], str | None]:
    """Our values as the published function returns them, and the name of the deviation that applies, if any."""
    oracle = deviation(peer, line)
    if peer in GROUPS:
        return {"rewards": list(score(peer, build(peer, line), line).values())}, oracle.name if oracle else None
    columns = score(peer, build(peer, line), line)
    values = {key: columns[ours] for key, ours in EVERY[peer].keys.items() if ours in columns}  # of some options
    if peer in EPISODES:
        values = {f"reward.{key}": each for key, each in values.items()}
    return nested(values), oracle.name if oracle else None


def deviation(peer: str, line: Line) -> Oracle | None:
    """Return the oracle of the first deviation of the peer's recipe that applies to the line."""
    return next((oracle for oracle in ORACLES[EVERY[peer].recipe] if oracle.applies(line)), None)


def said(peer: str, line: Line) -> Any:
    """Return the response of a line, its turns joined."""
    return TURN.join(line["response"]) if peer in EPISODES else line["response"]


def score(peer: str, recipe: gr.Recipe, line: Line) -> Columns:
    """All columns of a line's score by name, ``more`` included; 0.0 where the response is no text."""
    adapter = EVERY[peer]
    if peer in GROUPS:
        rows = len(line["response"])
        group = recipe.score(
            line["response"], [adapter.target(line)] * rows, groups=[0] * rows, **adapter.score_options(line)
        )
        return {f"rewards.{row}": total for row, total in enumerate(group.total.tolist())}
    try:
        scores = recipe.score(
            [said(peer, line)], [adapter.target(line)], bad_target="abstain", **adapter.score_options(line)
        )
    except TypeError:
        return dict.fromkeys(("total", "acc", "valid", *recipe.parts, *adapter.keys.values()), 0.0)
    columns = {"total": scores.total, "acc": scores.acc, "valid": scores.valid, **scores.parts}
    return {**{name: float(column[0]) for name, column in columns.items()}, **adapter.more(line, scores)}


def stated(peer: str, recipe: gr.Recipe, oracle: Oracle, line: Line) -> Mapping[str, float]:
    """Return the value that the oracle of a deviation states for a line."""
    if oracle.value is not None:
        return oracle.value(line)
    assert oracle.same_as is not None
    return score(peer, recipe, oracle.same_as(line))
