"""Statements of the queue that hands work out; see ``work_queue``.

Rows are locked in one order, so that nobody waits for one another in a circle: hosts by
name, then pages. Moments are those of the database's clock.
"""

# ruff: noqa: S608  (they are put together from constants)

_NOW = "clock_timestamp()"
DAYS = "SELECT extract(epoch FROM clock_timestamp())::float8 / 86400.0"
_AFTER = "clock_timestamp() + ?::float8 * interval '1 second'"
JOIN = f"""
INSERT INTO worker (name, owner, began, seen, expires)
VALUES (?, ?, {_NOW}, {_NOW}, {_AFTER}) RETURNING id
"""
BEAT = f"""
UPDATE worker SET seen = {_NOW}, expires = {_AFTER}, requests = ? WHERE id = ?
"""
RENEW = f"""
WITH mine AS (
    SELECT h.host FROM host_lease AS h
    JOIN unnest(?::text[], ?::bigint[]) AS m (host, token)
        ON m.host = h.host AND m.token = h.token
    WHERE h.worker = ? AND h.expires > {_NOW} ORDER BY h.host FOR UPDATE OF h)
UPDATE host_lease AS h SET expires = {_AFTER} FROM mine WHERE h.host = mine.host
RETURNING h.host, h.wanted IS NOT NULL
"""
# Leases that this worker does not know of: it never heard that they were made.
UNKNOWN = f"""
UPDATE host_lease SET expires = {_NOW}
WHERE worker = ? AND expires > {_NOW} AND NOT host = ANY (?)
"""
_LATE = f"worker IS NULL OR expires <= {_NOW}"
_AGO = f"""
extract(epoch FROM {_NOW} - CASE WHEN chosen.worker IS NULL THEN chosen.heard
    ELSE chosen.expires END)::float8"""
_TAKEN = f"""
UPDATE host_lease AS h SET token = nextval('lease_token'), worker = ?, last = ?,
    expires = {_AFTER}, wanted = NULL
FROM chosen WHERE h.host = chosen.host
RETURNING h.host, h.token, chosen.last, {_AGO}
"""
# A host that another worker waits for, for a page of its own or a listing, is left to
# that one, which asks twice a second.
_OPEN = f"""best IS NOT NULL AND ready <= {_NOW} AND ({_LATE})
    AND (wanted IS NULL OR wanted < {_NOW} - interval '2 seconds')"""
