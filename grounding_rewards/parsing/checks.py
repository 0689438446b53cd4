"""What a dialect is built of, checked: its patterns, their groups, and what should be texts."""

from __future__ import annotations

from typing import Any

from grounding_rewards.errors import RecipeError
from grounding_rewards.parsing.patterns import complaint
from grounding_rewards.parsing.texts import compiled


def check_patterns(dialect: Any) -> None:
    """Complain of a dialect's patterns, where it is of a class that has any.

    Raises:
        RecipeError: one cannot be used.
    """
    check = getattr(dialect, "check_patterns", None)
    if check is not None:
        check()


def groups_of(dialect: str, pattern: Any) -> set[str]:
    """The names of a pattern's groups.

    Raises:
        RecipeError: RE2 and Python's re do not both read it, and alike, or a group has no name.
    """
    wrong = complaint(pattern)
    if wrong is None:
        found = compiled(pattern)
        if found.groups == len(found.groupindex):
            return set(found.groupindex)
        wrong = "a name for each group, as in (?P<x>...), and (?:...) for what is none"
    raise RecipeError(f"dialect {dialect}: got the pattern {pattern!r:.80}; expected {wrong}")


def check_texts(dialect: Any, *fields: str) -> None:
    """Complain of fields that are no tuples of texts: a text alone would be read letter by letter.

    Raises:
        RecipeError: one is none.
    """
    for name in fields:
        value = getattr(dialect, name)
        if not isinstance(value, tuple | list) or not all(isinstance(each, str) for each in value):
            raise RecipeError(f'dialect {dialect.name}: {name}: got {value!r:.80}; expected texts, such as ("<tap>",)')
