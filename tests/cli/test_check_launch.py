"""``check verl`` and those of other trainers: a launch is played with its own rows before it runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from tests.cli.command import Runner, page_data, result_of
from tests.contracts.restated import restated

BOX = {"bbox": [0.1, 0.1, 0.3, 0.2]}
ROWS: dict[str, dict[str, Any]] = {
    "verl": {
        "data_source": "web", "prompt": [{"role": "user", "content": "close"}],
        "reward_model": {"style": "rule", "ground_truth": json.dumps(BOX)}, "extra_info": {"index": 3},
    },
    "trl": {"prompt": [{"role": "user", "content": "close"}], "target": json.dumps(BOX), "sample_id": "a"},
    "easyr1": {"problem": "close", "answer": json.dumps(BOX)},
    "areal": {"messages": [{"role": "user", "content": "close"}], "target": BOX, "query_id": "a"},
    "nemo_gym": {"responses_create_params": {"input": [{"role": "user", "content": "close"}]}, "target": BOX},
    "openenv": {"instruction": "close", "image": "a.png", "target": BOX},
    "openrlhf": {"input": "close", "label": json.dumps(BOX)},
    "skyrl": {
        "prompt": [{"role": "user", "content": "close"}], "env_class": "grounding_rewards",
        "reward_spec": {"method": "rule", "ground_truth": BOX},
    },
    "slime": {"prompt": "close", "label": BOX, "metadata": {"image_size": [640, 480]}},
    "swift": {"messages": [{"role": "user", "content": "close"}], "target": BOX},
    "verifiers": {"prompt": "close", "target": BOX},
}  # fmt: skip
LINES = {
    "verl": [
        "reward.custom_reward_function.path=pkg://grounding_rewards_adapters.verl",
        "reward.custom_reward_function.name=compute_score_async",
        "+reward.custom_reward_function.reward_kwargs.recipe=gelato",
    ],
    "trl": ["reward_funcs(recipe='gelato')"],
    "easyr1": [
        "worker.reward.reward_function=$(grounding-rewards where easyr1)",
        "worker.reward.reward_function_kwargs.recipe=gelato",
    ],
    "areal": ['reward_fn="grounding_rewards_adapters.areal.reward"'],
    "nemo_gym": [
        "from grounding_rewards_adapters.nemo_gym import GroundingServer", "GroundingServer.run_webserver()"
    ],
    "openenv": [
        "from grounding_rewards_adapters.openenv import Answer, GroundingEnv, Screen",
        "app = create_fastapi_app(lambda: GroundingEnv(rows), Answer, Screen)",
    ],
    "openrlhf": ['--reward.remote_url "$(grounding-rewards where openrlhf)" --data.label_key label'],
    "skyrl": ["from grounding_rewards_adapters import skyrl", "skyrl.register()"],
    "slime": ["--custom-rm-path grounding_rewards_adapters.slime.reward --input-key prompt --label-key label"],
    "swift": ['--external_plugins "$(grounding-rewards where swift)" --reward_funcs grounding_rewards'],
    "verifiers": [
        "--env.taskset.task.rewards.grounding.fn grounding_rewards_adapters.verifiers:reward",
        "--env.taskset.task.metrics.grounding_parts.fn grounding_rewards_adapters.verifiers:metrics",
    ],
}  # fmt: skip
VARIABLE = """export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato"}'"""
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("verl", {"reward_model": {"ground_truth": '{"bbox": [0.5, 0.5]}'}}),
    ("trl", {"target": "somewhere"}),
    ("easyr1", {"answer": '{"refusal": true}'}),
    ("areal", {"target": {"bbox": [0.3, 0.3, 0.1, 0.1]}}),
    ("nemo_gym", {"target": {"bbox": [0.1, 0.1, 0.3]}}),
    ("openenv", {"target": None}),
    ("openrlhf", {"label": "{"}),
    ("skyrl", {"reward_spec": {"ground_truth": {"box": [0.1, 0.1, 0.3, 0.2]}}}),
    ("slime", {"label": {"bbox": [10, 10, 30, 20], "space": "pixel"}, "metadata": {}}),
    ("swift", {"target": {"bbox": [float("inf"), 0.1, 0.3, 0.2]}}),
    ("verifiers", {"target": {"bbox": ["a", 0.1, 0.3, 0.2]}}),
]
"""One row of a trainer whose target cannot be used."""


