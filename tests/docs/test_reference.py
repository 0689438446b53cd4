"""The reference in docs/: generated pages are up to date, and every key, option, dialect and reason is on its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import grounding_rewards as gr
from docs.gallery import reference, screens
from docs.gallery.make import DOCS, make_reference
from grounding_rewards import catalogue
from grounding_rewards.checks.finding import Code
from grounding_rewards.coords.register import processors, space_of
from grounding_rewards.coords.resizing import pipelines
from grounding_rewards.coords.spaces import SPACES
from grounding_rewards.errors import RecipeError
from grounding_rewards.explain import describe
from grounding_rewards.parsing import parse
from grounding_rewards.plugins.registry import collect
from grounding_rewards.rollouts import COLUMNS, PARSED, Reason
from grounding_rewards.tables import contents, rollout_columns
from grounding_rewards.tables.contents import COMPRESSIONS
from grounding_rewards.targets import read as wire
from grounding_rewards.targets.box_format import BoxFormat
from tests.cli.command import names

REFERENCE = DOCS / "reference"
KNOWN = collect([])


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")


def rows(text: str) -> list[list[str]]:
    """Cells of all tables' rows; code is without its marks."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[uncoded(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def uncoded(cell: str) -> str:
    cell = cell.strip().replace(r"\|", "|")
    code = re.fullmatch(r"(`+)(.*)\1", cell)
    return code[2].removeprefix(" ").removesuffix(" ") if code and len(code[1]) > 1 else cell.strip("`")


