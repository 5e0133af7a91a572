"""Throw made-up bodies at every reader, guided by coverage, and say what happened.

Each reader runs in a process of its own under atheris (libFuzzer). It fails if anything
is raised but the reader's own documented error, if a call takes more than two seconds
of CPU, or if memory grows by more than 100 MB. A body that failed is kept in
``out/fuzz`` and can be tried again with ``--try FILE --reader NAME``.

The last line is a summary in JSON; the exit code is 1 if any reader failed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=[
        "halflife.readers",
        "halflife.kinds",
        "halflife.net",
        "halflife.recognition",
        "halflife.watchlists",
    ],
    enable_loader_override=False,
):
    from halflife.core.errors import SourceError, UsageError
    from halflife.core.host import HostState
    from halflife.core.observation import Content
    from halflife.kinds.form import (
        answers as form_answers,
        description as form_description,
        recognition as form_recognition,
    )
    from halflife.kinds.listing import (
        pagination,
        recognition as listing_recognition,
    )
    from halflife.kinds.pages import (
        hub_callbacks,
        key_files,
        links as pages_links,
        recognition as pages_recognition,
    )
    from halflife.kinds.search import (
        answers as search_answers,
        counts as search_counts,
        description as search_description,
        recognition as search_recognition,
    )
    from halflife.net import answer_head, dates, decoding, oauth, pacing, robots
    from halflife.net.access import Answer, Grant
    from halflife.net.addresses import host_of, parse_url
    from halflife.readers import (
        freshness_lifetime,
        hub_links,
        json_document,
        maps,
        page_sketch,
        page_text,
        records,
        script_pages,
        text,
        text_blocks,
        text_times,
        titles,
        trees,
    )
    from halflife.recognition.guess import TrialAnswer
    from halflife.stores.notes.subscriptions import Subscription
    from halflife.watchlists import changedetection, distill, opml, url_list, urlwatch

SLOWEST = 2.0  # seconds of CPU for one call
GROWTH = 100.0  # megabytes
LONGEST = 4096  # bytes of a body
OUT = Path("out/fuzz")
# Trees are read in this process, where the fuzzer sees which way a page took.
trees.ask.__kwdefaults__["small"] = 4 * LONGEST
URL = "http://example.org/a/b"
TYPES = [
    "",
    "text/html",
    "text/html; charset=",
    "application/json",
    "text/xml",
    "text/csv",
]
LABELS = [
    "utf-8", "utf-16", "hex", "idna", "zip", "rot13", "gbk", "shift_jis", "latin1",
    "iso-2022-jp", "punycode", "undefined", "unicode_escape", "windows-1255",
]  # fmt: skip


# Making a reader takes longer than reading with it.
HTML_LIST = records.RecordReader(
    "a@href", "html", "li, tr, p", {"t": "b", "u": ""}, "a@href"
)
HTML_HITS = search_answers.AnswerReader("html", "li", link="a@href", total="b")
HTML_FORM, JSON_FORM = (
    form_answers.FormAnswerReader(records.RecordReader(*way), total=total)
    for way, total in ((("a@href", "html", "li"), "b"), (("id", "json"), "total"))
)


class Input:
    """A body with a few choices in front of it."""

    def __init__(self, data: bytes) -> None:
        self._choices, self.body = data[:3].ljust(3, b"\0"), data[3:]

    def pick(self, place: int, options: list[str]) -> str:
        """Return one of the options."""
        return options[self._choices[place] % len(options)]

    @property
    def type(self) -> str:
        """A content type, now and then with an encoding."""
        chosen = self.pick(0, TYPES)
        return chosen + self.pick(1, LABELS) if chosen.endswith("=") else chosen


def read_text(given: Input) -> None:
    """Decode, fingerprint, take the visible text."""
    page = text.to_text(given.type, given.body)
    text.digest("visible", given.type or "text/html", given.body, "")
    text.visible(page)


def read_links(given: Input) -> None:
    """Find the links of a page."""
    pages_links.read_links(text.to_text(given.type, given.body), URL)


def read_maps(given: Input) -> None:
    """Read a sitemap or feed, whether it looks like one or not."""
    maps.may_be_map(given.body)
    maps.read_map(given.body, URL)
    for start in (b"<urlset>", b"<rss><channel>", b"<feed>"):
        maps.read_map(start + given.body, URL)


def read_listing(given: Input) -> None:
    """Read records in any format."""
    kind = given.pick(2, ["json", "jsonl", "csv", "", "feed"])
    reader = records.RecordReader(key="id", format=kind, next="next", errors="errors")
    reader.read(given.body, given.type)


def read_html_listing(given: Input) -> None:
    """Read records by CSS selectors."""
    HTML_LIST.read(given.body, given.type)


def read_search(given: Input) -> None:
    """Read an answer of a search engine."""
    engine = given.pick(2, ["", "feed", "elasticsearch", "solr", "meilisearch"])
    search_answers.AnswerReader(engine).read(given.body, given.type, URL)


def read_html_search(given: Input) -> None:
    """Read an answer of a search engine by CSS selectors."""
    HTML_HITS.read(given.body, given.type, URL)


def read_description(given: Input) -> None:
    """Read an OpenSearch description, and a page that names one."""
    search_description.linked(text.to_text(given.type, given.body), URL)
    body = b"<OpenSearchDescription>" + given.body
    search_description.read_description(body + b"</OpenSearchDescription>", URL)


def read_form_page(given: Input) -> None:
    """Read what a form asks for."""
    form_description.describe_form(text.to_text(given.type, given.body), URL)


def read_form_answer(given: Input) -> None:
    """Read an answer of a form, and a single record."""
    reader = HTML_FORM if given.pick(2, ["json", "html"]) == "html" else JSON_FORM
    try:
        reader.read(given.body, given.type, "x")
    except SourceError:
        reader.read_one(given.body, given.type, "x")


def read_coding(given: Input) -> None:
    """Undo a content coding."""
    name = given.pick(2, ["gzip", "deflate", "br", "zstd"])
    decoding.unpack(name, given.body, 1 << 20)


def read_words(given: Input) -> None:
    """Read dates and numbers of hits."""
    said = given.body.decode("utf-8", "replace")
    dates.from_iso(said)
    dates.from_http(said)
    dates.from_mail(said)
    search_counts.total_of(said)


def read_main(given: Input) -> None:
    """Find the main content of a page."""
    text.digest("main", "text/html", given.body, "")


def read_robots(given: Input) -> None:
    """Read a robots.txt, and ask it for addresses that it may speak of."""
    status = int(given.pick(2, ["200", "204", "301", "404", "429", "503"]))
    state = robots.after_robots(HostState("example.org"), status, given.body, 1.0)
    rules = robots.rules(state)
    if not 0.0 <= rules.delay <= pacing.LONGEST_CRAWL_DELAY:
        raise ValueError(f"a delay of {rules.delay} seconds")
    said = given.body.decode("utf-8", "replace")
    for path in (*said.splitlines()[-2:], "private/a.html"):
        place = path.partition(":")[2].strip() or path
        with suppress(UsageError):  # not every text can be an address
            url = parse_url(f"http://example.org/{place.lstrip('/')}")
            rules.check(url)


def recognise(given: Input) -> None:
    """Guess what an answer is; what is said to be usable must be readable."""
    headers = {"link": given.body[:99].decode("latin-1"), "x-total-count": "9"}
    answer = TrialAnswer(URL, given.body, given.type, headers)
    for kind in (
        pages_recognition, listing_recognition, search_recognition, form_recognition,
    ):  # fmt: skip
        for guess in kind.recognise(answer):
            if guess.kind == "listing" and guess.usable:
                listing_recognition.read_page(guess, answer)
                listing_recognition.check_second(guess, answer, answer)


def read_watchlists(given: Input) -> None:
    """Read a list of another program."""
    for program in (changedetection, distill, opml, url_list, urlwatch):
        with suppress(UsageError):
            program.read(given.body)


def read_blocks(given: Input) -> None:
    """Read a page as the page guard and the comparison of versions do."""
    content = Content(given.type or "text/html", given.body)
    page = text.to_text(given.type, given.body)
    page_sketch.sketch(URL, content)
    script_pages.needs_script(content.media_type, content.body)
    titles.terms(page)
    for block in text_blocks.read_blocks(page):
        text_times.find_times(block.text)


def read_headers(given: Input) -> None:
    """Read what the headers of an answer say."""
    lines = given.body.decode("latin-1").split("\n")
    names = ("Cache-Control", "Expires", "Date", "Age", "Link", "Content-Range")
    headers = dict(zip(names, lines, strict=False))
    answer = Answer(200, URL, given.body, headers=headers, line=lines[0])
    answer_head.head_of(answer)
    freshness_lifetime.freshness_lifetime(headers, given.body, 20_000.0)
    pagination.total_of(headers, "Content-Range")
    days = pacing.retry_after(lines[0], 20_000.0)
    if days is not None and not days >= 0.0:
        raise ValueError(f"{days} days to wait")


def follow_pages(given: Input) -> None:
    """Go on to the next page of a list, by whatever an answer says."""
    said = given.body.decode("utf-8", "replace")
    try:
        found = json_document.load_json(said)
    except (ValueError, RecursionError):
        found = said
    document = found if isinstance(found, dict) else {"next": found, "more": True}
    headers = {"Link": said.replace("\n", " ")}
    answer = pagination.PageAnswer(URL, headers, len(said) % 3, document.get)
    asked = pagination.ListingRequest(URL)
    place = pagination.TokenPlace("cursor")
    for way in (
        pagination.NextLink("next"),
        pagination.LinkHeader(),
        pagination.Cursor("next", place, "more"),
        pagination.Cursor("next", pagination.TokenPlace(body="a.b")),
        pagination.PageNumber(place),
        pagination.Offset(place, 10),
    ):
        with suppress(SourceError):
            following = way.following(way.first(asked), answer)
            if following is not None and host_of(following.url) != host_of(URL):
                raise ValueError(f"it leads to {following.url}")
            if following is not None:
                parse_url(following.url)
                following.payload()


def read_hubs(given: Input) -> None:
    """Read which hub a page names, and what a hub sends us."""
    said = given.body.decode("latin-1")
    found = hub_links.find_hub(URL, {"Link": said.replace("\n", " ")}, given.body)
    if found is not None and not found.hub.lower().startswith(("http://", "https://")):
        raise ValueError(f"a hub at {found.hub}")
    one = Subscription(URL, URL, "http://hub.example/", f"{URL}/token", "secret")
    hub_callbacks.signature(one, said)
    hub_callbacks.names_another_topic(one, {"link": said})
    with suppress(UsageError, ValueError, RecursionError):
        push = json_document.load_json(said)
        if isinstance(push, dict):
            key_files.read_push(push)


def read_token(given: Input) -> None:
    """Read an answer of who gives out tokens."""
    grant = Grant("https://a.example/token", "client", "secret")
    status = int(given.pick(1, ["200", "200", "400", "500"]))
    token, seconds = oauth.read(grant, Answer(status, grant.url, given.body))
    if not token.isascii() or not token.isprintable() or not seconds >= 1.0:
        raise ValueError(f"the token {token!r} for {seconds} s")


def read_pdf(given: Input) -> None:
    """Read the text of a PDF, in the worker that does it."""
    body = given.body if given.body[:5] == b"%PDF-" else b"%PDF-1.4\n" + given.body
    page_text.PageReading().digest(Content("application/pdf", body), "raw")


READERS: dict[str, Callable[[Input], None]] = {
    "text": read_text,
    "links": read_links,
    "maps": read_maps,
    "listing": read_listing,
    "html-listing": read_html_listing,
    "search": read_search,
    "html-search": read_html_search,
    "description": read_description,
    "form-page": read_form_page,
    "form-answer": read_form_answer,
    "coding": read_coding,
    "words": read_words,
    "main": read_main,
    "robots": read_robots,
    "recognition": recognise,
    "watchlists": read_watchlists,
    "blocks": read_blocks,
    "headers": read_headers,
    "paging": follow_pages,
    "hubs": read_hubs,
    "token": read_token,
    "pdf": read_pdf,
}
DOCUMENTED = (SourceError, decoding.Undecodable)
HERE = Path(__file__).parent
WORDS = (HERE / "fuzz_words.txt").read_text().splitlines()
BODIES = (HERE / "fuzz_bodies.txt").read_text().splitlines()


@dataclass
class Report:
    """What became of one reader."""

    reader: str
    runs: int = 0
    read: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    grown_mb: float = 0.0
    seconds: float = 0.0
    failure: str = ""


class Target:
    """Calls a reader, and fails where it must."""

    def __init__(self, name: str, runs: int, told: Path) -> None:
        self.report = Report(name)
        self._reader, self._runs, self._told = READERS[name], runs, told
        self._began = time.monotonic()
        self._base = 0.0

    def __call__(self, data: bytes) -> None:
        """Run once."""
        report, before = self.report, time.perf_counter()
        try:
            self._reader(Input(data))
            report.read += 1
        except DOCUMENTED:
            report.refused += 1
        except Exception:  # noqa: BLE001  (whatever it is, it must not escape)
            self._fail(data, traceback.format_exc(limit=-4))
        took = time.perf_counter() - before
        report.runs += 1
        if took > SLOWEST or took > 2 * report.slowest_s:
            before = time.process_time()  # the clock also counts what others did
            with suppress(*DOCUMENTED):
                self._reader(Input(data))
            took = time.process_time() - before
        report.slowest_s = max(report.slowest_s, took)
        if took > SLOWEST:
            self._fail(data, f"took {took:.1f} s")
        if report.runs % 256 == 0 or report.runs >= self._runs:
            self._weigh(data)

    def _weigh(self, data: bytes) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self._base = self._base or used  # with the fuzzer's own tables
        self.report.grown_mb = max(self.report.grown_mb, used - self._base)
        if self.report.grown_mb > GROWTH:
            self._fail(data, f"grew by {self.report.grown_mb:.0f} MB")
        self._write()

    def _fail(self, data: bytes, why: str) -> None:
        OUT.mkdir(parents=True, exist_ok=True)
        (OUT / f"{self.report.reader}.body").write_bytes(data)
        self.report.failure = why
        self._write()
        os._exit(1)

    def _write(self) -> None:
        self.report.seconds = round(time.monotonic() - self._began, 1)
        self._told.write_text(json.dumps(asdict(self.report)))


def fuzz(name: str, runs: int, seed: int, told: Path) -> None:
    """Fuzz one reader in this process, which ends with that."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        corpus.mkdir()
        for i, line in enumerate(BODIES):
            body = line.replace("\\n", "\n").encode()
            (corpus / str(i)).write_bytes(bytes([1, 0, i]) + body)
        quoted = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS)
        words.write_text("".join(f'"{word}"\n' for word in quoted))
        options = [f"-runs={runs}", f"-seed={seed}", f"-max_len={LONGEST}"]
        OUT.mkdir(parents=True, exist_ok=True)
        options += ["-len_control=10", f"-artifact_prefix={OUT}/"]
        options += [f"-dict={words}", "-timeout=120", "-rss_limit_mb=0", "-verbosity=0"]
        target = Target(name, runs, told)
        atheris.Setup([sys.argv[0], *options, str(corpus)], target)
        atheris.Fuzz()


