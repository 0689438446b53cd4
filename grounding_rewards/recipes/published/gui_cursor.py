"""GUI-Cursor: a cursor that is moved turn by turn, worth where it stops, and how it got there."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from grounding_rewards.arrays import Floats
from grounding_rewards.combine import weighted
from grounding_rewards.coords.spaces import CoordSpace, as_space, convert
from grounding_rewards.parsing.readers import TURN, one_line_answer
from grounding_rewards.parsing.reading import Form
from grounding_rewards.parsing.texts import limited
from grounding_rewards.recipes._shared import BAD_TARGET, UNICODE_DIGITS, listed_boxes, published
from grounding_rewards.rollouts import Rollouts
from grounding_rewards.scoring import BBOX, Example, Exploit, Recipe, Source
from grounding_rewards.verifiers.options import Range
from grounding_rewards.verifiers.terms import NEEDS_SCREEN, PLACES, Term

_PAIR = r"\(\s*(-?[0-9]{1,4000})\s*,\s*(-?[0-9]{1,4000})\s*\)"
_PLACE, _GOTO = re.compile(_PAIR), re.compile(rf"Action:\s*GOTO{_PAIR}")
_STOP = re.compile(r"Action:\s*STOP")
_TAGGED = re.compile(r"<answer>(?:\([0-9]+,\s*[0-9]+\)|(STOP))</answer>")
_CALLED = re.compile(r"Action:\s*(?:GOTO\(\s*[0-9]+\s*,\s*[0-9]+\s*\)|(STOP))")
_SAID = "<think>-</think>\n<answer>{}</answer>"
_TARGET = (0.4, 0.4, 0.6, 0.6)
_SIZE = (1000.0, 1000.0)

Steps = Annotated[int, Range(1, 64, whole=True)]
Shape = Literal["linear", "power"]
Method = Literal["trajectory", "distance", "discrete"]
Part = Literal["episode", "format", "success", "distance", "steps", "inside"]
_METHODS: dict[Method, dict[Part, float]] = {
    "trajectory": {"episode": 0.9, "format": 0.1},
    "distance": {"success": 0.5, "distance": 0.3, "steps": 0.1, "format": 0.1},
    "discrete": {"inside": 0.9, "format": 0.1},
}


def gui_cursor(
    *,
    max_steps: Steps = 4,
    shape: Shape = "linear",
    form: Literal["tags", "ui_tars", "qwen3"] = "tags",
    method: Method = "trajectory",
    thought: bool = True,
    response_space: CoordSpace | str | None = None,
) -> Recipe:
    """GUI-Cursor's reward of an episode: turns that move a cursor in the image the model sees, and one that stops it.

    total = 0.9 · episode + 0.1 · format. Turns are joined by a line ``assistant``; ``<answer>(x, y)</answer>`` moves
    the cursor from the image's centre, within 5 pixels of the right and lower edge, and ``<answer>STOP</answer>`` ends.
    With d the distance of the cursor to the box in shares of the screen, s = 1 - d (``"power"``: 1 - √d), and q = 1 -
    (distance to the centre / half the diagonal)^5 in the box, else 0, episode is: 0 where a turn is no answer; in
    the box 1 + 0.1 · q; stopped outside s - 0.5, and after two moves 0.1 more where the last was nearer than the first,
    else 0.2 less; after ``max_steps`` moves s + 0.1 · q, less 0.1 where the cursor was in the box before, 0.2 where a
    place repeats, and 0.2 where the last of several moves is not nearer than the first. With ``max_steps`` 1 it is s.
    format is the share of turns that are thinking and an answer alone, STOP in the last. The source's earlier methods:
    ``"distance"``, total = 0.5 · success + 0.3 · distance + 0.1 · steps + 0.1 · format, with success = 1 for a stop in
    the box, distance = s, 0 where a turn is no answer, and steps = 1 / (number of turns) for a stop, else 0; and
    ``"discrete"``, total = 0.9 · inside + 0.1 · format, with inside = 1 where the cursor ends in the box.

    Args:
        max_steps: moves after which an episode ends, 1 to 64; the source trains with 3 and 4.
        shape: how s falls.
        form: ``"ui_tars"`` answers ``Thought: .. Action: GOTO(x, y)`` or ``STOP``; ``"qwen3"`` in thousandths, behind
            an opening ``<think>`` of the prompt.
        method: which of the source's three rewards; the earlier two find no UI-TARS call well formed.
        thought: ask for thinking in well-formed turns, in ``form`` ``"tags"``; without it they are the answer alone.
        response_space: the space that the model answers in; by default that of the form.

    Returns:
        A recipe with parts ``episode`` and ``format``, or those of the method, total up to 1.09; ``acc`` is 1 for a
        stop in the box.

    Source: GUI-Cursor 9966e57, ``cursor/rl/reward_funcs.py``.
    """
    usual = CoordSpace.THOUSANDTHS if form == "qwen3" else CoordSpace.MODEL_PIXEL
    space = usual if response_space is None else as_space(response_space)
    of = max_steps, shape, form, method, thought, space
    parts = {name: (weight, _Episode(name, *of)) for name, weight in _METHODS[method].items()}
    formula = " + ".join(f"{weight} · {name}" for name, (weight, _) in parts.items())
    if method == "trajectory":
        formula += "\nepisode = 1 + 0.1 · q for a stop in the box, else by the distance and by the way there"
    return published(
        name="gui-cursor",
        dialect=_MOVES,
        reward=weighted(**parts),
        success=_Episode("success", *of),
        space=CoordSpace.MODEL_PIXEL,
        response_space=space,
        target_space=CoordSpace.UNIT,
        accepts={BBOX},
        source=Source("GUI-Cursor", "GUI-Cursor-Moving", "9966e57", ("cursor/rl/reward_funcs.py",)),
        answers="last",
        native=_NATIVE,
        deviations=_DEVIATIONS,
        exploits=(
            Exploit("stop-at-once", "a stop at once is right where the target covers the image's centre",
                    1.09, _example("STOP")),
        ) if (form, method, thought) == ("tags", "trajectory", True) and max_steps > 1 else (),
        formula=f"total = {formula}",
        example=_example(*["(500, 500)"][: max_steps - 1], "STOP", form=form),
    )  # fmt: skip


def _example(*said: str, form: str = "tags") -> Example:
    """Turns that say so; the place is in the middle of an image of 1000 x 1000 pixels."""
    calls = [f"Thought: -\nAction: {'GOTO' * (each != 'STOP')}{each}" for each in said]
    tags = [_SAID.format(each).removeprefix("<think>" * (form == "qwen3")) for each in said]
    return Example(TURN.join(calls if form == "ui_tars" else tags), _TARGET, model_image_size=_SIZE)


def _said(turn: str, called: bool) -> tuple[int, int] | str | None:
    """Return where a turn moves the cursor, "STOP", or None."""
    if called:
        place, stop = _GOTO.search(turn), _STOP.search(turn) is not None
    else:
        held = (one_line_answer(turn) or "").strip()
        place, stop = _PLACE.fullmatch(held), held == "STOP"
    return (int(place[1]), int(place[2])) if place else "STOP" if stop else None


def _read(text: str) -> list[list[float]] | None:
    """Return the places to which the turns move."""
    turns = text.split(TURN)
    said = [_said(turn, called) for turn in turns for called in (False, True)]
    return [list(map(limited, each)) for each in said if isinstance(each, tuple)] or None


_MOVES = Form("gui_cursor", read=_read, signs=("(",))


class _Way(NamedTuple):
    """The way of a cursor: its places, its end, the share of its turns that are well formed, and their number."""

    places: list[tuple[int, int]]
    end: str
    formed: float
    turns: int


@dataclass(frozen=True)
class _Episode(Term):
    """The ``part`` of an episode, as the recipe has it."""

    part: Part
    max_steps: Steps
    shape: Shape
    form: str
    method: Method
    thought: bool
    space: CoordSpace

    needs = NEEDS_SCREEN
    judges = PLACES

    @property
    def low(self) -> float:
        return 0.3 - math.sqrt(2.0) if self.part == "episode" else 0.0

    @property
    def high(self) -> float:
        return 1.1 if self.part == "episode" else 1.0

    def __call__(self, rollouts: Rollouts) -> Floats:
        regions, scores = rollouts.targets.regions, np.zeros(len(rollouts))
        first = dict(zip(regions.row[::-1].tolist(), regions.box[::-1].tolist(), strict=True))
        for row, text in enumerate(rollouts.text):
            width, height = rollouts.model_image_sizes[row].tolist()
            if row in first and width == width:
                way = self._way(text, (width, height), rollouts.targets.image_sizes[row])
                scores[row] = self._score(way, [int(edge) for edge in first[row]], width, height)
        return scores

    def _way(self, text: str, seen: tuple[float, float], original: Floats) -> _Way:
        width, height = int(seen[0]), int(seen[1])
        places, formed, turns, end = [(width // 2, height // 2)], 0, 0, ""
        for turn in text.split(TURN):
            turns += 1
            said = _said(turn, self.form == "ui_tars")
            stopped = self._stops(turn)
            formed += stopped is not None
            last_is_stop = stopped is True
            if not isinstance(said, tuple):
                end = said or "no answer"
            else:
                if self.space is CoordSpace.THOUSANDTHS:
                    x, y = said[0] * width // 1000, said[1] * height // 1000
                elif self.space is CoordSpace.MODEL_PIXEL:
                    x, y = said
                else:
                    at = np.array([[limited(each) for each in said]])
                    x, y = map(int, convert(at, self.space, CoordSpace.MODEL_PIXEL, original, np.array(seen))[0])
                places.append((max(0, min(x, width - 5)), max(0, min(y, height - 5))))
                end = "steps" if turns >= self.max_steps else ""
                formed -= last_is_stop
            if end:
                break
        return _Way(places, end, formed / turns, turns)

    def _stops(self, turn: str) -> bool | None:
        """Return True for a well-formed stop, False for a well-formed move, None for any other turn."""
        turn = turn.strip()
        if not self.thought and self.form == "tags":
            alone = _TAGGED.fullmatch(turn)
            return alone[1] is not None if alone else None
        opened = f"<think>{turn}" if self.form == "qwen3" else turn
        called = self.form == "ui_tars" and self.method == "trajectory"  # the others ask for tags in any form
        start, joint = ("Thought:", "Action:") if called else ("<think>", "<answer>")
        at = opened.rfind(joint)
        found = (_CALLED if called else _TAGGED).fullmatch(opened, at) if at > 0 and opened.startswith(start) else None
        closed = called or opened[:at].rstrip().endswith("</think>")
        return found[1] is not None if found and closed else None

    def _score(self, way: _Way, box: list[int], width: float, height: float) -> float:
        if self.part == "format":
            return way.formed
        inside = [box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in way.places]
        if self.part == "success":
            return float(way.end == "STOP" and inside[-1])
        gaps = [math.hypot(max(box[0] - x, 0, x - box[2]) / width, max(box[1] - y, 0, y - box[3]) / height)
                for x, y in way.places]  # fmt: skip
        if self.part == "inside":
            return float(way.end != "no answer" and inside[-1])
        if self.part == "steps":
            return 1.0 / way.turns if way.end == "STOP" else 0.0
        near = 1.0 - (math.sqrt(gaps[-1]) if self.shape == "power" else gaps[-1])
        if self.part == "distance":
            return 0.0 if way.end in ("", "no answer") else near
        centred = self._centred(way.places[-1], box, width, height) if inside[-1] else 0.0
        moves, closer = way.places[1:], len(gaps) > 1 and gaps[-1] < gaps[1]
        if self.max_steps == 1:
            return near
        if way.end == "STOP":
            return 1.0 + 0.1 * centred if inside[-1] else near - 0.5 + (0.1 if closer else -0.2) * (len(moves) > 1)
        if way.end != "steps":
            return 0.0
        faults = 0.1 * any(inside[:-1]) + 0.2 * (len(set(moves)) < len(moves)) + 0.2 * (len(moves) > 1 and not closer)
        return near + 0.1 * centred - faults

    @staticmethod
    def _centred(place: tuple[int, int], box: list[int], width: float, height: float) -> float:
        half = math.hypot((box[2] - box[0]) / 2 / width, (box[3] - box[1]) / 2 / height)
        off = math.hypot((place[0] - (box[0] + box[2]) / 2) / width, (place[1] - (box[1] + box[3]) / 2) / height)
        return 1.0 - (off / half) ** 5 if half else 0.0


_NATIVE = listed_boxes("a bare list x1 y1 x2 y2 in shares of the screen")

_DEVIATIONS = {
    **BAD_TARGET,
    **UNICODE_DIGITS,
    "unfinished": "An episode that neither stops nor takes all of its steps is worth no trajectory; the source raises.",
}
