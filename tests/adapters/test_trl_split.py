"""One function a part: what each returns, that one of them scores for all, and what cannot be split."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.combine import Combination, affine, asymmetric, best, clip, gate, product, steps, weighted
from grounding_rewards.testing.hostile import short_responses
from grounding_rewards.verifiers import Format, Hit
from grounding_rewards_adapters.trl import RecipeReward, contributions, reward_funcs, reward_weights

BOX = [0.0, 0.0, 0.5, 0.5]


def with_reward(reward: Any) -> gr.Recipe:
    return replace(gr.recipe("gelato"), name="own", reward=reward)


def weighted_sum(functions: list[RecipeReward], weights: list[float], **rows: Any) -> np.ndarray:
    """Σ weight · function, as a trainer adds them; NaN where they abstain."""
    columns = [np.array(function(**rows), dtype=np.float64) for function in functions]
    return np.sum([weight * column for weight, column in zip(weights, columns, strict=True)], axis=0)


def sums_to_the_total(recipe: Any, rows: dict[str, Any], **options: Any) -> None:
    (whole,) = reward_funcs(recipe, diagnose=False, **options)
    total = np.array(whole(**rows), dtype=np.float64)
    functions = reward_funcs(recipe, split=True, diagnose=False, **options)
    split = weighted_sum(functions, reward_weights(recipe, **options), **rows)
    np.testing.assert_allclose(split, total, rtol=0, atol=1e-12)
    assert np.isfinite(total).any()


@pytest.mark.parametrize("name", gr.list_recipes())
def test_every_recipe_is_split_or_refused(name: str) -> None:
    """All that come with the package are sums, so that none is refused."""
    options = shown_with(name)
    example = gr.recipe(name, **options).example
    assert example is not None
    said = [example.response, *example.group, *short_responses()]
    rows: dict[str, Any] = {"completions": said, "target": [example.target] * len(said)}
    for column, size in {"image_size": example.image_size, "model_image_size": example.model_image_size}.items():
        rows |= {} if size is None else {column: [size] * len(said)}
    sums_to_the_total(name, rows, num_generations=len(said), **options)


def test_what_a_sum_is_made_of() -> None:
    inner = weighted(hit=(2.0, Hit()), shape=(0.5, Format()))
    scaled = affine("inner", inner, scale=3.0)
    moved = affine("side", product(a=Hit(), b=Format()), scale=2.0, shift=-1.0)
    loose = clip("bounded", weighted(c=(0.5, Hit()), d=(0.5, Format())), low=0.0, high=1.0)
    tight = clip("limited", affine("more", Hit(), scale=3.0), low=0.0, high=1.0)
    low = clip("raised", affine("less", Hit(), scale=-3.0), low=-1.0, high=0.0)
    whole = weighted(
        scaled=(0.5, scaled), moved=(1.0, moved), loose=(2.0, loose), tight=(-1.0, tight), low=(1.0, low),
        idle=(0.0, Hit()),
    )  # fmt: skip
    recipe = with_reward(whole)
    sums = {"hit": 3.0, "shape": 0.75, "moved": 1.0, "c": 1.0, "d": 1.0, "tight": -1.0, "low": 1.0}
    assert contributions(recipe) == sums
    sums_to_the_total(recipe, {"completions": ["(250, 250)", "(900, 900)", "?"], "target": [BOX] * 3})


@pytest.mark.parametrize(
    "reward",
    [
        Hit(),
        product(a=Hit(), b=Format()),
        best(a=Hit(), b=Format()),
        gate(when=("a", Format()), then=("b", Hit())),
        steps("a", Hit(), edges=[0.5], values=[-1.0, 1.0]),
        asymmetric("a", affine("b", Hit(), scale=2.0, shift=-1.0), positive=2.0),
        affine("a", weighted(b=(1.0, Hit())), shift=-1.0),
        clip("a", weighted(b=(1.0, Hit()), c=(1.0, Format())), low=0.0, high=1.0),
    ],
    ids=repr,
)
def test_what_is_no_sum_is_refused(reward: Any) -> None:
    recipe, kind = with_reward(reward), getattr(reward, "op", "Hit")
    assert len(reward_funcs(recipe)) == 1
    for make in (lambda: reward_funcs(recipe, split=True), lambda: reward_weights(recipe)):
        with pytest.raises(gr.RecipeError, match=f"own is no sum of parts, but {kind}"):
            make()


def test_a_combination_of_ones_own_is_one_part_however_it_is_made() -> None:
    class Doubled(Combination):
        def join(self, columns: Any) -> Any:
            return 2.0 * super().join(columns)

    inner = Doubled("weighted", (("a", Hit()),), (("weights", (0.25,)),))
    with pytest.raises(gr.RecipeError, match="own is no sum of parts, but Doubled"):
        contributions(with_reward(inner))
    assert contributions(with_reward(weighted(part=(0.5, inner)))) == {"part": 0.5}


def test_nothing_and_routes_are_refused() -> None:
    with pytest.raises(gr.RecipeError, match="own gives each part the weight 0"):
        reward_funcs(with_reward(weighted(a=(0.0, Hit()))), split=True)
    with pytest.raises(gr.RecipeError, match="got routes to gelato, gta1; their parts have no weights in common"):
        reward_funcs(routes={"kind": {"a": "gelato", "b": "gta1"}}, split=True)


def test_weights_take_the_options_of_the_functions() -> None:
    options: dict[str, Any] = {"format_weight": 0.25, "target_column": "truth", "name": "mine", "image_index": 0}
    functions = reward_funcs("gelato", split=True, num_generations=2, **options)
    assert [function.__name__ for function in functions] == ["mine/distance", "mine/format"]
    assert reward_weights("gelato", num_generations=2, **options) == [0.75, 0.25]
    assert reward_weights({"name": "gelato", "format_weight": 1.0}) == [1.0]


def test_weights_leave_nothing_behind(tmp_path: Path) -> None:
    options: dict[str, Any] = {"format_weight": 0.25, "record": str(tmp_path / "rollouts")}
    options |= {"record_columns": ["ui_type"], "num_generations": 4, "num_generations_eval": 2}
    assert reward_weights("gelato", **options) == [0.75, 0.25]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("split", ["false", 1, 0, None])
def test_split_is_true_or_false(split: Any) -> None:
    with pytest.raises(gr.RecipeError, match=r"split: got .*; expected True or False"):
        reward_funcs("gelato", split=split)


def counted() -> tuple[gr.Recipe, list[int]]:
    calls: list[int] = []

    def count(rollouts: gr.Rollouts) -> Any:
        calls.append(len(rollouts))
        return np.zeros(len(rollouts))

    term = gr.verifier(count, low=0.0, high=1.0)
    return with_reward(weighted(hit=(1.0, Hit()), shape=(1.0, Format()), counted=(1.0, term))), calls


def rows(*texts: str) -> dict[str, Any]:
    return {"completions": list(texts), "target": [BOX] * len(texts)}


def test_a_batch_is_scored_once_for_all_functions() -> None:
    recipe, calls = counted()
    functions = reward_funcs(recipe, split=True)
    logged: list[str] = []
    for texts in (("(250, 250)", "?"), ("(900, 900)", "(1, 1)")):
        batch = rows(*texts)
        found = [function(**batch, log_metric=lambda name, _: logged.append(name)) for function in functions]
        assert found[0] == [float(text in ("(250, 250)", "(1, 1)")) for text in texts]
        assert found[1] == [float("(" in text) for text in texts]
    assert calls == [2, 2]
    assert logged.count("own/acc") == 2


def test_extra_columns_are_logged_once_a_batch() -> None:
    recipe, _ = counted()
    table: dict[str, list[Any]] = {}
    batch = rows("(250, 250)", "?")
    for function in reward_funcs(recipe, split=True):
        function(**batch, log_extra=lambda name, values: table.setdefault(name, []).extend(values))
    assert table["own/xy_unit"] == [[0.25, 0.25], None]
    assert table["own/reason"] == ["ok", "no_answer"]
    assert table["own/total"] == [2.0, 0.0]
    assert table["own/rollout"] == [".0.0", ".0.1"]


def test_other_objects_and_changed_ones_are_scored_anew() -> None:
    recipe, calls = counted()
    hit, shape, _ = reward_funcs(recipe, split=True)
    batch = rows("(250, 250)")
    assert (hit(**batch), shape(**batch)) == ([1.0], [1.0])
    assert hit(**batch) == [1.0]
    assert len(calls) == 2
    batch["completions"][0] = "?"
    assert (shape(**batch), hit(**batch)) == ([0.0], [0.0])
    assert len(calls) == 3
    assert shape(**{**batch, "target": [[0.5, 0.5, 1.0, 1.0]]}) == [0.0]
    assert shape(**batch, more=["x"]) == [0.0]
    assert len(calls) == 5


def test_a_message_that_is_changed_inside_is_scored_anew() -> None:
    recipe, calls = counted()
    hit, shape, _ = reward_funcs(recipe, split=True)
    message = {"role": "assistant", "content": "(250, 250)"}
    batch = {"completions": [[message]], "target": [BOX]}
    assert hit(**batch) == [1.0]
    message["content"] = "?"
    assert shape(**batch) == [0.0]
    assert len(calls) == 2


@pytest.mark.parametrize("more", [["x"], ("x",), "x"], ids=type)
def test_columns_that_come_or_go_are_scored_anew(more: Any) -> None:
    recipe, calls = counted()
    batch = rows("(250, 250)")
    for first, second in (({}, {"more": more}), ({"more": more}, {})):
        hit, shape, _ = reward_funcs(recipe, split=True)
        calls.clear()
        assert (hit(**batch, **first), shape(**batch, **second)) == ([1.0], [1.0])
        assert len(calls) == 2


def test_what_others_have_not_taken_yet_is_not_pickled() -> None:
    hit, shape = reward_funcs("gelato", split=True, format_weight=0.5)
    batch = {**rows("(250, 250)"), "unpicklable": [lambda: None]}
    assert hit(**batch) == [1.0]
    copy = pickle.loads(pickle.dumps(shape))
    assert copy.batches._last is None
    assert copy(**rows("(250, 250)")) == [1.0]
    assert shape(**batch) == [1.0]


def test_what_all_have_taken_is_let_go() -> None:
    functions = reward_funcs(counted()[0], split=True)
    batch = rows("(250, 250)")
    for function in functions:
        function(**batch)
    assert functions[0].batches._last is None


def test_functions_that_are_called_at_the_same_time_share_too() -> None:
    recipe, calls = counted()
    functions = reward_funcs(recipe, split=True)
    with ThreadPoolExecutor(3) as pool:
        for step in range(20):
            batch = rows("(250, 250)", *["?"] * step)
            found = list(pool.map(lambda function, given=batch: function(**given), functions))
            assert found[0] == [1.0, *[0.0] * step]
    assert len(calls) == 20


def test_split_functions_abstain_together_and_pickle_together() -> None:
    functions = reward_funcs("gelato", split=True, format_weight=0.5)
    copies = pickle.loads(pickle.dumps(functions))
    assert copies[0].batches is copies[1].batches
    assert pickle.loads(pickle.dumps(copies[1])).__name__ == "gelato/format"
    for pair in (functions, copies):
        batch = {"completions": ["(250, 250)"] * 2, "target": [BOX, [0.5, 0.5, 0.1, 0.1]]}
        assert [function(**batch) for function in pair] == [[1.0, None], [1.0, None]]
