"""TRL: ``GRPOTrainer(reward_funcs=reward_funcs("gelato"), ...)``. The data set's ``target`` column is the truth."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import grounding_rewards as gr
from grounding_rewards.arrays import Floats
from grounding_rewards.combine import Combination
from grounding_rewards.tables.image_files import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, ImageFiles
from grounding_rewards.verifiers.terms import Verifier
from grounding_rewards_adapters import _launch, _scorer, _trl_rows
from grounding_rewards_adapters._scorer import Scorer

Watch = Callable[[Floats, Floats, Mapping[str, Any], Callable[[str, float], None] | None], None]
"""Called with each batch: ``acc`` (n,), ``valid`` (n,), the data set's columns, and what logs metrics, if anything."""

_TRAINER = _launch.Trainer(
    name="TRL",
    option="reward_funcs(..., {}=...)",
    where="the data set's column of targets",
    sizes="in a column, in the target, or as PIL images in a column image or images",
    fields="the data set's columns can choose, or task in each target",
    lacking={"trajectories": "the TRL adapter cannot give it those rows together"},
    outcome="the sample abstains",
    whole_columns=True,
    outside_first=True,
    own=(
        "target_column", "num_generations", "num_generations_eval", "image_index", "max_image_bytes",
        "max_image_pixels", "name", "split",
    ),
)  # fmt: skip


def reward_funcs(
    recipe: str | Mapping[str, Any] | gr.Recipe | Callable[..., Any] | None = None,
    *,
    target_column: str = "target",
    num_generations: int | None = None,
    num_generations_eval: int | None = None,
    image_index: int = -1,
    max_image_bytes: int = MAX_IMAGE_BYTES,
    max_image_pixels: int = MAX_IMAGE_PIXELS,
    name: str | None = None,
    split: bool = False,
    **options: Any,
) -> list[RecipeReward]:
    """Make reward functions for ``GRPOTrainer``, ``RLOOTrainer`` and ``AsyncGRPOTrainer``: one, the recipe's total.

    Args:
        recipe: a recipe's name, its dict form, or a recipe; or a reward function of your own, such as one of responses
            and targets, which ``gr.wrap`` makes a recipe; None where ``routes`` name one for every row.
        target_column: the data set column that holds the targets, in wire form or the recipe's native form. Recipes
            that are ``label_free`` do without.
        num_generations: the trainer's own, for recipes that compare the rollouts of one sample; others pass over it.
            Each call must hold whole groups of that many completions. Without it groups are runs of equal prompts
            and targets, which cannot show that a group was split over processes; where several train, it is demanded.
        num_generations_eval: the trainer's own, where it evaluates with another number. Calls do not say which of the
            two they are of: groups are of the larger number where rows are alike in whole groups of it, else of the
            smaller one.
        image_index: which of several images of a row the targets are on: 0 the first, -1 the last.
        max_image_bytes: an image that is not decoded yet is read for its size only up to this many. It is read from
            its bytes, or from a regular file at an absolute path or inside the current directory.
        max_image_pixels: likewise, its width times its height.
        name: what stands in the logs instead of the recipe's name. TRL merges functions of one name: where a trainer
            gets two of one recipe, or the total of one beside its parts, one list needs another name.
        split: True for one function for each part instead of one for the total: give the trainer's ``reward_weights``
            what ``reward_weights`` returns, and the parts sum to the total. ``AsyncGRPOTrainer`` has no weights.
        options: the other options of ``_launch.Settings``, such as ``routes``, and the recipe's own, such as
            ``model``, ``response_space`` or ``format_weight``.

    Returns:
        Picklable functions, called NAME, or NAME/PART where split. They log hit rate (``NAME/acc``), parse rate
        (``NAME/parsed``), every part and the share of each reason through the trainer's ``log_metric``, and into the
        table of completions the point answered in the recipe's space (``NAME/xy_SPACE``), the reason (``NAME/reason``)
        and what makes a rollout table of it (``NAME/acc``, ``NAME/total``, ``NAME/sample_id``, ``NAME/target``,
        ``NAME/response`` where a completion is more than its text, and ``NAME/rollout``, its key) through
        ``log_extra``. A sample whose target cannot be used abstains (None), with one ERROR
        log line. Image sizes come from an ``image`` or ``images`` column of PIL images, or without one from the PIL
        images in ``prompts``; else from an ``image_size`` column, else from the targets; ``model_image_size`` likewise.
        Verifiers find all columns in ``Rollouts.extras``.

    Raises:
        RecipeError: the recipe or an option is unknown, the recipe needs what this adapter cannot give, or is to be
            split and is no sum of parts, or a value does not fit.

    >>> reward, = reward_funcs("gelato")
    >>> reward(completions=["(250, 250)", "?"], target=[[0.0, 0.0, 0.5, 0.5]] * 2)
    [1.0, 0.0]
    >>> [function.__name__ for function in reward_funcs("gelato", split=True, format_weight=0.5)]
    ['gelato/distance', 'gelato/format']
    """
    if callable(recipe):
        recipe = gr.wrap(recipe)
    _check(target_column, image_index, name, split)
    _check_counts(max_image_bytes=max_image_bytes, max_image_pixels=max_image_pixels)
    sizes = _group_sizes(num_generations, num_generations_eval)
    trainer = replace(_TRAINER, where=f"column {target_column!r}")
    scorer = _scorer.make(trainer, _scorer.read(trainer, {"recipe": recipe, **options}))
    # A plugin's recipe is called PLUGIN/NAME, and in the logs a slash goes before a part.
    called = name or "_".join(each.name.replace("/", "_") for each in scorer.recipes)
    parts = tuple(_weights(scorer)) if split else ()
    files = ImageFiles(max_image_bytes=max_image_bytes, max_image_pixels=max_image_pixels)
    batches = _trl_rows.Batches(scorer, called, target_column, sizes, image_index, parts, files)
    return [RecipeReward(batches, part) for part in parts or (None,)]


