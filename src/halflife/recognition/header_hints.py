"""What the headers of an answer offer that tells of changes."""

from halflife.recognition.guess import TrialAnswer


def header_hints(answer: TrialAnswer) -> tuple[str, ...]:
    """Return the validators of an answer, in words.

    >>> header_hints(TrialAnswer("http://a.example/", b"", headers={"etag": '"x"'}))
    ('ETag: a later request can be answered with 304, unchanged',)
    """
    known = (("etag", "ETag"), ("last-modified", "Last-Modified"))
    return tuple(
        f"{name}: a later request can be answered with 304, unchanged"
        for header, name in known
        if answer.headers.get(header)
    )
