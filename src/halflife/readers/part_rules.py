"""Rules of the settings that select the parts of a page that count.

A rule is a CSS selector (``main article``), an XPath (``xpath://div[@id="x"]``) or a
regular expression over the lines of the text (``re:^Updated .*``). Expressions run in
the worker that parses pages, within its limits of time and memory: one that takes too
long makes the reading of that page fail, and delays nothing else.
"""

import re
import warnings
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from typing import Self

from halflife.core.errors import ConfigError
from halflife.core.wording import one_line
from halflife.readers import trees
from halflife.readers.text_blocks import Block

LONGEST = 1000  # characters of a rule
_PREFIXES = {"css:": "css", "xpath:": "xpath", "re:": "re"}

Part = tuple[str, str]  # the language of a rule, and the expression


def parse_rule(rule: str) -> Part:
    """Return the language of a rule and its expression.

    >>> parse_rule("main article"), parse_rule("xpath://p[1]"), parse_rule("re:^Ad ")
    (('css', 'main article'), ('xpath', '//p[1]'), ('re', '^Ad '))
    """
    for prefix, language in _PREFIXES.items():
        if rule.startswith(prefix):
            return language, rule.removeprefix(prefix)
    return "css", rule


def check_rule(rule: str) -> None:
    """Raise ``ConfigError`` unless this is a valid rule."""
    language, expression = parse_rule(rule)
    if not expression.strip() or len(rule) > LONGEST:
        raise ConfigError(f"a rule must have 1 to {LONGEST} characters")
    if language == "css":
        from halflife.readers.markup import check_selector  # noqa: PLC0415  (slow)

        check_selector(expression)
    elif language == "xpath":
        _check_xpath(expression)
    else:
        _check_pattern(expression)


def _check_xpath(expression: str) -> None:
    if not find_spec("lxml"):
        raise ConfigError(
            "a rule with xpath: needs an extra: install halflife[xpath] "
            "(lxml is missing)"
        )
    from lxml import etree  # noqa: PLC0415  (an extra, slow to import)

    try:
        etree.XPath(expression)
    except etree.XPathError as error:
        raise ConfigError(f"{expression!r} is no XPath: {one_line(error)}") from None


def _check_pattern(expression: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(expression)
    except (re.error, RecursionError, OverflowError) as error:
        why = one_line(error)
        raise ConfigError(f"{expression!r} is no regular expression: {why}") from None


@dataclass(frozen=True, slots=True)
class PartRules:
    """The rules for the parts of a page that count.

    Attributes:
        only: Rules for the parts that count; without any, all do.
        ignore: Rules for the parts that do not count.

    """

    only: tuple[Part, ...] = ()
    ignore: tuple[Part, ...] = ()

    @classmethod
    def of(cls, only: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Self:
        """Return rules as they are written in settings; raise ``ConfigError``."""
        for rule in (*only, *ignore):
            check_rule(rule)
        return cls(tuple(map(parse_rule, only)), tuple(map(parse_rule, ignore)))

    def __bool__(self) -> bool:
        return bool(self.only or self.ignore)

    @property
    def fingerprint(self) -> str:
        """A short name of the rules; empty if there are none."""
        if not self:
            return ""
        text = repr((self.only, self.ignore)).encode()
        return blake2b(text, digest_size=8).hexdigest()

    def cut(self, page: str) -> str:
        """Return the HTML of the parts of a page that selectors keep.

        Raise ``SourceError`` if that exceeds the limits of time or memory.
        """
        only = [part for part in self.only if part[0] != "re"]
        ignore = [part for part in self.ignore if part[0] != "re"]
        if not (only or ignore) or not page:
            return page
        slow = any(language == "xpath" for language, _ in (*only, *ignore))
        small = 0 if slow else trees.SMALL
        return str(trees.ask("parts", page, only, ignore, small=small))

    def edit(self, blocks: list[Block]) -> list[Block]:
        """Return blocks of text as edited by the regular expressions.

        Raise ``SourceError`` if that exceeds the limit of time.
        """
        only = [pattern for language, pattern in self.only if language == "re"]
        ignore = [pattern for language, pattern in self.ignore if language == "re"]
        if not (only or ignore) or not blocks:
            return blocks
        text = "\n".join(block.text for block in blocks)
        lines = trees.ask("edit", text, only, ignore, small=0)
        pairs = zip(blocks, lines, strict=True)
        left = [Block(block.path, " ".join(line.split())) for block, line in pairs]
        return [block for block in left if block.text]
