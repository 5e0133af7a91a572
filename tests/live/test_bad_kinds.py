"""Kinds that raise, lie or spend too much are named, and harm no other source."""

import asyncio
import json
import logging
import shutil
import sys
import threading
from contextlib import asynccontextmanager
from math import nan

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.budget import Account
from halflife.core.errors import ConfigError, StoreError, UsageError
from halflife.engine import bootstrap
from halflife.engine.breakers import Breaker
from halflife.engine.once import sync
from halflife.engine.service import ServiceRhythm
from halflife.engine.signals import Stop
from halflife.kinds import contained_worker
from halflife.kinds.page_view import PageRequest, PageView, TableColumn
from halflife.kinds.protocol import Description, Errand, Reading, Report
from halflife.kinds.registry import kind_named
from halflife.stores.notes.fault import FAULT
from listening import answering
from service_parts import BEGAN, Play as Played, ledger

BAD = '''
"""A kind that does what it is told to, and that is nothing good."""

import asyncio
from dataclasses import replace
from typing import Literal

import numpy as np

from halflife.core.forecast import Forecast
from halflife.core.object_store import Listing
from halflife.engine.wallet import Wallet, WindowPurse
from halflife.kinds.listing.kind import ListingKind
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.whole import SingleSourceWorker
from halflife.net.access import Access
from halflife.config.values import Cidr
from halflife.engine import network

BROKEN = {}  # what methods return, by name; an exception is raised


class BadConfig(ListingConfig):
    kind: Literal["bad"] = "bad"


class Free:
    left = 1000

    def pay(self, requests=1):
        return None


class BadKind(ListingKind):
    Settings = BadConfig

    def read(self, desk, source):
        inner = super().read(desk, source)
        access = network.access(source)

        async def read(gate, purse):
            if BROKEN.get("spends"):
                wallet = Wallet(desk.store, desk.config.budget)
                run = purse._run
                purse = WindowPurse(wallet, run, 1000, clock=desk.clock)
                for _ in range(200):
                    await gate.get(source.url, purse, access=access)
            if BROKEN.get("free"):
                for _ in range(5):
                    await gate.get(source.url, Free(), access=access)
            if BROKEN.get("hangs"):
                await asyncio.Event().wait()
            if "read" in BROKEN:
                raise BROKEN["read"]
            if BROKEN.get("lies"):
                await gate.get(source.url, purse, access=access)
                purse.spent -= 1
            return await inner(gate, purse)

        return read


def told(name, real):
    def method(self, *given, **named):
        if name not in BROKEN:
            return real(self, *given, **named)
        if isinstance(BROKEN[name], Exception):
            raise BROKEN[name]
        return BROKEN[name]

    return method


for name in dir(ListingKind):
    real = getattr(BadKind, name)
    if callable(real) and not name.startswith("_") and name not in {"read", "Settings"}:
        setattr(BadKind, name, told(name, real))

KIND = BadKind()
'''
PURE = [
    "states", "quality", "worth", "offers", "measure", "describe", "steps", "ages",
    "prospects", "stand", "first_cost", "least", "looks", "count", "silence", "drift",
    "was_seen", "incomplete", "level", "wanted",
]  # fmt: skip


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    """The plug-in, installed."""
    site = tmp_path_factory.mktemp("site")
    info = site / "halflife_bad-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "bad_kind.py").write_text(BAD)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: halflife-bad\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[halflife.kinds]\nbad = bad_kind:KIND\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        import bad_kind  # noqa: PLC0415  (it is installed only now)

        yield bad_kind.BROKEN
        patch.delitem(sys.modules, "bad_kind")
    kind_named.cache_clear()


@pytest.fixture
def bad(plugin):
    """What the plug-in does; decided by the test."""
    yield plugin
    plugin.clear()
    kind_named("bad")._faults.clear()


@pytest.fixture(scope="module")
def server():
    with answering() as found:
        for name in ("good", "ill"):
            rows = [{"id": i, "name": f"{name} {i}"} for i in range(5)]
            found.pages[f"/{name}"] = "application/json", json.dumps(rows).encode()
        yield found


@pytest.fixture
def path(bad, server, tmp_path):
    """Settings with a good source and one of the bad kind."""
    server.asked.clear()
    return write(tmp_path, server)


@pytest.fixture(scope="module")
def kept(plugin, server, tmp_path_factory):
    """A folder in which both sources were kept for a while."""
    folder = tmp_path_factory.mktemp("kept")
    Play(write(folder, server)).run(0.1)
    return folder


@pytest.fixture
def known(path, kept):
    """The same settings, and what that while has shown."""
    shutil.copytree(kept, path.parent, dirs_exist_ok=True)
    return path


