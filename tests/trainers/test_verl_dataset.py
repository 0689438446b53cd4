"""Rows in order, served by verl's own loading function, trainer and data loader."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum.command import write_stages
from grounding_rewards.pool.serving import stage_order, weighted_order
from tests.trainers.verl_launch import MARKS, compose, stand_ins

pytestmark = MARKS

DOCS = Path(__file__).parents[2] / "docs" / "methods" / "stages-in-verl.md"
PATH = "data.custom_cls.path=pkg://grounding_rewards_adapters.verl_dataset"
COMMON = (PATH, "data.shuffle=False", "data.seed=7", "data.dataloader_num_workers=0", "trainer.total_epochs=1")
STAGES = {
    "bands": {"hard": [0.0, 0.4], "easy": [0.6, 1.0]},
    "stages": [{"name": "easy", "bands": ["easy"], "epochs": 2}, {"name": "hard", "bands": ["hard"]}],
}
"""Rows 0 to 3 are easy, rows 4 to 8 hard."""


@pytest.fixture(scope="module", autouse=True)
def _importable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    datasets = pytest.importorskip("datasets")
    with stand_ins(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))
        # datasets puts a copy in its place where several processes filter, and what reads the old one misses changes.
        patch.setattr(os, "environ", os.environ)
        yield


def rows(count: int) -> list[dict[str, Any]]:
    """Rows for verl, of which row 1 has a long prompt."""
    return [
        {
            "data_source": "clicks", "prompt": [{"role": "user", "content": "click " * (9 if row == 1 else 1)}],
            "reward_model": {"ground_truth": json.dumps({"bbox": [1, 1, 4, 4]})},
            "extra_info": {"index": row, "id": f"s{row}"}, "weight": float(row < 2),
        }
        for row in range(count)
    ]  # fmt: skip


def parquet(path: Path, listed: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(listed), path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training and validation rows, and the stages of a curriculum with and without a gate."""
    tmp_path = tmp_path_factory.mktemp("data")
    train = parquet(tmp_path / "train.parquet", rows(9))
    parquet(tmp_path / "val.parquet", rows(3))
    lines = [json.dumps({"sample_id": f"s{row}", "acc": int(row < 4)}) for row in range(9)]
    (tmp_path / "rollouts.jsonl").write_text("\n".join(lines))
    gate = {"success_above": 0.7, "failure_below": 0.3, "last_k": 20}
    for name, content in {"stages": STAGES, "gated": {**STAGES, "gate": gate}, "names": STAGES}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        data = None if name == "names" else train
        write_stages(tmp_path / "rollouts.jsonl", tmp_path / f"{name}.json", tmp_path / name, data=data)
    write_stages(tmp_path / "rollouts.jsonl", tmp_path / "stages.json", tmp_path / "weights", weights=True)
    return tmp_path


@cache
def tokenizer(lab: Path) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    made = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(lab / "tokenizer")
    made.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    return made


def config_of(lab: Path, folder: Path, kind: str, *settings: str) -> Any:
    train = folder / ("stages" if kind == "StageDataset" else "train.parquet")
    files = (f"data.train_files={train}", f"data.val_files={folder / 'val.parquet'}", "data.train_batch_size=2")
    return compose(lab, f"data.custom_cls.name={kind}", *COMMON, *files, *settings)


def trainer(lab: Path, config: Any) -> Any:
    """The data of verl's default trainer, as it makes them."""
    base = importlib.import_module("verl.trainer.ppo.v1.trainer_base").PPOTrainer
    made = SimpleNamespace(config=config, tokenizer=tokenizer(lab), processor=None, trainer_mode="sync",
                           parameter_sync_step=1, global_steps=1)  # fmt: skip
    base._init_dataloader(made)
    made._fetch_one_gen_batch = lambda: base._fetch_one_gen_batch(made)
    made.next_batch = lambda: [row["index"] for row in base._next_train_batch(made)["extra_info"]]
    return made


def served(dataset: Any) -> list[int]:
    return [dataset[place]["index"] for place in range(len(dataset))]


def joined(batches: list[list[int]]) -> list[int]:
    return [row for batch in batches for row in batch]


def test_the_default_trainer_trains_on_one_stage_after_the_other(lab: Path, folder: Path) -> None:
    made = trainer(lab, config_of(lab, folder, "StageDataset"))
    assert (made.total_training_steps, len(made.val_dataset)) == (6, 3)
    assert served(made.train_dataset) == stage_order([4, 5], [2, 1], 7).tolist()
    batches = [made.next_batch() for _ in range(6)]
    assert joined(batches) == stage_order([4, 5], [2, 1], 7)[:12].tolist()  # verl drops the last, which is not full
    easy = joined(batches[:4])
    assert sorted(easy[:4]) == sorted(easy[4:]) == [0, 1, 2, 3] != easy[:4] != easy[4:]
    assert set(joined(batches[4:])) <= {4, 5, 6, 7, 8}
    assert served(made.val_dataset) == [0, 1, 2]


