"""What a repository answers: OAI-PMH 2.0, read as a stream of bounded size."""

from typing import TypeAlias

from halflife.core.errors import SourceError
from halflife.readers.records import UNREADABLE
from halflife.readers.xml_stream import parse, root_name, whole

Record: TypeAlias = dict[str, str]


class Answer:
    """One answer, built up while its document is parsed.

    A record is its header and the leaves of its metadata by their path, without
    prefixes; what comes several times is joined.

    Attributes:
        date: When it was given, by the repository's clock.
        error: The code of its error; empty if there is none.
        said: What it says of the error.
        rules: What ``Identify`` says.
        records: Records by identifier; None stands for one that was deleted.
        unnamed: Records without an identifier.
        token: How the list goes on; empty if it does not.

    """

    def __init__(self) -> None:
        self.date = self.error = self.said = self.token = ""
        self.rules: dict[str, str] = {}
        self.records: dict[str, Record | None] = {}
        self.unnamed = 0
        self._path: list[str] = []
        self._text: list[str] = []
        self._name, self._fields = "", dict[str, list[str]]()
        self._is_leaf = self._is_deleted = False

    def start(self, name: str, attributes: list[str]) -> None:
        """Take the start of an element."""
        self._path.append(name.rpartition(":")[2])
        self._text.clear()
        self._is_leaf = True
        given = dict(zip(attributes[::2], attributes[1::2], strict=True))
        match self._path[1:4]:
            case ["error"]:
                self.error = given.get("code", "unknown")
            case ["ListRecords", "record"]:
                self._name, self._fields, self._is_deleted = "", {}, False
            case ["ListRecords", "record", "header"]:
                self._is_deleted |= given.get("status") == "deleted"

    def end(self, name: str) -> None:
        """Take the end of an element."""
        del name
        text = "".join(self._text).strip()
        match self._path[1:]:
            case ["responseDate"]:
                self.date = text
            case ["error"]:
                self.said = text
            case ["Identify", what]:
                self.rules[what] = text
            case ["ListRecords", "resumptionToken"]:
                self.token = text
            case ["ListRecords", "record"]:
                self._take()
            case ["ListRecords", "record", "header", "identifier"]:
                self._name = text
            case ["ListRecords", "record", "header", what] if text:
                self._fields.setdefault(what, []).append(text)
            case ["ListRecords", "record", "metadata", _, *rest] if (
                rest and text and self._is_leaf
            ):
                self._fields.setdefault(".".join(rest), []).append(text)
        self._path.pop()
        self._text.clear()
        self._is_leaf = False

    def text(self, data: str) -> None:
        """Take some text."""
        self._text.append(data)

    def _take(self) -> None:
        told = {field: "; ".join(texts) for field, texts in self._fields.items()}
        if self._name:
            self.records[self._name] = None if self._is_deleted else told
        else:
            self.unnamed += 1


def read(body: bytes) -> Answer:
    """Return what an answer says; raise ``SourceError`` if it is none."""
    if root_name(body) != b"OAI-PMH":
        raise SourceError(f"{UNREADABLE}: it is not OAI-PMH")
    answer, trouble = parse(whole(body), Answer)
    if trouble:
        raise SourceError(f"{UNREADABLE}: {trouble}")
    return answer
