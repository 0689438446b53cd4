"""Every reward manager of verl 0.9.1 gets the same scores from the adapter, and the legacy ones too."""

from __future__ import annotations

import importlib
import math
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grounding_rewards_adapters import verl as adapter
from tests.adapters.own_terms import BOX, TOTALS
from tests.trainers.verl_launch import (
    CLICK,
    HOSTILE,
    KEYS,
    LAUNCH,
    MARKS,
    PACKAGE,
    batch,
    launched,
    managed,
    rows,
    tokenizer,
)

pytestmark = MARKS

SCORES = [1.0, 1.0, 0.1, 0.0]
"""Scores of the four responses under CLICK."""
ACCS = [1.0, 1.0, 0.0, 0.0]


@pytest.fixture(autouse=True)
def _own_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate-limited manager keeps its semaphore in the class, bound to the first event loop that waited for it."""
    limited = importlib.import_module("verl.experimental.reward_loop.reward_manager.limited")
    monkeypatch.setattr(limited.RateLimitedRewardManager, "_class_initialized", False)


def manager(name: str, *overrides: str, function: str = "compute_score") -> list[str]:
    return [f"reward.reward_manager.name={name}", f"{LAUNCH}.name={function}", *overrides]


@pytest.mark.parametrize("function", ["compute_score", "compute_score_async"])
@pytest.mark.parametrize("name", ["naive", "dapo", "gdpo", "rate_limited"])
def test_managers_of_the_reward_loop(lab: Path, base: Any, name: str, function: str) -> None:
    config = launched(base, CLICK, PACKAGE, *manager(name, function=function))
    found = managed(lab, config, batch(list(TOTALS)))
    assert [row["reward_score"] for row in found] == SCORES
    for row, score, acc in zip(found, SCORES, ACCS, strict=True):
        extra = row["reward_extra_info"]
        assert list(extra) == KEYS
        assert {type(value) for value in extra.values()} == {float}
        assert (extra["score"], extra["acc"], extra["valid"]) == (score, acc, 1.0)


@pytest.mark.parametrize("function", ["compute_score", "compute_score_async"])
@pytest.mark.parametrize("name", ["naive", "dapo", "gdpo", "rate_limited"])
def test_a_data_set_without_extra_info_and_with_a_reward_model(lab: Path, base: Any, name: str, function: str) -> None:
    config = launched(base, CLICK, PACKAGE, *manager(name, function=function))
    data = rows(["(20, 15)"], [BOX], None)
    (found,) = managed(lab, config, data, reward_router_address="judge:80", reward_model_tokenizer=tokenizer(lab))
    assert (found["reward_score"], list(found["reward_extra_info"])) == (1.0, KEYS)


def test_dapos_penalty_for_length_leaves_acc_and_the_parts_alone(lab: Path, base: Any) -> None:
    buffer = "+reward.reward_kwargs.overlong_buffer_cfg={enable: true, len: 1, penalty_factor: 0.5, log: true}"
    config = launched(base, CLICK, PACKAGE, *manager("dapo", buffer, "+reward.reward_kwargs.max_resp_len=2"))
    found = managed(lab, config, batch(["(20, 15)", "(50, 15)"]))
    assert [float(row["reward_score"]) for row in found] == pytest.approx([0.5, -0.4])
    for row, (score, acc) in zip(found, [(1.0, 1.0), (0.1, 0.0)], strict=True):
        extra = row["reward_extra_info"]
        assert list(extra) == [*KEYS, "overlong_reward", "overlong"]
        assert (extra["score"], extra["acc"]) == (score, acc)


def test_what_the_gdpo_manager_adds_reaches_own_verifiers(lab: Path, base: Any) -> None:
    term = "def named(rollouts): return [float(name == 'gui') for name in rollouts.extras['experiment_name']]"
    (lab / "named_terms.py").write_text(term)
    part = {"verifier": f"{lab}/named_terms.py:named", "weight": 1.0, "low": 0, "high": 1}
    options = {"recipe": "composite", "response_space": "pixel", "parts": {"named": part}}
    config = launched(base, options, PACKAGE, *manager("gdpo", "trainer.experiment_name=gui"))
    assert managed(lab, config, batch(["(20, 15)"]))[0]["reward_score"] == 1.0


def test_the_rate_limited_manager_hides_a_mistake_in_the_launch_line(lab: Path, base: Any) -> None:
    found = managed(lab, launched(base, {}, PACKAGE, *manager("rate_limited")), batch(["(20, 15)"]))
    assert found[0]["reward_score"] == 0.0
    assert list(found[0]["reward_extra_info"]) == ["error", "acc"]
    assert f"set {LAUNCH}.reward_kwargs.recipe" in found[0]["reward_extra_info"]["error"]


GOOD = {"index": 0, "image_size": [100, 100]}
ODD_TRUTHS = [None, "", "{", "[1, 2", [], {}, [10, 10], {"bbox": [30, 10, 10, 20]}, {"bbox": None}, f"[{'9' * 400}, 1]",
              {"bbox": [10, math.nan, 30, 20]}, np.array([1.0, 2.0]), 7, b"[10, 10, 30, 20]", '"\ud800"',
              {"polygon": [0, 0, 1, 1]}]  # fmt: skip
ODD_EXTRAS: list[dict[Any, Any]] = [
    {},
    {"image_size": [math.nan, 5]},
    {"image_size": None, "index": None, "polygon": None},
    {"image_size": np.array([100, 100]), "index": np.int64(3), "boxes": np.zeros((2, 4))},
    {"image_size": "large", "model_image_size": {}, "data_source": "another", "recipe": "gelato"},
    {"image_size": [10**400, 1], 7: [None]},
]


@pytest.mark.parametrize("name", ["naive", "dapo", "gdpo", "rate_limited"])
def test_rows_that_are_malformed_among_good_ones(lab: Path, base: Any, name: str) -> None:
    odd = [("(20, 15)", truth, dict(GOOD)) for truth in ODD_TRUTHS]
    odd += [("(20, 15)", BOX, dict(extra)) for extra in ODD_EXTRAS]
    odd += [(text, BOX, dict(GOOD)) for text in HOSTILE]
    mixed = [("(20, 15)", BOX, dict(GOOD))]
    for row in odd:
        mixed += [row, ("(20, 15)", BOX, dict(GOOD))]
    texts, truths, extras = zip(*mixed, strict=True)
    found = managed(lab, launched(base, CLICK, PACKAGE, *manager(name)), rows(texts, truths, extras))
    infos = [row["reward_extra_info"] for row in found]
    assert {tuple(info) for info in infos} == {tuple(KEYS)}
    assert {type(value) for info in infos for value in info.values()} == {float}
    assert all(math.isfinite(value) for info in infos for value in info.values())
    good, bad = infos[::2], infos[1::2]
    assert good == [dict(zip(KEYS, [1.0] * 7, strict=True))] * len(good)
    scored = [(info["score"], info["valid"]) for info in bad]
    assert scored[: len(ODD_TRUTHS)] == [(0.0, 0.0)] * len(ODD_TRUTHS)
    assert scored[len(ODD_TRUTHS) : -len(HOSTILE)] == [(1.0, 1.0)] * len(ODD_EXTRAS)
    assert [info["acc"] for info in bad[-len(HOSTILE) :]] == [0.0] * len(HOSTILE)
    assert [info["valid"] for info in bad[-len(HOSTILE) :]] == [1.0] * len(HOSTILE)


def legacy(name: str, lab: Path, function: Any, **given: Any) -> Any:
    registry = importlib.import_module("verl.workers.reward_manager")
    made = registry.get_reward_manager_cls(name)
    if name == "rate_limited":
        return made(None, tokenizer(lab), function)
    if name == "dapo":  # up to verl 0.8 it fails without
        given = {"max_resp_len": 2, "overlong_buffer_cfg": SimpleNamespace(enable=False, len=1)}
    return made(tokenizer=tokenizer(lab), num_examine=0, compute_score=function, **given)


@pytest.mark.parametrize("name", ["naive", "dapo", "rate_limited"])
def test_legacy_managers(lab: Path, name: str) -> None:
    found = legacy(name, lab, partial(adapter.compute_score, **CLICK))(batch(list(TOTALS)), return_dict=True)
    assert found["reward_tensor"][:, 1].tolist() == pytest.approx(SCORES)
    assert found["reward_tensor"][:, 0].tolist() == [0.0] * 4
    assert found["reward_extra_info"]["acc"] == ACCS
    assert list(found["reward_extra_info"]) == KEYS


@pytest.mark.parametrize("extras", [True, False])
def test_the_legacy_batch_manager(lab: Path, extras: bool) -> None:
    data = rows([*TOTALS, "(20, 15)"], [BOX, np.array([10, 10, 30, 20]), "[10, 10, 30, 20]", BOX, None],
                [{"index": row, "image_size": np.array([100, 100])} for row in range(5)] if extras else None,
                ["clicks"] * 4 + ["others"])  # fmt: skip
    before = deepcopy(data.non_tensor_batch)
    found = legacy("batch", lab, adapter.compute_score_batch, **CLICK)(data, return_dict=True)
    assert found["reward_tensor"][:, 1].tolist() == pytest.approx([*SCORES, 0.0])
    assert found["reward_extra_info"]["valid"] == [1.0] * 4 + [0.0]
    assert found["reward_extra_info"]["acc"] == [*ACCS, 0.0]
    assert list(found["reward_extra_info"]) == KEYS
    if extras:
        assert [set(extra) - {"rollout_reward_scores"} for extra in data.non_tensor_batch["extra_info"]] == [
            set(extra) for extra in before["extra_info"]
        ]


def test_the_legacy_prime_manager_takes_the_bare_number(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prime = importlib.import_module("verl.workers.reward_manager.prime")
    score = prime.run_reward_scoring
    monkeypatch.setattr(
        prime, "run_reward_scoring", lambda *given, **named: score(*given, **{**named, "num_processes": 1})
    )
    texts = ["(20, 15)", "no idea, no", "(50, 15)"]
    data = batch(texts)
    found = legacy("prime", lab, partial(adapter.compute_total, **CLICK))(data, return_dict=True)
    assert found["reward_tensor"][:, 1].tolist() == pytest.approx([1.0, 0.0, 0.1])
    assert data.batch["acc"].tolist() == pytest.approx([1.0, 0.0, 0.1])
    dicts = legacy("prime", lab, partial(adapter.compute_score, **CLICK))(batch(texts))
    assert dicts.tolist() == [[0.0, 0.0]] * 3
