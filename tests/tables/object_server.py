"""An S3 server on loopback, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

KEYS = {
    "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}  # fmt: skip
"""The environment of whoever asks it."""


@contextmanager
def served(log: Path, seconds: float = 120) -> Iterator[dict[str, str]]:
    """Serve an empty store until the context is left; yields the environment of whoever asks it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, env={**os.environ, **KEYS}, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"moto did not start: {log.read_text(errors='replace')[-2000:]}") from None
                time.sleep(0.1)
        yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    finally:
        process.kill()
        process.wait()


def make_bucket(environment: dict[str, str], name: str) -> None:
    urlopen(Request(f"{environment['AWS_ENDPOINT_URL']}/{name}", method="PUT")).close()
