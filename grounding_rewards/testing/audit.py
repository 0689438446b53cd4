"""Audit of rewards: policies without any skill play against a recipe, beside one that always clicks the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.coords.spaces import PIXEL, UNIT, convert
from grounding_rewards.errors import RecipeError, TargetError
from grounding_rewards.explain.plot.template import Template, template
from grounding_rewards.scoring import ACTION, BBOX, Recipe
from grounding_rewards.targets.columns import Targets
from grounding_rewards.targets.write import to_wire

HONEST = "honest"
SAMPLES, ROLLOUTS = 100, 4
"""Samples of the built-in screens, and rollouts that each policy gives to a sample."""

MARGIN = 0.1
"""A policy farms a reward where its share of the honest reward is this much above its share of hits."""

_SCREENS = ((1920, 1080), (2560, 1440), (3840, 2160), (1440, 900), (1080, 2340), (1366, 768))
_AREAS = -7.0, 1.6  # mean and deviation of the logarithm of a target's share of its screen: 0.1 %, most .005 to 2 %
_ASPECTS = 0.7, 0.7  # of the logarithm of width over height, in pixels
_DRAWS, _TRIED = 1000, 10  # of the bootstrap; samples on which ways of writing are compared
_ANSWERS = 50, 5  # of a shotgun
_HOLLOW = (r">[^<>]+<", "><"), (r"\{[^{}]*\}", "{}"), (r"\[[^\[\]]*\]", "[]"), (r"\{[^{}]*\}", "")
"""Contents of tags and brackets, from inside out, and what is left of them."""

_LONG = "I look at the screen again and compare each of its widgets with the instruction. " * 20


@dataclass(frozen=True)
class Earned:
    """The earnings of one policy."""

    policy: str  # its name
    what: str  # the answers that it gives
    total: float  # mean of `Scores.total`
    acc: float  # share of right answers
    share: float  # `total` over that of the honest policy
    interval: tuple[float, float]  # 95 % of `share`, by a bootstrap over samples
    farms: bool  # True where the lower end of `interval` is above `acc` over the honest one by more than `MARGIN`

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "interval": list(self.interval)}


@dataclass(frozen=True)
class Screens:
    """Targets to play on."""

    sizes: Floats  # (n, 2) width and height of the screens, in pixels
    boxes: Floats  # (n, 4) x1, y1, x2, y2 of the targets, in pixels
    given: Sequence[Any] = ()  # n targets as data hold them, for a function of your own; else it gets the boxes

    @classmethod
    def drawn(cls, samples: int = SAMPLES, seed: int = 0) -> Screens:
        """Draw targets of the sizes that benchmarks have: log-normal areas, a tenth of a percent in the middle."""
        rng = np.random.default_rng(seed)
        sizes = np.array(_SCREENS, dtype=np.float64)[rng.integers(len(_SCREENS), size=samples)]
        area = np.exp(rng.normal(*_AREAS, samples)).clip(2e-5, 0.1) * sizes.prod(axis=1)
        aspect = np.exp(rng.normal(*_ASPECTS, samples)).clip(0.2, 8.0)
        extent = np.stack([np.sqrt(area * aspect), np.sqrt(area / aspect)], axis=1)
        extent = np.minimum(np.maximum(extent, 8.0), 0.9 * sizes)
        corner = rng.random((samples, 2)) * (sizes - extent)
        return cls(sizes, np.concatenate([corner, corner + extent], axis=1).round())

    @classmethod
    def of(cls, batches: Iterable[tuple[Targets, Sequence[Any]]], samples: int = SAMPLES, seed: int = 0) -> Screens:
        """Take some targets of your own, in pixels and as data hold them: boxes of known screens, one a sample.

        Raises:
            TargetError: there are none.
        """
        sizes, boxes, given = [np.zeros((0, 2))], [np.zeros((0, 4))], list[Any]()
        for targets, whole in batches:
            rows, first = np.unique(targets.regions.row, return_index=True)
            own, box = targets.image_sizes[rows], targets.regions.box[first]
            usable = targets.valid[rows] & ~np.isnan(own[:, 0])
            usable &= (box[:, :2] >= 0).all(axis=1) & (box[:, 2:] <= own).all(axis=1)
            sizes.append(own[usable])
            boxes.append(box[usable])
            given += [whole[row] for row in rows[usable].tolist()]
        known, places = np.concatenate(sizes), np.concatenate(boxes)
        if not len(known):
            raise TargetError(0, "bbox", "no target", "boxes within screens of known sizes, to play on")
        some = np.random.default_rng(seed).permutation(len(known))[:samples]
        return cls(known[some], places[some], [given[row] for row in some.tolist()])


@dataclass(frozen=True)
class Player:
    """Writes answers in the form of a recipe's example, for all rollouts of some screens, and scores them."""

    recipe: Recipe  # the reward
    screens: Screens  # the targets to play on
    form: Template  # the recipe's example with a gap for its place
    seed: int  # of the random policies

    @property
    def rows(self) -> int:
        """Number of rollouts."""
        return len(self.screens.sizes) * ROLLOUTS

    @property
    def sizes(self) -> Floats:
        """Sizes of the rollouts' screens: (rows, 2)."""
        return np.repeat(self.screens.sizes, ROLLOUTS, axis=0)

    def click(self, shares: Floats | tuple[float, float]) -> list[str]:
        """Write answers at places in shares of the screens, (rows, 2) or one; boxes are a hundredth of the screen."""
        places = np.broadcast_to(np.asarray(shares, dtype=np.float64), (self.rows, 2))
        return self.mark(np.concatenate([places - 0.005, places + 0.005], axis=1))

    def mark(self, shares: Floats | tuple[float, ...]) -> list[str]:
        """Write answers with boxes in shares of the screens, (rows, 4) or one, or with their middles."""
        boxes = np.broadcast_to(np.asarray(shares, dtype=np.float64), (self.rows, 4))
        places = boxes if self.form.box else (boxes[:, :2] + boxes[:, 2:]) / 2
        return self.form.write(convert(places, UNIT, self.recipe.response_space, self.sizes, self.sizes))

    def uniform(self) -> list[str]:
        """Write answers anywhere."""
        return self.click(np.random.default_rng(self.seed).random((self.rows, 2)))

    def sprays(self) -> Iterator[list[str]]:
        """Yield answers with many places at random: each bracket around a place, or the whole form, many times."""
        rng = np.random.default_rng(self.seed)
        whole = "".join(self.form.pieces)
        for start, end in [*_brackets(self.form), (0, len(whole))]:
            pieces = (
                self.form.pieces[0][start:],
                *self.form.pieces[1:-1],
                self.form.pieces[-1][: len(self.form.pieces[-1]) - len(whole) + end],
            )
            unit = replace(self, form=replace(self.form, pieces=pieces))
            for count in _ANSWERS:
                many = [unit.click(rng.random((self.rows, 2))) for _ in range(count)]
                for joint in (", ", "\n"):
                    yield [whole[:start] + joint.join(row) + whole[end:] for row in zip(*many, strict=True)]

    def score(self, texts: list[str]) -> Played:
        """Score the texts of all rollouts."""
        recipe, samples = self.recipe, len(self.screens.sizes)
        shared = {"action": self._action()} if ACTION in recipe.accepts else {}
        step = {"step": 0} if "trajectories" in recipe.needs else {}
        boxes = self.screens.boxes.repeat(ROLLOUTS, axis=0)
        places = {"bbox": boxes.tolist(), "point": ((boxes[:, :2] + boxes[:, 2:]) / 2).tolist()}
        targets: list[Any] = [
            {"space": str(PIXEL), **{kind: places[kind][row] for kind in self._kinds()}, **shared, **step,
             **({"trajectory": row} if step else {}), "image_size": size}
            for row, size in enumerate(self.sizes.tolist())
        ]  # fmt: skip
        if recipe.reads_itself and self.screens.given:
            targets = [target for target in self.screens.given for _ in range(ROLLOUTS)]
        rollouts = recipe.prepare(
            texts, None if recipe.label_free else targets, image_sizes=self.sizes, model_image_sizes=self.sizes,
            groups=np.arange(samples).repeat(ROLLOUTS), token_lengths=[len(text) // 4 for text in texts],
        )  # fmt: skip
        scores = recipe.evaluate(rollouts)
        right = float(scores.acc.mean())
        if recipe.label_free:  # its acc is agreement, and asks no target
            xy = convert(rollouts.predictions.xy, recipe.space, PIXEL, self.sizes, self.sizes)
            low, high = np.split(boxes, 2, axis=1)
            right = float(((low <= xy) & (xy <= high)).all(axis=1).mean())  # never of NaN
        return scores.total.reshape(samples, ROLLOUTS).mean(axis=1), right

    def _action(self) -> Any:
        """Return the action that the example's target asks for."""
        own = self._own()
        return "click" if own is None or own.action is None else to_wire(own)["action"]

    def _kinds(self) -> tuple[str, ...]:
        """Return the fields of the targets: a box, with its middle as a point where the example's target has one."""
        own = self._own()
        if BBOX not in self.recipe.accepts:
            return ("point",)
        return ("bbox", "point") if own and any(region.point for region in own.regions) else ("bbox",)

    def _own(self) -> Any:
        assert self.recipe.example is not None
        return self.recipe.read_targets([self.recipe.example.target], warn=False).rows[0]


Played = tuple[Floats, float]
"""Mean total of each sample, and the share of right answers."""


def audit(recipe: Recipe, screens: Screens | None = None, *, seed: int = 0) -> list[Earned]:
    """Let policies without any skill play against a recipe; return what each earns, worst first, the honest one last.

    Share = mean total of the policy over that of one that always answers with the target. A policy that can write its
    answer in several ways earns the best of them. Each sample gets ``ROLLOUTS`` rollouts, which are its group.

    Args:
        recipe: the reward; its example says how answers are written.
        screens: targets to play on; without them ``Screens.drawn()``.
        seed: of the random policies and of the bootstrap.

    Raises:
        RecipeError: it has no example with a place, or right answers earn nothing.

    >>> from grounding_rewards import recipe
    >>> for each in audit(recipe("se-gui"))[:2]:
    ...     print(each.policy, round(each.share, 1), each.farms)
    centre 0.6 True
    shotgun 0.5 True
    """
    screens = Screens.drawn(seed=seed) if screens is None else screens
    player = Player(recipe, screens, _form(recipe, screens), seed)
    honest, right = player.score(player.mark(screens.boxes.repeat(ROLLOUTS, axis=0) / np.tile(player.sizes, 2)))
    if honest.mean() <= 0:
        earned = f"answers with the target itself earn {honest.mean():.4g}"
        example = recipe.example and recipe.example.response
        fix = f"give an example of the answers that it reads in place of {example!r:.60}"
        raise RecipeError(f"{recipe.name}: {earned}, with which nothing can be compared; {fix}")
    rows = [_earned(HONEST, "the target itself", (honest, right), (honest, right), seed)]
    few = replace(player, screens=Screens(screens.sizes[:_TRIED], screens.boxes[:_TRIED], screens.given[:_TRIED]))
    for policy, what, ways in _policies(player):
        best = max(ways, key=lambda texts: few.score(texts[: few.rows])[0].mean())
        played = player.score(best)
        rows.append(_earned(policy, what, played, (honest, right), seed))
    return sorted(rows, key=lambda each: (each.policy == HONEST, -each.share))


def _policies(player: Player) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield each policy: its name, what it answers, and the ways to write that."""
    pieces, rows = player.form.pieces, player.rows
    example = player.recipe.example
    assert example is not None

    def always(*texts: str) -> list[list[str]]:
        return [[text] * rows for text in texts]

    def numbers(*values: str) -> list[list[str]]:
        return always(*(value.join(pieces) for value in values))

    yield "centre", "the middle of the screen", [player.click((0.5, 0.5))]
    yield "uniform", "a place at random", [player.uniform()]
    yield "corner", "the top left corner", [player.click((0.0, 0.0))]
    yield "example", "the recipe's own example, as copied from a prompt", always(example.response)
    if player.form.box:
        yield "whole screen", "a box around everything", [player.mark((0.0, 0.0, 1.0, 1.0))]
        inverted = [player.mark((0.5 + half, 0.5 + half, 0.5 - half, 0.5 - half)) for half in (0.5, 0.2)]
        yield "inverted", "a box with its corners in the wrong order", inverted
    yield "shotgun", f"{_ANSWERS[0]} or {_ANSWERS[1]} places at random", list(player.sprays())
    yield "empty", "nothing", always("")
    hollow = [re.sub(pattern, left, example.response) for pattern, left in _HOLLOW]
    yield (
        "form alone",
        "the form of an answer without a place",
        [*numbers(""), *always(*(each for each in hollow if each != example.response))],
    )
    yield "refusal", "that it is not there", [*always("refusal", "[-1,-1]"), *numbers("-1")]
    yield "odd numbers", "no number, and numbers far out", numbers("NaN", "null", "1e999", "-999999999", "9" * 400)
    thoughts = [text.partition("<think>") for text in player.uniform()]  # into the thinking, or before the answer
    long = [f"{before}{tag}{_LONG}{after}" if tag else f"{_LONG}{before}" for before, tag, after in thoughts]
    yield "long thinking", "a place at random after a long thought", [long]


def _form(recipe: Recipe, screens: Screens) -> Template:
    """Return a recipe's example with a gap for its place."""
    if recipe.example is None:
        raise RecipeError(f"{recipe.name}: has no example, in whose form policies answer; give it one")
    extent = convert(screens.sizes[:1], PIXEL, recipe.response_space, screens.sizes[:1], screens.sizes[:1])[0]
    form = template(recipe, recipe.example.response, (extent[0].item(), extent[1].item()))
    if form is None:
        raise RecipeError(f"{recipe.name}: its example answers with no place, which policies could move; give it one")
    return form


def _brackets(form: Template) -> Iterator[tuple[int, int]]:
    """Yield start and end, in the form without its numbers, of each pair of brackets around its first place."""
    before, after = form.pieces[0], form.pieces[-1]
    open_, close = "([{", ")]}"
    ends = iter(_unmatched(after, open_, close))
    for start, end in zip(_unmatched(before[::-1], close, open_), ends, strict=False):
        yield len(before) - 1 - start, len("".join(form.pieces)) - len(after) + end + 1


def _unmatched(text: str, opens: str, closes: str) -> Iterator[int]:
    """Yield where brackets close that the text did not open."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in opens) - (letter in closes)
        if depth < 0:
            depth = 0
            yield at


def _earned(policy: str, what: str, played: Played, honest: Played, seed: int) -> Earned:
    """Return what a policy earned beside the honest one."""
    total, acc = played
    drawn = np.random.default_rng(seed).integers(len(total), size=(_DRAWS, len(total)))
    own, most = total[drawn].mean(axis=1), honest[0][drawn].mean(axis=1)
    shares = own[most > 0] / most[most > 0]  # a draw of few samples may have none that earns
    low, high = (float(each) for each in np.quantile(shares, (0.025, 0.975)))
    farms = policy != HONEST and low > acc / (honest[1] or 1.0) + MARGIN  # 0: a form with a point beside its box
    return Earned(policy, what, total.mean().item(), acc, (total.mean() / honest[0].mean()).item(), (low, high), farms)
