"""Stores in a real PostgreSQL: one server a process, started when first needed."""

from contextlib import ExitStack, closing
from functools import cache
from itertools import count

import psycopg

import postgres_server
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.schema import reference

_OPEN = ExitStack()
_FRESH = count(1)


def close():
    """Stop the server; the tests are over."""
    _OPEN.close()


@cache
def folder():
    """Return the folder of the server's socket."""
    postgres_server.need()
    return _OPEN.enter_context(postgres_server.running())


def address(schema, user=postgres_server.USER):
    """Return the address of a schema."""
    return f"postgresql://{user}@/postgres?host={folder()}&schema={schema}"


def fresh():
    """Return the address of a schema that nobody uses yet."""
    return address(f"s{next(_FRESH)}")


@cache
def connect():
    """Return a connection for whoever looks behind the store's back."""
    place = {"host": str(folder()), "user": postgres_server.USER}
    return _OPEN.enter_context(closing(psycopg.connect(**place, autocommit=True)))


def empty():
    """Return a store with nothing in it; one schema serves test after test."""
    connect().execute(_cleared(), prepare=False)
    return PostgresStore.open(_shared())


@cache
def _shared():
    PostgresStore.open(address("shared"), create=True).close()
    return address("shared")


@cache
def _cleared():
    """Return what empties the schema; quicker than to make the tables again."""
    _shared()
    query = "SELECT sequencename FROM pg_sequences WHERE schemaname = 'shared'"
    sequences = [name for (name,) in connect().execute(query)]
    tables = [f"DELETE FROM shared.{table}" for table in reference()]
    numbers = [f"SELECT setval('shared.{name}', 1, false)" for name in sequences]
    state = "UPDATE shared.store_state SET change = 0, writes = writes + 1"
    return "; ".join([*tables, *numbers, state])
