"""Hits of queries that were not asked: by a counted corpus, and by a random sample."""

from dataclasses import replace

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.queries.known import guess
from halflife.queries.known.guess import (
    COUNTED,
    OLD,
    Guess,
    is_learned,
    learn,
    read_guess,
    write_guess,
)
from halflife.queries.known.keywords import pool_for
from halflife.queries.ledger import Ledger

RNG = np.random.default_rng


def world(n=200, every=2, **shape):
    """Return a form, and of its records every so manieth as the copy."""
    records = cars(n)
    form = behind(records, **shape)
    local = dict(list(records.items())[::every])
    return form, local, pool_for(form.interface, local)


def truth(form, pool):
    queries = [pool.query(j) for j in range(len(pool))]
    there = [r for _, r in sorted(form.records.items())]
    meets = form.interface.meets
    return np.array(
        [1 if q is None else sum(meets(r, q) for r in there) for q in queries], float
    )


def learned(way, most=None, **shape):
    form, local, pool = world(**shape)
    ledger = Ledger(form, most)
    found = learn(way, None, pool, local, (ledger, 3.0, RNG(1)))
    return form, local, pool, ledger, found


def test_a_corpus_is_scaled_by_the_ratio_of_counted_queries():
    form, local, pool, ledger, found = learned("corpus")
    assert ledger.requests == COUNTED
    counted = [pool.find(query) for query in ledger.totals]
    hits, held = sum(ledger.totals.values()), pool.held[counted].sum()
    assert found.factor == pytest.approx(hits / held)
    guessed = found.hits(form.interface, local, pool).count
    single = pool.held >= 10
    expected = found.factor * pool.held[single]
    assert guessed[single] == pytest.approx(np.maximum(expected, pool.held[single]))


def test_one_counted_query_leaves_the_factor_as_unsure_as_it_is_large(monkeypatch):
    *_, many = learned("corpus")
    assert many.counted == COUNTED > 1
    assert many.error < many.factor
    monkeypatch.setattr(guess, "COUNTED", 1)
    *_, one = learned("corpus")
    assert one.counted == 1
    assert one.error == one.factor > 1.0


def test_a_sample_tells_the_hits_better_than_the_copy_alone():
    form, local, pool, ledger, found = learned("sample", every=4)
    shown = {**local, **ledger.seen}
    guessed = found.hits(form.interface, shown, pool).count
    large, true = pool.held >= 5, truth(form, pool)
    off = np.abs(np.log(guessed[large] / true[large])).mean()
    assert found.drawn.complete
    assert off < np.abs(np.log(pool.held[large] / true[large])).mean()


def test_a_form_without_counts_leaves_the_factor_at_one():
    *_, found = learned("corpus", counts="none")
    assert found.factor >= 1.0
    assert is_learned("corpus", found, 3.0)


def test_what_was_learned_is_not_asked_for_again_until_it_is_old():
    *_, found = learned("corpus")
    assert is_learned("corpus", found, 3.0 + OLD)
    assert not is_learned("corpus", found, 3.1 + OLD)
    assert not is_learned("sample", found, 3.0)
    assert not is_learned("corpus", None, 3.0)
    assert is_learned("held", None, 3.0)


def test_a_sample_takes_half_of_a_turn_and_goes_on_in_the_next():
    form, local, pool = world(every=4)
    found, turns = None, 0
    while not is_learned("sample", found, 3.0):
        ledger = Ledger(form, 20)
        found = learn("sample", found, pool, local, (ledger, 3.0, RNG(turns)))
        local = {**local, **ledger.seen}
        turns += 1
        assert ledger.requests < 20
        assert ledger.requests >= 10 or is_learned("sample", found, 3.0)
        assert turns < 200
    assert turns > 1


def test_it_is_read_back_as_it_was_written():
    *_, found = learned("sample", every=4)
    assert read_guess(write_guess(found)) == found
    assert replace(found, at=1.0) != found
    form, local, pool = world()
    assert Guess(3.0).hits(form.interface, local, pool) is None
