"""Forms recognised: web pages whose form an address can ask."""

from halflife.core.errors import SourceError
from halflife.kinds.form.description import DescribedForm, described
from halflife.readers.text import is_html, to_text
from halflife.recognition.guess import VAGUE, SourceGuess, TrialAnswer


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return the form of a web page, if an address can ask it."""
    if answer.corrections.given or not is_html(answer.content_type, answer.body):
        return []
    try:
        found = described(to_text(answer.content_type, answer.body), answer.url)
    except SourceError:
        return []
    asks = ", ".join(f"{one.name} ({one.kind})" for one in found.attributes)
    return [
        SourceGuess(
            "form",
            "page with a search form",
            VAGUE,
            {"kind": "form", **settings_of(found)},
            {"format": f"its form asks for {asks}"},
        )
    ]


def settings_of(found: DescribedForm) -> dict[str, object]:
    """Return a form as settings."""
    attributes: dict[str, dict[str, object]] = {}
    for attribute in found.attributes:
        place = found.places[attribute.name]
        param = place.param if place.param != attribute.name else ""
        told = {"low": place.low, "high": place.high, "param": param}
        one: dict[str, object] = {"kind": attribute.kind}
        one |= {name: value for name, value in told.items() if value}
        one |= {"values": attribute.values} if attribute.values else {}
        attributes[attribute.name] = one
    return {"form_url": found.url, "attributes": attributes}
