"""Statements of the queue of work for workers; see ``work_queue``.

Rows are locked in one order, to avoid deadlocks: hosts by name, then pages. Times are
those of the database's clock.
"""

# ruff: noqa: S608  (they are composed of constants)

_NOW = "clock_timestamp()"
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
# Leases that this worker does not know of: it never got the answer that granted them.
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
    expires = {_AFTER}, wanted = NULL, items = NULL
FROM chosen WHERE h.host = chosen.host
RETURNING h.host, h.token, chosen.last, {_AGO}
"""
# A host that another worker waits for, for a page of its own or a listing, is left to
# that one, which tries again twice a second.
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
# A page's row is read after its host is leased: the worker that held the host before
# can acknowledge nothing more.
PAGES = """
WITH found AS (
    SELECT w.* FROM unnest(?::text[]) AS m (host)
    CROSS JOIN LATERAL (
        SELECT item, host, run, whole, gain FROM work_item
        WHERE host = m.host ORDER BY gain DESC, item LIMIT ?) AS w
    ORDER BY w.gain DESC, w.item LIMIT ?),
fetched AS (
    UPDATE host_lease AS h SET items = f.items
    FROM (SELECT host, array_agg(item) AS items FROM found GROUP BY host) AS f
    WHERE h.host = f.host),
charged AS (
    INSERT INTO ledger (run, at, requests)
    SELECT run, ?, count(*) FROM found GROUP BY run)
SELECT f.item, f.host, f.run, f.whole, f.gain, item.key, source.name
FROM found AS f JOIN item ON item.id = f.item JOIN source ON source.id = item.source
ORDER BY f.gain DESC, f.item
"""
ACKNOWLEDGE = f"""
WITH held AS (
    SELECT 1 FROM host_lease
    WHERE host = ? AND token = ? AND worker = ? AND expires > {_NOW} FOR SHARE),
fetched AS (
    DELETE FROM work_item WHERE item = ANY (?::bigint[]) AND EXISTS (SELECT 1 FROM held)
    RETURNING item),
kept AS (
    INSERT INTO work_answer
    SELECT (array_agg(a.item ORDER BY n))[1], {_NOW}, array_agg(a.item ORDER BY n),
        array_agg(a.requests ORDER BY n), array_agg(a.answer ORDER BY n)
    FROM unnest(?::bigint[], ?::bigint[], ?::bytea[]) WITH ORDINALITY
        AS a (item, requests, answer, n)
    JOIN fetched ON fetched.item = a.item HAVING count(*) > 0)
SELECT 1 FROM held
"""
# Two statements: the second sees what was handed out while the first waited.
MINE = """
SELECT 1 FROM host_lease WHERE host = ? AND token = ? AND worker = ? FOR UPDATE
"""
RELEASE = f"""
UPDATE host_lease SET worker = NULL, expires = NULL, items = NULL,
    heard = greatest(heard, {_NOW} - ?::float8 * interval '1 second'), ready = {_AFTER},
    best = (SELECT max(gain) FROM work_item WHERE host = ?)
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
# Run after WAKE_HOSTS: no worker can acknowledge pages of these hosts then.
HAND_OUT = """
INSERT INTO work_item (item, run, host, gain, whole)
SELECT DISTINCT ON (item.id) item.id, ?, v.host, v.gain, v.whole
FROM unnest(?::text[], ?::text[], ?::float8[], ?::bigint[])
    AS v (key, host, gain, whole)
JOIN item ON item.key = v.key
LEFT JOIN (SELECT unnest(items) AS item FROM work_answer) AS kept ON kept.item = item.id
WHERE kept.item IS NULL ORDER BY item.id
ON CONFLICT (item) DO UPDATE SET gain = excluded.gain, run = excluded.run,
    whole = excluded.whole
"""
WAKE_HOSTS = f"""
INSERT INTO host_lease (host, ready, best)
SELECT host, {_NOW}, max(gain) FROM unnest(?::text[], ?::float8[]) AS v (host, gain)
GROUP BY host ORDER BY host
ON CONFLICT (host) DO UPDATE SET best = greatest(host_lease.best, excluded.best)
"""
# Checked page by page, however many items there are (the OFFSET forces that).
_PAGE_OF_SOURCES = """
EXISTS (SELECT 1 FROM item AS i JOIN source AS s ON s.id = i.source
    WHERE i.id = w.item AND s.name = ANY (?) OFFSET 0)"""
# Oldest first, until there are enough.
ANSWERS = """
SELECT u.item, u.requests, u.answer FROM (
    SELECT *, sum(cardinality(items)) OVER (ORDER BY at, item) AS many FROM (
        SELECT * FROM work_answer AS a WHERE EXISTS (
            SELECT 1 FROM item AS i JOIN source AS s ON s.id = i.source
            WHERE i.id = ANY (a.items) AND s.name = ANY (?) OFFSET 0)
        ORDER BY at, item LIMIT ?) AS oldest) AS a,
    unnest(a.items, a.requests, a.answers) WITH ORDINALITY
        AS u (item, requests, answer, n)
WHERE a.many - cardinality(a.items) < ? ORDER BY a.at, a.item, u.n
"""
FILED = "DELETE FROM work_answer WHERE item = ANY (?::bigint[])"
OPEN = f"""
SELECT count(*) - count(at.item), count(*) FROM work_item AS w
LEFT JOIN (SELECT unnest(items) AS item FROM host_lease WHERE items IS NOT NULL) AS at
    ON at.item = w.item
WHERE {_PAGE_OF_SOURCES}
"""
ANY_OPEN = f"SELECT EXISTS (SELECT 1 FROM work_item AS w WHERE {_PAGE_OF_SOURCES})"
# All hosts with pages are locked: none is leased or given back meanwhile.
FREE_HOSTS = f"""
WITH busy AS (
    SELECT host, worker, expires FROM host_lease WHERE best IS NOT NULL
    ORDER BY host FOR UPDATE)
SELECT host FROM busy WHERE {_LATE}
"""
WITHDRAW = f"""
DELETE FROM work_item AS w
WHERE {_PAGE_OF_SOURCES} AND NOT EXISTS (
    SELECT 1 FROM host_lease AS h
    WHERE h.host = w.host AND w.item = ANY (h.items) AND NOT h.host = ANY (?))
"""
REWEIGH = """
UPDATE host_lease AS h SET items = NULL,
    best = (SELECT max(gain) FROM work_item WHERE host = h.host)
WHERE host = ANY (?)
"""
IDLE = f"""
UPDATE planner SET idle = CASE WHEN ? = 1 THEN {_NOW} END WHERE epoch = ?
"""
NOTHING_LEFT = """
SELECT idle IS NOT NULL AND NOT EXISTS (SELECT 1 FROM work_item)
    AND NOT EXISTS (SELECT 1 FROM work_answer)
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
SELECT (SELECT count(*) FROM work_item),
    (SELECT coalesce(sum(cardinality(items)), 0) FROM work_answer)
"""
SOURCES_OUT = """
SELECT count(*) FILTER (WHERE worker IS NULL AND report IS NULL),
    count(*) FILTER (WHERE worker IS NOT NULL) FROM work_source
"""
