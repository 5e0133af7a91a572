"""One page of HTML that holds a whole study and loads nothing from elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from halflife.study.figures import StudyFigure, Table, cell
from halflife.study.svg import STYLE, text

_CSS = """
:root{color-scheme:light dark;--ink:#24292f;--soft:#57606a;--ground:#fff;
--panel:#f6f8fa;--edge:#d8dee4;--link:#0059a8}
@media (prefers-color-scheme:dark){:root{--ink:#d7dde3;--soft:#a2abb5;
--ground:#0f141a;--panel:#171d25;--edge:#3a424c;--link:#79b8ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main,header,footer{max-width:1360px;margin:0 auto;padding:0 24px}
header{padding-top:36px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;overflow-wrap:anywhere}
h2{font-size:21px;margin:0 0 4px;overflow-wrap:anywhere}
p{margin:0 0 10px;max-width:76ch}
.lead{color:var(--soft);font-size:17px}
a{color:var(--link)}
nav ul{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;padding:0;margin:14px 0}
dl.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));
gap:12px;margin:22px 0}
dl.facts div{background:var(--panel);border:1px solid var(--edge);border-radius:8px;
padding:12px 14px}
dl.facts dt{color:var(--soft);font-size:14px}
dl.facts dd{margin:0;font-size:22px;font-variant-numeric:tabular-nums}
dl.facts dd small{display:block;font-size:13px;color:var(--soft)}
section{border-top:1px solid var(--edge);padding:26px 0 14px}
.charts{display:flex;flex-wrap:wrap;align-items:flex-start;gap:12px 20px;
margin:10px 0}
.charts figure{margin:0;flex:1 1 440px;max-width:660px;min-width:min(100%,300px)}
.charts figure:only-child{max-width:none}
.charts .scroll{flex:1 1 300px;min-width:0}
figcaption{font-weight:600;font-size:14px;margin:0 0 4px;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums;
margin:8px 0 12px}
th,td{padding:4px 14px 4px 0;text-align:left;white-space:nowrap;
border-bottom:1px solid var(--edge)}
th{color:var(--soft);font-weight:600;white-space:normal;vertical-align:bottom}
td.n,th.n{text-align:right}
.data{font-size:14px;color:var(--soft)}
footer{color:var(--soft);font-size:14px;border-top:1px solid var(--edge);
margin-top:20px;padding-top:16px;padding-bottom:40px}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--ground:#fff;
--panel:#fff;--edge:#bbb;--link:#000}nav{display:none}
section{break-inside:avoid}body{font-size:12px}.charts figure{flex-basis:45%}}
"""
_NO_REQUESTS = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)


@dataclass(frozen=True)
class StudyPage:
    """The content of the page.

    Attributes:
        title: Its headline.
        lead: What was studied, in a sentence or two.
        facts: The main figures: name, value, remark.
        figures: The figures, in order.
        notes: The method, at the end.

    """

    title: str
    lead: str
    facts: Sequence[tuple[str, str, str]]
    figures: Sequence[StudyFigure]
    notes: Sequence[str]


def html(page: StudyPage) -> str:
    """Return the page as one self-contained document."""
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            _NO_REQUESTS,
            f"<title>{text(page.title)}</title>",
            f"<style>{_CSS}{STYLE}</style>\n</head>\n<body>\n<header>",
            f'<h1>{text(page.title)}</h1>\n<p class="lead">{text(page.lead)}</p>',
            *_facts(page.facts),
            *_contents(page.figures),
            "</header>\n<main>",
            *(line for figure in page.figures for line in _section(figure)),
            "</main>\n<footer>",
            *(f"<p>{text(note)}</p>" for note in page.notes),
            "</footer>\n</body>\n</html>\n",
        )
    )


def _facts(facts: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield '<dl class="facts">'
    for name, value, remark in facts:
        small = f"<small>{text(remark)}</small>" if remark else ""
        yield f"<div><dt>{text(name)}</dt><dd>{text(value)}{small}</dd></div>"
    yield "</dl>"


def _contents(figures: Iterable[StudyFigure]) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ul>'
    for figure in figures:
        yield f'<li><a href="#{figure.name}">{text(figure.title)}</a></li>'
    yield "</ul></nav>"


def _section(figure: StudyFigure) -> Iterator[str]:
    yield f'<section id="{figure.name}">\n<h2>{text(figure.title)}</h2>'
    yield f"<p>{text(' '.join(figure.said))}</p>"
    yield '<div class="charts">'
    for k, (title, draw) in enumerate(figure.charts):
        yield f"<figure><figcaption>{text(title)}</figcaption>"
        yield f"{draw(f'{figure.name}-{k + 1}')}</figure>"
    beside = len(figure.charts) == 1
    yield from _table(figure.shown) if beside else ()
    yield "</div>"
    yield from () if beside else _table(figure.shown)
    if figure.table:
        file = f"{figure.name}.csv"
        yield f'<p class="data">Numbers: <a href="{file}">{file}</a></p>'
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    if not table:
        return
    numeric = [not any(isinstance(v, str) for v in col) for col in table.values()]
    kinds = [' class="n"' if right else "" for right in numeric]
    yield '<div class="scroll"><table><thead><tr>'
    for kind, name in zip(kinds, table, strict=True):
        yield f'<th scope="col"{kind}>{text(name)}</th>'
    yield "</tr></thead><tbody>"
    for row in zip(*table.values(), strict=True):
        cells = zip(kinds, row, strict=True)
        yield "<tr>" + "".join(f"<td{k}>{text(_short(v))}</td>" for k, v in cells)
        yield "</tr>"
    yield "</tbody></table></div>"


def _short(value: object) -> str:
    return (
        f"{value:.3g}" if isinstance(value, float) and abs(value) < 1e3 else cell(value)
    )
