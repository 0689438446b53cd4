"""Options that several verbs share, made from the groups in which settings are declared, and the recipe they build."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grounding_rewards import catalogue
from grounding_rewards.batch.benchmarks import BENCHMARKS
from grounding_rewards.batch.joining import Join
from grounding_rewards.cli import terminal
from grounding_rewards.coords.register import published_prompts
from grounding_rewards.coords.resizing import pipelines
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.errors import PoolError, RecipeError, SpaceError
from grounding_rewards.plugins.registry import registry
from grounding_rewards.scoring import Recipe
from grounding_rewards.settings import groups
from grounding_rewards.settings.declared import declared, flags_of, typed
from grounding_rewards.settings.reading import read_value
from grounding_rewards.tables.columns import Columns
from grounding_rewards.tables.image_files import ImageFiles
from grounding_rewards.tables.training_sets import Shape, training_sets
from grounding_rewards.targets.box_format import BoxFormat

if TYPE_CHECKING:
    from grounding_rewards.batch.table_scorer import Scoring

_ROWS = "Rows: JSON lines, JSON or CSV (.jsonl, .json, .csv, .tsv, also with .gz or .zst), Parquet (.parquet),"
_FOLDER = "a directory of them or of `save_to_disk`"
FILED_ROWS = f"{_ROWS} or {_FOLDER}."
ROWS = f"{_ROWS} {_FOLDER}, or - for JSON lines or Parquet from standard input."


class Trainer(StrEnum):
    """Trainers: ``where`` and ``check`` know all of them, ``convert`` and ``mix`` those that read files of rows."""

    VERL = "verl"
    TRL = "trl"
    EASYR1 = "easyr1"
    AREAL = "areal"
    NEMO_GYM = "nemo_gym"
    OPENENV = "openenv"
    OPENRLHF = "openrlhf"
    SKYRL = "skyrl"
    SLIME = "slime"
    SWIFT = "swift"
    VERIFIERS = "verifiers"


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what proposes names by tab; of several with commas between them, the last."""

    def proposed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return proposed


def _benchmarks() -> list[str]:
    from grounding_rewards.evaluators.layouts import STEP_BENCHMARKS  # whose rules few commands need

    return [*BENCHMARKS, *STEP_BENCHMARKS]


def _rules() -> list[str]:
    from grounding_rewards.evaluators.judging import ALL, RULES, rules_of

    return sorted({ALL, *(rule.name for benchmark in RULES for rule in rules_of(benchmark))})


_NAMES: Mapping[str, Callable[[], Iterable[str]]] = {
    "response_space": lambda: CoordSpace, "family": catalogue.known_families, "model": pipelines,
    "benchmark_name": _benchmarks, "rule": _rules, "prompt": published_prompts,
    "layout": lambda: [*(each.name for each in training_sets()), *registry().layouts],
    "selectors": lambda: sorted(registry().methods),
}  # fmt: skip
"""Values that settings may take, by setting."""


Ray = Annotated[str | None, typer.Option(
    "--ray", metavar="local|auto|ADDRESS",
    help="Work on a Ray cluster: one started here, the one that runs here, or the one at an address.",
)]  # fmt: skip


def option_of(declared: Field[Any], callback: Callable[[Any], Any] | None = None) -> Any:
    """Build the option of a setting."""
    said = declared.metadata
    return typer.Option(
        *flags_of(declared), metavar=said["metavar"] or None, help=said["help"],
        rich_help_panel=said["panel"] or None, callback=callback,
        autocompletion=completing(_NAMES[declared.name]) if declared.name in _NAMES else None,
    )  # fmt: skip


def group(
    made: Any, *groups: type, checks: Mapping[str, Callable[[Any], Any]] | None = None,
    beside: Iterable[inspect.Parameter] = (),
) -> Any:  # fmt: skip
    """Return a function whose options are those of groups of settings, for an argument of a verb to stand for them."""
    # ``application.strict`` calls it with values by name, and ``made`` makes the argument of these, else the group.
    # ``checks`` are by setting, and ``beside`` are options that stand before the groups.
    declared = typed(*(groups or (made,)))

    def make(**given: Any) -> Any:
        read = {name: own.metadata["read"] for name, (own, _) in declared.items() if own.metadata["read"]}
        return made(**{name: read[name](value) if name in read else value for name, value in given.items()})

    options = [_option(own, kind, (checks or {}).get(name)) for name, (own, kind) in declared.items()]
    make.__signature__ = inspect.Signature([*beside, *options])  # type: ignore[attr-defined]
    return make


def _option(own: Field[Any], kind: Any, check: Callable[[Any], Any] | None) -> inspect.Parameter:
    """Return the parameter of a setting; one that is read from its text has a text as default, too."""
    default: Any = inspect.Parameter.empty if own.default is MISSING else own.default
    if own.metadata["read"]:
        kind, default = str, ",".join(map(str, default))
    return parameter(own.name, Annotated[kind, option_of(own, check)], default)


def parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """Return an option beside a group."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="An option of the recipe; may be given several times."),
]
NAMED = (
    "A name that `grounding-rewards recipes` lists, your own by module:attr or /path/file.py:attr, or a file of "
    "`Recipe.to_dict()` (.json, .yaml)."
)
RECIPES = completing(catalogue.list_recipes)


def method_option(help: str) -> Any:
    """Build an option that takes a method, or several."""
    names = completing(lambda: sorted(registry().methods))
    return typer.Option("--method", metavar="NAME|JSON", help=help, autocompletion=names)


def recipe_option(help: str, flag: str = "--recipe", metavar: str = "NAME") -> Any:
    """Build an option that takes a recipe, or several."""
    return typer.Option(flag, metavar=metavar, help=help, autocompletion=RECIPES)


_RECIPE: Any = recipe_option(f"The recipe. {NAMED}")
RecipeName = Annotated[str, _RECIPE]
MaybeRecipe = Annotated[str | None, _RECIPE]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on stdout.")]
BadTargets = Annotated[groups.OnBadTarget, option_of(declared(groups.TargetForm, "bad_target"))]
BoxFormats = Annotated[BoxFormat | None, option_of(declared(groups.TargetForm, "box_format"))]
TargetSpace = Annotated[CoordSpace | None, option_of(declared(groups.TargetForm, "target_space"))]
Rollouts = Annotated[list[Path], typer.Argument(
    metavar="ROLLOUTS...",
    help="Files of rollouts (.parquet, .jsonl, .json, .csv, ...), directories that adapters record, or trainers' logs.",
)]  # fmt: skip
Rounds = Annotated[
    list[int] | None,
    typer.Option("--round", metavar="N", help="Only rollouts of this round count; may be given several times."),
]
By = Annotated[str, typer.Option(metavar="COLUMN", help="The column that samples are counted by.")]
TargetRecipe = Annotated[str | None, recipe_option(
    "The recipe whose form targets have, where rollouts name none that is installed; your own by module:attr or "
    "/path/file.py:attr."
)]  # fmt: skip


def _folder(path: Path | None) -> Path | None:
    if path is not None:
        os.scandir(path).close()  # which raises where it is no directory
    return path


def _encoding(name: str | None) -> str | None:
    try:
        "".encode(name or "utf-8")
    except LookupError:
        raise RecipeError(f"--encoding: got {name!r:.80}; expected the name of one, such as gbk or utf-16") from None
    return name


RowsSplit = Annotated[str | None, option_of(declared(groups.RowSource, "split"))]
Encoding = Annotated[str | None, option_of(declared(groups.RowSource, "encoding"), _encoding)]
HINT = "; name the folder of relative paths by --image-root"
DATA = "Training data"
TrainingRows = Annotated[Path | None, typer.Option(
    metavar="DATA", rich_help_panel=DATA,
    help="The rows to train on: a file or a directory, as `convert` reads them. They are written as they are.",
)]  # fmt: skip
SampleColumn = Annotated[str | None, typer.Option(
    metavar="NAME", rich_help_panel=DATA,
    help="Where DATA names its samples, `a.b` for a field. Default: sample_id, or where `convert` packs it.",
)]  # fmt: skip
Split = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which split of a directory of DATA.", rich_help_panel=DATA)
]


def read_options(option: Sequence[str] | None, flag: str = "--option", **named: Any) -> dict[str, Any]:
    """Return options of a recipe, or of what ``flag`` is of: those of the flag, and ``named`` ones with their own."""
    given = {name: value for name, value in named.items() if value is not None}
    values = {name: str(value) if isinstance(value, CoordSpace) else value for name, value in given.items()}
    for pair in option or ():
        key, equals, value = pair.partition("=")
        if not (key and equals):
            example = "format_weight=0.1" if flag == "--option" else "timeout=60"
            raise RecipeError(f"{flag}: got {pair!r}; expected KEY=VALUE, such as {example}")
        if key in values:
            raise RecipeError(f"{flag}: {key} is given twice")
        values[key] = read_value(value)
    for family in str(values.get("family", "")).split(","):
        of_model = family.startswith("auto:") or (family and Path(family).is_dir())
        if of_model and (taken := catalogue.family(family).taken):  # "" where a folder has the name of a family
            terminal.note(taken)
    return values


def columns_of(**named: str | None) -> Columns:
    """Return the columns that options name."""
    return Columns(**{name.removesuffix("_column"): column or "" for name, column in named.items()})


def _image_files(**given: Any) -> ImageFiles:
    return groups.Images(**given).files(HINT)


def _join(
    predictions: list[Path] | None, id: str | None, encoding: str | None, layout: str | None, explode: list[str] | None
) -> Join:
    last, every = predictions[-1] if predictions else None, tuple(predictions or ())
    return Join(last, id, every, terminal.REPORTING, encoding, _shape(layout, explode))


def _shape(layout: str | None, explode: list[str] | None) -> Shape:
    return Shape(layout or "", tuple(explode or ()))


def _screenshots(data: Path | None, image_column: str | None, id_column: str | None, split: str | None,
                 **images: Any) -> Any:  # fmt: skip
    from grounding_rewards.pool.report.samples import Screenshots

    files = replace(_image_files(**images), root="" if images["image_root"] is None else str(images["image_root"]))
    return None if data is None else Screenshots(data, image_column, files, id_column, split)


@dataclass(frozen=True)
class TargetRows:
    """Rows with responses and targets: their columns, images and split, and answers in another file."""

    columns: Columns
    images: ImageFiles
    split: str | None
    join: Join

    def scorer(
        self, recipe: Recipe, bad_target: str, box_format: BoxFormat | None, note: Callable[[str], None] = terminal.note
    ) -> Scoring:
        """Return the scorer of these rows."""
        from grounding_rewards.batch.table_scorer import Scoring  # which many commands do without

        columns, images, warn = self.columns, self.images, terminal.warn
        return Scoring(recipe, columns, bad_target, box_format, images, on_note=note, on_warning=warn)


def _target_rows(
    *, split: str | None, encoding: str | None, predictions: list[Path] | None, id: str | None, layout: str | None,
    explode: list[str] | None, **given: Any,
) -> TargetRows:  # fmt: skip
    images = _image_files(**{each.name: given.pop(each.name) for each in fields(groups.Images)})
    return TargetRows(columns_of(**given), images, split, _join(predictions, id, encoding, layout, explode))


def given(name: str) -> bool:
    """Return True where the command line gives an option of the command that runs."""
    source = terminal.context().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_recipe(recipe: str | None, chosen: Mapping[str, Any]) -> None:
    """Check that no option of a recipe is given where none is named."""
    names = ["option" if given("option") else "", *(name for name in chosen if name != "target_space" and given(name))]
    if recipe is None and any(names):
        raise RecipeError(
            f"{', '.join(flag_of(name) for name in names if name)}: got it without a recipe; name it by --recipe"
        )


def flag_of(name: str) -> str:
    """Return the option of a setting of answers, or of any other name."""
    known = {each.name: flags_of(each)[0] for each in fields(groups.Answers)}
    return known.get(name, f"--{name.replace('_', '-')}")


def of_each(chosen: dict[str, Any], files: int) -> list[dict[str, Any]]:
    """Return the recipe's options for each file: ``A,B`` as a space, family or model is a value of one file each."""
    each = [{**chosen} for _ in range(files)]
    for name in ("response_space", "family", "model"):
        values = str(chosen.get(name, "")).split(",")
        if len(values) > 1:
            if len(values) != files:
                raise RecipeError(
                    f"{flag_of(name)}: got {len(values)} values, {chosen[name]:.80}; expected one, or one "
                    f"for each file ({files})"
                )
            for own, value in zip(each, values, strict=True):
                own[name] = value
    return each


