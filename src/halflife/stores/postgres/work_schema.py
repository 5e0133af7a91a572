"""Tables of workers that share a store: workers, leased hosts and pages.

They exist in PostgreSQL alone, once a worker was started. Times are those of the
database's clock. They hold only work in progress: ``store copy`` leaves them out.
"""

from halflife.stores.database import Database

TRIGGER = "ledger_in_turn"
_WAITING = "CREATE INDEX work_item_waiting ON work_item (host, gain DESC, item)"
_ANSWERS = (
    """
CREATE TABLE work_answer (  -- pages that were fetched and are not filed yet
    item BIGINT PRIMARY KEY,  -- the first of the pages
    at TIMESTAMPTZ NOT NULL,  -- when they were acknowledged
    items BIGINT[] NOT NULL,
    requests BIGINT[] NOT NULL,
    answers BYTEA[] NOT NULL  -- what was seen; see ``stores.observation_codec``
)""",
    "CREATE INDEX work_answer_at ON work_answer (at, item)",
    # What workers bring is compressed already.
    "ALTER TABLE work_answer ALTER COLUMN answers SET STORAGE EXTERNAL",
)
STATEMENTS = (
    """
CREATE TABLE worker (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,  -- its process, as ``stores.owner.Owner`` writes it
    began TIMESTAMPTZ NOT NULL,
    seen TIMESTAMPTZ NOT NULL,
    expires TIMESTAMPTZ NOT NULL,  -- it counts as gone from then on
    requests BIGINT NOT NULL DEFAULT 0  -- that it has sent
)""",
    # A lease's number is larger than that of every lease before: a fencing token.
    "CREATE SEQUENCE lease_token",
    """
CREATE TABLE host_lease (  -- a row for each host that was ever asked by a worker
    host TEXT COLLATE "C" PRIMARY KEY,
    token BIGINT NOT NULL DEFAULT 0,  -- of its last lease
    worker BIGINT,  -- that holds it; NULL if it was given back
    last BIGINT,  -- the worker that held it last
    expires TIMESTAMPTZ,  -- when the lease runs out
    heard TIMESTAMPTZ,  -- when the host was last asked, as of its being given back
    ready TIMESTAMPTZ NOT NULL,  -- when it may be asked again
    best DOUBLE PRECISION,  -- gain of the best page that waits; NULL if none does
    wanted TIMESTAMPTZ,  -- when another worker last waited for it
    items BIGINT[]  -- pages that are fetched under the lease
) WITH (fillfactor = 50)""",
    """
CREATE INDEX host_lease_best ON host_lease (best DESC, host)
    WHERE best IS NOT NULL""",
    # A page is one row that is made and removed, and never changed in between: what
    # is leased and what was seen is written for many pages at once.
    """
CREATE TABLE work_item (  -- pages that are to be fetched
    item BIGINT PRIMARY KEY,
    run BIGINT NOT NULL,  -- of the planner, which is charged
    host TEXT COLLATE "C" NOT NULL,
    gain DOUBLE PRECISION NOT NULL,
    whole BIGINT NOT NULL  -- 1 if what is held does not count
)""",
    _WAITING,
    *_ANSWERS,
    """
CREATE TABLE planner (  -- one row: who decides
    one BIGINT PRIMARY KEY CHECK (one = 1),
    epoch BIGINT NOT NULL,  -- of the election; a larger one fences off a smaller
    owner TEXT NOT NULL,
    idle TIMESTAMPTZ  -- when there was last nothing to hand out
)""",
    # What is charged is checked against what all others have charged, in turn.
    """
CREATE FUNCTION lock_ledger() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN PERFORM pg_advisory_xact_lock(18508, hashtext(current_schema() || '.ledger'));
RETURN NULL; END $$""",
    f"""
CREATE TRIGGER {TRIGGER} BEFORE INSERT ON ledger
FOR EACH STATEMENT EXECUTE FUNCTION lock_ledger()""",
)
SOURCES = """
CREATE TABLE work_source (  -- to be read whole, or read and not taken in yet
    source TEXT COLLATE "C" PRIMARY KEY,
    host TEXT COLLATE "C" NOT NULL,  -- where it is read; empty if nobody can say
    gain DOUBLE PRECISION NOT NULL,  -- what a request is expected to buy
    requests BIGINT NOT NULL,  -- that it may take
    paid DOUBLE PRECISION NOT NULL,  -- how many of them come out of the income
    token BIGINT,  -- of its last lease
    worker BIGINT,  -- that reads it; NULL if none does
    expires TIMESTAMPTZ,  -- when that lease runs out
    deaths BIGINT NOT NULL DEFAULT 0,  -- workers whose lease has run out
    wasted BIGINT NOT NULL DEFAULT 0,  -- requests that they were charged with
    report TEXT  -- what came of it; NULL until it was read
) WITH (fillfactor = 50)"""
LEDGER_LOCK = (
    "SELECT pg_advisory_xact_lock(18508, hashtext(current_schema() || '.ledger'))"
)


# From tables in which a page's row had its lease and its answer.
_SPLIT = (
    *_ANSWERS,
    """
INSERT INTO work_answer SELECT item, done, ARRAY[item], ARRAY[requests], ARRAY[answer]
FROM work_item WHERE done IS NOT NULL""",
    "DELETE FROM work_item WHERE done IS NOT NULL",
    """
ALTER TABLE work_item DROP COLUMN token, DROP COLUMN done, DROP COLUMN requests,
    DROP COLUMN answer""",
    "DROP INDEX IF EXISTS work_item_waiting",
    _WAITING,
    "ALTER TABLE host_lease ADD COLUMN items BIGINT[]",
)


def is_there(db: Database, table: str = "work_answer") -> bool:
    """Return whether a worker was ever started, so that there is a table."""
    return db.execute("SELECT to_regclass(?)", (table,)).fetchone()[0] is not None


def hands_out_sources(db: Database) -> bool:
    """Return whether there is a table of sources; older workers created none."""
    return is_there(db, "work_source")


def add(db: Database) -> None:
    """Create the missing tables, in a transaction of the caller."""
    if not is_there(db):
        for statement in _SPLIT if is_there(db, "planner") else STATEMENTS:
            db.execute(statement)
    if not hands_out_sources(db):
        db.execute(SOURCES)
