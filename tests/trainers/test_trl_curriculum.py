"""Stages of a curriculum in real runs of the GRPOTrainer: when they change, what counts, what a checkpoint keeps."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grounding_rewards.errors import PoolError
from grounding_rewards.pool.curriculum import StageGate
from grounding_rewards_adapters.trl import reward_funcs
from grounding_rewards_adapters.trl_curriculum import COLUMN, Stages, stages
from tests.image_sources import NULL
from tests.trainers.trl_tiny import MARKS, SETTINGS, Spy, text_policy

pytestmark = MARKS

ALL, NONE = [0.0, 0.0, 1.0, 1.0], [0.0001, 0.0001, 0.0002, 0.0002]
"""Any click that can be read is right; none is."""

GATE = StageGate(success_above=0.5, failure_below=0.3, last_k=8)


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    return text_policy()


def data(prompt: str, target: list[float], rows: int) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_list([{"prompt": prompt, "target": target, "row": row} for row in range(rows)])


def easy_and_hard(functions: Any, **options: Any) -> Stages:
    named = {"easy": data("click", ALL, 4), "hard": data("click click", NONE, 3)}
    return stages(named, functions, **{"gate": GATE, "places": 64, **options})


def run(policy: tuple[Any, Any], staged: Stages, functions: Any, out: Path, **settings: Any) -> list[tuple[str, str]]:
    """Prompt and stage of each generation."""
    return run_logged(policy, staged, functions, out, **settings)[0]


def run_logged(policy: tuple[Any, Any], staged: Stages, functions: Any, out: Path, **settings: Any) -> Any:
    """The same, and what the trainer logged."""
    spy, logged = run_seen(policy, staged, functions, out, **settings)
    return [(call["prompts"][0], call[COLUMN][0]) for call in spy.calls], logged


def run_seen(policy: tuple[Any, Any], staged: Stages, functions: Any, out: Path, **settings: Any) -> Any:
    """Train, and return the calls of a reward function and the trainer's log."""
    trl = pytest.importorskip("trl")
    spy, resume = Spy(), settings.pop("resume", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = trl.GRPOConfig(
            output_dir=str(out), reward_weights=[1.0, 0.0], **{**SETTINGS, "shuffle_dataset": False, **settings}
        )
        trainer = trl.GRPOTrainer(
            model=policy[0], processing_class=policy[1], args=args, reward_funcs=[*functions, spy],
            train_dataset=staged.dataset, callbacks=[staged.callback],
        )  # fmt: skip
        trainer.train(resume_from_checkpoint=resume)
    for call in spy.calls:
        assert len(set(call["prompts"])) == len(set(call[COLUMN])) == 1
    return spy, [entry for entry in trainer.state.log_history if "reward" in entry]


EASY, HARD = ("click", "easy"), ("click click", "hard")


def test_success_moves_up_and_failure_down_after_the_batch_that_has_been_read(policy: Any, tmp_path: Path) -> None:
    functions = reward_funcs("gelato")
    staged = easy_and_hard(functions)
    seen, logged = run_logged(policy, staged, functions, tmp_path, max_steps=7)
    # accelerate reads one batch ahead: what step 1 decides is seen in step 3, and step 2 no longer counts.
    assert seen == [EASY, EASY, HARD, HARD, EASY, EASY, HARD]
    assert [(move["step"], move["from"], move["to"]) for move in staged.moves] == [
        (1, "easy", "hard"), (3, "hard", "easy"), (5, "easy", "hard"), (7, "hard", "easy"),
    ]  # fmt: skip
    assert [move["success"] > 0.5 for move in staged.moves] == [True, False, True, False]
    assert [entry["curriculum/stage"] for entry in logged] == [1, 1, 2, 2, 1, 1, 2]


@pytest.mark.parametrize(
    ("settings", "options"), [({"steps_per_generation": 2}, {}), ({}, {"places": 2})], ids=["reused", "epoch ends"]
)
def test_the_next_generation_is_of_the_new_stage(policy: Any, tmp_path: Path, settings: Any, options: Any) -> None:
    functions = reward_funcs("gelato")
    staged = easy_and_hard(functions, **options)
    settings = {"max_steps": 3 * settings.get("steps_per_generation", 1), **settings}
    assert run(policy, staged, functions, tmp_path, **settings) == [EASY, HARD, EASY]


def test_without_a_gate_a_stage_ends_after_its_epochs(policy: Any, tmp_path: Path) -> None:
    functions = reward_funcs("gelato")
    staged = easy_and_hard(functions, gate=None, epochs=(2, 1))
    # Two samples a step: 4 rows twice are 4 steps, and the step after them has been read already.
    assert run(policy, staged, functions, tmp_path, max_steps=7) == [EASY] * 5 + [HARD] * 2
    assert staged.moves == [{"step": 4, "from": "easy", "to": "hard", "success": None}]


def test_an_epoch_is_a_pass_over_the_rows_of_a_stage_also_over_a_checkpoint(policy: Any, tmp_path: Path) -> None:
    functions = reward_funcs("gelato")

    def rows(**settings: Any) -> list[list[int]]:
        named = {"easy": data("click", ALL, 5), "hard": data("click click", NONE, 3)}
        staged = stages(named, functions, epochs=(2, 1), places=4)
        spy, _ = run_seen(policy, staged, functions, tmp_path, save_strategy="steps", save_steps=3, **settings)
        for call in spy.calls:
            assert call["row"][0::4] == call["row"][3::4]  # the rollouts of a sample
        return [call["row"][::4] for call in spy.calls]

    seen = rows(max_steps=7)
    # Two samples a step: 5 rows twice are 5 steps; the sixth had been read when they ended.
    walk = [row for generation in seen[:5] for row in generation]
    assert sorted(walk[:5]) == [0, 1, 2, 3, 4]
    assert walk[:5] == walk[5:]
    assert all(len(set(generation)) == 2 for generation in seen)
    assert rows(max_steps=7, resume=str(tmp_path / "checkpoint-3")) == seen[3:]


def test_processes_that_read_parts_of_a_generation_agree() -> None:
    named = {"easy": data("click", ALL, 6), "hard": data("click click", NONE, 3)}
    first, second = [stages(named, reward_funcs("gelato"), gate=GATE, places=8, seed=1) for _ in range(2)]
    shown = []
    for _ in range(2):
        for staged in (first, second):
            staged.begin(4)
        for places in ([0, 1, 2, 3], [4, 5, 6, 7]):
            one = first.dataset[[place for place in places[:2] for _ in range(2)]]["row"]
            for _ in range(2):  # num_iterations, steps_per_generation: places are read again
                # Here the second prompt's rollouts are split over the two processes.
                other = second.dataset[[places[1], places[2], places[3]]]["row"]
            assert second.dataset[0]["curriculum_stage"] == "easy"  # a look at another place moves nothing
            assert one == [one[0], one[0], other[0], other[0]]
            shown += [one[0], *other]
    assert sorted(shown[:6]) == [0, 1, 2, 3, 4, 5]
    assert shown[:10] == shown[6:]
    other_seed = stages(named, reward_funcs("gelato"), gate=GATE, seed=2)
    assert other_seed.dataset[:]["row"] != stages(named, reward_funcs("gelato"), gate=GATE).dataset[:]["row"]


def test_a_stage_that_comes_again_goes_on_where_it_was_left() -> None:
    staged = easy_and_hard(reward_funcs("gelato"), gate=StageGate(0.5, 0.3, last_k=2), places=8)
    staged.begin(2)
    order = [staged.dataset[[0, 1]]["row"]]
    for step, (result, places) in enumerate([(1, [2, 3]), (0, [4, 5])]):
        staged.observe([result] * 2, [staged.stage] * 2)
        staged.move(step)
        order.append(staged.dataset[places]["row"])
    assert [move["to"] for move in staged.moves] == ["hard", "easy"]
    assert sorted(order[0] + order[2]) == [0, 1, 2, 3]


@pytest.mark.parametrize("restored", [False, True], ids=["plain", "callbacks restored"])
def test_a_run_that_is_resumed_goes_on_at_its_stage(policy: Any, tmp_path: Path, restored: bool) -> None:
    saving = {"save_strategy": "steps", "save_steps": 1, "save_total_limit": 2}
    functions = reward_funcs("gelato")
    first = easy_and_hard(functions, gate=StageGate(0.5, 0.3, last_k=12))
    assert run(policy, first, functions, tmp_path, max_steps=1, **saving) == [EASY]
    kept = json.loads((tmp_path / "checkpoint-1" / "trainer_state.json").read_text())
    state = kept["stateful_callbacks"]["StageCallback"]["attributes"]["progress"]
    assert (state["stage"], len(state["results"])) == (0, 8)

    again = easy_and_hard(functions, gate=StageGate(0.5, 0.3, last_k=12))
    flags = {"max_steps": 2, "restore_callback_states_from_checkpoint": restored, **saving}
    # 8 results of the checkpoint and 8 new ones are the 12 that the gate asks for.
    resume = str(tmp_path / "checkpoint-1")
    assert run(policy, again, functions, tmp_path, resume=resume, **flags) == [EASY]
    assert (again.stage, [move["step"] for move in again.moves]) == ("hard", [2])

    last = easy_and_hard(functions, gate=StageGate(0.5, 0.3, last_k=12))
    flags["max_steps"] = 3
    assert run(policy, last, functions, tmp_path, resume=str(tmp_path / "checkpoint-2"), **flags) == [HARD]
    assert [move["step"] for move in last.moves] == [2]


def test_wiring_that_cannot_work_is_refused(policy: Any, tmp_path: Path) -> None:
    functions, others = reward_funcs("gelato"), reward_funcs("gelato")
    with pytest.raises(PoolError, match="the first step ended without a result; give the trainer the reward functions"):
        run(policy, easy_and_hard(functions), others, tmp_path, max_steps=1)
    for said, settings in {
        "dataloader_num_workers=1: expected 0, for a worker": {"dataloader_num_workers": 1},
        "shuffle_dataset=True: expected False, for the stages walk": {"shuffle_dataset": True},
    }.items():
        with pytest.raises(PoolError, match=said):
            run(policy, easy_and_hard(functions), functions, tmp_path, max_steps=1, **settings)
    with pytest.raises(PoolError, match="places: the data set has 1; expected 2, the prompts of a generation, or more"):
        run(policy, easy_and_hard(functions, places=1), functions, tmp_path, max_steps=1)


def test_stages_are_read_from_the_directory_that_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = pytest.importorskip("datasets").config
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = written(tmp_path)
    staged = stages(folder, reward_funcs("gelato"), places=3)
    assert (staged.names, staged.gate, staged.epochs) == (("easy", "hard"), StageGate(0.7, 0.3, last_k=2), (2, 1))
    assert staged.dataset[:]["prompt"] in (["click 0", "click 2", "click 0"], ["click 2", "click 0", "click 2"])
    staged.observe([1.0, 1.0, 0.0], ["easy", "easy", "hard"])
    # Another process saw a failure first: what counts are the last two of both.
    assert staged.move(1, gather=lambda own: [("easy", 0.0), *own]) == "up"
    assert staged.dataset[:] == {
        "prompt": ["click 1"] * 3, "target": [ALL] * 3, "sample_id": ["1"] * 3, COLUMN: ["hard"] * 3,
    }  # fmt: skip
    with pytest.raises(PoolError, match="its manifest has gate and epochs; give none beside it"):
        stages(folder, [], gate=GATE)
    with pytest.raises(PoolError, match=r"curriculum.manifest.json: no such file; expected a directory that"):
        stages(tmp_path, [])
    (folder / "stage-1-easy.jsonl").write_text("{")
    with pytest.raises(PoolError, match=r"stage-1-easy.jsonl: is not what curriculum.manifest.json says: a run was"):
        stages(folder, [])
    manifest = folder / "curriculum.manifest.json"
    manifest.write_text(manifest.read_text().replace('"sha256"', '"was"'))
    with pytest.raises(PoolError, match=r"stage-1-easy.jsonl: cannot be read \("):
        stages(folder, [])


STAGE = {"file": "x.jsonl", "name": "a", "epochs": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "manifest.json: is damaged (Expecting property name"),
        ("[" * 100_000, "manifest.json: is damaged ("),
        ("[]", "manifest.json: is no manifest of stages with name, file, epochs, and a gate"),
        ("{}", "manifest.json: is no manifest of stages"),
        ({"stages": [STAGE]}, "manifest.json: is no manifest of stages"),
        ({"stages": [{}], "gate": None}, "manifest.json: is no manifest of stages"),
        ({"stages": [], "gate": {}},
         "manifest.json, gate: no 'success_above'; there are: success_above, failure_below, last_k"),
        ({"stages": [], "gate": {"success_above": 2, "failure_below": 1, "last_k": 1}},
         "manifest.json, gate: StageGate(success_above=): got 2; expected a number from 0 to 1"),
        ({"stages": [STAGE], "gate": None}, "names the file 'x.jsonl' (No such file or directory); write it again"),
        ({"stages": [{**STAGE, "file": None}], "gate": None}, "manifest.json: has weights in place of files"),
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_read_is_named(tmp_path: Path, text: Any, said: str) -> None:
    pytest.importorskip("datasets")
    (tmp_path / "curriculum.manifest.json").write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.raises(PoolError) as caught:
        stages(tmp_path, [])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../x.jsonl", "leads out of"),
        ("link.jsonl", "leads out of"),
        ("linked/x.jsonl", "leads out of"),
        ("/dev/zero", "is an absolute path"),
        ("fifo.jsonl", "is a FIFO"),
        ("a\0.jsonl", NULL),
        (7, "is no name; expected a text"),
    ],
)
def test_stages_are_files_of_their_own_directory(tmp_path: Path, name: Any, why: str) -> None:
    pytest.importorskip("datasets")
    folder = tmp_path / "stages"
    folder.mkdir()
    (tmp_path / "x.jsonl").write_text('{"prompt": "secret"}\n')
    (folder / "link.jsonl").symlink_to(tmp_path / "x.jsonl")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "fifo.jsonl")
    text = json.dumps({"stages": [{**STAGE, "file": name}], "gate": None})
    (folder / "curriculum.manifest.json").write_text(text)
    with pytest.raises(PoolError) as caught:
        stages(folder, [])
    assert f"curriculum.manifest.json: names the file {name!r} ({why}" in str(caught.value)


