"""Stores in a real PostgreSQL: one server a process, started when first needed."""

from contextlib import ExitStack, closing, contextmanager
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


@contextmanager
def guarded(password):
    """Yield the address of a schema whose user is asked for a password.

    The address has none; ``{}`` stands where it goes.
    """
    user, schema = postgres_server.GUARDED, f"s{next(_FRESH)}"
    connect().execute(f"CREATE ROLE {user} LOGIN")
    try:
        change_password(password)
        connect().execute(f"CREATE SCHEMA {schema} AUTHORIZATION {user}")
        yield address(schema, user=f"{user}:{{}}")
    finally:
        connect().execute(f"DROP OWNED BY {user}; DROP ROLE {user}", prepare=False)


def change_password(password):
    """Change the password of the guarded user, and end its connections."""
    user = postgres_server.GUARDED
    connect().execute(f"ALTER ROLE {user} PASSWORD '{password}'")
    connect().execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE usename = %s",
        (user,),
    )


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
