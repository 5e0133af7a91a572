"""A second set of pages with noise and edits, to judge what was made with the first.

Nothing here was chosen by how masks work: five skeletons of pages as they are found on
the web (an article, a shop, a forum, a handbook, a status board), each with every kind
of noise. See ``lab.page_noise --set second``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from numpy.random import Generator

WORDS = (
    "river", "stone", "market", "winter", "copper", "garden", "signal", "letter",
    "bridge", "harbour", "candle", "valley", "engine", "silver", "window", "summer",
    "orchard", "railway", "museum", "teacher", "kitchen", "captain", "forest",
    "journal", "pepper", "lantern", "meadow", "station", "velvet", "harvest",
    "compass", "village",
)  # fmt: skip
NAMES = ("Ada", "Björn", "Chloé", "Dmitri", "Esra", "Femi", "Goran", "Hana")
SPONSORS = (
    ("Lighter boots for longer walks", "Free returns for thirty days."),
    ("Coffee that arrives before you wake",),
    ("Learn the cello at home", "First lesson free.", "Cancel whenever you like."),
    ("Your roof, looked after", "Ask for a quote"),
)
VOICES = (
    "I would buy it again", "Best decision of the year", "My cat approves",
    "It simply works", "Five stars from all of us",
)  # fmt: skip
Part = Callable[["SitePage", datetime, Generator], str]


def sentence(rng: Generator, many: int = 9) -> str:
    """Return a sentence of words by chance."""
    words = [WORDS[int(i)] for i in rng.integers(len(WORDS), size=many)]
    return " ".join([words[0].capitalize(), *words[1:]]) + "."


@dataclass
class SitePage:
    """One page: what it says, and which noise it has."""

    kind: str
    number: int
    skeleton: int
    title: str
    texts: list[str]
    rows: list[tuple[str, int]]
    posts: list[tuple[str, str, float]]  # who, what, and when, in days
    edits: int = 0
    views: int = field(default=980)

    @classmethod
    def made(cls, kind: str, number: int, rng: Generator) -> "SitePage":
        """Return a page by chance."""
        rows = [(sentence(rng, 2)[:-1], int(rng.integers(5, 900))) for _ in range(6)]
        posts = [
            (NAMES[int(rng.integers(len(NAMES)))], sentence(rng, 7), float(when))
            for when in sorted(rng.uniform(19_950, 20_000, size=4), reverse=True)
        ]
        texts = [" ".join(sentence(rng) for _ in range(3)) for _ in range(6)]
        return cls(kind, number, number % 5, sentence(rng, 4)[:-1], texts, rows, posts)

    def edit(self, rng: Generator) -> None:
        """Change something that matters."""
        self.edits += 1
        what, place = int(rng.integers(5)), int(rng.integers(len(self.texts)))
        if what == 0:
            words = self.texts[place].split()
            words[int(rng.integers(len(words)))] = f"edited{self.edits}"
            self.texts[place] = " ".join(words)
        elif what == 1:
            self.texts.insert(place, sentence(rng, 12))
        elif what == 2:
            name, price = self.rows[place % len(self.rows)]
            self.rows[place % len(self.rows)] = (name, price + 1 + self.edits)
        elif what == 3 and len(self.texts) > 3:
            del self.texts[place]
        else:
            self.title = f"{sentence(rng, 3)[:-1]} {self.edits}"

    def html(self, now: float, rng: Generator) -> str:
        """Return the page as it is served now."""
        self.views += int(rng.integers(1, 40))
        at = datetime.fromtimestamp(now * 86400.0, tz=UTC)
        noise = PARTS[self.kind]
        top, middle, end = (
            "".join(part(self, at, rng) for part in noise.get(place, ()))
            for place in ("top", "middle", "end")
        )
        return SKELETONS[self.skeleton](self, top, middle, end)


def _article(page: SitePage, top: str, middle: str, end: str) -> str:
    paragraphs = [f"<p>{text}</p>" for text in page.texts]
    half = len(paragraphs) // 2
    table = "".join(f"<dt>{n}</dt><dd>{v} €</dd>" for n, v in page.rows)
    return (
        f"<!doctype html><html lang=en><head><title>{page.title} · Daily</title></head>"
        f"<body><header><a href=/>Daily</a>{top}</header><article><h1>{page.title}</h1>"
        f"{''.join(paragraphs[:half])}{middle}{''.join(paragraphs[half:])}</article>"
        f"<dl>{table}</dl><footer>{end}<p>© Daily</p></footer></body></html>"
    )


def _shop(page: SitePage, top: str, middle: str, end: str) -> str:
    rows = "".join(f"<tr><td>{n}</td><td>{v}.00</td></tr>" for n, v in page.rows)
    text = "<br>".join(page.texts)
    return (
        f"<html><head><title>{page.title}</title></head><body><div id=wrap>"
        f"<div class=bar>{top}<span>Basket</span></div><h2>{page.title}</h2>"
        f"<table class=prices><tr><th>Part<th>Price</tr>{rows}</table>"
        f"<div class=more>{text}</div><div>{middle}</div><div class=foot>{end}"
        "<small>Prices with tax</small></div></div></body></html>"
    )


def _forum(page: SitePage, top: str, middle: str, end: str) -> str:
    posts = "".join(
        f"<div class=post><b>{who}</b><div class=body>{text}</div></div>"
        for who, text in zip(NAMES, page.texts, strict=False)
    )
    rows = "".join(f"<li>{n}: {v} replies</li>" for n, v in page.rows)
    return (
        f"<html><title>{page.title}</title><body><nav><ul><li>Home<li>Members</ul>{top}"
        f"</nav><h1>{page.title}</h1>{posts}{middle}<ul class=topics>{rows}</ul>{end}"
        "</body></html>"
    )


def _handbook(page: SitePage, top: str, middle: str, end: str) -> str:
    sections = "".join(
        f"<section><h3>Part {i}</h3><p>{text}</p></section>"
        for i, text in enumerate(page.texts, 1)
    )
    rows = "".join(f"<pre>{n} = {v}</pre>" for n, v in page.rows)
    return (
        f"<html><head><title>{page.title}</title></head><body><main><h1>{page.title}"
        f"</h1>{top}{sections}<section><h3>Settings</h3>{rows}</section>{middle}</main>"
        f"<footer>{end}</footer></body></html>"
    )


def _board(page: SitePage, top: str, middle: str, end: str) -> str:
    cards = "".join(
        f"<div class=card><span>{n}</span><strong>{v}</strong></div>"
        for n, v in page.rows
    )
    texts = "".join(f"<div><span>{text}</span></div>" for text in page.texts)
    return (
        f"<html><title>{page.title}</title><body><div><div>{top}</div><h1>{page.title}"
        f"</h1></div><div class=cards>{cards}</div>{middle}<div>{texts}</div>"
        f"<div>{end}</div></body></html>"
    )


SKELETONS = (_article, _shop, _forum, _handbook, _board)


def _hex(rng: Generator, many: int) -> str:
    return rng.bytes(many).hex()


def _wall_clock(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, rng
    return f"<div>{at:%A, %d %B %Y}, {at:%I:%M:%S %p} GMT</div>"


def _generated(page: SitePage, at: datetime, rng: Generator) -> str:
    del page
    took = int(rng.integers(8, 300))
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{int(rng.integers(1000)):03d}Z"
    return f"<p>Generated {stamp} in 0.{took:03d} s by web{int(rng.integers(1, 5))}</p>"


def _short_clock(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, rng
    return f"<span class=time>{at:%H}h{at:%M}</span>"


def _today(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, rng
    return f"<p>Today is {at:%A}, {at.day} {at:%B} {at.year}</p>"


def _csrf(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    return (
        f'<form method=post><input type=hidden name=_csrf value="{_hex(rng, 16)}">'
        f"<button>Sign up</button></form><!-- {_hex(rng, 8)} -->"
        f"<script>var nonce = '{_hex(rng, 8)}'</script>"
    )


def _ray(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    return f"<p>Reference: {_hex(rng, 4)}-{_hex(rng, 2)}-{_hex(rng, 6)}</p>"


def _sponsor(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    head, *rest = SPONSORS[int(rng.integers(len(SPONSORS)))]
    more = "".join(f"<p>{line}</p>" for line in rest)
    return f"<p><a href=/go/{_hex(rng, 3)}>{head}</a></p>{more}"


def _voice(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    who = NAMES[int(rng.integers(len(NAMES)))]
    said = VOICES[int(rng.integers(len(VOICES)))]
    return f"<blockquote><p>{said}</p><cite>{who}</cite></blockquote>"


def _views(page: SitePage, at: datetime, rng: Generator) -> str:
    del at
    likes = page.views // 7 + int(rng.integers(3))
    return f"<p>{page.views:,} views · {likes} likes</p>"


def _online(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    guests, members = int(rng.integers(2, 60)), int(rng.integers(1, 9))
    return f"<p>{guests} guests and {members} members are online</p>"


def _links(page: SitePage, at: datetime, rng: Generator) -> str:
    del at
    sid = _hex(rng, 13)
    return (
        f'<ul><li><a href="/a?PHPSESSID={sid}">Archive</a>'
        f'<li><a href="/b;jsessionid={sid}">Print page {page.number}</a></ul>'
    )


def _related(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    order = rng.permutation(7)
    return f"<h4>Related</h4>{''.join(f'<p>Story {WORDS[int(i)]}</p>' for i in order)}"


def _sampled(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    some = rng.choice(20, size=4, replace=False)
    rows = "".join(f"<li><a href=#>Read {WORDS[int(i)]}</a></li>" for i in some)
    return f"<aside><h4>You may like</h4><ul>{rows}</ul></aside>"


def _posts(page: SitePage, at: datetime, rng: Generator) -> str:
    """Return comments whose ages are said as people say them."""
    del rng
    now = at.timestamp() / 86400.0
    return "".join(
        f"<div class=comment><em>{who}</em> <span>{ago(now - when)}</span>"
        f"<div>{text}</div></div>"
        for who, text, when in page.posts
    )


def ago(days: float) -> str:
    """Return an age in days in words.

    >>> ago(0.5 / 1440), ago(2.6 / 24), ago(1.2), ago(75.0)
    ('just now', '2 hours ago', 'a day ago', '2 months ago')
    """
    units = (("month", 30.0), ("week", 7.0), ("day", 1.0), ("hour", 1 / 24))
    for name, size in (*units, ("minute", 1 / 1440)):
        n = int(days / size)
        if n == 1:
            return f"{'an' if name == 'hour' else 'a'} {name} ago"
        if n:
            return f"{n} {name}s ago"
    return "just now"


def _visited(page: SitePage, at: datetime, rng: Generator) -> str:
    del page, at
    return f"<div>Last order {int(rng.integers(1, 50))} minutes ago</div>"


PARTS: dict[str, dict[str, tuple[Part, ...]]] = {
    "wall clock": {"top": (_wall_clock,)},
    "generated": {"end": (_generated,)},
    "short clock": {"top": (_short_clock,)},
    "today": {"top": (_today,)},
    "csrf": {"middle": (_csrf,)},
    "reference": {"end": (_ray,)},
    "sponsor": {"middle": (_sponsor,)},
    "voice": {"middle": (_voice,)},
    "views": {"end": (_views,)},
    "online": {"end": (_online,)},
    "session links": {"top": (_links,)},
    "related": {"end": (_related,)},
    "sampled": {"middle": (_sampled,)},
    "comments": {"end": (_posts,)},
    "last order": {"middle": (_visited,)},
    "mixed": {"top": (_wall_clock, _links), "middle": (_voice,), "end": (_views, _ray)},
    "none": {},
}
