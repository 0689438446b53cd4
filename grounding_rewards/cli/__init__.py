"""The command line: one verb a file. An error in the input is one line on stderr and exit code 2.

Nothing heavy is imported here: signals are handled before the verbs are imported.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence

from grounding_rewards.cli.process import Stopping, standard_streams


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0, 1 after a warning under ``--strict``, 2 for an error, 129 to 143 ended by a signal."""
    code, message = 0, ""
    if args is None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # it would begin a thread a core, for matrices alone
        gc.disable()  # until the command runs: imports make much, and no garbage
    with standard_streams():
        with Stopping(last=args is None) as stopping:
            code, message = _outcome(sys.argv[1:] if args is None else args)
            stopping.over = True
        if stopping.number:
            code, message = 128 + stopping.number, stopping.line
        if message:
            sys.stderr.write(f"{message}\n")
    if {"duckdb", "torch"} & sys.modules.keys():
        gc.unfreeze()  # theirs print what they find uncollected at the end
    sys.exit(code)


def _outcome(words: Sequence[str]) -> tuple[int, str]:
    """Run a command; return its exit code, and the line to print of an error."""
    from grounding_rewards.cli.completion import answered

    if (status := answered()) is not None:
        return status, ""
    from grounding_rewards.cli.application import run, usage
    from grounding_rewards.errors import GroundingRewardsError

    def notes(error: Exception) -> str:
        return "".join(getattr(error, "__notes__", ()))

    try:
        code = run(words)
        sys.stdout.flush()  # a full disk is an error now, and not after the exit code is decided
    except GroundingRewardsError as error:
        return _error(f"{error}{notes(error)}")
    except OSError as error:
        return _error(f"{refused(error)}{notes(error)}")
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _error(usage(error))
    return code, ""


def refused(error: OSError) -> str:
    """Describe an error of the system: the file, the fault, and how to fix it."""
    if error.errno is None:
        return str(error)
    text = _REFUSED.get(error.errno, str(error.strerror))
    return text if error.filename is None else f"{error.filename}: {text}"


_FULL = "no space is left on the disk; free some, or write elsewhere"
_FORBIDDEN = "you are not allowed to; change who may read and write there, or name another file"
_REFUSED = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "would be larger than files may be here; raise the limit (`ulimit -f`), or write elsewhere",
    errno.EROFS: "the disk can only be read; write elsewhere",
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOENT: "no such file or directory; name one that is there",
    errno.EISDIR: "is a directory; expected a file",
    errno.ENOTDIR: "a part of this path is no directory; name another file",
    errno.ELOOP: "symbolic links lead round in a circle; name the file itself",
    errno.ENAMETOOLONG: "a name in this path is longer than the disk takes; give a shorter one",
}
"""Errors of the system: the fault, and how to fix it."""


def _error(message: str) -> tuple[int, str]:
    from grounding_rewards.errors import printable

    stores = sys.modules.get("grounding_rewards.tables.object_stores")  # without it there are no copies to name
    return 2, f"error: {printable(stores.shown(message.strip()) if stores else message.strip())}"
