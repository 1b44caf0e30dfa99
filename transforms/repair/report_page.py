"""The report as one page that needs nothing else: no script, no font, no picture from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from posixpath import basename
from typing import Any
from urllib.parse import quote

from respace.guards import REASONS
from respace.judgement import NOT_PROSE
from transforms.shards.dead_letters import DEAD_LETTERS

_SMALL_RUN_BYTES = 1_000_000
_SHOWN_SHARDS = 60
_WORD = 40
_DEAD_LETTERS = "dead-letters"
_WHY = {**REASONS, NOT_PROSE: "code, tables, formulas, other languages: the model was trained on prose"}
_DONE = {"insertion": "inserted", "deletion": "deleted"}
_MARKS = {"inserted": "<ins>·</ins>", "deleted": "<del>·</del>"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5c6675; --line: #e3e6ea; --paper: #ffffff; --back: #f5f6f8;
  --accent: #2f6fde; --ins: #1a7f4b; --ins-back: #d5f2e1; --del: #b3261e; --del-back: #fbdcd9; --bar: #a9c4f5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --line: #2d343f; --paper: #1a1f27;
  --back: #12161c; --accent: #7aa7ff; --ins: #6fdba3; --ins-back: #17402c; --del: #ff9d95; --del-back: #4d2220;
  --bar: #35528c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.55 system-ui, sans-serif;
  overflow-wrap: break-word; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; letter-spacing: -.01em; }
h2 { font-size: 17px; margin: 0 0 12px; }
p { margin: 0 0 12px; color: var(--soft); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 20px 22px;
  margin-top: 18px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin-top: 20px; }
.tile { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.tile b { display: block; font-size: 23px; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.tile.bad b { color: var(--del); }
.rows { display: grid; grid-template-columns: fit-content(45%) minmax(24px, 1fr) fit-content(45%); gap: 5px 12px;
  align-items: center; }
.rows > * { min-width: 0; }
.rows .name { text-align: right; color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
.rows .bar { background: var(--bar); height: 16px; border-radius: 3px; min-width: 2px; }
.rows .number { font-variant-numeric: tabular-nums; font-size: 13px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(280px, 100%), 1fr)); gap: 24px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 13px; }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
th:last-child, td:last-child { padding-right: 0; }
td.number, th.number, .short { white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.passage { font: 15px/1.8 ui-serif, Georgia, serif; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; }
figure { margin: 0; padding: 14px 0; border-bottom: 1px solid var(--line); }
figure:last-child { border-bottom: 0; padding-bottom: 0; }
figure:target { background: var(--back); outline: 8px solid var(--back); }
figcaption { color: var(--soft); font-size: 12px; margin-bottom: 4px; }
ins, del { text-decoration: none; border-radius: 3px; padding: 1px 3px; font-family: ui-monospace, monospace; }
ins { background: var(--ins-back); color: var(--ins); }
del { background: var(--del-back); color: var(--del); text-decoration: line-through; }
mark { background: none; color: inherit; border-bottom: 2px solid var(--accent); }
a { color: var(--accent); }
small { color: var(--soft); font-size: 13px; margin-left: 4px; }
p code { white-space: nowrap; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
"""


