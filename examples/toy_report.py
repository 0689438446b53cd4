"""The demo's two pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from toy_eval import Outcome
from toy_screens import HEIGHT, WIDTH, Screen

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

SMOOTH = 10  # steps in a running mean


def draw_curve(path: Path, log: list[dict[str, Any]], before: Outcome, after: Outcome, recipe: str, note: str) -> None:
    """Parse rate, hit rate and reward of the sampled answers by step; held-out hit rate before and after."""
    steps = np.array([row["step"] for row in log])
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    lines = [
        (f"{recipe}/parsed", "parse rate", "#555555", ":"),
        (f"{recipe}/acc", "hit rate", "#1f5fbf", "-"),
        ("reward", "reward", "#d1661b", "--"),
    ]
    for key, label, colour, style in lines:
        values = np.array([row[key] for row in log])
        axes.plot(steps, values, color=colour, linewidth=0.7, alpha=0.3)
        axes.plot(steps, running_mean(values), color=colour, linestyle=style, linewidth=2.4, label=label)
    ends = [0, steps[-1] + 1]
    axes.plot(
        ends,
        [before.hit, after.hit],
        "D",
        color="black",
        markersize=10,
        clip_on=False,
        label="hit rate, held-out screens, greedy",
    )
    for x, outcome, side, word in zip(ends, (before, after), ("left", "right"), ("before", "after"), strict=True):
        shift = (0, 36) if side == "left" else (-8, 28)  # clear of the curves
        axes.annotate(
            f"{word} {outcome.hit:.2f}",
            (x, outcome.hit),
            shift,
            textcoords="offset points",
            ha=side,
            fontsize=13,
            weight="bold",
            bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
        )
    axes.set_ylim(0, 1.04)
    axes.set_xlim(-0.02 * ends[1], 1.02 * ends[1])
    axes.set_xlabel(f"GRPO step (thick: mean of {SMOOTH} steps)", fontsize=12)
    axes.set_ylabel("mean of the sampled answers", fontsize=12)
    axes.set_title(f"reward: {recipe}{note}", fontsize=13)
    axes.tick_params(labelsize=11)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, fontsize=11, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def running_mean(values: np.ndarray) -> np.ndarray:
    """The mean of each value and up to SMOOTH - 1 before it."""
    return np.array([values[max(0, i + 1 - SMOOTH) : i + 1].mean() for i in range(len(values))])


def draw_clicks(path: Path, screens: list[Screen], before: Outcome, after: Outcome, note: str) -> None:
    """The first twelve held-out screens, each with its target and the two clicks."""
    figure, grid = plt.subplots(3, 4, figsize=(9, 6.2), layout="constrained")
    for i, axes in enumerate(grid.flat):
        screen = screens[i]
        axes.imshow(screen.image, interpolation="nearest", extent=(0, WIDTH, HEIGHT, 0))
        x1, y1, x2, y2 = screen.target_px
        for colour, style in (("white", "-"), ("black", (0, (3, 2)))):
            size = (x2 - x1 + 3, y2 - y1 + 3)
            axes.add_patch(Rectangle((x1 - 1, y1 - 1), *size, fill=False, ec=colour, lw=2, ls=style))
        draw_click(axes, before.clicks[i], "o", 14)
        draw_click(axes, after.clicks[i], "X", 11)
        axes.set_title(screen.instruction, fontsize=12)
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0), xticks=[], yticks=[])
    handles = [
        Rectangle((0, 0), 1, 1, fill=False, ec="black", lw=2, ls=(0, (3, 2)), label="target"),
        Line2D([], [], marker="o", ls="", mfc="white", mec="black", mew=1.4, ms=14, label="click before GRPO"),
        Line2D([], [], marker="X", ls="", mfc="black", mec="white", mew=1.2, ms=11, label="click after GRPO"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=12, frameon=False)
    figure.suptitle(f"The first twelve held-out screens{note}", fontsize=13)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_click(axes: Any, click: tuple[float, float] | None, marker: str, size: float) -> None:
    if click is None:
        return
    fill, edge = ("white", "black") if marker == "o" else ("black", "white")
    x, y = click[0] / 1000 * WIDTH, click[1] / 1000 * HEIGHT
    axes.plot(x, y, marker, ms=size, mfc=fill, mec=edge, mew=1.4, clip_on=False)
