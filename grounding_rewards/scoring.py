"""A recipe: dialect, verifiers and composition under one name; text and targets in, scores out."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grounding_rewards.actions import with_directions
from grounding_rewards.arrays import Floats, made
from grounding_rewards.combine import Known, evaluate, parts_of
from grounding_rewards.coords.axes import XY, axes_named
from grounding_rewards.coords.image_sizes import read_sizes
from grounding_rewards.coords.resizing import Resizing
from grounding_rewards.coords.spaces import PIXEL, CoordSpace, convert, moves_px
from grounding_rewards.errors import DialectError, GroundingRewardsError, RecipeError, TargetWarning, short_repr
from grounding_rewards.parsing.reading import Answers, Dialect
from grounding_rewards.parsing.responses import Thinking, in_one_step, parse_texts, read_responses
from grounding_rewards.parsing.texts import trimmed
from grounding_rewards.plugins.registry import add_origin
from grounding_rewards.rollouts import Predictions, Reason, Rollouts, Scores, group_codes, read_extras, read_lengths
from grounding_rewards.targets.columns import MOST_KNOWN, BadTarget, Targets, content
from grounding_rewards.targets.requirements import Requirements
from grounding_rewards.targets.target import NativeForm
from grounding_rewards.verifiers.critic import check_tag
from grounding_rewards.verifiers.terms import VERIFIER, Verifier, called, reads_of, target_checks, walk, why_invalid

KINDS = BBOX, POLYGON, CIRCLE, POINT, REFUSAL, ACTION = "bbox", "polygon", "circle", "point", "refusal", "action"
"""Kinds of target, as ``Recipe.accepts`` names them."""


@dataclass(frozen=True)
class Source:
    """Origin of a recipe."""

    paper: str
    repository: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Deviation:
    """A departure of a recipe from the published code, and why."""

    name: str
    why: str  # what is accidental in the source, and what the recipe does instead


@dataclass(frozen=True)
class Example:
    """One response and its target, with what scoring them needs."""

    response: str
    target: Any  # the target, in any form that the recipe reads
    # Width and height of the original image, where the target does not say.
    image_size: tuple[float, float] | None = None
    model_image_size: tuple[float, float] | None = None  # the same of the image that the model saw
    group: tuple[str, ...] = ()  # the other responses of its group, to the same target


@dataclass(frozen=True)
class Exploit:
    """A way to score without being right that the published formula leaves open."""

    name: str
    what: str  # what a policy does, and why the formula rewards it
    payoff: float  # the total that it earns, measured
    # A response that earns exactly ``payoff``; None where the payoff is a mean over many.
    example: Example | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Recipe:
    """A reward by name. Build one with ``recipe("gelato")``; equal arguments make equal recipes.

    Attributes:
        name: what a config calls it.
        dialect: how answers are written.
        reward: the composition that makes ``Scores.total``.
        success: the verifier that makes ``Scores.acc``.
        space: the space in which the formula works; predictions and targets are brought into it.
        response_space: the space that the model answers in.
        target_space: the space of targets that do not name one.
        answers: which of several answers counts.
        thinking: what happens to thinking.
        trim: whether end-of-turn and padding tokens at the end of a response are left out; None where callers say.
        axes: the order and unit in which responses write x and y, as ``coords.axes`` has them.
        resizing: makes the size of the image that the model saw from the original's, where neither the target nor the
            caller says it; None makes none.
        accepts: kinds of target it can judge.
        native: the source's own target rows, read first.
        source: paper, repository, commit.
        deviations: where it departs from the published code, and why.
        exploits: known exploits of the published formula.
        options: the options it was built with.
        label_free: whether nothing is compared with targets, so that they need not say what is right.
        formula: ``Scores.total`` in one or a few lines.
        example: a response in the recipe's answer format, and a target in its native form.
        action_names: names of actions in targets that are known beside the vocabulary: the source's, and one's own.
        follows_targets: whether it works in a space of shares where the option target_space names one.
    """

    name: str
    dialect: Dialect
    reward: Verifier
    success: Verifier
    space: CoordSpace
    response_space: CoordSpace
    target_space: CoordSpace
    accepts: frozenset[str]
    source: Source
    answers: Answers = "only"
    thinking: Thinking = "closed"
    trim: bool | None = None
    axes: str = XY
    resizing: Resizing | None = None
    native: NativeForm | None = None
    deviations: tuple[Deviation, ...] = ()
    exploits: tuple[Exploit, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    label_free: bool = False
    formula: str = ""
    example: Example | None = field(default=None, compare=False)
    action_names: tuple[str, ...] = ()
    follows_targets: bool = False

    reads_itself: ClassVar[bool] = False
    """True where a function of one's own reads responses and targets, and not this package."""

    def __post_init__(self) -> None:
        for role in ("reward", "success"):
            term = getattr(self, role)
            if wrong := why_invalid(term, VERIFIER):
                raise RecipeError(f"{self.name}: {role}: got {short_repr(term)}, which {wrong}")
            if self.answers != "all" and "points" in term.needs:
                leaves = [each for each in walk(term) if not getattr(each, "within", ())]
                judge = next(called(each) for each in leaves if "points" in each.needs)
                expected = f"expected 'all', because {judge} judges all answers of a response"
                raise RecipeError(f"{self.name}: answers: got {self.answers!r}; {expected}")
        check_tag(self.name, self.dialect, (self.reward, self.success))

    def __repr__(self) -> str:
        """Return the call that builds it again: the name and the options that are not defaults."""
        return f"recipe({', '.join([repr(self.name), *(f'{name}={value!r}' for name, value in self.options)])})"

    @property
    def judges_places(self) -> bool:
        """False where it judges actions without a place alone, so that no answer can be moved over a screen."""
        return self.accepts != {ACTION}

    @property
    def low(self) -> float:
        """The lowest total."""
        return float(self.reward.low)

    @property
    def high(self) -> float:
        """The highest total."""
        return float(self.reward.high)

    @cached_property
    def needs(self) -> frozenset[str]:
        """Needs beside responses and places: "groups", "trajectories", "points", or "screen", the image's size."""
        return self.reward.needs | self.success.needs

    @cached_property
    def reads_extras(self) -> bool:
        """True where scores may depend on ``token_lengths`` or ``extras``.

        >>> from grounding_rewards import recipe
        >>> recipe("gelato").reads_extras, recipe("ui-r1-dast").reads_extras
        (False, True)
        """
        return bool(reads_of(self.reward) | reads_of(self.success))

    @cached_property
    def requirements(self) -> Requirements:
        """Requirements on targets."""
        return Requirements(
            self.space, self.response_space, self.accepts, self.target_space, screen="screen" in self.needs,
            trajectories="trajectories" in self.needs, label_free=self.label_free,
            checks=target_checks(self.reward, self.success), resizing=self.resizing, name=self.name,
            action_names=self.action_names, follows_targets=self.follows_targets,
        )  # fmt: skip

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of ``Scores.parts``, in order."""
        return tuple([name for name, _ in parts_of(self.reward)])

    def to_dict(self) -> dict[str, Any]:
        """Name and options: ``recipe(r.to_dict()) == r``."""
        return {"name": self.name, **copy.deepcopy(dict(self.options))}  # the caller may change it

    def read_targets(
        self, targets: Any, *, bad_target: BadTarget = "raise", warn: bool = True, box_format: str | None = None
    ) -> Targets:
        """Read targets once, in this recipe's native form and space or the wire form, to score them many times.

        ``box_format`` is as in ``Targets.from_list``.

        Warns:
            TargetWarning: some look wrong (``suspect_targets``), unless ``warn`` is False.
        """
        if isinstance(targets, Targets):
            return targets.unlabelled() if self.label_free else targets
        if targets is None:
            raise RecipeError(f"{self.name} compares responses with targets: got None; expected a target for each")
        known_by = content(targets[0]) if type(targets) is list and len(targets) == 1 else None
        key = None if known_by is None else (bad_target, box_format, known_by)
        table = self._read.get(key)
        if table is None or table.has_warned:  # what looks wrong is said again at each call
            table = Targets.from_list(
                targets, native=self.native, space=self.target_space, bad_target=bad_target,
                label_free=self.label_free, box_format=box_format,
            )  # fmt: skip
            if key is not None and not table.errors:
                if len(self._read) >= MOST_KNOWN:
                    self._read.clear()
                self._read[key] = table
        if warn:
            _warn(table, self)
        return table

    @cached_property
    def _read(self) -> dict[Any, Targets]:
        """Targets of single calls that were read before, by what they were read from."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_read"}

    def ended(self, responses: Sequence[str | None]) -> Sequence[str | None]:
        """Return responses as trainers and commands read them: without end-of-turn tokens, unless ``trim`` is False."""
        texts = read_responses(responses)
        kept = texts if self.trim is False else trimmed(texts)
        return responses if kept is texts else kept

    def score(
        self,
        responses: str | Sequence[str | None] | None,
        targets: Any,
        *,
        image_sizes: Any = None,
        model_image_sizes: Any = None,
        groups: Sequence[Any] | NDArray[Any] | None = None,
        token_lengths: Sequence[int] | NDArray[Any] | None = None,
        extras: Mapping[str, Any] | None = None,
        bad_target: BadTarget = "raise",
    ) -> Scores:
        """Score n responses.

        Args:
            responses: n texts; None counts as empty. A single text is a batch of one, with a single target.
            targets: n targets, or a prepared ``Targets``; None for none at all, where the recipe is ``label_free``.
            image_sizes: (n, 2) or (2,) width and height of the original images, in pixels; they override sizes in
                the targets. Needed only where a conversion needs them.
            model_image_sizes: the same for the images that the model saw after resizing; they override what
                ``resizing`` makes, as do those in the targets.
            groups: (n,) which sample each response belongs to; without it every row is its own group.
            token_lengths: (n,) how many tokens each response has, for rewards of length.
            extras: further columns for verifiers of one's own.
            bad_target: ``"raise"``, or ``"abstain"``: rows whose target cannot be used score 0.0 and are not valid.

        Returns:
            Scores of n rows, ``total`` within ``low`` and ``high``, every float finite.

        Raises:
            TargetError: a target cannot be used (under ``"raise"``).
            TypeError: a response is neither a string nor None.
            RecipeError: lengths differ, or something in ``needs`` is missing.
            VerifierError: a verifier returned something other than n numbers within its bounds.

        Warns:
            TargetWarning: some targets look wrong (``suspect_targets``); of prepared targets each line comes once.

        >>> from grounding_rewards import recipe
        >>> recipe("gelato").score(["(200, 150)", "(900, 900)"], [[0.1, 0.1, 0.3, 0.2]] * 2).total.round(6)
        array([1., 0.])
        """
        rollouts = self.prepare(
            responses, targets, image_sizes=image_sizes, model_image_sizes=model_image_sizes, groups=groups,
            token_lengths=token_lengths, extras=extras, bad_target=bad_target,
        )  # fmt: skip
        _warn(rollouts.targets, self)
        return self.evaluate(rollouts)

    def prepare(
        self,
        responses: str | Sequence[str | None] | None,
        targets: Any,
        *,
        image_sizes: Any = None,
        model_image_sizes: Any = None,
        groups: Sequence[Any] | NDArray[Any] | None = None,
        token_lengths: Sequence[int] | NDArray[Any] | None = None,
        extras: Mapping[str, Any] | None = None,
        bad_target: BadTarget = "raise",
    ) -> Rollouts:
        """Return what verifiers see of n responses: arguments and errors as in ``score``, without warnings.

        >>> from grounding_rewards import recipe
        >>> recipe("gelato").prepare("(200, 150)", [0.1, 0.1, 0.3, 0.2]).predictions.xy
        array([[0.2 , 0.15]])
        """
        if responses is None or isinstance(responses, str):
            responses, targets = [responses], targets if isinstance(targets, Targets) else [targets]
        texts = trimmed(read_responses(responses)) if self.trim else read_responses(responses)
        rows = texts.rows
        if targets is None and self.label_free:
            targets = [None] * rows
        table = self.read_targets(targets, bad_target=bad_target, warn=False)
        if len(table) != rows:
            raise RecipeError(f"{self.name}: got {rows} responses and {len(table)} targets; expected one for each")
        if groups is None and "groups" in self.needs:
            raise RecipeError(f"{self.name} compares the rollouts of one sample: give groups=, the sample of each row")
        given = {"image_sizes": image_sizes, "model_image_sizes": model_image_sizes}
        sized = {name: read_sizes(name, sizes, rows) for name, sizes in given.items() if sizes is not None}
        ready = table.prepare(self.requirements, bad_target=bad_target, **sized)
        try:
            predictions, text = parse_texts(
                texts, self.dialect, space=self.response_space, answers=self.answers, thinking=self.thinking,
                action_names=self.action_names,
            )  # fmt: skip
        except DialectError as error:
            add_origin(error)
            raise
        return made(
            Rollouts,
            predictions=in_one_step(into_space(turned(predictions, self.axes), self.space, ready), ready),
            targets=ready,
            text=text,
            groups=group_codes(groups, rows),
            token_lengths=None if token_lengths is None else read_lengths(token_lengths, rows),
            extras=read_extras(extras, rows) if extras else {},
        ).read_only()

    def evaluate(self, rollouts: Rollouts) -> Scores:
        """The scores of what ``prepare`` returned: ``score`` is the two, one after the other.

        Raises:
            TargetError: a verifier lacks something in a target.
            VerifierError: a verifier returned something other than n numbers within its bounds.
        """
        known: Known = {}
        try:
            total, parts = evaluate(self.reward, rollouts, known=known)
            success = known.get(id(self.success))  # mostly a part of the reward
            if success is None:
                success, _ = evaluate(self.success, rollouts, "success", known)
        except GroundingRewardsError as error:
            add_origin(error)
            raise
        reason, valid = rollouts.predictions.reason, _ONE.repeat(len(total))
        if rollouts.targets.errors:
            good = rollouts.targets.valid
            valid = good.astype(np.float64)
            total = np.where(good, total, min(max(0.0, self.low), self.high))  # 0.0, or the bound nearest to it
            success = np.where(good, success, 0.0)
            parts = {name: np.where(good, part, 0.0) for name, part in parts.items()}
            reason = np.where(good, reason, np.int8(Reason.BAD_TARGET))
        return made(
            Scores,
            total=total,
            acc=(success > 0.0).astype(np.float64),
            valid=valid,
            parts=parts,
            reason=reason,
            predictions=rollouts.predictions,
            errors=rollouts.targets.errors,
        )


