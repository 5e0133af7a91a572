"""Rules of a crawl: which addresses are left out, and which are one page."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote_plus

from halflife.kinds.pages.links import FoundLinks, matches, spelled
from halflife.kinds.pages.settings import PagesConfig


@dataclass(frozen=True, slots=True)
class CrawlRules:
    """Which of the addresses that pages link to are followed, and how they are spelled.

    Patterns are of whole addresses, or of names of parameters; ``*`` stands for
    anything.

    Attributes:
        exclude: Addresses that are not followed.
        drop: Parameters of a query that say nothing of the page.
        keep: The only parameters that say something; all do if there are none.
        canonical: Whether a page may name the address under which it is known.
        languages: Of pages in several languages, those that are followed; all if none.

    """

    exclude: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    canonical: bool = True
    languages: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: PagesConfig) -> Self:
        """Return the rules that settings give."""
        return cls(
            exclude=source.exclude,
            drop=source.drop_query,
            keep=source.keep_query,
            canonical=source.canonical,
            languages=tuple(tag.lower() for tag in source.languages),
        )

    def __bool__(self) -> bool:
        return self != CrawlRules()

    def allows(self, key: str) -> bool:
        """Say whether no pattern excludes an address."""
        return not any(matches(pattern, key) for pattern in self.exclude)

    def key(self, url: str) -> str:
        """Return the key under which a crawl knows a URL; empty if there is none.

        >>> CrawlRules(drop=("sort", "x*")).key("http://a.example/?sort=1&id=2&xy=3")
        'http://a.example/?id=2'
        """
        return self.shorten(spelled(url))

    def shorten(self, key: str) -> str:
        """Return a key without the parameters that say nothing of the page."""
        path, mark, query = key.partition("?")
        if not mark or not (self.drop or self.keep):
            return key
        pairs = [pair for pair in query.split("&") if self._counts(pair)]
        return f"{path}?{'&'.join(pairs)}" if pairs else path

    def _counts(self, pair: str) -> bool:
        name = unquote_plus(pair.partition("=")[0])
        if self.keep and not any(matches(one, name) for one in self.keep):
            return False
        return not any(matches(one, name) for one in self.drop)

    def links(self, found: FoundLinks) -> dict[str, str]:
        """Return the keys that a page links to, with what is sent where that differs.

        With ``languages`` the versions in these languages are followed as well, and
        those in others are not.
        """
        links = dict.fromkeys(found.to)
        if self.languages:
            speaks = {k: self._is_spoken(tag) for k, tag in found.languages.items()}
            links = {key: None for key in links if speaks.get(key, True)}
            links |= {key: None for key, spoken in speaks.items() if spoken}
        kept: dict[str, str] = {}
        for link in links:
            key = self.shorten(link)
            if self.allows(key):
                kept.setdefault(key, found.urls.get(link, "") if key == link else "")
        return kept

    def _is_spoken(self, tag: str) -> bool:
        """Say whether a page in a language is wanted: ``en`` stands for ``en-GB``."""
        if tag == "x-default":
            return True
        return any(tag == one or tag.startswith(one + "-") for one in self.languages)


NO_RULES = CrawlRules()
