"""Rules for summaries through the service itself: a recorded search, virtual time."""

import json
from collections import Counter

import numpy as np
import pytest

from halflife import plugins
from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.engine import bootstrap
from halflife.engine.appraisal import Appraiser
from halflife.engine.service import ServiceRhythm
from halflife.engine.what_if import compare_budgets
from halflife.kinds.search.dictionary import COMMON
from halflife.kinds.search.kind import KIND
from halflife.kinds.search.recorded_source import RecordedSearch
from halflife.kinds.search.settings import SearchConfig
from halflife.market.target_rule import Goal
from halflife.market.target_status import TargetMemory
from halflife.replay.play import Play, play_recorded
from halflife.stores import summaries, summary_drift
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary
from halflife.summary.weekly import Weekly

BEGAN, WEEKS, PAGES = 20_000.0, 9, 24
OLD, DAYS, BUDGET = 100.0, 6.0, 280
OFTEN = ServiceRhythm(*(4 * 3600.0,) * 5)
CHECKING = {"champion", "sampling"}
RULES = plugins.policies(SearchConfig.policy_group)


def recorded(names, *, each=0.2):
    """Return small databases; each week a share of the documents is another."""
    rng = np.random.default_rng(1)
    page, begin, end, terms, first = [], [], [], [], [0]
    for _ in names:
        for number in range(PAGES):
            ends = np.flatnonzero(rng.random(WEEKS - 1) < each).tolist()
            for low, high in zip([-1, *ends], [*ends, WEEKS - 1], strict=True):
                page.append(f"{number}")
                begin.append(low + 1)
                end.append(high)
                terms.append(np.sort(rng.choice(len(COMMON), 80, replace=False)))
        first.append(len(page))
    start = np.cumsum([0, *(t.size for t in terms)]).astype(np.intp)
    n = len(names)
    weekly = Weekly(
        sites=tuple(names),
        stratum=("misc",) * n,
        begin=np.full(n, BEGAN),
        words=np.array(COMMON, object),
        weeks=WEEKS,
        since=0,
        first=np.array(first),
        page=np.array(page, object),
        week_from=np.array(begin),
        week_to=np.array(end),
        start=start,
        term=np.concatenate(terms).astype(np.int32),
    )
    return [RecordedSearch(name, weekly, name, tau=0.05, policy=name) for name in names]


def settings(sources, requests):
    lines = [f'[budget]\nrequests = {requests}\nper = "week"\n[fetch]\ndelay = 0.0']
    for source in sources:
        lines.append(f'[[source]]\nname = "{source.name}"\nrobots = false')
        lines.append(source.settings(f"http://{source.name}.invalid"))
        lines += ["weight = 8.0"] if source.name in CHECKING else []
    return "\n".join(lines) + "\n"


