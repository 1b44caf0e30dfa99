"""A table of figures in the forms that people want it in: Markdown, CSV, LaTeX, HTML.

>>> table = Table("Micro F-score", ["method", "Wiki"], [["do_nothing", "0.0"], ["fast", "97.0"]])
>>> print(markdown(table))
## Micro F-score
<BLANKLINE>
| method | Wiki |
| --- | --- |
| do_nothing | 0.0 |
| fast | 97.0 |
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "†": r"\textdagger{}",
    **{one: f"\\{one}" for one in "&%$#_{}"},
}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
"""


@dataclass(frozen=True)
class Table:
    """A title, the heads of the columns, rows of cells, and a remark below."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str = ""


def markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    lines = [f"## {table.title}", "", line(table.head), "|" + " --- |" * len(table.head), *map(line, table.rows)]
    return "\n".join([*lines, "", table.remark] if table.remark else lines)


def comma_separated(tables: Sequence[Table]) -> str:
    """All tables as one, one figure a row: title, name of the row, name of the column, value."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "row", "column", "value"])
    for table in tables:
        for name, *cells in table.rows:
            writer.writerows([table.title, name, *pair] for pair in zip(table.head[1:], cells, strict=True))
    return stream.getvalue()


def latex(table: Table) -> str:
    """For a paper with the package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(one, one) for one in cell) for cell in cells) + r" \\"

    caption = " ".join(filter(None, [table.title + ".", table.remark]))
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", r"\toprule"]
    lines += [line(table.head), r"\midrule", *map(line, table.rows), r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, rf"\caption{{{line([caption])[:-3]}}}", r"\end{table}"])


def html_page(title: str, tables: Sequence[Table]) -> str:
    """A page that needs nothing else."""

    def row(kind: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    parts = []
    for table in tables:
        body = "\n".join(row("td", cells) for cells in table.rows)
        parts.append(
            f"<h2>{escape(table.title)}</h2>\n<div tabindex='0' role='region' aria-label='{escape(table.title)}'>"
            f"<table>\n<thead>{row('th', table.head)}</thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )
        parts.append(f"<p>{escape(table.remark)}</p>" if table.remark else "")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>\n{''.join(parts)}\n</main></body></html>\n"
    )
