"""Every place of a command line where the name of a file stands, and names to put there."""

from __future__ import annotations

import os
from typing import NamedTuple

KINDS = {
    "plain": "a",
    "not UTF-8": os.fsdecode(b"a\xff"),
    "lines, escapes, quotes and mark-up": "a\nb\r\x1b[31m'\"`$d$[red]%s%20  \t",
    "globs": "a*b?[1]{c}",
    "dash, colons and backslashes": "./-a:b@1=c\\d\\",
}
NOWHERE = {
    "neither UTF-8 nor one line": os.fsdecode(b"no\xff\nb"),
    "loop": "loop",
    "below a loop": "circle/no",
    "below a file": "rows.jsonl/no",
    "long": "a" * 300,
    "below a long one": "a" * 300 + "/a",
}


class Case(NamedTuple):
    """A command with a place in it.

    Attributes:
        words: of the command line; ``PLACE`` is where the name goes.
        like: what is copied to the place where it is an input that exists; None where it is an output.
        suffix: of the name.
    """

    words: tuple[str, ...]
    like: str | None
    suffix: str = ""


SAMPLES = [f"s{number:02d}" for number in range(24)]
GELATO = ("--recipe", "gelato")
OSWORLD = ("--benchmark", "osworld-g", "--response-space", "pixel", "--option", "target_space=unit")
SCORE = ("score", "rows.jsonl", *GELATO, "--out", "out.jsonl")
CONVERT = ("convert", "data.jsonl", "--out", "out.jsonl", "--for", "verl", "--target-space", "pixel")
PICTURED = ("convert", "pictured.jsonl", "--out", "out.jsonl", "--for", "verl", "--target-space", "pixel")
EXPLAINED = ("explain", "--recipe", "gelato", "rows.jsonl", "--row", "0")
TARGET = ("--response", "(200, 150)", "--target", "[0.1, 0.1, 0.3, 0.2]", "--image-size", "640,480")
NEXT = ("pool", "next", "rollouts.jsonl", "--out", "out.jsonl")
PLAN = ("pool", "plan", "rollouts.jsonl")
CHOOSE = (
    "pool",
    "rollouts",
    "rollouts.jsonl",
    "--method",
    '{"name": "pods", "keep": 2, "of": "acc"}',
    "--out",
    "out.jsonl",
)
UNSIZED = ("unsized.jsonl", "--response-space", "thousandths", "--image-root", "PLACE")
ALLOCATE = ("pool", "allocate", "rollouts.jsonl", "--method", "dars", "--out", "out.jsonl")
STATS = ("pool", "stats", "rollouts.jsonl", "--out", "out.jsonl")
POOL_SCORE = ("pool", "score", "rows.jsonl", *GELATO, "--out", "scored")
STAGES = ("pool", "curriculum", "rollouts.jsonl", "--stages", "stages.json", "--out", "stages")
COMPARED = ("compare", "rows.jsonl", "--recipe", "gelato", "--with", "gelato")
VIEW = ("view", "rollouts.jsonl", "--out", "out.html")
REPORT = ("pool", "report", "rollouts.jsonl", "--out", "report")
SHOTS = (*REPORT, "--data", "pictured.jsonl", "--id-column", "id")
ENGINE = ("--engine", "own.py:Engine", "--model", "m")
ROLLOUT = ("rollout", "data.jsonl", *ENGINE, "--out", "rolled")
CASES = {
    ("rollout", "data"): [
        Case(("rollout", "PLACE", *ROLLOUT[2:], "--json"), "data.jsonl", ".jsonl"),
        Case(("rollout", "PLACE", *ROLLOUT[2:]), "data.parquet", ".parquet"),
        Case(("rollout", "PLACE", *ROLLOUT[2:]), "folder of data"),
    ],
    ("rollout", "engine"): [Case((*ROLLOUT[:3], "PLACE:Engine", *ROLLOUT[4:]), "own.py", ".py")],
    ("rollout", "out"): [Case((*ROLLOUT[:-1], "PLACE"), None), Case((*ROLLOUT[:-1], "PLACE", "--shard", "0/2"), None)],
    ("rollout", "recipe"): [Case((*ROLLOUT, "--recipe", "PLACE:CLICK"), "own.py", ".py")],
    ("rollout", "prompt"): [Case((*ROLLOUT, "--prompt", "PLACE"), "prompt.jinja", ".jinja")],
    ("rollout", "allocate"): [
        Case((*ROLLOUT, "--first-rollout", "0", "--allocate", "PLACE"), "allocated.jsonl", ".jsonl")
    ],
    ("rollout", "image_root"): [
        Case(("rollout", "pictured.jsonl", *ROLLOUT[2:], "--image-root", "PLACE", "--json"), "shots")
    ],
    ("score", "file"): [
        Case(("score", "PLACE", *SCORE[2:], "--json"), "rows.jsonl", ".jsonl"),
        Case(("score", "PLACE", *SCORE[2:]), "rows.parquet", ".parquet"),
    ],
    ("score", "predictions"): [Case((*SCORE, "--predictions", "PLACE"), "rows.parquet", ".parquet")],
    ("score", "out"): [
        Case((*SCORE[:-1], "PLACE", "--json"), None, ".jsonl"),
        Case((*SCORE[:-1], "PLACE"), None, ".parquet"),
    ],
    ("score", "recipe"): [Case(("score", "rows.jsonl", "--recipe", "PLACE:RECIPE", *SCORE[4:]), "own.py", ".py")],
    ("score", "option"): [
        Case(
            (
                *SCORE[:3], "composite", *SCORE[4:], "--response-space", "thousandths", "--option", "target_space=unit",
                "--option", 'parts={"brief": {"verifier": "PLACE:brief", "weight": 1, "low": 0, "high": 1}}',
                "--option", 'success="hit"', "--option", 'dialect="point_tag"',
            ), "own.py", ".py",
        ),
    ],
    ("eval", "files"): [
        Case(("eval", "PLACE", *GELATO), "rows.jsonl", ".jsonl"),
        Case(("eval", "PLACE", *GELATO, "--json"), "rows.parquet", ".parquet"),
    ],
    ("eval", "predictions"): [
        Case(("eval", "rows.jsonl", *GELATO, "--predictions", "PLACE"), "rows.jsonl", ".jsonl"),
        Case(("eval", "rows.jsonl", *GELATO, "--predictions", "PLACE", "--json"), "folder of rows"),
    ],
    ("score", "image_root"): [Case(("score", *UNSIZED, "--recipe", "click", "--out", "out.jsonl"), "shots")],
    ("eval", "image_root"): [Case(("eval", *UNSIZED, "--json"), "shots")],
    ("explain", "image_root"): [Case(("explain", "--recipe", "click", "--row", "0", *UNSIZED), "shots")],
    ("pool score", "image_root"): [
        Case(("pool", "score", *UNSIZED, "--recipe", "click", "--out", "scored", "--json"), "shots")
    ],
    ("eval", "settings"): [
        Case(("eval", "rows.jsonl", "--settings", "PLACE"), "settings.toml", ".toml"),
        Case(("eval", "rows.jsonl", "--settings", "PLACE", "--json"), "settings.json", ".json"),
    ],
    ("init", "file"): [Case(("init", "PLACE", "--out", "out.toml"), "rows.jsonl", ".jsonl")],
    ("init", "out"): [Case(("init", "rows.jsonl", "--out", "PLACE"), None, ".toml")],
    ("init", "predictions"): [
        Case(("init", "rows.jsonl", "--predictions", "PLACE", "--out", "out.toml"), "rows.jsonl", ".jsonl")
    ],
    ("init", "image_root"): [Case(("init", "rows.jsonl", "--image-root", "PLACE", "--out", "out.toml"), "shots")],
    ("compare", "file"): [Case(("compare", "PLACE", *COMPARED[2:]), "rows.jsonl", ".jsonl")],
    ("compare", "recipe"): [Case((*COMPARED, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("compare", "other"): [Case((*COMPARED, "--with", "PLACE:RECIPE"), "own.py", ".py")],
    ("compare", "predictions"): [Case((*COMPARED, "--predictions", "PLACE"), "rows.jsonl", ".jsonl")],
    ("compare", "image_root"): [Case((*COMPARED, "--image-root", "PLACE"), "shots")],
    ("eval", "categories"): [
        Case(("eval", "rows.jsonl", *OSWORLD, "--categories", "PLACE"), "kinds.json", ".json"),
    ],
    ("eval", "recipe"): [Case(("eval", "rows.jsonl", "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("explain", "recipe"): [Case(("explain", "--recipe", "PLACE:RECIPE", *TARGET, "--json"), "own.py", ".py")],
    ("explain", "compare_with"): [
        Case(("explain", "--recipe", "gelato", *TARGET, "--compare", "PLACE:RECIPE"), "own.py", ".py")
    ],
    ("explain", "file"): [
        Case((*EXPLAINED[:3], "PLACE", *EXPLAINED[4:]), "rows.jsonl", ".jsonl"),
        Case((*EXPLAINED[:3], "PLACE", *EXPLAINED[4:], "--json"), "rows.parquet", ".parquet"),
    ],
    ("explain", "predictions"): [Case((*EXPLAINED, "--predictions", "PLACE"), "rows.jsonl", ".jsonl")],
    ("explain", "out"): [
        Case(("explain", "--recipe", "gelato", "--out", "PLACE"), None, ".html"),
        Case(("explain", "--recipe", "gelato", "--json", "--out", "PLACE"), None, ".html"),
    ],
    ("explain", "image"): [
        Case(("explain", "--recipe", "gelato", *TARGET, "--image", "PLACE", "--out", "out.html"),
             "shot.png", ".png"),
    ],
    ("convert", "file"): [
        Case(("convert", "PLACE", *CONVERT[2:], "--json"), "data.jsonl", ".jsonl"),
        Case(("convert", "PLACE", "--out", "out.parquet", *CONVERT[4:]), "data.jsonl", ".jsonl"),
        Case(("convert", "PLACE", *CONVERT[2:]), "data.parquet", ".parquet"),
        Case(("convert", "PLACE", *CONVERT[2:]), "folder of data"),
        Case(("convert", "PLACE", "--out", "out.parquet", *CONVERT[4:]), "saved"),
    ],
    ("convert", "out"): [
        Case((*CONVERT[:2], "PLACE", *CONVERT[4:], "--json"), None, ".jsonl"),
        Case((*CONVERT[:2], "PLACE", *CONVERT[4:]), None, ".parquet"),
    ],
    ("convert", "recipe"): [Case((*CONVERT, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("convert", "image_root"): [Case((*PICTURED, "--image-root", "PLACE"), "shots")],
    ("recipes", "name"): [
        Case(("recipes", "PLACE:RECIPE"), "own.py", ".py"),
        Case(("recipes", "PLACE:RECIPE", "--json"), "own.py", ".py"),
    ],
    ("pool score", "paths"): [
        Case((*POOL_SCORE[:2], "PLACE", *POOL_SCORE[3:], "--json"), "rows.jsonl", ".jsonl"),
        Case((*POOL_SCORE[:2], "PLACE", *POOL_SCORE[3:]), "rows.parquet", ".parquet"),
        Case((*POOL_SCORE[:2], "PLACE", *POOL_SCORE[3:]), "dumps"),
    ],
    ("pool score", "predictions"): [
        Case((*POOL_SCORE, "--predictions", "PLACE", "--json"), "rows.jsonl", ".jsonl"),
        Case((*POOL_SCORE, "--predictions", "PLACE"), "rows.parquet", ".parquet"),
    ],
    ("pool score", "out"): [Case((*POOL_SCORE[:-1], "PLACE", "--json"), None)],
    ("pool score", "recipe"): [
        Case(("pool", "score", "rows.jsonl", "--recipe", "PLACE:RECIPE", "--out", "scored"), "own.py", ".py")
    ],
    ("pool stats", "rollouts"): [
        Case((*STATS[:2], "PLACE", *STATS[3:], "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*STATS[:2], "PLACE", *STATS[3:]), "rollouts.parquet", ".parquet"),
        Case((*STATS[:2], "PLACE", *STATS[3:]), "folder of rollouts"),
        Case((*STATS[:2], "PLACE", *STATS[3:]), "dumps"),
        Case((*STATS[:2], "PLACE", "--out", "out.parquet"), "completions"),
    ],
    ("pool stats", "out"): [
        Case((*STATS[:-1], "PLACE", "--json"), None, ".jsonl"),
        Case((*STATS[:-1], "PLACE"), None, ".parquet"),
    ],
    ("pool stats", "recipe"): [Case((*STATS, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("pool allocate", "rollouts"): [
        Case((*ALLOCATE[:2], "PLACE", *ALLOCATE[3:], "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*ALLOCATE[:2], "PLACE", *ALLOCATE[3:]), "stats.parquet", ".parquet"),
        Case((*ALLOCATE[:2], "PLACE", *ALLOCATE[3:]), "folder of rollouts"),
    ],
    ("pool allocate", "out"): [
        Case((*ALLOCATE[:-1], "PLACE", "--json"), None, ".jsonl"),
        Case((*ALLOCATE[:-1], "PLACE"), None, ".parquet"),
    ],
    ("pool next", "rollouts"): [
        Case((*NEXT[:2], "PLACE", *NEXT[3:], "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*NEXT[:2], "PLACE", *NEXT[3:]), "rollouts.parquet", ".parquet"),
        Case((*NEXT[:2], "PLACE", *NEXT[3:]), "stats.parquet", ".parquet"),
        Case((*NEXT[:2], "PLACE", *NEXT[3:]), "folder of rollouts"),
    ],
    ("pool next", "out"): [
        Case((*NEXT[:-1], "PLACE", "--json"), None, ".jsonl"),
        Case((*NEXT[:-1], "PLACE"), None, ".parquet"),
    ],
    ("pool next", "two_model"): [
        Case((*NEXT, "--two-model", "never.jsonl,PLACE"), "stats.parquet", ".parquet"),
        Case((*NEXT, "--two-model", "never.jsonl,PLACE"), "rollouts.jsonl", ".jsonl"),
    ],
    ("pool next", "selector"): [
        Case((*NEXT, "--selector", '{"name": "PLACE:keep", "low": 0, "high": 1}'), "own.py", ".py")
    ],
    ("pool next", "recipe"): [Case((*NEXT, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("pool next", "data"): [
        Case((*NEXT, "--data", "PLACE"), "samples.jsonl", ".jsonl"),
        Case((*NEXT, "--data", "PLACE"), "samples.parquet", ".parquet"),
        Case((*NEXT, "--data", "PLACE"), "folder of samples"),
    ],
    ("pool plan", "rollouts"): [
        Case((*PLAN[:2], "PLACE", "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*PLAN[:2], "PLACE"), "stats.parquet", ".parquet"),
        Case((*PLAN[:2], "PLACE"), "folder of rollouts"),
    ],
    ("pool plan", "method"): [
        Case((*PLAN, "--method", '{"name": "PLACE:keep", "low": 0, "high": 1}', "--json"), "own.py", ".py")
    ],
    ("pool plan", "weights"): [Case((*PLAN, "--weights", "PLACE", "--json"), None, ".parquet")],
    ("pool plan", "picture"): [Case((*PLAN, "--picture", "PLACE", "--json"), None, ".html")],
    ("pool plan", "recipe"): [Case((*PLAN, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("view", "inputs"): [
        Case(("view", "PLACE", "--out", "out.html", "--json"), "rollouts.jsonl", ".jsonl"),
        Case(("view", "PLACE", "--out", "out.html"), "folder of rollouts"),
    ],
    ("view", "out"): [Case((*VIEW[:-1], "PLACE", "--json"), None, ".html")],
    ("view", "recipe"): [Case((*VIEW, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("view", "data"): [Case((*VIEW, "--data", "PLACE", "--id-column", "id"), "pictured.jsonl", ".jsonl")],
    ("view", "image_root"): [Case((*VIEW, *SHOTS[SHOTS.index("--data"):], "--image-root", "PLACE"), "shots")],
    ("pool rollouts", "rollouts"): [
        Case((*CHOOSE[:2], "PLACE", *CHOOSE[3:], "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*CHOOSE[:2], "PLACE", *CHOOSE[3:]), "rollouts.parquet", ".parquet"),
        Case((*CHOOSE[:2], "PLACE", *CHOOSE[3:]), "folder of rollouts"),
        Case((*CHOOSE[:2], "PLACE", *CHOOSE[3:]), "dumps"),
    ],
    ("pool rollouts", "out"): [
        Case((*CHOOSE[:-1], "PLACE", "--json"), None, ".jsonl"),
        Case((*CHOOSE[:-1], "PLACE"), None, ".parquet"),
    ],
    ("pool report", "inputs"): [
        Case(("pool", "report", "PLACE", "--out", "report", "--json"), "rollouts.jsonl", ".jsonl"),
        Case(("pool", "report", "PLACE", "--out", "report"), "stats.parquet", ".parquet"),
        Case(("pool", "report", "PLACE", "--out", "report"), "folder of rollouts"),
        Case((*REPORT, "PLACE"), "drawn.jsonl.manifest.json", ".json"),
    ],
    ("pool report", "out"): [Case((*REPORT[:-1], "PLACE", "--json"), None)],
    ("pool report", "recipe"): [Case((*REPORT, "--recipe", "PLACE:RECIPE"), "own.py", ".py")],
    ("pool report", "data"): [Case((*REPORT, "--data", "PLACE", "--id-column", "id"), "pictured.jsonl", ".jsonl")],
    ("pool report", "image_root"): [Case((*SHOTS, "--image-root", "PLACE"), "shots")],
    ("pool curriculum", "stats"): [
        Case((*STAGES[:2], "PLACE", *STAGES[3:], "--json"), "rollouts.jsonl", ".jsonl"),
        Case((*STAGES[:2], "PLACE", *STAGES[3:]), "stats.parquet", ".parquet"),
        Case((*STAGES[:2], "PLACE", *STAGES[3:]), "folder of rollouts"),
    ],
    ("pool curriculum", "stages"): [Case((*STAGES[:4], "PLACE", *STAGES[5:]), "stages.json", ".json")],
    ("pool curriculum", "out"): [
        Case((*STAGES[:-1], "PLACE", "--json"), None),
        Case((*STAGES[:-1], "PLACE", "--weights"), None),
    ],
    ("pool curriculum", "data"): [
        Case((*STAGES, "--data", "PLACE"), "samples.jsonl", ".jsonl"),
        Case((*STAGES, "--data", "PLACE"), "folder of samples"),
    ],
    ("pool temperature", "files"): [
        Case(("pool", "temperature", "1=rollouts.jsonl", "2=PLACE", "--json"), "rollouts.jsonl", ".jsonl"),
        Case(("pool", "temperature", "1=rollouts.jsonl", "2=PLACE"), "rollouts.parquet", ".parquet"),
    ],
    ("pool transitions", "before"): [
        Case(("pool", "transitions", "PLACE", "rollouts.jsonl", "--json"), "rollouts.jsonl", ".jsonl"),
        Case(("pool", "transitions", "PLACE", "rollouts.jsonl"), "stats.parquet", ".parquet"),
    ],
    ("pool transitions", "after"): [
        Case(("pool", "transitions", "rollouts.jsonl", "PLACE"), "folder of rollouts"),
    ],
    ("pool transitions", "null"): [
        Case(("pool", "transitions", "rollouts.jsonl", "rollouts.parquet", "--null", "PLACE"), "rollouts.jsonl",
             ".jsonl"),
    ],
    ("pool transitions", "out"): [
        Case(("pool", "transitions", "rollouts.jsonl", "rollouts.parquet", "--out", "PLACE", "--json"), None, ".json"),
    ],
}  # fmt: skip
NO_PLACES = {
    "response_space", "target_space", "bad_target", "prefix", "by", "response", "target", "image_size", "group",
    "model_image_size", "trainer", "source", "split", "template", "system", "title", "band", "exclude_source",
    "rule", "model", "id", "method", "item_response", "benchmark_name", "engine_option", "pipeline", "policy", "shard",
    "temperatures", "weights", "temperature", "encoding", "family", "name", "old_out", "old_file",
}  # fmt: skip
"""Options of text that name no file; nor do those whose names end in ``_column``."""