WEIGHTED = ("+data.weighted_share=0.5", "+data.weight_column=weight")


def test_the_default_trainer_trains_by_weight(lab: Path, folder: Path) -> None:
    settings = (*WEIGHTED, "data.train_batch_size=5", "trainer.total_training_steps=9")
    made = trainer(lab, config_of(lab, folder, "WeightedDataset", *settings))
    assert (made.total_training_steps, len(made.train_dataset)) == (9, 45)
    batches = [made.next_batch() for _ in range(9)]
    assert all(set(batch[:2]) <= {0, 1} for batch in batches)
    # 3 of 5 walk through all rows: 27 are three passes.
    assert set(Counter(row for batch in batches for row in batch[2:]).values()) == {3}
    expected = weighted_order([1, 1] + [0] * 7, length=45, batch_size=5, weighted_share=0.5, seed=7)
    assert joined(batches) == expected.tolist()


def test_without_a_number_of_steps_weighted_rows_last_one_epoch(lab: Path, folder: Path) -> None:
    made = trainer(lab, config_of(lab, folder, "WeightedDataset", *WEIGHTED))
    assert (made.total_training_steps, len(made.train_dataset)) == (4, 8)


@pytest.mark.parametrize("kind", ["StageDataset", "WeightedDataset"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_run_goes_on_in_the_same_order(lab: Path, folder: Path, kind: str, workers: int) -> None:
    settings = [*(WEIGHTED if kind == "WeightedDataset" else ()), f"data.dataloader_num_workers={workers}"]
    config = config_of(lab, folder, kind, *settings)
    whole = trainer(lab, config)
    batches = [whole.next_batch() for _ in range(whole.steps_per_epoch)]
    first, second = trainer(lab, config), trainer(lab, config)
    assert [first.next_batch(), first.next_batch()] == batches[:2]
    second.train_dataloader.load_state_dict(first.train_dataloader.state_dict())
    assert [second.next_batch() for _ in batches[2:]] == batches[2:]


def test_rows_that_verl_filters_out_shift_no_others(lab: Path, folder: Path) -> None:
    short = ("data.filter_overlong_prompts=True", "data.max_prompt_length=4")
    made = trainer(lab, config_of(lab, folder, "StageDataset", *short))
    left = [0, 2, 3, 4, 5, 6, 7, 8]
    assert served(made.train_dataset) == [left[row] for row in stage_order([3, 5], [2, 1], 7)]
    settings = (*WEIGHTED, *short, "data.train_batch_size=4")
    made = trainer(lab, config_of(lab, folder, "WeightedDataset", *settings))
    seen = served(made.train_dataset)
    assert seen[:2] == seen[4:6] == [0, 0]  # row 1, of weight 1, is left out
    assert sorted(seen[2:4] + seen[6:]) == sorted(set(seen[2:4] + seen[6:]))


def test_verl_reads_the_files_anew(lab: Path, folder: Path) -> None:
    dataset = trainer(lab, config_of(lab, folder, "StageDataset")).train_dataset
    before = served(dataset)
    dataset.resume_dataset_state()
    assert served(dataset) == before


def test_weights_of_a_stage_by_the_names_of_samples(lab: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = f"+data.weights={folder / 'weights' / 'weights.parquet'}"
    settings = (WEIGHTED[0], table, "trainer.total_training_steps=20")
    made = trainer(lab, config_of(lab, folder, "WeightedDataset", *settings, "+data.weights_of=hard"))
    assert set(served(made.train_dataset)[::2]) == {4, 5, 6, 7, 8}
    assert "4 of 9 training rows, such as 's0', are not in" in caplog.text
    with pytest.raises(PoolError, match=r"got the stage None; expected one of easy, hard$"):
        trainer(lab, config_of(lab, folder, "WeightedDataset", *settings))


def test_weights_without_a_row_in_the_training_data_are_an_error(lab: Path, folder: Path) -> None:
    (folder / "other.jsonl").write_text('{"sample_id": "x", "weight": 1}\n')
    settings = (WEIGHTED[0], f"+data.weights={folder / 'other.jsonl'}")
    with pytest.raises(PoolError, match=r"none of its samples .* such as 'x', theirs such as 's0', 's1', 's2'$"):
        trainer(lab, config_of(lab, folder, "WeightedDataset", *settings))


def test_a_weight_that_is_no_number_is_named(lab: Path, folder: Path) -> None:
    bad = rows(9)
    bad[3]["weight"] = None
    settings = (*WEIGHTED, f"data.train_files={parquet(folder / 'bad.parquet', bad)}")
    with pytest.raises(PoolError, match=r"^weights, row 3: got nan; expected a finite number from 0$"):
        trainer(lab, config_of(lab, folder, "WeightedDataset", *settings))


REFUSED = {
    "StageDataset data.shuffle=True": "data.shuffle: got True; expected data.shuffle=False",
    "StageDataset algorithm.filter_groups.enable=True": "algorithm.filter_groups.enable: got True",
    "StageDataset data.train_files=FOLDER/gated": "has a gate by success",
    "StageDataset data.train_files=FOLDER/train.parquet": "expected a directory that `grounding-rewards pool",
    "StageDataset data.train_files=[FOLDER/stages,FOLDER/gated]": "got 2 paths; expected one directory",
    "StageDataset data.train_files=FOLDER/names": "stage 'easy': got 4 rows of .*expected one or more with prompt:",
    "StageDataset data.train_files=FOLDER/weights": "has weights in place of files",
    "StageDataset data.train_max_samples=4": "data.train_max_samples: got 4; expected -1",
    "StageDataset trainer.total_epochs=30": r"a run of 180 steps, while the rows in order last 6,.*total_epochs=1",
    "StageDataset trainer.total_training_steps=7": "a run of 7 steps, while the rows in order last 6",
    "StageDataset data.train_batch_size=14": "data.train_batch_size: got 14, more than the rows in order",
    "StageDataset data.val_files=FOLDER/stages": "data.val_files: got data.train_files",
    "StageDataset data.filter_overlong_prompts=True data.max_prompt_length=0": "stage 'easy': got 0 rows",
    "StageDataset data.seed=-1": "seed: got -1; expected a whole number from 0",
    "WeightedDataset data.val_files=FOLDER/train.parquet": "data.val_files: got data.train_files",
    "WeightedDataset": r"data.weighted_share is missing; add \+data.weighted_share=NUMBER",
    "WeightedDataset data.shuffle=True": "data.shuffle: got True",
    "WeightedDataset +data.weighted_share=0.5": r"data: got no weights; expected one of \+data.weight_column=COLUMN",
    "WeightedDataset +data.weighted_share=0.5 +data.weight_column=a +data.weights=b": "got weight_column and weights",
    "WeightedDataset +data.weighted_share=2 +data.weight_column=weight": "weighted_share: got 2; expected a number",
    "WeightedDataset +data.weighted_share=0.5 +data.weight_column=heft": "data.weight_column: got 'heft'; .* weight",
    "WeightedDataset +data.weighted_share=0.5 +data.weight_column=data_source": "weights: could not convert string",
}


@pytest.mark.parametrize("launch", REFUSED)
def test_refused_settings(lab: Path, folder: Path, launch: str) -> None:
    kind, *settings = launch.replace("FOLDER", str(folder)).split()
    with pytest.raises(PoolError, match=REFUSED[launch]):
        trainer(lab, config_of(lab, folder, kind, *settings))


@pytest.mark.parametrize("kind", ["StageDataset", "WeightedDataset"])
def test_a_config_without_a_run_around_it(lab: Path, folder: Path, kind: str) -> None:
    omegaconf = pytest.importorskip("omegaconf").OmegaConf
    config = config_of(lab, folder, kind, *(WEIGHTED if kind == "WeightedDataset" else ()))
    alone = omegaconf.create(omegaconf.to_container(config.data, resolve=False))
    alone.tool_config_path = alone.function_tool_path = None  # verl looks beside data for these
    create = importlib.import_module("verl.trainer.ppo.utils").create_rl_dataset
    dataset = create(alone.train_files, alone, tokenizer(lab), None)
    assert served(dataset) == served(trainer(lab, config).train_dataset)


def test_verl_knows_the_settings_of_the_page(lab: Path) -> None:
    blocks = re.findall(r"^```text\n(.*?)^```$", DOCS.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    names = []
    for block in blocks:
        config = compose(lab, *(word for word in shlex.split(block) if re.match(r"\+?[a-z_0-9]+\.[\w.]+=", word)))
        names.append(config.data.custom_cls.name)
        assert importlib.import_module("verl.utils.dataset.rl_dataset").get_dataset_class(config.data)
    assert names == ["StageDataset", "WeightedDataset"]
