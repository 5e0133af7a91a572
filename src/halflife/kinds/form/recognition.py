"""Recognition of forms: web pages whose form an address can query."""

from halflife.core.errors import SourceError
from halflife.kinds.form.description import DescribedForm, describe_form
from halflife.readers.text import is_html, to_text
from halflife.recognition.guess import VAGUE, SourceGuess, TrialAnswer


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return the form of a web page, if an address can query it."""
    if answer.corrections.given or not is_html(answer.content_type, answer.body):
        return []
    try:
        form = describe_form(to_text(answer.content_type, answer.body), answer.url)
    except SourceError:
        return []
    asks = ", ".join(
        f"{attribute.name} ({attribute.kind})" for attribute in form.attributes
    )
    return [
        SourceGuess(
            "form",
            "page with a search form",
            VAGUE,
            {"kind": "form", **settings_of(form)},
            {"format": f"its form asks for {asks}"},
        )
    ]


def settings_of(form: DescribedForm) -> dict[str, object]:
    """Return a form as settings."""
    attributes: dict[str, dict[str, object]] = {}
    for attribute in form.attributes:
        place = form.places[attribute.name]
        param = place.param if place.param != attribute.name else ""
        named = {"low": place.low, "high": place.high, "param": param}
        table: dict[str, object] = {"kind": attribute.kind}
        table |= {name: value for name, value in named.items() if value}
        table |= {"values": attribute.values} if attribute.values else {}
        attributes[attribute.name] = table
    return {"form_url": form.url, "attributes": attributes}
