"""Importing the package costs next to nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import grounding_rewards as gr

pytestmark = pytest.mark.slow

HEAVY = [
    "torch", "transformers", "trl", "verl", "ray", "pyarrow", "shapely", "typer", "rich", "pandas", "duckdb",
    "scipy",
    "matplotlib",
    "grounding_rewards_adapters", "grounding_rewards.cli",
]  # fmt: skip


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def loaded(code):
    return set(run(f"import sys\n{code}\nprint(*sys.modules)"))


@pytest.mark.parametrize(
    "code",
    [
        "from grounding_rewards import *",
        "import grounding_rewards as gr; gr.recipe('gelato'); gr.recipe('click', response_space='unit')",
        "import grounding_rewards as gr; gr.recipe('gta1').score('(1, 1)', [[1, 1, 2, 2], 1, 1])",
    ],
    ids=["import", "build", "score one"],
)
def test_nothing_heavy_is_imported(code):
    # Text functions and polygons are for batches and polygons; one score of a box needs neither.
    timed = f"import sys, time; start = time.perf_counter(); {code}\nprint(time.perf_counter() - start, *sys.modules)"
    seconds, *modules = run(timed)
    print(f"{code}: {float(seconds):.3f} s, numpy included")
    assert set(modules) & set(HEAVY) == set()
    assert "grounding_rewards.scoring" in modules


def test_public_names_are_there_before_they_are_imported():
    assert set(gr.__all__) <= set(dir(gr))
    assert [getattr(gr, name).__name__.rpartition(".")[2] for name in gr.__all__] == gr.__all__
    with pytest.raises(AttributeError, match=r"^module 'grounding_rewards' has no attribute 'recipies'$"):
        gr.recipies  # type: ignore[attr-defined]


def test_rooms_are_imported_when_they_are_asked_for():
    code = "import grounding_rewards as gr\nprint(gr.explain.explain.__name__, gr.recipes.__name__)"
    assert run(code) == ["explain", "grounding_rewards.recipes"]


def test_pluggy_is_imported_for_plugins_and_metadata_are_read_where_some_may_load(monkeypatch):
    monkeypatch.setenv("GROUNDING_REWARDS_PLUGINS", "")
    build = "import grounding_rewards as gr; gr.recipe('click', response_space='pixel')"
    assert loaded(build) & {"pluggy", "importlib.metadata"} == set()


def test_code_that_is_named_by_its_path_is_built_without_a_look_at_everything_else(tmp_path):
    own = "from dataclasses import dataclass\n@dataclass\nclass Own:\n    model: str\n    start = print"
    (tmp_path / "own.py").write_text(own)
    modules = loaded(
        f"from grounding_rewards.plugins.named import build; build('engines', '{tmp_path}/own.py:Own', {{'model': ''}})"
    )
    assert {
        name for name in modules if name.startswith(("grounding_rewards.recipes", "grounding_rewards.pool"))
    } == set()


def test_a_launch_without_a_settings_file_reads_none():
    call = "compute_score('web', '(5, 5)', '[0, 0, 9, 9]', None, recipe='click', response_space='pixel')"
    modules = loaded(f"from grounding_rewards_adapters.verl import compute_score; {call}")
    unneeded = {"settings", "checks.space_fit", "tables.columns", "tables.image_files"}
    assert modules & {f"grounding_rewards.{name}" for name in unneeded} == set()


def test_a_batch_imports_arrow_and_a_polygon_shapely():
    gelato = "import grounding_rewards as gr; gr.recipe('gelato').score"
    assert loaded(f"{gelato}(['(1, 1)'] * 200, [[0, 0, 1, 1]] * 200)") & set(HEAVY) >= {"pyarrow"}
    polygon = "{'polygon': [0, 0, 9, 0, 9, 9]}"
    click = "import grounding_rewards as gr; gr.recipe('click', response_space='pixel').score"
    assert "shapely" in loaded(f"{click}('(8, 4)', {polygon})")


def test_the_front_desk_imports_numpy_and_msgspec_alone():
    # How long an import takes depends on the machine; what it imports does not. benchmarks/imports.py has the ratio.
    others = "print(*{name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names))"
    before = set(run(f"import sys; {others}"))
    assert set(run(f"import sys, grounding_rewards.cli; {others}")) - before == {"grounding_rewards"}
    names = set(run(f"import sys\nfrom grounding_rewards import *\n{others}")) - before
    assert names - {"typing_extensions"} == {"grounding_rewards", "numpy", "msgspec"}  # msgspec takes it where it is
    assert not {"difflib", "hashlib", "inspect"} & (loaded("from grounding_rewards import *") - loaded("import numpy"))


def test_a_command_imports_its_own_rooms_alone(tmp_path):
    (tmp_path / "rollouts.jsonl").write_text('{"sample_id": "a", "acc": 1}\n{"sample_id": "a", "acc": 0}\n')
    words = ["pool", "next", str(tmp_path / "rollouts.jsonl"), "--out", str(tmp_path / "pool.parquet")]
    # pandas is not among those that must be absent: where it is installed, Arrow imports it with the first array.
    others = {"shapely", "scipy", "matplotlib", "rich.console", *(f"grounding_rewards.{room}" for room in OTHER_ROOMS)}
    command = f"from grounding_rewards.cli import main\nwith suppress(SystemExit): main({words})"
    modules = loaded(f"from contextlib import suppress\n{command}")
    assert {"grounding_rewards.cli.pool.next", "duckdb"} <= modules
    assert modules & others == set()


@pytest.mark.parametrize("verb", ["eval", "score"])
def test_scoring_a_json_file_imports_what_it_needs_alone(tmp_path, verb):
    rows = [{"response": f"({x}, 5)", "target": {"bbox": [1, 1, 9, 9], "image_size": [100, 100]}} for x in range(10)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    words = [verb, str(tmp_path / "rows.json"), "--response-space", "pixel"]
    words += ["--recipe", "click", "--out", str(tmp_path / "scored.jsonl")] if verb == "score" else []
    main = f"with suppress(SystemExit), redirect_stdout(open(os.devnull, 'w')): main({words})"
    modules = loaded(f"import os; from contextlib import *; from grounding_rewards.cli import main\n{main}")
    assert "grounding_rewards.batch.table_scorer" in modules
    assert (
        modules & {"pyarrow", "duckdb", "pydantic", "shapely", "scipy", "rich.markdown", "rich._emoji_codes"} == set()
    )
    others = {
        *OTHER_ROOMS, "pool", "engines", "recipes.composite", "recipes.published", "tables.arrow_rows",
        "tables.rollout_source", "tables.rollout_sql", "tables.trainer_logs.trl", "verifiers.distance",
        "verifiers.each_row", "verifiers.group", "verifiers.length", "verifiers.overlap", "verifiers.points",
        "batch.steps", "batch.consensus_answers", "checks.paired", "evaluators.figures", "groups.consensus",
    } - {f"cli.{verb}"}  # fmt: skip
    assert modules & {f"grounding_rewards.{name}" for name in others} == set()


@pytest.mark.parametrize("kind", ["rollouts", "data"])
def test_checks_of_files_import_no_pools(tmp_path, kind):
    rows = [{"response": f"({x}, 5)", "target": {"bbox": [1, 1, 9, 9], "image_size": [100, 100]}} for x in range(10)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    words = ["check", kind, str(tmp_path / "rows.json"), "--recipe", "click", "--response-space", "pixel"]
    main = f"with suppress(SystemExit), redirect_stdout(open(os.devnull, 'w')): main({words})"
    modules = loaded(f"import os; from contextlib import *; from grounding_rewards.cli import main\n{main}")
    assert "grounding_rewards.batch.checked" in modules
    unneeded = {"pyarrow", "duckdb", *(f"grounding_rewards.{room}" for room in ("pool", "testing", "explain"))}
    assert modules & unneeded == set()


@pytest.mark.parametrize("words", [["recipes", "gelato"], ["families"], ["plugins"], ["where", "trl"]], ids=" ".join)
def test_lists_import_no_pools(words):
    main = f"with suppress(SystemExit), redirect_stdout(open(os.devnull, 'w')): main({words})"
    modules = loaded(f"import os; from contextlib import *; from grounding_rewards.cli import main\n{main}")
    assert "grounding_rewards.cli.listing" in modules
    assert modules & {"pyarrow", "duckdb", "grounding_rewards.pool", "grounding_rewards.testing"} == set()


def test_a_process_of_its_own_collects_garbage_again_when_the_command_runs():
    main = "from grounding_rewards.cli import main; sys.argv[1:] = ['where', 'trl']"
    code = f"import gc, sys; from contextlib import *; {main}"
    assert run(f"{code}\nwith suppress(SystemExit): main()\nprint(gc.isenabled())")[-1] == "True"


@pytest.mark.parametrize("words", [["--help"], ["pool", "--help"], ["scroe"]], ids=" ".join)
def test_names_and_help_of_commands_need_none_of_their_rooms(words):
    main = f"with suppress(SystemExit), redirect_stdout(open(os.devnull, 'w')): main({words})"
    modules = loaded(f"import os; from contextlib import *; from grounding_rewards.cli import main\n{main}")
    rooms = {name.split(".")[1] for name in modules if name.startswith("grounding_rewards.")}
    assert rooms == {"cli", "errors", "_lazy", "_version"}
    assert not modules & {"numpy", "pyarrow", "duckdb"}


def test_the_help_of_commands_that_are_not_imported_is_theirs():
    import typer

    from grounding_rewards.cli.application import build

    def helps(words):
        top = typer.main.get_command(build(words)).commands
        inside = {f"pool {name}": command for name, command in getattr(top.get("pool"), "commands", {}).items()}
        return {name: command.get_short_help_str(200) for name, command in {**top, **inside}.items()}

    every = helps(None)
    assert helps([]) == {name: text for name, text in every.items() if " " not in name}
    assert helps(["pool"]) == {name: text for name, text in every.items() if name.split()[0] == "pool"}
    assert len(every) == 26


OTHER_ROOMS = [
    "converting", "explain", "--recipe", "testing", "rescoring", "cli.explain", "cli.score", "cli.pool.report",
]  # fmt: skip


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of a process of Linux")
@pytest.mark.parametrize("asked", ["", "2"])
def test_a_command_starts_no_threads_of_numpy_unless_it_is_asked_to(monkeypatch, asked):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if asked:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", asked)
    code = (
        "import os, sys\nfrom contextlib import suppress\nfrom grounding_rewards.cli import main\n"
        "sys.argv = ['grounding-rewards', 'eval', 'examples/clicks.jsonl', '--response-space', 'thousandths']\n"
        "with suppress(SystemExit): main()\nprint('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])\n"
        "print(len(os.listdir('/proc/self/task')))"
    )
    *_, imported, wanted, threads = run(code)
    assert (imported, wanted, threads if not asked else "1") == ("True", asked or "1", "1")