LAUNCHES = Path(__file__).parents[2] / "examples" / "launch"
CHAT = [{"role": "user", "content": "close"}]
WIRE = '{"bbox": [64, 48, 192, 96], "space": "pixel", "image_size": [640, 480], "id": "a"}'
CONVERTED: dict[str, dict[str, Any]] = {
    "areal": {"messages": CHAT, "target": WIRE},
    "nemo_gym": {
        "responses_create_params": {
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "close"}]}],
        },
        "target": WIRE,
    },
    "openrlhf": {"input": CHAT, "label": WIRE},
    "skyrl": {"prompt": CHAT, "reward_spec": {"ground_truth": WIRE}, "env_class": "grounding_rewards"},
    "slime": {"prompt": CHAT, "label": WIRE},
    "swift": {"messages": CHAT, "target": WIRE},
    "verifiers": {"prompt": CHAT, "target": WIRE},
}


@pytest.fixture(autouse=True)
def _trainers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDING_REWARDS_OPTIONS", raising=False)
    for trainer in ("nemo_gym", "openenv", "skyrl", "swift"):
        restated(monkeypatch, trainer)


def check(run: Runner, folder: Path, trainer: str, *words: str, **fields: Any) -> tuple[int, dict[str, Any]]:
    """Check 12 rows of a trainer's, with other values of some fields in the last one."""
    rows = [ROWS[trainer]] * 11 + [{**ROWS[trainer], **fields}]
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("check", trainer, "--dataset", file, *words, "--json")
    return found.code, result_of(found.out)


@pytest.mark.parametrize("trainer", ROWS)
def test_rows_that_can_be_scored_have_no_findings(run: Runner, tmp_path: Path, trainer: str) -> None:
    code, result = check(run, tmp_path, trainer, "--recipe", "gelato")
    by_variable = [*ROWS].index(trainer) > 2
    assert (code, result["findings"], result["rows"]) == (0, [], 12)
    assert result["lines"] == [VARIABLE] * by_variable + LINES[trainer]
    assert {"valid"} <= {*result["keys"]}
    assert "GROUNDING_REWARDS_OPTIONS" not in os.environ


@pytest.mark.parametrize(
    ("trainer", "form"),
    [
        (trainer, form)
        for trainer in CONVERTED
        for form in ("jsonl", "parquet")
        if (trainer, form) != ("nemo_gym", "parquet")
    ],
)
def test_converted_rows_are_those_that_the_trainer_reads(run: Runner, tmp_path: Path, trainer: str, form: str) -> None:
    row = {"instruction": "close", "bbox": [64, 48, 192, 96], "image_size": [640, 480], "id": "a", "source": "web"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row | {"completions": 1}) + "\n")
    words = ["--for", trainer, "--target-space", "pixel", "--out", tmp_path / f"out.{form}"]
    assert run("convert", tmp_path / "rows.jsonl", *words, "--source-column", "source").code == 0
    found = run("check", trainer, "--dataset", tmp_path / f"out.{form}", "--recipe", "gelato", "--json")
    result = result_of(found.out)
    assert (found.code, result["findings"], result["rows"]) == (0, [], 1)
    if form == "jsonl":
        made = json.loads((tmp_path / "out.jsonl").read_text())
        assert {name: made[name] for name in CONVERTED[trainer]} == CONVERTED[trainer]
        assert made["source"] == "web"
        assert ("completions" in made) == (trainer not in ("areal", "swift"))