def run(name: str, runs: int, seed: int) -> Report:
    """Fuzz one reader in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told"
        script = [sys.executable, __file__, "--one", name, "--told", str(told)]
        script += ["--runs", str(runs), "--seed", str(seed)]
        done = subprocess.run(script, capture_output=True, check=False)  # noqa: S603
        report = (
            Report(**json.loads(told.read_text())) if told.exists() else Report(name)
        )
        if report.runs < runs and not report.failure:
            report.failure = f"ended early: {done.stderr.decode()[-500:]}"
        return report


def main() -> int:
    """Fuzz the readers that are asked for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=1, help="readers at a time")
    arguments.add_argument("--readers", default=",".join(READERS))
    arguments.add_argument("--one", choices=READERS, help=argparse.SUPPRESS)
    arguments.add_argument("--told", type=Path, help=argparse.SUPPRESS)
    arguments.add_argument("--try", dest="tried", type=Path, metavar="FILE")
    arguments.add_argument("--reader", choices=READERS, default="text")
    given = arguments.parse_args()
    if given.one:
        fuzz(given.one, given.runs, given.seed, given.told)
        return 0
    if given.tried:
        READERS[given.reader](Input(given.tried.read_bytes()))
        return 0
    reports = []
    with ThreadPoolExecutor(given.jobs) as pool:
        names = given.readers.split(",")
        for report in pool.map(lambda name: run(name, given.runs, given.seed), names):
            reports.append(report)
            print(json.dumps(asdict(report)), flush=True)
    failed = [report.reader for report in reports if report.failure]
    summary = {"runs": sum(report.runs for report in reports), "failed": failed}
    summary["slowest_s"] = max(report.slowest_s for report in reports)
    summary["grown_mb"] = max(report.grown_mb for report in reports)
    print(json.dumps(summary))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