def reward_weights(recipe: str | Mapping[str, Any] | gr.Recipe | None = None, **options: Any) -> list[float]:
    """The weights of the functions of ``reward_funcs(..., split=True)``, for the trainer's ``reward_weights``.

    Args:
        recipe: as given to ``reward_funcs``.
        options: likewise.

    Returns:
        One weight a function: Σ weight · part is the recipe's total.

    Raises:
        RecipeError: as ``reward_funcs`` does.

    >>> reward_weights("gelato", format_weight=0.1)
    [0.9, 0.1]
    """
    # `record` would open its directory a second time.
    left_out = (*_TRAINER.own, "record", "record_columns")
    kept = {key: value for key, value in options.items() if key not in left_out}
    scorer = _scorer.make(_TRAINER, _scorer.read(_TRAINER, {"recipe": recipe, **kept}))
    return list(_weights(scorer).values())


def _check(target_column: Any, image_index: Any, name: Any, split: Any) -> None:
    if not (isinstance(target_column, str) and target_column):
        raise gr.RecipeError(f"target_column: got {target_column!r:.60}; expected the name of the column of targets")
    if type(image_index) is not int:
        raise gr.RecipeError(f"image_index: got {image_index!r:.60}; expected a whole number, such as 0 or -1")
    if name is not None and not (isinstance(name, str) and name):
        raise gr.RecipeError(f"name: got {name!r:.60}; expected what the reward is called in the logs")
    if type(split) is not bool:
        raise gr.RecipeError(f"split: got {split!r:.60}; expected True or False")


def _check_counts(**numbers: Any) -> None:
    for name, number in numbers.items():
        if type(number) is not int or number < 1:
            raise gr.RecipeError(f"{name}: got {number!r:.60}; expected a whole number from 1")


def _group_sizes(training: Any, evaluation: Any) -> tuple[int, ...]:
    """Return the numbers of completions that a sample may have, that of training first."""
    counts = {"num_generations": training, "num_generations_eval": evaluation}
    _check_counts(**{name: number for name, number in counts.items() if number is not None})
    if training is None and evaluation is not None:
        raise gr.RecipeError(f"num_generations_eval={evaluation} says one of two numbers; give num_generations too")
    return tuple(dict.fromkeys(number for number in (training, evaluation) if number is not None))


