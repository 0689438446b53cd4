"""Tool calls with a coordinate: Qwen2.5-VL and Qwen3-VL ``computer_use``, UI-Ins ``grounding``, SE-GUI, MAI-UI.

<tool_call>
{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [512, 384]}}
</tool_call>
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grounding_rewards.parsing.pattern_dialect import Answers, Found, PatternDialect
from grounding_rewards.parsing.pieces import BRACKETED_POINT, JSON_ACTION, KEY, XY
from grounding_rewards.parsing.texts import Texts, compiled, matches


@dataclass(frozen=True)
class ToolCallDialect:
    """A pattern's calls; complete calls without a coordinate, such as ``terminate``, are no answer begun."""

    calls: PatternDialect

    trusted = True

    @property
    def name(self) -> str:
        """The pattern's name."""
        return self.calls.name

    @property
    def names(self) -> tuple[str, ...]:
        """The dialect itself."""
        return self.calls.names

    @property
    def signs(self) -> tuple[str, ...]:
        """Substrings of which every answer contains one."""
        return self.calls.signs

    def find(self, texts: Texts, answers: Answers) -> Found:
        """Find the answer that counts in each text; see ``Found``."""
        found = self.calls.find(texts, answers)
        unread = np.flatnonzero(found.begun & (found.count == 0))
        for row in unread[matches(texts.take(unread), self.calls.full_pattern)].tolist():
            found.begun[row] = not self._is_placeless(texts.values[row])
        return found

    def _is_placeless(self, text: str) -> bool:
        bodies = [match["body"] for match in compiled(self.calls.full_pattern).finditer(text)]
        return bool(bodies) and not any("coordinate" in body for body in bodies)


TOOL_CALL = ToolCallDialect(
    PatternDialect(
        name="tool_call",
        pattern=rf"""["']arguments{KEY}\{{(?P<body>[^{{}}]*)\}}""",
        inner=(rf"""["'](?:start_)?coordinate{KEY}{BRACKETED_POINT}""", JSON_ACTION),
        signs=("tool_call>", '"arguments"', "'arguments'"),
        usual=(
            r"""^(?:<tool_call>)?[ \n]*\{"name": ?"[A-Za-z_]*", ?"arguments": ?"""
            rf"""\{{"action": ?"(?P<action>[A-Za-z_]*)", ?"coordinate": ?\[{XY}\]\}}\}}[ \n]*(?:</tool_call>[ \n]*)?$"""
        ),
    )
)
"""The arguments of one call, whatever the order of keys, whether or not the tags survived decoding.

Of a drag with ``start_coordinate`` and ``end_coordinate``, the place where it starts.
"""