def written(folder: Path) -> Path:
    """A curriculum of samples 0 and 2, which are easy, and 1, which is hard."""
    from grounding_rewards.cli import main

    rows = [{"sample_id": str(name), "prompt": f"click {name}", "target": ALL} for name in range(3)]
    rollouts = [{"sample_id": row["sample_id"], "acc": (place + 1) % 2} for place, row in enumerate(rows)]
    plan = {
        "bands": {"easy": [1, 1], "hard": [0, 0]},
        "stages": [{"name": "easy", "bands": ["easy"], "epochs": 2}, {"name": "hard", "bands": ["hard"]}],
        "gate": {"success_above": 0.7, "failure_below": 0.3, "last_k": 2},
    }
    for name, lines in {"data.jsonl": rows, "rollouts.jsonl": rollouts, "plan.json": [plan]}.items():
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(SystemExit, match="0"):
        main(
            ["pool", "curriculum", f"{folder}/rollouts.jsonl", "--stages", f"{folder}/plan.json", "--data",
             f"{folder}/data.jsonl", "--out", f"{folder}/stages", "--json"]
        )  # fmt: skip
    return folder / "stages"


def test_a_checkpoint_of_a_run_without_stages_begins_with_the_first() -> None:
    staged = easy_and_hard(reward_funcs("gelato"))
    args = SimpleNamespace(
        dataloader_num_workers=0, remove_unused_columns=False, shuffle_dataset=False,
        generation_batch_size=8, num_generations=4,
    )  # fmt: skip
    state = SimpleNamespace(stateful_callbacks={"TrainerControl": {}})
    staged.callback.on_train_begin(args, state, None)
    assert state.stateful_callbacks["StageCallback"] == staged.callback.state()
    assert staged.stage == "easy"


