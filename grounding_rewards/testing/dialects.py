"""Check that a dialect keeps its promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from grounding_rewards.actions import ARGUMENTS, empty
from grounding_rewards.coords.spaces import COORDINATE_LIMIT, CoordSpace
from grounding_rewards.parsing import Answers, Dialect, parse
from grounding_rewards.parsing.reading import check_patterns
from grounding_rewards.parsing.texts import VECTOR_ROWS
from grounding_rewards.rollouts import CLICKED, Predictions, Reason
from grounding_rewards.testing._checks import brief, quietly, survives_copies
from grounding_rewards.testing.hostile import begun_shapes, hostile_responses

_FEW = VECTOR_ROWS - 1  # so few that Python's re reads them
_SHORT, _VARIED = 1000, 16  # characters, and texts that are also read in other scripts
# Full-width digits, a no-break space and a dotless i: Python's \d, \s and IGNORECASE take them, RE2's do not.
_WIDE = str.maketrans("0123456789", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19")
_BLANK, _DOTLESS = str.maketrans(" ", "\xa0"), str.maketrans("i", "\u0131")


def check_dialect(dialect: Dialect, responses: Sequence[str | None] | None = None) -> None:
    """Check what every dialect promises, on ``hostile_responses`` and under every policy of ``answers``.

    Checked: it neither raises, warns nor prints; many texts (arrow and RE2) and few (Python's re) are read as each
    alone, to the last bit; a place is there only where an answer was read, and there is a place or an action's name
    wherever one was; places are finite and within ``COORDINATE_LIMIT``;
    under ``"all"`` the list of answers begins with that place; it can be pickled, and copies equal it. The first few
    texts are also read with a line feed behind them, and with their digits, spaces and small i as other scripts have
    them: there engines read patterns differently. Among the texts are the dialect's own signs before whatever is
    hostile.

    Args:
        dialect: what to check.
        responses: texts to read in place of the hostile ones.

    Raises:
        AssertionError: a promise is broken; names the dialect and the text.

    >>> from grounding_rewards.parsing import BARE_TUPLE
    >>> check_dialect(BARE_TUPLE, ["(1, 2)", "(1, 2) or (3, 4)", "(", None])
    """
    texts = [*(hostile_responses() if responses is None else responses), *begun_shapes(getattr(dialect, "signs", ()))]
    varied = [text for text in texts if text and len(text) < _SHORT][:_VARIED]
    otherwise = (text.translate(to) for text in varied for to in (_WIDE, _BLANK, _DOTLESS))
    texts = list(dict.fromkeys([*texts, *(f"{text}\n" for text in varied), *otherwise]))
    quietly(f"dialect {dialect.name}", lambda: check_patterns(dialect))
    survives_copies(f"dialect {dialect.name}", dialect)
    for answers in get_args(Answers):
        _check(f"dialect {dialect.name} (answers={answers!r})", dialect, texts, answers)


def _check(name: str, dialect: Dialect, texts: list[str | None], answers: Answers) -> None:
    def read(some: list[str | None], what: str) -> Predictions:
        return quietly(
            f"{name} on {what}", lambda: parse(some, dialect, space=CoordSpace.PIXEL, answers=answers, thinking="read")
        )

    alone = []
    for text in texts:
        predictions = read([text], brief(text))
        _sound(name, text, predictions)
        alone.append(_row(predictions, 0))
    # The short ones so often that those which one dialect leaves for the next are many again.
    short = [place for place, text in enumerate(texts) if len(text or "") < _SHORT]
    many = short * (VECTOR_ROWS if len(short) < VECTOR_ROWS // 3 else 3)
    for chosen in [[*many, *range(len(texts))]] + [
        list(range(start, min(start + _FEW, len(texts)))) for start in range(0, len(texts), _FEW)
    ]:
        predictions = read([texts[place] for place in chosen], f"{len(chosen)} texts")
        for row, place in enumerate(chosen):
            together = _row(predictions, row)
            for column in together:
                if together[column] != alone[place][column]:
                    both = f"{together[column]} among {len(chosen)} texts and {alone[place][column]} alone"
                    raise AssertionError(f"{name} reads {column} {both} from {brief(texts[place])}")


def _sound(name: str, text: str | None, predictions: Predictions) -> None:
    xy, box = predictions.xy[0], predictions.box[0]
    place = not np.isnan(xy).any()
    wrong = None
    answered = predictions.reason[0] in (*CLICKED, Reason.UNKNOWN_ACTION)
    if place > answered or (answered and not place and not predictions.actions[0]):
        wrong = "returns a place without an answer, or an answer without a place or an action"
    elif (np.abs([*xy, *box]) > COORDINATE_LIMIT).any():
        wrong = f"returns numbers beyond {COORDINATE_LIMIT:g}"
    elif not -1 <= predictions.dialect[0] < len(predictions.dialects):
        wrong = f"says that dialect {predictions.dialect[0]} of {predictions.dialects} matched"
    elif (
        predictions.points is not None
        and place
        and not (len(predictions.points) and (predictions.points[0] == xy).all())
    ):
        wrong = f"lists the answers {predictions.points.tolist()}"
    if wrong:
        came = f"{xy.tolist()}, box {box.tolist()}, reason {predictions.reason[0]}"
        raise AssertionError(f"{name} {wrong}: {came} from {brief(text)}")


def _row(predictions: Predictions, row: int) -> dict[str, str]:
    """Return a row as texts: a float's repr is exact, -0.0 is not 0.0, and NaN is NaN."""
    columns = {name: repr(getattr(predictions, name)[row : row + 1].tolist()) for name in _COLUMNS}
    for name in _ARGUMENTS:
        column = getattr(predictions.arguments, name)
        columns[name] = repr((empty(name, 1) if column is None else column[row : row + 1]).tolist())
    if predictions.points is not None and predictions.offsets is not None:
        start, end = predictions.offsets[row : row + 2]
        columns["points"] = repr(predictions.points[start:end].tolist())
    return columns


_COLUMNS = ("xy", "box", "reason", "dialect", "actions")
_ARGUMENTS = tuple(name for name in ARGUMENTS if name != "raw")  # raw is the answer as it came, of any type
