"""The function that verl's loader makes of a launch line, in many threads and in other processes."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from grounding_rewards.plugins.loading import load
from grounding_rewards_adapters import _scorer
from grounding_rewards_adapters import verl as adapter
from tests.adapters.own_terms import BOX, TOTALS
from tests.trainers.verl_launch import CLICK, FILE, LAUNCH, MARKS, PACKAGE, launched

pytestmark = MARKS

THREADS = 64
ROWS = [
    {
        "data_source": "clicks",
        "solution_str": text,
        "ground_truth": json.dumps(BOX) if row % 5 else {"bbox": None},
        "extra_info": {"index": row, "image_size": [100, 100]},
    }
    for row, text in enumerate([*TOTALS] * THREADS)
]


def reward(config: Any) -> Any:
    """Return the function that verl's loader makes of a launch line."""
    return importlib.import_module("verl.trainer.ppo.reward").get_custom_reward_fn(config)


def test_64_threads_give_what_one_gives_and_build_the_recipe_once(tmp_path: Path, base: Any) -> None:
    counted = tmp_path / "counted.py"
    counted.write_text(
        "import grounding_rewards as gr\nCALLS = []\n"
        "def build():\n    CALLS.append(1)\n"
        "    return gr.recipe('composite', response_space='pixel', parts={'hit': 0.9, 'format': 0.1})\n"
    )
    score, start = reward(launched(base, {"recipe": f"{counted}:build"})), Barrier(THREADS)

    def work(worker: int) -> list[dict[str, float]]:
        start.wait(60)
        return [score(**row) for row in ROWS[worker::THREADS]]

    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(work, range(THREADS)))
    assert load(f"{counted}:CALLS") == [1]
    alone = [adapter.compute_score(**row, **CLICK) for row in ROWS]
    assert [found[row % THREADS][row // THREADS] for row in range(len(ROWS))] == alone
    assert {row["score"] for row in alone} == {1.0, 0.1, 0.0}


def test_a_pool_of_forked_processes(base: Any) -> None:
    score = reward(launched(base, CLICK))
    adapter.compute_score(**ROWS[1], **CLICK)  # so that children are born with a recipe that was built already
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        jobs = [pool.submit(score, **row) for row in ROWS[:20]]
        assert [job.result(60) for job in jobs] == [score(**row) for row in ROWS[:20]]


def test_a_pool_of_spawned_processes(base: Any) -> None:
    loaded, options = reward(launched(base, CLICK)).args
    assert loaded is adapter.compute_score
    assert pickle.loads(pickle.dumps(loaded)) is loaded
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(loaded, **row, **options) for row in ROWS[:5]]
        assert [job.result(60)["score"] for job in jobs] == [0.0, 1.0, 0.1, 0.0, 1.0]


def test_a_function_loaded_by_path_goes_into_no_spawned_process(base: Any) -> None:
    loaded, _ = reward(launched(base, CLICK, str(FILE))).args
    with pytest.raises(pickle.PicklingError, match=r"import of module 'custom_module_.*' failed"):
        pickle.dumps(loaded)


def _score_anew(options: dict[str, Any], queue: Any) -> None:
    queue.put(adapter.compute_score(**ROWS[1], **options)["score"])


def test_a_process_forked_while_a_thread_builds_a_recipe() -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with _scorer._LOCK:
            held.set()
            done.wait(60)

    holder = Thread(target=hold)
    holder.start()
    held.wait(60)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_score_anew, args=({**CLICK, "answers": "last"}, queue))
    child.start()
    child.join(20)
    done.set()
    holder.join()
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0
    assert queue.get() == 1.0


def test_reward_kwargs_may_be_omegaconfs_own(base: Any) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    config = launched(base, CLICK, PACKAGE, f"+{LAUNCH}.reward_kwargs.answers=last")
    options = reward(config).args[1]
    assert isinstance(options["parts"], omegaconf.DictConfig)
    assert reward(config)(**ROWS[1])["score"] == 1.0
