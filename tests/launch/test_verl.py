"""The verl launch scripts of examples/launch, as far as verl goes without a GPU: its config, its checks, its reward."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.cli.command import Runner, write_rows
from tests.trainers import verl_launch
from tests.trainers.verl_launch import LAUNCH, managed, rows

pytestmark = [*verl_launch.MARKS, pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")]

FOLDER = Path(__file__).parents[2] / "examples" / "launch"
FILES = sorted(path.name for path in FOLDER.glob("verl_*.sh"))
PATCH = {"qwen2_5_vl": 14, "qwen3_vl": 16}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with verl_launch.lab_in(tmp_path_factory.mktemp("lab")) as folder:
        yield folder


def words(file: str, *more: str, **settings: str) -> list[str]:
    """Return the words that a script hands to Python, from a stand-in for it."""
    stand_in = Path(settings.pop("folder")) / "python"
    stand_in.write_text("#!/usr/bin/env bash\nprintf '%s\\0' \"$@\"\n")
    stand_in.chmod(0o755)
    run = subprocess.run(
        ["bash", str(FOLDER / file), *more], env={**os.environ, "PYTHON": str(stand_in), **settings},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return run.stdout.split("\0")[:-1]


@lru_cache
def composed(file: str, folder: str, *more: str) -> Any:
    """verl's own config with a script's overrides: hydra refuses an unknown key, and a + before a known one."""
    hydra = pytest.importorskip("hydra")
    module, script, *overrides = words(file, *more, folder=folder, RECORD=f"{folder}/rollouts")
    assert (module, script) == ("-m", "verl.trainer.main_ppo")
    place = Path(find_spec("verl").origin or "").parent / "trainer" / "config"
    with hydra.initialize_config_dir(str(place), version_base=None):
        return hydra.compose("ppo_trainer", overrides)


def test_there_is_a_script_a_case() -> None:
    assert FILES == ["verl_dapo_qwen3_vl.sh", "verl_grpo_qwen2_5_vl.sh", "verl_grpo_qwen3_vl.sh"]


@pytest.mark.parametrize("file", FILES)
def test_verls_own_checks_pass(lab: Path, file: str) -> None:
    config = composed(file, str(lab))
    utils = importlib.import_module("verl.trainer.ppo.utils")
    checks = importlib.import_module("verl.utils.config")
    checks.validate_config(config, utils.need_reference_policy(config), utils.need_critic(config))
    assert not utils.need_critic(config)
    assert utils.need_reference_policy(config) == ("grpo" in file)  # DAPO has no KL term
    assert config.algorithm.adv_estimator == "grpo"
    assert config.actor_rollout_ref.rollout.n == 8


@pytest.mark.parametrize("file", FILES)
def test_the_reward_knows_the_model_and_the_processors_bounds(lab: Path, file: str) -> None:
    config = composed(file, str(lab))
    options, bounds = config.reward.custom_reward_function.reward_kwargs, config.data.mm_processor_kwargs
    assert options.model in file
    assert options.model.replace("_", "").replace("vl", "") in config.actor_rollout_ref.model.path.lower().replace(
        ".", ""
    )
    assert (options.processor_min_pixels, options.processor_max_pixels) == (bounds.min_pixels, bounds.max_pixels)
    assert not {"min_pixels", "max_pixels"} & set(options)  # the pictures' own dicts have none
    assert config.data.image_patch_size == PATCH[options.model]
    tokens = bounds.max_pixels // (2 * PATCH[options.model]) ** 2
    assert tokens + 256 <= config.data.max_prompt_length


@pytest.mark.parametrize("file", [file for file in FILES if "qwen3" in file])
def test_its_reward_loads_and_scores_thousandths(lab: Path, file: str) -> None:
    config = composed(file, str(lab))
    data = rows(["(20, 15)", "(50, 15)", "(nan, 15)"], [[0.0, 0.0, 0.04, 0.03]] * 3, None)
    found = managed(lab, config, data)
    assert [row["reward_score"] for row in found] == [1.0, 0.0, 0.0]
    extra = [row["reward_extra_info"] for row in found]
    assert [(row["acc"], row["parsed"]) for row in extra] == [(1.0, 1.0), (0.0, 1.0), (0.0, 0.0)]
    if "dapo" in file:
        assert config.algorithm.filter_groups.enable
        assert config.algorithm.filter_groups.metric == "acc"
        assert config.reward.reward_manager.name == "dapo"


def test_its_reward_loads_and_scores_pixels_of_the_resized_image(lab: Path) -> None:
    """1920 x 1080 is seen as 1876 x 1064: a box of 2 pixels of that, round (20, 15)."""
    box = [19 / 1876, 14 / 1064, 21 / 1876, 16 / 1064]
    data = rows(["(20, 15)", "(50, 15)"], [box] * 2, [{"image_size": [1920, 1080]}] * 2)
    found = managed(lab, composed("verl_grpo_qwen2_5_vl.sh", str(lab)), data)
    assert [row["reward_score"] for row in found] == pytest.approx([1.0, 0.0])
    smaller = f"{LAUNCH}.reward_kwargs.processor_max_pixels=1003520"  # as if the processor resized to 1316 x 728
    found = managed(lab, composed("verl_grpo_qwen2_5_vl.sh", str(lab), smaller), data)
    assert [row["reward_score"] for row in found] == [0.0, 0.0]


def test_what_is_given_beside_a_script_goes_first(tmp_path: Path) -> None:
    found = words(FILES[1], "trainer.nnodes=2", folder=str(tmp_path), TRAIN="/data/a b.parquet", MODEL="/models/mine")
    assert found[-1] == "trainer.nnodes=2"
    assert "data.train_files=/data/a b.parquet" in found
    assert "actor_rollout_ref.model.path=/models/mine" in found


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("path", ["/data/out", "/data/run (b), lr=1e-6 [a] {c}/x"])
def test_a_folder_of_records_may_have_any_name(tmp_path: Path, file: str, path: str) -> None:
    parser = pytest.importorskip("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    found = words(file, folder=str(tmp_path), RECORD=path)
    (override,) = [word for word in found if word.startswith(f"+{LAUNCH}.reward_kwargs.record=")]
    assert parser.parse_override(override).value() == path


@pytest.mark.parametrize("file", FILES)
def test_pictures_are_in_the_column_that_convert_writes(
    tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "a.png"
    Image.new("1", (64, 48)).save(picture)
    row = {"instruction": "open", "bbox": [1, 2, 3, 4], "width": 64, "height": 48, "image": str(picture)}
    source, out = write_rows(tmp_path / "clicks.jsonl", row), tmp_path / "train.parquet"
    given = ("convert", source, "--out", out, "--for", "verl", "--target-space", "pixel")
    assert Runner(capsys)(*given).code == 0
    written = pq.read_schema(out).names
    found = words(file, folder=str(tmp_path))
    (column,) = [word.partition("=")[2] for word in found if word.startswith("data.image_key=")]
    assert column in written
    assert column not in row


def test_the_bound_on_filtering_is_the_one_that_the_default_trainer_reads(lab: Path) -> None:
    config = composed("verl_dapo_qwen3_vl.sh", str(lab))
    assert config.algorithm.filter_groups.max_inflight_gen_batches == 2
    given = [word.lstrip("+").partition("=")[0] for word in words("verl_dapo_qwen3_vl.sh", folder=str(lab))]
    assert "algorithm.filter_groups.max_inflight_gen_batches" in given
    assert not [name for name in given if name.endswith("max_num_gen_batches")]
