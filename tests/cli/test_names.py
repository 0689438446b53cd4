"""Names of files as systems have them: each works, or is one clear error that leaves nothing behind."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as image

from grounding_rewards.cli import main
from grounding_rewards.cli.terminal import printable
from tests.cli.command import HIT, MISS, Result, Runner, read_rows, result_of, write_rows
from tests.cli.every_command import commands
from tests.cli.pool.test_curriculum import EXAMPLE
from tests.cli.pool.test_curriculum import rollouts as write_rollouts
from tests.cli.test_convert import ROW

pytestmark = pytest.mark.slow

CODE = (
    "from grounding_rewards import recipe\n"
    "RECIPE = recipe('gelato')\n"
    "def brief(rollouts): return [0.5] * len(rollouts)\n"
    "def keep(stats): return [True] * len(stats)\n"
    "CLICK = recipe('click', response_space='pixel')\n"
    "class Engine:\n"
    "    def __init__(self, model): self.model, self.at_once, self.resizing = model, 1, None\n"
    "    def start(self):\n"
    "        from contextlib import nullcontext\n"
    "        return nullcontext(self)\n"
    "    def __call__(self, requests):\n"
    "        from grounding_rewards.engines import Answer, Reply\n"
    "        return [Reply(tuple(Answer('(200, 150)') for _ in each.seeds)) for each in requests]\n"
)


KINDS = {
    "not UTF-8, with a dash, colons and backslashes": os.fsdecode(b"./-a\xff:b@1=c\\d\\"),
    "what shells, terminals and globs read": "./-a\nb\r\x1b[31m'\"`$d$[red]%s%20  \t*b?[1]{c}",
}
NOWHERE = ["circle/no", "rows.jsonl/no", "a" * 300, os.fsdecode(b"no\xff\nb")]
"""Places below a loop, below a file, too long, and a name that is not there; each case gets one of them."""
SAMPLES = [f"s{number:02d}" for number in range(24)]


class Case(NamedTuple):
    """A command with a place where the name of a file stands, and what is copied there; None where it is an output."""

    words: list[str]
    like: str | None
    suffix: str


def read_cases() -> dict[tuple[str, str], list[Case]]:
    """Read the cases by command and parameter: of several inputs on a line, the first alone keeps ``--json``."""
    cases: dict[tuple[str, str], list[Case]] = {}
    for line in (Path(__file__).with_name("places.txt")).read_text().splitlines():
        name, inputs, words = line.split(" | ")
        command, _, parameter = name.partition(", ")
        for place, like in enumerate(shlex.split(inputs.replace(">", "'>'"))):
            kept = [word for word in shlex.split(words) if word != "--json" or not place]
            suffix = like[1:] if like[0] == ">" else os.path.splitext(like)[1]
            cases.setdefault((command, parameter), []).append(Case(kept, None if like[0] == ">" else like, suffix))
    return cases


CASES = read_cases()
NO_PLACES = {
    "response_space", "target_space", "bad_target", "prefix", "by", "response", "target", "image_size", "group",
    "model_image_size", "trainer", "source", "split", "template", "system", "title", "band", "exclude_sources",
    "rule", "model", "id", "method", "item_response", "benchmark_name", "engine_option", "pipeline", "policy", "shard",
    "temperatures", "weights", "temperature", "encoding", "family", "name",
    "ray", "explode", "against_split", "zoom",
}  # fmt: skip
"""Options of text that name no file; nor do those whose names end in ``_column``."""

EVERY = [
    pytest.param(case, id=f"{command}-{name}-{place}")
    for (command, name), cases in CASES.items()
    for place, case in enumerate(cases)
]


def options_of(found: Any) -> Any:
    """Return the function whose annotations are a command's options: the innermost with a signature of its own."""
    return inspect.unwrap(found.callback, stop=lambda each: "__signature__" in vars(each))


