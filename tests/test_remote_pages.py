"""Pages that workers fetch: what they bring, and what several of them learn."""

import asyncio

import pytest

from halflife.core.errors import UsageError
from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Seen
from halflife.core.request import Fetch, Fetches
from halflife.engine.loop import Allowance
from halflife.engine.wallet import GrantPurse
from halflife.kinds.pages.cache_promises import PromiseMemory
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.map_limits import MapLimits
from halflife.kinds.pages.reading_memory import ReadingMemory
from halflife.kinds.pages.remote import AnswerNotes, RemotePages, _rows, take_in
from halflife.kinds.pages.validators import ETAG, Conditions, ValidatorMemory
from halflife.models.promise_trust import PromiseRecord
from halflife.net.access import Answer
from halflife.readers.noise_masks import Mask
from halflife.readers.page_text import PageReading
from halflife.stores.memory import MemoryStore
from halflife.stores.observation_codec import pack
from halflife.stores.work import SeenAnswer

A, B = "https://a.test/1", "https://b.test/1"


def look(key, digest="d", content=b"x", seen=Seen.PRESENT, at=20000.0):
    kept = Content("text/html", content) if content is not None else None
    return Observation(key, at, seen, digest, content=kept)


def client(**site):
    settings = SiteSettings(**site)
    return PageClient(None, {"site": settings}, source_of=lambda _: "site")


def test_what_two_workers_learned_of_hosts_is_kept_of_both():
    store = MemoryStore()
    one, two = (ValidatorMemory(store, "site") for _ in range(2))
    asked = Conditions({}, ETAG, check=True)
    one.caught(asked, A, 20000.0)
    two.caught(asked, B, 20000.0)
    one.save()
    two.save()
    known = ValidatorMemory(store, "site")
    for key in (A, B):
        assert not known.record(key, ETAG).is_believed(20000.0)
    assert not two.record(A, ETAG).is_believed(20000.0)


def test_what_two_workers_learned_of_noise_is_kept_of_both():
    store = MemoryStore()

    def memory():
        reading = PageReading("visible")
        return ReadingMemory(store, "site", reading, clock=lambda: 2.0, share=0.5)

    one, two = memory(), memory()
    mask = Mask("text", "p", ("now",))
    for each, key in ((one, A), (two, B)):
        each.earn()
        each.learn(key, {mask: 0})
    both = memory()
    assert both.masks(A) == both.masks(B) == {mask: 0}
    assert both._noise.owed == 1.0  # a half of each
    one.note_script(A, needed=True)
    two.note_script(B, needed=True)
    assert all(memory().is_empty(key) for key in (A, B))


def test_the_planner_says_which_pages_of_a_map_become_known():
    hints = [
        Observation(f"{A}/{i}", 20000.0, Seen.HINT, item=Item(f"{A}/{i}", "site"))
        for i in range(3)
    ]
    notes = AnswerNotes()
    assert notes.admit(A, "urlset", hints) == hints
    seen = notes.take([look(A), *hints])
    limits = MapLimits({A}, lambda _: False, lambda: 1, most=3)
    found = take_in(client(limits=limits), seen)
    assert [one.key for one in found] == [A, f"{A}/0", f"{A}/1"]
    assert notes.maps == {}


def test_the_planner_learns_what_pages_promise():
    store = MemoryStore()
    reading = ReadingMemory(store, "site", PageReading("visible"), clock=lambda: 1.0)
    promises = PromiseMemory(store, "site")
    pages, notes = client(memory=reading, promises=promises), AnswerNotes()
    answer = Answer(200, A, headers={"Cache-Control": "max-age=86400", "X-A": "b"})
    notes.learn(None, look(A), answer)
    seen = notes.take([look(A)])
    assert seen.heads[A] == (200, A, {"Cache-Control": "max-age=86400"})
    assert take_in(pages, seen) == [look(A)]
    assert promises.record(A, "max-age") == PromiseRecord()
    assert promises._promises[A].until == 20001.0


def test_a_plan_is_handed_out_in_its_order_whatever_it_gains():
    keys = [f"https://h.test/{i}" for i in range(4)]
    rows = _rows(Fetches(keys, lambda _: [], [3.0, 1.0, float("nan"), 2.0]))
    assert [row[2] for row in rows] == [3.0, 2.0, 2.0, 2.0]
    assert {row[1] for row in rows} == {"h.test"}
    whole = _rows([Fetch(A), Fetch(B, look(B)), Fetch("no address")])
    assert [(row[0], row[3]) for row in whole] == [(A, 1), (B, 0)]


class Handout:
    """Answers what it is given, as workers would."""

    def __init__(self, answers):
        self.waiting, self.out, self.filed, self.taken_back = answers, [], [], 0

    def hand_out(self, run, pages):
        self.out += pages

    def answers(self, sources, most):
        found, self.waiting = self.waiting[:most], self.waiting[most:]
        return found

    def file(self, items):
        self.filed += items

    def is_open(self, sources):
        return bool(self.waiting)

    def withdraw(self, sources):
        self.taken_back += 1


def test_what_workers_bring_is_counted_and_filed_once_it_is_kept():
    store = MemoryStore()
    store.add([Item(A, "site"), Item(B, "site")])
    run = store.begin(["site"], 20000.0, lease=1.0)
    good = SeenAnswer(1, 3, pack(AnswerNotes().take([look(A)])))
    queue = Handout([good, SeenAnswer(2, 0, b""), SeenAnswer(3, 1, b"broken")])
    pages, purse = client(), GrantPurse(10)
    pages._gate = type("Gate", (), {"count_sent": lambda *_: None})()
    wallet = type("Wallet", (), {"store": store, "room": lambda *_: 9})()
    remote = RemotePages(pages, queue, run, wallet)

    async def perform():
        found = []
        async for looks in remote.perform([Fetch(A), Fetch(B)], 20000.0, purse):
            assert queue.filed == []  # the log has it first
            found += looks.keys
        return found

    assert asyncio.run(perform()) == [A]
    assert queue.filed == [1, 2, 3]
    assert (purse.spent, purse.left) == (4, 6)
    assert store.charged_here[("site",)] == 4
    assert queue.taken_back == 1


def test_a_purse_that_charges_the_ledger_is_not_for_workers():
    store = MemoryStore()
    run = store.begin(["site"], 20000.0, lease=1.0)
    wallet = type("Wallet", (), {"store": store})()

    async def perform():
        remote = RemotePages(client(), Handout([]), run, wallet)
        async for _ in remote.perform([], 20000.0, Allowance(3)):
            pass

    with pytest.raises(UsageError, match="workers pay"):
        asyncio.run(perform())
