"""``transformers serve`` with a checkpoint, as a process on loopback.

    python tests/engines/serve.py FOLDER --port N --device cpu

starts the server itself, after the demo's processor is registered, which works without torchvision.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen


@contextmanager
def served(folder: Path, cache: Path, seconds: float = 120) -> Iterator[str]:
    """Serve a checkpoint until the context is left; yields the base URL.

    ``cache`` is a folder for files of a hub; the server lists what lies in it, and fails where there is no folder.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, __file__, str(folder), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    log = cache / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + seconds
        while not _is_up(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"transformers serve did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield f"{url}/v1"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_up(url: str) -> bool:
    try:
        with urlopen(f"{url}/health", timeout=5) as reply:
            return reply.status == 200
    except (URLError, OSError):
        return False


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.engines.tiny import register

    register()
    from transformers.cli.transformers import main as transformers

    sys.argv.insert(1, "serve")
    transformers()


if __name__ == "__main__":
    main()
