"""How numbers, counts and times are written for people."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import halflife
from halflife.alerts import rules
from halflife.cli import show
from halflife.core.wording import count, number, span
from halflife.market.targets import Target, parse
from halflife.stores.leases import _moment
from halflife.web import words

finite = st.floats(-1e15, 1e15, allow_nan=False)
SIZES = r"1e[+-]?\d|\de[+-]\d"
ROOT = Path(halflife.__file__).parent
# The prose of these packages is read by people; a number in it goes through wording.
SPOKEN = ("cli", "web", "engine", "kinds", "alerts", "market", "policies")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (580.0, "580"), (578.4, "578"), (0.01234, "0.0123"), (99.96, "100"),
        (1e15, "1000000000000000"), (-2.5, "-2.5"), (0.1 + 0.2, "0.3"),
        (1e-6, "0.000001"),
    ],
)  # fmt: skip
def test_worked_numbers(value, said):
    assert number(value) == said


@given(finite, st.integers(1, 9))
def test_a_number_is_close_and_never_in_scientific_notation(value, digits):
    said = number(value, digits)
    assert "e" not in said
    if abs(value) >= 1e-6:
        assert float(said) == pytest.approx(value, rel=0.51 * 10 ** (1 - digits))
        assert number(float(said), digits) == said


@given(finite, finite)
def test_numbers_are_written_in_their_order(one, other):
    low, high = sorted((one, other))
    if low >= 1e-6:
        assert float(number(low, 9)) <= float(number(high, 9)) * (1 + 1e-12)


@given(st.integers(0, 10**12))
def test_only_one_thing_is_one(many):
    said = count(many, "request")
    assert said.endswith("requests") == (many != 1)
    assert said.startswith(str(many))


@given(st.floats(0, 1e7))
def test_a_stretch_of_time_is_never_in_scientific_notation(days):
    for say in (span, show.span, words.span, rules.span):
        said = say(days)
        assert not re.search(SIZES, said), said
        assert not re.match(r"1 days\b", said)


@given(st.floats(0.001, 1e4), st.floats(0.5, 0.99))
def test_a_target_that_is_written_can_be_read_again(level, confidence):
    said = str(Target("age", level, confidence))
    assert not re.search(SIZES, said)
    assert parse(said).level == pytest.approx(level, rel=0.01)


def test_cells_of_a_table_are_no_powers_of_ten(capsys):
    show.table([{"a": 12345.6, "b": 0.00001234, "c": math.nan}])
    assert capsys.readouterr().out.split() == [
        "a",
        "b",
        "c",
        "12346",
        "0.00001234",
        "-",
    ]


def test_utc_is_spelled_out():
    assert _moment(20_000.5) == "2024-10-04 12:00:00 UTC"
    assert _moment(10_000_000.0).endswith(" UTC")


def test_no_message_writes_numbers_in_a_way_of_its_own():
    """What is printed with ``:.3g`` becomes a power of ten when it is large."""
    wrong = []
    for path in (p for part in SPOKEN for p in (ROOT / part).rglob("*.py")):
        for i, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\{[^{}]+:\.\d+g\}", line) and ">>>" not in line:
                wrong.append(f"{path.relative_to(ROOT)}:{i}: {line.strip()}")
    assert not wrong, "\n".join(wrong)


def test_no_message_counts_things_in_a_way_of_its_own():
    """``{n} requests`` reads as "1 requests" when there is one."""
    nouns = "requests|looks|objects|messages|queries|failures|checks|forecasts"
    wrong = []
    for path in (
        p
        for part in ("cli", "web", "engine", "kinds")
        for p in (ROOT / part).rglob("*.py")
    ):
        for i, line in enumerate(path.read_text().splitlines(), 1):
            found = re.search(rf'f".*\{{[^{{}}]+\}} ({nouns})\b', line)
            counted = found and re.search(
                rf"(of|most|/) \{{[^{{}}]+\}} ({nouns})", line
            )
            if found and not counted and not re.search(r"count\(|== 1|>>>", line):
                wrong.append(f"{path.relative_to(ROOT)}:{i}: {line.strip()}")
    assert not wrong, "\n".join(wrong)
