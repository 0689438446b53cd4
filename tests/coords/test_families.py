"""Model families by name: what they set, and how their answers are read."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import grounding_rewards as gr
from grounding_rewards import catalogue
from grounding_rewards.coords.families import family_of, matching
from grounding_rewards.coords.register import families, further_family
from grounding_rewards.coords.resizing import resizing_by
from grounding_rewards.hookspecs import hookimpl
from grounding_rewards.plugins.registry import collect

DATA = Path(__file__).parents[2].parent / "shared/data"
ANSWERS = DATA / "model_answers.jsonl"
HUB = {
    "qwen_vl": "Qwen/Qwen-VL-Chat", "qwen2_vl": "Qwen/Qwen2-VL-7B-Instruct",
    "qwen2_5_vl": "Qwen/Qwen2.5-VL-7B-Instruct", "qwen3_vl": "Qwen/Qwen3-VL-8B-Instruct",
    "qwen3_5": "Qwen/Qwen3.5-9B", "ui_tars": "ByteDance-Seed/UI-TARS-7B-SFT",
    "ui_tars_1_5": "ByteDance-Seed/UI-TARS-1.5-7B", "ui_tars_2": "UI-TARS-2", "gta1": "HelloKKMe/GTA1-7B",
    "os_atlas_base_7b": "OS-Copilot/OS-Atlas-Base-7B", "os_atlas_base_4b": "OS-Copilot/OS-Atlas-Base-4B",
    "internvl2": "OpenGVLab/InternVL2_5-8B", "internvl3_5": "OpenGVLab/InternVL3_5-8B", "holo1": "Hcompany/Holo1-7B",
    "holo1_5": "Hcompany/Holo1.5-7B", "holo2": "Hcompany/Holo2-8B", "gemini": "gemini-2.5-pro",
    "gemini_computer_use": "gemini-2.5-computer-use-preview-10-2025", "infigui_g1": "InfiX-ai/InfiGUI-G1-7B",
    "gui_g1": "GUI-G1-3B", "gui_r1": "ritzz-ai/GUI-R1-7B", "ui_r1": "LZXzju/Qwen2.5-VL-3B-UI-R1",
    "molmo": "Molmo-7B-D-0924", "molmo2": "allenai/Molmo2-8B", "gui_owl": "mPLUG/GUI-Owl-7B",
    "gui_owl_1_5": "mPLUG/GUI-Owl-1.5-8B", "ui_venus": "inclusionAI/UI-Venus-Ground-7B",
    "ui_venus_1_5": "inclusionAI/UI-Venus-1.5-8B", "uground_v1_qwen2vl": "osunlp/UGround-V1-7B",
    "uground_v1_llava": "osunlp/UGround", "opencua": "xlangai/OpenCUA-7B",
    "opencua_qwen2": "xlangai/OpenCUA-Qwen2-7B", "glm_4_1v": "zai-org/GLM-4.1V-9B-Thinking",
    "glm_4_5v": "zai-org/GLM-4.5V", "phi_ground": "microsoft/Phi-Ground",
}  # fmt: skip


@pytest.mark.parametrize("name", families())
def test_an_example_means_its_place(name):
    family = family_of(name)
    recipe = gr.recipe("click", family=name)
    target = {"bbox": [0, 0, *family.image_size], "image_size": family.image_size}
    if recipe.response_space == "model_pixel" and recipe.resizing is None:
        target["model_image_size"] = family.image_size  # images are sent in the size that the caller chose
    read = recipe.prepare(family.response, target).predictions
    np.testing.assert_allclose(read.xy[0], family.point, atol=0.5)


@pytest.mark.parametrize("name", HUB)
def test_names_on_the_hub_mean_one_family(name):
    assert [each.name for each in matching(HUB[name])] == [name]


def test_a_recipe_holds_what_a_family_sets_and_not_its_name():
    recipe = gr.recipe("click", family="holo1")
    assert recipe.to_dict() == {
        "name": "click", "model": "qwen2_5_vl", "max_pixels": 1003520, "answers": "first", "refusal_words": "common",
    }  # fmt: skip
    assert gr.recipe(recipe.to_dict()) == recipe
    assert gr.recipe("click", family="gemini").axes == "yx"
    assert gr.recipe("click", family=None, response_space="pixel") == gr.recipe("click", response_space="pixel")


def test_what_the_caller_says_goes_before_what_a_family_sets():
    assert gr.recipe(
        "click", family="gta1", answers="last", max_pixels=12845056, refusal_words=("gone",)
    ).to_dict() == {
        "name": "click", "model": "qwen2_5_vl", "max_pixels": 12845056, "answers": "last", "refusal_words": ("gone",),
    }  # fmt: skip
    # Another way of images into the model has bounds of its own.
    assert gr.recipe("click", family="gta1", model="verl+qwen2_5_vl").resizing.max_pixels is None


def test_a_trainer_resizes_a_familys_images_in_its_own_way():
    recipe = gr.recipe("click", family="verl+gta1")
    assert recipe.to_dict() == {
        "name": "click", "model": "verl+qwen2_5_vl", "answers": "first", "refusal_words": "common",
    }  # fmt: skip
    with pytest.raises(
        gr.RecipeError, match=r"got verl\+kimi_vl; expected easyr1 or verl before a family whose images"
    ):
        family_of("verl+kimi_vl")
    with pytest.raises(gr.RecipeError, match=r"got trl\+gta1; expected easyr1 or verl before a family"):
        family_of("trl+gta1")


def test_numbers_of_bins_mean_their_centres():
    family = families()["florence_2"]
    read = gr.recipe("click", family="florence_2").prepare(
        family.response, {"bbox": [0, 0, 1000, 1000]} | {"space": "thousandths", "image_size": [1000, 1000]}
    )
    assert read.predictions.xy.tolist() == [[600.5, 125.5]]
    assert read.predictions.box.tolist() == [[550.5, 95.5, 650.5, 155.5]]


def test_a_recipe_with_a_form_of_its_own_keeps_it():
    assert gr.recipe("gta1", family="gta1").answers == gr.recipe("gta1").answers
    assert gr.recipe("gta1", family="gta1").resizing.max_pixels == 8847360
    assert gr.recipe("gta1", family="gui_owl_1_5").to_dict() == {
        "name": "gta1", "model": "qwen3_vl", "min_pixels": 200704, "max_pixels": 10035200,
    }  # fmt: skip


def checkpoint(folder, **config):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_checkpoint_says_its_family_and_its_bounds(tmp_path):
    folder = checkpoint(tmp_path / "step-400", model_type="qwen2_5_vl", _name_or_path="HelloKKMe/GTA1-7B")
    assert family_of(str(folder)).options == families()["gta1"].options
    processor = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14, "merge_size": 2}
    settings = {**processor, "min_pixels": 50176, "max_pixels": 2116800}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    resizing = gr.recipe("click", family=str(folder)).resizing
    assert (resizing.model, resizing.min_pixels, resizing.max_pixels) == ("qwen2_5_vl", 50176, 2116800)
    shares = checkpoint(tmp_path / "Kimi-VL-A3B")  # answers that no size of an image changes
    (shares / "preprocessor_config.json").write_text(json.dumps(settings))
    assert gr.recipe("click", family=str(shares)).to_dict() == {
        "name": "click", "response_space": "unit", "answers": "first",
    }  # fmt: skip
    sized = {**processor, "min_pixels": 3136, "max_pixels": 2116800, "size": {"shortest_edge": 1, "longest_edge": 2}}
    assert (resizing_by(sized).min_pixels, resizing_by(sized).max_pixels) == (3136, 2116800)
    base = checkpoint(tmp_path / "mine", model_type="qwen3_vl_moe")
    assert family_of(str(base)).name == "qwen3_vl"
    assert "mine is of family qwen3_vl by model_type qwen3_vl_moe alone: if it is trained" in family_of(str(base)).taken
    assert family_of(str(folder)).taken.endswith("gta1 by its name; bounds by its preprocessor_config.json")


def test_another_image_processor_says_no_resizing_whatever_its_settings_are():
    pixtral = {"image_processor_type": "PixtralImageProcessor", "patch_size": {"height": 16, "width": 16}}
    assert resizing_by({**pixtral, "size": {"longest_edge": 1024}}) is None


def test_published_bounds_and_types_of_models():
    assert dict(families()["gui_owl_1_5"].options) == {
        "response_space": "thousandths", "model": "qwen3_vl", "min_pixels": 200704, "max_pixels": 10035200,
        "answers": "last", "actions": ["mouse_move"], "refusal_words": "common",
    }  # fmt: skip
    assert dict(families()["showui"].options) == {
        "response_space": "unit", "model": "qwen2_vl", "min_pixels": 200704, "max_pixels": 1053696, "answers": "first",
        "refusal_words": "common",
    }  # fmt: skip
    assert [each.name for each in matching("checkpoint-400", "minicpmv4_6")] == ["minicpm_v"]


def test_a_folder_that_fits_no_family_or_several_is_an_error(tmp_path):
    with pytest.raises(gr.RecipeError, match=r"fit none \(model_type is not said\); expected one: name the family$"):
        family_of(str(tmp_path))
    both = checkpoint(tmp_path / "gta1-against-jedi-7b", model_type="qwen2_5_vl")
    with pytest.raises(gr.RecipeError, match=r"its name and config.json fit gta1, jedi; expected one"):
        family_of(str(both))
    with pytest.raises(gr.RecipeError, match=r"^family: got 'gta2'; did you mean 'gta1'\? There are: agentcpm_gui, "):
        gr.recipe("click", family="gta2")


def test_published_forms_of_answers_are_read_by_the_name_of_their_family():
    if not ANSWERS.is_file():
        pytest.skip(f"{ANSWERS} is not here")
    wrong = []
    for line in ANSWERS.read_text().splitlines():
        row = json.loads(line)
        if row["family"] not in families() or "expected_point_pixels" not in row:
            continue
        target = {"bbox": [0, 0, *row["image_size"]]}
        target |= {name: row[name] for name in ("image_size", "model_image_size") if name in row}
        xy = gr.recipe("click", family=row["family"]).prepare(row["response"], target).predictions.xy[0]
        if not np.allclose(xy, row["expected_point_pixels"], atol=5):
            wrong.append((row["family"], row["variant"]))
    # Two points are a box, and some families write in two spaces or two orders.
    assert wrong == [
        ("seeclick", "box tag in thousandths"), ("showui", "two points"), ("gemini", "computer use"),
    ]  # fmt: skip


def answers():
    """Answers of families with the size of the image: their examples, and what published readers were tried on."""
    for name, family in families().items():
        yield name, family.response, family.image_size, family.image_size
    for file in ("model_answers.jsonl", "family_answers.jsonl"):
        for row in map(json.loads, (DATA / file).read_text().splitlines() if (DATA / file).is_file() else ()):
            if row["family"] in families():
                seen = row.get("model_image_size", row["image_size"])
                yield row["family"], row["response"], row["image_size"], seen


def is_cut(text):
    """True where a bracket, a quote, a fence or a tag is open."""
    tags = set(re.findall(r"<(?!im_)\|?([a-z_]+[a-z])(?:_start)?\|?>", text)) - {"x", "y", "s"}
    return (
        any(text.count(first) > text.count(last) for first, last in ("()", "[]", "{}"))
        or text.count('"') % 2 == 1
        or text.count("```") % 2 == 1
        or re.search(r"<[^<>\s]*$", text) is not None
        or any(len(re.findall(rf"<\|?(?:begin_of_)?{tag}(?:_start)?\|?>", text)) >
               len(re.findall(rf"<[/|](?:end_of_)?{tag}(?:_end)?\|?>", text))
               for tag in tags if not tag.endswith(("_end", "of_box")))
    )  # fmt: skip


def test_an_answer_that_is_cut_at_any_character_means_no_other_place():
    wrong, tried = [], 0
    for name, response, size, seen in answers():
        cuts = [cut for cut in (response[:end] for end in range(len(response))) if is_cut(cut)] + [response]
        target = {"bbox": [0, 0, *size], "image_size": size, "model_image_size": seen}
        xy = gr.recipe("click", family=name).prepare(cuts, [target] * len(cuts)).predictions.xy
        other = np.isfinite(xy).all(axis=1) & (xy != xy[-1]).any(axis=1)
        wrong += [(name, cut) for cut, place in zip(cuts, other, strict=True) if place]
        tried += len(cuts)
    assert (wrong, tried > 2000) == ([], True)


def test_a_models_name_says_its_family_only_when_that_is_asked_for():
    found = family_of("auto:HelloKKMe/GTA1-7B")
    assert (found.name, found.taken) == ("gta1", "HelloKKMe/GTA1-7B is of family gta1 by its name")
    with pytest.raises(gr.RecipeError, match=r"^family: got 'HelloKKMe/GTA1-7B'"):
        family_of("HelloKKMe/GTA1-7B")
    with pytest.raises(gr.RecipeError, match=r"^family: gta1-jedi-7b: its name and config.json fit gta1, jedi; expe"):
        family_of("auto:gta1-jedi-7b")


MINE = {
    "like": "gta1", "max_pixels": 2116800, "names": "^mine-", "source": "us", "seen": "code",
    "example": ["(1159,137)", [1920, 1080], [1151.8, 135.5]],
}  # fmt: skip


def test_a_file_and_a_plugin_have_families_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "lab.toml").write_text("[mine]\n" + "\n".join(f"{key} = {json.dumps(MINE[key])}" for key in MINE))
    recipe = gr.recipe("click", family=f"{tmp_path}/lab.toml:mine")
    assert recipe.options == gr.recipe("click", family="gta1", max_pixels=2116800).options
    with pytest.raises(gr.RecipeError, match=r"lab.toml has no 'ours'; it has mine$"):
        family_of(f"{tmp_path}/lab.toml:ours")
    with pytest.raises(gr.RecipeError, match=r"away.toml: cannot be read .*; expected a register in TOML$"):
        family_of(f"{tmp_path}/away.toml:mine")

    class Lab:
        @hookimpl
        def register_families(self, register):
            register("mine", MINE)

    known = collect([("lab", "lab-package", Lab())])
    monkeypatch.setattr(catalogue, "registry", lambda: known)
    assert gr.recipe("click", family="lab/mine") == recipe
    assert matching("mine-7b", known=catalogue.known_families())[0].name == "lab/mine"
    assert dict(catalogue.family("verl+lab/mine").options)["model"] == "verl+qwen2_5_vl"


def test_a_family_of_ones_own_may_have_the_name_of_the_one_that_it_is_like():
    assert dict(further_family("gta1", MINE, families()).options) == {
        **families()["gta1"].options,
        "max_pixels": 2116800,
    }


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**MINE, "max_pixel": 5}, r"family x: max_pixel: expected one of .*; did you mean 'max_pixels'"),
        ({key: MINE[key] for key in MINE if key != "example"}, r"family x: has no example; a family needs names, sour"),
        ({**MINE, "like": "gta2"}, r"family x: like: got 'gta2'; expected a family; did you mean 'gta1'"),
        ({**MINE, "like": ["gta1"]}, r"family x: like: got \['gta1'\]; expected a family"),
        ({key: MINE[key] for key in MINE if key != "like"}, r"family x: has no response_space; name it, or another"),
        (
            {**MINE, "names": "("},
            r"family x: missing \), unterminated subpattern at position 0; expected values as tho",
        ),
        ({**MINE, "example": ["(1, 2)"]}, r"family x: not enough values to unpack .*; expected values as those in"),
        ("gta1", r"family x: got 'gta1'; expected a table such as \[gta1\] in families.toml$"),
    ],
)
def test_a_table_that_is_no_family_says_why(row, why):
    with pytest.raises(gr.RecipeError, match=why):
        further_family("x", row, families())
