"""Many small sites on loopback addresses, which write down what they are asked.

    python lab/scale/logged_site.py --hosts 100 --log /tmp/asked.log

Each of the addresses 127.1.0.1, 127.1.0.2 and so on is a host of its own. A line of the
log has the seconds at which a request came in and at which its answer was sent, the
host and the path. It ends when its standard input does.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from typing import IO

PAGE = (
    b"<html><title>%s</title><body><p>This is the page %s of a site.</p></body></html>"
)


def addresses(hosts: int) -> list[str]:
    """Return so many loopback addresses, each a host."""
    return [f"127.1.{i // 250}.{i % 250 + 1}" for i in range(hosts)]


def _answer(path: str) -> bytes:
    if path == "/robots.txt":
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    body = PAGE % (path.encode(), path.encode())
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


class Site:
    """Answers every path, and writes it down before the answer is sent."""

    def __init__(self, log: IO[str], pause: float) -> None:
        self._log, self._pause = log, pause

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one connection."""
        host = writer.get_extra_info("sockname")[0]
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                came = time.time()
                path = head.split(b" ", 2)[1].decode("latin-1")
                if self._pause:
                    await asyncio.sleep(self._pause)
                writer.write(_answer(path))
                await writer.drain()
                self._log.write(f"{came:.6f} {time.time():.6f} {host} {path}\n")
                self._log.flush()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def _run(hosts: int, log: Path, pause: float) -> None:
    with log.open("a", encoding="ascii") as file:
        site = Site(file, pause)
        first = await asyncio.start_server(site.serve, "127.1.0.1", 0, backlog=512)
        port = first.sockets[0].getsockname()[1]
        rest = addresses(hosts)[1:]
        if rest:
            await asyncio.start_server(site.serve, rest, port, backlog=512)
        sys.stdout.write(json.dumps({"port": port}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hosts", type=int, default=100)
    options.add_argument("--log", type=Path, required=True)
    options.add_argument(
        "--pause", type=float, default=0.0, help="seconds an answer takes"
    )
    given = options.parse_args()
    asyncio.run(_run(given.hosts, given.log, given.pause))
