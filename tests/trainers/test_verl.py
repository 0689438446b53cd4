"""verl's own config and loader: how a launch line names the reward, and one's own terms."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import grounding_rewards as gr
from grounding_rewards_adapters._launch import installed
from tests.adapters.own_terms import TOTALS, named_in_a_config
from tests.trainers.verl_launch import CLICK, FILE, KEYS, LAUNCH, MARKS, PACKAGE, batch, compose, launched, managed

pytestmark = MARKS

README = Path(__file__).parents[2] / "adapters" / "README.md"
WAYS = ("module", "file", "recipe in a module", "recipe in a file", "plugin", "recipe of a plugin")


@pytest.mark.parametrize("name", ["compute_score", "compute_score_async"])
@pytest.mark.parametrize("path", [PACKAGE, PACKAGE.replace(".", "/"), f"file://{FILE}", str(FILE)])
def test_every_form_of_path_names_the_same_reward(lab: Path, base: Any, path: str, name: str) -> None:
    found = managed(lab, launched(base, CLICK, path, f"{LAUNCH}.name={name}"), batch(list(TOTALS)))
    assert [row["reward_score"] for row in found] == [1.0, 1.0, 0.1, 0.0]
    assert [list(row["reward_extra_info"]) for row in found] == [KEYS] * len(TOTALS)


def test_a_name_that_is_not_there_is_verls_own_error(lab: Path, base: Any) -> None:
    with pytest.raises(AttributeError, match="object_name='score'"):
        managed(lab, launched(base, CLICK, PACKAGE, f"{LAUNCH}.name=score"), batch(["(20, 15)"]))


@pytest.mark.parametrize(
    ("path", "way"), [*[(PACKAGE, way) for way in WAYS], (f"file://{FILE}", "module"), (str(FILE), "recipe in a file")]
)
def test_own_code_named_in_a_launch_line(lab: Path, base: Any, path: str, way: str) -> None:
    options = named_in_a_config(lab / "lab_terms.py")
    assert tuple(options) == WAYS
    found = managed(lab, launched(base, options[way], path), batch(list(TOTALS)))
    assert [row["reward_score"] for row in found] == list(TOTALS.values())
    for row in found:
        extra = row["reward_extra_info"]
        assert list(extra) == ["score", "acc", "valid", "parsed", "in_image", "hit", "short"]
        assert {type(value) for value in extra.values()} == {float}
        assert extra["score"] == row["reward_score"]


def readme() -> list[list[str]]:
    """The settings of each launch of verl in the README."""
    blocks = re.findall(r"^```bash\n(.*?)^```$", README.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = [shlex.split(block, comments=True) for block in blocks if "worker.reward" not in block]
    return [found for block in words if (found := [word for word in block if re.match(r"\+?[a-z_]+\.[a-z_.]+=", word)])]


def test_the_launch_lines_of_the_readme(lab: Path) -> None:
    (first,) = [lines for lines in readme() if f"+{LAUNCH}.reward_kwargs.format_weight=0.1" in lines]
    (own,) = [lines for lines in readme() if f"+{LAUNCH}.reward_kwargs.recipe=composite" in lines]
    (found,) = managed(lab, compose(lab, *first), batch(["(20, 15)"], [0.0, 0.0, 0.04, 0.03]))
    assert found["reward_extra_info"]["acc"] == 1.0
    assert "distance" in found["reward_extra_info"]
    (found,) = managed(lab, compose(lab, f"{LAUNCH}.path={PACKAGE}", *own), batch(["(50, 15)"]))
    assert found["reward_score"] == 0.2
    assert found["reward_extra_info"]["brief"] == 1.0


FILTERING = ["algorithm.filter_groups.enable=True", "algorithm.filter_groups.metric=acc"]
"""Lines of the README that need verl 0.9."""


def test_verl_knows_every_setting_that_the_readme_names(lab: Path) -> None:
    known, select = compose(lab), pytest.importorskip("omegaconf").OmegaConf.select
    given = [line for lines in readme() for line in lines if not line.startswith("+")]
    unknown = [line for line in given if select(known, line.partition("=")[0], default=known) is known]
    earlier = [int(part) for part in installed("verl").split(".")[:2]] < [0, 9]
    assert unknown == (FILTERING if earlier else [])
    for lines in readme():
        compose(lab, *(line for line in lines if line not in unknown))


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


def test_a_launch_line_routes_recipes_by_data_source(lab: Path, base: Any) -> None:
    short = {"verifier": "lab_terms:brief", "weight": 1.0, "low": 0, "high": 1, "limit": 8}
    routes = {"data_source": {"clicks": {**CLICK}, "notes": {"name": "composite", "parts": {"short": short}}}}
    del routes["data_source"]["clicks"]["recipe"], routes["data_source"]["clicks"]["response_space"]
    routes["data_source"]["clicks"]["name"] = "composite"
    config = launched(base, {"routes": routes, "response_space": "pixel"})
    data = batch(["(20, 15)"] * 2)
    data.non_tensor_batch["data_source"][1] = "notes"
    clicks, notes = [row["reward_extra_info"] for row in managed(lab, config, data)]
    assert list(clicks) == list(notes) == [*KEYS, "short"]
    assert (clicks["score"], clicks["hit"], clicks["short"]) == (1.0, 1.0, 0.0)
    assert (notes["score"], notes["hit"], notes["short"]) == (1.0, 0.0, 1.0)
    data.non_tensor_batch["data_source"][1] = "others"
    with pytest.raises(gr.RecipeError, match=r"routes: data_source: got 'others'; expected one of clicks, notes"):
        managed(lab, config, data)