@pytest.mark.parametrize(
    ("trainer", "launch", "options", "rollouts"),
    [
        ("swift", "swift_grpo_qwen2_5_vl.sh", {"recipe": "click", "model": "qwen2_5_vl", "max_pixels": 2097152}, None),
        ("openrlhf", "openrlhf_grpo_qwen3_vl.sh", {"recipe": "gelato", "format_weight": 0.1}, 1024),
        ("slime", "slime_grpo_qwen3_vl.sh", {"recipe": "gelato", "format_weight": 0.1}, 1024),
        ("areal", "areal_grpo_qwen3_vl.py", {"recipe": "gelato", "format_weight": 0.1}, None),
        (
            "nemo_gym",
            "nemo_gym_grounding/resources_servers/grounding/configs/grounding.yaml",
            {"recipe": "gelato", "format_weight": 0.1},
            None,
        ),
        ("verifiers", "verifiers_gui_clicks/gui_clicks.py", {"recipe": "gelato", "format_weight": 0.1}, None),
    ],
)
def test_a_launch_scores_converted_rows(
    run: Runner, tmp_path: Path, trainer: str, launch: str, options: dict[str, Any], rollouts: int | None
) -> None:  # fmt: skip
    row = {"instruction": "close", "bbox": [64, 48, 192, 96], "image_size": [640, 480], "id": "a"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    words = ["--for", trainer, "--target-space", "pixel", "--out", tmp_path / "train.jsonl"]
    assert run("convert", tmp_path / "rows.jsonl", *words).code == 0
    found = run("check", trainer, "--dataset", tmp_path / "train.jsonl", "--config", LAUNCHES / launch, "--json")
    result = result_of(found.out)
    assert (found.code, result["findings"], result["rows"]) == (0, [], 1)
    said = json.loads(result["lines"][0].partition("=")[2].strip("'"))
    assert said == {**options, "record": "out/record"}
    assert (result["step"] or {}).get("rollouts") == rollouts


@pytest.mark.parametrize(("trainer", "fields"), FAULTS)
def test_targets_that_cannot_be_used_are_errors(
    run: Runner, tmp_path: Path, trainer: str, fields: dict[str, Any]
) -> None:
    code, result = check(run, tmp_path, trainer, "--recipe", "gelato", **fields)
    assert (code, [(each["code"], each["rows"]) for each in result["findings"]]) == (1, [("bad-target", [11])])


@pytest.mark.parametrize(
    ("trainer", "missing"),
    [
        ("verl", "reward_model.ground_truth"), ("trl", "target"), ("easyr1", "answer"), ("openrlhf", "label"),
        ("skyrl", "env_class"), ("nemo_gym", "responses_create_params"), ("openenv", "instruction"),
    ],
)  # fmt: skip
def test_columns_that_are_missing_are_named(run: Runner, tmp_path: Path, trainer: str, missing: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"data_source": "web", "prompt": "close", "problem": "close"}\n')
    found = run("check", trainer, "--dataset", file, "--recipe", "gelato")
    assert found.code == 1
    assert f"warning: no row has {missing}, which {trainer} reads; there are data_source, prompt, problem" in found.err
    fix = "give rows this column, as" if trainer == "openenv" else f"convert --for {trainer}"
    assert fix in found.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--recipe", "click"], "click needs response_space"),
        (["--recipe", "gelato", "--option", "formt_weight=1"], "did you mean 'format_weight'?"),
        ([], "no recipe"),
    ],
)
def test_what_the_adapter_refuses_is_an_error(run: Runner, tmp_path: Path, words: list[str], said: str) -> None:
    code, result = check(run, tmp_path, "verl", *words)
    (finding,) = result["findings"]
    assert (code, finding["code"]) == (1, "launch")
    assert said in finding["message"]


SCRIPT = """
SPACE=thousandths
reward=(
  custom_reward_function.path=old.py  # of older versions
  reward.custom_reward_function.reward_kwargs.recipe=click
  +reward.custom_reward_function.reward_kwargs.response_space=$SPACE
  "+reward.custom_reward_function.reward_kwargs.target_space='unit'"
  +reward.custom_reward_function.reward_kwargs.format_weight=$WEIGHT
  +reward.custom_reward_function.reward_kwargs.record=RECORD
)
"""


def test_a_script_is_read_as_its_trainer_reads_it(run: Runner, tmp_path: Path) -> None:
    script, record = tmp_path / "launch.sh", tmp_path / "record"
    script.write_text(SCRIPT.replace("RECORD", str(record)))
    code, result = check(run, tmp_path, "verl", "--config", str(script))
    assert code == 1
    assert [(each["severity"], each["message"].partition(": ")[2], each["fix"]) for each in result["findings"]] == [
        ("error", "custom_reward_function.path is a key of older versions, which verl accepts and passes over",
         "write reward.custom_reward_function.path"),
        ("error", "reward.custom_reward_function.reward_kwargs.recipe has no + before it, and verl's config refuses "
         "keys that it does not have", "write +reward.custom_reward_function.reward_kwargs.recipe=click"),
        ("note", "reward.custom_reward_function.reward_kwargs.format_weight is '$WEIGHT', whose variable is set "
         "elsewhere, and is not checked", ""),
    ]  # fmt: skip
    assert not record.exists()
    script.write_text(script.read_text().replace("  custom", "  #").replace("  reward.custom", "  +reward.custom"))
    code, result = check(run, tmp_path, "verl", "--config", str(script))
    assert (code, result["rows"], [each["severity"] for each in result["findings"]]) == (0, 12, ["note"])
    assert "+reward.custom_reward_function.reward_kwargs.response_space=thousandths" in result["lines"]


