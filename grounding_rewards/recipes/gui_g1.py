"""GUI-G1: a hit of the box's centre, its overlap with the target, and how near its edges are."""

from __future__ import annotations

import re
from typing import Any

from grounding_rewards.combine import weighted
from grounding_rewards.parsing import LITERAL_BOX
from grounding_rewards.parsing.literal import LiteralError, read_literal
from grounding_rewards.recipes.common import Line, bad_target, bare_box, extra_of, length, text_of, truth_of
from grounding_rewards.scoring import BBOX, Deviation, Example, Exploit, Recipe, Source
from grounding_rewards.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.truth import NativeForm
from grounding_rewards.verifiers import BoxSize, Hit, Overlap

_ACCEPTS = frozenset({BBOX})
_TARGET, _SIZE = (100, 100, 300, 200), (1000, 1000)
_ANSWER = '```json\n[{{"bbox_2d": {}, "label": "save"}}]\n```'
_FENCE = "```json"
_BLANKS = " \t\n\r\f"  # what Python takes for blanks between values
_LEAD = re.compile(r"(?:[ \t\n\r\f]|#[^\n\r]*)*")
_INDENTED_END = re.compile(r"[\n\r][ \t\f]*[ \t]\Z")
_WORD = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""' r"|'{3}(?:[^\\]|\\[\s\S])*?'{3}"
    r"|\"(?:[^\"\\]|\\[\s\S])*\"|'(?:[^'\\]|\\[\s\S])*'|\b(?:true|false|null)\b"
)  # fmt: skip
_PYTHON = {"true": "True", "false": "False", "null": "None"}


def gui_g1(*, iou_weight: float = 0.25, box_weight: float = 0.125) -> Recipe:
    """GUI-G1's rewards: a fenced list of dicts with ``bbox_2d``, boxes in pixels of the original image.

    total = hit + v · iou + w · box. hit = 1 where the centre of the predicted box lies in the target's, borders
    included. iou is the intersection over union, in which a common area at most 1 pixel wide or high counts as none.
    box = 4 / Σ 1 / t_k, with t_k = 1 - |P_k - B_k| / side of the image over the four edges, 0 where a t_k is not above
    0. The first dict counts, and in it the first four numbers.

    Args:
        iou_weight: v, from 0; the source trains with 0.25.
        box_weight: w, from 0; the source trains with 0.125.

    Returns:
        A recipe with parts ``hit``, ``iou`` and ``box``, 0 <= total <= 1 + v + w; ``acc`` is the hit. It needs the
        size of the original image of each row.

    Source: GUI-G1 e581fe9, ``open_r1/grpo_rec.py``.
    """
    weights = length("iou_weight", iou_weight), length("box_weight", box_weight)
    hit = Hit()
    return Recipe(
        name="gui-g1",
        dialect=LITERAL_BOX,
        reward=weighted(hit=(1.0, hit), iou=(weights[0], Overlap(pixel_convention=True)), box=(weights[1], BoxSize())),
        success=hit,
        space=CoordSpace.PIXEL,
        response_space=CoordSpace.PIXEL,
        target_space=CoordSpace.PIXEL,
        accepts=_ACCEPTS,
        source=Source(
            "GUI-G1: Understanding R1-Zero-Like Training for Visual Grounding in GUI Agents",
            "GUI-G1",
            "e581fe9",
            ("open_r1/grpo_rec.py",),
        ),
        answers="first",
        thinking="read",
        native=NATIVE,
        deviations=(_BAD_TARGET, _JSON_WORDS, _SPACES, _ONE_DICT, _OUTSIDE_IMAGE, _THIN),
        exploits=_exploits(*weights),
        formula=(
            "total = hit + iou_weight · iou + box_weight · box, hit by the centre of the box\n"
            "box = 4 / Σ 1 / t_k, t_k = 1 - |P_k - B_k| / side of the image, 0 where a t_k is not above 0"
        ),
        example=Example(_ANSWER.format([100, 100, 300, 200]), _TARGET, image_size=_SIZE),
    )


def _exploits(iou_weight: float, box_weight: float) -> tuple[Exploit, ...]:
    giant = Example(_ANSWER.format([-899999999800, -899999999850, 900000000200, 900000000150]), _TARGET, _SIZE)
    middle = Example(_ANSWER.format([400, 400, 600, 600]), _TARGET, _SIZE)
    far = Exploit(
        "any-box", "a box on the screen is paid for edges less than an image away, whatever it holds",
        box_weight * 0.672, middle,
    )  # fmt: skip
    return (
        Exploit("giant-box", "the hit asks for the centre of the box alone, so that its size is free", 1.0, giant),
        *((far,) if box_weight else ()),
    )


NATIVE = NativeForm("a bare list of 4 numbers x1 y1 x2 y2, in pixels of the original image", bare_box)


def _fence(line: Line) -> tuple[str, str]:
    """The line that is the fence, "" without one, and the text behind it; a line without blanks goes first."""
    lines = text_of(line).splitlines()
    rows = [row for row, each in enumerate(lines) if each.strip(" \t") == _FENCE]
    rows.sort(key=lambda row: lines[row] != _FENCE)
    return (lines[rows[0]], "\n".join(lines[rows[0] + 1 :])) if rows else ("", text_of(line))


