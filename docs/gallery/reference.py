"""The generated pages of docs/reference/: options, answers and tables, as the code has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from inspect import getsource, isclass, isroutine
from typing import Any, get_type_hints

from msgspec.structs import asdict
from typer.core import TyperArgument as Argument
from typer.core import TyperOption as Option
from typer.main import get_command

import grounding_rewards
from docs.gallery import verifiers
from docs.gallery.page import code
from grounding_rewards import catalogue
from grounding_rewards.catalogue import recipe
from grounding_rewards.checks.finding import Code
from grounding_rewards.cli.application import build
from grounding_rewards.cli.listing import format_of
from grounding_rewards.cli.render.tables import as_written
from grounding_rewards.coords.register import Family, families, published_prompts
from grounding_rewards.coords.spaces import PIXEL
from grounding_rewards.engines.prompts import FIELDS
from grounding_rewards.evaluators.figures import OWN
from grounding_rewards.evaluators.judging import rules_of
from grounding_rewards.evaluators.layouts import STEP_BENCHMARKS
from grounding_rewards.explain import describe
from grounding_rewards.explain.case import MEANINGS as MEANINGS_OF_REASONS
from grounding_rewards.explain.describe import values_of
from grounding_rewards.parsing import AUTO, Dialect, parse, refusal_words
from grounding_rewards.parsing.auto import TOOLS
from grounding_rewards.plugins.named import ALLOCATION, CHOICE, SELECTOR, kind_of
from grounding_rewards.plugins.registry import collect
from grounding_rewards.rollouts import COLUMNS as SCORES
from grounding_rewards.rollouts import PARSED, Predictions, Reason
from grounding_rewards.tables import rollout_columns
from grounding_rewards.tables.columns import GUESSED, Columns, role
from grounding_rewards.testing.audit import HONEST, audit
from grounding_rewards.testing.hostile import ANSWER_FORMATS

Facts = dict[str, Any]

TARGET: Mapping[str, Any] = {"bbox": [10, 10, 30, 20], "image_size": [100, 100]}
SEVERAL = ", ".join(f"({x}, 15)" for x in range(257))
RESPONSES: Mapping[Reason, tuple[str, str | None]] = {
    Reason.OK: ("(20, 15)", "(20, 15)"),
    Reason.EMPTY: ("nothing", None),
    Reason.NO_ANSWER: ("The button is at the top.", "The button is at the top."),
    Reason.SEVERAL_ANSWERS: ("(20, 15) or (40, 15)", "(20, 15) or (40, 15)"),
    Reason.TOO_MANY: ("257 places", SEVERAL),
    Reason.MALFORMED: ("(20, 15", "(20, 15"),
    Reason.OUT_OF_IMAGE: ("(120, 15)", "(120, 15)"),
    Reason.REFUSED: ("refusal", "refusal"),
    Reason.UNFINISHED: ("<think>It is at (20, 15)", "<think>It is at (20, 15)"),
    Reason.BAD_TARGET: ("(20, 15)", "(20, 15)"),
    Reason.UNKNOWN_ACTION: ("Action: jump(point='(20,15)')", "Action: jump(point='(20,15)')"),
}
"""By reason: a response that gives it, in words and as it is."""

_TYPES = {
    "string": "text",
    "int64": "whole number",
    "double": "number",
    "list<item: double>": "two numbers",
}
_HOW = ("closed", "read")
COMMANDS = {SELECTOR: "pool next --selector", ALLOCATION: "pool allocate --method", CHOICE: "pool rollouts --method"}


def public() -> dict[str, dict[str, str]]:
    """Return the names of functions and classes that each public module exports with their kind, once each."""
    modules, seen = {}, list[Any]()
    for room in ("", *sorted(grounding_rewards._ROOMS)):
        name = f"grounding_rewards.{room}".rstrip(".")
        module = import_module(name)
        here = [each for each, value in vars(module).items() if getattr(value, "__module__", "") == name]
        exported = sorted({*(getattr(module, "__all__", here) if room else module._names)})
        values = {each: getattr(module, each) for each in exported if each[0] != "_"}
        new = {
            each: value for each, value in values.items() if (isclass(value) or isroutine(value)) and value not in seen
        }
        if new:
            modules[name] = {each: "class" if isclass(value) else "function" for each, value in new.items()}
        seen += values.values()
    return modules


def commands() -> Facts:
    """Return every command with its options, and apart those that four commands and more have with the same meaning."""
    every = {name: command for name, command in _commands(get_command(build())) if not hasattr(command, "commands")}
    options = {
        name: [(", ".join(each.opts), _help(each.help)) for each in command.params if isinstance(each, Option)]
        for name, command in every.items()
    }
    users = {each: [name for name in every if each in options[name]] for name in every for each in options[name]}
    shared = {each: names for each, names in users.items() if len(names) > 3}
    shown = {
        name: {
            "says": [_help(text) for text in (command.help or "").split("\n\n")],
            "arguments": [
                (str(each.metavar or each.name).upper(), _help(each.help))
                for each in command.params
                if isinstance(each, Argument)
            ],
            "own": [each for each in options[name] if each not in shared],
            "shared": [each[0] for each in options[name] if each in shared],
        }
        for name, command in every.items()
    }
    return {"commands": shown, "shared": sorted(shared)}


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield f"{before}{name}", command
        yield from _commands(command, f"{before}{name} ")


def _help(text: str | None) -> str:
    return " ".join((text or "").split())


def methods() -> Facts:
    """Return each method of selection with its settings, as its fields declare them."""
    shown = {}
    for name, kind in collect([]).methods.items():
        hints = get_type_hints(kind, include_extras=True)
        shown[name] = {
            "says": " ".join(kind.__doc__.split("\n\n")[0].replace("``", "").split()),
            "command": COMMANDS[kind_of(kind)],
            "settings": [
                (
                    each.name,
                    values_of(hints[each.name]),
                    "must be given" if each.default is MISSING else code(as_written(each.default)),
                    each.metadata["meaning"].replace("``", "`"),
                )
                for each in fields(kind)
            ],
        }
    return {"methods": shown}


def options() -> Facts:
    """Return the options that every recipe takes, and those of some with the recipes that take them."""
    own: dict[str, list[str]] = {}
    for name in collect([]).recipes:
        for option in catalogue.own_options(name):
            own.setdefault(option, []).append(name)
    return {"shared": catalogue.SHARED, "own": dict(sorted(own.items()))}


def own_options(name: str) -> list[tuple[str, str, str, str]]:
    """Return name, default, values and meaning of each option that a recipe does not share with all."""
    about = describe.about_options(name)
    return [
        (option, _default(default), about[option]["values"], about[option]["meaning"])
        for option, default in catalogue.own_options(name).items()
    ]


def _default(default: Any) -> str:
    return "none" if default is None else code(as_written(default))


def answers() -> Facts:
    """Return each dialect with an answer that it reads and one that it does not, and refusal words."""
    known: Mapping[str, Dialect] = collect([]).parsers
    return {
        "dialects": {name: _dialect(dialect) for name, dialect in known.items() if name not in ("auto", "auto_action")},
        "auto": AUTO.names,
        "tools": TOOLS,
        "words": refusal_words,
    }


def reasons() -> Facts:
    """Return what can become of a response, and the kinds of findings with their meanings, which stand beside them."""
    meanings = re.findall(r'= "(.+)"  #: (.+)', getsource(Code))
    return {"reasons": [_reason(reason) for reason in Reason], "findings": dict(meanings)}


def _dialect(dialect: Dialect) -> Facts:
    form = format_of(dialect)
    assert form is not None, dialect.name
    broken, reason = _slip(dialect, form.broken)
    right, words = one_line(form.right), read(dialect, form.right)
    return {"right": right, "read": words, "broken": one_line(broken), "reason": reason.name}


def _slip(dialect: Dialect, first: str) -> tuple[str, Reason]:
    """Return a text that a dialect does not read, and the reason: a malformed one if there is one, ``first`` first."""
    texts = [first, *sorted([each.broken for each in ANSWER_FORMATS], key=len)]
    unread = [text for text in texts if read(dialect, text) is None]
    reasons = [Reason(code) for code in parse(unread, dialect, space=PIXEL, answers="first").reason]
    return next(
        (pair for pair in zip(unread, reasons, strict=True) if pair[1] is Reason.MALFORMED), (unread[0], reasons[0])
    )


def one_line(text: str) -> str:
    r"""Return a text whose line breaks are written as ``\n``."""
    return text.replace("\n", r"\n")


def read(dialect: Dialect, text: str) -> str | None:
    """Return what a dialect reads in a text, in words; None for nothing."""
    for thinking in _HOW:
        predictions = parse([text], dialect, space=PIXEL, answers="first", thinking=thinking)  # type: ignore[arg-type]
        if Reason(predictions.reason[0]) in PARSED:
            return in_words(predictions)
    return None


def in_words(read: Predictions) -> str:
    """Return the one answer of predictions in words, such as ``click (512, 384)``."""
    if read.reason[0] == Reason.REFUSED:
        return "refusal"
    box, point = read.box[0].tolist(), read.xy[0].tolist()
    place = "" if point[0] != point[0] else _numbers(point) if box[0] != box[0] else f"box {_numbers(box)}"
    arguments = read.arguments.by_row(1)[0]
    return " ".join(filter(None, (read.actions[0], place, *[f"{key} {value}" for key, value in arguments.items()])))


def _numbers(numbers: list[float]) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


def _reason(reason: Reason) -> Facts:
    """Score the example of a reason; nothing but that reason is right."""
    words, response = RESPONSES[reason]
    judge = recipe("action" if reason is Reason.UNKNOWN_ACTION else "click", response_space="pixel")
    target = {"bbox": [10, 10]} if reason is Reason.BAD_TARGET else TARGET
    scores = judge.score([response], [target], bad_target="abstain")
    assert Reason(scores.reason[0]) is reason, reason
    return {
        "name": reason.name,
        "meaning": MEANINGS_OF_REASONS[reason],
        "words": words if words in ("nothing", "257 places") else code(words),
        "total": f"{scores.total[0]:.3g}",
        "parsed": "yes" if reason in PARSED else "no",
    }


def prompts() -> Facts:
    """Return each published prompt with the recipe that reads its answers, and the fields of templates."""
    shown = {
        name: {
            **asdict(each),
            "reader": " ".join([each.recipe, *(f"{key}={value}" for key, value in each.options.items())]),
        }
        for name, each in published_prompts().items()
    }
    return {"prompts": shown, "fields": FIELDS}


def audited() -> Facts:
    """Return what policies without skill earn of each recipe's reward, as `check recipe --all` finds it."""
    recipes = {name: recipe(name, **catalogue.shown_with(name)) for name in catalogue.list_recipes()}
    played = {name: audit(each) for name, each in recipes.items() if each.judges_places}
    what = {row.policy: row.what for rows in played.values() for row in rows if row.policy != HONEST}
    order = sorted(played, key=lambda name: -played[name][0].share)
    return {"recipes": {name: {row.policy: row for row in played[name]} for name in order}, "what": what}


