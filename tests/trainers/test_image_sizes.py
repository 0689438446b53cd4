"""Sizes against the real code: the image processor of transformers, qwen_vl_utils and verl's dataset class."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from io import BytesIO
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards.coords.register import families
from grounding_rewards.coords.resizing import model_image_size
from grounding_rewards.errors import ResizeError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("verl"),
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("default"),  # trainers and their dependencies warn about themselves
]
MISSING = [name for name in ("torch", "transformers", "verl", "qwen_vl_utils") if find_spec(name) is None]
PATCH = {"qwen2_5_vl": 14, "qwen3_vl": 16}
DEFAULTS = {"qwen2_5_vl": (3136, 12845056), "qwen3_vl": (65536, 16777216)}
SIZES = ((1920, 1080), (1366, 768), (1080, 1920), (42, 70), (1000, 5), (13, 14), (201, 1), (6000, 30), (640, 480))


def processed(image: Any, model: str, least: int | None, most: int | None) -> tuple[int, int]:
    """Width and height after the image processor itself."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    low, high = DEFAULTS[model]
    processor = Qwen2VLImageProcessorPil(
        size={"shortest_edge": least or low, "longest_edge": most or high}, patch_size=PATCH[model]
    )
    (grid,) = processor(images=[image], do_rescale=False, do_normalize=False, return_tensors="np")["image_grid_thw"]
    return int(grid[2]) * PATCH[model], int(grid[1]) * PATCH[model]


def ours(size: tuple[int, int], pipeline: str, *bounds: int | None) -> tuple[int, int] | None:
    try:
        return model_image_size(*size, pipeline, *bounds)
    except ResizeError:
        return None


@pytest.mark.skipif("transformers" in MISSING, reason="transformers is not installed")
@pytest.mark.parametrize("model", PATCH)
@pytest.mark.parametrize("bounds", [(None, None), (3136, 1003520), (1000000, 1000000)])
def test_the_plain_pipeline_is_the_image_processor(model: str, bounds: tuple[int | None, int | None]) -> None:
    from PIL import Image

    for size in SIZES:
        try:
            expected = processed(Image.new("RGB", size), model, *bounds)
        except ValueError:
            expected = None
        assert ours(size, model, *bounds) == expected, size


@pytest.mark.skipif("transformers" in MISSING, reason="transformers is not installed")
def test_images_of_every_family_are_resized_as_its_image_processor_does() -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    known = {gr.recipe("click", family=name).resizing for name in families()} - {None}
    own = [each for each in known if each is not None and each.canvas is None]
    assert len(own) >= 15
    for resizing in own:
        low, high = DEFAULTS["qwen2_5_vl" if resizing.model == "qwen2_vl" else resizing.model]
        for width, height in ((1920, 1080), (2560, 1440), (3840, 2160)):
            bounds = resizing.min_pixels or low, resizing.max_pixels or high
            real = smart_resize(height, width, resizing.factor, *bounds)
            sizes, refused = resizing.sizes([(width, height)])
            assert (sizes.tolist(), refused) == ([[real[1], real[0]]], {}), resizing


@pytest.fixture(scope="module")
def dataset() -> Iterator[Any]:
    """verl's dataset class, with qwen_vl_utils importable; torchvision, which that imports for videos, need not be."""
    from verl.utils.dataset.rl_dataset import RLHFDataset

    names = ("torchvision", "torchvision.io", "torchvision.transforms")
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("torchvision") is None:
            for name in names:
                module: Any = ModuleType(name)
                module.__spec__ = ModuleSpec(name, None)
                patch.setitem(sys.modules, name, module)
            root: Any = sys.modules["torchvision"]
            root.io, root.transforms = (sys.modules[name] for name in names[1:])
            root.transforms.InterpolationMode = object
        import qwen_vl_utils  # noqa: F401
    yield RLHFDataset
    for name in [name for name in sys.modules if name.partition(".")[0] == "qwen_vl_utils"]:
        del sys.modules[name]


def through_verl(dataset: Any, image: dict[str, Any], model: str) -> Any:
    """The image as verl's dataset hands it to the processor, from a row with ``<image>`` in its prompt."""
    fields = {"image_key": "images", "video_key": "videos", "audio_key": "audios", "processor": object()}
    row = {"prompt": [{"role": "user", "content": "<image>Click on Save."}], "images": [image]}
    messages = dataset._build_messages(SimpleNamespace(**fields), row, key="prompt")
    images, _, _ = dataset._process_multi_modal_info(messages, PATCH[model], {})
    return images[0]


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@pytest.mark.parametrize("model", PATCH)
@pytest.mark.parametrize(
    "bounds",
    [
        (None, None, None, None),
        (None, None, None, 1003520),
        (None, 500000, None, None),
        (100000, 20000000, None, 1003520),
        (3136, 20000, None, None),
    ],
)
def test_verls_pipeline_is_its_dataset_class_and_the_image_processor(
    dataset: Any, model: str, bounds: tuple[int | None, ...]
) -> None:
    from PIL import Image

    dict_bounds = {name: bound for name, bound in zip(("min_pixels", "max_pixels"), bounds[:2], strict=True) if bound}
    for size in SIZES:
        png = BytesIO()
        Image.new("L", size).save(png, "png")
        try:
            fetched = through_verl(dataset, {"bytes": png.getvalue(), **dict_bounds}, model)
            expected = processed(fetched, model, *bounds[2:])
        except ValueError:
            expected = None
        assert ours(size, f"verl+{model}", *bounds) == expected, (size, bounds)


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_verl_takes_no_image_whose_bounds_contradict_each_other(dataset: Any) -> None:
    from PIL import Image

    with pytest.raises(AssertionError, match="max_pixels"):
        through_verl(dataset, {"image": Image.new("L", (10, 10)), "max_pixels": 1000}, "qwen2_5_vl")


@pytest.mark.skipif("transformers" in MISSING, reason="transformers is not installed")
def test_the_processor_passes_over_one_bound_alone_at_call_time() -> None:
    # What the table in resizing.py says of data.mm_processor_kwargs.
    from PIL import Image
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil(size={"shortest_edge": 3136, "longest_edge": 12845056})
    options = {"images": [Image.new("RGB", (640, 480))], "do_rescale": False, "do_normalize": False}
    alone = processor(**options, max_pixels=100000, return_tensors="np")["image_grid_thw"]
    both = processor(**options, min_pixels=3136, max_pixels=100000, return_tensors="np")["image_grid_thw"]
    assert alone.tolist() == [[1, 34, 46]]
    assert (both[0, 2] * 14, both[0, 1] * 14) == (364, 252)
