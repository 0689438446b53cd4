"""Remarks of ``pool next`` on stderr."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grounding_rewards.cli import terminal
from grounding_rewards.pool.selection import NO_SOURCE, in_words
from grounding_rewards.wording import percent


def say(manifest: Mapping[str, Any]) -> None:
    """Print remarks on a pool, by its manifest."""
    join = manifest["join"]
    say_measured(manifest)
    if manifest["shortfall"]:
        terminal.note(_short(manifest))
    if join is not None and (join["data_only"] or join["rollouts_only"] or join["rows_without_name"]):
        terminal.note(
            f"{join['both']} samples are in the rollouts and in the data; left out: {join['rollouts_only']} in the "
            f"rollouts alone, {join['data_only']} in the data alone, {join['rows_without_name']} rows without a name"
        )
    if manifest["idle_weights"]:
        terminal.note(
            f"weights steer draws, and all {manifest['positive']} sometimes-solved samples fit without one; --limit N "
            "draws some of them"
        )
    if manifest["suspects"]:
        _say_suspects(manifest)
    removed = {step["name"]: step for step in manifest["steps"] if step["removed"]}
    if removed and "limit" not in removed and manifest["kept"] < _FEW * manifest["samples"]:
        most = max(removed.values(), key=lambda step: step["removed"])
        terminal.warn(
            f"the pool has {manifest['kept']} of {manifest['samples']} samples "
            f"({percent(manifest['kept'] / manifest['samples'])}); most are left out in one step: "
            f"{in_words(most['name'], most['removed'], most['params'])}"
        )


def print_manifest(manifest: Mapping[str, Any], out: Path) -> None:
    """Print a manifest as JSON, with the files."""
    paths = {"out": str(out), "manifest": f"{out}.manifest.json"}
    terminal.print_json({**manifest, **paths})


def warn_of_column(by: str, found: Sequence[Any]) -> None:
    """Warn of a column that samples are counted by, where no rollout has a value in it."""
    if by != "source" and not found:
        terminal.warn(f"--by: no rollout has a value in the column {by}, so samples are counted together alone")


def say_measured(manifest: Mapping[str, Any]) -> None:
    """Remark on rounds and temperatures that count together."""
    rounds, temperatures = manifest["rounds"], manifest["temperatures"]
    if rounds is not None:
        say_rounds(sum(each["role"] == "rollouts" for each in manifest["inputs"]), rounds)
    if len(temperatures) > 1:
        terminal.note(
            f"rollouts at temperatures {_listed(temperatures)} count together, and pass rates mix them; --round N "
            "chooses a round"
        )


def _say_suspects(manifest: Mapping[str, Any]) -> None:
    """Remark on suspects; warn where they are all never-solved samples of a source, and these are not few."""
    share = percent(manifest["suspects_share"])
    shown = (
        f"{manifest['suspects']} of {manifest['never_solved']} never-solved samples ({share}) are set aside, for their "
        "clicks agree on another place than the target"
    )
    whole = [
        f"{'samples without a source' if name == NO_SOURCE else name} ({each['suspects']})"
        for name, each in manifest["suspects_by_source"].items()
        if each["suspects"] == each["never_solved"] >= _ENOUGH
    ]
    if not whole:
        terminal.note(f"{shown}; look at their labels; --keep-suspects trains on them")
        return
    more = f" and {len(whole) - _SHOWN} more" if len(whole) > _SHOWN else ""
    terminal.warn(
        f"{shown}, and none is left of {', '.join(whole[:_SHOWN])}{more}: wrong labels look like this, and so does a "
        "policy that is sure and wrong; look at them; --keep-suspects trains on them"
    )


def say_rounds(inputs: int, rounds: Sequence[int | None]) -> None:
    """Remark on rounds that count together, and on inputs that may be rounds."""
    if len(rounds) > 1:
        terminal.note(f"rollouts of rounds {_listed(rounds)} count together; --round N chooses one")
    elif inputs > 1 and rounds[0] is None:
        terminal.note(
            "rollouts of all inputs count together, for they name no round; where inputs are rounds, give one alone, "
            "or rows a column round"
        )


def summary(manifest: Mapping[str, Any], out: Path) -> list[str]:
    """Return the lines that say what a run wrote, kept and left out."""
    removed = [
        in_words(step["name"], step["removed"], step["params"])
        + (f" ({percent(manifest['suspects_share'])} of the never-solved)" if step["name"] == "suspects" else "")
        for step in manifest["steps"]
        if step["removed"]
    ]
    kept = f"{manifest['positive']} sometimes solved, {manifest['zero']} never solved"
    return [
        f"{manifest['kept']} of {manifest['samples']} samples written to {out}",
        f"  kept      {kept} ({percent(manifest['zero_share_actual'])})",
        f"  left out  {', '.join(removed) or 'none'}",
        f"  files     {', '.join([*(each['path'] for each in manifest['outputs']), f'{out.name}.manifest.json'])}",
    ]


def _short(manifest: Mapping[str, Any]) -> str:
    """Return how many never-solved samples are missing, the step that left them out, and the option that changes it."""
    gone = {step["name"]: step for step in manifest["steps"] if step["removed_zero"]}
    text = (
        f"{manifest['zero_quota']} never-solved samples would make {percent(manifest['zero_share'])} of the "
        f"pool, and {manifest['zero']} are left: {manifest['shortfall']} are missing, and none is taken twice"
    )
    if gone:
        removed = [in_words(name, step["removed_zero"], step["params"]) for name, step in gone.items()]
        text += f"; never-solved ones left out: {', '.join(removed)}"
    used = {"--confident"} if manifest["settings"]["confident"] else set()
    advice = [f"{option} {what}" for name, (option, what) in _KEEPING.items() if name in gone and option not in used]
    return "; ".join([text, *advice, "--zero-share 0 asks for none"])


_FEW = 0.1  # share of the samples below which a pool may be smaller than was meant
_SHOWN = 5  # sources in a warning
_ENOUGH = 5  # never-solved samples of a source: all of fewer are suspects by chance, as in breakdowns of many values
_KEEPING = {
    "suspects": ("--keep-suspects", "draws from these"),
    "band": ("--confident", "keeps those whose 95 % interval reaches into the band"),
}


def _listed(values: Sequence[float | None]) -> str:
    return ", ".join("unknown" if value is None else f"{value:g}" for value in values)
