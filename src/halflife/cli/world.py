"""The verb that makes and serves test worlds for crawlers: world."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflife.cli import show
from halflife.cli.app import app
from halflife.cli.options import Json
from halflife.cli.words import comma_list
from halflife.core.errors import UsageError

if TYPE_CHECKING:
    from halflife.worlds.server import World


class WorldAction(StrEnum):
    """What is done with a world."""

    MAKE = "make"
    SERVE = "serve"
    SCORE = "score"


What = Annotated[
    WorldAction,
    typer.Argument(
        metavar="make|serve|score",
        help="make [KIND]...: write made-up histories. serve [DIR]: over HTTP. "
        "score URL: how fresh the clients of a served world are.",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KIND]...|DIR|URL", help="What to make, serve or score."),
]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="make: the new folder.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed of all random draws.")]
Size = Annotated[
    float,
    typer.Option(min=0.01, max=4.0, help="make: share of the real sites and objects."),
]
Port = Annotated[
    int,
    typer.Option(min=0, max=65000, help="serve: of the desk; sources follow."),
]
Speed = Annotated[
    float,
    typer.Option(min=0.0, help="serve: seconds of the world in one; 0: by hand."),
]
Days = Annotated[float, typer.Option(min=0.1, help="serve: the last so many days.")]
Served = Annotated[
    str, typer.Option(metavar="A,B:KIND", help="serve: only these [default: all].")
]
Faulty = Annotated[
    str, typer.Option(metavar="A,B", help="serve: what goes wrong; see docs/worlds.md.")
]


@app.command()
def world(  # noqa: PLR0913  (each is an option)
    what: What,
    names: Names = None,
    *,
    out: Out = None,
    seed: Seed = 1,
    size: Size = 0.1,
    port: Port = 8800,
    speed: Speed = 8640.0,
    days: Days = 30.0,
    sources: Served = "",
    faults: Faulty = "",
    json: Json = False,
) -> None:
    """Make a world of realistic histories, serve one to crawlers, score them."""
    given = names or []
    if what is WorldAction.MAKE:
        _make(given, out, seed, size, json=json)
    elif what is WorldAction.SCORE:
        _score(given, json=json)
    else:
        from halflife.worlds.server import World

        with _folder(given, seed, size) as folder:
            chosen, wrong = comma_list(sources), comma_list(faults)
            opened = World.open(folder, chosen, days=days, speed=speed, faults=wrong)
            _serve(opened, port)


def _make(
    kinds: list[str], out: Path | None, seed: int, size: float, *, json: bool
) -> None:
    from halflife.worlds.make import make

    if out is None:
        raise UsageError("world make writes to a folder; name one with --out DIR")
    written = make(out, kinds, seed, size)
    if json:
        show.emit({"folder": str(out), "histories": [str(p) for p in written]})
        return
    for place in written:
        show.say(f"wrote {place}")
    show.say(f"next: halflife replay {out} --policies champion,uniform --days 30")


@contextmanager
def _folder(given: list[str], seed: int, size: float) -> Iterator[Path]:
    """Yield the named folder, or a temporary one with a world of this seed."""
    import tempfile

    from halflife.worlds.make import make

    if given:
        yield Path(given[0])
        return
    with tempfile.TemporaryDirectory() as place:
        make(Path(place), (), seed, size)
        yield Path(place)


def _serve(opened: "World", port: int) -> None:
    """Serve a world until it is interrupted."""
    with opened.served(port) as desk:
        show.say(f"the desk: {desk}/world.json (also /clock, /score, /halflife.toml)")
        for source, origin in zip(opened.sources, opened.origins[1:], strict=True):
            show.say(f"{source.kind} {source.name}: {origin}")
        show.say(f"score: halflife world score {desk}")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            show.say("ended")


def _score(given: list[str], *, json: bool) -> None:
    """Print how fresh the clients of a served world are."""
    if len(given) != 1:
        raise UsageError("world score asks one desk: halflife world score URL")
    score = _fetch_json(given[0].rstrip("/") + "/score")
    if json:
        show.emit(score)
        return
    shown = ("client", "freshness", "requests", "requests_a_day")
    show.table([show.flat({n: row[n] for n in shown}) for row in score["results"]])


def _fetch_json(url: str) -> dict[str, Any]:
    """Return the JSON answer of a desk."""
    import urllib.request
    from urllib.error import URLError

    if not url.startswith(("http://127.", "http://localhost")):
        raise UsageError(f"{url}: a world is served on loopback, as http://127.0.0.1")
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
            document: dict[str, Any] = loads(answer.read())
            return document
    except (URLError, ValueError) as error:
        raise UsageError(f"{url}: no world answers there ({error})") from None
