"""The demo site's pages as HTML, its sitemap and its feed."""

from datetime import UTC, datetime, timedelta
from itertools import product
from xml.sax.saxutils import escape

import numpy as np

from halflife.demo.world import DemoWorld

# 900 invented words of two syllables.
SYLLABLES = tuple(a + b for a, b in product("bdfglmnprt", ("a", "er", "in")))
WORDS = tuple(a + b for a, b in product(SYLLABLES, SYLLABLES))
PARAGRAPHS = 6
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 20  # entries of the feed


def moment(t: float) -> datetime:
    """Return a time in days as a date, to the second."""
    return EPOCH + timedelta(seconds=int(t * 86400))


def words(*seed: int, count: int) -> str:
    """Return random words, determined by the seed."""
    chosen = np.random.default_rng(seed).integers(len(WORDS), size=count)
    return " ".join(WORDS[i] for i in chosen)


def html(world: DemoWorld, page: int, version: int, *, noise: str, hits: int) -> str:
    """Return a page; its main text depends only on ``version``.

    ``noise`` is written into a comment. A restless page shows ``hits`` in its text, so
    that each answer differs.
    """
    title = words(world.seed, page, count=3).title()
    body = [_paragraph(world.seed, page, part, version) for part in range(PARAGRAPHS)]
    if world.restless[page]:
        body.append(f"You are visitor number {hits}.")
    text = "\n".join(f"<p>{p}</p>" for p in body)
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f"<!-- rendered {noise} --></head>\n"
        '<body><nav><a href="/">Home</a> <a href="/feed.xml">Feed</a></nav>\n'
        f"<main><h1>{title}</h1>\n{text}\n</main>\n"
        f"<footer>A page that never was.</footer></body></html>\n"
    )


def _paragraph(seed: int, page: int, part: int, version: int) -> str:
    """Return a paragraph; each version rewrites one of them, in turn."""
    rewritten = (version + PARAGRAPHS - 1 - part) // PARAGRAPHS
    return words(seed, page, part, rewritten, count=50).capitalize() + "."


def sitemap(world: DemoWorld, base: str, t: float) -> str:
    """Return a sitemap of the existing pages; a third of them have no date."""
    lines = []
    for page in np.flatnonzero(world.truth(t)[1]).tolist():
        date = moment(world.modified(page, t)).date().isoformat()
        dated = f"<lastmod>{date}</lastmod>" if page % 3 else ""
        lines.append(f"<url><loc>{escape(base + world.paths[page])}</loc>{dated}</url>")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        + "\n".join(lines)
        + "\n</urlset>\n"
    )


def feed(world: DemoWorld, base: str, t: float) -> str:
    """Return an Atom feed of the pages that changed last."""
    alive = np.flatnonzero(world.truth(t)[1] & ~world.restless).tolist()
    latest = sorted(((world.modified(p, t), p) for p in alive), reverse=True)[:LATEST]
    entries = "\n".join(_entry(world, base, page, at) for at, page in latest)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>The demo site</title>\n'
        f"<id>{base}/</id><updated>{moment(t).isoformat()}</updated>\n"
        f"{entries}\n</feed>\n"
    )


def _entry(world: DemoWorld, base: str, page: int, at: float) -> str:
    url = escape(base + world.paths[page])
    title = words(world.seed, page, count=3).title()
    return (
        f'<entry><title>{title}</title><id>{url}</id><link href="{url}"/>'
        f"<updated>{moment(at).isoformat()}</updated></entry>"
    )
