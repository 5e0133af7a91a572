"""The answers of a form: records, and the total number of hits."""

from dataclasses import dataclass, field, replace

from jmespath.exceptions import JMESPathError

from halflife.core.errors import SourceError
from halflife.core.wording import one_line
from halflife.kinds.search.counts import total_of
from halflife.readers.expressions import compiled
from halflife.readers.json_document import load_json
from halflife.readers.markup import check_selector, first, only, select
from halflife.readers.records import RecordPage, RecordReader
from halflife.readers.text import is_html, to_text

ITSELF = "[@]"  # JMESPath: the whole answer is the record


@dataclass(frozen=True)
class FormAnswerReader:
    """Where the records of a form's answers are, and the number of hits.

    Attributes:
        records: Reads the records of a page of results.
        total: Where the number of hits is, as a number or in words: JMESPath for
            JSON, a CSS selector for HTML; empty if there is none.
        one: Where the record is in the answer to a look-up; if empty, in JSON the
            whole answer, in HTML the same place as on a page of results.

    """

    records: RecordReader = field(default_factory=RecordReader)
    total: str = ""
    one: str = ""

    def __post_init__(self) -> None:
        if self.total and self.records.format == "html":
            check_selector(self.total)
        elif self.total and self.records.format == "json":
            compiled(self.total)

    def read(
        self, body: bytes, content_type: str, name: str
    ) -> tuple[RecordPage, int | None]:
        """Return the records of a page, and the total of hits if it has one.

        The total is also returned if the page shows no hits: a page after the last one
        may have it too. Raise ``SourceError`` if it cannot be read.
        """
        page = self.records.read(body, content_type, name)
        return page, self._total(body, content_type) if self.total else None

    def read_one(
        self, body: bytes, content_type: str, name: str
    ) -> tuple[RecordPage, int | None]:
        """Return the record in the answer to a look-up."""
        html = self._is_html(body, content_type)
        where = self.one or (self.records.records if html else ITSELF)
        reader = replace(self.records, records=where, next="")
        return reader.read(body, content_type, name), None

    def _is_html(self, body: bytes, content_type: str) -> bool:
        kind = self.records.format
        return kind == "html" or (not kind and is_html(content_type, body))

    def _total(self, body: bytes, content_type: str) -> int | None:
        if self._is_html(body, content_type):
            text = to_text(content_type, body)
            return total_of(only(select(text, [first(self.total)])[0]))
        try:
            document = load_json(body.decode("utf-8-sig"))
            return total_of(compiled(self.total).search(document))
        except RecursionError:
            raise SourceError("it is nested too deeply to be read") from None
        except (ValueError, JMESPathError) as error:
            raise SourceError(
                f"its number of hits cannot be read: {one_line(error)}"
            ) from None
