"""Repositories recognised by whatever they answer, be it an error."""

from urllib.parse import parse_qs, urlsplit

from halflife.core.errors import SourceError
from halflife.core.wording import count
from halflife.readers.xml_stream import root_name
from halflife.recognition.guess import SAMPLE, SURE, SourceGuess, TrialAnswer
from halflife_oai.answers import read


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how the answer of a repository could be kept; nothing if it is none.

    Any answer will do: a base URL without a verb answers with an error of the protocol.
    """
    if answer.corrections.given or root_name(answer.body) != b"OAI-PMH":
        return []
    try:
        said = read(answer.body)
    except SourceError:
        return []
    url = answer.url.partition("?")[0]
    settings: dict[str, object] = {"kind": "oai", "url": url}
    asked = parse_qs(urlsplit(answer.url).query)
    for name, key in (("metadataPrefix", "metadata_prefix"), ("set", "set")):
        settings |= {key: asked[name][0]} if name in asked else {}
    kept = {key: record for key, record in said.records.items() if record is not None}
    shown = list(kept.items())[:SAMPLE]
    named = said.rules.get("repositoryName", "")
    deleted = said.rules.get("deletedRecord", "")
    told = count(len(kept), "record") if kept else "its records are listed by a harvest"
    return [
        SourceGuess(
            "oai",
            "OAI-PMH repository",
            SURE + 0.02,  # before any reader that takes it for some XML
            settings,
            {
                "format": f"its root element is OAI-PMH{f'; {named}' if named else ''}",
                "records": told,
                "key": "the protocol gives every record an identifier",
                "paging": "resumption tokens, as the protocol has it",
            },
            sample=tuple({"key": key, **record} for key, record in shown),
            records=len(kept),
            hints=(f"it reports deletions: {deleted}",) if deleted else (),
        )
    ]
