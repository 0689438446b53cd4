"""The lines for 8 GPUs on docs/rounds.md: a shell reads them, ours run on made-up data, and verl checks its own."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.cli import main
from grounding_rewards.cli.options import read_options
from grounding_rewards.engines import Answer, Reply, engine

pytest.importorskip("PIL")
from PIL import Image

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("rounds_page"),
    pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed"),
    pytest.mark.timeout(240),
]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rounds.md").read_text("utf-8").partition("## On 8 GPUs")[2]
LINES = "".join(re.findall(r"^```text\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
STEP = 194
SEPARATOR = "\x1f"

STAND_IN = """#!/bin/sh
(IFS=$(printf '\\037'); printf '%s\\n' "NAME$IFS$*" >> "CALLS")
"""
JQ = """#!{python}
import json, sys
assert sys.argv[1:3] == ["-c", ".[]"]
for file in sys.argv[3:]:
    for row in json.load(open(file)):
        print(json.dumps(row))
"""


@dataclass(frozen=True)
class Around:
    """Engine whose responses are around the middle of a screen, in thousandths."""

    model: str
    resizing = None
    at_once = 1

    @contextmanager
    def start(self) -> Iterator[Any]:
        yield self

    def __call__(self, requests: Any) -> list[Reply]:
        assert all("whole numbers, and nothing else." in each.messages[-1].text for each in requests)
        return [Reply(tuple(self.answer(seed) for seed in each.seeds)) for each in requests]

    @staticmethod
    def answer(seed: int) -> Answer:
        return Answer(f"({430 + seed % 200}, {400 + seed // 7 % 200})")


def write_data(folder: Path) -> None:
    """Files of the names on the page."""
    screen = folder / "screen.png"
    Image.new("RGB", (640, 480), "white").save(screen)
    for name in ("ScreenSpot-Pro", "OSWorld-G"):
        (folder / name / "images").mkdir(parents=True)
        shutil.copy(screen, folder / name / "images")
    boxes = [[280, 200, 300 + 9 * row, 260] for row in range(12)]
    for name in ("clicks", "clicks_val"):
        rows = [
            {"id": f"{name}-{row}", "instruction": f"open {row}", "image": screen.read_bytes(), "bbox": box}
            for row, box in enumerate(boxes)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    (folder / "ScreenSpot-Pro" / "annotations").mkdir()
    for app in ("a", "b"):
        known = {
            "img_filename": "screen.png", "img_size": [640, 480], "application": app, "platform": "linux",
            "group": "Dev",
        }  # fmt: skip
        rows = [
            {
                **known, "id": f"{app}_{row}", "bbox": box, "instruction": f"open {row}",
                "ui_type": ("text", "icon")[row % 2],
            }
            for row, box in enumerate(boxes)
        ]  # fmt: skip
        (folder / "ScreenSpot-Pro" / "annotations" / f"{app}_linux.json").write_text(json.dumps(rows))
    known = {"image_path": "screen.png", "image_size": [640, 480], "box_type": "bbox", "GUI_types": ["Icon"]}
    rows = [
        {**known, "id": f"o{row}", "instruction": f"open {row}", "box_coordinates": [280, 200, box[2] - 280, 60]}
        for row, box in enumerate(boxes)
    ]
    (folder / "OSWorld-G" / "OSWorld-G.json").write_text(json.dumps(rows))
    categories = {"classified": {"icon": [{"id": row["id"]} for row in rows]}}
    (folder / "OSWorld-G" / "classification_result.json").write_text(json.dumps(categories))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, in which a shell has read all lines."""
    folder = tmp_path_factory.mktemp("lab")
    programs = folder / "programs"
    programs.mkdir()
    for name in ("grounding-rewards", "python", "vllm", "curl", "sleep", "kill"):
        stand_in = programs / name
        stand_in.write_text(STAND_IN.replace("NAME", name).replace("CALLS", str(folder / "calls")))
        stand_in.chmod(0o755)
    (programs / "jq").write_text(JQ.format(python=sys.executable))
    (programs / "jq").chmod(0o755)
    write_data(folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    for number in (1, 2):
        step = folder / "out" / f"round-{number}" / "verl" / "latest_checkpointed_iteration.txt"
        step.parent.mkdir(parents=True)
        step.write_text(str(STEP))
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "PYTHON": str(programs / "python"), "PWD": str(folder)}
    run = subprocess.run(
        ["bash", "-euc", f"enable -n kill\n{LINES}"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    return folder


def calls(lab: Path, program: str) -> list[list[str]]:
    """Words of all calls of a program, in their order."""
    words = [line.split(SEPARATOR) for line in (lab / "calls").read_text("utf-8").splitlines()]
    return [each[1:] for each in words if each[0] == program]


def cut(words: list[str], flag: str) -> tuple[list[str], list[str]]:
    """Words without a flag and its values, and the values."""
    places = [place for place, word in enumerate(words) if word == flag]
    gone = {place + more for place in places for more in (0, 1)}
    return [word for place, word in enumerate(words) if place not in gone], [words[place + 1] for place in places]


def test_each_command_runs(lab: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(lab)
    monkeypatch.setenv("COLUMNS", "100")
    ran = []
    for words in calls(lab, "grounding-rewards"):
        own, engines = cut(words, "--engine")
        own, options = cut(own, "--engine-option")
        if engines:
            model = words[words.index("--model") + 1]
            engine(engines[0], model=model, **read_options(options, flag="--engine-option"))  # its settings fit it
            own += ["--engine", f"{__file__}:Around"]
        with pytest.raises(SystemExit) as ended:
            main(own)
        printed = capsys.readouterr()
        assert not ended.value.code, (words, printed.err)
        ran.append(" ".join(words[: 2 if words[0] == "pool" else 1]))
    assert [name for name, before in zip(ran, ["", *ran], strict=False) if name != before] == [
        "convert", "rollout", "pool temperature", "rollout", "pool stats", "pool next",
        "rollout", "eval", "rollout", "eval", "rollout", "pool transitions", "pool report",
    ]  # fmt: skip
    assert ran.count("rollout") == 1 + 6 * 8
    tables = ["round-1/sweep", "round-2/rollouts", "round-3/rollouts"]
    tables += [f"round-{number}/{name}" for number in (1, 2) for name in ("screenspot-pro", "osworld-g")]
    for table in tables:
        manifest = json.loads((lab / "out" / table / "_rollout.manifest.json").read_text("utf-8"))
        assert (manifest["complete"], manifest["answered"]) == (True, manifest["rows"])
    assert json.loads((lab / "out" / "round-2" / "pool.parquet.manifest.json").read_text("utf-8"))["samples"] == 12
    assert (lab / "out" / "report" / "report.html").exists()


def test_the_launches_of_verl_fit_verl(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hydra = pytest.importorskip("hydra", reason="hydra comes with verl, which needs a Python below 3.13")
    place = Path(find_spec("verl").origin or "").parent / "trainer" / "config"  # type: ignore[union-attr]
    launches = [words for words in calls(lab, "python") if words[1] == "verl.trainer.main_ppo"]
    with hydra.initialize_config_dir(str(place), version_base=None):
        configs = [hydra.compose("ppo_trainer", words[2:]) for words in launches]
    assert [
        (config.actor_rollout_ref.model.path, config.data.train_files, config.actor_rollout_ref.rollout.temperature)
        for config in configs
    ] == [
        ("Qwen/Qwen3-VL-8B-Instruct", "data/train.parquet", 1.1),
        ("out/round-1/checkpoint", "out/round-2/pool.parquet", 1.7),
    ]
    for number, config in enumerate(configs, 1):
        assert config.trainer.default_local_dir == f"out/round-{number}/verl"
        record = config.reward.custom_reward_function.reward_kwargs.record
        assert record == str(lab / "out" / f"round-{number}" / "training")
    merger = importlib.import_module("verl.model_merger.base_model_merger")
    merges = [words for words in calls(lab, "python") if words[1] == "verl.model_merger"]
    assert len(merges) == 2
    for number, words in enumerate(merges, 1):
        monkeypatch.setattr(sys, "argv", words[1:])
        read = merger.parse_args()
        assert (read.operation, read.backend, read.target_dir) == ("merge", "fsdp", f"out/round-{number}/checkpoint")
        assert read.local_dir == f"out/round-{number}/verl/global_step_{STEP}/actor"


def test_the_server_serves_the_model_that_is_asked_for(lab: Path) -> None:
    (serve,) = calls(lab, "vllm")
    asked = [words for words in calls(lab, "grounding-rewards") if "openai" in words]
    assert serve[:2] == ["serve", "out/round-1/checkpoint"]
    assert [words[words.index("--model") + 1] for words in asked] == ["out/round-1/checkpoint"]
    assert f"base_url=http://localhost:{serve[serve.index('--port') + 1]}/v1" in asked[0]
