"""Many cases in one test: collecting each as a test of its own takes longer than running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Signature, signature
from typing import Any

Test = Callable[..., None]


def cases(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test on each of the values, as ``pytest.mark.parametrize`` does, but as one test.

    A failure shows its case, and ends the test.
    """
    values, taken = list(values), {names} if isinstance(names, str) else {*names}
    assert values, names

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for value in values:
                case = {names: value} if isinstance(names, str) else dict(zip(names, value, strict=True))
                try:
                    test(*args, **kwargs, **case)
                except BaseException as error:
                    error.add_note(f"case {case!r:.400}")
                    raise

        fixtures = [each for each in signature(test).parameters.values() if each.name not in taken]
        run.__signature__ = Signature(fixtures)  # type: ignore[attr-defined]
        return run

    return decorate
