"""The table of engines' options in docs/rollouts.md has all of them, with their defaults."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from grounding_rewards.engines.openai import OpenAI
from grounding_rewards.engines.transformers import Transformers
from grounding_rewards.engines.vllm import Vllm

PAGE = Path(__file__).parents[2] / "docs" / "rollouts.md"


def written(default: Any) -> str:
    return default if isinstance(default, str) else json.dumps(default)


def test_options_of_engines():
    listed, engine = list[tuple[str, str, str]](), ""
    for named, option, default in re.findall(r"^\| (`\w+` )?\| `(\w+)` \| `(.*?)` \|", PAGE.read_text(), re.MULTILINE):
        engine = named.strip("` ") or engine
        listed.append((engine, option, default))
    assert listed == [
        (name, each.name, written(each.default_factory() if each.default is MISSING else each.default))
        for name, kind in (("transformers", Transformers), ("openai", OpenAI), ("vllm", Vllm))
        for each in fields(kind)
        if each.name != "model"
    ]
