"""One's own term by its place in code: from Python, on the command line, and in processes that never saw it."""

import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

import grounding_rewards as gr
from grounding_rewards.plugins.loading import load
from tests.cli.command import Runner, read_rows, result_of, write_rows

OWN = """
from dataclasses import dataclass, replace

import numpy as np

import grounding_rewards as gr
from grounding_rewards.combine import weighted
from grounding_rewards.parsing import PatternDialect

TAP = PatternDialect("tap", r"<tap>(?P<x>[0-9]+),(?P<y>[0-9]+)</tap>", signs=("<tap>",))


def brief(rollouts, words=2):
    return np.array([float(len(text.split()) <= words) for text in rollouts.text])


@dataclass(frozen=True)
class Brief:
    words: int = 2

    low = 0.0
    high = 1.0
    needs = frozenset()

    def __call__(self, rollouts):
        return brief(rollouts, self.words)


LIFTED = gr.verifier(brief, low=0, high=1)


def build(*, words=2):
    return replace(gr.recipe("click", response_space="pixel"), reward=weighted(brief=(1.0, Brief(words))))
"""
BOX = {"bbox": [0, 0, 10, 10]}
TEXTS = ["(1, 2)", "it is (1, 2)", "no"]


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_terms_of_a_test.py").write_text(OWN)
    return tmp_path / "own_terms_of_a_test.py"


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    return Runner(capsys)


def composite(**part):
    return gr.recipe("composite", response_space="pixel", parts={"hit": 0.5, "brief": {"weight": 0.5, **part}})


@pytest.mark.parametrize("place", ["own_terms_of_a_test", "own_terms_of_a_test.py", "./own_terms_of_a_test.py", None])
@pytest.mark.parametrize("attribute", ["brief", "Brief", "LIFTED"])
def test_a_part_by_its_place_in_code(own, place, attribute):
    bounds = {"low": 0, "high": 1} if attribute == "brief" else {}
    recipe = composite(verifier=f"{place or own}:{attribute}", **bounds)
    assert recipe.score(TEXTS, [BOX] * 3).total.tolist() == [1.0, 0.5, 0.5]
    assert recipe.parts == ("hit", "brief")


@pytest.mark.parametrize("attribute", ["brief", "Brief"])
def test_its_arguments_stand_beside_it(own, attribute):
    bounds = {"low": 0, "high": 1} if attribute == "brief" else {}
    recipe = composite(verifier=f"{own}:{attribute}", words=5, **bounds)
    assert recipe.score(TEXTS, [BOX] * 3).total.tolist() == [1.0, 1.0, 0.5]


def test_a_recipe_and_a_dialect_by_their_place_in_code(own):
    recipe = gr.recipe(f"{own}:build", words=5)
    assert recipe.score(TEXTS, [BOX] * 3).total.tolist() == [1.0, 1.0, 1.0]
    recipe = gr.recipe("click", response_space="pixel", dialect="own_terms_of_a_test:TAP")
    assert recipe.score(["<tap>1,2</tap>", "(1, 2)"], [BOX] * 2).acc.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("own_terms_of_a_test:Brief", '"Brief": {"verifier": NAME, "weight": 1.0}'),
        ("own_terms_of_a_test.py:LIFTED", '"LIFTED": {"verifier": NAME, "weight": 1.0}'),
        ("hit", '"hit": {"verifier": NAME, "weight": 1.0}'),
    ],
)
def test_a_verifier_in_a_recipes_place_is_refused_with_how_to_become_one(own, name, hint):
    with pytest.raises(gr.RecipeError, match="is a verifier and no recipe; make it a part: recipe composite") as caught:
        gr.recipe(name, response_space="pixel")
    said = str(caught.value)
    assert said.endswith("with parts={" + hint.replace("NAME", json.dumps(name)) + "}")
    parts = json.loads(said.partition("parts=")[2])
    assert gr.recipe("composite", response_space="pixel", parts=parts).score("(1, 2)", BOX).total.tolist() == [1.0]


def test_any_other_code_in_a_recipes_place_is_an_error(own):
    own.write_text(
        "def part(r, words=2): pass\n"
        "def many(**options): pass\ndef none(): return 5\ndef raises(*, size): return {}[size]\n"
    )
    hint = '"part": {"verifier": "own_terms_of_a_test.py:part", "weight": 1.0, "low": 0, "high": 1}'
    with pytest.raises(gr.RecipeError, match=rf"argument: 'r'\); a function of Rollouts is no recipe: .*{hint}"):
        gr.recipe("own_terms_of_a_test.py:part")
    for attribute, options, message in [
        ("many", {}, "many: its function must name each option"),
        ("none", {}, "none: its function returned int; expected a Recipe"),
        ("raises", {"size": 3}, r"raises cannot be built \(KeyError: 3\)"),
        (
            "raises",
            {},
            r"raises cannot be built \(TypeError: raises\(\) missing 1 required keyword-only argument: 'size'",
        ),
    ]:
        with pytest.raises(gr.RecipeError, match=message):
            gr.recipe(f"{own}:{attribute}", **options)


