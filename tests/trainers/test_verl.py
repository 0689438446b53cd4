"""verl's own config, loader and reward managers: own terms named in a launch line, in threads and in a Ray actor."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grounding_rewards as gr
import grounding_rewards_adapters
from grounding_rewards import plugins
from tests.adapters.own_terms import BOX, PAID, named_in_a_config, write_plugin, write_terms
from tests.contracts import easyr1

pytestmark = [
    pytest.mark.xdist_group("verl"),
    pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed; it needs a Python below 3.13"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # verl and its dependencies warn about themselves
]

README = Path(__file__).parents[2] / "adapters" / "README.md"
FILE = Path(grounding_rewards_adapters.__file__).parent / "verl.py"
PACKAGE = "pkg://grounding_rewards_adapters.verl"
EASYR1 = f"{FILE.with_name('easyr1.py')}:compute_score"
LAUNCH = "reward.custom_reward_function"
WAYS = ("module", "file", "recipe in a module", "recipe in a file", "plugin", "recipe of a plugin")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of own code and an installed plugin, on PYTHONPATH; and a tokenizer that knows four responses."""
    folder = tmp_path_factory.mktemp("lab")
    write_terms(folder)
    write_plugin(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.syspath_prepend(folder)
        plugins._registry.cache_clear()
        write_tokenizer(folder)
        yield folder
    plugins._registry.cache_clear()
    sys.modules.pop("lab_terms", None)
    sys.modules.pop("lab_plugin", None)


def write_tokenizer(folder: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = {word: code for code, word in enumerate(["<pad>", "<eos>", "<unk>", *PAID])}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    core.decoder = tokenizers.decoders.Fuse()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(folder / "tokenizer")


def compose(lab: Path, *overrides: str) -> Any:
    """verl's own config with the overrides of a launch line."""
    hydra = pytest.importorskip("hydra")
    folder = str(Path(importlib.import_module("verl").__file__ or "").parent / "trainer" / "config")
    fixed = ["reward.num_workers=1", f"actor_rollout_ref.model.path={lab / 'tokenizer'}"]
    with hydra.initialize_config_dir(folder, version_base=None):
        return hydra.compose("ppo_trainer", [*fixed, *overrides])


@pytest.fixture(scope="module")
def base(lab: Path) -> Any:
    return compose(lab)


def launched(base: Any, options: dict[str, Any], path: str = PACKAGE) -> Any:
    """The config with overrides that hydra's own parser reads, as ``compose`` would add them, but sooner."""
    parser = importlib.import_module("hydra.core.override_parser.overrides_parser").OverridesParser.create()
    omegaconf = pytest.importorskip("omegaconf")
    given = [f"+{LAUNCH}.reward_kwargs.{key}={written(value)}" for key, value in options.items()]
    config = deepcopy(base)
    for override in parser.parse_overrides([f"{LAUNCH}.path={path}", *given]):
        omegaconf.OmegaConf.update(config, override.key_or_group, override.value(), force_add=True)
    return config


def written(value: Any) -> str:
    """A value as a launch line writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else str(value)


def batch(texts: Sequence[str], truth: Any = None, **extra: Any) -> Any:
    """What verl hands to a reward manager: one token a response, and an end of sequence."""
    torch = pytest.importorskip("torch")
    rows, codes = len(texts), [3 + list(PAID).index(text) for text in texts]
    truths = [{"ground_truth": json.dumps(BOX) if truth is None else truth}] * rows
    return importlib.import_module("verl").DataProto.from_dict(
        tensors={
            "prompts": torch.zeros(rows, 1, dtype=torch.long),
            "responses": torch.tensor([[code, 1] for code in codes]),
            "attention_mask": torch.ones(rows, 3, dtype=torch.long),
        },
        non_tensors={
            "data_source": np.array(["clicks"] * rows, dtype=object),
            "reward_model": np.array(truths, dtype=object),
            "extra_info": np.array([{"index": row, **extra} for row in range(rows)], dtype=object),
        },
    )


def managed(lab: Path, config: Any, data: Any) -> list[dict[str, Any]]:
    """What the reward manager that a config names says of each row, all rows at once."""
    reward = importlib.import_module("verl.trainer.ppo.reward")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(lab / "tokenizer")

    async def run() -> list[dict[str, Any]]:
        manager = reward.load_reward_manager(config, tokenizer)
        return await asyncio.gather(*[manager.run_single(data[row : row + 1]) for row in range(len(data))])

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "way"), [*[(PACKAGE, way) for way in WAYS], (f"file://{FILE}", "module"), (str(FILE), "recipe in a file")]
)
def test_own_code_named_in_a_launch_line(lab: Path, base: Any, path: str, way: str) -> None:
    options = named_in_a_config(lab / "lab_terms.py")
    assert tuple(options) == WAYS
    found = managed(lab, launched(base, options[way], path), batch(list(PAID)))
    assert [row["reward_score"] for row in found] == list(PAID.values())
    for row in found:
        extra = row["reward_extra_info"]
        assert list(extra) == ["score", "acc", "valid", "parsed", "in_image", "hit", "short"]
        assert {type(value) for value in extra.values()} == {float}
        assert extra["score"] == row["reward_score"]


def test_the_launch_lines_of_the_readme(lab: Path) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```$", README.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = [[word for word in shlex.split(block) if LAUNCH in word] for block in blocks]
    first, own = [lines for lines in words if lines]
    (found,) = managed(lab, compose(lab, *first), batch(["(20, 15)"], [0.0, 0.0, 0.04, 0.03]))
    assert found["reward_extra_info"]["acc"] == 1.0
    assert "distance" in found["reward_extra_info"]
    (found,) = managed(lab, compose(lab, f"{LAUNCH}.path={PACKAGE}", *own), batch(["(50, 15)"]))
    assert found["reward_score"] == 0.2
    assert found["reward_extra_info"]["brief"] == 1.0


def test_sizes_come_from_the_data_sets_extra_info(lab: Path, base: Any) -> None:
    config = launched(base, {"recipe": "click", "response_space": "thousandths", "format_weight": 0.0})
    truth = {"bbox": [39, 14, 41, 16]}
    (found,) = managed(lab, config, batch(["(20, 15)"], truth, image_size=[2000, 1000]))
    assert (found["reward_score"], found["reward_extra_info"]["acc"]) == (1.0, 1.0)
    (missed,) = managed(lab, config, batch(["(20, 15)"], truth, image_size=[1000, 1000]))
    assert missed["reward_extra_info"]["acc"] == 0.0


def test_a_recipe_that_needs_groups_is_refused_by_name(lab: Path, base: Any) -> None:
    part = {"verifier": "lab_terms:group", "weight": 1, "low": 0, "high": 9, "needs": ["groups"]}
    needy = {"recipe": "composite", "response_space": "pixel", "parts": {"group": part}}
    for options in (needy, {"recipe": "gui-rcpo", "response_space": "pixel"}, {"recipe": "ui-r1-dast"}):
        said = f"{options['recipe']} compares the rollouts of one sample; verl gives single samples"
        with pytest.raises(gr.RecipeError, match=said):
            managed(lab, launched(base, options), batch(["(20, 15)"]))


def test_no_recipe_and_own_code_that_is_not_there_say_so(lab: Path, base: Any) -> None:
    with pytest.raises(gr.RecipeError, match=r"set reward\.custom_reward_function\.reward_kwargs\.recipe"):
        managed(lab, launched(base, {}), batch(["(20, 15)"]))
    config = launched(base, {"recipe": "nowhere_terms:build"})
    with pytest.raises(gr.RecipeError, match=r"'nowhere_terms:build' does not load .*No module named 'nowhere_terms'"):
        managed(lab, config, batch(["(20, 15)"]))


def test_own_code_inside_ray_workers(lab: Path, base: Any) -> None:
    ray = pytest.importorskip("ray")
    ways = named_in_a_config(lab / "lab_terms.py")
    bounds = {"weight": 0.25, "low": 0, "high": 1, "limit": 8}
    three = {
        "by_module": {"verifier": "lab_terms:brief", **bounds},
        "by_file": {"verifier": f"{lab}/lab_terms.py:brief", **bounds},
        "by_plugin": {"verifier": "lab/brief", "weight": 0.25, "limit": 8},
    }
    options = {"recipe": "composite", "response_space": "pixel", "parts": {"hit": 0.25, **three}}
    config = launched(base, options)
    loop = importlib.import_module("verl.experimental.reward_loop.reward_loop")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        actor = loop.RewardLoopManager(config)
        adapter = importlib.import_module("grounding_rewards_adapters.verl")
        task = ray.remote(num_cpus=1)(adapter.compute_score)
        jobs = [
            task.remote("clicks", text, BOX, None, **each)
            for each in (ways["recipe in a module"], ways["recipe in a file"], ways["recipe of a plugin"])
            for text in PAID
        ]
        alone = [row["score"] for row in ray.get(jobs, timeout=120)]
        settings = {"reward_function": EASYR1, "reward_function_kwargs": options}
        manager = ray.remote(num_cpus=1)(easyr1.Manager).remote(settings)  # one actor, as in EasyR1
        rows = easyr1.inputs(list(PAID), [BOX] * len(PAID))
        batched = [row["overall"] for row in ray.get(manager.compute_reward.remote(rows), timeout=120)]
        ray.kill(manager)
        scored = actor.compute_rm_score(batch(list(PAID)))
    finally:
        ray.shutdown()
    assert alone == [*PAID.values()] * 3
    assert batched == [1.0, 0.25, 0.75, 0.0]
    assert scored.batch["rm_scores"].tolist() == [[0.0, 1.0], [0.0, 0.25], [0.0, 0.75], [0.0, 0.0]]
    assert scored.non_tensor_batch["hit"].tolist() == [1.0, 1.0, 0.0, 0.0]
    for name in three:
        assert scored.non_tensor_batch[name].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert scored.meta_info["reward_extra_keys"][:3] == ["score", "acc", "valid"]
