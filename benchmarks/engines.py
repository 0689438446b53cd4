"""Cost of the engine `openai` per request beside a bare loop of the official client, timed in turns.

    python benchmarks/engines.py [--requests 128] [--concurrency 64] [--turns 40] [--json]

The server is a process of its own that reads a request and sends the same completion, at once or 50 ms later: no model
answers sooner, so the ratio is an upper bound. The bare loop makes the data URL and the message, asks for a response
under a semaphore, and reads its text; the engine gives the same texts. Times are medians over the turns, in each of
which both answer as many requests, the engine first in every second one. Ratios are of the wall clock, and of processor
time of the client's process, which varies less where others use the processors, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

from openai import AsyncOpenAI

from grounding_rewards.converting.prompts import Message
from grounding_rewards.engines import Request, Running, Sampling, engine

MODEL, TEXT = "m", '<tool_call>{"name": "computer_use", "arguments": {"coordinate": [512, 384]}}</tool_call>'
SAMPLING = Sampling(1.0, 1.0, 64)
BODIES = {
    b"GET": {"data": [{"id": MODEL}]},
    b"POST": {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 30, "total_tokens": 1030},
    },
}


@dataclass(frozen=True)
class Line:
    """One row of the table: milliseconds a request, by the engine and by the bare loop."""

    server_ms: float
    image_bytes: int
    engine_ms: float
    bare_ms: float
    wall_ratio: float
    cpu_ratio: float


def serve(port: Connection, seconds: float) -> None:
    """Answer until the process ends; the port is sent first."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):  # the client has hung up
                return writer.close()
            length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
            await reader.readexactly(int(length.partition(b":")[2]))
            if seconds:
                await asyncio.sleep(seconds)
            body = json.dumps(BODIES[head.partition(b" ")[0]]).encode()
            start = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(start.encode() + body)

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 24)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def served(seconds: float) -> Iterator[str]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there, seconds), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}/v1"
    finally:
        process.terminate()
        process.join()


async def bare(client: AsyncOpenAI, image: bytes, requests: int, concurrency: int) -> list[str]:
    """Texts by a bare loop."""
    free = asyncio.Semaphore(concurrency)

    async def ask(number: int) -> str:
        async with free:
            content: list[Any] = [{"type": "text", "text": f"Click on button {number}"}]
            if image:
                source = f"data:image/png;base64,{b64encode(image).decode()}"
                content.insert(0, {"type": "image_url", "image_url": {"url": source}})
            reply = await client.chat.completions.create(
                model=MODEL,
                messages=[{"role": "user", "content": content}],
                temperature=SAMPLING.temperature,
                top_p=SAMPLING.top_p,
                max_tokens=SAMPLING.max_tokens,
                seed=number,
            )
            return str(reply.choices[0].message.content)

    return await asyncio.gather(*map(ask, range(requests)))


def ours(run: Running, image: bytes, requests: int) -> list[str | None]:
    """Texts by the engine, of one batch."""
    images, names = ((image,), "<image>") if image else ((), "")
    batch = [
        Request((Message("user", f"{names}Click on button {number}"),), images, (number,), SAMPLING)
        for number in range(requests)
    ]
    return [reply.answers[0].text for reply in run(batch)]


def seconds(texts: Callable[[], list[Any]], requests: int) -> tuple[float, float]:
    """Wall and processor time of a turn."""
    wall, cpu = time.perf_counter(), time.process_time()
    got = texts()
    taken = time.perf_counter() - wall, time.process_time() - cpu
    assert got == [TEXT] * requests
    return taken


def compare(server_s: float, image: bytes, requests: int, concurrency: int, turns: int) -> Line:
    with served(server_s) as url, asyncio.Runner() as runner:
        client = AsyncOpenAI(api_key="EMPTY", base_url=url)
        with engine("openai", model=MODEL, base_url=url, concurrency=concurrency).start() as run:
            both: list[Callable[[], list[Any]]] = [
                lambda: ours(run, image, requests),
                lambda: runner.run(bare(client, image, requests, concurrency)),
            ]
            times: list[list[tuple[float, float]]] = [[], []]
            for turn in range(turns + 2):
                for which in (0, 1) if turn % 2 else (1, 0):
                    times[which].append(seconds(both[which], requests))
        runner.run(client.close())
    (wall, cpu), (bare_wall, bare_cpu) = (
        [statistics.median(each) for each in zip(*kind[2:], strict=True)] for kind in times
    )
    a_request = 1000 / requests
    return Line(server_s * 1000, len(image), wall * a_request, bare_wall * a_request, wall / bare_wall, cpu / bare_cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=128)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--json", action="store_true", help="one line of JSON a row")
    arguments = parser.parse_args()
    if not arguments.json:
        print(f"{'server':>8} {'image':>10} {'engine':>12} {'bare':>12} {'wall ratio':>11} {'CPU ratio':>10}")
    for server_s in (0.0, 0.05):
        for size in (0, 300_000):
            image = b"\x89PNG\r\n\x1a\n" + bytes(size) if size else b""
            line = compare(server_s, image, arguments.requests, arguments.concurrency, arguments.turns)
            if arguments.json:
                print(json.dumps(asdict(line)), flush=True)
                continue
            print(
                f"{line.server_ms:5.0f} ms {line.image_bytes:8,} B {line.engine_ms:9.3f} ms {line.bare_ms:9.3f} ms "
                f"{line.wall_ratio:11.3f} {line.cpu_ratio:10.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