OPENRLHF = """
export GROUNDING_REWARDS_OPTIONS='{"recipe": "gelato", "format_weight": 0.1}'
python3 -m openrlhf.cli.train_ppo_ray --reward.remote_url "$(grounding-rewards where openrlhf)" \\
  --data.label_key truth --rollout.batch_size 128 --rollout.n_samples_per_prompt=8
"""
NEMO_GYM = "grounding: {resources_servers: {grounding: {entrypoint: app.py, options: {recipe: gelato}}}}"


@pytest.mark.parametrize(
    ("trainer", "name", "config", "options", "rollouts"),
    [
        ("openrlhf", "launch.sh", OPENRLHF.replace("truth", "label"), {"recipe": "gelato", "format_weight": 0.1}, 1024),
        ("nemo_gym", "config.yaml", NEMO_GYM, {"recipe": "gelato"}, None),
        ("skyrl", "launch.sh", "environment.skyrl_gym.grounding_rewards.recipe=gelato", {"recipe": "gelato"}, None),
        ("verifiers", "job.yaml", """env_vars: {GROUNDING_REWARDS_OPTIONS: '{"recipe": "gelato"}'}""",
         {"recipe": "gelato"}, None),
    ],
)  # fmt: skip
def test_a_launch_says_options_in_a_variable_or_its_own_place(
    run: Runner, tmp_path: Path, trainer: str, name: str, config: str, options: dict[str, Any], rollouts: int | None
) -> None:
    (tmp_path / name).write_text(config)
    code, result = check(run, tmp_path, trainer, "--config", str(tmp_path / name))
    assert (code, result["findings"], result["rows"]) == (0, [], 12)
    assert result["lines"][0] == f"export GROUNDING_REWARDS_OPTIONS='{json.dumps(options)}'"
    assert (result["step"] or {}).get("rollouts") == rollouts


def test_a_label_that_no_launch_names_is_an_error(run: Runner, tmp_path: Path) -> None:
    script = tmp_path / "launch.sh"
    script.write_text(OPENRLHF)
    code, result = check(run, tmp_path, "openrlhf", "--config", str(script))
    assert (code, result["findings"][0]["message"].partition(",")[0]) == (1, "no row has truth")
    script.write_text(OPENRLHF.replace("--data.label_key truth", ""))
    code, result = check(run, tmp_path, "openrlhf", "--config", str(script))
    message = "there is no --data.label_key, without which openrlhf hands no target to the reward"
    assert (code, [(each["message"], each["fix"]) for each in result["findings"]]) == (
        1, [(f"{script}: {message}", "add --data.label_key label")],
    )  # fmt: skip


