"""Weekly recordings of text databases, against loops over their documents."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from halflife.summary.weekly import Weekly

WORDS = np.array(["d", "a", "c", "b", "e"], dtype=object)
SITES = ("one", "none", "two")


def recording(seed, weeks=6):
    """Return a recording, and its documents as (site, page, from, to, terms)."""
    rng = np.random.default_rng(seed)
    rows, first, term, start = [], [0], [], [0]
    for site, many in zip(SITES, (7, 0, 5), strict=True):
        for k in range(many):
            begin = int(rng.integers(0, weeks))
            end = int(rng.integers(begin, weeks + 1))
            terms = sorted(rng.choice(5, int(rng.integers(0, 5)), replace=False))
            rows.append((site, f"{site}{k}", begin, end, terms))
            term += terms
            start.append(len(term))
        first.append(len(rows))
    made = Weekly(
        sites=SITES,
        stratum=("com", "org", "gov"),
        begin=np.array([10.0, 11.0, 12.0]),
        words=WORDS,
        weeks=weeks,
        since=1,
        first=np.array(first),
        page=np.array([row[1] for row in rows], dtype=object),
        week_from=np.array([row[2] for row in rows]),
        week_to=np.array([row[3] for row in rows]),
        start=np.array(start),
        term=np.array(term, dtype=np.int32),
    )
    return made, rows


def there(rows, site, week):
    return [row for row in rows if row[0] == site and row[2] <= week <= row[3]]


def counts(rows, site, week):
    return Counter(str(WORDS[t]) for row in there(rows, site, week) for t in row[4])


@pytest.mark.parametrize("seed", range(4))
def test_summaries_count_the_documents_of_their_week(seed):
    made, rows = recording(seed)
    for week in range(1, 6):
        table = made.table(week)
        assert table.taken_at.tolist() == [10 + 7 * week, 11 + 7 * week, 12 + 7 * week]
        for i, site in enumerate(SITES):
            mine = there(rows, site, week)
            assert [made.page[j] for j in made.present(site, week)] == [
                row[1] for row in mine
            ]
            assert [one.words for one in made.documents(site, week)] == [
                tuple(sorted(str(WORDS[t]) for t in row[4])) for row in mine
            ]
            wanted = counts(rows, site, week)
            found = made.summary(site, week)
            assert found.words == tuple(sorted(wanted))
            assert found.count.tolist() == [wanted[w] for w in found.words]
            assert (found.size, found.sampled) == (len(mine), len(mine))
            part = slice(table.start[i], table.start[i + 1])
            columns = WORDS[table.word[part]], table.count[part]
            assert dict(zip(*columns, strict=True)) == dict(wanted)
            assert table.size[i] == table.sampled[i] == len(mine)


@pytest.mark.parametrize("seed", range(4))
def test_all_weeks_at_once_are_each_week_alone(seed):
    made, rows = recording(seed)
    for site in SITES:
        found = made.weekly_summaries(site)
        assert found.week.tolist() == [1, 2, 3, 4, 5]
        used = {t for row in rows if row[0] == site for t in row[4]}
        assert found.term.tolist() == sorted(used)
        for k, week in enumerate(found.week.tolist()):
            wanted = counts(rows, site, week)
            assert found.count[k].tolist() == [wanted[WORDS[t]] for t in found.term]
            assert found.size[k] == len(there(rows, site, week))


def test_a_week_at_the_very_beginning_counts_as_any_other():
    made, rows = recording(0)
    found = replace(made, since=0).weekly_summaries("one")
    assert found.week.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.size[0] == len(there(rows, "one", 0)) > 0
    wanted = counts(rows, "one", 0)
    assert found.count[0].tolist() == [wanted[WORDS[t]] for t in found.term]


@pytest.mark.parametrize("sites", [("two",), ("two", "one"), ("none",), ()])
def test_some_databases_are_as_they_were_among_all(sites):
    made, _ = recording(5)
    some = made.select(sites)
    assert some.sites == sites
    assert some.stratum == tuple(
        {"one": "com", "none": "org", "two": "gov"}[s] for s in sites
    )
    assert some.begin.tolist() == [10.0 + SITES.index(s) for s in sites]
    for site in sites:
        for week in range(1, 6):
            assert some.documents(site, week) == made.documents(site, week)
        assert (
            some.weekly_summaries(site).count.tolist()
            == made.weekly_summaries(site).count.tolist()
        )
    assert some.first[-1] == some.page.size == some.week_to.size
    assert some.start[-1] == some.term.size


@pytest.mark.parametrize("weeks", [1, 3, 5])
def test_a_recent_view_shows_documents_that_came_within_so_many_weeks(weeks):
    made, rows = recording(2)
    view = made.recent(weeks)
    assert view.since == max(1, weeks)
    for site in SITES:
        for week in range(view.since, 6):
            wanted = [r[1] for r in there(rows, site, week) if r[2] > week - weeks]
            assert [view.page[j] for j in view.present(site, week)] == wanted


def test_weeks_outside_a_recording_are_refused():
    made, _ = recording(0)
    for week in (0, 6):
        with pytest.raises(ValueError, match="1 to 5"):
            made.present("one", week)
    for weeks in (0, 6):
        with pytest.raises(ValueError, match="1 to 5"):
            made.recent(weeks)
    for weeks in (1, 7):
        with pytest.raises(ValueError, match="2 to 6"):
            made.until(weeks)
    assert made.until(6).weeks == 6
    assert made.until(2).weeks == 2
    with pytest.raises(ValueError, match="three"):
        made.place("three")