def write(folder, server):
    where = folder / "halflife.toml"
    where.write_text(
        "[budget]\nrequests = 480\n[fetch]\ndelay = 0.0\n"
        + "".join(
            f'[[source]]\nname = "{name}"\nkind = "{kind}"\nkey = "id"\n'
            f'allow = ["127.0.0.0/8"]\nrobots = false\nurl = "{server.url}/{name}"\n'
            for name, kind in (("ill", "bad"), ("good", "listing"))
        )
    )
    return where


def Play(path, now=BEGAN):  # noqa: N802  (it makes one)
    return Played(
        path, now=now, rhythm=ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 3600.0)
    )


def named(play):
    return [e for e in play.named("kind failed") if e["kind"] == "bad"]


def good_looks(play):
    return [r for _, r in play.results if r.source == "good" and not r.trouble]


def test_the_bad_kind_is_a_good_one_unless_told_otherwise(path):
    play = Play(path).run(0.2)
    assert not named(play)
    assert {r.source for _, r in play.results} == {"ill", "good"}


@pytest.mark.parametrize("method", [*PURE, "open", "reader"])
def test_whatever_a_kind_raises_others_go_on_and_it_is_named(bad, known, method):
    bad[method] = RuntimeError("a bug")
    play = Play(known, now=BEGAN + 1.0).run(0.1)
    assert good_looks(play)
    asked = method not in {"incomplete", "was_seen", "steps", "describe", "measure",
                           "stand", "count", "level", "wanted", "worth"}  # fmt: skip
    if asked:
        assert named(play)
        assert all(event["source"] == "ill" for event in named(play))


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("states", {}),
        ("states", 3),
        ("quality", 3),
        ("offers", None),
        ("ages", [nan]),
        ("first_cost", nan),
        ("first_cost", -3.0),
        ("least", -1.0),
        ("looks", None),
        ("prospects", (1, 2, 3)),
        ("silence", RuntimeError()),
    ],
)
def test_what_cannot_be_so_is_taken_for_not_known(bad, known, method, answer):
    bad[method] = answer
    play = Play(known, now=BEGAN + 1.0).run(0.1)
    assert good_looks(play)
    assert any(event["trouble"].startswith(method) for event in named(play))


@pytest.mark.parametrize("how", ["open", "reader"])
def test_a_sync_goes_on_after_a_kind_that_fails(bad, path, how):
    bad[how] = ValueError("a bug")
    first, second = fetch(path)
    assert "kind 'bad'" in first.trouble
    assert first.failed()
    assert second.result.listed == 5
    config = Config.load(path)
    with bootstrap.reading(config) as store:
        assert "kind 'bad'" in FAULT.load(store, "ill")


ASKED = {  # what may be asked of a kind besides, and what is said if it fails
    "together": (lambda kind, at, s: kind.together(s, "usual"), None),
    "read_with": (lambda kind, at, s: kind.read_with(s, [s]), "itself"),
    "settled": (lambda kind, at, s: kind.settled(at.store, s, 0.0), ()),
    "count": (lambda kind, at, s: kind.count(at.store, s), None),
    "gone": (lambda kind, at, s: kind.gone(at.store, s), {}),
    "covers": (lambda kind, at, s: kind.covers(s, "http://a.example/"), None),
    "breaker": (lambda kind, at, s: kind.breaker(s, *broken(s)).failures, 1),
    "faults": (lambda kind, at, s: kind.faults(at.store, s), ()),
    "keep_faults": (lambda kind, at, s: kind.keep_faults(at.store, [s], {}), None),
    "queries": (lambda kind, at, s: kind.queries(at, s, 3), []),
    "own_table": (lambda kind, at, s: kind.own_table(at, [s]), None),
    "lifetimes": (lambda kind, at, s: kind.lifetimes(at.store, s), None),
    "panorama": (lambda kind, at, s: kind.panorama(at, [s], np.zeros(1)), None),
    "page": (lambda kind, at, s: kind.page(PageRequest(at, s, NONE)), PageView()),
}
NONE = Description("recall")


def broken(source):
    return Breaker(), Report((source.name,), trouble="it answered 500"), BEGAN