def _weights(scorer: Scorer) -> dict[str, float]:
    if len(scorer.recipes) > 1:
        names = ", ".join(recipe.name for recipe in scorer.recipes)
        raise gr.RecipeError(f"split=True: got routes to {names}; their parts have no weights in common. Leave it out")
    return contributions(scorer.recipes[0])


class RecipeReward:
    """A recipe, or one part of it, as a TRL reward function: called with keywords, logged under ``__name__``.

    Attributes:
        watch: called with each batch that this function scores, once for all functions of one list; None for nobody.
    """

    def __init__(self, batches: _trl_rows.Batches, part: str | None = None) -> None:
        self.__name__ = batches.name if part is None else f"{batches.name}/{part}"
        self.batches = batches
        self.part = part
        self.watch: Watch | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "watch": None}  # it stays in the process whose training it watches

    def __repr__(self) -> str:
        recipes = ", ".join(map(repr, self.scorer.recipes))
        return f"RecipeReward({self.__name__!r}: {recipes}, {self.batches.target_column!r})"

    @property
    def scorer(self) -> Scorer:
        """The scorer of the rows."""
        return self.batches.scorer

    def __call__(
        self,
        /,  # a column may be called self
        *,
        completions: Sequence[Any],
        log_metric: Callable[[str, float], None] | None = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Score completions; None where the target cannot be used.

        Raises:
            RecipeError: the target column is missing, not one target of the first batch can be used, or completions do
                not come in whole groups.
        """
        if log_metric is None and "trainer_state" in columns:
            text = "this trainer has no log_metric (TRL has it from 1.0 on): it trains, and logs the mean reward alone"
            _launch.say_once(f"{self.batches.name}: {text}", self.scorer.logged, level=logging.WARNING)
        texts = list(map(_trl_rows.response_text, completions))
        scored, new = self.batches.score(self.part or "", texts, columns)
        if new and len(scored):
            self.batches.log(scored, completions, texts, columns, log_metric, log_extra)
            if self.watch is not None:
                self.watch(scored.columns["acc"], scored.columns["valid"], columns, log_metric)
        return _trl_rows.usable(scored.columns[self.part or "total"], scored.columns["valid"] > 0)


def contributions(recipe: gr.Recipe) -> dict[str, float]:
    """The weights under which the parts of a recipe sum to its total; a product, and so on, is one part."""
    weights = dict(_walk(recipe.reward, "", 1.0))
    if "" in weights:
        term = recipe.reward
        kind = term.op if type(term) is Combination else type(term).__name__
        raise gr.RecipeError(
            f"{recipe.name} is no sum of parts, but {kind}: one function cannot score each part; leave out split=True"
        )
    if not weights:
        raise gr.RecipeError(f"{recipe.name} gives each part the weight 0; nothing would be rewarded")
    return weights


def _walk(term: Verifier, name: str, weight: float) -> Iterator[tuple[str, float]]:
    inner = list(_summands(term))
    if not inner:
        yield name, weight
    for share, part, child in inner:
        if share:
            yield from _walk(child, part, weight * share)


def _summands(term: Verifier) -> Iterator[tuple[float, str, Verifier]]:
    """Weight, name and term of what a term adds up; nothing where it is no sum."""
    if type(term) is not Combination:  # subclasses may join their parts in another way
        return
    numbers, inner = term.numbers, term.within[0]
    if term.op == "weighted":
        weights = numbers["weights"]
    elif term.op == "affine" and numbers["shift"] == 0:
        weights = [numbers["scale"]]
    elif term.op == "clip" and term.low <= inner.low and inner.high <= term.high:  # it limits nothing
        weights = [1.0]
    else:
        return
    yield from [(weight, name, part) for weight, (name, part) in zip(weights, term.parts, strict=True)]
