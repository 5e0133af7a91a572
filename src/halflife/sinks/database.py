"""Databases by their SQLAlchemy URLs, and the translation of their errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from halflife.sinks.protocol import ChangeRefusedError, DeliveryError, Outlet

_TOO_LARGE = "54000"  # PostgreSQL: program_limit_exceeded


def connect(url: str, outlet: Outlet) -> sa.Engine:
    """Return an engine; a relative path of SQLite begins at the settings file."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise DeliveryError(
            "url is not that of a database, such as sqlite:///changes.db"
        ) from None
    name = parsed.database
    if parsed.get_backend_name() == "sqlite" and name and name != ":memory:":
        parsed = parsed.set(database=str(outlet.path(name)))
    try:
        engine = sa.create_engine(parsed)
    except NoSuchModuleError:
        raise DeliveryError(
            f"SQLAlchemy knows no database {parsed.drivername!r}; install its dialect"
        ) from None
    except ImportError as error:
        raise DeliveryError(
            f"the driver of the database is missing: {error}{_remedy(parsed)}"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _manual)
        sa.event.listen(engine, "begin", _begin)
    return engine


def _remedy(url: sa.URL) -> str:
    """Return how to install the driver of a URL, if that is known."""
    if url.get_backend_name() != "postgresql":
        return ""
    remedy = '; install it with: pip install "halflife[postgres]"'
    named = url.drivername == "postgresql+psycopg"
    return remedy if named else f"{remedy} and write postgresql+psycopg:// in url"


def _manual(connection: Any, _: object) -> None:  # noqa: ANN401  (of any driver)
    connection.isolation_level = None  # or creating tables would end the transaction


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _code(error: DBAPIError) -> str:
    """Return the SQL standard's code of an error; empty if there is none."""
    return str(getattr(error.orig, "sqlstate", "") or "")


@contextmanager
def delivery_errors() -> Iterator[None]:
    """Raise errors of the database as ``DeliveryError``, without secrets.

    Changes that it will never accept, such as a key too long for an index, raise
    ``ChangeRefusedError``: one such change must not stop all others.
    """
    try:
        yield
    except DBAPIError as error:
        words = " ".join(str(error.orig).split())[:300]
        refused = isinstance(error, DataError) or _code(error) == _TOO_LARGE
        kind = ChangeRefusedError if refused else DeliveryError
        raise kind(f"the database says: {words}") from None
    except SQLAlchemyError as error:
        raise DeliveryError(f"SQLAlchemy fails: {type(error).__name__}") from None
