"""Rules of a crawl: which addresses to exclude, and which mean the same page."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote_plus

from halflife.kinds.pages.links import FoundLinks, matches, spelled
from halflife.kinds.pages.settings import PagesConfig


@dataclass(frozen=True, slots=True)
class CrawlRules:
    """Which links are followed, and how their addresses are normalised.

    Patterns match whole addresses or names of parameters; ``*`` stands for
    anything.

    Attributes:
        exclude: Addresses that are not followed.
        drop: Query parameters that do not identify a page.
        keep: The only query parameters that identify a page; all if empty.
        canonical: Whether a page may name its canonical address.
        languages: The languages that are followed; all if empty.

    """

    exclude: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    canonical: bool = True
    languages: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: PagesConfig) -> Self:
        """Return the rules in the settings of a source."""
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
        """Return whether no pattern excludes an address."""
        return not any(matches(pattern, key) for pattern in self.exclude)

    def key(self, url: str) -> str:
        """Return the key of a URL in a crawl; empty if there is none.

        >>> CrawlRules(drop=("sort", "x*")).key("http://a.example/?sort=1&id=2&xy=3")
        'http://a.example/?id=2'
        """
        return self.shorten(spelled(url))

    def shorten(self, key: str) -> str:
        """Return a key without the parameters that do not identify the page."""
        path, mark, query = key.partition("?")
        if not mark or not (self.drop or self.keep):
            return key
        pairs = [pair for pair in query.split("&") if self._counts(pair)]
        return f"{path}?{'&'.join(pairs)}" if pairs else path

    def _counts(self, pair: str) -> bool:
        name = unquote_plus(pair.partition("=")[0])
        if self.keep and not any(matches(pattern, name) for pattern in self.keep):
            return False
        return not any(matches(pattern, name) for pattern in self.drop)

    def links(self, found: FoundLinks) -> dict[str, str]:
        """Return the keys that a page links to, with the URL to send where it differs.

        With ``languages`` versions in these languages are followed and others are not.
        """
        links = dict.fromkeys(found.to)
        if self.languages:
            is_wanted = {
                k: self._is_wanted_language(tag) for k, tag in found.languages.items()
            }
            links = {key: None for key in links if is_wanted.get(key, True)}
            links |= {key: None for key, wanted in is_wanted.items() if wanted}
        kept: dict[str, str] = {}
        for link in links:
            key = self.shorten(link)
            if self.allows(key):
                kept.setdefault(key, found.urls.get(link, "") if key == link else "")
        return kept

    def _is_wanted_language(self, tag: str) -> bool:
        """Return whether a language is to be followed; ``en`` includes ``en-GB``."""
        if tag == "x-default":
            return True
        return any(
            tag == language or tag.startswith(language + "-")
            for language in self.languages
        )


NO_RULES = CrawlRules()
