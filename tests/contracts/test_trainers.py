"""Twelve responses by every trainer's path: the same total, acc and valid, to the last bit.

Each path goes through the trainer itself where its package is installed (`make matrix`), else through what the
trainer was seen to do: how it loads the adapter, what it calls it with, and what it reads back.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import grounding_rewards as gr
import grounding_rewards_adapters
from grounding_rewards_adapters import areal, easyr1, easyr1_sequential, slime, verifiers, verl
from grounding_rewards_adapters.trl import reward_funcs
from tests.contracts.restated import REAL, restated

FOLDER = Path(grounding_rewards_adapters.__file__).parent
LAUNCHES = Path(__file__).parents[2] / "examples" / "launch"
OPTIONS: dict[str, Any] = {"recipe": "gelato", "format_weight": 0.1, "diagnose": False}
RECIPE = gr.recipe("gelato", format_weight=0.1, trim=True)
BOX = {"bbox": [0.1, 0.1, 0.5, 0.5], "id": "a"}
BAD = {"bbox": [0.5, 0.5], "id": "b"}
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("(250, 250)", BOX),
    ("(300, 301)", BOX),
    ("(900, 900)", BOX),
    ("I cannot see it.", BOX),
    ("", BOX),
    ("(300, 301)<|im_end|>", BOX),
    ("(300, 301)<|im_end|>\n<|endoftext|><|endoftext|>", BOX),
    ("(300, 301)</s> <pad>\n", BOX),
    ("(250, 250) or (900, 900)", BOX),
    ("(" * 5000, BOX),
    (f"({'9' * 400}, 1)", BOX),
    ("(250, 250)", BAD),
]
_OWN: dict[str, Any] = {
    "response_space": "thousandths", "target_space": "unit",
    "parts": {"gaussian_point": 0.5, "correct_refusal": 0.4, "format": 0.1},
}  # fmt: skip
REFUSALS = {"recipe": "composite", **_OWN, "diagnose": False}
REFUSING = gr.recipe("composite", trim=True, **_OWN)
SIZED, NOTHING = {**BOX, "image_size": [1000, 1000]}, {"refusal": True, "id": "c"}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("(250, 250)", SIZED),
    ("(900, 900)", SIZED),
    ("refusal", SIZED),
    ("I cannot see it.", SIZED),
    ("refusal", NOTHING),
    ("refusal<|im_end|>", NOTHING),
    ("(-1, -1)", NOTHING),
    ("(250, 250)", NOTHING),
    ("", NOTHING),
    ("refusal " * 5000, NOTHING),
    ("refusal, or (250, 250)", NOTHING),
    ("refusal", BAD),
]
TEXTS, TARGETS = [text for text, _ in ROWS], [target for _, target in ROWS]
PLACE = "grounding_rewards_adapters.{}"


def test_the_rows_are_of_many_kinds() -> None:
    scores = RECIPE.score(TEXTS, TARGETS, bad_target="abstain")
    assert scores.acc.tolist() == [1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0]
    assert scores.valid.tolist() == [1] * 11 + [0]
    assert len(set(scores.total.tolist())) == 4
    assert gr.recipe("gelato", format_weight=0.1).score(TEXTS, TARGETS, bad_target="abstain").acc.sum() == 2
    texts, targets = [text for text, _ in REFUSED], [target for _, target in REFUSED]
    refused = REFUSING.score(texts, targets, bad_target="abstain")
    assert refused.acc.tolist() == [1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    assert refused.valid.tolist() == [1] * 11 + [0]
    assert len(set(refused.total.tolist())) == 5


@pytest.fixture(autouse=True)
def _options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps(OPTIONS))


def loaded(path: Path, name: str = "loaded_by_path") -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Row = tuple[float | None, float | None, float | None]
"""Total, acc and valid; None for what the trainer does not get."""


def trl(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    (function,) = reward_funcs(**OPTIONS)
    return [(total, None, float(total is not None)) for total in function(completions=TEXTS, target=TARGETS)]


def of_verl(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    found = [verl.compute_score("", text, target, {}, **OPTIONS) for text, target in ROWS]
    assert verl.compute_score_batch([""] * 12, TEXTS, TARGETS, **OPTIONS) == found

    async def together() -> Any:
        return await asyncio.gather(*[verl.compute_score_async("", *row, {}, **OPTIONS) for row in ROWS])

    assert asyncio.run(together()) == found
    if REAL == "verl":
        for function in _by_verls_loader():
            assert [function("", text, target, {}) for text, target in ROWS] == found
    return [(row["score"], row["acc"], row["valid"]) for row in found]


def _by_verls_loader() -> Iterator[Callable[..., Any]]:
    """Yield the reward by each form of path that the installed verl knows: 0.6.1 loads files alone."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import get_custom_reward_fn

    for path in (str(FOLDER / "verl.py"), f"pkg://{PLACE.format('verl')}")[: 1 if version("verl") == "0.6.1" else 2]:
        launch = {"custom_reward_function": {"path": path, "name": "compute_score", "reward_kwargs": OPTIONS}}
        yield get_custom_reward_fn(OmegaConf.create({**launch, "reward": launch}))  # up to 0.7.0 not below reward


