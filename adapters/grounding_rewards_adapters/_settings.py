"""What a launch sets: the recipe, or several and what chooses between them, and how every adapter treats rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import grounding_rewards as gr
from grounding_rewards.coords.spaces import MODELS
from grounding_rewards.errors import near
from grounding_rewards.plugins.frozen import frozen
from grounding_rewards.plugins.loading import absolute, in_full
from grounding_rewards.targets.columns import BadTarget


@dataclass(frozen=True)
class Trainer:
    """What a trainer gives, and what its users call things.

    Attributes:
        name: the trainer's name.
        option: how a launch sets an option, with ``{}`` for its name.
        where: where targets come from.
        sizes: where image sizes come from.
        fields: where what routes choose by comes from.
        pipeline: what goes before a model's name in the name of the resizing that images go through.
        lacking: why a score cannot have the other rows that it needs, by need.
        outcome: what becomes of a sample whose target cannot be used.
        patience: so many rows may pass, at the start, without one usable target.
        alone_ignored: whether one of the processor's two bounds is passed over where the other is not set.
        whole_columns: whether a column is there for all rows or for none.
        outside_first: whether sizes from outside go before those in targets, or only stand in for them.
        own: options of this trainer's adapter alone.
        defaults: options that the trainer's own settings have, where a launch does not say.
    """

    name: str
    option: str
    where: str
    sizes: str
    fields: str
    lacking: Mapping[str, str]
    pipeline: str = ""
    outcome: str = "the sample gets 0.0, and 0.0 for valid"
    patience: int = 1
    alone_ignored: bool = False
    whole_columns: bool = False
    outside_first: bool = False
    own: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def set(self, name: str, value: Any = None) -> str:
        """How a launch sets an option, for errors."""
        return self.option.format(name) + ("" if value is None else f" to {value}")

    def resizing(self, model: str | None) -> str:
        """The pipeline that a model's images go through here, as ``spaces.model_image_size`` names it."""
        return f"{self.pipeline}{model}"


@dataclass(frozen=True)
class Named:
    """Where a launch names a recipe.

    Attributes:
        key: what goes before an option of that recipe alone: "" where options stand beside it.
        alone: its name, where nothing but that stands there, so that a mapping must take its place to hold an option.
    """

    key: str = ""
    alone: str = ""

    def set(self, trainer: Trainer, option: str, value: Any) -> str:
        """How a launch sets an option of that recipe, for errors."""
        if self.alone:
            return trainer.set(self.key, f"{{name: {self.alone}, {option}: {value}}}")
        return trainer.set(self.key + option, value)


@dataclass(frozen=True)
class Settings:
    """The options that all adapters share; what is none of them is an option of the recipe.

    Attributes:
        recipe: a recipe's name, its dict form, a recipe, or ``module:attr`` or ``/path/file.py:attr`` of one; with
            ``routes``, that of all rows which they do not name.
        routes: ``{FIELD: {VALUE: recipe}}``: rows whose FIELD is VALUE are scored with that recipe, a name or a dict of
            its name and options, which go before the options beside ``routes``. FIELD is a column, verl's
            ``data_source``, or ``task``, which is looked for in the target first.
        model: qwen2_vl, qwen2_5_vl or qwen3_vl: sets the response space, and makes the size of the image that the
            model saw from ``image_size``, where the target has no ``model_image_size``.
        min_pixels: as the launch sets it for images; see ``spaces.model_image_size``.
        max_pixels: likewise.
        processor_min_pixels: the image processor's own bound, where the trainer resizes before it.
        processor_max_pixels: likewise.
        bad_target: ``"abstain"``, or ``"raise"`` at the first target that cannot be used.
        record: a directory for a table of all rollouts; None for none.
        diagnose: whether a line is logged after the first 256 rows.
        options: the recipe's options.
    """

    recipe: Any = None
    routes: Mapping[str, Mapping[str, Any]] | None = None
    model: str | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    processor_min_pixels: int | None = None
    processor_max_pixels: int | None = None
    bad_target: BadTarget = "abstain"
    record: str | None = None
    diagnose: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """The settings among what a launch gives; mappings and lists of OmegaConf will do.

        Raises:
            RecipeError: a value is not plain, or does not fit.

        >>> Settings.of({"recipe": "gelato", "model": "qwen3_vl", "format_weight": 0.1}).options
        {'format_weight': 0.1}
        """
        try:
            plain = {name: frozen(value) for name, value in given.items()}
            json.dumps(plain, default=_token)
        except gr.GroundingRewardsError:
            raise
        except Exception as error:  # OmegaConf's own, where a value is still missing
            complaint = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise gr.RecipeError(
                f"options of {given.get('recipe')!r:.80}: got {dict(given)!r:.200}; expected plain values ({complaint})"
            ) from error
        own = {name: plain.pop(name) for name in SHARED if name in plain}
        found = cls(**own, options=plain)
        found._check()
        return found

    def in_full(self) -> Settings:
        """The same with the paths of files in full: a relative path is another file's in another directory."""
        routes = self.routes and {
            name: {value: _in_full(chosen) for value, chosen in by_value.items()}
            for name, by_value in self.routes.items()
        }
        return replace(self, recipe=_in_full(self.recipe), routes=routes, options=in_full(self.options))

    def key(self) -> str:
        """What tells settings apart."""
        return json.dumps(vars(self), default=_token)

    @property
    def bounds(self) -> dict[str, Any]:
        """The bounds of resizing, as ``spaces.model_image_size`` takes them."""
        return {name: getattr(self, name) for name in _BOUNDS}

    def _check(self) -> None:
        if self.model is not None and self.model not in MODELS:
            hint = near(self.model, MODELS) or "."
            raise gr.RecipeError(f"model: got {self.model!r:.60}{hint} There are: {', '.join(MODELS)}")
        for name, bound in self.bounds.items():
            if bound is not None and (type(bound) is not int or bound < 1):
                raise gr.RecipeError(f"{name}: got {bound!r:.60}; expected a whole number of pixels from 1")
            if bound is not None and self.model is None:
                raise gr.RecipeError(f"{name}={bound} says how images are resized; say for which model: set model too")
        if type(self.diagnose) is not bool:
            raise gr.RecipeError(f"diagnose: got {self.diagnose!r:.60}; expected true or false")
        if self.record is not None and not (isinstance(self.record, str) and self.record):
            raise gr.RecipeError(f"record: got {self.record!r:.60}; expected a directory")
        routes = self.routes
        if routes is not None and (
            not isinstance(routes, Mapping)
            or len(routes) != 1
            or not all(isinstance(chosen, Mapping) and chosen for chosen in routes.values())
        ):
            raise gr.RecipeError(
                f"routes: got {routes!r:.200}; expected one field and a recipe for each of its values, such as "
                '{"data_source": {"osworld-g": "gelato", "android": {"name": "gui-r1"}}}'
            )


_BOUNDS = ("min_pixels", "max_pixels", "processor_min_pixels", "processor_max_pixels")
SHARED = tuple(each.name for each in fields(Settings) if each.name != "options")
"""Names of the options that all adapters share."""


def _token(value: Any) -> int:
    """What stands for a recipe that was built already; whatever else is not plain has none."""
    if not isinstance(value, gr.Recipe):
        raise TypeError(f"{type(value).__name__} is no plain value")
    return id(value)


def _in_full(recipe: Any) -> Any:
    if isinstance(recipe, Mapping):
        return in_full(recipe)
    return absolute(recipe) if isinstance(recipe, str) and ".py:" in recipe else recipe
