"""GUI-Spotlight: places in the first image or in crops of it, whose left top corner is added.

(Image_0, (120, 45))
<crop>(Image_0, (100, 200), (300, 400))</crop> <answer>(Image_1, (20, 45))</answer>
"""

from __future__ import annotations

import re

from grounding_rewards.parsing.patterns import COMMA, X_Y
from grounding_rewards.parsing.reader_dialect import Place, ReaderDialect
from grounding_rewards.parsing.texts import NUMBER, SPACE, number

_PAIR = rf"\({SPACE}({NUMBER}){COMMA}({NUMBER}){SPACE}\)"
_PLACE = re.compile(rf"\({SPACE}Image_([0-9]{{1,4}}){COMMA}{_PAIR}(?:{COMMA}{_PAIR})?{SPACE}\)")
_OTHER_TOOLS = ("<extract>", "<find_color>")


def read_cropped(text: str) -> list[Place] | None:
    """Return the points, in pixels of the first image; without points, the boxes of the crops.

    The crops are images 1, 2, ... in their order in the text, and may be crops of crops. None if a place is in an
    image that no crop before it made, or that another tool may have made.

    >>> read_cropped("<crop>(Image_0, (100, 200), (300, 400))</crop> <answer>(Image_1, (20, 45))</answer>")
    [(120.0, 245.0)]
    """
    images = [(0.0, 0.0)]
    only_crops = not any(tool in text for tool in _OTHER_TOOLS)
    points: list[Place] = []
    boxes: list[Place] = []
    for match in _PLACE.finditer(text):
        image = int(match[1])
        if image >= len(images) or (image and not only_crops):
            return None
        left, top = images[image]
        numbers = [number(numeral) for numeral in match.groups()[1:] if numeral is not None]
        # X and y take turns, in points and boxes.
        place = tuple(each + (top if index % 2 else left) for index, each in enumerate(numbers))
        if len(place) == 2:
            points.append(place)
        else:
            boxes.append(place)
            images.append((place[0], place[1]))
    return points or boxes or None


CROPPED = ReaderDialect(
    name="cropped",
    read=read_cropped,
    pattern=rf"^{SPACE}\({SPACE}Image_0{COMMA}\({SPACE}{X_Y}{SPACE}\){SPACE}\){SPACE}$",
    signs=("Image_",),
)
"""Several points, or several crops without a point, are several answers. A crop keeps its scale."""
