"""Fetch each URL given and print by how much memory has grown in the worst case."""

import asyncio
import json
import resource
import sys

from halflife.core.errors import Unreachable
from web_parts import HOME, Coins, make_gate


def peak() -> int:
    """Return the most memory this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


async def main(largest: int, warm_up: str, *urls: str) -> None:
    async with make_gate(largest=largest, deadline=60) as gate:
        await gate.get(warm_up, Coins(), access=HOME)
        before, notes = peak(), []
        for url in urls:
            try:
                await gate.get(url, Coins(), access=HOME)
            except Unreachable as error:
                notes.append(str(error))
        print(json.dumps({"growth": peak() - before, "notes": notes}))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
