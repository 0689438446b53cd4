"""Prompts of requests: published ones by name, and users' own as jinja2 templates."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grounding_rewards.converting.prompts import IMAGE, Message, Wording, read_prompt
from grounding_rewards.coords.register import published_prompts
from grounding_rewards.errors import ConvertError, EngineError, near
from grounding_rewards.tables.prompts import prompt_text

if TYPE_CHECKING:
    from jinja2 import Template, nodes

PLAIN = "plain"
"""The prompt that is the instruction alone, or a conversation of the data."""

FIELDS: Mapping[str, str] = {
    "instruction": "the row's instruction",
    "width": "width of the image that the model sees, in pixels",
    "height": "its height",
    "image_width": "width of the original image, in pixels",
    "image_height": "its height",
    "row": 'the row: `row.NAME` or `row["NAME"]` is a column',
}
"""Fields of templates, with their meanings."""

_SIZES = frozenset({"width", "height", "image_width", "image_height"})
_NAME = "<prompt>"
# Engines put images where <image> stands. A template's own marks are this noncharacter until it is rendered, and data
# have a zero-width space in theirs.
_PLACE, _WRITTEN = "\ufdd0", IMAGE.replace("<", "<\u200b")
_LARGEST_TEMPLATE = 1 << 20


@dataclass(frozen=True)
class Prompt:
    """Prompt of rows: the template of the user's text, and that of a system message."""

    name: str  # its name, for errors
    template: str | None = None  # text of a jinja2 template with ``FIELDS``; None for the instruction alone
    system: str | None = None  # the same of a system message; None or "" for none
    prefill: str = ""  # the beginning of each response
    stop: tuple[str, ...] = ()  # texts before which responses end

    def __post_init__(self) -> None:
        if self.template is not None:
            used = _compiled(self._user, self.template)[1]
            if not used & {"instruction", "row"}:
                raise EngineError(f"{self._user}: is the same for every row; expected {{{{ instruction }}}} in it")
        if self.system:
            _compiled(self._own_system, self.system)

    @property
    def fields(self) -> frozenset[str]:
        """The fields that its templates use."""
        texts = ((self._user, self.template), (self._own_system, self.system))
        return frozenset().union(*(_compiled(place, text)[1] for place, text in texts if text))

    @property
    def _user(self) -> str:
        return f"prompt {self.name!r:.200}"

    @property
    def _own_system(self) -> str:
        return f"system message of {self._user}"

    def messages(self, instruction: Any, images: int, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages of one row."""
        if self.template is not None and isinstance(instruction, list):
            instruction = _asked(instruction)
        if self.template is not None or self.system:
            fields = {**fields, "instruction": instruction}
        system = _rendered(self._own_system, self.system, fields) if self.system else None
        asked = instruction
        if self.template is not None:
            if not isinstance(instruction, str) or not instruction.strip():
                came = "nothing" if instruction is None else f"{instruction!r:.80}"
                raise ConvertError(
                    f"instruction: got {came}; expected a text (a conversation needs the prompt {PLAIN!r})"
                )
            asked = _rendered(self._user, self.template, fields)
        elif isinstance(instruction, str):
            asked = instruction.removeprefix(IMAGE * images).replace(IMAGE, _WRITTEN)
        return read_prompt(asked, Wording(system=system), images)


def _asked(conversation: list[Any]) -> Any:
    """Return the user's text in a conversation with one message of the user's; else the conversation."""
    roles = [each.get("role") if isinstance(each, Mapping) else None for each in conversation]
    asked = [each for each, role in zip(conversation, roles, strict=True) if role == "user"]
    text = prompt_text(asked) if len(asked) == 1 and all(role in ("system", "user") for role in roles) else None
    return conversation if text is None else text.replace(IMAGE, "").strip()


def prompt_named(name: str, system: str | None = None) -> Prompt:
    """Return a prompt by its name or its file."""
    if system and exists(Path(system)):  # no error of a text that is no path
        system = _read(system)
    if name == PLAIN:
        return Prompt(name, None, system)
    if name in published_prompts():
        known = published_prompts()[name]
        return Prompt(name, known.user, known.system if system is None else system)
    if exists(Path(name)):
        return Prompt(name, _read(name), system)
    names = (PLAIN, *published_prompts())
    hint = near(name, names) or "."
    raise EngineError(
        f"unknown prompt {name!r:.200}{hint} There are: {', '.join(names)}; or the path of a template file"
    )


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(_LARGEST_TEMPLATE + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise EngineError(f"prompt {path!r:.200}: cannot be read ({why}); expected a text file, a template") from None
    if len(text) > _LARGEST_TEMPLATE:
        raise EngineError(f"prompt {path!r:.200}: is longer than {_LARGEST_TEMPLATE:,} characters; expected a template")
    return text


@lru_cache(maxsize=64)
def _compiled(place: str, text: str) -> tuple[Template, frozenset[str]]:
    """Return a template and the fields that it uses."""
    try:
        from jinja2 import StrictUndefined, TemplateSyntaxError, meta, nodes
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise EngineError(f"{place}: needs jinja2: pip install jinja2") from None
    # Prompts are no HTML, so that nothing is escaped.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.clear()
    del environment.filters["random"]  # the same row has the same prompt
    try:
        tree = environment.parse(text)
        used = frozenset(meta.find_undeclared_variables(tree))
        _check(place, tree, used)
        for data in tree.find_all(nodes.TemplateData):
            data.data = data.data.replace(IMAGE, _PLACE)
        code = environment.compile(tree, _NAME, _NAME)
    except TemplateSyntaxError as error:
        raise EngineError(f"{place}, line {error.lineno}: {error.message}") from None
    except RecursionError:
        raise EngineError(f"{place}: is nested too deeply") from None
    return environment.template_class.from_code(environment, code, {}), used


def _check(place: str, tree: nodes.Template, used: frozenset[str]) -> None:
    from jinja2 import nodes

    for name in tree.find_all(nodes.Name):
        if name.name in used - FIELDS.keys():
            hint = near(name.name, FIELDS) or "."
            raise EngineError(
                f"{place}, line {name.lineno}: unknown field {name.name!r}{hint} There are: {', '.join(FIELDS)}"
            )
    for access in tree.find_all(nodes.Getattr):
        if access.attr.startswith("_"):
            raise EngineError(f"{place}, line {access.lineno}: {access.attr!r} is not for templates; use a field")
    for other in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        raise EngineError(f"{place}, line {other.lineno}: asks for another file; a prompt is one file")


def _rendered(place: str, text: str, fields: Mapping[str, Any]) -> str:
    """Return a template with a row's values, ``<image>`` where its own stand and nowhere else."""
    template, used = _compiled(place, text)
    values = {name: _plain(fields[name]) for name in used if fields.get(name) is not None}
    values |= {name: int(values[name]) for name in _SIZES & values.keys()}
    try:
        rendered = template.render(values)
    except Exception as error:  # an undefined field or column, an unsafe access, arithmetic: all of this row
        why = f"{' '.join(str(error).split()) or type(error).__name__:.300}{_hint(error, values, used)}"
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _NAME]
        raise ConvertError(f"{place}{f', line {lines[-1]}' if lines else ''}: {why}") from None
    if not rendered.strip():
        raise ConvertError(f"{place}: is empty for this row; expected a text")
    return rendered.replace(IMAGE, _WRITTEN).replace(_PLACE, IMAGE)


