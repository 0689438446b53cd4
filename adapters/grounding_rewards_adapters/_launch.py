"""Settings of a launch: the trainer, the options that all adapters share, and the recipes that it names."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import grounding_rewards as gr
from grounding_rewards.catalogue import family, resizing
from grounding_rewards.coords.register import processors
from grounding_rewards.coords.resizing import RESIZING, TRAINERS, pipelines
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import MISSING, near
from grounding_rewards.plugins.loading import absolute
from grounding_rewards.plugins.registry import frozen, in_full
from grounding_rewards.targets.columns import BadTarget

LOG = logging.getLogger("grounding_rewards")


def installed(package: str) -> str:
    """Return the version of a distribution that is installed; "" without."""
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True)
class Trainer:
    """A trainer: what it gives, and what its users call things."""

    name: str
    option: str  # how a launch sets an option, with ``{}`` for its name
    where: str  # where targets come from
    sizes: str  # where image sizes come from
    fields: str  # where what routes choose by comes from
    lacking: Mapping[str, str]  # why a score cannot have the other rows that it needs, by need
    pipeline: str = ""  # what goes before a model's name in the name of the resizing that images go through
    outcome: str = "the sample gets 0.0, and 0.0 for valid"  # what becomes of a sample whose target cannot be used
    patience: int = 1  # rows that may pass, at the start, without one usable target
    alone_ignored: bool = False  # True where one of a processor's two bounds is passed over without the other
    whole_columns: bool = False  # True where a column is there for all rows or for none
    outside_first: bool = False  # True where sizes from outside go before those in targets, which else go first
    # a package and its first version beside which the trainer does not start, such as ``("trl", (1, 16))``
    apart: tuple[str, tuple[int, int]] | None = None
    own: tuple[str, ...] = ()  # options of this trainer's adapter alone
    # options that the trainer's own settings have, where a launch does not say
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def clash(self) -> str:
        """Return the package that is installed here and keeps the trainer from starting, for the log; "" without."""
        if self.apart is None:
            return ""
        name, first = self.apart
        if not (there := installed(name)):
            return ""
        numbers = tuple(int(part) for part in there.split(".")[:2] if part.isdecimal())
        return f"{name} {there} is installed here, and {self.name}'s trainer does not start beside it" * (
            numbers >= first
        )

    def set(self, name: str, value: Any = None) -> str:
        """Return the way in which a launch sets an option, for errors."""
        return self.option.format(name) + ("" if value is None else f" to {value}")


@dataclass(frozen=True)
class Named:
    """The place where a launch names a recipe."""

    key: str = ""  # what goes before an option of that recipe alone: "" where options stand beside it
    # its name, where nothing but that stands there, so that a mapping must take its place to hold an option
    alone: str = ""

    def set(self, trainer: Trainer, settings: Mapping[str, Any]) -> str:
        """Return the way in which a launch sets options of that recipe, or names another "recipe", for errors."""
        options = dict(settings)
        if self.alone:
            pairs = {"name": options.pop("recipe", self.alone), **options}
            return trainer.set(self.key, f"{{{', '.join(f'{name}: {value}' for name, value in pairs.items())}}}")
        own_name = {"recipe": "name"} if self.key else {}
        return " and ".join(trainer.set(self.key + own_name.get(name, name), value) for name, value in options.items())


@dataclass(frozen=True)
class Settings:
    """Options that all adapters share, as adapters/README.md lists them; what is none of them is one of the recipe."""

    recipe: Any = None
    routes: Mapping[str, Mapping[str, Any]] | None = None
    bad_target: BadTarget = "abstain"
    record: str | None = None
    record_columns: Sequence[str] = ()
    diagnose: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Settings:
        """Read the settings among what a launch gives; mappings and lists of OmegaConf will do."""
        try:
            plain = {name: frozen(value) for name, value in raw.items()}
            json.dumps(plain, default=_token)  # for its error, where a value is not plain
        except gr.GroundingRewardsError:
            raise
        except Exception as error:  # OmegaConf's own, where a value is still missing
            complaint = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise gr.RecipeError(
                f"options of {raw.get('recipe')!r:.80}: got {dict(raw)!r:.200}; expected plain values ({complaint})"
            ) from error
        filed = _filed(plain.pop("settings", None), plain.get("recipe"))
        plain = {**plain, **{name: value for name, value in filed.items() if plain.get(name) is None}}
        own = {name: plain.pop(name) for name in SHARED if name in plain}
        settings = cls(**own, options=plain)
        settings._check()
        return settings

    def in_full(self) -> Settings:
        """Return the same with paths of files in full: a relative path is another file's in another directory."""
        routes = self.routes and {
            name: {value: _in_full(chosen) for value, chosen in by_value.items()}
            for name, by_value in self.routes.items()
        }
        return replace(self, recipe=_in_full(self.recipe), routes=routes, options=in_full(self.options))

    def key(self) -> str:
        """Return a text that equal settings share."""
        return json.dumps(vars(self), default=_token)

    def _check(self) -> None:
        if type(self.diagnose) is not bool:
            raise gr.RecipeError(f"diagnose: got {self.diagnose!r:.60}; expected true or false")
        if self.record is not None and not (isinstance(self.record, str) and self.record):
            raise gr.RecipeError(f"record: got {self.record!r:.60}; expected a directory")
        names = self.record_columns
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
            raise gr.RecipeError(f"record_columns: got {names!r:.80}; expected a list of names, such as ['ui_type']")
        if names and self.record is None:
            raise gr.RecipeError(f"record_columns: got {', '.join(names)}, and no record; set it to a directory")
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