def test_every_option_that_may_name_a_file_has_a_case():
    known = {
        (command, name)
        for command, found in commands().items()
        for name, kind in get_type_hints(options_of(found)).items()
        if re.search(r"\b(str|Path)\b", str(kind)) or kind is str or kind is Path
    }
    plain = {(command, name) for command, name in known if name in NO_PLACES or name.endswith("_column")} - {*CASES}
    one_reader = {(command, name) for command, _ in known for name in ("option", "settings", "layout")}
    one_reader -= {("score", "option"), ("eval", "settings"), ("convert", "layout")}
    assert set(CASES) == known - plain - one_reader


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A file or a folder of each kind that commands read."""
    folder = tmp_path_factory.mktemp("files")
    rows = [{**each, "image_size": [640, 480]} for each in (HIT, MISS)]
    rollouts = read_rows(write_rollouts(folder / "rollouts.jsonl"))
    samples = [{**ROW, "id": each} for each in SAMPLES]
    for name, held in {"rows": rows, "rollouts": rollouts, "samples": samples, "data": [ROW]}.items():
        write_rows(folder / f"{name}.jsonl", *held)
        pq.write_table(pa.Table.from_pylist(held), folder / f"{name}.parquet")
        (folder / f"folder of {name}").mkdir()
        write_rows(folder / f"folder of {name}" / "train-0.jsonl", *held)
    write_rows(folder / "pictured.jsonl", *({**ROW, "id": each, "image": "shot.png"} for each in SAMPLES))
    unsized = {"sample_id": "a", "response": "(200, 150)", "target": {"bbox": [64, 48, 192, 96]}, "image": "shot.png"}
    write_rows(folder / "unsized.jsonl", unsized)
    (folder / "shots").mkdir()
    for place in ("shot.png", "shots/shot.png"):
        image.new("RGB", (640, 480)).save(folder / place)
    truth = '{"bbox": [0.1, 0.1, 0.3, 0.2]}'
    asked = {"data_source": "web", "reward_model": {"ground_truth": truth}}
    write_rows(folder / "verl.jsonl", {"prompt": "Open", **asked})
    (folder / "launch.yaml").write_text("data: {answer_key: answer}")
    (folder / "own.py").write_text(CODE)
    (folder / "kinds.json").write_text(json.dumps({"classified": {"text_matching": [{"id": HIT["sample_id"]}]}}))
    (folder / "settings.toml").write_text("[recipe]\nname = 'gelato'\n")
    (folder / "settings.json").write_text('{"recipe": {"name": "gelato"}}')
    write_rows(folder / "detected.jsonl", {"image": "shot.png", "bbox": [1, 2, 3, 4], "space": "pixel"})
    mixture = {"datasets": [{"path": str(folder / "pictured.jsonl"), "space": "pixel"}]}
    (folder / "mix.json").write_text(json.dumps(mixture))
    layout = ("has", "bbox"), ("image", "image"), ("instruction", "instruction"), ("place", "bbox"), ("space", "pixel")
    lines = (f"{name} = {json.dumps(value)}" for name, value in layout)
    (folder / "layout.toml").write_text("\n".join(("[own]", *lines)))
    (folder / "prompt.jinja").write_text("Click: {{ instruction }}")
    write_rows(folder / "allocated.jsonl", {"sample_id": ROW["id"], "n": 2})
    write_rows(folder / "never.jsonl", *({**row, "acc": 0} for row in rollouts))
    shutil.copy(EXAMPLE, folder / "stages.json")
    _saved(folder / "saved", pa.Table.from_pylist([ROW]))
    (folder / "dumps").mkdir()
    write_rows(folder / "dumps" / "1.jsonl", *(
        {"input": "x", "output": "(200, 150)", "gts": HIT["target"], "score": 1.0, "acc": 1, "step": 1, "uid": each}
        for each in "abcd"
    ))  # fmt: skip
    (folder / "completions").mkdir()
    logged = [{"step": 1, "prompt": each, "completion": "(1, 2)", "acc": 1.0, "advantage": 0.5} for each in "abcd"]
    pq.write_table(pa.Table.from_pylist(logged), folder / "completions" / "completions_00001.parquet")
    here = os.getcwd()
    os.chdir(folder)
    try:
        for words in (("stats", "rollouts.jsonl", "--out", "stats.parquet"),
                      ("next", "rollouts.jsonl", "--out", "drawn.jsonl")):  # fmt: skip
            with pytest.raises(SystemExit, match="0"):
                main(["pool", *words])
    finally:
        os.chdir(here)
    return folder


def _saved(folder: Path, table: pa.Table) -> None:
    folder.mkdir()
    with pa.OSFile(str(folder / "data-0.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-0.arrow"}]}))


@pytest.fixture
def work(files, tmp_path, monkeypatch) -> Path:
    """A copy of these files, in which commands run."""
    folder = tmp_path / "work"
    shutil.copytree(files, folder, symlinks=True)
    monkeypatch.chdir(folder)
    os.symlink("circle", "circle")
    return folder


def listed() -> set[str]:
    """Every file and folder below this one."""
    return {os.path.join(folder, name) for folder, *names in os.walk(".") for name in [*names[0], *names[1]]}


def check(run: Runner, case: Case, words: list[str]) -> Result:
    """Run a command; it works, or ends with one error and leaves nothing behind."""
    before = listed()
    result = run(*words)
    assert result.code in ((0, 1, 2) if words[0] == "check" else (0, 2))  # whose findings may be errors
    lines = result.err.splitlines()
    assert "Traceback" not in result.err
    assert all(character.isprintable() or character == "\n" for character in result.err)
    assert [line.startswith("error: ") for line in lines].count(True) == (result.code == 2), result.err
    if result.code == 2:
        assert (result.out, lines[-1][:7], {each for each in listed() - before if "__pycache__" not in each}) == (
            "",
            "error: ",
            set(),
        ), result
    elif "--json" in case.words:
        result_of(result.out)
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", EVERY)
def test_whatever_the_name(run, work, case, kind):
    place = KINDS[kind] + case.suffix
    words = [word.replace("PLACE", json.dumps(place)[1:-1] if "{" in word else place) for word in case.words]
    if case.like is not None:
        copy = shutil.copytree if (work / case.like).is_dir() else shutil.copy
        copy(case.like, place)
    result = check(run, case, words)
    written = [CASES["convert", "image_root"], CASES["init", "image_root"], CASES["init", "predictions"]]  # as text
    assert result.code == 2 * (kind.startswith("not UTF-8") and any(case in each for each in written)), result


@pytest.mark.parametrize("case", EVERY)
def test_whatever_is_not_there(run, work, case):
    name = NOWHERE[len(" ".join(case.words)) % len(NOWHERE)]
    place = name + case.suffix
    words = [word.replace("PLACE", json.dumps(place)[1:-1] if "{" in word else place) for word in case.words]
    result = check(run, case, words)
    if case.like is not None:
        assert result.code in ((1, 2) if words[0] == "check" else (2,)), result
        assert printable(name)[:100] in result.err


def in_child(folder: Path, *words: bytes | str) -> subprocess.CompletedProcess[bytes]:
    """A command with arguments as the system hands them over."""
    return subprocess.run([sys.executable, "-m", "grounding_rewards", *words], cwd=folder, capture_output=True)


def test_bytes_as_the_system_hands_them_over(work):
    shutil.copy("rollouts.parquet", b"a\xff.parquet")
    done = in_child(work, "pool", "next", b"a\xff.parquet", "--out", b"b\xff.jsonl", "--zero-share", "0")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(rb"16 of 24 samples written to b\udcff.jsonl" + b"\n")
    manifest = Path(os.fsdecode(b"b\xff.jsonl.manifest.json")).read_bytes()
    assert rb'"path": "a\udcff.parquet"' in manifest
    assert json.loads(manifest)["outputs"][0]["path"] == os.fsdecode(b"b\xff.jsonl")
    done = in_child(work, "pool", "stats", b"no\xff\n.parquet")
    assert (done.returncode, done.stderr) == (2, rb"error: no\udcff\n.parquet: no such file" + b"\n")


def test_manifests_of_stages_and_scores_are_json(work, run):
    place = os.fsdecode(b"a\xff")
    shutil.copy("rollouts.jsonl", f"{place}.jsonl")
    shutil.copy("own.py", f"{place}.py")
    assert run("pool", "curriculum", f"{place}.jsonl", "--stages", "stages.json", "--out", place).code == 0
    held = Path(place, "curriculum.manifest.json").read_bytes()
    assert held.decode()
    assert json.loads(held)["inputs"][0]["path"] == f"{place}.jsonl"
    assert run("pool", "score", "rows.jsonl", "--recipe", f"{place}.py:RECIPE", "--out", "scored").code == 0
    held = Path("scored", "_score.manifest.json").read_bytes()
    assert held.decode()
    assert json.loads(held)["code"][0]["path"] == str(work / f"{place}.py")
    assert pq.read_table("scored")["recipe"][0].as_py() == f"{work}/a\ufffd.py:RECIPE"


def test_the_source_of_rows_is_text(work, run):
    shutil.copy("data.jsonl", os.fsdecode(b"a\xff.jsonl"))
    result = run(
        "convert", os.fsdecode(b"a\xff.jsonl"), "--out", "out.parquet", "--for", "verl", "--target-space", "pixel"
    )
    assert "note: source: a\\udcff, by the name of the input; --source names another" in result.err.splitlines()
    assert pq.read_table("out.parquet")["data_source"].to_pylist() == ["a\\udcff"]


def test_an_output_directory_that_is_a_circle(work, run):
    os.symlink("loop", "loop")
    for command in ("pool score", "pool curriculum", "pool report"):
        assert run.error(*(word.replace("PLACE", "loop") for word in CASES[command, "out"][0].words)) in {
            f"{place}: symbolic links lead round in a circle; name the file itself" for place in ("loop", work / "loop")
        }
