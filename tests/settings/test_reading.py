"""Settings files: what is wrong is named with its line, and what is right scores as options do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.errors import RecipeError
from grounding_rewards_adapters import easyr1, trl, verl
from tests.cli.command import read_rows, result_of, write_rows

WRONG = {
    "[recipe]\nname = 'gelatto'": "line 2: [recipe] name: unknown recipe 'gelatto'; did you mean 'gelato'?",
    "[recipe]\nname = 3": "line 2: [recipe] name: got 3; expected the name of a recipe",
    "[recipe]\nname = 'os:abort/x'": "line 2: [recipe] name: 'os:abort/x'",
    "[recipe]\nname = 'own.py:mine'": "line 2: [recipe] name: 'FOLDER/own.py:mine' does not load",
    "[recipe]\nformat_weight = 0.1": "line 2: [recipe] format_weight: got format_weight without a recipe; add name",
    "[recipe]\nname = 'gelato'\nformat_wieght = 1": "line 3: [recipe] format_wieght: gelato: unknown option "
    "'format_wieght'; did you mean 'format_weight'?",
    "[recipe]\nname = 'gelato'\n\nformat_weight = 3": "line 4: [recipe] format_weight: option format_weight: got 3; "
    "expected a number from 0 to 1",
    "[recipe]\nname = 'click'\nanswers = 'best'": "line 3: [recipe] answers: click: option answers: got 'best'",
    "[recipe]\nname = 'click'\naxes = 'zx'": "line 3: [recipe] axes: ",
    "[recipe]\nname = 'click'\nresponse_space = 'milli'": "line 3: [recipe] response_space: got 'milli'",
    "[recipe]\nname = 'click'\nmodel = 'q'\n[answers]\nmodel = 'qwen3_vl'": "line 3: [recipe] model: [answers] has",
    "[recipe]\nname = 'composite'\n[recipe.parts.a]\nverifier = 'hitt'\nweight = 1": "line 2: [recipe] name: "
    "composite: part 'a': unknown verifier 'hitt'; did you mean 'hit'?",
    "[recipes]\nname = 'gelato'": "line 1: [recipes]: unknown table; did you mean 'recipe'?",
    "recipe = 'gelato'": "line 1: [recipe]: got 'gelato'; expected a table of settings",
    "family = 'gta1'": "line 1: [family]: unknown table; it belongs to [answers]",
    "name = 'gelato'": "line 1: [name]: unknown table; it belongs to [recipe]",
    "[recipe]\nname = 'click'\nname = 'click'": "cannot be read as TOML (Cannot overwrite a value (at",
    "[recipe\nname = 'click'": "cannot be read as TOML (Expected ']'",
    "[answers]\nresponse_spce = 'unit'": "line 2: [answers] response_spce: unknown setting; did you mean",
    "[answers]\nresponse_space = 'units'": "line 2: [answers] response_space: got 'units'; did you mean 'unit'?",
    "[answers]\nresponse_space = 3": "line 2: [answers] response_space: got 3; expected a text",
    "[answers]\nfamily = 'gta'": "line 2: [answers] family: family: got 'gta'; did you mean 'gta1'?",
    "[answers]\nmodel = 'qwen2_5vl'": "line 2: [answers] model: click: option model: got 'qwen2_5vl'; did you mean",
    "[answers]\npipeline = 'qwen2_5_vl'": "line 2: [answers] pipeline: unknown setting; did you mean 'model'?",
    "[answers]\nmax_pixels = 'many'": "line 2: [answers] max_pixels: got 'many'; expected a whole number from 1",
    "[answers]\nmax_pixels = 0": "line 2: [answers] max_pixels: got 0; expected a whole number from 1",
    "[answers]\nmin_pixels = 9": "line 2: [answers] min_pixels: click: min_pixels=9 says how images are resized",
    "# box_format = 1\n[answers]\nbox_format = 'xywh'": "line 3: [answers] box_format: unknown setting; it belongs to "
    "[data]",
    "[data]\nbox_format = 'xywz'": "line 2: [data] box_format: got 'xywz'; did you mean 'xywh'?",
    "[data]\nbad_target = 'skip'": "line 2: [data] bad_target: got 'skip'. There are: raise, abstain",
    "[data]\ntarget_space = 'pixels'": "line 2: [data] target_space: got 'pixels'; did you mean 'pixel'?",
    "[data]\ntarget_colum = 'bbox'": "line 2: [data] target_colum: unknown setting; did you mean 'target_column'?",
    "[data]\ntarget_column = 4": "line 2: [data] target_column: got 4; expected a text",
    "[data]\npredictions = 3": "line 2: [data] predictions: got 3; expected a text",
    "[data]\nsplit = ''": "line 2: [data] split: got ''; expected a text",
    "[images]\nroot = 'shots'": "line 2: [images] root: unknown setting. [images] has: image_root, max_image_bytes",
    "[images]\nimage_root = true": "line 2: [images] image_root: got True; expected a text",
    "[images]\nmax_image_bytes = -1": "line 2: [images] max_image_bytes: got -1; expected a whole number from 1",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_wrong_is_named_with_its_line_and_what_was_meant(tmp_path, run, text, message):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(RecipeError) as caught:
        gr.read_settings(file)
    expected = f"{file}{',' if message.startswith('line') else ':'} {message.replace('FOLDER', str(tmp_path))}"
    assert str(caught.value).startswith(expected)
    assert run.error("eval", "rows.jsonl", "--settings", file) == str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.yaml", "recipe:\n  name: gelato\n  format_weight: lots", ", line 3: [recipe] format_weight: option"),
        ("s.yml", "recipe: [", ": cannot be read as YML (while parsing"),
        ("s.json", '{"recipe": {"name": "gelato",\n "x": 1}}', ", line 2: [recipe] x: gelato: unknown option 'x'"),
        (
            "s.json",
            '{"recipe": {"name": "click", "name": "gelato"}}',
            ": cannot be read as JSON (the key 'name' comes twice",
        ),
        ("s.json", "[1]", ": got list; expected the tables [recipe], [answers], [data], [images]"),
        ("s.txt", "", ": got a file that ends in .txt; expected .toml, .yaml or .json"),
        ("s.d/x", "", ": no _rollout.manifest.json or _score.manifest.json in it; name a settings file"),
    ],
)
def test_other_formats(tmp_path, name, text, message):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file = file.parent if name == "s.d/x" else file
    with pytest.raises(RecipeError) as caught:
        gr.read_settings(file)
    assert str(caught.value).startswith(f"{file}{message}")
    with pytest.raises(RecipeError, match=r"none.toml: cannot be read \(No such file"):
        gr.read_settings(tmp_path / "none.toml")


def test_later_files_go_before_and_another_recipe_brings_its_own_options(tmp_path):
    first, second, third = (tmp_path / f"{name}.toml" for name in "abc")
    first.write_text("recipe = {name = 'gelato', format_weight = 0.5}\n[data]\nsplit = 'a'\ntarget_column = 'box'\n")
    second.write_text("[data]\nsplit = 'b'\n")
    third.write_text("[recipe]\nname = 'click'\nresponse_space = 'unit'\n[images]\nimage_root = 'shots'\n")
    read = gr.read_settings(first, second)
    assert (read.recipe, read.data) == (
        {"name": "gelato", "format_weight": 0.5}, {"split": "b", "target_column": "box"}
    )  # fmt: skip
    read = gr.read_settings(first, third)
    assert (read.recipe, read.answers) == ({"name": "click"}, {"response_space": "unit"})
    assert read.images == {"image_root": str(tmp_path / "shots")}
    assert read.build().to_dict() == {"name": "click", "response_space": "unit"}
    assert gr.read_settings(first).build(format_weight=0.75).to_dict() == {"name": "gelato", "format_weight": 0.75}
    with pytest.raises(RecipeError, match=r'no recipe is named; add name = "click" to \[recipe\]'):
        gr.read_settings(second).build()


BOX = {"bbox": [0.1, 0.1, 0.3, 0.2]}
ROWS = [
    {"answer": "(200, 150)", "box": {**BOX, "space": "unit"}, "size": [1000, 1000]},
    {"answer": "(0.2, 0.15)", "box": {**BOX, "space": "unit"}, "size": [1000, 1000]},
    {"answer": "(150, 200)", "box": {**BOX, "space": "unit"}, "size": [1000, 1000]},
    {"answer": "no", "box": {**BOX, "space": "unit"}, "size": [1000, 1000]},
]
COLUMNS = {"response_column": "answer", "target_column": "box", "image_size_column": "size"}
SETTINGS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a recipe": ({"recipe": {"name": "gelato"}}, ["--recipe", "gelato"]),
    "an option": (
        {"recipe": {"name": "gelato", "format_weight": 0.5}}, ["--recipe", "gelato", "--option", "format_weight=0.5"],
    ),
    "a space": (
        {"recipe": {"name": "click"}, "answers": {"response_space": "unit"}},
        ["--recipe", "click", "--response-space", "unit"],
    ),
    "a space beside the recipe": (
        {"recipe": {"name": "click", "response_space": "thousandths"}},
        ["--recipe", "click", "--response-space", "thousandths"],
    ),
    "axes": (
        {"recipe": {"name": "click", "axes": "yx"}, "answers": {"response_space": "thousandths"}},
        ["--recipe", "click", "--option", "axes=yx", "--response-space", "thousandths"],
    ),
    "a family": (
        {"recipe": {"name": "click"}, "answers": {"family": "gta1"}}, ["--recipe", "click", "--family", "gta1"],
    ),
    "a model": (
        {"recipe": {"name": "click"}, "answers": {"model": "qwen2_5_vl", "max_pixels": 200704}},
        ["--recipe", "click", "--pipeline", "qwen2_5_vl", "--max-pixels", "200704"],
    ),
    "a model of thousandths": (
        {"recipe": {"name": "click"}, "answers": {"model": "qwen3_vl"}},
        ["--recipe", "click", "--pipeline", "qwen3_vl"],
    ),
    "a space of targets": (
        {"recipe": {"name": "gta1"}, "answers": {"model": "qwen2_5_vl"}, "data": {"target_space": "unit"}},
        ["--recipe", "gta1", "--pipeline", "qwen2_5_vl", "--target-space", "unit"],
    ),
    "a format of boxes": (
        {"recipe": {"name": "gelato"}, "data": {"box_format": "yxyx"}}, ["--recipe", "gelato", "--box-format", "yxyx"],
    ),
    "targets that cannot be used": (
        {"recipe": {"name": "gelato"}, "data": {"bad_target": "abstain", "image_size_column": "none"}},
        ["--recipe", "gelato", "--bad-target", "abstain", "--image-size-column", "none"],
    ),
    "parts": (
        {"recipe": {"name": "composite", "response_space": "thousandths",
                    "parts": {"a": {"verifier": "hit", "weight": 1}}}},
        ["--recipe", "composite", "--response-space", "thousandths", "--option",
         'parts={"a": {"verifier": "hit", "weight": 1}}'],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "words"), SETTINGS.values(), ids=SETTINGS)
def test_the_same_scores_by_options_by_a_file_in_python_and_in_trainers(run, tmp_path, settings, words):
    rows = write_rows(tmp_path / "rows.jsonl", *ROWS)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({**settings, "data": {**COLUMNS, **settings.get("data", {})}}))
    columns = [word for name, value in COLUMNS.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert run("score", rows, *columns, *words, "--out", tmp_path / "a.jsonl").code == 0
    assert run("score", rows, "--settings", file, "--out", tmp_path / "b.jsonl").code == 0
    scored = read_rows(tmp_path / "a.jsonl")
    assert scored == read_rows(tmp_path / "b.jsonl")
    expected = [row["total"] for row in scored]
    (entry,) = result_of(run("eval", rows, "--settings", file, "--json").out)
    evaluated = gr.evaluate(rows, settings=file)
    assert (evaluated.recipe.to_dict(), evaluated.columns) == (entry["recipe"], entry["columns"])
    for name in ("correct", "valid", "reasons"):
        assert getattr(evaluated, name) == entry[name]
    form = settings.get("data", {}).get("box_format")
    targets = gr.Targets.from_list([row["box"] for row in ROWS], box_format=form)
    built = gr.read_settings(file).build()
    answers = [row["answer"] for row in ROWS]
    assert built.score(answers, targets, image_sizes=[row["size"] for row in ROWS]).total.tolist() == expected
    if form is None:  # trainers get rows of `convert`, with boxes as xyxy
        (reward,) = trl.reward_funcs(settings=str(file))
        sized = [{**row["box"], "image_size": row["size"]} for row in ROWS]
        given = [json.dumps(each) for each in sized]
        of_verl = [
            verl.compute_score("x", answer, target, settings=str(file))["score"]
            for answer, target in zip(answers, given, strict=True)
        ]
        batch = [
            {"response": answer, "response_length": 9, "ground_truth": target}
            for answer, target in zip(answers, given, strict=True)
        ]
        of_easyr1 = [row["overall"] for row in easyr1.compute_score(batch, settings=str(file))]
        assert reward(completions=answers, target=given) == expected
        if "model" not in settings.get("answers", {}):  # whose images these trainers resize in ways of their own
            assert of_verl == of_easyr1 == expected


def test_options_go_before_files_and_files_before_defaults(run, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", *ROWS)
    file, other = tmp_path / "a.toml", tmp_path / "b.yaml"
    file.write_text(
        '[recipe]\nname = "gelato"\nformat_weight = 0.5\n[data]\nresponse_column = "answer"\n'
        'target_column = "box"\nimage_size_column = "size"\n'
    )
    other.write_text("recipe: {name: gelato, format_weight: 0.25}\n")
    words = ("score", rows, "--out", tmp_path / "o.jsonl", "--json", "--settings", file)

    def recipe(*more: Any) -> dict[str, Any]:
        return result_of(run(*words, *more).out)["recipe"]

    assert recipe() == {"name": "gelato", "format_weight": 0.5}
    assert recipe("--settings", other) == {"name": "gelato", "format_weight": 0.25}
    assert recipe("--option", "format_weight=0.75") == {"name": "gelato", "format_weight": 0.75}
    click = ("--recipe", "click", "--response-space", "thousandths")
    assert recipe(*click) == {"name": "click", "response_space": "thousandths"}


def test_evaluate_takes_all_tables_and_arguments_go_before(tmp_path):
    rows, file = write_rows(tmp_path / "rows.jsonl", *ROWS), tmp_path / "a.toml"
    answers = write_rows(tmp_path / "answers.jsonl", *({"key": n, "answer": "(200, 150)"} for n in range(4)))
    annotated = write_rows(tmp_path / "all.jsonl", *({**row, "key": n} for n, row in enumerate(ROWS)))
    file.write_text(
        '[recipe]\nname = "gelato"\nformat_weight = 0.5\n[data]\nresponse_column = "answer"\ntarget_column = "box"\n'
        'bad_target = "abstain"\npredictions = ["answers.jsonl"]\nid = "key"\n[images]\nmax_image_bytes = 9\n'
    )
    joined = gr.evaluate(annotated, settings=file)
    assert (joined.recipe.to_dict(), joined.correct, joined.valid) == ({"name": "gelato", "format_weight": 0.5}, 4, 4)
    other = gr.evaluate(annotated, "click", settings=[file], response_space="unit", predictions=answers)
    assert (other.recipe.to_dict(), other.correct) == ({"name": "click", "response_space": "unit"}, 0)
    assert gr.evaluate(annotated, gr.recipe("gelato"), settings=file).recipe.to_dict() == {"name": "gelato"}
    with pytest.raises(RecipeError, match="settings: got 3; expected the path of a settings file, or a list of them"):
        gr.evaluate(rows, settings=3)
    file.write_text('[data]\nresponse_column = "no"\n')
    columns = {"response": "answer", "target": "box", "image_size": "size"}
    assert gr.evaluate(rows, response_space="thousandths", settings=file, columns=columns).correct == 2


def test_the_recipe_of_a_table_that_we_wrote(run, tmp_path):
    rows = write_rows(tmp_path / "rows.jsonl", {"response": "(200, 150)", "target": BOX})
    assert (
        run("pool", "score", rows, "--recipe", "gelato", "--option", "format_weight=0.5", "--out", tmp_path / "t").code
        == 0
    )
    assert gr.read_settings(tmp_path / "t").build().to_dict() == {"name": "gelato", "format_weight": 0.5}
    manifest = tmp_path / "t" / "_score.manifest.json"
    content = json.loads(manifest.read_text())
    (tmp_path / "own.py").write_text("raise SystemExit('ran')\n")
    for recipe in (
        {"name": f"{tmp_path}/own.py:x"},
        {"name": "composite", "parts": {"a": {"verifier": f"{tmp_path}/own.py:x", "weight": 1}}},
    ):
        manifest.write_text(json.dumps({**content, "recipe": recipe}))
        with pytest.raises(RecipeError, match="names code, which is not loaded from data; name it by --recipe"):
            gr.read_settings(tmp_path / "t")


def test_trainers_take_several_files_and_say_what_is_wrong(tmp_path: Path):
    file = tmp_path / "a.toml"
    file.write_text("[recipe]\nname = 'gelato'\n[data]\nbad_target = 'raise'\n")
    (reward,) = trl.reward_funcs(settings=[str(file)], format_weight=0.5)
    with pytest.raises(gr.TargetError):
        reward(completions=["(1, 2)"], target=["?"])
    (reward,) = trl.reward_funcs("click", settings=str(file), response_space="unit")
    assert reward.__name__ == "click"
    with pytest.raises(RecipeError, match="settings: got 3; expected the path of a settings file, or a list of them"):
        verl.compute_score("x", "(1, 2)", [0, 0, 1, 1], settings=3)
    file.write_text("[recipe]\nname = 'gelatto'\n")
    with pytest.raises(RecipeError, match=r"a.toml, line 2: \[recipe\] name: unknown recipe 'gelatto'"):
        easyr1.compute_score([], settings=str(file))