def summary_of(source):
    """Return an old summary of eight documents that share words as none do now."""
    common, rest = sorted(COMMON[:20]), sorted(COMMON[20:500])
    documents = tuple(
        Document(str(i), tuple(sorted([*common, *rest[i::8]]))) for i in range(8)
    )
    count = Counter(word for d in documents for word in d.words)
    asked = 45 if source.name in CHECKING else 6  # a check takes 40
    return StoredSummary(
        source=source.name,
        at=BEGAN - OLD,
        method="qbs",
        ending="",
        whole=True,
        summary=Summary.of(count, 24.0, 8),
        low=24.0,
        high=24.0,
        sized="",
        told="",
        requests=asked,
        documents=documents,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Let the service keep a database by each rule; return all that came of it."""
    path = tmp_path_factory.mktemp("played") / "halflife.toml"
    sources, reports = recorded(RULES), []
    path.write_text(settings(sources, BUDGET))
    config = Config.load(path)
    world = {f"http://{s.name}.invalid": s.answer for s in sources}
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        for source in sources:
            summaries.save(store, summary_of(source))
        play = Play(BEGAN, DAYS, on_report=reports.append, rhythm=OFTEN)
        sent = play_recorded(config, store, world, play)
        yield config, store, sources, reports, sent


@pytest.mark.parametrize("name", sorted(set(RULES) - {"checks", "bayes-free"}))
def test_each_rule_renews_summaries_through_the_service(played, name):
    _, store, _, reports, _ = played
    mine = [r for r in reports if r.group == (name,)]
    assert not [r.trouble for r in mine if r.trouble]
    first, *_ = summary_drift.refreshes(store, name)
    assert first.gap >= OLD
    assert summaries.current(store, name).version >= 2
    checks = [r for r in mine if r.result.row().get("check")]
    assert bool(checks) == (name in CHECKING)


def test_no_rule_goes_beyond_the_budget(played):
    _, _, _, _, sent = played
    at = np.array([one.at for one in sent])
    for now in at:
        assert np.count_nonzero((at > now - 7.0) & (at <= now)) <= BUDGET


def test_plan_and_explain_name_the_rule(played, capsys):
    config, store, *_ = played
    appraiser = Appraiser(config, store, BEGAN + DAYS)
    for source in config.source:
        (step,) = KIND.steps(KIND.states(appraiser.reading, [source])[source.name], 9)
        if source.name == "checks":
            assert "last checked" in step.why
        else:
            assert step.why.startswith(f"{source.name}: ")
            assert f"by the rule {source.name}" in step.what
    path = str(config.store_path.parent / "halflife.toml")
    assert main(["explain", "naive", "--config", path, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["next"][0]["why"].startswith("naive: due every ")


def test_a_target_is_kept_by_the_way_of_the_rule(played):
    config, store, *_ = played
    reading = Appraiser(config, store, BEGAN + 200.0).reading
    states = KIND.states(reading, config.source)
    for name in ("naive", "survival", "bayes"):
        stand, _ = KIND.stand(states[name], Goal(0.99, 0.95), TargetMemory(), [])
        assert stand.requests == states[name].used.kept.requests
        assert f"renewed, by the rule {name}" in stand.reason


def test_what_is_not_due_offers_nothing_and_what_is_due_is_not_put_off(played):
    config, store, *_ = played
    source = next(s for s in config.source if s.name == "naive")
    made = summaries.current(store, "naive").at

    def gain(now):
        return KIND.offers(Appraiser(config, store, now).state(source).state).gain[0]

    assert gain(made + 0.5) == 0.0
    assert gain(made + 90.0) > gain(made + 45.0) > 0.0
    prospects = KIND.prospects(Appraiser(config, store, made).state(source).state)
    assert (np.diff(prospects.gain[0]) >= 0).all()


def test_sources_of_one_rule_share_the_budget_by_weight(tmp_path, played):
    _, store, sources, *_ = played
    text = settings(sources, BUDGET).replace('policy = "survival"', 'policy = "naive"')
    config = Config.parse(text, tmp_path / "halflife.toml")
    states = KIND.states(Appraiser(config, store, BEGAN + DAYS).reading, config.source)
    pair = [states[name].choice for name in ("naive", "survival")]
    assert pair[0].every == pair[1].every
    cost = sum(choice.usual for choice in pair)
    share = 2.0 / sum(source.weight for source in config.source) * BUDGET / 7.0
    assert cost / pair[0].every == pytest.approx(share, rel=0.03)


def test_another_budget_buys_what_the_rule_makes_of_it(tmp_path, played):
    _, store, sources, *_ = played
    config = Config.parse(settings(sources, BUDGET), tmp_path / "halflife.toml")
    now, pace = BEGAN + DAYS, BUDGET / 7.0
    found = compare_budgets(config, store, config.source, 2.0 * pace, now)
    got = {one.source: one.requests for one in found.sources}
    states = KIND.states(Appraiser(config, store, now).reading, config.source)
    for name in ("naive", "survival-log"):
        choice = states[name].choice
        assert got[name][0] == pytest.approx(choice.usual / choice.every)
        assert got[name][1] == pytest.approx(2.0 * got[name][0], rel=0.1)
    assert got["checks"][1] > got["checks"][0]  # the market decides, it has no rule


def test_a_rule_of_a_plug_in_that_says_nonsense_is_named(monkeypatch, played):
    from halflife.kinds.search import rules  # noqa: PLC0415

    class Odd:
        about, paper = "odd", ""

        def choose(self, known):
            return replace_every(plugged.choose(known))

    def replace_every(found):
        return type(found)(
            found.renews, found.due, found.every * 0.0, found.since, found.rank,
            found.cost, found.why,
        )  # fmt: skip

    config, store, *_ = played
    source = next(s for s in config.source if s.name == "naive")
    plugged = rules.rule_of(source)
    monkeypatch.setattr(rules, "rule_of", lambda _: Odd())
    reading = Appraiser(config, store, BEGAN + DAYS).reading
    with pytest.raises(UsageError, match="'naive': an interval is not above"):
        KIND.states(reading, [source])


def test_a_recorded_search_is_judged_by_the_complete_summaries(played):
    _, store, sources, *_ = played
    for source in sources:
        made = summaries.current(store, source.name).at
        assert source.quality(store, made) == 1.0
        kl = source.drift.change.kl[source.week(made)]
        last = BEGAN + 7.0 * WEEKS
        assert source.quality(store, last) == float(kl[-1] <= 0.05)
        assert source.divergence(store, last) == kl[-1]
    assert sources[0].span == (BEGAN, BEGAN + 7.0 * WEEKS)
    with pytest.raises(UsageError, match="a summary is judged by summary, ur"):
        RecordedSearch("a", sources[0].weekly, RULES[0], measure="freshness")
