"""Fields of records and changes as JSON: quick ways give what the general one gives."""

import json
import math

from hypothesis import given, strategies as st

from halflife.core.change import Change, LoggedFields, NewFields
from halflife.sinks.event import as_line, as_row
from halflife.stores import attribute_text, change_log

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS
RECORDS = st.dictionaries(WORDS, VALUES, max_size=5)


def plain(value: object) -> object:
    """Return what is written of a value."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


@given(RECORDS)
def test_a_record_is_written_as_the_encoder_writes_it(
    record: dict[str, object],
) -> None:
    whole = {name: plain(value) for name, value in record.items()}
    pairs = {name: (None, value) for name, value in whole.items()}
    write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    assert attribute_text.of_record(record) == write(whole)
    assert attribute_text.of_new_record(record) == write(pairs)


def test_names_may_hold_what_templates_use() -> None:
    record = {"100 %s": 1, "{0}": "%d", 'a"b': 1e16, "é": 10**30}
    assert json.loads(attribute_text.of_record(record)) == record


@given(RECORDS, WORDS, WORDS)
def test_a_logged_change_is_the_line_of_its_row(
    record: dict[str, object], source: str, key: str
) -> None:
    text = change_log.fields_json(NewFields(record))
    logged = Change(19722.75, source, key, "new", LoggedFields(text), 3)
    line = as_line(logged)
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line) == as_row(logged)
    whole = Change(19722.75, source, key, "new", NewFields(record), 3)
    assert logged == whole
    assert json.loads(as_line(whole)) == as_row(whole)
