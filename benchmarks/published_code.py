"""Audits published reward code that you have: golden lines, and the failures in the README, against what it returns.

    python benchmarks/published_code.py TREE [--only NAME] [--function NAME=FILE.py:FUNCTION]

TREE is a folder with checkouts, or one of them. Of each source that is found its own function scores the golden lines:
``as recorded`` counts those on which it returns what stands there, ``fails`` those on which it raises or returns no
number. Of the others ``same`` counts those on which our recipe returns the same, ``named`` those of a deviation with a
name, and ``unnamed`` the rest, which should be none. ``--function`` names a function that has moved.

This runs the code, and some of it runs text of responses by ``eval``: do it where that does no harm. Of a file only
imports, functions, classes and constants are run; packages that are not installed are stood in for.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grounding_rewards as gr
from grounding_rewards.wrapping import Contract, WrappedScores
from tests.golden import harness


def _nothing(line: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _options(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in harness.extra_of(line).items() if name == "format_weight"}


def _beside(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"solution": line["ground_truth"], **harness.extra_of(line)}


def _chat(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"prompt": [{"role": "user", "content": "?"}], **_beside(line)}


def _info(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"data_source": "grounding", "extra_info": dict(harness.extra_of(line))}


@dataclass(frozen=True)
class Published:
    """A published reward."""

    peer: str  # the name of its golden lines
    file: str  # the end of its path
    function: str
    contract: Contract
    key: str  # the recorded value that it returns
    columns: Callable[[Mapping[str, Any]], dict[str, Any]] = _nothing  # what it gets beside response and target
    options: Callable[[Mapping[str, Any]], dict[str, Any]] = _nothing  # its keywords


PUBLISHED = (
    Published("gelato_norm", "rewards/norm_gui_reward.py", "compute_score", "easyr1", "overall", options=_options),
    Published("gelato_px", "rewards/gui_reward.py", "compute_score", "easyr1", "overall", options=_options),
    Published("guir1", "reward_score/r1gui.py", "r1gui_compute_score", "plain", "overall"),
    Published("infigui_g1", "infigui-g1/reward_fn.py", "aer_gui_reward_function", "verl", "score", _info),
    Published("gta1", "src/grpo_grounding.py", "click_reward", "trl", "accuracy", _chat),
    Published("uiins", "grpo_scripts/reward_fn.py", "click_reward", "verl", "score", _info),
    Published("groundnext", "groundnext/reward_clipped.py", "gui_reward_function", "verl", "score", _info),
    Published("btlui", "btl-ui/reward_fn.py", "format", "swift", "format", _beside),  # the one class so called
    Published("guig1", "open_r1/grpo_rec.py", "hit_reward", "trl", "hit", _chat),
    Published("guig1", "open_r1/grpo_rec.py", "iou_reward", "trl", "iou", _chat),
    Published("guig1", "open_r1/grpo_rec.py", "box_reward", "trl", "box", _chat),
)

_ACTION = "<think>t</think> <answer>[{}]</answer>"
_CORNER = '{"action": "click", "gt_bbox": [1, 1], "input_text": "no input text"}'
FAILURES: tuple[tuple[str, str, str, Any, dict[str, Any]], ...] = (
    ("a 400-digit coordinate", "gelato_norm", f"({'9' * 400}, 5)", [0.1, 0.1, 0.2, 0.2], {}),
    ("a box in pixels where 0-1 is expected", "gelato_norm", "(500, 500)", [900, 500, 1000, 580], {}),
    ("a box with one negative coordinate", "guig1", '```json\n[{"bbox_2d": [-100, 10, 20, 20]}]\n```', [10, 10, 20, 20],
     {"image_width": 100, "image_height": 100}),
    ("right but for spaces", "gta1", "( 300 , 200 )", [[250, 150, 350, 250], 1.0, 1.0], {}),
    ("no place, and a target near the corner", "guir1", _ACTION.format("{'action': 'click'}"), _CORNER, {}),
    ("input_text that is Python code", "guir1", _ACTION.format(
        "{'action': 'type', 'point': [1, 1], 'input_text': print('the text of a response runs') or 'x'}"),
     '{"action": "type", "gt_bbox": [1, 1], "input_text": "x"}', {}),
    ("the documented answer", "btlui",
     '<blink>```json\n[{"bbox_2d": [570, 640, 972, 678]}]\n```</blink>\n<think>t</think>\n'
     '<link>```json\n[{"point_2d": [847, 646]}]\n```</link>',
     '[{"Plan": "p", "Action": {"function": "Tap", "point_2d": [783, 655]}}]',
     {"bbox": [589, 644, 977, 667], "image_size": [1920, 1080], "MAX_PIXELS": 4014080}),
)  # fmt: skip
"""Rows of the README's table: what is odd, the source, response, target and what comes beside them."""


