"""Output of ``convert``, read by the trainers' own data code and scored through our adapters."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards_adapters
from grounding_rewards.converting import LAYOUTS
from grounding_rewards_adapters import trl as trl_adapter
from grounding_rewards_adapters import verl as verl_adapter
from tests.cli.command import Runner, write_rows
from tests.contracts import easyr1

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("verl"),
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("default"),  # trainers and their dependencies warn about themselves
]
needs_verl = pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed; it needs a Python below 3.13")

SIDES = {"wide.png": (64, 32), "tall.png": (32, 64)}
ROWS = [
    {"instruction": "打开 🙂", "image": "wide.png", "bbox": [8, 4, 16, 8], "id": "a"},
    {"instruction": "Save", "image": "tall.png", "bbox": [8, 4, 16, 8], "id": 7},
]
HITS = ["(187, 187)", "(375, 93)"]
"""Clicks on the centres, in thousandths of each image."""
CLICK = {"recipe": "click", "response_space": "thousandths", "format_weight": 0.0}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package, which keeps what it makes of files in a folder of these tests."""
    pytest.importorskip("PIL")
    module = pytest.importorskip("datasets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.config, "HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield module


@pytest.fixture
def folder(tmp_path: Path, datasets: Any) -> Path:
    """Rows of which each has an image file, and the same rows with the images in them, as ``datasets`` saves them."""
    image = importlib.import_module("PIL.Image")
    for name, size in SIDES.items():
        image.new("RGB", size).save(tmp_path / name)
    write_rows(tmp_path / "rows.jsonl", *ROWS)
    whole = datasets.Dataset.from_list(
        [{**row, "id": str(row["id"]), "image": str(tmp_path / row["image"])} for row in ROWS]
    )
    whole.cast_column("image", datasets.Image()).map(lambda row: row, batched=True).save_to_disk(tmp_path / "saved")
    return tmp_path


@pytest.fixture
def packed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Converts what ``folder`` holds for a trainer, from one of its inputs."""

    def convert(trainer: str, source: str, name: str = "out.parquet") -> Path:
        result = Runner(capsys)(
            "convert", folder / source, "--out", folder / name, "--for", trainer, "--target-space", "pixel",
            *(["--image-root", folder] if source.endswith("jsonl") else []),
        )  # fmt: skip
        assert result.code == 0, result.err
        return folder / name

    return convert


def size_of(image: Any) -> tuple[int, int]:
    """The size of an image, or of the one in a file."""
    if not isinstance(image, str):
        return tuple(image.size)
    with importlib.import_module("PIL.Image").open(image) as opened:
        return tuple(opened.size)


@needs_verl
@pytest.mark.parametrize(
    ("source", "name"), [("rows.jsonl", "o.parquet"), ("rows.jsonl", "o.jsonl"), ("saved", "o.parquet")]
)
def test_verls_own_data_set_class(packed: Any, source: str, name: str) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    module = importlib.import_module("verl.utils.dataset.rl_dataset")
    config = omegaconf.OmegaConf.create({"filter_overlong_prompts": False})
    rows = module.RLHFDataset(str(packed("verl", source, name)), tokenizer=None, config=config, processor=object())
    assert len(rows) == 2
    for row, given, hit in zip([rows[0], rows[1]], ROWS, HITS, strict=True):
        (message,) = row["raw_prompt"]
        image, text = message["content"]
        assert (message["role"], text) == ("user", {"type": "text", "text": given["instruction"]})
        assert size_of(image["image"]) == SIDES[given["image"]]
        assert (row["data_source"], row["index"]) == (source.removesuffix(".jsonl"), ROWS.index(given))
        assert "images" not in row
        truth = row["reward_model"]["ground_truth"]
        assert str(json.loads(truth)["id"]) == str(given["id"]) == row["extra_info"]["id"]
        for text, acc in ((hit, 1.0), ("(900, 900)", 0.0)):
            scored = verl_adapter.compute_score(row["data_source"], text, truth, row["extra_info"], **CLICK)
            assert (scored["acc"], scored["valid"]) == (acc, 1.0)


def taken_names(source: Path) -> set[str]:
    """Names that an agent loop's code uses where a row's columns go as keywords, or reads from them as settings."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.AsyncFunctionDef) and node.args.kwarg is not None:
            names |= {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.Call) and any(
            each.arg is None and ast.unparse(each.value) in ("prompt", "kwargs") for each in node.keywords
        ):
            names |= {each.arg for each in node.keywords if each.arg}
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("batch", "batch.non_tensor_batch"):
            names |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
    return {name for name in names if isinstance(name, str) and name != "cls"}


@needs_verl
def test_verls_rollouts_take_all_columns_that_stay() -> None:
    spec = find_spec("verl")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent  # whose agent loops need more than verl to be imported
    read = taken_names(folder / "experimental/agent_loop/agent_loop.py")
    assert read >= {"self", "sampling_params", "trajectory", "trace", "agent_name", "output", "validate"}
    assert read <= LAYOUTS["verl"].reserved
    read = taken_names(folder / "trainer/ppo/v1/agent_loop_tq.py")
    assert read >= {"session_id", "trajectory", "trace", "validate", "global_steps", "index"}
    assert read <= LAYOUTS["verl"].reserved


@needs_verl
def test_verls_prompts_without_images_pass_its_tokenizer(tmp_path: Path, datasets: Any, capsys: Any) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    omegaconf = pytest.importorskip("omegaconf")
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<unk>": 0, "Save": 1}, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    rows = [
        {"instruction": text, "target": {"bbox": [0.1, 0.1, 0.2, 0.2], "space": "unit"}}
        for text in ("Save", "a b c d e")
    ]
    write_rows(tmp_path / "rows.jsonl", *rows)
    out = tmp_path / "out.parquet"
    assert (
        Runner(capsys)("convert", tmp_path / "rows.jsonl", "--out", out, "--for", "verl", "--source", "web").code == 0
    )
    module = importlib.import_module("verl.utils.dataset.rl_dataset")
    config = omegaconf.OmegaConf.create({"max_prompt_length": 4, "filter_overlong_prompts_workers": None})
    kept = module.RLHFDataset(str(out), tokenizer=tokenizer, config=config)
    assert [row["raw_prompt"][0]["content"] for row in kept] == ["Save"]
    assert kept[0]["data_source"] == "web"


