"""Record of what the engine ``vllm`` calls and reads, made from vLLM's released source.

A new version: unpack its sdist, and ``python -m tests.contracts.vllm_source FOLDER``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "vllm_recorded"
VERSIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def record(source: Path) -> dict[str, Any]:
    """Record an unpacked sdist."""
    package = source / "vllm"
    files = {path: path.read_text() for path in package.rglob("*.py")}
    llm, outputs = package / "entrypoints/llm.py", package / "outputs.py"
    parsers = next(path for path, text in files.items() if "\nMM_PARSER_MAP: dict[" in text)
    methods = {
        **{f"LLM.{name}": (llm, name) for name in ("__init__", "chat", "enqueue_chat", "wait_for_completion")},
        "EngineCoreClient.shutdown": (package / "v1/engine/core_client.py", "shutdown"),
    }
    classes = {
        "EngineArgs": package / "engine/arg_utils.py",
        "SamplingParams": package / "sampling_params.py",
        "CompletionOutput": outputs,
    }
    attributes = {"LLM": llm, "LLMEngine": package / "v1/engine/llm_engine.py", "RequestOutput": outputs}
    return {
        "version": re.findall(r"^Version: (\S+)", (source / "PKG-INFO").read_text(), re.MULTILINE)[0],
        "signatures": {
            name: _bare(_method(file, name.partition(".")[0], method)) for name, (file, method) in methods.items()
        },
        "fields": {name: " ".join(_fields(file, name)) for name, file in classes.items()},
        "attributes": {name: " ".join(_attributes(file, name)) for name, file in attributes.items()},
        "content_parts": " ".join(key.value for key in _value(parsers, "MM_PARSER_MAP").keys),
        "finish_reasons": " ".join(
            ast.literal_eval(_value(package / "v1/engine/__init__.py", "FINISH_REASON_STRINGS"))
        ),
        "exports": " ".join(key.value for key in _value(package / "__init__.py", "MODULE_ATTRS").keys),
        "errors": {
            name: ".".join(path.relative_to(source).with_suffix("").parts)
            for name in ("EngineDeadError", "ChatTemplateResolutionError")
            for path, text in files.items()
            if f"\nclass {name}(" in text
        },
    }


def recorded(version: str) -> dict[str, Any]:
    """Return the record of a version."""
    record: dict[str, Any] = json.loads((FOLDER / f"{version}.json").read_text())
    return record


def signature(text: str) -> inspect.Signature:
    """Return a recorded signature; its defaults are their source."""
    arguments = ast.parse(f"def f({text}): ...").body[0].args
    plain, kinds = [*arguments.posonlyargs, *arguments.args], inspect.Parameter
    defaults = [None] * (len(plain) - len(arguments.defaults)) + arguments.defaults
    rows = [(each, kinds.POSITIONAL_OR_KEYWORD, value) for each, value in zip(plain, defaults, strict=True)]
    rows += [(arguments.vararg, kinds.VAR_POSITIONAL, None)] if arguments.vararg else []
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    rows += [(each, kinds.KEYWORD_ONLY, value) for each, value in named]
    rows += [(arguments.kwarg, kinds.VAR_KEYWORD, None)] if arguments.kwarg else []
    return inspect.Signature(
        [kinds(each.arg, kind, default=ast.unparse(value) if value else kinds.empty) for each, kind, value in rows]
    )


def _bare(method: ast.FunctionDef) -> str:
    """Return the parameters of a method without their types."""
    for node in ast.walk(method.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(method.args)


def _class(file: Path, name: str) -> ast.ClassDef:
    nodes = ast.parse(file.read_text()).body
    return next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name)


def _method(file: Path, owner: str, name: str) -> ast.FunctionDef:
    """Return the last definition: those before it are overloads."""
    return [node for node in _class(file, owner).body if isinstance(node, ast.FunctionDef) and node.name == name][-1]


def _value(file: Path, name: str) -> Any:
    """Return the node of what a module assigns to a name."""
    for node in ast.parse(file.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.value
    raise LookupError(name)


def _fields(file: Path, name: str) -> list[str]:
    """Return the public fields of a dataclass or a struct."""
    names = [node.target.id for node in _class(file, name).body if isinstance(node, ast.AnnAssign)]
    return [name for name in names if not name.startswith("_")]


def _attributes(file: Path, owner: str) -> list[str]:
    """Return the public attributes that ``__init__`` sets."""
    nodes = ast.walk(_method(file, owner, "__init__"))
    stored = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    own = {node.attr for node in stored if isinstance(node.value, ast.Name) and node.value.id == "self"}
    return sorted(name for name in own if not name.startswith("_"))


if __name__ == "__main__":
    made = record(Path(sys.argv[1]))
    (FOLDER / f"{made['version']}.json").write_text(json.dumps(made, indent=1) + "\n")
