"""Scorers: made once for the options of a launch, one for each trainer, and what is kept of rows."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards_adapters import _scorer, easyr1, easyr1_sequential
from grounding_rewards_adapters import verl as verl_adapter
from grounding_rewards_adapters._launch import Settings
from grounding_rewards_adapters.trl import reward_funcs

PIXEL = {"name": "click", "response_space": "pixel"}
BOX = {"bbox": [10, 10, 30, 20]}
BAD = {"bbox": [1]}
HALVED = "def constant(rollouts):\n    return [0.5] * len(rollouts)\n"


def row(text: str, truth: Any) -> dict[str, Any]:
    return {"response": text, "response_length": 5, "ground_truth": truth}


def scorers() -> list[_scorer.Scorer]:
    return list({id(each): each for each in _scorer._SCORERS.values()}.values())


def verl(text: str = "(20, 15)", truth: Any = BOX, **options: Any) -> dict[str, float]:
    return verl_adapter.compute_score("s", text, truth, None, **options)


def test_a_verifier_of_ones_own_gets_an_array_where_the_trainer_gives_one(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("def bonus(rollouts):\n    import numpy as np; return np.array(rollouts.extras['bonus']) / 2\n")
    part = {"verifier": f"{path}:bonus", "weight": 1.0, "low": 0, "high": 1}
    own = {"name": "composite", "response_space": "pixel", "parts": {"bonus": part}}
    (reward,) = reward_funcs(routes={"source": {"own": own, "point": PIXEL}})
    rows = {"completions": ["?", "(20, 15)", "?"], "target": [BOX] * 3, "source": ["own", "point", "own"]}
    for bonus in (np.array([0.5, 9.0, 1.5]), [np.float64(0.5), 9.0, 1.5]):
        assert reward(**rows, bonus=bonus, state=object()) == [0.25, 1.0, 0.75]


@pytest.mark.parametrize("lock", ["a scorer's", "the module's"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking beside threads, which is what is tried here
def test_a_fork_while_another_thread_scores(lock: str) -> None:
    verl(recipe=PIXEL)
    (scorer,) = scorers()
    held = scorer._lock if lock == "a scorer's" else _scorer._LOCK
    taken, go = threading.Event(), threading.Event()

    def hold() -> None:
        with held:
            taken.set()
            go.wait(20)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert taken.wait(20)
    child = os.fork()
    if child == 0:
        free = scorer._lock.acquire(timeout=5) and _scorer._LOCK.acquire(timeout=5)
        os._exit(0 if free else 3)
    go.set()
    holder.join(20)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("value", [1, True, 1.0])
def test_values_that_are_equal_in_python_make_scorers_of_their_own(value: Any) -> None:
    others = [other for other in (1, True, 1.0) if type(other) is not type(value)]
    keys = {Settings.of({"recipe": "gelato", "option": each}).key() for each in (value, *others)}
    assert len(keys) == 3
    assert verl(recipe="gelato", truth=[0.0, 0.0, 0.5, 0.5], diagnose=True)["valid"] == 1.0
    with pytest.raises(gr.RecipeError, match="diagnose: got 1; expected true or false"):
        verl(recipe="gelato", truth=[0.0, 0.0, 0.5, 0.5], diagnose=1)


def test_a_whole_number_after_true_is_not_taken_for_it() -> None:
    for flag in (True, False):
        assert verl(recipe=PIXEL, diagnose=flag)["acc"] == 1.0
        with pytest.raises(gr.RecipeError, match=f"diagnose: got {float(flag)}"):
            verl(recipe=PIXEL, diagnose=float(flag))


def test_options_that_are_changed_in_place_are_seen() -> None:
    missed = "(50, 15)"
    recipe: dict[str, Any] = {"name": "composite", "response_space": "pixel", "parts": {"hit": 0.75, "format": 0.25}}
    assert [verl(missed, recipe=recipe)["score"] for _ in range(2)] == [0.25, 0.25]
    recipe["parts"]["format"] = 0.5
    recipe["parts"]["hit"] = 0.5
    assert verl(missed, recipe=recipe)["score"] == 0.5
    assert len(scorers()) == 2
    routes: dict[str, Any] = {"data_source": {"s": recipe}}
    assert verl(missed, routes=routes)["score"] == 0.5
    routes["data_source"]["s"] = PIXEL
    assert verl(missed, routes=routes) == verl(missed, recipe=PIXEL)


def test_the_same_options_are_the_same_scorer_in_whatever_mapping() -> None:
    for _ in range(3):
        verl(recipe=dict(PIXEL))
    assert len(scorers()) == 1
    assert verl(recipe=PIXEL)["acc"] == 1.0
    assert len(scorers()) == 1


@pytest.mark.parametrize("routed", [False, True])
def test_a_file_in_another_directory_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, routed: bool
) -> None:
    for name, constant in (("a", 0.5), ("b", 0.25)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own.py").write_text(HALVED.replace("0.5", str(constant)))
    part = {"verifier": "own.py:constant", "weight": 1.0, "low": 0, "high": 1}
    own = {"name": "composite", "response_space": "pixel", "parts": {"constant": part}}
    options: dict[str, Any] = {"routes": {"data_source": {"s": own}}} if routed else {"recipe": own}
    found = []
    for name in "abab":
        monkeypatch.chdir(tmp_path / name)
        found.append(verl(**options)["score"])
    assert found == [0.5, 0.25, 0.5, 0.25]
    assert len(scorers()) == 2


def test_paths_in_routes_are_made_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    part = {"verifier": "own.py:constant", "weight": 1.0}
    given = {"routes": {"task": {"a": {"name": "composite", "parts": {"p": part}}, "b": "rec.py:made", "c": "gelato"}}}
    found = Settings.of(given).in_full().routes
    assert found is not None
    assert found["task"]["a"]["parts"]["p"]["verifier"] == f"{tmp_path / 'own.py'}:constant"
    assert (found["task"]["b"], found["task"]["c"]) == (f"{tmp_path / 'rec.py'}:made", "gelato")


def test_easyr1_sequential_has_a_scorer_and_patience_of_its_own() -> None:
    for _ in range(63):
        assert easyr1_sequential.compute_score(row("(20, 15)", BAD), recipe=PIXEL)["valid"] == 0.0
    with pytest.raises(gr.RecipeError, match="the first target cannot be used"):
        easyr1.compute_score([row("(20, 15)", BAD)], recipe=PIXEL)
    assert easyr1.compute_score([row("(20, 15)", BOX)], recipe=PIXEL)[0]["valid"] == 1.0
    with pytest.raises(gr.RecipeError, match="not one of the first 64 targets can be used"):
        easyr1_sequential.compute_score(row("(20, 15)", BAD), recipe=PIXEL)
    names = sorted(scorer.trainer.name for scorer in scorers())
    assert names == ["EasyR1", "EasyR1 (sequential)"]


def test_equal_recipes_in_two_routes_are_built_once(caplog: pytest.LogCaptureFixture) -> None:
    routes = {"source": {"a": PIXEL, "c": "gelato", "b": dict(PIXEL)}}
    (reward,) = reward_funcs(PIXEL, routes=routes)
    assert [recipe.name for recipe in reward.scorer.recipes] == ["click", "gelato"]
    assert (
        reward(completions=["(20, 15)"] * 256, target=[BOX] * 256, source=["a", "b", "other", None] * 64) == [1.0] * 256
    )
    assert len([record for record in caplog.records if "of the first 256 responses" in record.message]) == 1