def _answer(line: Line) -> str:
    """The text between the fences, or the whole of it."""
    fence, text = _fence(line)
    return text.split("```", 1)[0] if fence else text


def _value(line: Line) -> Any:
    """What the answer writes down; None for what is no literal."""
    try:
        return read_literal(_answer(line))
    except LiteralError:
        return None


def _box(line: Line) -> list[float]:
    """The first four numbers of the first dict, limited as all coordinates are; [] where there are none."""
    value = _value(line)
    items = value if isinstance(value, list | tuple) else [value]
    first = items[0] if items else None
    box = first.get("bbox_2d") if isinstance(first, dict) else None
    if not isinstance(box, list | tuple) or len(box) < 4 or not all(isinstance(n, int | float) for n in box[:4]):
        return []
    return [float(min(max(number, -COORDINATE_LIMIT), COORDINATE_LIMIT)) for number in box[:4]]


def _has_json_words(line: Line) -> bool:
    return bool(_box(line)) and _in_python(_answer(line)) != _answer(line)


def _in_python(text: str) -> str:
    return _WORD.sub(lambda found: _PYTHON.get(found[0], found[0]), text)


def _with_python_words(line: Line) -> Line:
    return {**line, "response": _in_python(_bare(line))}


def _lead(line: Line) -> str:
    """Blanks and comments in front of the list, without the spaces and tabs that Python takes from a text's start."""
    found = _LEAD.match(_answer(line).lstrip(" \t"))
    return found[0] if found else ""


def _bare(line: Line) -> str:
    """The answer without what stands in front of it, and without blanks behind."""
    return _answer(line).lstrip(" \t")[len(_lead(line)) :].rstrip(_BLANKS)


def _has_spaces(line: Line) -> bool:
    """Blanks beside ```json, or in front of the first or after the last line of the list."""
    beside = _fence(line)[0] not in ("", _FENCE)
    indented = _lead(line).endswith((" ", "\t")) or bool(_INDENTED_END.search(_answer(line)))
    return bool(_box(line)) and (beside or indented)


def _tidy(line: Line) -> Line:
    return {**line, "response": f"{_FENCE}\n{_bare(line)}\n```" if _fence(line)[0] else _bare(line)}


def _is_one_dict(line: Line) -> bool:
    return isinstance(_value(line), dict) and bool(_box(line))


def _in_list(line: Line) -> Line:
    end = "\n]" if "#" in _bare(line) else "]"  # a comment ends with its line
    return {**line, "response": f"[{_bare(line)}{end}"}


def _image_size(line: Line) -> tuple[Any, ...]:
    return tuple([extra_of(line).get(side) for side in ("image_width", "image_height")])


def _sides(line: Line) -> tuple[float, ...]:
    return _image_size(line) * 2


def _is_outside(line: Line) -> bool:
    edges = zip(_box(line), truth_of(line) or (), _sides(line), strict=False)
    return any(abs(predicted - edge) >= side for predicted, edge, side in edges)


def _outside_value(line: Line) -> dict[str, float]:
    """No pay for the edges; hit and overlap by the formula."""
    (a1, b1, a2, b2), (x1, y1, x2, y2) = _box(line), truth_of(line)
    hit = float(x1 <= (a1 + a2) / 2 <= x2 and y1 <= (b1 + b2) / 2 <= y2)
    left, top, right, bottom = max(a1, x1), max(b1, y1), min(a2, x2) - 1, min(b2, y2) - 1
    shared = (right - left + 1) * (bottom - top + 1) if left < right and top < bottom else 0
    union = (a2 - a1) * (b2 - b1) + (x2 - x1) * (y2 - y1) - shared
    return {"acc": hit, "hit": hit, "iou": shared / union if shared else 0.0, "box": 0.0}


def _is_thin(line: Line) -> bool:
    box = _box(line)
    return bool(box) and box == truth_of(line) and min(box[2] - box[0], box[3] - box[1]) <= 1


def _equal_value(line: Line) -> dict[str, float]:
    return {"acc": 1.0, "hit": 1.0, "iou": 1.0, "box": 1.0}


_BAD_TARGET = bad_target(NATIVE, CoordSpace.PIXEL, _ACCEPTS, size=_image_size)
_JSON_WORDS = Deviation(
    "json-words",
    "JSON's true, false and null are read; the source reads Python alone, and pays such answers 0.",
    _has_json_words,
    same_as=_with_python_words,
)
_SPACES = Deviation(
    "spaces",
    "Spaces and tabs beside ```json, in front of the list's first line or after its last, are read over; the source "
    "takes such a fence for none, and such a line for wrongly indented Python, and pays 0.",
    _has_spaces,
    same_as=_tidy,
)
_ONE_DICT = Deviation(
    "one-dict",
    "A dict that is in no list is the answer; the source looks for a first item in it, and pays 0.",
    _is_one_dict,
    same_as=_in_list,
)
_OUTSIDE_IMAGE = Deviation(
    "outside-image",
    "An edge that is a whole image or more away from the target's pays nothing for edges; the source's harmonic mean "
    "of numbers not above 0 is anything from -infinity to infinity.",
    _is_outside,
    _outside_value,
)
_THIN = Deviation(
    "thin-target",
    "A target at most 1 pixel wide or high that is answered exactly has an overlap of 1; the source pays 0.",
    _is_thin,
    _equal_value,
)
