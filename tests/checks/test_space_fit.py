"""Settings that rows fit better: spaces, scales of answers, and both beside each other."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grounding_rewards as gr
from grounding_rewards.catalogue import shown_with
from grounding_rewards.checks.space_fit import Comparison, Hypothesis, SpaceFit, fit_spaces
from grounding_rewards.coords.axes import Axes, axes_named
from grounding_rewards.coords.families import resizing_of
from grounding_rewards.coords.register import families
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import SPACES, CoordSpace, convert
from grounding_rewards.testing.hostile import hostile_responses
from grounding_rewards.verifiers import verifier

PIXEL, MODEL, UNIT, THOUSANDTHS = SPACES
SCREENS = np.array([(1920, 1080), (1366, 768), (2560, 1440), (1280, 720), (1080, 2400)], dtype=float)


class World:
    """Boxes on screens of several sizes, and clicks on them in any space."""

    def __init__(self, seed=0, samples=64, per_sample=1, side=40.0):
        self.rng = np.random.default_rng(seed)
        screens = SCREENS[self.rng.integers(0, len(SCREENS), samples)]
        sides = np.minimum(np.exp(self.rng.normal(np.log(side), 0.5, (samples, 2))), screens / 2)
        corners = self.rng.random((samples, 2)) * (screens - sides)
        rows = np.repeat(np.arange(samples), per_sample)
        self.screens, self.seen = screens[rows], Resizing("qwen2_5_vl", max_pixels=750_000).sizes(screens)[0][rows]
        self.boxes = np.hstack([corners, corners + sides])[rows]

    def sizes(self):
        return {"image_sizes": self.screens, "model_image_sizes": self.seen}

    def clicks(self, hit_rate):
        """(n, 2) points in pixels: inside the box in a share of the rows, anywhere in the others."""
        inside = self.boxes[:, :2] + (self.boxes[:, 2:] - self.boxes[:, :2]) * self.rng.uniform(
            0.05, 0.95, (len(self), 2)
        )
        right = self.rng.random(len(self)) < hit_rate
        return np.where(right[:, None], inside, self.rng.random((len(self), 2)) * self.screens)

    def __len__(self):
        return len(self.boxes)

    def said(self, points, space):
        """Points in pixels as a model writes them that answers in ``space``."""
        points = convert(points, PIXEL, space, self.screens, self.seen)
        return [f"({x:.4f}, {y:.4f})" if space == UNIT else f"({x:.0f}, {y:.0f})" for x, y in points]

    def targets(self, space):
        return convert(self.boxes, PIXEL, space, self.screens, self.seen).tolist()

    def fit(self, recipe, responses, targets=None):
        return fit_spaces(recipe, responses, self.targets(PIXEL) if targets is None else targets, **self.sizes())


def roles(fit):
    return {name for each in fit.tried for name, _ in each.settings}


def click(space, **options):
    return gr.recipe("click", response_space=space, **options)


@pytest.mark.parametrize("truth", SPACES)
@pytest.mark.parametrize("declared", SPACES)
def test_each_confusion_of_response_spaces_is_found_and_nothing_else(declared, truth):
    world = World(samples=128)
    fit = world.fit(click(declared), world.said(world.clicks(0.5), truth))
    if declared == truth:
        assert fit.better is None
        assert 50 <= fit.hits <= 80
    else:
        assert (fit.better.role, fit.better.value) == ("response_space", truth)
        assert 50 <= fit.better.hits <= 80


@pytest.mark.parametrize("truth", SPACES)
def test_targets_in_another_space_are_found(truth):
    world = World(samples=128)
    fit = world.fit(click("pixel"), world.said(world.clicks(0.5), PIXEL), world.targets(truth))
    if truth == PIXEL:
        assert fit.better is None
    else:
        assert Hypothesis((("target_space", truth),), fit.better.hits) in (fit.better, *fit.rivals)


def test_the_sentence_has_the_counts():
    boxes = [[x, y, x + 40, y + 30] for x in (200, 300, 400, 500) for y in (90, 290, 490, 690)]
    in_thousandths = [f"({(x1 + 20) / 1.92:.0f}, {(y1 + 15) / 1.08:.0f})" for x1, y1, *_ in boxes]
    wrong = fit_spaces(click("pixel"), in_thousandths, boxes, image_sizes=[1920, 1080])
    assert str(wrong) == "answers fit thousandths better (100 % hit against 0 % as declared)"
    right = fit_spaces(click("thousandths"), in_thousandths, boxes, image_sizes=[1920, 1080])
    assert str(right) == "nothing fits clearly better than what is declared (16 of 16 hit)"
    # Boxes in pixels lie far outside of unit space, and sizes that the model saw are unknown: no row is judged there.
    alone = [each.settings[0] for each in right.tried if len(each.settings) == 1]
    assert [each for each in alone if each[0] not in ("model", "box_format")] == [
        ("response_space", PIXEL), ("response_space", UNIT), ("axes", "yx"), ("axes", "y/1.023,x/1.023"),
        ("target_space", THOUSANDTHS),
    ]  # fmt: skip
    assert [value for name, value in alone if name == "box_format"] == ["xywh", "cxcywh"]


def test_a_space_in_which_all_narrowly_miss_is_none_that_fits():
    boxes = [[x, y, x + 40, y + 30] for x in (200, 300, 400, 500) for y in (90, 290, 490, 690)]
    beside = [f"({(x1 + 44) / 1.92:.2f}, {(y1 + 15) / 1.08:.2f})" for x1, y1, *_ in boxes]
    assert fit_spaces(click("pixel"), beside, boxes, image_sizes=[1920, 1080]).better is None
    some = [f"({(x1 + 20) / 1.92:.2f}, {(y1 + 15) / 1.08:.2f})" for x1, y1, *_ in boxes[:1]]
    assert fit_spaces(click("pixel"), some + beside[1:], boxes, image_sizes=[1920, 1080]).better.value == THOUSANDTHS


def test_what_may_be_chance_leaves_nothing_to_propose_to_a_setting_that_explains_less():
    """Boxes x y w h so near the corner that any click fits them nearly as well; resizing by 1 % is no remedy."""
    rng = np.random.default_rng(10)
    extents = rng.uniform(20, 80, (128, 2)).round()
    corners = (extents * rng.uniform(0, 0.3, (128, 2))).round()
    answers = [f"({x:.0f}, {y:.0f})" for x, y in corners + extents * rng.uniform(0.2, 0.8, (128, 2))]
    fit = fit_spaces(click("pixel"), answers, np.hstack([corners, extents]).tolist(), image_sizes=[1920, 1080])
    assert str(fit) == "nothing fits clearly better than what is declared (119 of 128 hit)"


def near_the_corner(seed, rows, aimed_at, corner=0.7):
    """Boxes that can be read as corners and as x y w h, and points within .2 to .8 of them, or as a model aims."""
    rng = np.random.default_rng(seed)
    extents = rng.uniform(20, 80, (rows, 2)).round()
    corners = (extents * rng.uniform(0, corner, (rows, 2))).round()
    sides = extents if aimed_at == "xywh" else extents - corners
    points = {
        "anywhere": rng.uniform(0, 120, (rows, 2)),
        "one place": rng.normal(30, 5, (rows, 2)),
        "inexact": corners + sides * rng.normal(0.5, 0.5, (rows, 2)),
    }.get(aimed_at, corners + sides * rng.uniform(0.2, 0.8, (rows, 2)))
    answers = [f"({x:.0f}, {y:.0f})" for x, y in np.clip(points, 0, None).tolist()]
    return fit_spaces(click("pixel"), answers, np.hstack([corners, extents]).tolist(), image_sizes=[1920, 1080])


def test_boxes_x_y_w_h_near_the_corner_are_found_by_the_answers_that_miss_their_corners():
    for seed in range(8):
        fit = near_the_corner(seed, 40, "xywh")
        assert (fit.better, fit.hits < 30) == (Hypothesis((("box_format", "xywh"),), 40), True)
        assert near_the_corner(seed, 128, "xywh", corner=0.5).better.settings == (("box_format", "xywh"),)


@pytest.mark.parametrize("aimed_at", ["xyxy", "anywhere", "one place", "inexact"])
def test_boxes_as_corners_near_the_corner_are_left_alone(aimed_at):
    assert [near_the_corner(seed, rows, aimed_at).better for rows in (40, 200) for seed in range(4)] == [None] * 8


def test_a_target_that_fits_in_both_roles_names_the_response_space_first_and_the_other_as_a_rival():
    # Responses and targets are both in thousandths: whichever of the two was declared wrongly, all other rows agree.
    boxes = [[x, y, x + 40, y + 30] for x in (200, 300, 400, 500) for y in (90, 290, 490, 690)]
    responses = [f"({x1 + 20}, {y1 + 15})" for x1, y1, *_ in boxes]
    fit = fit_spaces(click("thousandths"), responses, boxes, image_sizes=[1920, 1080])
    assert fit.better == Hypothesis((("response_space", PIXEL),), 16)
    assert fit.rivals == (Hypothesis((("target_space", THOUSANDTHS),), 16),)
    assert str(fit) == "answers fit pixel better (100 % hit against 0 % as declared); or else targets fit thousandths"
    # A target beyond 1000 decides it.
    far = fit_spaces(
        click("thousandths"), [*responses, "(1520, 515)"], [*boxes, [1500, 500, 1540, 530]], image_sizes=[1920, 1080]
    )
    assert far.better == Hypothesis((("response_space", PIXEL),), 17)
    assert far.rivals == (Hypothesis((("target_space", THOUSANDTHS),), 16),)


def test_targets_that_name_their_space_are_not_doubted():
    world = World(samples=64)
    named = [{"bbox": box, "space": "pixel"} for box in world.targets(PIXEL)]
    fit = world.fit(click("pixel"), world.said(world.clicks(0.8), PIXEL), named)
    assert roles(fit) == {"response_space", "axes", "box_format"}


def test_targets_that_were_read_before_are_not_doubted():
    world = World(samples=64)
    recipe = click("pixel")
    fit = world.fit(recipe, world.said(world.clicks(0.8), THOUSANDTHS), recipe.read_targets(world.targets(PIXEL)))
    assert fit.better.value == THOUSANDTHS
    assert roles(fit) == {"response_space", "axes"}


def test_answers_in_model_pixels_without_their_sizes_are_given_a_model_and_its_bounds():
    world = World(samples=64)
    responses = world.said(world.clicks(0.8), MODEL)
    fit = fit_spaces(click("pixel"), responses, world.targets(PIXEL), image_sizes=world.screens)
    assert ("response_space", MODEL) not in {each.settings[0] for each in fit.tried if len(each.settings) == 1}
    assert fit.better.settings[:2] == (("model", "qwen2_5_vl"), ("response_space", MODEL))
    name, bound = fit.better.settings[2]
    assert (name, np.array_equal(Resizing("qwen2_5_vl", max_pixels=bound).sizes(world.screens)[0], world.seen)) == (
        "max_pixels", True,
    )  # fmt: skip
    inside = [
        {"bbox": box, "image_size": size.tolist(), "model_image_size": seen.tolist()}
        for box, size, seen in zip(world.targets(PIXEL), world.screens, world.seen, strict=True)
    ]
    assert fit_spaces(click("pixel"), responses, inside).better.value == MODEL


def test_spaces_of_a_fixed_extent_need_no_sizes():
    world = World(samples=64)
    responses = world.said(world.clicks(0.8), THOUSANDTHS)
    fit = fit_spaces(gr.recipe("gelato", response_space="unit"), responses, world.targets(UNIT))
    assert fit.better.value == THOUSANDTHS
    assert {value for each in fit.tried for name, value in each.settings if name == "response_space"} == {"thousandths"}


@pytest.mark.parametrize("kind", ["anywhere", "one place", "one answer", "one in ten", "just misses", "always short"])
def test_a_model_that_is_merely_bad_raises_no_alarm(kind):
    for seed in range(8):
        world = World(seed, *((32, 8) if seed % 2 else (256, 1)), side=[20, 60, 200][seed % 3])
        centre, sides = (world.boxes[:, :2] + world.boxes[:, 2:]) / 2, world.boxes[:, 2:] - world.boxes[:, :2]
        rows = (len(world), 2)
        if kind == "anywhere":
            points = world.clicks(0.0)
        elif kind == "one place":
            points = world.rng.random(2) * world.screens + world.rng.normal(0, 10, rows)
            bar = world.rng.random((len(world), 2)) * [0.15, 0.3] * world.screens
            world.boxes = np.hstack([bar, bar + sides])
        elif kind == "one answer":
            points = np.minimum(np.tile(world.rng.random(2) * 900, (len(world), 1)), world.screens)
        elif kind == "one in ten":
            points = np.where(world.rng.random((len(world), 1)) < 0.1, world.clicks(1.0), world.clicks(0.0))
        elif kind == "just misses":
            side = np.where(world.rng.random(rows) < 0.5, -1, 1)
            points = centre + sides * side * world.rng.uniform(0.55, 0.85, rows)
        else:
            points = centre * 0.93
        declared = SPACES[seed % 4]
        fit = world.fit(click(declared), world.said(np.clip(points, 0, world.screens), declared))
        assert fit.better is None, (seed, str(fit))


@pytest.mark.parametrize("declared", [PIXEL, MODEL])
@pytest.mark.parametrize("unread", [0, 60])
def test_pixels_of_a_small_screen_are_no_thousandths_of_answers_and_of_targets(declared, unread):
    world = World(samples=200)
    world.screens, world.seen = np.full((200, 2), (640.0, 480.0)), np.full((200, 2), (644.0, 476.0))
    corners = world.rng.random((200, 2)) * (600, 440)
    world.boxes = np.hstack([corners, corners + 25])
    aimed = corners + 12.5 + world.rng.normal(0, 3.75, (200, 2))
    clicks = np.where((world.rng.random(200) < 0.3)[:, None], aimed, world.rng.random((200, 2)) * world.screens)
    fit = world.fit(click(declared), ["nowhere"] * unread + world.said(clicks, declared)[unread:])
    assert (fit.better, fit.hits > 40) == (None, True)


def test_the_rollouts_of_one_sample_count_once():
    # 256 rows, but 8 samples: 8 tosses of a fair coin are no proof.
    few, many = World(samples=8, per_sample=32), World(samples=32, per_sample=8)
    assert few.fit(click("pixel"), few.said(few.clicks(1.0), THOUSANDTHS)).better is None
    assert many.fit(click("pixel"), many.said(many.clicks(1.0), THOUSANDTHS)).better.value == THOUSANDTHS


def test_x_and_y_that_changed_places_are_named():
    world = World(samples=128)
    swapped = world.said(world.clicks(1.0)[:, ::-1], PIXEL)
    fit = world.fit(click("pixel"), swapped)
    assert fit.better == Hypothesis((("axes", "yx"),), 128)
    assert str(fit).startswith("answers fit y before x better (100 % hit against ")
    assert world.fit(click("pixel", axes="yx"), swapped).better is None
    assert world.fit(click("pixel", axes="yx"), world.said(world.clicks(1.0), PIXEL)).better.settings == (
        ("axes", "xy"),
    )


def test_families_that_answer_so_are_named_where_they_are_few():
    world = World(samples=128)
    shares = world.clicks(1.0) / world.screens
    said = [f"({y:.0f}, {x:.0f})" for x, y in (1000 * shares).tolist()]
    fit = world.fit(click("pixel"), said)
    assert str(fit).startswith("answers fit thousandths with y before x, as those of gemini, better (")
    percent = world.fit(click("unit"), [f"({x:.2f}, {y:.2f})" for x, y in (100 * shares).tolist()])
    assert (percent.better.settings, percent.families) == ((("axes", "x/100,y/100"),), ("molmo",))
    many = world.fit(click("pixel"), world.said(world.clicks(1.0), THOUSANDTHS))
    assert many.families == ()  # dozens do
    assert str(many).startswith("answers fit thousandths better (")


@pytest.mark.parametrize("declared", ["pixel", "thousandths"])
@pytest.mark.parametrize(
    "name",
    [
        "groundnext", "gui_owl", "holo1", "infigui_g1", "kosmos_2", "mimo_vl", "molmo", "paligemma", "phi_ground",
        "scalecua", "ui_venus",
    ],
)  # fmt: skip
def test_the_space_of_a_family_is_tried_as_it_is(name, declared):
    family, world = families()[name], World(samples=128)
    world.screens, world.boxes = 2 * world.screens, 2 * world.boxes
    resizing, space = resizing_of(family), CoordSpace(family.options["response_space"])
    seen = None if resizing is None else resizing.sizes(world.screens)[0]
    points = convert(world.clicks(0.8), PIXEL, space, world.screens, seen)
    points = axes_named(family.options.get("axes", "xy")).write(points)
    said = [f"({x:.3f}, {y:.3f})" if space == UNIT else f"({x:.0f}, {y:.0f})" for x, y in points.tolist()]
    fit = fit_spaces(click(declared), said, world.targets(PIXEL), image_sizes=world.screens)
    if name == "scalecua":  # whose bound makes the same of these sizes as that of two others
        assert ", as those of jedi, scalecua and ui_ins, which these rows do not tell apart, better (" in str(fit)
        assert fit.families == ("jedi", "scalecua", "ui_ins")
    else:
        assert fit.families == (name,)


def test_a_pixel_space_that_is_hardly_resized_is_known_and_one_that_is_not_resized_is_left_alone():
    world = World(samples=128)
    world.seen = np.round(world.screens / 28) * 28  # sides differ by 1 %
    responses = world.said(world.clicks(0.9), PIXEL)
    fit = world.fit(click("model_pixel"), responses)
    assert (fit.better.role, fit.better.value) == ("response_space", PIXEL)
    assert world.fit(click("pixel"), responses).better is None
    world.seen = world.screens
    assert world.fit(click("model_pixel"), responses).better is None


def test_unusable_targets_count_for_nothing():
    world = World(samples=64)
    responses = world.said(world.clicks(1.0), THOUSANDTHS)
    targets = [box if row % 2 else ["no box"] for row, box in enumerate(world.targets(PIXEL))]
    fit = world.fit(click("pixel"), responses, targets)
    assert (fit.better.value, fit.better.hits, fit.rows) == (THOUSANDTHS, 32, 32)
    nothing = world.fit(click("pixel"), responses, [None] * 64)
    assert (nothing.better, nothing.rows, nothing.hits) == (None, 0, 0)


def test_other_parts_of_the_reward_are_left_out():
    world = World(samples=64)
    responses = world.said(world.clicks(1.0), THOUSANDTHS)
    recipe = replace(click("pixel"), reward=verifier(lambda rollouts: 1 / 0, low=0.0, high=1.0))
    assert world.fit(recipe, responses).better.value == THOUSANDTHS


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (gr.recipe("gui-rcpo", response_space="pixel"), "gui-rcpo compares nothing with targets"),
        (replace(click("pixel"), accepts=frozenset({"action"})), "click judges no places"),
        (
            replace(click("pixel"), success=verifier(lambda rollouts: 1.0, low=0.0, high=1.0, needs={"groups"})),
            "success under click depends on other rows",
        ),
        (
            replace(click("pixel"), success=verifier(lambda rollouts: 1 / 0, low=0.0, high=1.0)),
            "its success needs more than responses, targets and sizes",
        ),
    ],
)
def test_recipes_that_say_nothing_of_spaces_have_no_fit(recipe, why):
    fit = fit_spaces(recipe, ["(1, 2)"] * 20, [[0, 0, 5, 5]] * 20, image_sizes=[100, 100])
    assert fit == SpaceFit(PIXEL, why=why)
    assert str(fit) == f"no other space was tried: {why}"


@pytest.mark.parametrize("name", gr.list_recipes())
def test_no_rows_of_any_recipe_raise(name):
    recipe = gr.recipe(name, **shown_with(name))
    rows = [None, "", "(5, 5)", "(1e300, 9)", "(999999999999, 5)", *hostile_responses(2000)[::6]]
    targets = [recipe.example.target if recipe.example else None, None, {"bbox": [1, 2, 3, 4]}, "x", {"refusal": True}]
    fit = fit_spaces(recipe, rows, [targets[row % 5] for row in range(len(rows))])
    assert fit.better is None


def test_lengths_that_differ_are_an_error():
    with pytest.raises(gr.RecipeError, match="2 responses and 1 targets"):
        fit_spaces(click("pixel"), ["(1, 2)"] * 2, [[0, 0, 5, 5]])


def test_no_rows_are_no_fit():
    assert fit_spaces(click("pixel"), [], []).better is None


@settings(max_examples=10)
@given(st.integers(0, 1000), st.sampled_from(SPACES), st.sampled_from(SPACES))
def test_the_order_of_samples_does_not_matter_to_what_is_counted(seed, declared, truth):
    world = World(seed, samples=40)
    responses, targets = world.said(world.clicks(0.7), truth), world.targets(PIXEL)
    order = world.rng.permutation(40)
    fit = world.fit(click(declared), responses, targets)
    world.screens, world.seen = world.screens[order], world.seen[order]
    again = world.fit(click(declared), [responses[row] for row in order], [targets[row] for row in order])
    assert (again.rows, again.hits, again.better) == (fit.rows, fit.hits, fit.better)


@pytest.mark.parametrize(("stray", "plausible"), [(0, True), (3, True), (18, False)])
def test_boxes_of_another_format_that_often_reach_outside_the_screen_are_no_better(stray, plausible):
    def outcome(outside):
        landing, trial = SimpleNamespace(outside=np.arange(60) < outside), SimpleNamespace(settings={"box_format": ""})
        return SimpleNamespace(landing=landing, hits=np.zeros(60, dtype=np.bool_), trial=trial)

    assert Comparison(np.arange(60), outcome(48))._plausible(outcome(stray)) is plausible


PLAIN = Axes()
FIELD = Path(__file__).parents[2].parent / "shared/field"


def said(world, hit_rate, space=PIXEL, axes=PLAIN):
    """Clicks as a model writes them, in a space and on axes of its own."""
    points = axes.write(convert(world.clicks(hit_rate), PIXEL, space, world.screens, world.seen))
    return [f"({x:.2f}, {y:.2f})" for x, y in points]


def boxes(world, written):
    x1, y1, x2, y2 = world.boxes.T
    columns = {
        "xyxy": (x1, y1, x2, y2), "xywh": (x1, y1, x2 - x1, y2 - y1), "yxyx": (y1, x1, y2, x2),
        "xxyy": (x1, x2, y1, y2), "yyxx": (y1, y2, x1, x2),
    }  # fmt: skip
    return np.column_stack(columns[written]).tolist()


def found(world, responses, declared=PIXEL, written="xyxy"):
    fit = fit_spaces(click(str(declared)), responses, boxes(world, written), image_sizes=world.screens)
    return fit.better and dict(fit.better.settings)


def one_screen(world):
    world.boxes *= np.tile([1920, 1080], 2) / np.tile(world.screens, 2)
    world.screens = np.tile([1920.0, 1080.0], (len(world), 1))
    world.seen = Resizing("qwen2_5_vl", max_pixels=1003520).sizes(world.screens)[0]
    return world


@pytest.mark.parametrize("samples", [20, 120])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(
    ("space", "axes", "declared", "settings"),
    [
        (PIXEL, Axes(True), PIXEL, {"axes": "yx"}),
        (THOUSANDTHS, Axes(True), THOUSANDTHS, {"axes": "yx"}),
        (THOUSANDTHS, Axes(True), PIXEL, {"response_space": "thousandths", "axes": "yx"}),
        (PIXEL, Axes(scale=(2, 2)), PIXEL, {"axes": "x/2,y/2"}),
        (PIXEL, Axes(scale=(1.5, 1.5)), PIXEL, {"axes": "x/1.5,y/1.5"}),
        (PIXEL, Axes(scale=(0.8, 0.8)), PIXEL, {"axes": "x/0.8,y/0.8"}),
        (PIXEL, Axes(scale=(2, 1.5)), PIXEL, {"axes": "x/2,y/1.5"}),
        (PIXEL, Axes(True, (2, 2)), PIXEL, {"axes": "y/2,x/2"}),
    ],
)
def test_order_and_scale_are_named(samples, mixed, space, axes, declared, settings):
    world = World(samples=samples) if mixed else one_screen(World(samples=samples))
    assert found(world, said(world, 0.9, space, axes), declared) == settings


@pytest.mark.parametrize(("lengths", "axes"), [((100, 100), "x/100,y/100"), ((1024, 768), "x/1024,y/768")])
def test_lengths_over_which_answers_run_on_every_screen_are_named(lengths, axes):
    world = World(samples=120)
    assert found(world, said(world, 0.7, UNIT, Axes(scale=lengths))) == {"axes": axes, "response_space": "unit"}


@pytest.mark.parametrize("written", ["yxyx", "xxyy", "yyxx"])
@pytest.mark.parametrize("space", [PIXEL, THOUSANDTHS])
def test_orders_of_corners_are_named_also_beside_a_wrong_space(written, space):
    world = World(samples=60)
    other = {} if space == PIXEL else {"response_space": "thousandths"}
    assert found(world, said(world, 0.8, space), PIXEL, written) == {**other, "box_format": written}


@pytest.mark.parametrize("declared", ["pixel", "thousandths"])
def test_bounds_that_nobody_declared_are_named(declared):
    screens = np.tile([3840.0, 2160.0], (60, 1))
    draw = np.random.default_rng(5)
    corners = draw.random((60, 2)) * (screens - 80)
    points = (corners + 40) * np.array([1316 / 3840, 728 / 2160]) + draw.normal(0, 3, (60, 2))
    answers = [f"({x:.0f}, {y:.0f})" for x, y in points]
    targets = np.hstack([corners, corners + 80]).tolist()
    fit = fit_spaces(click(declared), answers, targets, image_sizes=screens)
    assert str(fit) == (
        "answers fit images resized as by qwen2_5_vl with max_pixels 1003520, as those of holo1, better (100 % hit "
        "against 0 % as declared; answers are scaled by 0.343 and 0.337)"
    )
    assert dict(fit.better.settings) == {
        "model": "qwen2_5_vl", "response_space": "model_pixel", "max_pixels": 1003520,
    }  # fmt: skip
    right = gr.recipe("click", model="qwen2_5_vl", max_pixels=1003520)
    assert fit_spaces(right, answers, targets, image_sizes=screens).better is None
    wrong = gr.recipe("click", model="qwen2_5_vl", max_pixels=2116800)
    fit = fit_spaces(wrong, answers, targets, image_sizes=screens)
    assert dict(fit.better.settings) == {"model": "qwen2_5_vl", "max_pixels": 1003520}


@pytest.mark.parametrize("trainer", ["easyr1+", "verl+"])
def test_bounds_of_a_trainers_pipeline_are_named(trainer):
    world = World(samples=120)
    world.seen = Resizing(f"{trainer}qwen2_5_vl", max_pixels=501760).sizes(world.screens)[0]
    recipe = gr.recipe("click", model=f"{trainer}qwen2_5_vl")
    fit = fit_spaces(recipe, said(world, 0.8, MODEL), world.targets(PIXEL), image_sizes=world.screens)
    assert dict(fit.better.settings) == {"model": f"{trainer}qwen2_5_vl", "max_pixels": 501760}


def test_a_proposal_is_never_taken_back_and_hits_more():
    draw = np.random.default_rng(11)
    for seed in range(12):
        world = World(seed, samples=int(draw.choice([20, 60, 120])))
        space, declared = (SPACES[place] for place in draw.integers(0, 4, 2))
        written, read = draw.choice(["xyxy", "xyxy", "xywh", "yxyx", "xxyy"], 2).tolist()
        axes = Axes(bool(draw.random() < 0.3), tuple(draw.choice([1, 1, 1.25, 2], 2).tolist()))
        responses, targets = said(world, 0.7, space, axes), boxes(world, written)
        options, box_format, hits = {"response_space": str(declared)}, read, -1
        tried = []
        for _ in range(4):
            fit = fit_spaces(
                gr.recipe("click", **options), responses, targets, image_sizes=world.screens, box_format=box_format
            )
            assert fit.hits >= hits, (seed, tried)
            if fit.better is None:
                break
            settings = dict(fit.better.settings)
            assert settings not in tried, (seed, tried)
            tried.append(settings)
            box_format = settings.pop("box_format", box_format)
            options = {name: value for name, value in {**options, **settings}.items() if value is not None}
            hits = fit.hits
        else:
            pytest.fail(f"no end: {seed}, {tried}")


@pytest.mark.skipif(not FIELD.is_dir(), reason="files from the field are not here: expected in ../shared/field")
def test_files_from_the_field():
    def rows(name):
        return [json.loads(line) for line in (FIELD / name).read_text().splitlines()]

    def fitted(recipe, some):
        targets = [{"bbox": row["bbox"], "image_size": row["image_size"]} for row in some]
        return fit_spaces(recipe, [row["response"] for row in some], targets)

    edges = fitted(click("pixel"), rows("boxes-left-right-top-bottom.jsonl"))
    assert dict(edges.better.settings) == {"box_format": "xxyy"}
    assert edges.better.hits >= 54
    lists = click("thousandths", dialect="box_list")
    gemini = fitted(lists, rows("gemini-boxes-y-first.jsonl"))
    assert (dict(gemini.better.settings), gemini.better.hits) == ({"axes": "yx"}, 60)
