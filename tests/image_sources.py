"""Images that data should not name, and a guard against what waits for ever on them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.coords.test_image_header import PNG

GUARD = 60
"""Seconds that a command may take where it would else wait for ever."""

LIMITS = "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))"
BOMB = PNG.replace((1920).to_bytes(4, "big"), (100_000).to_bytes(4, "big")).replace(
    (1080).to_bytes(4, "big"), (100_000).to_bytes(4, "big")
)
"""The header of a PNG of 100,000 x 100,000 pixels."""

NULL = "is no path: " + ("embedded null" if sys.version_info < (3, 13) else "")
"""Begins what is said of a path with a null, for which Python has other words from 3.13 on."""

WHY = {
    "fifo": "is a FIFO; expected an image file",
    "device": "is a device; expected an image file",
    "socket": "is a socket; expected an image file",
    "folder": "is a directory; expected an image file",
    "empty": "is empty; expected an image file",
    "growing": "is empty; expected an image file",
    "text": "is no image whose header says its size; expected PNG, JPEG, WebP, GIF or BMP",
    "cut": "is no image whose header says its size; expected PNG, JPEG, WebP, GIF or BMP",
    "sparse": "has 10,737,418,240 bytes; max_image_bytes allows 67,108,864 bytes",
    "bomb": "has 100000 x 100000 pixels; max_image_pixels allows 268,435,456",
    "loop": "symbolic links",
    "null": NULL,
    "surrogate": "is no path: it is not UTF-8",
    "long": "File name too long",
}
"""Reasons for which the images of ``hostile`` are refused, wherever they are named."""

OUT = {"above": "leads out of", "link": "leads out of", "linked folder": "leads out of"}
"""The same of relative paths that lead out of the folder."""


def hostile(folder: Path) -> dict[str, str]:
    """Make a folder of images that are none, beside a good one outside; the path of each by its name in ``WHY``."""
    folder.mkdir(exist_ok=True)
    os.mkfifo(folder / "fifo.png")
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(".", os.O_RDONLY)
        os.chdir(folder)  # the path of a socket may have a hundred characters
        made.bind("socket.png")
        os.fchdir(here)
        os.close(here)
    (folder / "folder.png").mkdir()
    (folder / "empty.png").touch()
    (folder / "text.png").write_text("BM secret text, which no error may quote\n" * 4)
    (folder / "cut.png").write_bytes(PNG[:20])
    (folder / "sparse.png").write_bytes(PNG)
    os.truncate(folder / "sparse.png", 10 << 30)
    (folder / "bomb.png").write_bytes(BOMB)
    (folder / "loop.png").symlink_to("loop.png")
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "x.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(outside / "x.png")
    (folder / "linked").symlink_to(outside)
    named = {"device": "/dev/zero", "growing": "/proc/self/maps", "null": "a\0.png", "surrogate": "\ud800.png"}
    named |= {"long": "x" * 300 + ".png", "above": "../outside/x.png", "link": "link.png"}
    named["linked folder"] = "linked/x.png"
    return {name: named.get(name, f"{name}.png") for name in (*WHY, *OUT)}


def command(*words: Any, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, which ends whatever happens and cannot eat the memory."""
    code = f"{LIMITS}; from grounding_rewards.cli import main; main()"
    return python(code, *words, cwd=cwd, env=env)


def python(code: str, *words: Any, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which ends whatever happens."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=GUARD,
        env={**os.environ, **(env or {})}, check=False,
    )  # fmt: skip