@pytest.mark.parametrize("trainer", ["verl", "trl", "easyr1"])
def test_images_that_datasets_turns_have_the_size_it_gives_them(
    datasets: Any, folder: Path, trainer: str, capsys: Any
) -> None:
    image = importlib.import_module("PIL.Image")
    said = image.Exif()
    said[0x0112] = 6
    image.new("RGB", (64, 32)).save(folder / "photo.jpg", exif=said)
    fields = {"bytes": (folder / "photo.jpg").read_bytes(), "path": None}
    row = {"query": "Save", "image": fields, "bbox": [8, 4, 16, 8]}
    datasets.Dataset.from_list([row]).cast_column("image", datasets.Image()).to_parquet(folder / "in.parquet")
    words = (
        "convert",
        folder / "in.parquet",
        "--out",
        folder / "out.parquet",
        "--for",
        trainer,
        "--target-space",
        "pixel",
    )
    assert Runner(capsys)(*words).code == 0
    (opened,) = datasets.load_dataset("parquet", data_files=str(folder / "out.parquet"), split="train")
    packed = {"verl": "reward_model", "trl": "target", "easyr1": "answer"}[trainer]
    wire = opened[packed]["ground_truth"] if trainer == "verl" else opened[packed]
    assert list(opened["images"][0].size) == json.loads(wire)["image_size"] == [32, 64]


@pytest.mark.parametrize("source", ["rows.jsonl", "saved"])
def test_trls_messages_and_reward(packed: Any, datasets: Any, source: str) -> None:
    rows = datasets.load_dataset("parquet", data_files=str(packed("trl", source)), split="train")
    data_utils = pytest.importorskip("trl.data_utils")
    assert [[image.size for image in row["images"]] for row in rows] == [[(64, 32)], [(32, 64)]]
    for row, given in zip(rows, ROWS, strict=True):
        (message,) = data_utils.prepare_multimodal_messages(row["prompt"], row["images"])
        assert [part["type"] for part in message["content"]] == ["image", "text"]
        assert message["content"][1]["text"] == given["instruction"]
    (reward,) = trl_adapter.reward_funcs(**CLICK)
    columns = {name: list(rows[name]) for name in rows.column_names if name != "prompt"}
    assert reward(prompts=rows["prompt"], completions=HITS, **columns) == [1.0, 1.0]
    assert reward(prompts=rows["prompt"], completions=HITS[::-1], **columns) == [0.0, 0.0]
    assert list(rows["sample_id"]) == ["a", "7"]