@pytest.mark.parametrize("hook", ASKED)
def test_a_hook_that_raises_says_what_is_said_if_nothing_is_known(bad, path, hook):
    config, kind = Config.load(path), kind_named("bad")
    source, (ask, neutral) = config.source[0], ASKED[hook]
    with bootstrap.writing(config) as store:
        at = Reading(config, store, BEGAN)
        before = ask(kind, at, source)
        bad[hook] = RuntimeError("a bug")
        found = ask(kind, at, source)
        assert found == ((source,) if neutral == "itself" else neutral)
        assert f"{hook}: RuntimeError in bad_kind" in kind.fault(source.name)
        bad.clear()
        assert ask(kind, at, source) == before
        assert kind.fault(source.name) == ""


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        ("read_with", []),
        ("read_with", 3),
        ("breaker", None),
        ("queries", [3]),
        ("own_table", {"rows": []}),
        ("panorama", 3),
        ("page", None),
        ("page", PageView(number=2)),
        ("page", PageView(columns=(TableColumn("item", "x"),), items=({"about": 1},))),
    ],
)
def test_what_a_hook_cannot_say_is_not_believed(bad, path, hook, answer):
    config, kind = Config.load(path), kind_named("bad")
    source, (ask, neutral) = config.source[0], ASKED[hook]
    bad[hook] = answer
    with bootstrap.writing(config) as store:
        found = ask(kind, Reading(config, store, BEGAN), source)
    assert found == ((source,) if neutral == "itself" else neutral)
    assert f"kind 'bad': {hook}: " in kind.fault(source.name)


WRONG = {  # an answer of the wrong type to each hook
    "together": [["a"]], "measure": 3, "settled": 3, "gone": [1], "count": "x",
    "covers": 2, "faults": 3, "advice": ("x",), "drift": None, "silence": (1, None),
    "level": 3, "wanted": nan, "read_until": None, "lifetimes": 3, "was_seen": None,
    "incomplete": 3, "is_scheduled": "x", "recognise": [3], "confirm": None,
}  # fmt: skip


@pytest.mark.parametrize("hook", WRONG)
def test_an_answer_of_another_type_is_not_believed(bad, path, hook):
    config, kind = Config.load(path), kind_named("bad")
    source = config.source[0]
    more = {
        "measure": lambda at: kind.measure(source),
        "level": lambda at: kind.level(source),
        "wanted": lambda at: kind.wanted(source),
        "read_until": lambda at: kind.read_until(at.store, source),
        "was_seen": lambda at: kind.was_seen(at, source),
        "incomplete": lambda at: kind.incomplete(at.store, source),
        "is_scheduled": lambda at: kind.is_scheduled(source),
        "advice": lambda at: kind.advice(at.store, source),
        "drift": lambda at: kind.drift(at, source, Breaker()),
        "silence": lambda at: kind.silence(
            kind.states(at, [source])["ill"], Breaker(), BEGAN
        ),
        "recognise": lambda at: kind.recognise(None),
        "confirm": lambda at: kind.confirm(None, None, None),
    }
    ask = more.get(hook) or (lambda at: ASKED[hook][0](kind, at, source))
    with bootstrap.writing(config) as store:
        bad[hook] = WRONG[hook]
        assert ask(Reading(config, store, BEGAN)) != WRONG[hook] or hook == "confirm"
    if hook not in {"recognise", "confirm"}:  # of no source
        assert f"kind 'bad': {hook}: " in kind.fault("ill")


@pytest.mark.parametrize(
    "answer",
    [
        Report(("ill",), requests="x"),
        Report(("ill",), failures=None),
        Report(("ill",), trouble=3),
        Report(("ill",), troubles={"ill": None}),
        Report(("ill",), result=3),
        Report(("other",)),
        None,
    ],
    ids=str,
)
def test_a_report_of_another_type_is_a_trouble_of_its_source(bad, path, answer):
    class Odd:
        async def sync(self, errand):
            return answer

        def ease(self):
            return None

    @asynccontextmanager
    async def opened():
        yield Odd()

    bad["open"] = opened()
    first, second = fetch(path)
    assert "kind 'bad'" in first.trouble
    assert second.result.listed == 5


@pytest.mark.parametrize(
    "raised",
    [
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
        UsageError("no"),
        ConfigError("no"),
    ],
    ids=repr,
)
def test_whatever_ends_the_work_at_one_source_the_next_is_fetched(bad, path, raised):
    bad["read"] = raised
    first, second = fetch(path)
    assert first.failed()
    assert second.result.listed == 5


def test_a_hook_that_calls_exit_is_contained(bad, path):
    bad["steps"] = SystemExit(3)
    config, kind = Config.load(path), kind_named("bad")
    bad["count"] = SystemExit(3)
    with bootstrap.writing(config) as store:
        assert kind.count(store, config.source[0]) is None


def test_work_that_sends_nothing_for_long_is_stopped(bad, path, monkeypatch):
    monkeypatch.setattr(contained_worker, "LONGEST_SILENCE", 0.3)
    bad["hangs"] = True
    first, second = fetch(path)
    assert "it sent nothing for" in first.trouble
    assert second.result.listed == 5


