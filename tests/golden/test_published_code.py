"""The audit of published code: a made tree in its place, of a function with the formula of GTA1."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import published_code

CODE = """
import re
import no_such_package
from no_such_trainer import GRPOTrainer as Trainer


class Mine(Trainer):
    pass


def click_reward(completions, solution, **kwargs):
    rewards = []
    for completion, (boxes, down, across) in zip(completions, solution):
        try:
            found = re.findall(r"\\((-?\\d*[.]?\\d+),\\s*(-?\\d*[.]?\\d+)\\)", completion[0]["content"])
            x, y = (-1, -1) if len(found) > 1 else map(int, found[0])
            several = boxes if isinstance(boxes[0], list) else [boxes]
            edges = [(int(a * across), int(b * down), int(c * across), int(d * down)) for a, b, c, d in several]
            rewards.append(float(any(a <= x <= c and b <= y <= d for a, b, c, d in edges)))
        except Exception:
            rewards.append(0.0)
    return rewards


raise SystemExit("the training begins")
"""


@pytest.mark.filterwarnings("ignore::grounding_rewards.TargetWarning")
def test_a_tree_is_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "GTA1" / "src" / "grpo_grounding.py"
    file.parent.mkdir(parents=True)
    file.write_text(CODE)
    published_code.main([str(tmp_path)])
    _, counts, spaces, missing = capsys.readouterr().out.splitlines()
    source, function, *cells = counts.partition("raised")[0].split()
    lines, recorded, fails, same, named, unnamed = map(int, cells)
    assert (source, function, lines, fails + same + named, unnamed) == ("gta1,", "click_reward", 409, 409, 0)
    assert recorded == 405  # four targets are no three values, on which this code raises
    assert spaces == "right but for spaces: click_reward of gta1: 0; here: 1"
    assert missing.startswith(f"not in {tmp_path}: btl-ui/reward_fn.py, ")
    file.write_text(CODE.replace("<= x <=", "< x <"))
    published_code.main([str(tmp_path), "--only", "gta1", "--function", f"gta1={file}:click_reward"])
    assert int(capsys.readouterr().out.splitlines()[1].partition("raised")[0].split()[-1]) > 0
