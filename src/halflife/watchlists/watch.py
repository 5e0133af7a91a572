"""A watched address of another program, and a file that lists many."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from halflife.core.errors import ConfigError, UsageError
from halflife.net.addresses import canonical
from halflife.readers.part_rules import check_rule

LARGEST = 64 << 20  # bytes of a file; 50 000 watches of changedetection.io take 40 MB
MOST = 50_000  # addresses of one file
LONGEST = 1000  # characters of a rule
RULES = 100  # of one page, the limit of the settings
SHOWN = 100  # characters of an entry that a message shows


class WatchedParts(NamedTuple):
    """The parts of a page that count, as in the settings.

    Attributes:
        only: The only parts that count.
        ignore: Parts that do not count.

    """

    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


NO_RULES = WatchedParts()


@dataclass(frozen=True, slots=True)
class WatchEntry:
    """A watched address.

    Attributes:
        url: The address, in its canonical spelling.
        feed: Whether it is known to be a feed.
        rules: The parts of the page that count, and those that do not.

    """

    url: str
    feed: bool = False
    rules: WatchedParts = NO_RULES


@dataclass(slots=True)
class Watchlist:
    """The entries of a file.

    Attributes:
        watches: The addresses, each once.
        left_out: Entries that cannot be imported, and why.
        ignored: Settings that have no counterpart here, and how many entries have them.

    """

    watches: dict[str, WatchEntry] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)

    def add(
        self, url: object, *, feed: bool = False, rules: WatchedParts = NO_RULES
    ) -> bool:
        """Add an address; return whether it can be imported.

        Of the rules for one address, the first ones are used.
        """
        text = url.strip() if isinstance(url, str) else ""
        if len(self.watches) >= MOST:
            raise UsageError(f"it lists more than {MOST} addresses")
        if "{{" in text or "{%" in text:
            return self.refuse(text, "its address is a template")
        try:
            key = canonical(text)
        except UsageError:
            return self.refuse(text or "an entry", "it has no web address")
        known = self.watches.get(key)
        if known is not None:
            feed, rules = feed or known.feed, known.rules
        self.watches[key] = WatchEntry(key, feed, rules)
        return True

    def refuse(self, what: str, why: str) -> bool:
        """Leave an entry out; return False."""
        if len(self.left_out) < MOST:
            self.left_out.append((what[:SHOWN], why))
        return False

    def usable(self, rules: Iterable[object]) -> tuple[str, ...]:
        """Return the rules that can be used here; the others count as ignored."""
        kept: dict[str, None] = {}
        for rule in rules:
            text = rule.strip() if isinstance(rule, str) else ""
            try:
                if not text or len(text) > LONGEST or not text.isprintable():
                    raise ConfigError("it is no rule")  # noqa: TRY301  (as any other)
                check_rule(text)
            except ConfigError:
                self.ignore(["filters"])
            else:
                kept.setdefault(text)
        return tuple(kept)[:RULES]

    def ignore(self, settings: Iterable[str]) -> None:
        """Count settings of an entry that have no counterpart here."""
        for name in settings:
            self.ignored[name] = self.ignored.get(name, 0) + 1


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """Return a file's content; raise ``UsageError`` if it cannot be read completely."""
    try:
        with path.open("rb") as file:
            body = file.read(largest + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if len(body) > largest:
        raise UsageError(f"{path}: it is larger than {largest} bytes")
    return body


def decode(body: bytes) -> str:
    """Return UTF-8 text; raise ``UsageError`` if it is not."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("it is not text in UTF-8") from None