ANY_HOST = f"SELECT 1 FROM host_lease WHERE {_OPEN} LIMIT 1"
BEST_HOSTS = f"""
WITH chosen AS (
    SELECT host, worker, last, expires, heard FROM host_lease WHERE {_OPEN}
    ORDER BY best DESC, host LIMIT ? FOR UPDATE SKIP LOCKED)
{_TAKEN}"""
ONE_HOST = f"""
WITH chosen AS (
    SELECT host, worker, last, expires, heard FROM host_lease
    WHERE host = ? AND ({_LATE}) FOR UPDATE)
{_TAKEN}"""
KNOW_HOST = f"""
INSERT INTO host_lease (host, ready) VALUES (?, {_NOW}) ON CONFLICT DO NOTHING
"""
WANT = f"UPDATE host_lease SET wanted = {_NOW} WHERE host = ?"
PAGES = """
WITH found AS (
    SELECT w.item, m.token FROM unnest(?::text[], ?::bigint[]) AS m (host, token)
    CROSS JOIN LATERAL (
        SELECT item, gain FROM work_item
        WHERE host = m.host AND done IS NULL AND (token IS NULL OR token < m.token)
        ORDER BY gain DESC, item LIMIT ? FOR UPDATE SKIP LOCKED) AS w
    ORDER BY w.gain DESC, w.item LIMIT ?)
UPDATE work_item AS w SET token = found.token
FROM found JOIN item ON item.id = found.item JOIN source ON source.id = item.source
WHERE w.item = found.item
RETURNING w.item, w.host, w.run, w.whole, w.gain, item.key, source.name
"""
HELD = f"""
SELECT 1 FROM host_lease
WHERE host = ? AND token = ? AND worker = ? AND expires > {_NOW} FOR SHARE
"""
ACKNOWLEDGE = f"""
WITH held AS ({HELD}),
kept AS (
    UPDATE work_item AS w SET answer = a.answer, requests = a.requests, done = {_NOW}
    FROM unnest(?::bigint[], ?::bytea[], ?::bigint[]) AS a (item, answer, requests)
    WHERE w.item = a.item AND w.token = ? AND w.done IS NULL
        AND EXISTS (SELECT 1 FROM held))
SELECT 1 FROM held
"""
MINE = """
SELECT 1 FROM host_lease WHERE host = ? AND token = ? AND worker = ? FOR UPDATE
"""
RETURN = """
UPDATE work_item SET token = NULL WHERE host = ? AND token = ? AND done IS NULL
"""
RELEASE = f"""
UPDATE host_lease SET worker = NULL, expires = NULL,
    heard = greatest(heard, {_NOW} - ?::float8 * interval '1 second'), ready = {_AFTER},
    best = (SELECT max(gain) FROM work_item WHERE host = ? AND done IS NULL)
WHERE host = ?
"""
LEAVE = "DELETE FROM worker WHERE id = ?"
FORGET_WORKERS = f"DELETE FROM worker WHERE expires < {_NOW} - interval '1 day'"
STAND = """
SELECT pg_try_advisory_lock(18508, hashtext(current_schema() || '.planner'))
"""
IS_PLANNED = """
SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND classid = 18508 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND objid::bigint = hashtext(current_schema() || '.planner')::bigint & 4294967295)
"""
STEP_DOWN = """
SELECT pg_advisory_unlock(18508, hashtext(current_schema() || '.planner'))
"""
PLANNER = "SELECT epoch, owner FROM planner WHERE one = 1"
RULES = "SELECT 1 FROM planner WHERE epoch = ? FOR SHARE"
CROWN = """
INSERT INTO planner VALUES (1, 1, ?, NULL) ON CONFLICT (one)
DO UPDATE SET epoch = planner.epoch + 1, owner = excluded.owner, idle = NULL
RETURNING epoch
"""
RUNS_OF = """
SELECT DISTINCT run.id, lease.expires FROM lease JOIN run ON run.id = lease.run
WHERE run.owner = ?
"""
HAND_OUT = """
INSERT INTO work_item (item, run, host, gain, whole)
SELECT DISTINCT ON (item.id) item.id, ?, v.host, v.gain, v.whole
FROM unnest(?::text[], ?::text[], ?::float8[], ?::bigint[])
    AS v (key, host, gain, whole)
JOIN item ON item.key = v.key ORDER BY item.id
ON CONFLICT (item) DO UPDATE SET gain = excluded.gain, run = excluded.run,
    whole = excluded.whole WHERE work_item.done IS NULL
"""
WAKE_HOSTS = f"""
INSERT INTO host_lease (host, ready, best)
SELECT host, {_NOW}, max(gain) FROM unnest(?::text[], ?::float8[]) AS v (host, gain)
GROUP BY host ORDER BY host
ON CONFLICT (host) DO UPDATE SET best = greatest(host_lease.best, excluded.best)
"""
_OF_SOURCES = """
item IN (SELECT i.id FROM item AS i JOIN source AS s ON s.id = i.source
    WHERE i.id = work_item.item AND s.name = ANY (?))"""
ANSWERS = f"""
SELECT item, requests, answer FROM work_item
WHERE done IS NOT NULL AND {_OF_SOURCES} ORDER BY done, item LIMIT ?
"""
FILED = "DELETE FROM work_item WHERE item = ANY (?) AND done IS NOT NULL"
OPEN = f"""
SELECT count(*) FILTER (WHERE token IS NULL), count(*) FROM work_item
WHERE done IS NULL AND {_OF_SOURCES}
"""
FREE_HOSTS = f"""
SELECT host FROM host_lease WHERE best IS NOT NULL AND ({_LATE})
ORDER BY host FOR UPDATE SKIP LOCKED
"""
WITHDRAW = f"""
DELETE FROM work_item
WHERE done IS NULL AND (token IS NULL OR host = ANY (?)) AND {_OF_SOURCES}
"""
REWEIGH = """
UPDATE host_lease AS h SET best =
    (SELECT max(gain) FROM work_item WHERE host = h.host AND done IS NULL)
WHERE host = ANY (?)
"""
IDLE = f"""
UPDATE planner SET idle = CASE WHEN ? = 1 THEN {_NOW} END WHERE epoch = ?
"""
NOTHING_LEFT = """
SELECT idle IS NOT NULL AND NOT EXISTS (SELECT 1 FROM work_item)
    AND NOT EXISTS (SELECT 1 FROM work_source) FROM planner
"""
WORKERS = f"""
SELECT w.name, extract(epoch FROM w.began)::float8 / 86400.0,
    extract(epoch FROM w.seen)::float8 / 86400.0, w.expires > {_NOW},
    (SELECT count(*) FROM host_lease AS h
     WHERE h.worker = w.id AND h.expires > {_NOW}), w.requests
FROM worker AS w WHERE w.expires > {_NOW} - interval '10 minutes' ORDER BY w.id
"""
HANDED_OUT = """
SELECT count(*) FILTER (WHERE done IS NULL), count(*) FILTER (WHERE done IS NOT NULL)
FROM work_item
"""
SOURCES_OUT = """
SELECT count(*) FILTER (WHERE worker IS NULL AND report IS NULL),
    count(*) FILTER (WHERE worker IS NOT NULL) FROM work_source
"""
