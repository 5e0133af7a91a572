"""Pictures of every page, light and dark: ``python -m lab.shots OUT``.

With ``--first`` only the first screens that the README shows: ``docs/pictures``.
Needs Playwright and a Chromium; a made-up state is shown.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from halflife.engine import bootstrap
from halflife.web.server import ServeWish, running
from lab import showcase

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Scheme: TypeAlias = Literal["light", "dark"]
CHROMIUM = Path("/usr/bin/chromium")
PAGES = {
    "overview": "/overview",
    "changes": "/changes",
    "changes-listing": "/changes?source=jobs",
    "diff": "/diff?item=https%3A%2F%2Fnews.example%2Fpage-1",
    "diff-inline": "/diff?item=https%3A%2F%2Fnews.example%2Fpage-1&view=inline",
    "items": "/items?source=jobs",
    "sources": "/sources",
    "source-pages": "/source?name=handbook",
    "source-listing": "/source?name=jobs",
    "source-form": "/source?name=cars",
    "source-search": "/source?name=library",
    "source-new": "/source?name=archive",
    "plan": "/plan",
    "what-if": "/what-if?budget=700",
    "inbox": "/inbox",
    "league": "/league",
    "audit": "/audit",
}
EMPTY = {"empty-overview": "/overview", "empty-league": "/league"}
FIRST: Mapping[str, tuple[str, Scheme, int]] = {  # page, colours, height in px
    "overview": ("/overview", "light", 915),
    "changes": ("/changes", "light", 643),
    "what-if": ("/what-if?budget=700", "dark", 880),
}
LOOKS: tuple[tuple[Scheme, str, int], ...] = (
    ("light", "wide", 1280),
    ("dark", "wide", 1280),
    ("light", "phone", 390),
)


def shoot(out: Path, league: Path | None = None) -> list[Path]:
    """Write a picture of each page into a folder; return them."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        settings = showcase.build(Path(folder) / "full", bootstrap.clock())
        nothing = Path(folder) / "empty" / "halflife.toml"
        with running(ServeWish(settings, port=0, league=league)) as served:
            taken = _shots(browser, served.address, out, PAGES)
        with running(ServeWish(nothing, port=0)) as served:
            taken += _shots(browser, served.address, out, EMPTY)
    return taken


def first(out: Path) -> list[Path]:
    """Write the first screens of a few pages into a folder; return them."""
    out.mkdir(parents=True, exist_ok=True)
    taken = []
    with tempfile.TemporaryDirectory() as folder, _browser() as browser:
        settings = showcase.build(Path(folder), bootstrap.clock())
        with running(ServeWish(settings, port=0)) as served:
            for name, (place, scheme, high) in FIRST.items():
                view = browser.new_page(
                    color_scheme=scheme, viewport={"width": 1280, "height": high}
                )
                view.goto(served.address)
                view.goto(served.address.partition("/?")[0] + place)
                taken.append(out / f"{name}.png")
                view.screenshot(path=taken[-1])
                view.close()
    return taken


@contextmanager
def _browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (for tests only)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def _shots(
    browser: "Browser", address: str, out: Path, pages: Mapping[str, str]
) -> list[Path]:
    taken = []
    for scheme, name, width in LOOKS:
        view = browser.new_page(
            color_scheme=scheme, viewport={"width": width, "height": 800}
        )
        view.goto(address)
        for page, place in pages.items():
            view.goto(address.partition("/?")[0] + place)
            file = out / f"{page}-{name}-{scheme}.png"
            view.screenshot(path=file, full_page=True)
            taken.append(file)
        view.close()
    return taken


def main() -> None:
    """Take the pictures, and say where they are."""
    parser = argparse.ArgumentParser(prog="python -m lab.shots")
    parser.add_argument("out", type=Path, help="a folder for the pictures")
    parser.add_argument("--league", type=Path, help="league.json to show")
    parser.add_argument("--first", action="store_true", help="what the README shows")
    given = parser.parse_args()
    taken = first(given.out) if given.first else shoot(given.out, given.league)
    for file in taken:
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()