def _filed(paths: Any, recipe: Any) -> dict[str, Any]:
    """Return what settings files say of the recipe and of targets that cannot be used, beneath a recipe given here."""
    if paths is None:
        return {}
    from grounding_rewards.settings.reading import filed  # with all options of files, which most launches do without

    settings = filed(paths)
    name, options = settings.over(recipe.get("name") if isinstance(recipe, Mapping) else recipe, {})
    options |= {named: _bare(options[named]) for named in ("model", "family") if named in options}
    more = {"bad_target": settings.data["bad_target"]} if "bad_target" in settings.data else {}
    return {**({} if name is None else {"recipe": name}), **options, **more}


def _bare(name: Any) -> Any:
    """Return a model or family without a trainer before it: the adapter puts its own there."""
    trainer, plus, own = str(name).partition("+")
    return own if plus and f"{trainer}+" in TRAINERS else name


SHARED = tuple(each.name for each in fields(Settings) if each.name != "options")
"""Names of the options that all adapters share."""


def _token(value: Any) -> int:
    """Return a number for a recipe that was built already; anything else that is not plain has none."""
    if not isinstance(value, gr.Recipe):
        raise TypeError(f"{type(value).__name__} is no plain value")
    return id(value)


def _in_full(recipe: Any) -> Any:
    if isinstance(recipe, Mapping):
        return in_full(recipe)
    return absolute(recipe) if isinstance(recipe, str) and ".py:" in recipe else recipe