def loaded(file: Path, name: str) -> Any:
    """Return a function of a file, of which nothing else is run than what defines names."""
    kinds = ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign
    space: dict[str, Any] = {"__name__": file.stem, "__file__": str(file)}
    for node in ast.parse(file.read_text("utf-8")).body:
        if not isinstance(node, kinds):
            continue
        try:
            exec(compile(ast.Module([node], []), str(file), "exec"), space)
        except Exception:
            if isinstance(node, ast.Import | ast.ImportFrom):
                space |= {(each.asname or each.name).partition(".")[0]: MagicMock() for each in node.names}
    if name not in space:
        name = next(each for each in space if name in each.lower() and isinstance(space[each], type))
    return space[name]() if isinstance(space[name], type) else space[name]


def scored(one: Published, function: Any, line: Mapping[str, Any]) -> WrappedScores:
    """Return what the function makes of a line."""
    wrapped = gr.wrap(partial(function, **one.options(line)), one.contract)
    extras = {name: [value] for name, value in one.columns(line).items()}
    with redirect_stdout(sys.stderr):
        scores = wrapped.score([line["response"]], [line["ground_truth"]], extras=extras)
    assert isinstance(scores, WrappedScores)
    return scores


def audited(one: Published, function: Any) -> tuple[Counter[str], str]:
    """Return counts of golden lines, and the first failure."""
    counts, first = Counter[str](), ""
    for text in harness.file_of(one.peer).read_text("utf-8").splitlines():
        line = json.loads(text)
        if not isinstance(line["response"], str):
            continue
        scores, recorded = scored(one, function, line), line["expected"].get(one.key)
        fault, total = scores.faults.get(0, ""), float(scores.total[0])
        number = isinstance(recorded, bool | int | float)
        counts["lines"] += 1
        counts["as recorded"] += bool(fault) if not number else not fault and abs(total - float(recorded)) <= 1e-9
        values, deviation = harness.evaluate(one.peer, line)
        same = not fault and abs(values[one.key] - total) <= 1e-9
        counts["fails" if fault else "named" if deviation else "same" if same else "unnamed"] += 1
        first = first or fault
    return counts, first


def found(tree: Path, moved: Mapping[str, str]) -> Iterator[tuple[Published, Any]]:
    """Yield the sources of a tree, each with its function."""
    for each in PUBLISHED:
        place, _, name = moved.get(each.peer, "").rpartition(":")
        files = [Path(place)] if place else sorted(tree.rglob(each.file.rpartition("/")[2]))
        here = [file for file in files if place or file.as_posix().endswith(f"/{each.file}")]
        if here:
            with suppress(StopIteration):  # a file of this name without the function
                yield replace(each, function=name or each.function), loaded(here[0], name or each.function)


def here(one: Published, line: Mapping[str, Any]) -> str:
    """Return what our recipe returns for a line, or the error of its target."""
    peer = harness.EVERY[one.peer]
    try:
        harness.build(one.peer, line).score([line["response"]], [peer.target(line)], **peer.score_options(line))
    except gr.TargetError as error:
        return f"{error}"
    return f"{harness.evaluate(one.peer, line)[0][one.key]:.6g}"


def main(words: list[str] | None = None) -> None:
    """Print the table of a tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--only", choices=sorted({each.peer for each in PUBLISHED}))
    parser.add_argument("--function", action="append", default=[], metavar="NAME=FILE.py:FUNCTION")
    asked = parser.parse_args(words)
    warnings.simplefilter("ignore", gr.TargetWarning)  # golden lines are odd on purpose
    sources = list(found(asked.tree, dict(each.split("=", 1) for each in asked.function)))
    heads = "lines", "as recorded", "fails", "same", "named", "unnamed"
    print(f"{'source':32}", *heads, "the first failure", sep="  ")
    for one, function in sources:
        if asked.only in (None, one.peer):
            counts, first = audited(one, function)
            cells = [f"{counts[head]:{len(head)},}" for head in heads]
            print(f"{f'{one.peer}, {one.function}':32}", *cells, first[:60], sep="  ", flush=True)
    for what, peer, response, target, extra in FAILURES:
        line = {"response": response, "ground_truth": target, "extra": extra}
        for one, function in sources:
            if one.peer == peer and asked.only in (None, peer):
                scores = scored(one, function, line)
                said = scores.faults.get(0, f"{scores.total[0]:.6g}")
                print(f"{what}: {one.function} of {peer}: {said}; here: {here(one, line)}")
    if missing := sorted({each.file for each in PUBLISHED} - {one.file for one, _ in sources}):
        print(f"not in {asked.tree}: {', '.join(missing)}")


if __name__ == "__main__":
    main()
