"""The pages of a simulated form: its search page, its results, its settings."""

from html import escape
from urllib.parse import quote

from halflife.core.forms import Interface, ResultPage
from halflife.core.object_store import Attributes

KEY = "_key"  # the field with the key of a record


def form_page(interface: Interface) -> str:
    """Return the search page."""
    fields = []
    for attribute in interface.attributes:
        name = escape(attribute.name, quote=True)
        if attribute.kind == "select":
            options = "".join(
                f'<option value="{escape(value, quote=True)}">{escape(value)}</option>'
                for value in attribute.values
            )
            control = f'<select name="{name}"><option value="">any</option>{options}'
            control += "</select>"
        elif attribute.kind == "range":
            control = "".join(
                f'<input type="number" name="{name}_{end}">' for end in ("min", "max")
            )
        else:
            control = f'<input type="text" name="{name}">'
        fields.append(f"<label>{name} {control}</label>")
    return (
        "<!DOCTYPE html><title>Search</title>"
        f'<form action="/search" method="get">{"".join(fields)}'
        '<input type="hidden" name="lang" value="en">'
        '<input type="submit" value="Search"></form>'
    )


def results(page: ResultPage, begin: int) -> str:
    """Return a page of results; "1-10 of 3,850" has the number of hits."""
    total = ""
    if page.total is not None:
        shown = f"{begin + 1}–{begin + len(page.records)}"  # noqa: RUF001  (as pages write it)
        total = f"{shown} of {page.total:,}" if page.total else "No results"
    rows = "".join(_row(key, record) for key, record in page.records.items())
    return (
        f'<!DOCTYPE html><title>Results</title><p id="count">{total}</p><ol>{rows}</ol>'
    )


def _row(key: str, record: Attributes) -> str:
    cells = "".join(
        f'<span data-field="{escape(name, quote=True)}">{escape(str(value))}</span> '
        for name, value in record.items()
        if value is not None
    )
    name = escape(key, quote=True)
    link = f"/api/records/{quote(key, safe='')}"
    return f'<li class="record" data-key="{name}"><a href="{link}">{cells}</a></li>'


def snippet(url: str, interface: Interface, *, name: str = "simulated") -> str:
    """Return the settings to query a served form, as TOML."""
    lines = [
        "[[source]]",
        f'name = "{name}"',
        'kind = "form"',
        'allow = ["127.0.0.0/8"]',
        f'form_url = "{url}/api/records?page={{page}}"',
        f'records = "results"\nkey = "{KEY}"\ntotal = "total"',
        f"per_page = {interface.page_size}",
        f'lookup_url = "{url}/api/records/{{key}}"' if interface.lookup else "",
        'newest = "sort=date"' if interface.newest else "",
        "everything = true" if interface.everything else "",
        f"cap = {interface.cap}" if interface.cap else "",
        f'counts = "{interface.counts}"' if interface.counts != "exact" else "",
        f"together = {interface.together}",
        "[source.attributes]",
    ]
    for attribute in interface.attributes:
        table = f'kind = "{attribute.kind}"'
        if attribute.kind == "range":
            table += f', low = "{attribute.name}_min", high = "{attribute.name}_max"'
            table += f", cuts = {[float(cut) for cut in attribute.cuts]}"
        elif attribute.values:
            values = ", ".join(_toml(value) for value in attribute.values)
            table += f", values = [{values}]"
        lines.append(f"{_toml(attribute.name)} = {{{table}}}")
    return "\n".join(filter(None, lines)) + "\n"


def _toml(text: str) -> str:
    """Return a text as a TOML string."""
    import tomlkit  # noqa: PLC0415  (only settings need it)

    return tomlkit.string(text).as_string()
