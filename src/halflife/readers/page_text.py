"""Read the text of a page that counts, under rules, without known noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec

from halflife.core.errors import SourceError
from halflife.core.observation import Content
from halflife.readers import trees
from halflife.readers.noise_masks import Mask, hide
from halflife.readers.part_rules import PartRules
from halflife.readers.text import digest, fingerprint, is_html, media_type, to_text
from halflife.readers.text_blocks import Block, joined, read_blocks

PDF_SECONDS = 20.0  # of CPU for the text of a PDF: about 200 pages
_SPACE = b" \t\n\r\f\v"
_TEXTS = frozenset({"application/json", "application/xml", "application/javascript"})


@dataclass(frozen=True, slots=True)
class PageReading:
    """How a page is read.

    Attributes:
        mode: The ``visible`` text, the ``main`` content, or ``raw``, every byte.
        rules: The rules for the parts that count.

    """

    mode: str = "visible"
    rules: PartRules = field(default_factory=PartRules)

    @property
    def name(self) -> str:
        """A short name; digests under the same name can be compared."""
        pdf = "pdf" if self.mode != "raw" and reads_pdf() else ""
        return " ".join(f"{self.mode} {self.rules.fingerprint} {pdf}".split())

    def has_text(self, content: Content) -> bool:
        """Say whether there is a text to which rules and masks can apply."""
        if self.mode == "raw":
            return False
        named = media_type(content.media_type)
        if is_html(content.media_type, content.body) or is_pdf(content):
            return True
        return bool(self.rules) and (named.startswith("text/") or named in _TEXTS)

    def blocks(self, content: Content) -> list[Block]:
        """Return the text that counts, in blocks.

        Raise ``SourceError`` if that exceeds the limits of time or memory.
        """
        if is_pdf(content):
            return self.rules.edit(_pdf_blocks(content))
        page = to_text(content.media_type, content.body)
        if not is_html(content.media_type, content.body):
            lines = (" ".join(line.split()) for line in page.splitlines())
            return self.rules.edit([Block("", line) for line in lines if line])
        page = self.rules.cut(page)
        if self.mode == "main":
            text = str(trees.ask("main_text", page, small=0) if page else "")
            found = [Block("main", line) for line in map(_one_line, text.splitlines())]
            return self.rules.edit([block for block in found if block.text])
        return self.rules.edit(read_blocks(page))

    def digest(self, content: Content, raw: str, masks: Sequence[Mask] = ()) -> str:
        """Return the fingerprint of the text that counts; ``raw`` is of all bytes."""
        if not self.has_text(content):
            return raw
        if not (self.rules or masks or is_pdf(content)):
            return digest(self.mode, content.media_type, content.body, raw)
        blocks = self.blocks(content)
        if not blocks and is_pdf(content):
            return raw  # a scan, or an unreadable file: every byte counts
        text = joined(hide(blocks, masks))
        return fingerprint(text.encode("utf-8", "replace").translate(None, _SPACE))


@cache
def reads_pdf() -> bool:
    """Say whether the extra for the text of PDF files is installed."""
    return find_spec("pypdf") is not None


def is_pdf(content: Content) -> bool:
    """Say whether this is a PDF whose text can be read."""
    named = media_type(content.media_type)
    typed = named in {"application/pdf", "application/octet-stream", ""}
    return typed and content.body[:5] == b"%PDF-" and reads_pdf()


def _pdf_blocks(content: Content) -> list[Block]:
    """Return the lines of a PDF; none if it cannot be read within limits."""
    try:
        page = content.body.decode("latin-1")
        text = trees.ask("pdf_text", page, small=0, seconds=PDF_SECONDS)
    except SourceError:
        return []
    lines = map(_one_line, str(text or "").splitlines())
    return [Block("pdf", line) for line in lines if line]


def _one_line(line: str) -> str:
    return " ".join(line.split())