def test_waiting_for_a_host_is_not_silence(bad, path, server, monkeypatch):
    monkeypatch.setattr(contained_worker, "LONGEST_SILENCE", 0.3)
    server.go.clear()
    answers = threading.Timer(0.8, server.go.set)
    answers.start()
    first, _ = fetch(path)
    answers.join()
    assert not first.trouble
    assert first.result.listed == 5


@pytest.mark.parametrize("error", [StoreError("the disk is full"), ValueError()])
def test_a_kind_is_not_blamed_for_a_full_disk_when_it_is_eased(caplog, path, error):
    class Full:
        def ease(self):
            raise error

    group = Config.load(path).source[:1]
    worker = contained_worker.ContainedWorker(group, Account(int))
    worker._worker = Full()
    worker.ease()
    assert bool(caplog.records) == isinstance(error, ValueError)


def test_a_kind_that_fails_at_a_folder_offers_no_history_of_it(bad, tmp_path, caplog):
    bad["recordings"] = RuntimeError("a bug")
    assert kind_named("bad").recordings(tmp_path) == ()
    (record,) = caplog.records
    assert record.halflife_fields["trouble"].startswith("recordings: RuntimeError in")
    bad["recordings"] = UsageError("a damaged file")  # on purpose: it is shown
    with pytest.raises(UsageError, match="a damaged file"):
        kind_named("bad").recordings(tmp_path)


def test_a_verb_without_a_log_names_the_kind_that_fails_in_a_line(
    bad, known, caplog, monkeypatch
):
    from halflife.cli import main  # noqa: PLC0415

    monkeypatch.setattr(logging.Logger, "hasHandlers", lambda _: False)
    bad["steps"] = RuntimeError("a bug")
    assert main(["plan", "--config", str(known)]) == 0
    said = "halflife: kind failed: source ill, kind bad, trouble steps: RuntimeError in"
    (line,) = caplog.messages
    assert line.startswith(f"{said} bad_kind, line")


def test_a_sync_of_a_kind_that_cannot_say_its_cost_counts_nothing(bad, path):
    bad["sync_cost"] = nan
    assert kind_named("bad").sync_cost([]) == 0.0


def fetch(path):
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        return asyncio.run(
            sync(config, store, config.source, Errand(), Stop(), lambda: BEGAN)
        )


def test_work_that_asks_for_more_than_its_grant_is_stopped(bad, known, server):
    bad["spends"] = True
    play = Play(known, now=BEGAN + 1.0).run(0.05)
    asked = server.asked.count("/ill")
    turns = [e for e in play.named("worked") if "ill" in e["sources"]]
    assert 0 < asked <= 15 * max(len(turns), 1)
    assert sum(e["requests"] for e in turns) == asked
    assert good_looks(play)


def test_nothing_is_sent_that_the_ledger_was_not_charged_with(bad, path, server):
    bad["free"] = True
    play = Play(path).run(0.1)
    assert "/ill" not in server.asked
    troubles = [e["trouble"] for e in play.named("trouble")]
    assert any("purse that charges the ledger" in said for said in troubles)
    assert good_looks(play)
    assert sum(n for _, n in ledger(path)) == len(server.asked)


def test_a_report_of_fewer_requests_than_were_sent_is_corrected(bad, path, server):
    bad["lies"] = True
    play = Play(path).run(0.1)
    worked = [e for e in play.named("worked") if e["sources"] == "ill"]
    assert sum(e["requests"] for e in worked) == server.asked.count("/ill")
    assert "it reports 1 request, and 2 were sent" in named(play)[0]["trouble"]


def test_status_and_doctor_name_a_kind_that_fails(bad, known):
    from halflife.cli import main  # noqa: PLC0415

    path = known
    bad["offers"] = RuntimeError("a bug")
    Play(path, now=BEGAN + 1.0).run(0.1)
    config = Config.load(path)
    kind_named("bad")._faults.clear()  # as in another process
    from halflife.engine import diagnosis, faults  # noqa: PLC0415

    with bootstrap.reading(config) as store:
        (fault,) = faults.found(store, config.source)
    assert "kind 'bad': offers: RuntimeError in bad_kind, line" in fault.words()
    found = [
        c.text for c in diagnosis.examine(config, BEGAN + 1.2) if c.about == "kinds"
    ]
    assert found == [fault.words()]
    assert main(["status", "--json", "--config", str(path)]) == 0
    bad.clear()
    kind_named("bad")._faults.clear()
    Play(path, now=BEGAN + 2.0).run(0.1)
    with bootstrap.reading(config) as store:
        assert not faults.found(store, config.source)
