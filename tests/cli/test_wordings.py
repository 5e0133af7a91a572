"""What verbs say: no slips of number, no silence, no comfort without grounds."""

import json
import re
from dataclasses import replace

import pytest

from halflife.cli import audit, main
from halflife.cli.app import VERBS
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine.audit_report import SourceAudit
from halflife.engine.bound_widening import Trust
from halflife.models.calibration import Interval

LISTING = '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
SLIPS = (
    r"(?<![\d.,])1 (requests|looks|objects|pages|records|items|messages|queries)\b",
    r"\d(\.\d+)?e[+-]\d+",
    r"\bU C\b",
    r"\(s\)",
    r"\bnan\b|\binf\b",
)


@pytest.fixture
def jobs(here, server):
    """A listing of one object, looked at so many times."""
    (here / "halflife.toml").write_text(
        '[budget]\nrequests = 100000\nper = "hour"\n[fetch]\ndelay = 0.0\n'
        f'{LISTING}url = "{server.url}/jobs.json"\nkey = "id"\n'
        'target = "recall >= 0.9"\n'
        f'[[source]]\nname = "docs"\nallow = ["127.0.0.0/8"]\n'
        f'pages = ["{server.url}/a"]\n'
    )
    server.pages["/a"] = ("text/html", b"<p>one</p>")
    body = json.dumps([{"id": 1}]).encode()
    server.pages["/jobs.json"] = ("application/json", body)

    def look(times):
        for _ in range(times):
            assert main(["sync"]) == 0

    return look


def test_when_knows_nothing_after_one_look_as_forecast_does(jobs, asked, told):
    jobs(1)
    row = asked("forecast", "jobs", "--at", "+1h")[1]["results"][0]
    assert (row["recall"]["low"], row["recall"]["high"]) == (0.0, 1.0)
    _, answer = asked("when", "jobs", "--recall", "0.9")
    assert (answer["days"], answer["status"]) == (0.0, "one look only")
    _, out, _ = told("when", "jobs", "--recall", "0.9")
    assert "not known yet (one look only)" in out
    assert "stays at" not in out


def test_a_backtest_without_looks_to_tell_says_so(jobs, asked, told):
    jobs(3)
    _, answer = asked("backtest", "jobs", "--horizons", "1h")
    assert answer["results"] == []
    assert answer["horizons_without_looks"] == [pytest.approx(1 / 24)]
    _, out, err = told("backtest", "jobs", "--horizons", "1h")
    assert "no forecast 60 min ahead can be scored" in out + err


@pytest.mark.parametrize("times", [0, 1, 3])
def test_no_verb_makes_a_slip(jobs, told, times):
    jobs(times)
    said = ""
    for words in (
        ["status"], ["plan"], ["sync", "--dry-run"], ["sync"], ["explain", "/a"],
        ["explain", "--run", "1"], ["forecast"], ["forecast", "jobs"], ["audit"],
        ["whatif", "--budget", "1"], ["whatif", "--budget", "24000", "--per", "hour"],
        ["budget"], ["doctor"], ["when", "jobs", "--recall", "0.9"],
        ["since", "jobs"], ["backtest", "jobs"], ["alerts"], ["verify"],
        ["gc"], ["run", "--dry-run"],
    ):  # fmt: skip
        assert words[0] in VERBS
        _, out, err = told(*words)
        said += f"$ {' '.join(words)}\n{out}{err}"
    for slip in SLIPS:
        found = re.search(rf".*({slip}).*", said)
        assert not found, found[0]


def judged(mean, low, high, scored):
    bare = dict.fromkeys(SourceAudit.__dataclass_fields__)
    return SourceAudit(
        **bare | {"coverage": Interval(mean, low, high), "scored": scored}
    )


@pytest.mark.parametrize(
    ("share", "scored", "verdict"),
    [
        ((0.0, 0.0, 0.975), 1, "too few to tell"),
        ((1.0, 0.025, 1.0), 1, "too few to tell"),
        ((0.7, 0.35, 0.96), 10, "too few to tell"),
        ((0.95, 0.9, 0.98), 200, "as often as they say"),
        ((0.5, 0.4, 0.6), 100, "less often than they say"),
        ((1.0, 0.99, 1.0), 400, "more often than they say"),
    ],
)
def test_bounds_are_kept_as_often_as_they_say_only_if_that_was_seen(
    share, scored, verdict
):
    said = audit._coverage(judged(*share, scored))
    assert said.endswith(verdict)
    assert ("1 forecast came" in said) == (scored == 1)


@pytest.mark.parametrize(
    ("share", "scored", "said"),
    [
        ((1.0, 0.025, 1.0), 1, "1 forecast came due, too few to say whether"),
        ((0.7, 0.35, 0.96), 10, "10 forecasts came due, too few to say whether"),
        ((0.95, 0.9, 0.98), 200, "bounds can be relied on: 95% of 200 forecasts held"),
        ((0.5, 0.4, 0.6), 100, "bounds were too narrow: 50% of 100 forecasts held"),
        ((1.0, 0.99, 1.0), 400, "bounds can be relied on, and could be narrower: 100%"),
    ],
)
def test_the_verdict_says_in_a_sentence_what_was_seen(share, scored, said):
    one = replace(judged(*share, scored), width=0.1, trust=Trust(1.5, "it missed"))
    found = audit.verdict(one)
    assert found.startswith(said)
    assert ("0.100 wide" in found) == (scored > 10)
    assert ("made 1.5 times as wide" in found) == (share[0] == 0.5)


def test_a_plan_counts_what_a_sync_sends(jobs, asked, told, server):
    assert asked("plan")[1]["requests"] == 4  # a robots.txt for each, if need be
    _, plan = asked("plan", "jobs")
    assert plan["requests"] == 2
    assert "about 2 requests" in told("plan", "jobs")[2]
    for sent in (2, 1):
        server.asked.clear()
        told("sync", "jobs")
        assert len(server.asked) == sent
        assert sent <= plan["requests"] <= sent + 1
        _, plan = asked("plan", "jobs")
    (row,) = plan["listings"]
    assert row["why"].startswith("last read whole")


@pytest.mark.parametrize(
    ("kind", "key", "close", "foreign"),
    [
        ("listing", "recrods", "records", "search_url"),
        ("listing", "zzz", "", "search_url"),
        ("search", "zzz", "", "page_url"),
        ("pages", "zzz", "", "form_url"),
    ],
)
def test_an_unknown_key_names_those_of_its_kind(kind, key, close, foreign):
    text = f'[[source]]\nname = "x"\nkind = "{kind}"\n{key} = 1\n'
    with pytest.raises(ConfigError) as error:
        Config.parse(text)
    said = str(error.value)
    assert f"source[1].{key}: unknown key" in said
    assert foreign not in said
    if close:
        assert f"did you mean '{close}'?" in said
    else:
        assert f"keys of kind '{kind}' are" in said
        assert "weight" in said
