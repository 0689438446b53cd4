"""Checkpoints that cannot be loaded, each with one line that says why, and what is read from those that can."""

import json
import sys

import pytest

from grounding_rewards.coords.families import resizing_by
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.engines import engine
from grounding_rewards.engines.transformers import Transformers
from grounding_rewards.errors import EngineError
from tests.engines import tiny, tiny_text


def complaint(folder, **settings):
    with pytest.raises(EngineError) as caught, engine("transformers", model=str(folder), **settings).start():
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(folder), "FOLDER")


def test_a_folder_that_is_not_there_or_empty(tmp_path):
    assert complaint(tmp_path / "no") == (
        "model: there is no folder FOLDER; give a checkpoint's, or a name on the Hugging Face hub"
    )
    assert complaint(tmp_path) == "model: the folder FOLDER has no config.json; expected what save_pretrained writes"
    (tmp_path / "config.json").write_text("{")
    assert complaint(tmp_path).startswith("model: FOLDER cannot be loaded by AutoConfig: ")


def test_a_name_that_the_hub_does_not_have(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert complaint("nobody/nothing").startswith("model: FOLDER cannot be loaded by AutoConfig: ")


def test_models_that_do_not_generate(tmp_path):
    from transformers import BertConfig, LlamaConfig, LlamaForSequenceClassification, T5Config, ViTConfig

    folder = tiny_text.saved(tmp_path / "text")
    for config, kind in ((T5Config(), "t5"), (ViTConfig(), "vit"), (BertConfig(), "bert")):
        config.save_pretrained(folder)
        if kind != "bert":  # AutoModelForCausalLM loads it, and finds weights missing
            assert complaint(folder) == (
                f"model: FOLDER is a {kind}; expected a decoder that AutoModelForImageTextToText or "
                "AutoModelForCausalLM loads"
            )
    config = LlamaConfig(vocab_size=70, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    LlamaForSequenceClassification(config).save_pretrained(folder)
    assert complaint(folder) == (
        "model: FOLDER lacks 1 weights of LlamaForCausalLM, such as lm_head.weight; "
        "it was saved as LlamaForSequenceClassification"
    )


def test_a_checkpoint_without_weights_or_without_chat_template(tmp_path):
    folder = tiny_text.saved(tmp_path)
    (folder / "model.safetensors").rename(folder / "kept")
    assert complaint(folder).startswith("model: FOLDER cannot be loaded by AutoModelForCausalLM: ")
    (folder / "kept").write_bytes(b"not weights")
    (folder / "kept").rename(folder / "model.safetensors")
    assert complaint(folder).startswith("model: FOLDER cannot be loaded by AutoModelForCausalLM: ")
    (folder / "chat_template.jinja").unlink()
    assert complaint(folder) == (
        "model: FOLDER has no chat template; copy chat_template.jinja of the model that it was trained from into its "
        "folder"
    )


def test_a_vision_model_without_its_processor(tmp_path):
    tiny.register()
    folder = tiny.saved(tmp_path)
    (folder / "processor_config.json").unlink()
    assert complaint(folder).startswith("model: FOLDER ")


def test_a_processor_class_that_is_not_known_is_named(tmp_path, monkeypatch):
    from transformers import Qwen3VLConfig
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

    monkeypatch.delitem(PROCESSOR_MAPPING._extra_content, Qwen3VLConfig, raising=False)
    folder = tiny.saved(tmp_path)
    assert complaint(folder) == (
        "model: FOLDER has no image processor; its processor class ImageOnlyProcessor is not known; register it "
        "(docs/rollouts.md)"
    )


@pytest.mark.parametrize("package", ["torch", "transformers", "jinja2", "PIL"])
def test_a_package_that_is_missing_is_named_with_the_command(tmp_path, monkeypatch, package):
    tiny.register()
    folder = tiny.saved(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    way = "pip install 'grounding-rewards[transformers]'"
    if package == "torch":
        way = "pip install torch, the build for your device, before anything else"
    assert complaint(folder).startswith(f"the engine transformers needs {package}: {way} (")


def test_a_device_that_is_not_there(tmp_path):
    for device in ("cuda:99", "toaster"):
        text = complaint(tmp_path, device=device)
        assert text.startswith(f"device: got '{device}', which cannot be used here: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": 0}, "batch: got 0; expected a whole number from 1"),
        ({"batch": "8"}, "batch: got '8'; expected a whole number from 1"),
        ({"batch": True}, "batch: got True; expected a whole number from 1"),
        ({"dtype": "half"}, "dtype: got 'half'; expected auto, float32, bfloat16 or float16"),
        ({"model": ""}, "model: got ''; expected a text"),
        ({"device": 0}, "device: got 0; expected a text"),
        ({"beams": 2}, "transformers: unknown argument 'beams'. It takes: model, device, dtype, batch"),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    with pytest.raises(EngineError) as caught:
        engine("transformers", **({"model": "m"} | settings))
    assert message in str(caught.value)


def test_settings_are_plain_data():
    built = engine("transformers", model="m", batch=2)
    assert vars(built) == {"model": "m", "device": "auto", "dtype": "auto", "batch": 2, "control_tokens": False}
    # What changes no answer does not stand in the way of a run that goes on.
    assert built == Transformers("m", device="cpu")
    assert built != Transformers("m", dtype="float32")


def test_the_way_of_images_is_read_from_processors_whose_patches_are_the_models():
    from transformers import Qwen2VLImageProcessorPil

    qwen2 = Qwen2VLImageProcessorPil(min_pixels=50176, max_pixels=1003520)
    qwen3 = Qwen2VLImageProcessorPil(patch_size=16, min_pixels=65536, max_pixels=2097152)
    assert resizing_by(qwen2.to_dict()) == Resizing("qwen2_5_vl", min_pixels=50176, max_pixels=1003520)
    assert resizing_by(qwen3.to_dict()) == Resizing("qwen3_vl", min_pixels=65536, max_pixels=2097152)
    assert resizing_by({**qwen3.to_dict(), "patch_size": 8}) is None
    assert resizing_by({**qwen3.to_dict(), "image_processor_type": "CLIPImageProcessor"}) is None
    assert resizing_by({}) is None


def test_that_way_is_the_processors_own_and_the_demos_has_none(tmp_path):
    from PIL import Image
    from transformers import Qwen2VLImageProcessorPil

    images = Qwen2VLImageProcessorPil(patch_size=16, min_pixels=65536, max_pixels=2097152)
    grid = images(images=[Image.new("RGB", (1919, 1083))], return_tensors="np")["image_grid_thw"][0].tolist()
    sizes, _ = resizing_by(images.to_dict()).sizes([(1919, 1083)])
    assert sizes.tolist() == [[grid[2] * 16, grid[1] * 16]] == [[1920.0, 1088.0]]
    tiny.register()
    with engine("transformers", model=str(tiny.saved(tmp_path)), device="cpu").start() as running:
        assert running.resizing is None
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "qwen3_vl"


def test_a_file_registers_a_processor_and_names_the_engine(tmp_path, monkeypatch):
    from transformers import Qwen3VLConfig
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING

    monkeypatch.delitem(PROCESSOR_MAPPING._extra_content, Qwen3VLConfig, raising=False)
    lines = (
        "from grounding_rewards.engines.transformers import Transformers",
        "from tests.engines import tiny",
        "tiny.register()",
    )
    (tmp_path / "mine.py").write_text("\n".join(lines))
    folder = tiny.saved(tmp_path / "model")
    with engine(f"{tmp_path / 'mine.py'}:Transformers", model=str(folder), device="cpu").start() as running:
        assert running.at_once == 1