def test_another_process_in_another_folder_reads_what_files_define(own, tmp_path, monkeypatch):
    recipes = [
        composite(verifier="own_terms_of_a_test.py:brief", low=0, high=1),
        composite(verifier="./own_terms_of_a_test.py:LIFTED"),
        gr.recipe("own_terms_of_a_test.py:build"),
        gr.recipe("click", response_space="pixel", dialect="own_terms_of_a_test.py:TAP"),
    ]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(recipe.score, TEXTS, [BOX] * 3) for recipe in recipes]
        totals = [job.result(timeout=60).total.tolist() for job in jobs]
    assert totals == [[1.0, 0.5, 0.5], [1.0, 0.5, 0.5], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


def test_recipes_keep_paths_in_full_so_that_they_are_built_again_in_another_folder(own, tmp_path, monkeypatch):
    relative = "sub/../own_terms_of_a_test.py"
    recipes = [
        composite(verifier=f"{relative}:Brief"),
        gr.recipe("composite", response_space="pixel", parts={"hit": 1}, success={"verifier": f"{relative}:Brief"}),
        gr.recipe("composite", response_space="pixel", parts={"hit": 1}, success=f"{relative}:LIFTED"),
        gr.recipe("click", response_space="pixel", dialect=f"{relative}:TAP"),
        gr.recipe(f"{relative}:build", words=3),
    ]
    assert recipes[-1].to_dict() == {"name": f"{own}:build", "words": 3}
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for recipe in recipes:
        assert gr.recipe(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_a_pattern_that_looks_like_a_path_is_left_as_it_is():
    part = {"verifier": "format", "weight": 1, "pattern": "a/b.py:c"}
    recipe = gr.recipe("composite", response_space="pixel", parts={"form": part})
    assert recipe.to_dict()["parts"]["form"]["pattern"] == "a/b.py:c"


def test_what_a_file_defines_is_pickled_by_the_files_path(own):
    brief = load(f"{own}:Brief")(7)
    assert pickle.loads(pickle.dumps(brief)) == brief
    assert own.name.encode() not in pickle.dumps(brief)
    data = pickle.dumps(brief).replace(str(own).encode().hex().encode(), (b"x" * len(str(own))).hex().encode())
    with pytest.raises(FileNotFoundError, match="there is no file xxx"):
        pickle.loads(data)


def test_parts_of_ones_own_on_the_command_line(run, own, tmp_path):
    rows = [{"sample_id": str(row), "response": text, "target": BOX} for row, text in enumerate(TEXTS)]
    source, out = write_rows(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    brief = {"verifier": f"{own.name}:brief", "weight": 0.5, "low": 0, "high": 1}
    parts = "parts=" + json.dumps({"hit": 0.5, "brief": brief})
    words = ("--recipe", "composite", "--response-space", "pixel", "--option", parts)
    assert run("score", source, *words, "--out", out).code == 0
    assert [(row["total"], row["brief"]) for row in read_rows(out)] == [(1.0, 1.0), (0.5, 0.0), (0.5, 1.0)]
    (found,) = result_of(run("eval", source, *words, "--json").out)
    assert (found["valid"], found["correct"]) == (3, 2)
    shown = run("recipes", "composite", "--response-space", "pixel", "--option", parts)
    assert shown.code == 0
    assert "own_terms_of_a_test.py:brief" in shown.out.replace("\n", "").replace(" ", "")


def test_a_recipe_of_ones_own_on_the_command_line(run, own, tmp_path):
    source, out = write_rows(tmp_path / "in.jsonl", {"response": TEXTS[1], "target": BOX}), tmp_path / "out.jsonl"
    for name in (f"{own}:build", f"{own.name}:build", "own_terms_of_a_test:build"):
        assert run("score", source, "--recipe", name, "--option", "words=5", "--out", out).code == 0
        assert read_rows(out)[0]["total"] == 1.0
        assert result_of(run("recipes", name, "--json").out)["options"]["words"] == 2
        assert result_of(run("eval", source, "--recipe", name, "--json").out)[0]["correct"] == 1
    assert "a function of Rollouts is no recipe" in run.error("score", source, "--recipe", f"{own}:brief", "--out", out)
    assert "has no 'biuld'; did you mean 'build'" in run.error("recipes", f"{own}:biuld")
