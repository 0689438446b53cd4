"""Terms, a recipe and a plugin of one's own, as a lab would write them beside its launch script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BOX = {"bbox": [10, 10, 30, 20]}

TERMS = """
import numpy as np

def brief(rollouts, limit=20):
    return np.array([float(len(text) <= limit) for text in rollouts.text])

def bonus(rollouts):
    return np.array(rollouts.extras["bonus"], dtype=float)

def group(rollouts):
    return rollouts.groups.astype(float)

def build(*, weight=0.5):
    from grounding_rewards import recipe
    short = {"verifier": __file__ + ":brief", "weight": weight, "low": 0, "high": 1, "limit": 8}
    return recipe("composite", response_space="pixel", parts={"hit": 1.0 - weight, "short": short})
"""

PLUGIN = """
from dataclasses import dataclass

import numpy as np
from grounding_rewards import recipe
from grounding_rewards.hookspecs import hookimpl

@dataclass(frozen=True)
class Brief:
    limit: int = 20
    low: float = 0.0
    high: float = 1.0
    needs: frozenset = frozenset()

    def __call__(self, rollouts):
        return np.array([float(len(text) <= self.limit) for text in rollouts.text])

def build(*, weight=0.5):
    short = {"verifier": "lab/brief", "weight": weight, "limit": 8}
    return recipe("composite", response_space="pixel", parts={"hit": 1.0 - weight, "short": short})

@hookimpl
def register_verifiers(register):
    register("brief", Brief)

@hookimpl
def register_recipes(register):
    register("clicks", build)
"""


def write_terms(folder: Path, name: str = "lab_terms") -> Path:
    """A module of own terms in a folder; its path."""
    path = folder / f"{name}.py"
    path.write_text(TERMS)
    return path


def write_plugin(folder: Path) -> None:
    """A plugin called ``lab``, as it lies in a folder where packages are installed."""
    (folder / "lab_plugin.py").write_text(PLUGIN)
    about = folder / "lab_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[grounding_rewards]\nlab = lab_plugin\n")


def named_in_a_config(terms: Path) -> dict[str, dict[str, Any]]:
    """Options that name one's own code in each way; all give half for a hit and half for at most 8 characters."""
    bounds = {"weight": 0.5, "low": 0, "high": 1, "limit": 8}
    composite = {"recipe": "composite", "response_space": "pixel"}
    return {
        "module": {**composite, "parts": {"hit": 0.5, "short": {"verifier": "lab_terms:brief", **bounds}}},
        "file": {**composite, "parts": {"hit": 0.5, "short": {"verifier": f"{terms}:brief", **bounds}}},
        "recipe in a module": {"recipe": "lab_terms:build"},
        "recipe in a file": {"recipe": f"{terms}:build", "weight": 0.5},
        "plugin": {**composite, "parts": {"hit": 0.5, "short": {"verifier": "lab/brief", "weight": 0.5, "limit": 8}}},
        "recipe of a plugin": {"recipe": "lab/clicks"},
    }


TOTALS = {"(20, 15)": 1.0, "here: (20, 15)": 0.5, "(50, 15)": 0.5, "no idea, no": 0.0}
"""Responses to ``BOX``, and the totals under each of those options."""