def test_what_cannot_be_stages_is_refused() -> None:
    functions = reward_funcs("gelato")
    datasets = pytest.importorskip("datasets")
    good = data("click", ALL, 1)
    for said, named in {
        "no stages are given": {},
        "stage 'a': its data set has no rows": {"a": good.select([])},
        "stage 'a': got the columns sample_id; expected prompt": {"a": datasets.Dataset.from_dict({"sample_id": [1]})},
        "stage 'a': got [{'prompt': 1}]; expected a datasets.Dataset": {"a": [{"prompt": 1}]},
        "stage 'a': got 5; expected a datasets.Dataset": {"a": 5},
        "stage 1: got Dataset(": {1: good},
        "source: got 5; expected a directory of stages, or data sets by name": 5,
    }.items():
        with pytest.raises(PoolError) as caught:
            stages(named, functions)  # type: ignore[arg-type]
        assert said in str(caught.value)
    for said, options in {
        "epochs: got (1, 2, 3); expected a whole number from 1 for each stage": {"gate": None, "epochs": (1, 2, 3)},
        "epochs: got 'ab'; expected": {"gate": None, "epochs": "ab"},
        "epochs: got True; expected": {"gate": None, "epochs": True},
        "gate and epochs: with a gate, no stage ends after its epochs": {"epochs": 1},
        "gate: got 'x'; expected a StageGate, or None": {"gate": "x"},
        "places: got 0; expected a whole number from 1": {"places": 0},
        "seed: got -1; expected a whole number from 0": {"seed": -1},
    }.items():
        with pytest.raises(PoolError) as caught:
            easy_and_hard(functions, **options)
        assert said in str(caught.value)
    assert easy_and_hard(functions, gate=None, epochs=None).epochs == (1, 1)
    for wrong in ([print], [], functions[0]):
        with pytest.raises(PoolError, match=r"functions: got .*; expected what reward_funcs returned, a list"):
            easy_and_hard(wrong)
    # Each list scores every rollout, which would count twice.
    with pytest.raises(PoolError, match=r"functions: got gelato, other, of several calls of reward_funcs, which each"):
        easy_and_hard([*functions, *reward_funcs("gelato", name="other")])
    split = reward_funcs("gelato", split=True, format_weight=0.5)
    assert (len(split), easy_and_hard(split).stage) == (2, "easy")
    staged = easy_and_hard(functions)
    with pytest.raises(PoolError, match=r"checkpoint: has the stages \['x'\]; expected \['easy', 'hard'\]"):
        staged.restore({**staged.state(), "stages": ["x"]})
