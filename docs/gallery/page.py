"""The gallery's page as Markdown, from the facts that ``described`` finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grounding_rewards.cli.values import as_written, bounds_of
from grounding_rewards.plugins import BUILT_IN

Facts = dict[str, Any]

_INTRODUCTION = """\
# Recipes

Every reward that can be named, what it pays for an answer at every place of a screen, and what it pays for nothing.
Each map goes through the whole pipeline: the place in the example's response is exchanged for every other one, and the
text is read, converted and scored. Dark is the lowest total of a picture and light the highest; the target is outlined,
and the example's answer marked. This page is made by `grounding-rewards gallery`.
"""


def page(
    found: Sequence[Facts],
    pictures: Mapping[str, str],
    missing: Mapping[str, str],
    overview: str | None,
    left_out: Sequence[str],
) -> str:
    """The whole page.

    Args:
        found: what ``described.facts`` says of each recipe; only ``name`` and ``error`` of one that cannot be built.
        pictures: where each recipe's picture is, from the page.
        missing: why a recipe has no picture.
        overview: where the picture of all of them is; None where there is none.
        left_out: recipes that have a picture, but are not in that of all of them.
    """
    parts = [_INTRODUCTION]
    if overview:
        parts.append(f"![What all recipes pay for the same target]({overview})\n")
    if left_out:
        parts.append(
            f"Not in this picture, because they do not judge this target: {', '.join(map(_code, left_out))}.\n"
        )
    parts.append(_list(found))
    parts += [_section(each, pictures, missing.get(each["name"], "")) for each in found]
    return "\n".join(parts)


def _list(found: Iterable[Facts]) -> str:
    rows = [
        [_link(each["name"]), bounds_of(each), _space(each), _needs(each) or "nothing more",
         _paper(each).partition(":")[0]]
        for each in found if "error" not in each
    ]  # fmt: skip
    return _table(["recipe", "pays", "answers in", "needs", "from"], rows)


def _section(facts: Facts, pictures: Mapping[str, str], missing: str) -> str:
    name = facts["name"]
    if "error" in facts:
        return f"## {_plain(name)}\n\nCannot be shown: {_plain(facts['error'])}\n"
    shot = f"![What {name} pays]({pictures[name]})" if name in pictures else f"No picture: {_plain(missing)}"
    blocks = [
        f"## {_plain(name)}", shot, _fenced(facts["formula"]), _about(facts), _parts(facts["parts"]),
        _said("Departs from the source", [(each["name"], each["why"]) for each in facts["deviations"]]),
        _said("Pays for nothing", [_exploit(each) for each in facts["exploits"]]), _example(facts["example"]),
    ]  # fmt: skip
    return "\n\n".join(block for block in blocks if block) + "\n"


def _about(facts: Facts) -> str:
    source = facts["repository"] and f"{facts['repository']}, commit {facts['commit']}: {', '.join(facts['files'])}"
    shown = ", ".join(f"{key}={as_written(value)}" for key, value in facts["with"].items())
    rows = [
        ("pays", f"{bounds_of(facts)}"),
        ("acc", _plain(facts["acc"])),
        ("answers", f"{_code(facts['dialect'])}, in {_space(facts)}"),
        ("targets", _targets(facts)),
        ("judges", ", ".join(facts["accepts"])),
        ("works in", facts["space"]),
        ("needs", _needs(facts)),
        ("shown with", shown and _code(shown)),
        ("from", _plain(_paper(facts))),
        ("source", source and _plain(source)),
    ]
    return "\n".join(f"- **{name}**: {text}" for name, text in rows if text)


def _space(facts: Facts) -> str:
    space = str(facts["response_space"])
    return f"the space given; here {space}" if "response_space" in facts["with"] else space


def _needs(facts: Facts) -> str:
    """What must be there beside responses and targets, and the options that it cannot be built without."""
    return ", ".join([*facts["needs"], *(f"option {_code(name)}" for name in facts["with"])])


def _targets(facts: Facts) -> str:
    if not facts["accepts"]:
        return "none: their places are not looked at"
    return f"{_plain(facts['native'] or 'the wire form')}, in {facts['target_space']}"


def _made_by(told: str) -> str:
    """A sentence as it is, and what Python would write as code."""
    return _plain(told) if told.endswith(".") else _code(told)


def _parts(parts: Sequence[Facts]) -> str:
    return _table(
        ["part", "range", "made by"], [[each["name"], bounds_of(each), _made_by(each["made_by"])] for each in parts]
    )


def _exploit(exploit: Facts) -> tuple[str, str]:
    return exploit["name"], f"pays {exploit['payoff']:.4g}: {exploit['what']}"


def _said(title: str, rows: Sequence[tuple[str, str]]) -> str:
    listed = "\n".join(f"- **{_plain(name)}**: {_plain(text)}" for name, text in rows)
    return f"**{title}**\n\n{listed}" if rows else ""


def _example(example: Facts | None) -> str:
    if example is None:
        return ""
    inputs = {key: example[key] for key in ("target", "image_size", "model_image_size") if example[key] is not None}
    given = [_fenced(example["response"])]
    if example.get("group"):
        given += ["in a group with", *map(_fenced, example["group"])]
    beside = ", ".join(f"{name} {_code(as_written(value))}" for name, value in inputs.items())
    given.append(f"with {beside}" if beside else "")
    if "error" in example:
        given.append(f"Not scored: {_plain(example['error'])}")
    else:
        scores = {**example["parts"], "total": example["total"], "acc": example["acc"]}
        numbers = ", ".join(f"{name} {score:.6g}" for name, score in scores.items())
        given.append(f"{example['reason']}: {numbers}")
    return "\n\n".join(["**Example**", *[each for each in given if each]])


def _paper(facts: Facts) -> str:
    return "this package" if facts["paper"] == BUILT_IN else str(facts["paper"])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [heads, ["---"] * len(heads), *[[cell.replace("|", r"\|") for cell in row] for row in rows]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _link(name: str) -> str:
    """To the section of that name, as GitHub calls it."""
    return f"[{_plain(name)}](#{re.sub(r'[^a-z0-9 _-]', '', name.lower()).replace(' ', '-')})"


def _plain(text: str) -> str:
    r"""Text that Markdown shows as it is.

    >>> print(_plain("<think> *and* [x]"))
    \<think\> \*and\* \[x\]
    """
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Text as code within a line."""
    text, ticks = " ".join(text.split()), _ticks(text)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fenced(text: str) -> str:
    """Text as a block of code."""
    fence = _ticks(text).rjust(3, "`")
    return f"{fence}text\n{text}\n{fence}"


def _ticks(text: str) -> str:
    """One backtick more than stand in a row anywhere in the text."""
    return "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
