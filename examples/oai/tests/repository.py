"""A repository on loopback that knows its own truth."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

EPOCH_DAY = "%Y-%m-%d"
EPOCH_SECOND = "%Y-%m-%dT%H:%M:%SZ"


@dataclass
class Repository:
    """Records by identifier: a date and what they say; None if they were deleted."""

    deletions: str = "persistent"
    is_daily: bool = False
    per_page: int = 10
    expires: int = 0  # tokens that will be refused
    refuses_dates: bool = False
    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    records: dict[str, tuple[float, dict[str, str] | None]] = field(
        default_factory=dict
    )
    asked: list[dict[str, str]] = field(default_factory=list)

    def put(self, name, **told):
        self.records[name] = time.time(), told

    def delete(self, name):
        if self.deletions == "no":
            del self.records[name]
        else:
            self.records[name] = time.time(), None

    def forget_deletions(self):
        self.records = {k: v for k, v in self.records.items() if v[1] is not None}

    @property
    def truth(self):
        """What is there: titles and creators by identifier."""
        return {k: told for k, (_, told) in self.records.items() if told is not None}

    def stamp(self, at):
        return time.strftime(
            EPOCH_DAY if self.is_daily else EPOCH_SECOND, time.gmtime(at)
        )

    def answer(self, query):
        self.asked.append(query)
        if query.get("verb") in self.answers:
            return self.answers[query["verb"]]
        return 200, self._envelope(self._inner(query)).encode()

    def _envelope(self, inner):
        date = time.strftime(EPOCH_SECOND, time.gmtime())
        return (
            '<?xml version="1.0"?><oai:OAI-PMH xmlns:oai="http://www.openarchives.org/'
            f'OAI/2.0/"><oai:responseDate>{date}</oai:responseDate>{inner}</oai:OAI-PMH>'
        )

    def _inner(self, query):
        if query["verb"] == "Identify":
            day = "YYYY-MM-DD"
            granularity = day if self.is_daily else f"{day}Thh:mm:ssZ"
            return (
                "<Identify><repositoryName>Loop</repositoryName>"
                f"<deletedRecord>{self.deletions}</deletedRecord>"
                f"<granularity>{granularity}</granularity></Identify>"
            )
        since = query.get("from", "")
        if since and (self.refuses_dates or len(since) != len(self.stamp(0))):
            return '<error code="badArgument">no such date</error>'
        begin = 0
        if token := query.get("resumptionToken"):
            if self.expires:
                self.expires -= 1
                return '<error code="badResumptionToken">expired</error>'
            begin, since = int(token.split("|")[0]), token.split("|")[1]
        elif query.get("metadataPrefix") != "oai_dc":
            return '<error code="cannotDisseminateFormat">no &lt;such&gt;</error>'
        return self._page(begin, since)

    def _page(self, begin, since):
        rows = [
            (name, at, told)
            for name, (at, told) in sorted(self.records.items())
            if self.stamp(at) >= since and (told is not None or self.deletions != "no")
        ]
        if not rows:
            return '<error code="noRecordsMatch"/>'
        end = begin + self.per_page
        more = f"{end}|{since}" if end < len(rows) else ""
        told = "".join(self._record(*row) for row in rows[begin:end])
        token = f'<resumptionToken completeListSize="{len(rows)}">{more}'
        return f"<ListRecords>{told}{token}</resumptionToken></ListRecords>"

    def _record(self, name, at, told):
        status = "" if told is not None else ' status="deleted"'
        head = (
            f"<header{status}><identifier>{name}</identifier>"
            f"<datestamp>{self.stamp(at)}</datestamp></header>"
        )
        if told is None:
            return f"<record>{head}</record>"
        said = "".join(
            f"<dc:{key}>{escape(one)}</dc:{key}>"
            for key, value in told.items()
            for one in value.split("; ")
        )
        return f"<record>{head}<metadata><dc>{said}</dc></metadata></record>"


@contextmanager
def serving(repository):
    """Serve a repository while the block runs; yield its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            query = parse_qs(urlsplit(self.path).query)
            one = {key: values[0] for key, values in query.items()}
            status, body = repository.answer(one) if one else (404, b"")
            self.send_response(status)
            self.send_header("Content-Type", "text/xml; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/oai"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