_ROOTED = {"image_root": _folder}
RecipeOptions = Annotated[
    dict[str, Any],
    group(
        read_options, groups.Answers, beside=[parameter("option", Options), parameter("target_space", TargetSpace)]
    ),
]  # fmt: skip
FileColumns = Annotated[Columns, group(columns_of, groups.ResponseColumns)]
SizedImages = Annotated[ImageFiles, group(_image_files, groups.Images, checks=_ROOTED)]
RowShape = Annotated[Shape, group(_shape, groups.RowShape)]
Joining = Annotated[Join, group(_join, groups.AnswerFile, groups.RowShape, beside=[parameter("encoding", Encoding)])]
Rows = Annotated[
    TargetRows,
    group(
        _target_rows, groups.ResponseColumns, groups.Images, groups.RowSource, groups.AnswerFile, groups.RowShape,
        checks={**_ROOTED, "encoding": _encoding},
    ),
]  # fmt: skip
SampleScreens = Annotated[
    Any,
    group(
        _screenshots, groups.Images, checks=_ROOTED,
        beside=[
            parameter("data", Annotated[Path | None, typer.Option(
                metavar="DATA", help="Training data with the samples' screenshots.", rich_help_panel=DATA)]),
            parameter("image_column", Annotated[str | None, typer.Option(
                metavar="C", help="Column of images. Default: images or image.", rich_help_panel=DATA)]),
            parameter("id_column", SampleColumn),
            parameter("split", Split),
        ],
    ),
]  # fmt: skip
"""Several options as one argument: ``application.strict`` calls the function for it."""


def check_data(data: Path | None, id_column: str | None, split: str | None) -> None:
    """Check that no option says how to read ``--data`` where there is none."""
    if data is None and (id_column is not None or split is not None):
        raise PoolError(
            f"{'--split' if id_column is None else '--id-column'} says how --data is read; name it by --data"
        )


def target_recipe(name: str | None, **chosen: Any) -> Recipe | None:
    """Build the recipe whose form targets have, in any space of answers; None where none is named."""
    if name is None:
        return None
    try:
        return catalogue.recipe(name, **chosen)
    except SpaceError:
        if "response_space" in chosen:
            raise
        return catalogue.recipe(name, **chosen, response_space=CoordSpace.PIXEL)


def unlabelled(recipe: Recipe) -> str:
    """Return the remark on the ``acc`` of a recipe that looks at no target."""
    return f"{recipe.name} compares nothing with targets: its acc does not say that a response is right"