def table() -> Facts:
    """Return the columns that are read, by role, and those of rollout tables and of scores."""
    read = {role(field): GUESSED[role(field)] for field in vars(Columns())}
    columns = {name: (_TYPES[kind], rollout_columns.MEANINGS[name]) for name, kind in rollout_columns.COLUMNS.items()}
    return {"read": read, "columns": columns, "scores": SCORES}


def _settings(family: Family) -> Facts:
    options = {key: value for key, value in family.options.items() if key != "response_space"}
    return {
        **options,
        "prefill": family.prefill.replace("\n", "\\n"),
        "stop": " ".join(family.stop).replace("|", "\\|"),
    }


def model_families() -> Facts:
    """Return the model families, each with the options that it sets beside the space."""
    further = {
        name: " ".join(f"{key}={value}" for key, value in _settings(each).items() if value)
        for name, each in sorted(families().items())
    }
    return {"families": [{**asdict(each), "further": further[name]} for name, each in sorted(families().items())]}


def steps() -> Facts:
    """Return benchmarks of whole actions, with their rules; the first benchmark of a rule describes it."""
    first: dict[tuple[str, ...], str] = {}
    benchmarks = []
    for each in STEP_BENCHMARKS.values():
        rules = []
        for rule in rules_of(each.name):
            figures = "; ".join(own.name for own in OWN.get((each.name, rule.name), ()))
            described = first.setdefault((rule.name, rule.source, rule.faults, figures), each.title)
            rules.append({**asdict(rule), "figures": figures, "first": described})
        layouts = ", ".join(layout.name for layout in each.layouts)
        counts = ", ".join(f"{count:,} steps ({whose})" for count, whose in each.counts.items())
        benchmarks.append({**asdict(each), "layouts": layouts, "counts": counts, "rules": rules})
    return {"benchmarks": benchmarks}


PAGES: Mapping[str, Callable[[], Facts]] = {
    "options": options, "answers": answers, "reasons": reasons, "prompts": prompts, "table": table,
    "families": model_families, "verifiers": verifiers.page, "methods": methods, "audit": audited, "steps": steps,
}  # fmt: skip
"""By the name of each page: its facts."""
