"""Code that a config names by ``module:attr`` or ``/path/file.py:attr``."""

import importlib.util
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import grounding_rewards as gr
from grounding_rewards.plugins.loading import absolute, load
from grounding_rewards.plugins.registry import frozen

OWN = """
from grounding_rewards import recipe
from grounding_rewards.recipes.published.gelato import gelato

READY = recipe("gelato", format_weight=0.25)
NUMBER = 5

def build(*, sharpness=1.0):
    return gelato(format_weight=0.5)

def wrong():
    return 5
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_a_file_runs_once(tmp_path):
    path = tmp_path / "counted.py"
    path.write_text(
        "import pathlib\nwith open(__file__ + '.log', 'a') as log:\n    log.write('x')\ndef fn(): return 7\n"
    )
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load, [f"{path}:fn"] * 50))
    assert len(set(found)) == 1
    assert (tmp_path / "counted.py.log").read_text() == "x"


def test_a_relative_path_is_one_from_the_working_directory(own, monkeypatch):
    monkeypatch.chdir(own.parent)
    assert load("own.py:build") is load(f"{own}:build") is load("./own.py:build")
    assert load("sub/../own.py:build") is load("own.py:build")
    assert absolute("own.py:build") == absolute("sub/../own.py:build") == f"{own}:build"


def test_two_files_of_one_name_are_two_modules(own, tmp_path):
    other = tmp_path / "other" / "own.py"
    other.parent.mkdir()
    other.write_text("NUMBER = 6")
    assert (load(f"{own}:NUMBER"), load(f"{other}:NUMBER")) == (5, 6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "no_such_module:x",
            r"'no_such_module:x' does not load \(ModuleNotFoundError: No module named 'no_such_module'\)",
        ),
        (
            "/no/such/file.py:x",
            r"'/no/such/file.py:x' does not load \(FileNotFoundError: there is no file /no/such/file",
        ),
        ("/no/such/file:x", r"there is no file /no/such/file"),
        ("math:sqr", r"'math:sqr': math has no 'sqr'; did you mean 'sqrt'\?"),
        ("math:zzzzz", r"'math:zzzzz': math has no 'zzzzz'$"),
        (":x", r"':x': expected module:attr or /path/file.py:attr"),
        ("math:", r"'math:': expected module:attr"),
        ("a..b:x", r"'a..b:x' does not load"),
        (".relative:x", r"'.relative:x' does not load"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_it(name, message):
    with pytest.raises(gr.RecipeError, match=message):
        load(name)


def test_a_file_that_fails_leaves_nothing_and_may_be_repaired(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("1 / 0")
    before = set(sys.modules)
    with pytest.raises(gr.RecipeError, match=r"does not load \(ZeroDivisionError: division by zero\)"):
        load(f"{path}:x")
    assert set(sys.modules) == before
    path.write_text("x = 1  # repaired")
    assert load(f"{path}:x") == 1


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("script.py", "raise SystemExit(0)", r"script.py:x' does not load \(SystemExit: 0\)"),
        ("notes.txt", "x = 1", r"expected a file that ends in \.py"),
    ],
)
def test_a_file_that_is_no_code_or_ends_the_process_is_an_error(tmp_path, file, text, message):
    (tmp_path / file).write_text(text)
    with pytest.raises(gr.RecipeError, match=message):
        load(f"{tmp_path}/{file}:x")


def test_a_file_that_has_changed_makes_nothing_new_and_what_was_made_stays(tmp_path):
    path = tmp_path / "brief.py"
    path.write_text("def brief(rollouts): return [0.25] * len(rollouts)")
    brief = {"verifier": f"{path}:brief", "weight": 1, "low": 0, "high": 1}
    recipe = gr.recipe("composite", response_space="pixel", parts={"brief": brief})
    path.touch()
    assert gr.recipe(recipe.to_dict()) == recipe
    path.write_text("def brief(rollouts): return [0.75] * len(rollouts)\nmore = brief\ndef build(): pass")
    changed = "brief.py has changed since this process ran it; restart the process"
    for part in (brief, {**brief, "verifier": f"{path}:more"}):
        with pytest.raises(gr.RecipeError, match=changed):
            gr.recipe("composite", response_space="pixel", parts={"brief": part})
    with pytest.raises(gr.RecipeError, match=changed):
        gr.recipe(f"{path}:build")
    again = pickle.loads(pickle.dumps(recipe))  # a worker of a run that goes on
    assert again.score("(1, 2)", {"bbox": [0, 0, 9, 9]}).total.tolist() == [0.25]
    path.unlink()
    with pytest.raises(gr.RecipeError, match=changed):
        gr.recipe("composite", response_space="pixel", parts={"brief": brief})


SCRIPT = """
import grounding_rewards as gr
print("runs as", __name__)
def brief(rollouts): return [0.25] * len(rollouts)
part = {"verifier": f"{__file__}:NAME", "weight": 1, "low": 0, "high": 1}
recipe = gr.recipe("composite", response_space="pixel", parts={"brief": part})
print(recipe.score("(1, 2)", {"bbox": [0, 0, 9, 9]}).total)
def below(rollouts): return [0.5] * len(rollouts)
"""


def test_a_script_that_names_a_function_of_its_own_does_not_run_again(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.replace("NAME", "brief"))
    ran = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("runs as __main__\n[0.25]\n", "")
    path.write_text(SCRIPT.replace("NAME", "below"))
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "runs as __main__\n"
    assert f"{path} has no 'below', as far as it has run: define that above the line that names it" in ran.stderr


def test_a_module_that_no_file_made_is_not_there():
    assert importlib.util.find_spec("grounding_rewards.plugins.loading.no_hex") is None


def test_a_recipe_of_a_file(own):
    name = f"{own}:build"
    built = gr.recipe(name, sharpness=2.0, answers="last")
    assert (built.name, built.answers) == (name, "last")
    assert built.to_dict() == {"name": name, "sharpness": 2.0, "answers": "last"}
    assert gr.recipe(built.to_dict()) == built
    assert pickle.loads(pickle.dumps(built)) == built
    assert built.score("(200, 150)", [0.1, 0.1, 0.3, 0.2]).total.tolist() == pytest.approx([1.0])
    with pytest.raises(gr.RecipeError, match="unknown option 'sharpnes'; did you mean 'sharpness'"):
        gr.recipe(name, sharpnes=2.0)


def test_a_recipe_that_is_built_already(own):
    built = gr.recipe(f"{own}:READY", thinking="closed")
    assert built.to_dict() == {"name": f"{own}:READY", "thinking": "closed"}
    assert gr.recipe(built.to_dict()) == built
    assert built.score("(900, 900)", [0.1, 0.1, 0.3, 0.2]).total.tolist() == [0.25]


def test_what_is_no_recipe_is_an_error(own):
    with pytest.raises(gr.RecipeError, match=r"own.py:NUMBER' is 5; expected a Recipe or a function that returns one"):
        gr.recipe(f"{own}:NUMBER")
    with pytest.raises(gr.RecipeError, match=r"own.py:wrong: its function returned int; expected a Recipe"):
        gr.recipe(f"{own}:wrong")


def test_options_become_plain_values_that_can_be_hashed():
    value = frozen({"a": [1, {"b": (2, "x")}], "space": gr.CoordSpace.UNIT, "none": None})
    assert value == {"a": (1, {"b": (2, "x")}), "space": "unit", "none": None}
    assert type(value["space"]) is str
    assert hash(value) == hash(frozen({"none": None, "space": "unit", "a": (1, {"b": [2, "x"]})}))
    assert repr(value) == "{'a': (1, {'b': (2, 'x')}), 'space': 'unit', 'none': None}"
    assert frozen(b"ab") == b"ab"
