"""The address of a store in PostgreSQL: a database, and a schema in it."""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from halflife.core.errors import UsageError

PREFIXES = ("postgresql://", "postgres://")
SCHEMA = "halflife"  # default
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def is_address(store: str) -> bool:
    """Return whether a store is named by an address; otherwise it is a file."""
    return store.startswith(PREFIXES)


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """A schema of a database.

    Attributes:
        url: The database's URL for libpq, with the password if one was given.
        schema: The schema; every project has its own.
        name: Both for display, without a password.

    """

    url: str
    schema: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address; raise ``UsageError``, which never repeats a password.

        >>> PostgresAddress.parse("postgresql://me:pw@db/work?schema=shop").name
        'postgresql://me@db/work?schema=shop'
        """
        try:
            parts = urlsplit(text)
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=False)
        except ValueError:
            raise UsageError(
                "store: the address of the database cannot be read; write it as"
                " postgresql://user@host/database?schema=name"
            ) from None
        if parts.netloc.count("@") > 1:
            raise UsageError("store: write @ in the password as %40")
        options = [(key, value) for key, value in pairs if key != "schema"]
        schema = dict(pairs).get("schema", SCHEMA)
        if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
            raise UsageError(
                f"store: {schema!r} is not a valid name of a schema; use small"
                " letters, digits and _, and begin with a letter"
            )
        url = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote)))
        user, at, host = parts.netloc.rpartition("@")
        shown = parts._replace(
            netloc=f"{user.partition(':')[0]}{at}{host}", query=f"schema={schema}"
        )
        return cls(url, schema, urlunsplit(shown))
