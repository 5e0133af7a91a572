"""Numbers of results, as search pages write them in words."""

import re

MOST = 10**12  # documents; larger claims are not credible
_NUMBER = re.compile(
    r"(?<![\d.,])(?:"
    r"(?P<grouped>\d{1,3}(?:(?P<mark>[.,'\u2019 \u00a0\u2009\u202f])\d{3})"
    r"(?:(?P=mark)\d{3})*)(?![\d]|[.,]\d)|(?P<plain>\d+(?:[.,]\d+)?))"
    r"(?:\s?(?P<unit>k|m|bn|thousand|million|billion|tsd\.?|mio\.?|mrd\.?)\b)?",
    re.IGNORECASE,
)
_UNITS = {
    "k": 10**3, "thousand": 10**3, "tsd": 10**3,
    "m": 10**6, "million": 10**6, "mio": 10**6,
    "bn": 10**9, "billion": 10**9, "mrd": 10**9,
}  # fmt: skip
_RESULTS = re.compile(
    r"[+\s]*(?:\w+\s)?(?:results?|hits?|match|documents?|items?|records?|entries|"
    r"articles?|pages?\sfound|treffer|ergebnis|dokument|r[ée]sultats?|resultados?|"
    r"risultati|resultaten|найдено|результат)",
    re.IGNORECASE,
)
_OF = re.compile(r"(?:\b(?:of|von|sur|de|di|van|из|av)|/)\s*(?:\w+\s)?$", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:no|none|nothing|keine?|nichts|aucun|ning[úu]n|sin|nessun|geen)\b",
    re.IGNORECASE,
)


def count_of(text: str) -> int | None:
    """Return the number of results in a text; None if there is none.

    A number before a word such as "results", or after "of", counts; the largest of
    these if there are several, else the largest number of all.

    >>> [count_of(t) for t in ("1-10 of 3,850", "about 12,000 results (0.42 s)")]
    [3850, 12000]
    >>> [count_of(t) for t in ("Page 2 of 14 (137 results)", "1.2 million hits", "-")]
    [137, 1200000, None]
    """
    numbers, marked = [], []
    for match in _NUMBER.finditer(text):
        number = _value(match)
        numbers.append(number)
        before, after = text[: match.start()], text[match.end() :]
        if _RESULTS.match(after) or _OF.search(before):
            marked.append(number)
    if not numbers:
        return 0 if _NONE.search(text) else None
    count = max(marked or numbers)
    return count if count <= MOST else None


def _value(match: re.Match[str]) -> int:
    unit = (match["unit"] or "").lower().rstrip(".")
    if match["grouped"]:
        digits = re.sub(r"\D", "", match["grouped"])
        return int(digits) * _UNITS.get(unit, 1)
    return int(float(match["plain"][:300].replace(",", ".")) * _UNITS.get(unit, 1))


def total_of(value: object) -> int | None:
    """Return the total in an answer, a number or words; None if it has none.

    >>> total_of(7), total_of("1,204"), total_of(True), total_of(-1), total_of(10**30)
    (7, 1204, None, None, None)
    """
    if isinstance(value, str):
        return count_of(value[:1000])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MOST else None