@pytest.mark.parametrize(
    ("source", "name"), [("rows.jsonl", "o.parquet"), ("rows.jsonl", "o.jsonl"), ("saved", "o.parquet")]
)
def test_easyr1s_rows(packed: Any, datasets: Any, source: str, name: str) -> None:
    kind = "parquet" if name.endswith("parquet") else "json"
    rows = datasets.load_dataset(kind, data_files=str(packed("easyr1", source, name)), split="train")
    assert list(rows["problem"]) == ["<image>打开 🙂", "<image>Save"]
    assert [size_of(image) for (image,) in rows["images"]] == list(SIDES.values())
    file = Path(grounding_rewards_adapters.__file__).with_name("easyr1.py")
    settings = {"reward_function": f"{file}:compute_score", "reward_function_kwargs": CLICK}
    try:
        found = easyr1.Manager(settings).compute_reward(easyr1.inputs(HITS, list(rows["answer"])))
        missed = easyr1.Manager(settings).compute_reward(easyr1.inputs(HITS[::-1], list(rows["answer"])))
    finally:
        sys.modules.pop(easyr1.MODULE, None)
    assert [(row["overall"], row["accuracy"], row["valid"]) for row in found] == [(1.0, 1.0, 1.0)] * 2
    assert [(row["overall"], row["accuracy"], row["valid"]) for row in missed] == [(0.0, 0.0, 1.0)] * 2


MIXED = """
datasets:
  - {path: rows.jsonl, name: paths, images_folder: ., space: pixel, take: "first:1"}
  - {path: saved, name: packed, space: pixel, take: "end:1"}
"""


@pytest.fixture
def mixed(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Mixes images by path and images in bytes for a trainer."""

    def mix(trainer: str) -> str:
        (folder / "mix.yaml").write_text(MIXED)
        result = Runner(capsys)("mix", folder / "mix.yaml", "--for", trainer, "--out", folder / "mixed.parquet")
        assert result.code == 0, result.err
        return str(folder / "mixed.parquet")

    return mix


@needs_verl
def test_verls_own_data_set_class_reads_a_mixture(mixed: Any) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    module = importlib.import_module("verl.utils.dataset.rl_dataset")
    config = omegaconf.OmegaConf.create({"filter_overlong_prompts": False})
    rows = module.RLHFDataset(mixed("verl"), tokenizer=None, config=config, processor=object())
    read = [rows[0], rows[1]]
    assert [(row["data_source"], row["extra_info"]["id"]) for row in read] == [
        ("paths", "paths/a"), ("packed", "packed/7"),
    ]  # fmt: skip
    assert [size_of(row["raw_prompt"][0]["content"][0]["image"]) for row in read] == [*SIDES.values()]
    truths = [row["reward_model"]["ground_truth"] for row in read]
    scored = [verl_adapter.compute_score("", *pair, {}, **CLICK)["acc"] for pair in zip(HITS, truths, strict=True)]
    assert scored == [1.0, 1.0]


def test_trls_reward_reads_a_mixture(mixed: Any, datasets: Any) -> None:
    rows = datasets.load_dataset("parquet", data_files=mixed("trl"), split="train")
    assert [[image.size for image in row["images"]] for row in rows] == [[(64, 32)], [(32, 64)]]
    (reward,) = trl_adapter.reward_funcs(**CLICK)
    columns = {name: list(rows[name]) for name in rows.column_names if name != "prompt"}
    assert reward(prompts=rows["prompt"], completions=HITS, **columns) == [1.0, 1.0]
    assert (columns["sample_id"], columns["source"]) == (["paths/a", "packed/7"], ["paths", "packed"])
