"""Hits scaled from a file of word counts, where no records of the corpus are known."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.kinds.form import runner
from halflife.kinds.form.corpus import load_word_counts
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.coverage import ScaledCorpus, count_matches, ratio
from halflife.queries.known.guess import COUNTED, learn
from halflife.queries.known.keywords import pool_for
from halflife.queries.known.word_counts import WordCounts
from halflife.queries.ledger import Ledger
from halflife.queries.policies import METHOD_1_CORPUS
from halflife.queries.upkeep import maintain

RNG = np.random.default_rng
KEYWORDS = {"attributes": (ATTRIBUTES[1],), "together": 2}


def world(every=4, **shape):
    records = cars(240)
    form = behind(records, **(KEYWORDS | shape))
    local = dict(list(records.items())[::every])
    return form, local, pool_for(form.interface, local)


@cache
def pool_of_words():
    return world()[2]


def counts_of(records):
    """Return the counts of words as a file would have them."""
    titles = [set(str(record["title"]).split()) for record in records]
    words = set().union(*titles)
    return WordCounts({w: float(sum(w in t for t in titles)) for w in words}, 240.0)


def written(tmp_path, text):
    path = tmp_path / "words.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_worked_number_of_two_words_that_go_together_by_chance():
    _, _, pool = world()
    corpus = WordCounts({"red": 40.0, "green": 30.0}, 100.0)
    found = {pool.name(j): n for j, n in enumerate(count_matches(pool, corpus))}
    assert found["title=red"] == pytest.approx(40.0)
    assert found["title=green & title=red"] == pytest.approx(12.0)
    assert found["title=blue"] == 0.0


def test_the_factor_is_the_ratio_of_hits_to_the_counts_of_the_file():
    form, local, pool = world()
    corpus = WordCounts(dict.fromkeys(("red", "green", "blue", "old"), 60.0), 100.0)
    ledger = Ledger(form)
    found = learn("corpus", None, pool, local, (ledger, 3.0, RNG(1)), corpus)
    assert ledger.requests == COUNTED
    asked = [pool.find(query) for query in ledger.totals]
    hits = sum(ledger.totals.values())
    assert found.factor == pytest.approx(
        hits / count_matches(pool, corpus)[asked].sum()
    )


def test_counts_of_the_server_itself_tell_the_hits_of_every_word():
    form, local, pool = world()
    corpus = counts_of(form.records.values())
    asked = (Ledger(form), 3.0, RNG(1))
    found = learn("corpus", None, pool, local, asked, corpus)
    single = np.array([pool.query(j) is not None for j in range(len(pool))])
    single &= np.array([len(pool.query(j) or ()) == 1 for j in range(len(pool))])
    guessed = found.hits(form.interface, local, pool, corpus).count
    true = count_matches(pool, corpus)
    assert found.factor == pytest.approx(1.0, rel=0.1)
    assert guessed[single] == pytest.approx(true[single] * found.factor)
    by_copy = learn("corpus", None, pool, local, (Ledger(form), 3.0, RNG(1)))
    copied = by_copy.hits(form.interface, local, pool).count
    off = [np.abs(np.log(h[single] / true[single])).mean() for h in (guessed, copied)]
    assert off[0] < 0.7 * off[1]


def test_a_turn_of_upkeep_goes_by_the_corpus():
    form, local, _ = world()
    seen = dict.fromkeys(local, 10.0)
    held = FormCopy(local, seen, seen, (), 10.0, since=9.0)

    def asked(corpus):
        wish = FormWish("known", known=METHOD_1_CORPUS, corpus=corpus)
        return maintain(Ledger(form, 30), held, wish, 40.0, RNG(2)).asked

    words = counts_of(form.records.values())
    none = WordCounts(dict.fromkeys(words.words, 1.0), 240.0)
    assert asked(words)
    assert asked(words) != asked(none)


@given(st.dictionaries(st.sampled_from(["red", "green", "big"]), st.integers(1, 90)))
def test_counts_never_exceed_those_of_a_single_word(words):
    pool = pool_of_words()
    corpus = WordCounts({w: float(n) for w, n in words.items()}, 90.0)
    found = count_matches(pool, corpus)
    for j in np.flatnonzero(~pool.lookup).tolist():
        each = [words.get(term.value, 0) for term in pool.query(j)]
        assert 0.0 <= found[j] <= min(each) + 1e-9


def test_a_scaled_corpus_of_words_is_that_of_records_for_single_words():
    _, local, pool = world()
    records = [local[key] for key in pool.local.keys]
    factor = ratio(np.array([8.0, 4.0]), np.array([4.0, 2.0]))
    by_words = ScaledCorpus(counts_of(records), factor).hits(pool).count
    by_records = ScaledCorpus(pool.local, factor).hits(pool).count
    single = [j for j in range(len(pool)) if len(pool.query(j) or ()) == 1]
    assert by_words[single] == pytest.approx(by_records[single])


@pytest.mark.parametrize(
    "text", ["word,count\nRed,4\n,50\n", "red\t4\n\t50", "red,1\nred,3\n,50"]
)
def test_a_file_is_read_with_and_without_a_heading_and_with_tabs(tmp_path, text):
    found = load_word_counts(written(tmp_path, text))
    assert (dict(found.words), found.size) == ({"red": 4.0}, 50.0)


def test_without_a_number_of_records_the_largest_count_is_taken(tmp_path):
    assert load_word_counts(written(tmp_path, "red,4\nbig,9\n")).size == 9.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("red,4\nbig\n", "line 2 is not a word and a number of records"),
        ("red,-1\n", "line 1 is not"),
        ("red,nan\n", "line 1 is not"),
        ("red,4,5\n", "line 1 is not"),
        ("", "it holds no word"),
        (",5\n", "it holds no word"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_one_line(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=said) as caught:
        load_word_counts(path)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_and_files_that_are_not_there_are_errors(tmp_path):
    (tmp_path / "words.csv").write_bytes(b"\xff\xfe\x00,3")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_word_counts(str(tmp_path / "words.csv"))
    with pytest.raises(ConfigError, match="No such file"):
        load_word_counts(str(tmp_path / "none.csv"))


def test_a_form_names_its_corpus(tmp_path):
    path = written(tmp_path, "red,4\n,10\n")
    text = (
        '[[source]]\nname = "b"\nkind = "form"\npurpose = "known"\nper_page = 10\n'
        'form_url = "http://b.example/?page={page}"\nkey = "id"\n'
        f'policy = "method-1-corpus"\ncorpus = "{path}"\n'
        '[source.attributes]\ntitle = {kind = "keyword"}\n'
    )
    (source,) = Config.parse(text).source
    assert runner.wish(source).corpus == WordCounts({"red": 4.0}, 10.0)
    with pytest.raises(ConfigError, match="must be a whole path"):
        Config.parse(text.replace(path, "words.csv"))