def build(recipe: Any, settings: Settings, trainer: Trainer, key: str = "recipe") -> gr.Recipe:
    """Build one recipe that a launch names under ``key``, with the options beside it beneath its own."""
    if isinstance(recipe, gr.Recipe):
        if rest := settings.options.keys() - {*RESIZING}:
            raise gr.RecipeError(f"recipe {recipe.name} is built already; give it {', '.join(sorted(rest))} there")
        if not settings.options:
            return recipe
        return replace(recipe, resizing=resizing(recipe, _sized(settings.options, trainer)))
    own = dict(recipe) if isinstance(recipe, Mapping) else {"name": recipe}
    name = own.pop("name", None)
    if not name:
        meant = "".join(near(option, SHARED) for option in settings.options)
        place = f"{key}.name" if own else key
        raise gr.RecipeError(f"no recipe is named; set {trainer.set(place, _one_of(gr.list_recipes()))}{meant}")
    if not isinstance(name, str):
        raise gr.RecipeError(
            f"{key}: got {recipe!r:.80}; expected its name, a dict of its name and options, or a recipe: "
            f"set {trainer.set(key, 'a name')}"
        )
    try:
        return gr.recipe(name, **_sized({**settings.options, **own}, trainer))
    except (gr.RecipeError, gr.SpaceError) as error:
        where = "" if key == "recipe" else f"{key}: "
        unknown = next((option for option in settings.options if f"unknown option {option!r}" in str(error)), None)
        names = (*SHARED, *trainer.own)
        hint = "" if unknown is None else f"; every recipe here takes {', '.join(names)}{near(unknown, names)}"
        raise type(error)(f"{where}{error}{hint} (options are set as {trainer.set('NAME')})") from error


def _sized(options: Mapping[str, Any], trainer: Trainer) -> dict[str, Any]:
    """Return the options with the model or family made that of the trainer's own pipeline, and with its own bounds."""
    named = "family" if options.get("model") is None else "model"
    value, known = options.get(named), processors()
    if value is None:
        return dict(options)
    if named == "model" and value not in known:
        raise gr.RecipeError(f"model: got {value!r:.60}{near(value, known) or '.'} There are: {', '.join(known)}")
    if _bare(value) != value:
        raise gr.RecipeError(f"family: got {value!r:.60}; expected {_bare(value)}: {trainer.name}'s own way is meant")
    model = value if named == "model" else family(value).options.get("model")
    if f"{trainer.pipeline}{model}" not in pipelines():  # a family that no trainer resizes images for
        return dict(options)
    bounds = options.get("processor_min_pixels"), options.get("processor_max_pixels")
    if trainer.alone_ignored and (bounds[0] is None) != (bounds[1] is None):
        raise gr.SpaceError(
            f"processor_min_pixels, processor_max_pixels: got {bounds[0]}, {bounds[1]}; expected both or none, because "
            f"{trainer.name}'s image processor passes over one of them alone: set both there and here"
        )
    return {**trainer.defaults, **options, named: f"{trainer.pipeline}{value}"}


_DOES = {"groups": "compares the rollouts of one sample", "trajectories": "adds up a trajectory"}


def refuse(recipe: gr.Recipe, trainer: Trainer) -> None:
    """Raise where a score needs other rows that the trainer does not give."""
    for need, why in trainer.lacking.items():
        if need in recipe.needs:
            raise gr.RecipeError(f"{recipe.name} {_DOES[need]}; {why}")


def fix_of(error: gr.TargetError, recipe: gr.Recipe, trainer: Trainer, named: Named | None) -> str:
    """Return what to set, where a space or a size is missing."""
    if error.field == "space" or "target_space" in error.expected:
        if named is None:
            return f"; build the recipe with target_space={_one_of(CoordSpace)}"
        return f"; set {named.set(trainer, {'target_space': _one_of(CoordSpace)})}"
    if error.came is not MISSING:
        return ""
    if error.field == "image_size" or (error.field == "model_image_size" and recipe.resizing is not None):
        return f"; give image_size: {trainer.sizes}"
    if error.field == "model_image_size":
        return (
            f"; set {trainer.set('model', _one_of(processors()))} (and the bounds of "
            f"resizing to the launch's own), which makes it from image_size, or give model_image_size: {trainer.sizes}"
        )
    return ""


def _one_of(names: Iterable[str]) -> str:
    return f"one of {', '.join(names)}"


def say_once(text: str, logged: set[str], about: str = "", level: int = logging.ERROR) -> None:
    """Log a text, where none was logged before ``about`` the same, or the same text; ``logged`` grows."""
    if (about or text) not in logged:
        logged.add(about or text)
        LOG.log(level, "%s", text)
