"""Response headers that indicate changes: validators for conditional requests."""

from halflife.recognition.guess import TrialAnswer


def header_hints(answer: TrialAnswer) -> tuple[str, ...]:
    """Return a description of each validator of an answer.

    >>> header_hints(TrialAnswer("http://a.example/", b"", headers={"etag": '"x"'}))
    ('ETag: a later request can be answered with 304, unchanged',)
    """
    known = (("etag", "ETag"), ("last-modified", "Last-Modified"))
    return tuple(
        f"{name}: a later request can be answered with 304, unchanged"
        for header, name in known
        if answer.headers.get(header)
    )
