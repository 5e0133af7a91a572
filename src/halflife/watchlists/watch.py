"""One address that another program watches, and a file that lists many."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from halflife.core.errors import UsageError
from halflife.net.addresses import canonical

LARGEST = 64 << 20  # bytes of a file; 50 000 watches of changedetection.io take 40 MB
MOST = 50_000  # addresses of one file
SHOWN = 100  # characters of what is wrong with an entry


@dataclass(frozen=True, slots=True)
class Watch:
    """An address that is watched.

    Attributes:
        url: The address, in its canonical spelling.
        feed: Whether it is known to be a feed.

    """

    url: str
    feed: bool = False


@dataclass(slots=True)
class Watchlist:
    """What a file lists.

    Attributes:
        watches: The addresses, each once.
        left_out: Entries that cannot be kept, and why.
        ignored: Settings that have no counterpart here, and how many entries have them.

    """

    watches: dict[str, Watch] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    ignored: dict[str, int] = field(default_factory=dict)

    def add(self, url: object, *, feed: bool = False) -> bool:
        """Add an address; return whether it can be kept."""
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
        self.watches[key] = Watch(key, feed or (known is not None and known.feed))
        return True

    def refuse(self, what: str, why: str) -> bool:
        """Leave an entry out; return False."""
        if len(self.left_out) < MOST:
            self.left_out.append((what[:SHOWN], why))
        return False

    def ignore(self, settings: Iterable[str]) -> None:
        """Count settings of an entry that have no counterpart here."""
        for name in settings:
            self.ignored[name] = self.ignored.get(name, 0) + 1


def read_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """Return a file's content; raise ``UsageError`` if it cannot be read whole."""
    try:
        with path.open("rb") as file:
            body = file.read(largest + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    if len(body) > largest:
        raise UsageError(f"{path}: it is larger than {largest} bytes")
    return body


def decode(body: bytes) -> str:
    """Return text in UTF-8; raise ``UsageError`` if it is none."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("it is not text in UTF-8") from None
