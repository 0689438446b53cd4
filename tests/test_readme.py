"""The README is true: its examples run, its commands print what it shows, its test command is CI's."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

import grounding_rewards as gr

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ADAPTERS = (ROOT / "adapters" / "README.md").read_text("utf-8")
WRITTEN = ("scored.jsonl", "train.parquet", "pool.parquet")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """Every `$ command` of ours with the output shown below it."""
    found = []
    for block in blocks(README, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            if line.startswith("grounding-rewards"):
                found.append((line, output.rstrip()))
    return found


def test_library_examples_give_what_they_show() -> None:
    session = "\n".join(blocks(README, "pycon"))
    example = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    said: list[str] = []
    runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)
    assert runner.tries > 0


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), commands(), ids=[command for command, _ in commands()])
def test_commands_print_what_it_shows(command: str, output: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / word) if word in WRITTEN else word for word in shlex.split(command)]
    run = subprocess.run(
        [sys.executable, "-m", "grounding_rewards", *arguments[1:]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    shown = (run.stdout + run.stderr).replace(f"{tmp_path}{os.sep}", "")
    expected, printed = tidy(output), tidy(shown)
    if expected[-1] == "...":  # the beginning of what it prints
        expected, printed = expected[:-1], printed[: len(expected) - 1]
    assert printed == expected


def tidy(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("block", blocks(README, "python") + blocks(ADAPTERS, "python"))
def test_trainer_examples_build_their_reward(block: str) -> None:
    calls = re.findall(r"reward_funcs\(\"[^)]*\)", block)
    assert calls
    from grounding_rewards_adapters.trl import reward_funcs

    compile(block, "README.md", "exec")
    for call in calls:
        parsed = ast.parse(call, mode="eval").body
        assert isinstance(parsed, ast.Call)
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in parsed.keywords}
        (reward,) = reward_funcs(*map(ast.literal_eval, parsed.args), **options)
        (recipe,) = reward.scorer.recipes
        assert recipe.to_dict() == {"name": recipe.name, **options}


@pytest.mark.parametrize("block", blocks(README, "bash"))
def test_launch_lines_name_an_adapter_and_a_recipe(block: str) -> None:
    (recipe,) = re.findall(r"reward_(?:function_)?kwargs\.recipe=(\S+)", block)
    (trainer,) = re.findall(r"(?:pkg://grounding_rewards_adapters\.|grounding-rewards where )(\w+)", block)
    assert gr.recipe(recipe).name == recipe
    assert callable(resolve_name(f"grounding_rewards_adapters.{trainer}:compute_score"))


def test_modules_that_pages_name_are_there() -> None:
    pages = README + ADAPTERS + "".join(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))
    names = set(re.findall(r"\bgrounding_rewards(?:\.[A-Za-z_]+)+", pages))
    assert len(names) > 10
    for name in names:
        resolve_name(name)


def test_links_and_pictures_are_there() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_no_figure_is_left_to_be_filled_in() -> None:
    assert re.findall(r"@[A-Z]+@|TODO|XXX", README + ADAPTERS) == []


def test_ci_calls_the_test_command_of_the_readme() -> None:
    assert "make test" in README
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text("utf-8")
