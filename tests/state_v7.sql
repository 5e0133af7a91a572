BEGIN TRANSACTION;
CREATE TABLE alarm (  -- what is wrong, or was: one row a source and kind
    source TEXT NOT NULL,  -- '' is the whole machine
    kind TEXT NOT NULL,
    raised INTEGER NOT NULL CHECK (raised IN (0, 1)),
    since REAL NOT NULL,  -- when it was raised or ended last
    turning REAL,  -- since when all points to the other state
    seen REAL NOT NULL,  -- when it was last judged
    text TEXT NOT NULL,
    PRIMARY KEY (source, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE checked (  -- a part drawn at random, and whether our copy was right
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES item,
    at REAL NOT NULL,  -- when it was drawn; the same for all of a turn
    chance REAL NOT NULL,  -- of being drawn
    weight REAL NOT NULL,
    believed REAL NOT NULL,  -- the chance that the copy is right, before the look
    fresh INTEGER CHECK (fresh IN (0, 1))  -- NULL if there was no answer
) STRICT;
CREATE TABLE content (
    item INTEGER PRIMARY KEY REFERENCES item,
    at REAL NOT NULL,
    raw ANY NOT NULL,
    media_type TEXT NOT NULL,
    body BLOB NOT NULL  -- zlib
) STRICT;
INSERT INTO "content" VALUES(1,100.0,X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','text/html',X'7801CBCF490100028C0140');
INSERT INTO "content" VALUES(2,100.0,X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','text/html',X'7801CBCF490100028C0140');
INSERT INTO "content" VALUES(3,100.0,X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','text/html',X'7801CBCF490100028C0140');
INSERT INTO "content" VALUES(4,100.0,X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','text/html',X'7801CBCF490100028C0140');
CREATE TABLE evidence (
    item INTEGER PRIMARY KEY REFERENCES item,
    last_at REAL NOT NULL,
    tried_at REAL NOT NULL,
    failures INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    quiet REAL NOT NULL,
    seen INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    digest ANY NOT NULL,
    held INTEGER REFERENCES observation  -- the last good look
, hints INTEGER NOT NULL DEFAULT 0, claimed REAL NOT NULL DEFAULT -9e999) STRICT;
INSERT INTO "evidence" VALUES(1,100.0,100.0,0,1,0,0.0,0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',5,0,-9e999);
INSERT INTO "evidence" VALUES(2,100.0,100.0,0,1,0,0.0,0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',6,0,-9e999);
INSERT INTO "evidence" VALUES(3,100.0,100.0,0,1,0,0.0,0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',7,0,-9e999);
INSERT INTO "evidence" VALUES(4,100.0,100.0,0,1,0,0.0,0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',8,0,-9e999);
INSERT INTO "evidence" VALUES(5,100.0,100.0,0,1,0,0.0,0,0,X'EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE',9,0,-9e999);
INSERT INTO "evidence" VALUES(6,100.0,100.0,0,1,0,0.0,0,0,X'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',1,0,-9e999);
INSERT INTO "evidence" VALUES(7,100.5,100.5,0,1,0,0.0,0,0,X'11111111111111111111111111111111',12,0,-9e999);
INSERT INTO "evidence" VALUES(8,100.5,100.5,0,1,0,0.0,0,0,X'11111111111111111111111111111111',13,0,-9e999);
INSERT INTO "evidence" VALUES(9,100.5,100.5,0,1,0,0.0,0,0,X'11111111111111111111111111111111',14,0,-9e999);
INSERT INTO "evidence" VALUES(10,100.5,100.5,0,1,0,0.0,0,0,X'33333333333333333333333333333333',15,0,-9e999);
INSERT INTO "evidence" VALUES(11,100.5,100.5,0,1,0,0.0,0,0,X'33333333333333333333333333333333',16,0,-9e999);
CREATE TABLE filed (  -- evidence that lies here as columns, too
    id INTEGER PRIMARY KEY,
    sources TEXT NOT NULL UNIQUE,  -- their names, a JSON list in order
    items INTEGER NOT NULL,
    upto INTEGER NOT NULL,  -- what was touched later is not in it
    groups TEXT NOT NULL,  -- names, a JSON list
    texts TEXT NOT NULL  -- fingerprints that are no 128 bits, a JSON list
) STRICT;
CREATE TABLE filed_column (
    filed INTEGER NOT NULL REFERENCES filed,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,  -- keys come in parts, as they became known
    kind TEXT NOT NULL,  -- of its values, as numpy writes it
    size INTEGER NOT NULL,
    form TEXT NOT NULL CHECK (form IN ('same', 'plain', 'planes', 'text')),
    data BLOB NOT NULL,
    PRIMARY KEY (filed, name, part)
) STRICT;
CREATE TABLE forecast (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    measure TEXT NOT NULL,
    made REAL NOT NULL,
    ahead REAL NOT NULL,  -- days; it is of made + ahead
    mean REAL NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    confidence REAL NOT NULL,
    told REAL,  -- when its outcome was seen; NULL while it waits
    found REAL,  -- the outcome
    looks REAL,  -- parts that it rests on; NULL if all
    draw REAL  -- chance that parts ties, from 0 to 1
) STRICT;
CREATE TABLE gap (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    tally REAL NOT NULL,
    PRIMARY KEY (item, class)
) STRICT, WITHOUT ROWID;
CREATE TABLE hinted_gap (  -- a gap between good looks in which hints came
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
    hints INTEGER NOT NULL CHECK (hints > 0),
    tally REAL NOT NULL,
    PRIMARY KEY (item, class, changed, hints)
) STRICT, WITHOUT ROWID;
CREATE TABLE host (
    name TEXT PRIMARY KEY,
    not_before REAL NOT NULL,
    failures INTEGER NOT NULL,
    robots TEXT NOT NULL,
    robots_status INTEGER NOT NULL,
    robots_at REAL NOT NULL
) STRICT;
CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    key TEXT NOT NULL UNIQUE,
    weight REAL NOT NULL,
    cost REAL NOT NULL,
    grp INTEGER NOT NULL REFERENCES item_group,
    added_at REAL  -- when a hint first named it; NULL if the user did
) STRICT;
INSERT INTO "item" VALUES(1,1,'http://127.0.0.1:8765/service?wsdl=',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(2,1,'http://127.0.0.1:8765/list?a=1&b=2',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(3,1,'http://127.0.0.1:8765/plain',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(4,1,'http://127.0.0.1:8765/x?id=5',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(5,2,'http://127.0.0.1:8765/c/',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(6,1,'http://127.0.0.1:8765/sitemap.xml',1.0,1.0,1,NULL);
INSERT INTO "item" VALUES(7,1,'http://127.0.0.1:8765/shop?lang=en&p=2',1.0,1.0,1,100.0);
INSERT INTO "item" VALUES(8,1,'http://127.0.0.1:8765/shop?x=1%3By%3D2',1.0,1.0,1,100.0);
INSERT INTO "item" VALUES(9,1,'http://127.0.0.1:8765/m/~u?q=a+b',1.0,1.0,1,100.0);
INSERT INTO "item" VALUES(10,2,'http://127.0.0.1:8765/c/page?b=2&z=1',1.0,1.0,1,100.0);
INSERT INTO "item" VALUES(11,2,'http://127.0.0.1:8765/c/a?k=1',1.0,1.0,1,100.0);
CREATE TABLE item_group (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "item_group" VALUES(1,'127.0.0.1:8765');
CREATE TABLE lease (
    source INTEGER PRIMARY KEY REFERENCES source,
    run INTEGER NOT NULL REFERENCES run,
    expires REAL NOT NULL
) STRICT;
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run,
    at REAL NOT NULL,
    requests INTEGER NOT NULL
) STRICT;
INSERT INTO "ledger" VALUES(1,1,100.0,9);
CREATE TABLE life (  -- of an object of a set source
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source,
    key TEXT NOT NULL,
    spell INTEGER NOT NULL,  -- its lives before
    absent_before REAL,  -- NULL if it was there at the first look of all
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    gone_by REAL,  -- NULL until two looks lacked it
    missing_since REAL,  -- the look that lacked it, while only one did
    attributes TEXT NOT NULL,  -- as first seen, JSON
    UNIQUE (source, key, spell)
) STRICT;
CREATE TABLE link (
    page INTEGER NOT NULL REFERENCES item,
    target INTEGER NOT NULL REFERENCES item,
    PRIMARY KEY (page, target)
) STRICT, WITHOUT ROWID;
INSERT INTO "link" VALUES(5,10);
INSERT INTO "link" VALUES(5,11);
CREATE TABLE linked (  -- a page whose links were read
    item INTEGER PRIMARY KEY REFERENCES item,
    at REAL NOT NULL,  -- the look that read them
    same INTEGER REFERENCES item,  -- the page is another address of this one
    rules TEXT NOT NULL  -- by which the links were chosen
) STRICT;
INSERT INTO "linked" VALUES(5,100.0,NULL,'');
CREATE TABLE memo (
    name TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target TEXT NOT NULL,  -- the name of who is told; never an address
    kind TEXT NOT NULL,
    news TEXT NOT NULL CHECK (news IN ('raised', 'repeated', 'recovered', 'test')),
    made REAL NOT NULL,
    body TEXT NOT NULL,  -- JSON
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
    due REAL NOT NULL,  -- not to be tried before
    tries INTEGER NOT NULL,
    ended REAL,  -- when it was delivered or given up
    trouble TEXT NOT NULL  -- of the last try
) STRICT;
CREATE TABLE observation (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES run,
    item INTEGER NOT NULL REFERENCES item,
    at REAL NOT NULL,
    seen INTEGER NOT NULL CHECK (seen BETWEEN 0 AND 3),
    digest ANY NOT NULL,  -- 16 bytes; text where it is no 128-bit fingerprint
    raw ANY NOT NULL,
    etag TEXT NOT NULL,
    modified REAL,
    note TEXT NOT NULL
) STRICT;
INSERT INTO "observation" VALUES(1,1,6,100.0,0,X'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',X'BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB','',NULL,'');
INSERT INTO "observation" VALUES(2,1,7,100.0,3,'','','',NULL,'');
INSERT INTO "observation" VALUES(3,1,8,100.0,3,'','','',NULL,'');
INSERT INTO "observation" VALUES(4,1,9,100.0,3,'','','',NULL,'');
INSERT INTO "observation" VALUES(5,1,1,100.0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','"v1"',NULL,'');
INSERT INTO "observation" VALUES(6,1,2,100.0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','"v1"',NULL,'');
INSERT INTO "observation" VALUES(7,1,3,100.0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','"v1"',NULL,'');
INSERT INTO "observation" VALUES(8,1,4,100.0,0,X'CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC',X'DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD','"v1"',NULL,'');
INSERT INTO "observation" VALUES(9,1,5,100.0,0,X'EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE',X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF','',NULL,'');
INSERT INTO "observation" VALUES(10,1,10,100.0,3,'','','',NULL,'');
INSERT INTO "observation" VALUES(11,1,11,100.0,3,'','','',NULL,'');
INSERT INTO "observation" VALUES(12,1,7,100.5,0,X'11111111111111111111111111111111',X'22222222222222222222222222222222','',NULL,'');
INSERT INTO "observation" VALUES(13,1,8,100.5,0,X'11111111111111111111111111111111',X'22222222222222222222222222222222','',NULL,'');
INSERT INTO "observation" VALUES(14,1,9,100.5,0,X'11111111111111111111111111111111',X'22222222222222222222222222222222','',NULL,'');
INSERT INTO "observation" VALUES(15,1,10,100.5,0,X'33333333333333333333333333333333',X'44444444444444444444444444444444','',NULL,'');
INSERT INTO "observation" VALUES(16,1,11,100.5,0,X'33333333333333333333333333333333',X'44444444444444444444444444444444','',NULL,'');
CREATE TABLE rolled (  -- as ``evidence``, of the looks that are no longer in the log
    item INTEGER PRIMARY KEY REFERENCES item,
    last_at REAL NOT NULL,
    tried_at REAL NOT NULL,
    failures INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    quiet REAL NOT NULL,
    seen INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    hints INTEGER NOT NULL,
    claimed REAL NOT NULL,
    digest ANY NOT NULL
) STRICT;
CREATE TABLE rolled_gap (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    tally REAL NOT NULL,
    PRIMARY KEY (item, class)
) STRICT, WITHOUT ROWID;
CREATE TABLE rolled_hinted (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
    hints INTEGER NOT NULL CHECK (hints > 0),
    tally REAL NOT NULL,
    PRIMARY KEY (item, class, changed, hints)
) STRICT, WITHOUT ROWID;
CREATE TABLE rolled_ledger (  -- requests charged on days that left the ledger
    day INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL
) STRICT;
CREATE TABLE rolled_until (  -- one row: the last look that was rolled up
    one INTEGER PRIMARY KEY CHECK (one = 1),
    observation INTEGER NOT NULL,
    at REAL NOT NULL
) STRICT;
CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- also the fencing token
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
    sources TEXT NOT NULL,  -- their names, a JSON list in order
    owner TEXT NOT NULL,
    began REAL NOT NULL,  -- of a resumed run: when the interrupted one began
    ended REAL
) STRICT;
INSERT INTO "run" VALUES(1,'done','["crawl", "named"]','{"pid": 1, "started": 1, "boot": "0", "pids": "0", "host": "example"}',100.0,101.0);
CREATE TABLE snapshot (  -- one look at a set source
    source INTEGER NOT NULL REFERENCES source,
    at REAL NOT NULL,
    valid INTEGER NOT NULL CHECK (valid IN (0, 1)),
    complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
    note TEXT NOT NULL,
    n INTEGER NOT NULL,  -- objects it listed
    missing INTEGER NOT NULL,  -- objects it lacked, of those there before
    PRIMARY KEY (source, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "source" VALUES(1,'named');
INSERT INTO "source" VALUES(2,'crawl');
CREATE TABLE staged (  -- an answer that waits for a decision
    source INTEGER PRIMARY KEY REFERENCES source,
    run INTEGER NOT NULL REFERENCES run,
    at REAL NOT NULL,
    why TEXT NOT NULL,
    listing BLOB NOT NULL  -- zlib, JSON
) STRICT;
CREATE TABLE touched (  -- items whose rows were written, in order
    id INTEGER PRIMARY KEY,  -- the last one stays, so that numbers are used once
    item INTEGER NOT NULL
) STRICT;
CREATE TABLE unobserved (  -- a group of objects that is not seen for now
    source INTEGER NOT NULL REFERENCES source,
    grp TEXT NOT NULL,
    seen_until REAL NOT NULL,
    PRIMARY KEY (source, grp)
) STRICT, WITHOUT ROWID;
CREATE TABLE version (
    life INTEGER NOT NULL REFERENCES life,
    seen_from REAL NOT NULL,
    attributes TEXT,  -- JSON; NULL if only the time is known
    PRIMARY KEY (life, seen_from)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX observation_once ON observation (item, at, seen, digest);
CREATE TRIGGER observation_is_final BEFORE UPDATE ON observation
BEGIN SELECT RAISE(ABORT, 'an observation is never changed'); END;
CREATE INDEX ledger_at ON ledger (at, requests);
CREATE INDEX message_waiting ON message (due) WHERE state = 'waiting';
CREATE TRIGGER item_made AFTER INSERT ON item WHEN EXISTS (SELECT 1 FROM filed) BEGIN INSERT INTO touched (item) VALUES (new.id); END;
CREATE TRIGGER item_settled AFTER UPDATE OF weight, cost, grp ON item WHEN EXISTS (SELECT 1 FROM filed) BEGIN INSERT INTO touched (item) VALUES (new.id); END;
CREATE TRIGGER evidence_made AFTER INSERT ON evidence WHEN EXISTS (SELECT 1 FROM filed) BEGIN INSERT INTO touched (item) VALUES (new.item); END;
CREATE TRIGGER evidence_folded AFTER UPDATE ON evidence WHEN EXISTS (SELECT 1 FROM filed) BEGIN INSERT INTO touched (item) VALUES (new.item); END;
CREATE TRIGGER evidence_gone AFTER DELETE ON evidence WHEN EXISTS (SELECT 1 FROM filed) BEGIN INSERT INTO touched (item) VALUES (old.item); END;
CREATE TRIGGER item_gone AFTER DELETE ON item WHEN EXISTS (SELECT 1 FROM filed) BEGIN DELETE FROM filed_column; DELETE FROM filed; END;
CREATE TRIGGER item_renamed AFTER UPDATE OF id, source, key ON item WHEN EXISTS (SELECT 1 FROM filed) BEGIN DELETE FROM filed_column; DELETE FROM filed; END;
CREATE INDEX forecast_made ON forecast (source, made);
CREATE INDEX forecast_waiting ON forecast (source) WHERE told IS NULL;
CREATE INDEX checked_at ON checked (source, at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',1);
COMMIT;