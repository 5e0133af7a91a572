"""A small language that selects objects by their attributes.

``make = "BMW" and (year > 2002 or not status in ("sold", "held"))``

    filter  = all {"or" all}          all   = one {"and" one}
    one     = "not" one | "(" filter ")" | test
    test    = name compare value | name "in" "(" value {"," value} ")"
            | name "is" ["not"] "missing"
    compare = "=" | "!=" | "<" | "<=" | ">" | ">="
    value   = number | "text" | 'text'      (a quote or backslash after a backslash)
    name    = letters, digits and _ not beginning with a digit, or `any text`

A missing value (None, nan) makes every comparison false, ``!=`` too. A value
written as a number is compared by size with all that reads as a number; one in
quotes is compared as text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Values

Value = float | str
DEEPEST = 50  # parentheses and "not" within one another


class Filter(Protocol):
    """A test that selects objects; its ``str`` parses to the same test."""

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows are wanted."""
        ...


@dataclass(frozen=True, slots=True)
class Compare:
    """``name compare value``."""

    name: str
    sign: str
    value: Value

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows have a value that meets the comparison."""
        column = _column(attributes, self.name)
        if isinstance(self.value, str):
            there, values = ~missing(column), column.astype(str)
        else:
            values = numbers(column)
            there = ~np.isnan(values)
        return there & _compare(values, self.sign, self.value)

    def __str__(self) -> str:
        return f"{_name(self.name)} {self.sign} {_value(self.value)}"


@dataclass(frozen=True, slots=True)
class In:
    """``name in (values)``: equal to one of them."""

    name: str
    values: tuple[Value, ...]

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows have one of the values."""
        column = _column(attributes, self.name)
        texts = [v for v in self.values if isinstance(v, str)]
        numeric = [v for v in self.values if not isinstance(v, str)]
        equal: Bools = np.isin(column.astype(str), texts) & ~missing(column)
        return equal | np.isin(numbers(column), numeric) if numeric else equal

    def __str__(self) -> str:
        return f"{_name(self.name)} in ({', '.join(map(_value, self.values))})"


@dataclass(frozen=True, slots=True)
class Missing:
    """``name is missing``."""

    name: str

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows have no value."""
        return missing(_column(attributes, self.name))

    def __str__(self) -> str:
        return f"{_name(self.name)} is missing"


@dataclass(frozen=True, slots=True)
class Not:
    """``not part``."""

    part: Filter

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows the part does not want."""
        return ~self.part(attributes)

    def __str__(self) -> str:
        return f"not {_inner(self.part)}"


@dataclass(frozen=True, slots=True)
class AllOf:
    """``part and part ...``."""

    parts: tuple[Filter, ...]

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows all parts want."""
        wanted: Bools = np.logical_and.reduce([p(attributes) for p in self.parts])
        return wanted

    def __str__(self) -> str:
        return " and ".join(map(_inner, self.parts))


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``part or part ...``."""

    parts: tuple[Filter, ...]

    def __call__(self, attributes: Mapping[str, Values]) -> Bools:
        """Return which rows at least one part wants."""
        wanted: Bools = np.logical_or.reduce([p(attributes) for p in self.parts])
        return wanted

    def __str__(self) -> str:
        return " or ".join(map(_inner, self.parts))


def parse(text: str) -> Filter:
    """Return the filter that the text describes.

    Raises:
        UsageError: The text is not a valid filter; names the position and what is
            expected.

    >>> cars = {"make": np.array(["BMW", "Ford"]), "year": np.array([2003, 2005])}
    >>> parse('make = "BMW" and year > 2002')(cars)
    array([ True, False])

    """
    parser = _Parser(text)
    result = parser.any_of(0)
    if parser.here.kind != "end":
        raise parser.wrong("'and', 'or' or the end")
    return result