def _warn(targets: Targets, recipe: Recipe) -> None:
    """Warn of targets that look wrong, at the line that calls the caller."""
    for line in targets.suspicions(recipe.requirements):
        warnings.warn(line, TargetWarning, stacklevel=3)


def turned(predictions: Predictions, axes: str) -> Predictions:
    """Return predictions with x before y in their space's own unit, of those that are written as ``axes`` says."""
    if axes == XY:
        return predictions
    read = axes_named(axes).read
    points, arguments = predictions.points, predictions.arguments
    return predictions.changed(
        xy=read(predictions.xy),
        box=read(predictions.box),
        points=None if points is None else read(points),
        arguments=arguments if arguments.to is None else arguments.changed(to=read(arguments.to)),
    )


def into_space(predictions: Predictions, space: CoordSpace, targets: Targets) -> Predictions:
    """Bring predictions into a space, and mark as OUT_OF_IMAGE those outside 0..extent on either axis."""
    xy, points, arguments, own = predictions.xy, predictions.points, predictions.arguments, predictions.space
    extent = _extent(own, targets)
    if extent is not None:
        outside = (xy < 0.0) | (xy > extent)
        if np.count_nonzero(outside):
            outside &= ~np.isnan(extent)  # where the size is unknown, nothing is outside
            reason = np.where(outside[:, 0] | outside[:, 1], _OUT_OF_IMAGE, predictions.reason)
            predictions = predictions.changed(reason=reason)
    if own is space and arguments.to is None:
        return predictions
    sizes = targets.image_sizes, targets.model_image_sizes
    if points is not None and predictions.offsets is not None:
        owner = np.repeat(np.arange(len(predictions)), np.diff(predictions.offsets))
        points = convert(points, own, space, sizes[0][owner], sizes[1][owner])
    if arguments.to is not None:  # the screen's aspect decides which side of a move is the longer one
        moves = moves_px(xy, arguments.to, own, *sizes)
        ends = arguments.changed(to=convert(arguments.to, own, space, *sizes))
        arguments = with_directions(predictions.actions, ends, moves)
    xy, box = convert(xy, own, space, *sizes), convert(predictions.box, own, space, *sizes)
    return predictions.changed(xy=xy, box=box, space=space, points=points, arguments=arguments)


_OUT_OF_IMAGE = np.int8(Reason.OUT_OF_IMAGE)
_ONE = np.array([1.0])


def _extent(space: CoordSpace, targets: Targets) -> Floats | float | None:
    """Return the extent of both axes, or each row's, in a space; None where no row says."""
    if space.extent is not None:
        return space.extent
    return targets.known_image_sizes if space is PIXEL else targets.known_model_image_sizes
