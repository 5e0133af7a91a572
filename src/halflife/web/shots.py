"""Pictures of every page, light and dark: ``python -m halflife.web.shots OUT``.

Needs Playwright and a Chromium; a made-up state is shown.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halflife.live import wiring
from halflife.web import showcase
from halflife.web.serving import Wish, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")
PAGES = {
    "overview": "/overview",
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
LOOKS: tuple[tuple[Literal["light", "dark"], str, int], ...] = (
    ("light", "wide", 1280),
    ("dark", "wide", 1280),
    ("light", "phone", 390),
)


def shoot(out: Path, league: Path | None = None) -> list[Path]:
    """Write a picture of each page into a folder; return them."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (for tests only)

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = showcase.build(Path(folder) / "full", wiring.clock())
        nothing = Path(folder) / "empty" / "halflife.toml"
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        with running(Wish(settings, port=0, league=league)) as served:
            taken = _shots(browser, served.address, out, PAGES)
        with running(Wish(nothing, port=0)) as served:
            taken += _shots(browser, served.address, out, EMPTY)
        browser.close()
    return taken


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
    parser = argparse.ArgumentParser(prog="python -m halflife.web.shots")
    parser.add_argument("out", type=Path, help="a folder for the pictures")
    parser.add_argument("--league", type=Path, help="league.json to show")
    given = parser.parse_args()
    for file in shoot(given.out, given.league):
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()