def render_page(summary: Mapping[str, Any], *, links: bool = True) -> str:
    """The page. Whatever comes from the corpus is escaped.

    Args:
        summary: what it says.
        links: whether it lies in the output, so that it can lead to the files there. That of a sample has none.
    """
    totals, run, links = summary["totals"], summary["this_run"], links and not summary["is_sample"]
    title = "Repaired spaces of a sample" if summary["is_sample"] else "Repaired spaces"
    body = [
        f"<h1>{title}</h1>",
        f"<p>{escape(summary['output'] if links else basename(summary['output']))} · {_moment(summary['made'])}</p>",
        _tiles(totals, run),
        _section(
            "How sure the model was",
            "Edits by the model's probability that the space should be as it is now.",
            _bars((one["confidence"], one["edits"], "") for one in summary["confidence"]),
        ),
        _section(
            "Least certain edits",
            "What to look at first: if these are right, so are most others. Rows are counted from 0. "
            "<code>python -m webapp --corpus</code> shows more of them, to be accepted or rejected.",
            _least_certain(summary["least_certain"], links),
        ),
        _section(
            "Edits by kind of text",
            "Where spaces were inserted and deleted. Text that is left alone is changed only on overwhelming evidence.",
            _kinds(summary["kinds"]),
        ),
        _section(
            "Edits per 1,000 characters",
            "How many documents needed how much repair.",
            _bars((one["edits_per_1000_characters"], one["documents"], "") for one in summary["histogram"]),
        ),
        _section(
            "Words that changed most",
            "The stretch between two unchanged spaces, before and after. Of each shard only the most frequent are "
            "kept, so that small counts are lower bounds.",
            _words(summary["words"]),
        ),
        _section(
            "A sample of passages",
            "Chosen at random, the same in every run: <ins>·</ins> a space was inserted, <del>·</del> one was deleted. "
            "Nothing else ever changes.",
            "".join(_passage(sample, links) for sample in summary["samples"]) or "<p>No document was changed.</p>",
        ),
        _section(
            "Left alone",
            "Characters before which nothing was changed, or not without overwhelming evidence, and why; "
            "<code>--all_text</code> repairs also what is not English prose.",
            _left_alone(summary.get("left_alone", [])),
        ),
        _section(
            "Dead letters",
            _dead_letter_text(totals["dead_letters"]),
            _dead_letters(summary["dead_letters"], links),
            anchor=_DEAD_LETTERS,
        ),
    ]
    if summary["unreadable"]:
        rows = [[escape(name), escape(message)] for name, message in summary["unreadable"].items()]
        body.append(
            _section("Unreadable files", "They are not in the output.", _table(["file", "reason"], rows, ["", ""]))
        )
    if summary.get("not_read"):
        rows = [[escape(kind), f"{number:,}"] for kind, number in summary["not_read"].items()]
        body.append(
            _section(
                "Not read",
                "What the input has and the output has not; <code>--copy_others</code> copies files of other kinds.",
                _table(["kind", "number"], rows, ["", "number"]),
            )
        )
    body += [
        _section("Throughput", _throughput_text(totals["files"]), _shards(summary["shards"])),
        _section("Settings", "What the output depends on.", _settings(summary["settings"])),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Respace: repair report</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def linked_files(summary: Mapping[str, Any]) -> set[str]:
    """The files of the output that the page leads to."""
    passages = [*summary["least_certain"], *summary["samples"]]
    return {one["shard"] for one in passages} | {_letters_of(one["shard"]) for one in summary["dead_letters"]}


def _letters_of(shard: str) -> str:
    return f"{DEAD_LETTERS}/{shard}.parquet"


def speed_of_run(run: Mapping[str, Any]) -> str | None:
    """The speed, unless the run was so small that this is the time in which processes and models start.

    >>> speed_of_run({"bytes": 24_000_000, "kilobytes_per_second": 187.2}), speed_of_run({"bytes": 900})
    ('187 KB/s', None)
    """
    return f"{run['kilobytes_per_second']:,.0f} KB/s" if run["bytes"] >= _SMALL_RUN_BYTES else None


def _last_run(run: Mapping[str, Any]) -> str:
    return f"last run, {_duration(run['seconds'])}" if speed_of_run(run) else "last run"


def _tiles(totals: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    share = 100 * totals["edited_documents"] / max(1, totals["documents"])
    tiles = [
        (f"{totals['documents']:,}", f"documents in {_number(totals['files'], 'file')}", False),
        (f"{share:.1f} %", "of them were changed", False),
        (f"{totals['insertions']:,}", "spaces inserted", False),
        (f"{totals['deletions']:,}", "spaces deleted", False),
        (_linked(f"{totals['dead_letters']:,}", f"#{_DEAD_LETTERS}"), "documents failed", totals["dead_letters"] > 0),
        (speed_of_run(run) or _duration(run["seconds"]), _last_run(run), False),
    ]
    if totals["unreadable_files"]:
        tiles.append((f"{totals['unreadable_files']:,}", "unreadable files", True))
    return (
        '<div class="tiles">'
        + "".join(
            f'<div class="tile{" bad" if bad else ""}"><b>{value}</b><span>{escape(label)}</span></div>'
            for value, label, bad in tiles
        )
        + "</div>"
    )


def _section(title: str, text: str, content: str, anchor: str = "") -> str:
    """``text`` may hold markup of our own; it never comes from the corpus."""
    named = f' id="{anchor}"' if anchor else ""
    return f"<section{named}><h2>{escape(title)}</h2><p>{text}</p>{content}</section>"


def _bars(rows: Iterable[tuple[str, float, str]]) -> str:
    """Horizontal bars: name, length (nothing has no bar), and what to write behind it (default: the length)."""
    shown = list(rows)
    longest = max((value for _, value, _ in shown), default=0) or 1

    def bar(value: float) -> str:
        return f'<div class="bar" style="width:{100 * value / longest:.1f}%"></div>' if value else ""

    return (
        '<div class="rows">'
        + "".join(
            f'<div class="name">{escape(name)}</div><div>{bar(value)}</div>'
            f'<div class="number">{escape(label) or format(value, ",")}</div>'
            for name, value, label in shown
        )
        + "</div>"
    )


def _least_certain(edits: Sequence[Mapping[str, Any]], links: bool) -> str:
    if not edits:
        return "<p>No document was changed.</p>"
    rows = [
        [
            _linked(_words_at(edit), f"#edit-{number}"),
            escape(_DONE.get(edit["kind"], edit["kind"])),
            f"{100 * edit['confidence']:.1f} %",
        ]
        for number, edit in enumerate(edits, start=1)
    ]
    passages = "".join(_passage(edit, links, f"edit-{number}") for number, edit in enumerate(edits, start=1))
    return _table(["passage", "space", "confidence"], rows, ["", "short", "number"]) + passages


def _words_at(edit: Mapping[str, Any]) -> str:
    """The words on both sides of an edit."""
    (_, before), (what, _), (_, after) = edit["passage"][edit["where"] - 1 : edit["where"] + 2]
    left, right = before.split()[-1:], after.split()[:1]
    return f"{escape(''.join(left)[-_WORD:])}{_MARKS[what]}{escape(''.join(right)[:_WORD])}"


def _kinds(kinds: Sequence[Mapping[str, Any]]) -> str:
    rows = [[escape(one["text"]), f"{one['insertions']:,}", f"{one['deletions']:,}"] for one in kinds]
    return (
        _table(["text", "inserted", "deleted"], rows, ["", "number", "number"])
        if rows
        else "<p>No document was changed.</p>"
    )


def _words(words: Mapping[str, Sequence[tuple[str, int]]]) -> str:
    titles = {"merged": "Merged", "split": "Split", "moved": "Merged and split"}
    tables = []
    for kind, title in titles.items():
        rows = [[escape(change), f"{number:,}"] for change, number in words[kind]]
        table = _table([title, "times"], rows, ["", "number"]) if rows else f"<p>{title}: none.</p>"
        tables.append(f"<div>{table}</div>")
    return f'<div class="columns">{"".join(tables)}</div>'


def _passage(shown: Mapping[str, Any], links: bool, anchor: str = "") -> str:
    pieces = [_MARKS.get(what) or escape(text) for what, text in shown["passage"]]
    if "where" in shown:
        pieces[shown["where"]] = f"<mark>{pieces[shown['where']]}</mark>"
    passage = "".join(pieces)
    where = f"{_file(shown['shard'], shown['shard'], links)}, row {shown['row']:,}"
    sure = f", gap {shown['gap']:,}: {100 * shown['confidence']:.1f} % sure" if "confidence" in shown else ""
    return (
        f"<figure{f' id={anchor}' if anchor else ''}><figcaption>{where}{sure}</figcaption>"
        f'<blockquote class="passage">{passage}</blockquote></figure>'
    )


def _file(name: str, shown: str, links: bool) -> str:
    """A file of the output, which is beside the folder of the report."""
    return _linked(escape(shown), f"../{quote(name)}") if links else escape(shown)


def _linked(markup: str, target: str) -> str:
    return f'<a href="{escape(target)}">{markup}</a>'


def _moment(iso: str) -> str:
    """
    >>> _moment("2026-11-17T01:02:03+00:00")
    '17 November 2026, 01:02 UTC'
    """
    moment = datetime.fromisoformat(iso)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _duration(seconds: float) -> str:
    """
    >>> _duration(4.26), _duration(75), _duration(7300), _duration(200_000)
    ('4.3 s', '1 min 15 s', '2 h 2 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def _dead_letter_text(number: int) -> str:
    if not number:
        return "None: every document was repaired, or needed no repair."
    return f"{_number(number, 'document')} could not be repaired, and stayed as they were. The first of them:"


def _dead_letters(letters: Sequence[Mapping[str, Any]], links: bool) -> str:
    if not letters:
        return ""
    return "".join(_dead_letter(letter, links) for letter in letters)


def _dead_letter(letter: Mapping[str, Any], links: bool) -> str:
    where = _file(_letters_of(letter["shard"]), f"{letter['shard']}, row {letter['row']:,}", links)
    name = f", {escape(letter['id'])}" if letter["id"] else ""
    why = f"{escape(letter['stage'])}: {escape(letter['error'])}: {escape(letter['message'])}"
    return (
        f"<figure><figcaption>{where}{name}</figcaption>{why}"
        f'<blockquote class="passage"><code>{escape(letter["text"])}</code></blockquote></figure>'
    )


def _throughput_text(files: int) -> str:
    if files <= _SHOWN_SHARDS:
        return "Text per second of one process, file by file, with reading, writing and verifying."
    return f"Text per second of one process, for the {_SHOWN_SHARDS} slowest of {files:,} files."


def _shards(shards: Sequence[Mapping[str, Any]]) -> str:
    shown = shards
    if len(shards) > _SHOWN_SHARDS:
        shown = sorted(shards, key=lambda shard: shard["kilobytes_per_second"])[:_SHOWN_SHARDS]
    return _bars(
        (
            shard["name"],
            shard["kilobytes_per_second"],
            f"{shard['kilobytes_per_second']:,.0f} KB/s · {shard['documents']:,} documents · {shard['edits']:,} edits",
        )
        for shard in shown
    )


def _settings(settings: Mapping[str, Any]) -> str:
    words = {True: "yes", False: "no"}
    rows = [[escape(key), f"<code>{escape(str(words.get(value, value)))}</code>"] for key, value in settings.items()]
    return _table(["setting", "value"], rows, ["short", ""])


def _left_alone(reasons: Sequence[tuple[str, int]]) -> str:
    rows = [[f"{escape(what)} <small>{escape(_WHY.get(what, ''))}</small>", f"{number:,}"] for what, number in reasons]
    return _table(["text", "characters"], rows, ["", "number"]) if rows else "<p>Nothing.</p>"


def _number(number: int, what: str) -> str:
    """
    >>> _number(1, "file"), _number(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """A table whose cells hold markup already. A column is ``number``, ``short`` (never broken), or any text."""

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{f' class={column}' if column else ''}>{value}</{tag}>"
            for value, column in zip(values, columns, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"