def section(name: str, title: str) -> str:
    return re.split(r"^#+ ", page(name).partition(f"# {title}\n")[2], flags=re.MULTILINE)[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """The folder of the generated pages and pictures, with two recipes in the audit, which takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogue, "list_recipes", lambda: ["se-gui", "vlm-r1"])
        make_reference(out := tmp_path_factory.mktemp("reference"))
    return out


def test_generated_pages_are_up_to_date(made: Path):
    assert names(made) == sorted([*(f"{name}.md" for name in reference.PAGES), "pictures"])
    for name in reference.PAGES.keys() - {"audit"}:
        assert page(name) == (made / f"{name}.md").read_text("utf-8"), f"{name}: run `make docs`"
    few, every = (made / "audit.md").read_text("utf-8"), page("audit")
    assert set(few.splitlines()) < set(every.splitlines()), "run `make docs`"
    played = re.findall(r"^\| \[([^]]+)\]", every, re.MULTILINE)
    assert sorted(played) == sorted(
        name for name in KNOWN.recipes if gr.recipe(name, **catalogue.shown_with(name)).judges_places
    )


def test_pages_and_pictures_are_those_of_make(made: Path):
    assert names(REFERENCE) == [
        "answers.md", "api.md", "audit.md", "commands.md", "families.md", "methods.md", "options.md", "pictures",
        "prompts.md", "reasons.md", "spaces.md", "steps.md", "table.md", "targets.md", "verifiers.md",
    ]  # fmt: skip
    assert names(REFERENCE / "pictures") == names(made / "pictures"), "run `make docs`"
    shown = {link for path in REFERENCE.glob("*.md") for link in re.findall(r"!\[[^\]]+\]\((.*)\)", path.read_text())}
    assert shown == {f"pictures/{name}" for name in names(made / "pictures")}
    for path in (REFERENCE / "pictures").iterdir():
        pixels = np.asarray(Image.open(path).convert("L"))
        assert 300 <= pixels.shape[0] <= 720, path
        assert 600 <= pixels.shape[1] <= 920, path
        assert np.unique(pixels).size > 30, path
        assert path.stat().st_size < 60_000, path


def test_pictures_show_a_hit_and_a_miss_that_the_page_scores():
    assert set(screens.PLACES) == {*wire.PLACES, "regions"}
    text = page("targets")
    for name, shown in screens.PLACES.items():
        assert screens.accs(shown) == [1.0, 0.0]
        assert re.search(rf"^### {name}$", text, re.MULTILINE)
        for x, y in (shown.hit, shown.miss):
            assert f'"({x:g}, {y:g})"' in section("targets", name), name
        assert json.dumps(dict(shown.target)) in section("targets", name), name


def test_every_key_of_a_target_has_a_line_and_an_example():
    keys = [cells[0] for cells in rows(section("targets", "Keys"))[1:]]
    assert keys == list(wire.TARGET_KEYS)
    examples = "".join(re.findall(r"```pycon\n(.*?)```", page("targets"), re.DOTALL))
    assert [key for key in keys if f'"{key}"' not in examples] == []


def test_fields_of_actions_are_those_that_the_code_describes():
    table = [tuple(cells) for cells in rows(section("targets", "Actions"))[1:]]
    code = [(field, says, json.dumps(dict(example))) for field, says, example in describe.ACTION_FIELDS]
    assert table == code
    assert {field for field, _, _ in table} == set(wire._ACTION_KEYS)
    for _, _, example in table:
        wire.read_target(example)


def test_box_formats_are_listed():
    assert [cells[0] for cells in rows(section("targets", "bbox"))[1:]] == list(BoxFormat)


def test_errors_of_targets_say_what_the_page_says():
    table = rows(section("targets", "Errors"))[1:]
    assert len(table) == 16
    for target, says, fix in table:
        with pytest.raises(gr.TargetError) as caught:
            gr.recipe("click", response_space="pixel").score("(20, 15)", json.loads(target))
        assert says in str(caught.value), target
        assert fix


def test_the_click_of_the_picture_is_that_of_the_table():
    table = rows(page("spaces"))[1 : 1 + len(SPACES)]
    assert [cells[0] for cells in table] == list(SPACES)
    for space, cells in zip(SPACES, table, strict=True):
        x, y = screens.written()[space]
        assert cells[2] == f"({x:g}, {y:g})"


def test_models_are_listed_with_their_space():
    table = rows(section("spaces", "Which one"))[1:]
    assert {cells[0]: cells[1] for cells in table} == {
        name: space_of(name) for name in processors() if name != "phi_ground"
    }
    for trainer in {name.partition("+")[0] for name in pipelines() if "+" in name}:
        assert f"| `{trainer}+...` |" in page("spaces")


def test_what_families_mean_beside_other_evaluators():
    text = (
        (DOCS / "benchmarks.md")
        .read_text("utf-8")
        .partition("## Families that other scripts")[2]
        .partition("## What")[0]
    )
    table = rows(text)[1:]
    assert len(table) == 11
    for _, family, answer, _, means in table:
        target = {"bbox": [0, 0, 1920, 1080], "image_size": [1920, 1080]}
        read = gr.recipe("click", family=family).prepare(answer, target).predictions
        place = ", ".join(f"{round(number, 1):g}" for number in read.xy[0].tolist())
        assert means == ("a refusal" if read.reason[0] == Reason.REFUSED else f"({place})"), answer


def test_every_option_has_a_meaning_and_its_recipes():
    shared = [cells[0] for cells in rows(section("options", "Of every recipe"))[1:]]
    assert shared == list(catalogue.SHARED)
    assert all(values and meaning for values, meaning in catalogue.SHARED.values())
    some = {cells[0]: re.findall(r"\[([^]]+)\]", cells[1]) for cells in rows(section("options", "Of some recipes"))[1:]}
    for name in KNOWN.recipes:
        for option, about in describe.about_options(name).items():
            assert about["meaning"], (name, option)
            assert about["values"], (name, option)
        assert [option for option, recipes in some.items() if name in recipes] == sorted(catalogue.own_options(name))


def test_every_dialect_has_an_answer_that_it_reads_and_one_that_it_does_not():
    table = {cells[0]: cells[1:] for cells in rows(section("answers", "Dialects"))[1:]}
    assert [*table] == [name for name in KNOWN.parsers if name not in ("auto", "auto_action")]
    for name, (right, read, broken, reason) in table.items():
        dialect = KNOWN.parsers[name]
        assert reference.read(dialect, right.replace(r"\n", "\n")) == read != "", name
        unread = parse([broken.replace(r"\n", "\n")], dialect, space=SPACES[0], answers="first")
        assert gr.Reason(unread.reason[0]).name == reason, name
        assert gr.Reason(unread.reason[0]) not in PARSED, name


def test_the_forms_of_auto_are_on_the_page():
    for name in ("auto", "auto_action"):
        listed = ", ".join(f"`{each}`" for each in KNOWN.parsers[name].names)
        assert listed in page("answers")


def test_refusals_of_the_page_are_refusals():
    text = section("answers", "Refusals")
    default = re.findall(r"`([^`]+)`", text.partition("Case, quotes")[0])[2:]
    common = re.findall(r"`([^`]+)`", text.partition("stands for\n")[2])
    assert (len(default), len(common)) == (8, 82)
    click = gr.recipe("click", response_space="pixel")
    wider = gr.recipe("click", response_space="pixel", refusal_words="common")
    assert click.score(default, [{"refusal": True}] * 8).acc.tolist() == [1.0] * 8
    assert click.score(common, [{"refusal": True}] * len(common)).acc.sum() == 0
    words = reference.refusal_words
    whole = [*words.COMMON_ANSWERS, "[]", *words.COMMON_PREDICATES]
    whole += [f"{each} not found" for each in words.COMMON_SUBJECTS] + [f"Not found {p}." for p in words.COMMON_PLACES]
    assert len(whole) == len(common)
    assert wider.score(whole, [{"refusal": True}] * len(whole)).acc.tolist() == [1.0] * len(whole)


def test_every_finding_has_its_meaning():
    table = dict(rows(section("reasons", "Findings"))[1:])
    assert list(table) == [str(code) for code in Code]
    assert table["zero-area"] == "boxes without width or height"


def test_every_reason_has_a_response_that_gives_it():
    table = {cells[0]: cells[1:] for cells in rows(section("reasons", "Reasons"))[1:]}
    assert list(table) == [reason.name for reason in gr.Reason]
    assert {name: cells[2:] for name, cells in table.items()} == {
        "OK": ["1", "yes"], "EMPTY": ["0", "no"], "NO_ANSWER": ["0", "no"], "SEVERAL_ANSWERS": ["0", "no"],
        "TOO_MANY": ["0", "no"], "MALFORMED": ["0", "no"], "OUT_OF_IMAGE": ["0.1", "yes"], "REFUSED": ["0.1", "yes"],
        "UNFINISHED": ["0", "no"], "BAD_TARGET": ["0", "no"], "UNKNOWN_ACTION": ["0", "no"],
    }  # fmt: skip


def test_columns_are_those_of_the_code():
    rollouts = {cells[0]: cells[1:] for cells in rows(section("table", "The rollout table"))[1:]}
    assert list(rollouts) == list(rollout_columns.COLUMNS) == list(rollout_columns.MEANINGS)
    scores = [cells[0] for cells in rows(section("table", "Columns of scores"))[1:]]
    assert scores == [*list(COLUMNS)[:3], "*the recipe's parts*", *list(COLUMNS)[3:], "action_name`, `arguments"]
    made = gr.recipe("gelato").score("(200, 150)", [0.1, 0.1, 0.3, 0.2]).columns()
    assert [name for name in made if name not in ("distance", "format")] == list(COLUMNS)


def test_formats_of_files_are_listed():
    listed = section("table", "Files of rows")
    for suffix in (*contents.JSON_LINES, *contents.JSON, *contents.CSV, *contents.PARQUET, *COMPRESSIONS):
        assert f"`{suffix}`" in listed


def test_verifiers_are_all_described_and_a_miss_is_scored_side_by_side():
    text = page("verifiers")
    assert re.findall("^## ([a-z0-9_]+)$", text, re.MULTILINE) == list(KNOWN.verifiers)
    compared = {cells[0].partition("]")[0][1:]: cells[1:] for cells in rows(section("verifiers", WHICH))[1:]}
    assert {name: (cells[0], cells[2], cells[3]) for name, cells in compared.items()} == {
        "hit": ("1.000", "0.000", "0.000"),
        "inside_distance": ("1.000", "0.000", "0.000"),
        "centredness": ("1.000", "0.000", "0.000"),
        "gaussian_point": ("1.000", "0.531", "0.080"),
        "dense_distance": ("1.000", "0.492", "0.431"),
        "screen_distance": ("1.000", "0.999", "0.996"),
        "corner_distance": ("1.000", "-0.005", "-0.047"),
    }
    diagonal, screen = np.hypot(80, 40), np.hypot(1920, 1080)
    assert compared["dense_distance"][3] == f"{0.5 / (1 + 50 / (diagonal + 0.1 * screen)):.3f}"
    with pytest.raises(RecipeError, match=r"There are: action_match, .*; docs/reference/verifiers\.md describes them$"):
        gr.recipe("composite", parts={"hti": 1}, response_space="pixel")


WHICH = "Which one for the place of a click"