def _hint(error: Exception, values: Mapping[str, Any], used: frozenset[str]) -> str:
    from jinja2 import UndefinedError

    if not isinstance(error, UndefinedError):
        return ""
    missing = sorted(used - values.keys())
    if missing:
        way = "; --pipeline says how the model resizes" if {"width", "height"} & {*missing} else ""
        return f"; the row has no {', '.join(missing)}{way}"
    row = values.get("row")
    return f"; columns of the row: {', '.join(map(str, row)):.200}" if isinstance(row, Mapping) else ""


def _plain(value: Any) -> Any:
    """Return a value of a row as plain texts, numbers, lists and dicts, without the mark of a template's images."""
    if isinstance(value, str):
        return value.replace(_PLACE, "\ufffd")
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        return _plain(value.tolist())
    return value


_USUAL = re.compile(
    r"<\|[\w.-]{1,40}\|>|<｜[^<>\s]{1,40}｜>|</?s>|<(?:eos|bos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<</?SYS>>"
)
"""Those of the common families, of which the first has Qwen's, Llama 3's and Phi's."""


def usual_tokens(text: str) -> list[str]:
    """Return what looks like control tokens in a text, each once."""
    return list(dict.fromkeys(_USUAL.findall(text)))


def spelled_out(value: Any, tokens: Collection[str]) -> Any:
    """Return texts, also those in lists and mappings, in which each of the tokens has a zero-width space."""
    if isinstance(value, Mapping):
        return {name: spelled_out(each, tokens) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [spelled_out(each, tokens) for each in value]
    if not isinstance(value, str) or not any(token in value for token in tokens):
        return value
    longest_first = "|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))
    return re.sub(longest_first, lambda found: f"{found[0][0]}\u200b{found[0][1:]}", value)