def of_easyr1(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    inputs = [{"response": text, "response_length": 9, "ground_truth": target} for text, target in ROWS]
    found = easyr1.compute_score(inputs, **OPTIONS)
    assert [easyr1_sequential.compute_score(row, **OPTIONS) for row in inputs] == found
    return [(row["overall"], row["accuracy"], row["valid"]) for row in found]


def swift(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    orms = restated(monkeypatch, "swift").orms
    loaded(FOLDER / "ms_swift" / "plugin.py")
    function = orms["grounding_rewards"](args=SimpleNamespace(num_generations=2))
    assert function.__name__ == OPTIONS["recipe"]
    columns = {"target": TARGETS, "prompt_id": ["prompt_0"] * 12, "trainer_state": None}
    totals = function(TEXTS, **columns)
    if REAL == "swift":
        import torch
        from swift.rl_core.data import GRPOSample
        from swift.rl_core.grpo_algorithm import compute_rewards_per_func
        from swift.template.template_inputs import TemplateInputs

        chats = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": text}] for text in TEXTS]
        rows = [{"messages": chat, "target": target} for chat, target in zip(chats, TARGETS, strict=True)]
        samples = [GRPOSample.from_row(row) for row in rows]
        boxed = {"messages": chats[0], "images": ["a.png"], "objects": {"bbox": [[10, 20, 30, 40]]}}
        template = TemplateInputs.from_dict(boxed).chosen  # whose boxes are rescaled: a copy
        template.objects["bbox"][0][0] = 999
        seen = {}
        compute_rewards_per_func(
            [GRPOSample.from_row(boxed)],
            [lambda _, **columns: seen.update(columns) or [0.0]],
            None,
            torch.device("cpu"),
        )
        assert seen["objects"] == [{"bbox": [[10, 20, 30, 40]]}]
        found = compute_rewards_per_func(samples, [function], None, torch.device("cpu"))
        wanted = torch.tensor([[float("nan") if total is None else total] for total in totals])
        assert torch.equal(found.nan_to_num(-1), wanted.nan_to_num(-1))
    return [(total, None, float(total is not None)) for total in totals]


def of_verifiers(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    found = []
    for text, target in ROWS:
        if REAL == "verifiers":
            import verifiers.v1 as vf

            class Data(vf.TaskData):
                target: dict[str, Any]

            named = {name: {"fn": f"{PLACE.format('verifiers')}:{name}"} for name in ("reward", "metrics")}
            config = vf.TaskConfig(rewards={"grounding": named["reward"]}, metrics={"parts": named["metrics"]})
            task = vf.Task(Data(target=target, prompt="?"), config)
            nodes = [vf.MessageNode(message=vf.AssistantMessage(content=text), sampled=True)]
            agent = vf.AgentInfo(config=vf.AgentConfig())
            trace = vf.Trace(task=vf.TraceTask(type="Task", data=task.data), agent=agent, nodes=nodes)
            asyncio.run(task.score(trace))
            total, metrics = trace.rewards["grounding"].score, trace.metrics
        else:
            kind = type("Data", (), {"model_fields": ("target",), "target": target})
            total = asyncio.run(verifiers.reward(task=kind(), trace=SimpleNamespace(last_reply=text.strip())))
            metrics = asyncio.run(verifiers.metrics(task=kind(), trace=SimpleNamespace(last_reply=text.strip())))
        assert metrics["total"] == total
        found.append((total, metrics["acc"], metrics["valid"]))
    return found


def openrlhf(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    pytest.importorskip("torch")
    function, found = loaded(FOLDER / "openrlhf.py").reward_func, []
    for text, target in ROWS:  # a batch of one, prompt and answer in one text
        said = function([f"<|im_start|>(1, 1)?{text}"], ["<|im_start|>(1, 1)?"], [json.dumps(target)])
        assert {name: tuple(column.shape) for name, column in said["extra_logs"].items() if column.shape != (1,)} == {}
        (total,), (acc,), (valid,) = (
            column.tolist() for column in (said["rewards"], said["scores"], said["extra_logs"]["valid"])
        )
        found.append((total, acc, valid))
    return found


def of_slime(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    samples = [SimpleNamespace(response=text, label=target, metadata={}) for text, target in ROWS]
    one, key = SimpleNamespace(reward_key=None), SimpleNamespace(reward_key="total")
    totals = [asyncio.run(slime.reward(one, sample)) for sample in samples]
    assert asyncio.run(slime.reward(one, samples)) == totals
    rows = asyncio.run(slime.reward(key, samples))
    assert [row["total"] for row in rows] == totals
    return [(row["total"], row["acc"], row["valid"]) for row in rows]


def of_areal(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    call = partial(areal.reward, "?")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(call, text, [1], [2], target=target, options="os:abort") for text, target in ROWS]
        return [(each.result(), None, None) for each in futures]


def skyrl(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    known: dict[str, str] = {}
    restated(monkeypatch, "skyrl")
    gym = sys.modules["skyrl_gym"]
    if REAL != "skyrl_gym":
        monkeypatch.setattr(gym, "register", lambda id, entry_point: known.update({id: entry_point}), raising=False)
        monkeypatch.setattr(gym, "make", lambda id, **given: adapter.GroundingEnv(**given), raising=False)
    adapter, found = import_module(PLACE.format("skyrl")), []
    adapter.register()
    for text, target in ROWS:
        extras = {"reward_spec": {"ground_truth": target}, "env_class": "grounding_rewards"}
        env = gym.make("grounding_rewards", env_config={}, extras=extras)
        step, metrics = env.step(text), env.get_metrics()
        assert (step["observations"], step["done"]) == ([], True)
        found.append((step["reward"], metrics["acc"], metrics["valid"]))
    return found


def nemo_gym(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    restated(monkeypatch, "nemo_gym")
    adapter = import_module(PLACE.format("nemo_gym"))
    post = _served(adapter) if REAL == "nemo_gym" else _verified(adapter)
    said = [post(text, target) for text, target in ROWS]
    assert [each["mask_sample"] for each in said] == [False] * 11 + [True]
    return [(each["reward"], each["acc"], each["valid"]) for each in said]


def _verified(adapter: Any) -> Callable[[str, Any], dict[str, Any]]:
    server = adapter.GroundingServer(config=adapter.Config())

    def post(text: str, target: Any) -> dict[str, Any]:
        parts = [{"type": "output_text", "text": each} for each in ("(1, 1)", text)]  # the last one counts
        output = [{"type": "reasoning"}, *({"type": "message", "content": [each]} for each in parts)]
        body = adapter.Request(response={"output": output}, target=target)
        said: dict[str, Any] = asyncio.run(server.verify(body)).model_dump()
        return said

    return post


def _served(adapter: Any) -> Callable[[str, Any], dict[str, Any]]:
    from unittest.mock import MagicMock

    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    config = adapter.Config(host="127.0.0.1", port=1, entrypoint="app.py", name="grounding")
    server = adapter.GroundingServer(config=config, server_client=MagicMock(spec=ServerClient))
    client = TestClient(server.setup_webserver())

    def post(text: str, target: Any) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        response = {
            "id": "r", "created_at": 0, "model": "m", "object": "response", "output": [message],
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
        }  # fmt: skip
        asked = {"responses_create_params": {"input": [{"role": "user", "content": "?"}]}, "response": response}
        said = client.post("/verify", json={**asked, "target": target})
        assert said.status_code == 200
        values: dict[str, Any] = said.json()
        return values

    return post


def openenv(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    restated(monkeypatch, "openenv")
    adapter = import_module(PLACE.format("openenv"))
    env = adapter.GroundingEnv([{"instruction": "first", "target": BOX}, {"instruction": "second", "target": BOX}])
    shown = [env.reset().instruction, env.reset().instruction, env.reset(index=0).instruction]
    assert shown == ["first", "second", "first"]
    found = []
    with _session(adapter) if REAL == "openenv" else nullcontext(_stepped(adapter)) as ask:
        for text, target in ROWS:
            screen = ask("reset", {"instruction": "?", "image": "a.png", "target": target})
            assert "bbox" not in json.dumps(screen)
            assert (screen["done"], screen["observation"]["instruction"]) == (False, "?")
            said = ask("step", {"response": text})
            values = said["observation"]["metadata"]
            assert said["done"]
            found.append((said["reward"], values["acc"], values["valid"]))
    return found


def _stepped(adapter: Any) -> Callable[[str, dict[str, Any]], Any]:
    env = adapter.GroundingEnv()

    def ask(kind: str, data: dict[str, Any]) -> dict[str, Any]:
        screen = env.reset(**data) if kind == "reset" else env.step(adapter.Answer(**data))
        assert env.state.step_count == (kind == "step")
        return {"observation": screen.model_dump(), "reward": screen.reward, "done": screen.done}

    return ask


@contextmanager
def _session(adapter: Any) -> Iterator[Callable[[str, dict[str, Any]], Any]]:
    from fastapi.testclient import TestClient
    from openenv.core.env_server import create_fastapi_app

    app = create_fastapi_app(adapter.GroundingEnv, adapter.Answer, adapter.Screen)
    with TestClient(app).websocket_connect("/ws") as socket:

        def ask(kind: str, data: dict[str, Any]) -> Any:
            socket.send_json({"type": kind, "data": data})
            return socket.receive_json()["data"]

        yield ask


@pytest.fixture(params=["places", "refusals"])
def recipe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> gr.Recipe:
    """A recipe of twelve rows, which the paths below read."""
    if request.param == "places":
        return RECIPE
    options = {"OPTIONS": REFUSALS, "ROWS": REFUSED, "TEXTS": [text for text, _ in REFUSED]}
    for name, value in {**options, "TARGETS": [target for _, target in REFUSED]}.items():
        monkeypatch.setitem(globals(), name, value)
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps(REFUSALS))
    return REFUSING


@pytest.mark.parametrize(
    ("path", "bad"),
    [
        (trl, None), (of_verl, 0.0), (of_easyr1, 0.0), (swift, None), (nemo_gym, 0.0), (of_verifiers, 0.0),
        (openrlhf, 0.0), (of_slime, 0.0), (of_areal, 0.0), (skyrl, 0.0), (openenv, 0.0),
    ],
)  # fmt: skip
def test_every_trainer_gets_the_same_numbers(
    path: Callable[[pytest.MonkeyPatch], list[Row]],
    bad: float | None,
    recipe: gr.Recipe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = recipe.score(TEXTS, TARGETS, bad_target="abstain")
    wanted = list(zip(scores.total.tolist(), scores.acc.tolist(), scores.valid.tolist(), strict=True))
    wanted[-1] = (bad, 0.0, 0.0)
    for row, found in zip(wanted, path(monkeypatch), strict=True):
        assert found == tuple(None if own is None else value for own, value in zip(found, row, strict=True))
        assert found[0] == row[0]


def test_without_options_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_REWARDS_OPTIONS")
    with pytest.raises(gr.RecipeError, match='no recipe is named; set "recipe" in the JSON of GROUNDING_REWARDS_OPTI'):
        areal.reward("?", "(1, 2)", target=BOX)
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", '{"recipe": ')
    with pytest.raises(gr.RecipeError, match=r"GROUNDING_REWARDS_OPTIONS: got .* expected a recipe's name"):
        areal.reward("?", "(1, 2)", target=BOX)
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", "gelato")
    assert areal.reward("?", "(300, 300)", target=BOX) == 1.0
    assert pickle.loads(pickle.dumps(areal.reward)) is areal.reward


def test_recipes_that_compare_rollouts_need_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps({"recipe": "gui-rcpo", "response_space": "pixel"}))
    sample = SimpleNamespace(response="[250, 250]", label={"id": "a"}, metadata=None)
    with pytest.raises(gr.RecipeError, match="gui-rcpo compares the rollouts of one sample; slime gives single sam"):
        asyncio.run(slime.reward(SimpleNamespace(), sample))
    assert len(asyncio.run(slime.reward(SimpleNamespace(), [sample] * 3))) == 3
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps(OPTIONS))
    with pytest.raises(gr.RecipeError, match="--reward-key: got 'score'; expected one of total, acc, valid"):
        asyncio.run(slime.reward(SimpleNamespace(reward_key="score"), [sample]))


@pytest.mark.parametrize(("version", "said"), [("0.7.0", True), ("0.9.1", False)])
def test_verl_says_where_its_prime_manager_gives_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, version: str, said: bool
) -> None:
    monkeypatch.setattr("grounding_rewards_adapters._launch.version", lambda package: version)
    loaded(FOLDER / "verl.py")
    assert ("verl 0.7.0: its prime manager gives every response 0.0 where" in caplog.text) == said


def test_ms_swift_reads_paths_of_images_and_one_function_a_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    image = pytest.importorskip("PIL.Image")
    image.new("RGB", (1000, 500)).save(tmp_path / "a.png")
    orms = restated(monkeypatch, "swift").orms
    split = {"recipe": "gelato", "format_weight": 0.1, "split": True, "target_space": "pixel", "diagnose": False}
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", json.dumps(split))
    loaded(FOLDER / "ms_swift" / "plugin.py")
    assert [name for name in orms if name.startswith("gelato/")] == ["gelato/distance", "gelato/format"]
    parts = [orms[name](args=None) for name in ("gelato/distance", "gelato/format")]
    columns = {"target": [[100, 100, 500, 300]], "images": [[str(tmp_path / "a.png")]], "trainer_state": None}
    assert [part(["(300, 400)"], **columns) for part in parts] == [[1.0], [1.0]]
    assert "gelato: this trainer has no log_metric (TRL has it from 1.0 on)" in caplog.text


def test_errors_are_in_the_log_where_openrlhf_passes_over_them(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="zip"):
        loaded(FOLDER / "openrlhf.py").reward_func(["(1, 2)"], [], ["{}"])
    assert "OpenRLHF goes on without this reward" in caplog.text


def test_the_environment_for_verifiers_shows_images_where_they_belong_and_scores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    restated(monkeypatch, "verifiers")
    environment = loaded(LAUNCHES / "verifiers_gui_clicks" / "gui_clicks.py", "gui_clicks")
    assert environment.__all__ == ["Clicks"]
    (tmp_path / "a.png").write_bytes(b"PNG")
    asked = [{"role": "system", "content": "You click."}, {"role": "user", "content": "On <image> close"}]
    row = {"prompt": asked, "target": json.dumps(BOX), "images": [str(tmp_path / "a.png")]}
    (tmp_path / "train.jsonl").write_text(json.dumps(row) + "\n")
    (task,) = environment.Clicks(environment.ClickConfig(file=tmp_path / "train.jsonl")).load()
    said = [each if isinstance(each, dict) else each.model_dump() for each in task.data.prompt]
    assert [each["content"] for each in said] == [
        [{"type": "text", "text": "You click."}],
        [
            {"type": "text", "text": "On "},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
            {"type": "text", "text": " close"},
        ],
    ]
    trace = SimpleNamespace(last_reply="(300, 301)<|im_end|>")
    assert asyncio.run(task.recipe(trace)) == RECIPE.score(["(300, 301)"], [BOX]).total[0]
    assert asyncio.run(task.parts(trace))["acc"] == 1.0


def test_the_launch_of_areal_gives_prompts_as_texts() -> None:
    launch = loaded(LAUNCHES / "areal_grpo_qwen3_vl.py")
    tokenizer = SimpleNamespace(apply_chat_template=lambda messages, **given: (messages, given))
    text, given = launch.asked({"messages": [{"role": "user", "content": "<image>close"}]}, tokenizer)["messages"]
    assert text == [{"role": "user", "content": "<|vision_start|><|image_pad|><|vision_end|>close"}]
    assert given == {"add_generation_prompt": True, "tokenize": False}
    config = pytest.importorskip("omegaconf").OmegaConf.load(LAUNCHES / "areal_grpo_qwen3_vl.yaml")
    assert (config.actor.reward_norm.group_size, config.sglang.model_path) == (8, "Qwen/Qwen3-VL-8B-Instruct")
