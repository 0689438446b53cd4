"""Settings files: TOML, YAML or JSON with the tables recipe, answers, data and images; or a table that we wrote."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from grounding_rewards import catalogue
from grounding_rewards.errors import GroundingRewardsError, RecipeError, near
from grounding_rewards.literals import unique_keys, yaml_values
from grounding_rewards.plugins.loading import names_code
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings import groups
from grounding_rewards.settings.declared import check_whole, flags_of, typed

RECIPE = "recipe"
TABLES: Mapping[str, Sequence[type]] = {
    RECIPE: (),
    "answers": (groups.Answers,),
    "data": (
        groups.TargetForm, groups.ResponseColumns, groups.TrainingColumns, groups.RowSource, groups.RowShape,
        groups.AnswerFile,
    ),
    "images": (groups.Images,),
}  # fmt: skip
"""Tables of a settings file, and the groups whose settings they hold; ``recipe`` has a name and options."""

MANIFESTS = ("_rollout.manifest.json", "_score.manifest.json")
"""Manifests of the rollout tables that we write, each with its recipe."""


@cache
def known(table: str) -> dict[str, tuple[Field[Any], Any]]:
    """Return the settings of a table by name, each with its type."""
    return typed(*TABLES[table])


@dataclass(frozen=True)
class Settings:
    """Settings of files.

    Attributes:
        recipe: the recipe's name, as ``name``, and its options.
        answers: what the numbers of answers mean: ``response_space``, ``family``, ``model`` and its bounds.
        data: the form of targets, the columns, and where rows and answers are.
        images: the folder of relative paths, and bounds.
    """

    recipe: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the recipe, those of its answers and the space of its targets among them."""
        own = {name: value for name, value in self.recipe.items() if name != "name"}
        space = {name: self.data[name] for name in ("target_space",) if name in self.data}
        return {**own, **self.answers, **space}

    def build(self, name: str | None = None, **options: Any) -> Recipe:
        """Build the recipe; a name and options given here override those of the files.

        Raises:
            RecipeError: no recipe is named, or an option does not fit.
        """
        name, given = self.over(name, options)
        if name is None:
            raise RecipeError('settings: no recipe is named; add name = "click" to [recipe]')
        return catalogue.recipe(name, **given)

    def over(self, name: str | None, options: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """Return a recipe's name and options: those that are given, and beneath them those of the files."""
        own = self.recipe.get("name")
        left = {} if name in (None, own) else {key for key in self.recipe if key != "name"}  # of another recipe
        return name or own, {**{key: value for key, value in self.options.items() if key not in left}, **options}

    def updated(self, later: Settings) -> Settings:
        """Return these settings with those of a later file in their places; another recipe brings its own options."""
        own, new = self.recipe, later.recipe
        recipe = dict(new) if new.get("name", own.get("name")) != own.get("name") else {**own, **new}
        rest = {name: {**getattr(self, name), **getattr(later, name)} for name in TABLES if name != RECIPE}
        return Settings(recipe, **rest)


def read_settings(*paths: str | os.PathLike[str]) -> Settings:
    r"""Read settings files.

    Args:
        paths: files in TOML, YAML or JSON with the tables ``recipe``, ``answers``, ``data`` and ``images``, or
            directories that ``rollout`` or ``pool score`` wrote, whose recipe is taken. Later ones override
            earlier ones, key by key. Relative paths in a file start in its folder. A file may name code as its recipe,
            so read only what you would run; a directory may not.

    Raises:
        RecipeError: a file cannot be read, or a setting is unknown or does not fit; names the file and the line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "settings.toml")
    ...     _ = file.write_text('[recipe]\nname = "click"\n[answers]\nresponse_space = "thousandths"\n')
    ...     read_settings(file).build().response_space
    <CoordSpace.THOUSANDTHS: 'thousandths'>
    """
    settings, sources = Settings(), list[_Source]()
    for path in map(Path, paths):
        if path.is_dir():
            settings = settings.updated(_of_table(path))
            continue
        sources.append(_Source(path))
        settings = settings.updated(sources[-1].settings())
    _check_recipe(settings, sources)
    return settings


def place_of(name: str, paths: Sequence[Path]) -> str:
    """Return the file, line and name of a setting in the last of some files that has it; "" for none."""
    sources = [_Source(path) for path in reversed(paths) if not path.is_dir()]
    return next((each.place(table, key) for each in sources for table, key in each.named() if key == name), "")


def filed(paths: Any) -> Settings:
    """Read the argument ``settings`` of a function or a launch: the path of a file or a directory, a list, or None."""
    named = [paths] if isinstance(paths, str | os.PathLike) else [] if paths is None else paths
    if not isinstance(named, list | tuple) or not all(isinstance(each, str | os.PathLike) and each for each in named):
        raise RecipeError(f"settings: got {paths!r:.80}; expected the path of a settings file, or a list of them")
    return read_settings(*named)


def _check_recipe(settings: Settings, sources: Sequence[_Source]) -> None:
    """Build the recipe, with spaces of its own where the files name none, and say where a wrong option stands."""
    name = settings.recipe.get("name")
    if name is None:
        for source in sources:
            if own := next(iter(source.content.get(RECIPE, ())), None):
                raise RecipeError(f'{source.place(RECIPE, own)}: got {own} without a recipe; add name = "click"')
        name = "click"  # which takes what answers mean and the space of targets
    try:
        catalogue.recipe(name, **catalogue.shown_with(name, settings.options))
    except GroundingRewardsError as error:
        places = [
            each.place(table, key)
            for wanted in (r"'{}'", r"\b{}\b", "name")  # the option as it stands in the error, else the recipe's name
            for each in reversed(sources)
            for table, key in each.named()
            if (re.search(wanted.format(re.escape(key)), str(error)) if "{}" in wanted else key == wanted)
        ]
        raise type(error)(": ".join([*places[:1], str(error)])) from error


def _of_table(path: Path) -> Settings:
    """Return the settings of a rollout table that we wrote: its recipe, which data may not load."""
    found = next((path / name for name in MANIFESTS if (path / name).is_file()), None)
    if found is None:
        raise RecipeError(f"{path}: no {' or '.join(MANIFESTS)} in it; name a settings file, or a table of `rollout`")
    try:
        recipe = json.loads(found.read_bytes()).get(RECIPE)
    except (OSError, ValueError, RecursionError, AttributeError) as error:
        raise RecipeError(f"{found}: cannot be read ({error})") from None
    if not isinstance(recipe, Mapping) or not isinstance(recipe.get("name"), str):
        raise RecipeError(f"{found}: names no recipe; name it by --recipe")
    if any(names_code(each) for each in _texts(recipe)):
        raise RecipeError(
            f"{found}: its recipe {recipe['name']} names code, which is not loaded from data; name it by --recipe"
        )
    return _sorted(dict(recipe))


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts within a plain value."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _sorted(recipe: Mapping[str, Any]) -> Settings:
    """Return a recipe in its dict form with the options that stand in tables of their own there."""
    answers = {key: value for key, value in recipe.items() if key in known("answers")}
    data = {key: value for key, value in recipe.items() if key == "target_space"}
    own = {key: value for key, value in recipe.items() if key not in answers and key not in data}
    return Settings(own, answers, data)


def read_value(text: str) -> Any:
    """Read a value as JSON where it is JSON, else as the text."""
    try:
        # NaN and Infinity, which are no JSON, stay texts.
        return json.loads(text, parse_constant=str, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError):
        return text


def by_table(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the options of a command as the tables of a settings file; those that no file holds are ``options``."""
    rest = dict(values)
    tables: dict[str, dict[str, Any]] = {RECIPE: {}}
    if RECIPE in rest:
        tables[RECIPE]["name"] = rest.pop(RECIPE)
    for pair in rest.pop("option", ()):
        key, _, text = pair.partition("=")
        tables[RECIPE][key] = read_value(text)
    for table in (name for name in TABLES if name != RECIPE):
        tables[table] = {name: rest.pop(name) for name in [*rest] if name in known(table)}
    return {name: table for name, table in {**tables, "options": rest}.items() if table}


class _Source:
    """One settings file: its content, and the lines in which settings stand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kind = path.suffix.lower()
        try:
            self.text = path.read_text("utf-8-sig")
            if kind == ".toml":
                content = tomllib.loads(self.text)
            elif kind in (".yaml", ".yml"):
                content = yaml_values(self.text)
            elif kind == ".json":
                content = json.loads(self.text, object_pairs_hook=unique_keys)
            else:
                raise RecipeError(
                    f"{path}: got a file that ends in {kind or 'nothing'}; expected .toml, .yaml or .json"
                )
        except ImportError:
            raise RecipeError(f"{path}: YAML needs PyYAML: pip install pyyaml; TOML and JSON do without") from None
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read ({error.strerror})") from None
        except (GroundingRewardsError, RecursionError):
            raise
        except Exception as error:  # of a parser, of which YAML's is no ValueError
            why = " ".join(str(error).split())
            raise RecipeError(f"{path}: cannot be read as {kind[1:].upper()} ({why})") from None
        self.content = {} if content is None else content
        if kind == ".json" and isinstance(content, Mapping) and {"command", "settings", "result"} <= {*content}:
            self.content = {name: table for name, table in content["settings"].items() if name in TABLES}
        tables = ", ".join(f"[{name}]" for name in TABLES)
        if not isinstance(content, Mapping | NoneType):
            raise RecipeError(f"{path}: got {type(content).__name__}; expected the tables {tables}")
        for table, values in self.content.items():
            if table not in TABLES:
                hint = near(table, TABLES) or self._home(table)
                raise RecipeError(f"{self.place(table)}: unknown table{hint or '.'} There are: {tables}")
            if not isinstance(values, Mapping):
                raise RecipeError(f"{self.place(table)}: got {values!r:.60}; expected a table of settings")

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield the table and the name of each setting."""
        for table, values in self.content.items():
            for key in values:
                yield table, str(key)

    def settings(self) -> Settings:
        """Return the settings, each checked."""
        tables: dict[str, dict[str, Any]] = {name: dict(self.content.get(name, {})) for name in TABLES}
        moved = _sorted(tables[RECIPE])
        for table in ("answers", "data"):
            for key, value in getattr(moved, table).items():
                if key in tables[table]:
                    raise RecipeError(f"{self.place(RECIPE, key)}: [{table}] has it, too; leave one of the two out")
                self._value(RECIPE, key, value, known(table)[key])
        for table in ("answers", "data", "images"):
            tables[table] = {
                key: self._value(table, key, value, self._known(table, key)) for key, value in tables[table].items()
            }
        name = moved.recipe.get("name")
        if name is not None and not isinstance(name, str):
            raise RecipeError(f"{self.place(RECIPE, 'name')}: got {name!r:.60}; expected the name of a recipe")
        recipe = dict(moved.recipe)
        if name is not None and ".py:" in name:
            recipe["name"] = str(self.path.parent.absolute() / name)
        return Settings(
            recipe, {**moved.answers, **tables["answers"]}, {**moved.data, **tables["data"]}, tables["images"]
        )

    def _known(self, table: str, key: str) -> tuple[Field[Any], Any]:
        names = known(table)
        if key in names:
            return names[key]
        called = {flags_of(own)[0]: f"; did you mean {name!r}?" for name, (own, _) in names.items()}
        hint = called.get(f"--{key.replace('_', '-')}") or self._home(key) or near(key, names)
        raise RecipeError(f"{self.place(table, key)}: unknown setting{hint or '.'} [{table}] has: {', '.join(names)}")

    def _home(self, key: str) -> str:
        """Return a hint at the table that a setting belongs to; "" where it is none."""
        table = next((name for name in TABLES if key in known(name)), "")
        if not table and key in (*catalogue.SHARED, "name"):
            table = RECIPE
        return f"; it belongs to [{table}]." if table else ""

    def _value(self, table: str, key: str, value: Any, of: tuple[Field[Any], Any]) -> Any:
        """Check the value of a setting, and return it as a command takes it; paths start in the file's folder."""
        declared, kind = of
        place, choices = self.place(table, key), declared.metadata["choices"]
        kinds = get_args(kind) or (kind,)
        if int in kinds:
            check_whole(place, value, declared.metadata["least"], RecipeError)
            return value
        texts = value if {list[Path], list[str]} & {*kinds} and isinstance(value, list) else [value]
        for text in texts:
            if not isinstance(text, str) or not text:
                raise RecipeError(f"{place}: got {text!r:.60}; expected a text")
            wrong = next((each for each in text.split(",") if choices and each not in choices), None)
            if wrong is not None:
                raise RecipeError(
                    f"{place}: got {wrong!r:.60}{near(wrong, map(str, choices)) or '.'} There are: {', '.join(choices)}"
                )
        if {Path, list[Path]} & {*kinds}:
            texts = [str(self.path.parent.absolute() / text) for text in texts]
        return texts if {list[Path], list[str]} & {*kinds} else texts[0]

    def place(self, table: str, key: str = "") -> str:
        """Return the file, line and name of a setting or a table."""
        found = self._line(table, key)
        line = "" if found is None else f", line {found}"
        return f"{self.path}{line}: [{table}]{f' {key}' if key else ''}"

    def _line(self, table: str, key: str) -> int | None:
        lines = self.text.splitlines()
        header = re.compile(
            rf"\s*\[\s*[\"']?{re.escape(table)}[\"']?\s*\]|(?<![\w-])[\"']?{re.escape(table)}[\"']?\s*[:=.]"
        )
        start = next((number for number, line in enumerate(lines) if header.match(line) or header.search(line)), None)
        if start is None or not key:
            return None if start is None else start + 1
        name = re.compile(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[:=]")
        return next((number + 1 for number, line in enumerate(lines) if number >= start and name.search(line)), None)
