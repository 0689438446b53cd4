"""Commands run as processes of their own, by signals that are handled as if a terminal had started them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

ENDING = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


def run_child(words: Sequence[Any], *, ignored: Sequence[int] = (), **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python with these words.

    Args:
        words: behind the name of Python, all turned into text.
        ignored: signals that are ignored when it starts. All others that end programs are not, as they are where the
            tests run under ``nohup`` or in the background of a shell.
        options: of `subprocess.run`.
    """

    def signals() -> None:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    given = {"capture_output": True, "text": True, "timeout": 120, "preexec_fn": signals} | options
    return subprocess.run([sys.executable, *map(str, words)], check=False, **given)
