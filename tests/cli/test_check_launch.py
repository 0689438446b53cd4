"""``check verl``, ``check trl`` and ``check easyr1``: a launch is played with its own rows before it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from tests.cli.command import Runner, page_data, result_of

BOX = {"bbox": [0.1, 0.1, 0.3, 0.2]}
ROWS: dict[str, dict[str, Any]] = {
    "verl": {
        "data_source": "web", "prompt": [{"role": "user", "content": "close"}],
        "reward_model": {"style": "rule", "ground_truth": json.dumps(BOX)}, "extra_info": {"index": 3},
    },
    "trl": {"prompt": [{"role": "user", "content": "close"}], "target": json.dumps(BOX), "sample_id": "a"},
    "easyr1": {"problem": "close", "answer": json.dumps(BOX)},
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
}


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
    assert (code, result["findings"], result["rows"], result["lines"]) == (0, [], 12, LINES[trainer])
    assert {"valid"} <= {*result["keys"]}


@pytest.mark.parametrize(
    ("trainer", "fields"),
    [
        ("verl", {"reward_model": {"ground_truth": '{"bbox": [0.5, 0.5]}'}}),
        ("trl", {"target": "somewhere"}),
        ("easyr1", {"answer": '{"refusal": true}'}),
    ],
)
def test_targets_that_cannot_be_used_are_errors(
    run: Runner, tmp_path: Path, trainer: str, fields: dict[str, Any]
) -> None:
    code, result = check(run, tmp_path, trainer, "--recipe", "gelato", **fields)
    assert (code, [(each["code"], each["rows"]) for each in result["findings"]]) == (1, [("bad-target", [11])])


@pytest.mark.parametrize(
    ("trainer", "missing"), [("verl", "reward_model.ground_truth"), ("trl", "target"), ("easyr1", "answer")]
)
def test_columns_that_are_missing_are_named(run: Runner, tmp_path: Path, trainer: str, missing: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"data_source": "web", "prompt": "close", "problem": "close"}\n')
    found = run("check", trainer, "--dataset", file, "--recipe", "gelato")
    assert found.code == 1
    assert f"warning: no row has {missing}, which {trainer} reads; there are data_source, prompt, problem" in found.err


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