def test_options_in_the_environment_are_those_of_the_launch(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDING_REWARDS_OPTIONS", "gelato")
    code, result = check(run, tmp_path, "slime")
    assert (code, result["lines"][0]) == (0, VARIABLE)
    assert os.environ["GROUNDING_REWARDS_OPTIONS"] == "gelato"


def test_an_adapter_that_needs_its_trainer_says_so(
    run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("skyrl_gym", "skyrl_gym.envs", "skyrl_gym.envs.base_text_env"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "grounding_rewards_adapters.skyrl", raising=False)
    code, result = check(run, tmp_path, "skyrl", "--recipe", "gelato")
    (finding,) = result["findings"]
    assert (code, finding["fix"]) == (1, "run the check where skyrl is installed")
    assert finding["message"].startswith("the adapter of skyrl cannot be loaded here (")


@pytest.mark.parametrize("trainer", ["trl", "swift"])
def test_parts_of_a_split_reward_are_scored(run: Runner, tmp_path: Path, trainer: str) -> None:
    words = "--recipe", "gelato", "--option", "split=true", "--option", "format_weight=0.1"
    code, result = check(run, tmp_path, trainer, *words)
    assert (code, result["findings"], result["keys"]) == (0, [], ["gelato/distance", "gelato/format", "valid"])


def test_a_config_says_options_and_columns(run: Runner, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("""
data: {answer_key: truth, min_pixels: 3136}
worker:
  reward:
    reward_function_kwargs: {recipe: gelato, model: qwen3_vl, min_pixels: "${data.min_pixels}"}
""")
    code, result = check(run, tmp_path, "easyr1", "--config", str(config))
    assert (code, result["findings"][0]["message"].partition(",")[0]) == (1, "no row has truth")
    config.write_text(config.read_text().replace("truth", "answer"))
    code, result = check(run, tmp_path, "easyr1", "--config", str(config))
    assert (code, result["findings"]) == (0, [])
    assert "worker.reward.reward_function_kwargs.min_pixels=3136" in result["lines"]


@pytest.mark.parametrize(
    ("trainer", "config", "words", "rollouts"),
    [
        ("easyr1", "{data: {rollout_batch_size: 512}, worker: {rollout: {n: 8}}}", [], 4096),
        ("verl", "{data: {train_batch_size: 64}, actor_rollout_ref: {rollout: {n: '${data.n}'}}, data.n: 5}", [], 320),
        ("verl", "{data: {train_batch_size: 64}}", [], None),
        ("trl", "{}", ["--step-rollouts", "100"], 100),
    ],
)
def test_the_share_of_a_step_is_of_its_rollouts(
    run: Runner, tmp_path: Path, trainer: str, config: str, words: list[str], rollouts: int | None
) -> None:
    (tmp_path / "config.yaml").write_text(config)
    more = ["--recipe", "gelato", "--config", str(tmp_path / "config.yaml"), "--step-seconds", "60", *words]
    _, result = check(run, tmp_path, trainer, *more)
    if rollouts is None:
        assert result["step"] is None
        return
    step = result["step"]
    assert step == {
        "rollouts": rollouts, "seconds": pytest.approx(rollouts * result["seconds"] / 1000),
        "share": pytest.approx(rollouts * result["seconds"] / 60_000),
    }  # fmt: skip
    found = run("check", trainer, "--dataset", tmp_path / "rows.jsonl", *more, "--html", tmp_path / "page.html")
    assert f"a step of {rollouts:,} rollouts: " in found.out
    assert found.out.splitlines()[-1].endswith(" % of the step")
    assert page_data(tmp_path / "page.html")["sections"][1]["blocks"][0]["lines"][-1].endswith(" % of the step")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a: [1,", "config.yaml: cannot be read as YAML (while parsing"),
        (b"\xff\xfe\xff", "config.yaml: cannot be read as YAML ('utf-8' codec"),
        (b"- 1", "config.yaml: got list; expected keys and values, as a launch has them"),
    ],
)
def test_configs_that_are_none_are_refused(run: Runner, tmp_path: Path, content: bytes, said: str) -> None:
    config, file = tmp_path / "config.yaml", tmp_path / "rows.jsonl"
    config.write_bytes(content)
    file.write_text(json.dumps(ROWS["verl"]) + "\n")
    assert said in run.error("check", "verl", "--dataset", file, "--config", config)


def test_extra_info_that_verl_cannot_take_is_an_error(run: Runner, tmp_path: Path) -> None:
    code, result = check(run, tmp_path, "verl", "--recipe", "gelato", extra_info="index 3")
    message = "row 11: extra_info: got 'index 3'; verl expects fields, {} for none"
    assert (code, [each["message"] for each in result["findings"]]) == (1, [message])


def test_a_reward_that_differs_from_call_to_call_is_found(run: Runner, tmp_path: Path) -> None:
    own = tmp_path / "own_reward.py"
    body = "def reward(response, target):\n    return next(calls) % 7 / 7\n"
    own.write_text(f"import itertools\ncalls = itertools.count()\n\n\n{body}")
    code, result = check(run, tmp_path, "verl", "--recipe", f"{own}:reward")
    assert (code, [each["message"] for each in result["findings"]]) == (1, ["scores differ from thread to thread"])


def test_options_that_cannot_go_to_a_worker_are_found() -> None:
    from grounding_rewards_adapters import _wiring

    recipe = gr.wrap(lambda response, target: 0.5)
    found = _wiring.check_wiring("trl", [ROWS["trl"]] * 4, {"recipe": recipe})
    assert [each.message.partition(" (")[0] for each in found.findings] == ["the options cannot be copied to a worker"]
