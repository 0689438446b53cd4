"""One grammar of commands: groups of options are whole, and one thing has one name."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from grounding_rewards.cli import application
from grounding_rewards.settings.declared import flags_of
from grounding_rewards.settings.groups import (
    AnswerFile,
    Answers,
    Images,
    InstructionColumns,
    ResponseColumns,
    TargetForm,
    TrainingColumns,
)  # fmt: skip
from tests.cli.command import HIT, write_rows
from tests.cli.every_command import commands, words_of, write_inputs

GROUPS = (AnswerFile, Answers, Images, InstructionColumns, ResponseColumns, TrainingColumns)
READ_ROWS = {"score", "eval", "compare", "explain", "convert", "rollout", "pool score"}


TABLE = {
    name: {flag: each for each in command.params for flag in each.opts if flag.startswith("--")}
    for name, command in commands().items()
}
"""The options of every command, by name."""


@pytest.mark.parametrize("command", sorted(READ_ROWS))
def test_a_command_that_reads_rows_has_whole_groups(command):
    there = TABLE[command]
    columns = {"rollout": InstructionColumns, "convert": TrainingColumns}.get(command, ResponseColumns)
    whole = [columns, Answers, Images, *([AnswerFile] if columns is ResponseColumns else [])]
    missing = [flags_of(each)[0] for group in whole for each in fields(group) if flags_of(each)[0] not in there]
    assert missing == []
    assert {"--recipe", "--option", "--target-space", "--box-format", "--settings", "--json"} <= there.keys()


def test_an_option_means_one_thing_wherever_it_stands():
    declared = {flags_of(each)[0]: each.metadata["help"] for group in (*GROUPS, TargetForm) for each in fields(group)}
    own = {"--image-column", "--id-column", "--split"}  # of --data, where a command has training data
    wrong = [
        f"{command} {flag}"
        for command, there in TABLE.items()
        for flag, option in there.items()
        if flag in declared and option.help != declared[flag] and not ("--data" in there and flag in own)
    ]
    assert wrong == []


def test_every_command_is_strict_if_asked():
    assert [command for command, there in TABLE.items() if "--strict" not in there] == []


@pytest.mark.parametrize("command", [name for name, there in TABLE.items() if "--settings" in there])
def test_every_command_with_settings_runs_with_them(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    (tmp_path / "own.toml").write_text("[images]\nmax_image_bytes = 1000000\n")
    assert run(*words_of(command), "--settings", "own.toml").code == 0


def test_nothing_has_two_names():
    assert [f"{command} {option.opts}" for command, there in TABLE.items() for option in there.values()
            if len([each for each in option.opts if each.startswith("--")]) > 1] == []  # fmt: skip


def test_every_command_that_writes_says_so_by_out():
    writes = {
        "init", "score", "explain", "view", "convert", "mix", "rollout", "pool allocate", "pool curriculum",
        "pool next", "pool report", "pool rollouts", "pool score", "pool stats", "pool transitions", "suggest",
    }  # fmt: skip
    assert {command for command, there in TABLE.items() if "--out" in there} == writes


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("ev", "eval"),
        ("pool ne", "next"),
        ("check rec", "recipe"),
        ("eval --recipe gel", "gelato gelato-pixel"),
        ("recipes gelato-", "gelato-pixel"),
        ("explain --compare gta1,gelato-", "gta1,gelato-pixel"),
        ("view --recipe gelato-", "gelato-pixel"),
        ("score --family aria", "aria_ui"),
        ("eval --response-space pixel,th", "pixel,thousandths"),
        ("rollout --pipeline qwen2_", "qwen2_vl qwen2_5_vl"),
        ("rollout --prompt gelato-", "gelato-refusal"),
        ("eval --benchmark osworld-g-ref", "osworld-g-refined osworld-g-refusal"),
        ("eval --rule os-a", "os-atlas"),
        ("score --layout wave", "wave-ui"),
        ("rollout --engine vl", "vllm"),
        ("pool next --selector spr", "spread"),
        ("pool rollouts --method po", "pods"),
        ("eval --box-format xyx", "xyxy"),
        ("where easyr1_", "easyr1_sequential"),
        ("eval --prom", ""),
        ("eval --bad", "--bad-target"),
    ],
)
def test_tab_proposes_commands_flags_and_names(run, monkeypatch, line, proposed):
    words = f"grounding-rewards {line}"
    for name, value in {
        "COMP_WORDS": words, "COMP_CWORD": str(len(line.split())), "_GROUNDING_REWARDS_COMPLETE": "complete_bash",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    found = run()
    assert (found.code, " ".join(found.out.split()), found.err) == (0, proposed, "")
    monkeypatch.setenv("_GROUNDING_REWARDS_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert [each.split("\t")[0] for each in run().out.splitlines() if each] == proposed.split()


def _named_flags(path):
    """Yield the flags that texts of a file name, docstrings aside."""
    tree = ast.parse(path.read_text("utf-8"))
    holders = (ast.Module, ast.FunctionDef, ast.ClassDef)
    firsts = [node.body[0] for node in ast.walk(tree) if isinstance(node, holders) and node.body]
    docs = {id(first.value) for first in firsts if isinstance(first, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield from re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", node.value)


def test_every_flag_that_a_text_names_is_one_of_a_command_and_a_verbs_texts_name_its_own():
    flags = application.flags_of_all()
    known = {"--help", "--version"}.union(*flags.values())
    package = Path(application.__file__).parents[1]
    strange = {
        (path.relative_to(package).as_posix(), flag)
        for path in package.rglob("*.py") for flag in _named_flags(path) if flag not in known
    }  # fmt: skip
    assert strange == {("engines/images.py", "--mm-processor-kwargs")}  # a flag of vLLM
    verbs = dict[str, set[str]]()
    for name, module in application._VERBS.items():
        if name in flags:
            verbs.setdefault(f"cli/{module.partition(':')[0]}.py", set()).update(flags[name])
    foreign = {(path, flag) for path, own in verbs.items() for flag in _named_flags(package / path)
               if flag not in own | {"--help"}}  # fmt: skip
    assert foreign == set()


def test_an_error_that_names_a_flag_of_other_commands_says_so(run, tmp_path):
    (tmp_path / "rollouts.csv").write_bytes("sample_id,acc,response\na,1,\u4f60\u597d\n".encode("gbk"))
    found = run("pool", "stats", tmp_path / "rollouts.csv")
    assert (found.code, "--encoding" in found.err) == (2, True)
    assert re.search(r"\(pool stats has no --encoding, which .*\bscore\b.* take\)$", found.err.strip())
    assert "has no" not in run("eval", tmp_path / "rollouts.csv").err


def test_an_error_about_a_setting_of_a_file_names_the_file_and_the_line(run, tmp_path):
    file = write_rows(tmp_path / "rows.jsonl", HIT)
    for name, text in {"first.toml": "response_column = 'said'", "last.toml": "\nresponse_column = 'answer'"}.items():
        (tmp_path / name).write_text(f"[data]\n{text}\n")
    words = (
        "eval",
        file,
        "--response-space",
        "pixel",
        *(word for name in ("first", "last") for word in ("--settings", tmp_path / f"{name}.toml")),
    )
    said = f"{file}: no column 'answer' (--response-column)"
    found = run.error(*words)
    assert found.startswith(said)
    assert found.endswith(f" ({tmp_path / 'last.toml'}, line 3: [data] response_column)")
    assert "toml" not in run.error(*words, "--response-column", "answer")


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("data", "encoding = 'nosuch'", "--encoding: got 'nosuch'"),
        ("data", "layout = 'nosuch'", "--layout: got 'nosuch'"),
        ("data", "predictions = ['gone.jsonl']", "{folder}/gone.jsonl: no such file"),
        ("images", "image_root = 'gone'", "{folder}/gone: no such file or directory"),
    ],
)
def test_an_error_about_an_encoding_a_layout_or_a_path_of_a_file_names_its_line(run, tmp_path, table, line, said):
    file, settings = write_rows(tmp_path / "rows.jsonl", HIT), tmp_path / "s.toml"
    settings.write_text(f"[{table}]\n{line}\n")
    found = run.error("eval", file, "--response-space", "pixel", "--settings", settings)
    assert found.startswith(said.format(folder=tmp_path))
    assert found.endswith(f" ({settings}, line 2: [{table}] {line.partition(' ')[0]})")


def test_bounds_that_contradict_each_other_are_an_error_by_flags_and_by_file(run, tmp_path):
    file, settings = write_rows(tmp_path / "rows.jsonl", HIT), tmp_path / "s.toml"
    settings.write_text("[answers]\nfamily = 'qwen2_5_vl'\nmin_pixels = 20\nmax_pixels = 10\n")
    said = "min_pixels: got 20, above max_pixels 10; expected 10 or less"
    assert run.error("eval", file, "--settings", settings) == f"{settings}, line 3: [answers] min_pixels: {said}"
    assert run.error("eval", file, "--family", "qwen2_5_vl", "--min-pixels", 20, "--max-pixels", 10) == said
