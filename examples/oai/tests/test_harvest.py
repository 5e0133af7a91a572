"""Harvests against a repository on loopback that knows its own truth."""

import asyncio

import pytest
from repository import Repository, serving

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.once import sync
from halflife.engine.signals import Stop
from halflife.kinds.listing import runner
from halflife.kinds.protocol import Errand


@pytest.fixture(scope="module", autouse=True)
def installed(site):
    """The package is installed for as long as these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        yield


class Keeper:
    """Keeps a copy of a repository; a harvest is made whenever it is called."""

    def __init__(self, repository, path):
        self.repository, self.path, self.now = repository, path, 20_000.0

    def __call__(self, most=None):
        self.now += 1.0
        self.repository.asked.clear()
        config = Config.load(self.path)
        with bootstrap.writing(config) as store:
            done = asyncio.run(
                sync(
                    config, store, config.source, Errand(most), Stop(), lambda: self.now
                )
            )
        return done[0].result

    @property
    def held(self):
        config = Config.load(self.path)
        with bootstrap.writing(config) as store:
            found = runner.tracker(store, config.source[0]).held
        return {
            k: {n: v for n, v in told.items() if n not in {"datestamp", "setSpec"}}
            for k, told in found.items()
        }

    @property
    def lists(self):
        return [query for query in self.repository.asked if "from" in query]


@pytest.fixture
def keep(tmp_path):
    """Serve a repository of 25 records, and keep it."""
    opened = []

    def begin(more="", **settings):
        repository = Repository(**settings)
        for i in range(25):
            repository.put(f"oai:x:{i:02}", title=f"Title {i}", creator="A; B & <C>")
        serve = serving(repository)
        opened.append(serve)
        path = tmp_path / "halflife.toml"
        path.write_text(
            "[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n"
            '[[source]]\nname = "papers"\nkind = "oai"\nallow = ["127.0.0.0/8"]\n'
            f'robots = false\nurl = "{serve.__enter__()}"\n{more}'
        )
        return repository, Keeper(repository, path)

    yield begin
    for serve in opened:
        serve.__exit__(None, None, None)


def test_a_first_harvest_lists_everything(keep):
    repository, harvest = keep()
    done = harvest()
    assert (done.listed, done.requests, done.trouble) == (25, 4, "")
    assert harvest.held == repository.truth
    assert harvest.held["oai:x:07"] == {"title": "Title 7", "creator": "A; B & <C>"}


@pytest.mark.parametrize("is_daily", [False, True])
def test_later_harvests_ask_for_what_changed_and_know_everything(keep, is_daily):
    repository, harvest = keep(is_daily=is_daily)
    harvest()
    repository.records = {k: (0.0, t) for k, (_, t) in repository.records.items()}
    repository.put("oai:x:03", title="Another title")
    repository.put("oai:x:99", title="New")
    repository.delete("oai:x:05")
    done = harvest()
    assert (done.requests, done.trouble) == (2, "")
    assert done.listed == 25
    assert (done.change.arrived, done.change.updated, done.change.missing) == (1, 1, 1)
    assert len(harvest.lists[0]["from"]) == (10 if is_daily else 20)
    assert harvest.held == repository.truth
    done = harvest()
    assert done.change.gone == 1
    assert harvest.held == repository.truth


def test_nothing_new_is_a_complete_look(keep):
    repository, harvest = keep()
    harvest()
    repository.records = {k: (0.0, t) for k, (_, t) in repository.records.items()}
    done = harvest()
    assert (done.requests, done.listed, done.trouble) == (2, 25, "")
    assert (done.change.missing, done.change.updated) == (0, 0)


@pytest.mark.parametrize("deletions", ["no", "transient"])
def test_without_lasting_deletions_every_harvest_lists_everything(keep, deletions):
    repository, harvest = keep(deletions=deletions)
    harvest()
    repository.delete("oai:x:05")
    repository.forget_deletions()
    done = harvest()
    assert not harvest.lists
    assert done.change.missing == 1
    assert harvest.held == repository.truth


def test_an_expired_token_begins_the_harvest_again(keep):
    repository, harvest = keep(expires=2)
    done = harvest()
    assert (done.trouble, done.requests) == ("", 1 + 2 + 2 + 3)
    assert harvest.held == repository.truth


def test_a_list_that_always_expires_is_given_up_and_nothing_is_gone(keep):
    repository, harvest = keep()
    harvest()
    repository.deletions, repository.expires = "no", 99
    done = harvest()
    assert "its list expired 3 times while it was read" in done.trouble
    assert (done.requests, done.change.missing) == (7, 0)
    assert harvest.held == repository.truth
    repository.expires = 0
    repository.delete("oai:x:05")
    assert harvest().change.missing == 1


def test_a_harvest_that_is_cut_short_is_made_up_for(keep):
    repository, harvest = keep()
    harvest()
    for i in range(20):
        repository.put(f"oai:x:{i:02}", title="Changed", creator="A")
    repository.delete("oai:x:24")
    done = harvest(most=2)
    assert done.trouble
    assert harvest.held != repository.truth
    assert harvest().trouble == ""
    assert harvest.held == repository.truth


def test_a_repository_that_knows_no_dates_is_listed_whole(keep):
    repository, harvest = keep(refuses_dates=True)
    harvest()
    repository.delete("oai:x:05")
    done = harvest()
    assert (done.trouble, done.requests) == ("", 5)
    assert harvest.held == repository.truth


def test_other_settings_begin_a_harvest_of_everything(keep):
    repository, harvest = keep()
    harvest()
    harvest.path.write_text(harvest.path.read_text() + 'set = "physics"\n')
    harvest()
    assert not harvest.lists
    assert repository.asked[1]["set"] == "physics"


def test_an_error_of_the_repository_is_told_in_its_words(keep):
    _, harvest = keep('metadata_prefix = "marc"\n')
    done = harvest()
    assert done.trouble.endswith("it answered cannotDisseminateFormat: no <such>")
    assert done.listed == 0


LOOP = (
    b"<OAI-PMH><ListRecords><record><header><identifier>a</identifier></header>"
    b"</record><resumptionToken>x</resumptionToken></ListRecords></OAI-PMH>"
)
BOMB = b'<!DOCTYPE x [<!ENTITY e "eeee">]><OAI-PMH>&e;</OAI-PMH>'


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>no</html>", "it is not OAI-PMH"),
        (200, BOMB, "it is not OAI-PMH"),
        (200, b"<OAI-PMH>" + b"<a>" * 300, "more than 200 deep"),
        (200, b"<OAI-PMH><ListRecords>", "line 1"),
        (404, b"", "it answered 404"),
        (200, LOOP, "goes on where it was before"),
    ],
)
def test_hostile_answers_are_told_and_remove_nothing(keep, status, body, said):
    repository, harvest = keep()
    harvest()
    repository.answers["ListRecords"] = status, body
    assert said in harvest().trouble
    assert repository.truth.keys() <= harvest.held.keys()


def test_keys_of_other_listings_are_refused(keep):
    _, harvest = keep('records = "x"\n')
    with pytest.raises(Exception, match="records: of no use to a repository"):
        Config.load(harvest.path)
