"""File names for keys that a stranger chose."""

import json
import re
from hashlib import blake2b

_SHOWN = 48  # characters of a key in a name: readable, and far below 255 bytes
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")


def folder_name(source: str) -> str:
    """Return the name of a source's folder.

    >>> folder_name("jobs.example"), folder_name("..")
    ('jobs-example', 'source')
    """
    return _plain(source) or "source"


def file_name(source: str, key: str) -> str:
    """Return the name of the file of a record or page.

    It has small letters, digits and dashes only, so no key leads out of the folder, and
    no file system refuses the name or spells it in another way. The digest tells keys
    apart whose letters are alike, also where case does not count.

    >>> file_name("jobs", "../../etc/passwd")
    'etc-passwd-19b5382cde4261c2.md'
    >>> file_name("jobs", "A") == file_name("jobs", "a")
    False
    """
    whole = json.dumps([source, key]).encode("ascii")
    digest = blake2b(whole, digest_size=8).hexdigest()
    return f"{_plain(key) or 'record'}-{digest}.md"


def _plain(text: str) -> str:
    """Return the letters and digits of a text, joined by dashes."""
    return _NOT_PLAIN.sub("-", text.lower())[:_SHOWN].strip("-")
