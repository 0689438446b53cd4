"""Our own recipe: the right action, at the right place, with the right arguments, or a refusal where nothing fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from grounding_rewards.combine import best, weighted
from grounding_rewards.coords.spaces import CoordSpace
from grounding_rewards.plugins.registry import frozen
from grounding_rewards.recipes._shared import answering_space, click_example, dialect_named, in_vocabulary, shown_with
from grounding_rewards.scoring import Example, Exploit, Recipe, Source
from grounding_rewards.verifiers import ActionMatch, ActionType, Format, RefusalMatch
from grounding_rewards.verifiers.action_match import Scrolls
from grounding_rewards.verifiers.edits import likeness
from grounding_rewards.verifiers.match import Convention, Presses, TextRule, similarity, token_f1
from grounding_rewards.verifiers.options import Share

_WORDS = "one two three four five six seven eight nine ten"
_LETTERS = "lumberjacks"


@shown_with(response_space="pixel")
def action(
    *,
    response_space: CoordSpace | str | None = None,
    format_weight: Share = 0.1,
    type_weight: Share = 0.0,
    point_radius: float | None = None,
    point_share: float | None = None,
    enlarge: float = 1.0,
    text: TextRule = "exact",
    text_threshold: float | None = None,
    text_case: bool = False,
    scroll: Scrolls = "all",
    response_scroll: Convention = "content",
    target_scroll: Convention = "content",
    duration_tolerance: float | None = 0.0,
    app: TextRule | None = None,
    nearest: int | None = None,
    presses: Presses = "apart",
    dialect: str = "auto_action",
    refusal_words: str | Iterable[str] | None = None,
    tools: str | Iterable[str] = (),
) -> Recipe:
    """Match, type and format of any action: targets are places, actions, both, lists of them (any will do) or refusals.

    total = (1 - w) · ((1 - t) · match + t · type) + w · format. match = 1 where the type, the place and the arguments
    are those of one and the same alternative of the target, as far as it has them; for a refusal target where the
    response refuses or finishes as impossible. type = 1 where the type is that of any alternative, or the refusal is
    right. format = 1 where the response was parsed. Thinking before ``</think>`` is dropped, and several answers are
    none. Names are compared in the words of ``grounding_rewards.actions.ACTIONS``, so that ``tap``, ``left_click`` and
    a place alone are one, and a swipe is a scroll the other way.

    A target's action stands beside its place, or alone: ``{"bbox": [10, 10, 90, 40], "action": "long_press"}``,
    ``{"action": {"name": "type", "text": "red hat"}}``. A text is its name; else it is an object of ``name`` and, of
    those that the kind has, what counts as right:

    - ``name``: the kind, as ``actions.ACTIONS`` or any of ``actions.NAMES`` have it; a place without one is clicked.
    - ``text``: what is typed, answered or selected (type, answer, select).
    - ``direction``: up, down, left or right (scroll, swipe); from two ends that of the longer side in pixels.
    - ``to``: where it ends, [x, y] or [x1, y1, x2, y2], in the target's space (drag, swipe, scroll).
    - ``button``: of the system, such as "Back" (system_button), or of the mouse (click).
    - ``keys``: a key or a list of them, such as ["ctrl", "c"] (key).
    - ``app``: its name (open_app).
    - ``status``: "success", or why not, such as "infeasible" (finished).
    - ``duration``: how long it takes, in the unit of the responses (wait, long_press).

    What a target does not say is not asked for. ``{"regions": [...]}`` lists alternatives, each with an action of its
    own or an action alone.

    Args:
        response_space: the space that the model answers in. No default: a wrong guess scores 0 in silence.
        format_weight: w, the weight of format, 0 to 1.
        type_weight: t, 0 to 1; the share of the rest that the right type alone earns.
        point_radius: reach in pixels around places and ends of drags that are only a point; without a reach such
            places are an error, and such ends must be met exactly.
        point_share: reach as a share of the screen, ||(dx / width, dy / height)||, such as the 0.14 that
            AndroidControl is judged by; in place of ``point_radius``. The size of the image must then be known.
        enlarge: boxes, circles and polygons count as this many times their size, such as UI-S1's 1.2.
        text: how texts and names of apps are compared: exact, f1 (of their words), contains (either the
            other), ratio (difflib's) or edits (1 - Levenshtein's distance / the longer length, as of AgentNetBench).
        text_threshold: the score of f1, ratio or edits from which on a text is right, such as 0.5; None for 1.0. With
            other rules it is an error, as they know right and wrong alone.
        text_case: whether case counts; f1 never looks at it, and with it it is an error.
        scroll: ``"all"`` asks of a scroll what its target has; ``"direction"`` for nothing but the direction;
            ``"axis"`` for that or the opposite, as AITW's evaluators; ``"any"`` for a scroll, as UI-S1's evaluation.
        response_scroll: ``"content"`` where a scroll down in a response shows what is further down, ``"finger"`` where
            it is the way that the finger goes, as that of a swipe always is.
        target_scroll: the same as ``response_scroll``, of targets.
        duration_tolerance: how far a duration may be from the target's; None asks for none.
        app: how names of apps are compared, where a benchmark does not compare them as texts, such as exact; None for
            ``text``. Threshold and case hold for both.
        nearest: of candidate boxes, this many count: those whose centres are nearest to the point that the target has
            as another alternative (AgentCPM-GUI's five), else to the response's (ClawGUI's five); None for all.
        presses: ``"one"`` where back, home, menu, recent and enter are one type for ``type``, as AgentCPM-GUI's press;
            match tells them apart.
        dialect: how answers are written; the name of a built-in or a plugin's dialect that shares the vocabulary, or
            your own by ``module:attr`` or ``/path/file.py:attr``. ``"auto_action"`` reads many forms. A dialect with
            words of its own, which would be compared with those of the vocabulary, is an error.
        refusal_words: further phrases that are a refusal where they are the whole answer, such as ["not on this page"];
            "common" stands for those that models often use, such as "The element is not visible.".
        tools: parts of the names of further tools that look and do not act, whose calls are no answers. For
            ``"auto_action"`` alone.

    Returns:
        A recipe with parts ``match``, ``kind``, ``refusal``, ``type`` (the larger of the two), ``outcome`` and
        ``format``, 0 <= total <= 1, working in pixels of the original image (with ``point_share`` in unit space);
        ``acc`` = match.

    Raises:
        SpaceError: ``response_space`` is missing or unknown.
        RecipeError: another option does not fit.
    """
    space = answering_space("action", response_space)
    match = ActionMatch(
        point_radius, point_share, enlarge, text, text_threshold, text_case, scroll, response_scroll, target_scroll,
        duration_tolerance, app, nearest,
    )  # fmt: skip
    types = best(kind=ActionType(presses=presses), refusal=RefusalMatch())
    outcome = weighted(match=(1.0 - type_weight, match), type=(type_weight, types))
    # Bringing pixels into unit space asks for the sizes that a share of the screen needs.
    inside = CoordSpace.PIXEL if point_share is None else CoordSpace.UNIT
    example = _example(space, inside, dialect)
    down = None if scroll == "all" else "down" if response_scroll == target_scroll else "up"
    loosened = _loosened(text, text_threshold, down, dialect, example)
    return Recipe(
        name="action",
        trim=True,
        dialect=in_vocabulary(dialect_named(dialect, refusal_words, tools), "action"),
        reward=weighted(outcome=(1.0 - format_weight, outcome), format=(format_weight, Format())),
        success=match,
        space=inside,
        response_space=space,
        target_space=CoordSpace.PIXEL,
        accepts=match.judges,
        source=Source("grounding-rewards"),
        exploits=(*_exploits(format_weight, type_weight, example), *loosened),
        formula=(
            "total = (1 - format_weight) · outcome + format_weight · format\n"
            "outcome = (1 - type_weight) · match + type_weight · type\n"
            "match = type, place and arguments of one alternative"
        ),
        example=example,
    )


def _example(response_space: CoordSpace, space: CoordSpace, dialect: str) -> Example | None:
    """A click as a tool call, which the general dialects read."""
    example = click_example(response_space, space, "tool_call" if dialect in _READ_CALLS else dialect)
    return example and replace(example, target=frozen({"bbox": _BOX, "action": "click"}))


_READ_CALLS = ("auto_action", "action_json")
_BOX = [100, 100, 300, 200]


def _asked(example: Example | None, target: dict[str, object], response: str | None = None) -> Example | None:
    """The same example with another target and response."""
    return example and replace(example, target=frozen(target), response=response or example.response)


def _exploits(form: float, kind: float, example: Example | None) -> tuple[Exploit, ...]:
    """List what the weights of format and type score without being right."""
    blind = Exploit(
        "blind-format", "any parsed answer earns the format weight", form, _asked(example, {"action": "wait"})
    )
    near = Exploit(
        "type-alone",
        "the right type of action earns the type weight wherever it goes and whatever it says",
        form + (1.0 - form) * kind,
        _asked(example, {"bbox": [600, 100, 800, 200], "action": "click"}),
    )
    return tuple(each for each, payoff in ((blind, form), (near, kind)) if payoff)


def _loosened(
    text: TextRule, threshold: float | None, down: str | None, dialect: str, example: Example | None
) -> tuple[Exploit, ...]:
    """List what scores in full without being right, for the dialects and options that allow it.

    ``down`` is what responses call a scroll down where nothing but the direction counts.
    """
    known: list[Exploit] = []

    def add(name: str, what: str, target: dict[str, object], response: str) -> None:
        known.append(Exploit(name, what, 1.0, _asked(example, target, response)))

    if dialect in ("auto_action", "action_calls"):
        mention = Example("You should wait() for the page.", frozen({"action": "wait"}))
        known.append(Exploit("mentioned-call", "prose that mentions a single call scores as that call", 1.0, mention))
    if text == "contains":
        add("single-letter", "a text of nothing or of one letter is contained in many, and counts in full",
             _typing("restaurants"), _typed("a"))  # fmt: skip
    score, whole = (token_f1, _WORDS) if text == "f1" else (likeness if text == "edits" else similarity, _LETTERS)
    enough = _least(whole, threshold or 1.0, score) if text in ("f1", "ratio", "edits") else whole
    if enough != whole:
        what = "some of the words of a text" if text == "f1" else "some of the letters of a text, in their order,"
        add("part-of-the-text", f"{what} are enough from the threshold on", _typing(whole), _typed(enough))
    if down:
        target: dict[str, object] = {"bbox": _BOX, "action": {"name": "scroll", "direction": "down"}}
        add("scroll-anywhere", "a scroll is right by at most its direction, one of four, whatever it scrolls", target,
             _call(f'"action": "scroll", "coordinate": [0, 0], "direction": "{down}"'))  # fmt: skip
    return tuple(known)


def _least(whole: str, threshold: float, score: Callable[[str, str], float]) -> str:
    """The shortest beginning of a text, of whole words where it has several, that scores the threshold."""
    ends = [end for end in range(1, len(whole)) if " " not in whole or whole[end] == " "]
    return next((whole[:end] for end in ends if score(whole[:end], whole) >= threshold), whole)


def _typing(text: str) -> dict[str, object]:
    return {"action": {"name": "type", "text": text}}


def _typed(text: str) -> str:
    return _call(f'"action": "type", "text": "{text}"')


def _call(arguments: str) -> str:
    return f'<tool_call>{{"name": "computer_use", "arguments": {{{arguments}}}}}</tool_call>'
