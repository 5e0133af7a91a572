"""Pictures of every page, light and dark: ``python -m halflife.web.shots OUT``.

Needs Playwright and a Chromium; a made-up state is shown.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from halflife.live import wiring
from halflife.web import showcase
from halflife.web.serving import Wish, running

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
WIDTHS = {"wide": 1280, "phone": 390}


def shoot(out: Path, league: Path | None = None) -> list[Path]:
    """Write a picture of each page into a folder; return them."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (for tests only)

    out.mkdir(parents=True, exist_ok=True)
    taken = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        settings = showcase.build(Path(folder) / "full", wiring.clock())
        nothing = Path(folder) / "empty" / "halflife.toml"
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        for name, path in {"": settings, "empty-": nothing}.items():
            wanted = {"overview": "/overview", "league": "/league"} if name else PAGES
            with running(Wish(path, port=0, league=league)) as served:
                for scheme, width in (
                    ("light", "wide"),
                    ("dark", "wide"),
                    ("light", "phone"),
                ):
                    view = browser.new_page(
                        color_scheme=scheme,
                        viewport={"width": WIDTHS[width], "height": 800},
                    )
                    view.goto(served.address)
                    base = served.address.partition("/?")[0]
                    for page, place in wanted.items():
                        view.goto(base + place)
                        file = out / f"{name}{page}-{width}-{scheme}.png"
                        view.screenshot(path=file, full_page=True)
                        taken.append(file)
                    view.close()
        browser.close()
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