class _Token(NamedTuple):
    kind: str  # word, name (in backquotes), number, text, sign, end
    text: str
    at: int


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
    |(?P<word>[^\W\d]\w*)
    |(?P<name>`[^`]+`)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<sign><=|>=|!=|[=<>(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = frozenset({"and", "or", "not", "in", "is", "missing"})


def _tokens(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise UsageError(_message(text, start, "no name, value or sign begins"))
        kind = match.lastgroup
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return [*tokens, _Token("end", "", len(text))]


def _message(text: str, at: int, what: str) -> str:
    before, after = text[max(at - 30, 0) : at], text[at : at + 30]
    return f"filter: {what} at position {at + 1}: {before}>>>{after}"


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0

    @property
    def here(self) -> _Token:
        """The token to be read next."""
        return self._tokens[self._next]

    def wrong(self, wanted: str) -> UsageError:
        """Return the error that names what is expected here."""
        return UsageError(_message(self._text, self.here.at, f"expected {wanted}"))

    def any_of(self, depth: int) -> Filter:
        parts = [self._all_of(depth)]
        while self._accept("or"):
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all_of(self, depth: int) -> Filter:
        parts = [self._factor(depth)]
        while self._accept("and"):
            parts.append(self._factor(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _factor(self, depth: int) -> Filter:
        if depth > DEEPEST:
            raise self.wrong(f"at most {DEEPEST} levels of parentheses and 'not'")
        if self._accept("not"):
            return Not(self._factor(depth + 1))
        if self._accept("("):
            inner = self.any_of(depth + 1)
            self._expect(")")
            return inner
        return self._test()

    def _test(self) -> Filter:
        name = self._named()
        if self._accept("is"):
            negated = self._accept("not")
            self._expect("missing")
            return Not(Missing(name)) if negated else Missing(name)
        if self._accept("in"):
            return In(name, self._values())
        sign = self.here.text
        if self.here.kind != "sign" or sign in "(),":
            raise self.wrong("=, !=, <, <=, >, >=, 'in' or 'is'")
        self._next += 1
        return Compare(name, sign, self._value_here())

    def _named(self) -> str:
        token = self.here
        if token.kind == "name" or (
            token.kind == "word" and token.text.lower() not in _WORDS
        ):
            self._next += 1
            return token.text.strip("`")
        raise self.wrong("the name of an attribute")

    def _values(self) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value_here()]
        while self._accept(","):
            values.append(self._value_here())
        self._expect(")")
        return tuple(values)

    def _value_here(self) -> Value:
        token = self.here
        if token.kind not in {"number", "text"}:
            raise self.wrong('a number or a text in quotes, such as "BMW"')
        if token.kind == "number" and not np.isfinite(float(token.text)):
            raise self.wrong("a number that is not too large")
        self._next += 1
        if token.kind == "number":
            return float(token.text)
        return re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)

    def _accept(self, text: str) -> bool:
        token = self.here
        same = token.kind in {"word", "sign"} and token.text.lower() == text
        self._next += same
        return same

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self.wrong(repr(text))


def missing(column: Values) -> Bools:
    """Return which values are missing: None or nan.

    >>> missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if column.dtype.kind == "f":
        is_nan: Bools = np.isnan(column)
        return is_nan
    if column.dtype.kind != "O":
        return np.zeros(column.shape, dtype=np.bool_)
    return np.array([v is None or v != v for v in column.tolist()], dtype=np.bool_)  # noqa: PLR0124  (only nan differs from itself)


def numbers(column: Values) -> Floats:
    """Return the values as numbers; nan where a value does not read as one.

    >>> numbers(np.array(["2003", "new", None], dtype=object))
    array([2003.,   nan,   nan])
    """
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.array([_number(v) for v in column.tolist()], dtype=np.float64)


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return np.nan


def _column(attributes: Mapping[str, Values], name: str) -> Values:
    if name not in attributes:
        names = ", ".join(sorted(attributes)) or "none"
        raise UsageError(f"filter: no attribute {name!r}; there are: {names}")
    return attributes[name]


def _compare(values: Values, sign: str, value: Value) -> Bools:
    compare = {
        "=": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }[sign]
    result: Bools = compare(values, value)
    return result


def _inner(part: Filter) -> str:
    return f"({part})" if isinstance(part, AllOf | AnyOf) else str(part)


def _name(name: str) -> str:
    plain = re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in _WORDS
    return name if plain else f"`{name}`"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
    return f"{value:.17g}" if value % 1 else f"{value:.0f}"
