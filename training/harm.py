"""Harm: what a model changes in text that is right as it is.

    python -m training.harm --nonprose nonprose.parquet --must_stay $RESPACE_DATA/harm/must_stay.tsv

Prints false edits per 10,000 characters by kind, on the rows that `training.data.held_out` keeps for measuring, and the
lines of a list that must come out as they went in and do not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from respace import gaps
from respace.repairer import Repair, Repairer
from training.data.held_out import kept_for_measuring

_BATCH = 256
_CONTEXT = 28
_COLUMNS = ("kind", "text")


@dataclass
class Harm:
    """False edits in the texts of one kind."""

    texts: int = 0
    characters: int = 0
    edits: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def per_10000_characters(self) -> float:
        return 10_000 * self.edits / max(1, self.characters)

    def add(self, text: str, repair: Repair, examples: int) -> None:
        self.texts += 1
        self.characters += len(text)
        self.edits += len(repair.edits)
        self.examples += shown_edits(text, repair)[: max(0, examples - len(self.examples))]


def shown_edits(text: str, repair: Repair) -> list[str]:
    """Each edit with what stands around it: ``[+]`` is an inserted space, ``[-]`` a deleted one.

    >>> from respace import Edit
    >>> shown_edits("created_at 1", Repair("created_at1", [Edit(10, "deletion")]))
    ['created_at[-]1']
    """
    characters, bits = gaps.split(text)
    shown = []
    for edit in repair.edits:
        start, stop = max(0, edit.gap - _CONTEXT), edit.gap + _CONTEXT
        before = gaps.join(characters[start : edit.gap], bits[start : edit.gap])
        after = gaps.join(characters[edit.gap : stop], bits[edit.gap : stop])
        shown.append(f"{before}{'[+]' if edit.kind == 'insertion' else '[-]'}{after}")
    return shown


def read_kinds(path: str, rows: int | None = None) -> dict[str, list[str]]:
    """The kept texts of each kind, at most ``rows`` of each.

    Raises:
        ValueError: a column is missing.
    """
    names = pq.read_schema(path).names
    for column in _COLUMNS:
        if column not in names:
            raise ValueError(f"{path} has no column {column!r}; it has {', '.join(names)}")
    table = pq.read_table(path, columns=list(_COLUMNS))
    kinds: dict[str, list[str]] = {}
    for kind, text in zip(table.column("kind").to_pylist(), table.column("text").to_pylist(), strict=True):
        if kept_for_measuring(text):
            kinds.setdefault(kind, []).append(text)
    return {kind: texts[:rows] for kind, texts in sorted(kinds.items())}


def read_must_stay(path: str) -> list[tuple[str, str]]:
    """(kind, text) of a TSV file with these two columns and a header."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    return [(kind, text) for kind, tab, text in (line.partition("\t") for line in lines[1:]) if tab]


def measure(repairer: Repairer, kinds: dict[str, list[str]], examples: int = 0) -> Iterator[tuple[str, Harm]]:
    """Harm by kind."""
    for kind, texts in kinds.items():
        harm = Harm()
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            for text, repair in zip(batch, repairer.repair_with_edits(batch), strict=True):
                harm.add(text, repair, examples)
        yield kind, harm


def changed_lines(repairer: Repairer, lines: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(kind, before, after) of the lines that do not stay as they are."""
    after = repairer.repair([text for _, text in lines])
    return [(kind, text, new) for (kind, text), new in zip(lines, after, strict=True) if new != text]


def print_kinds(measured: Iterable[tuple[str, Harm]]) -> None:
    print(f"{'kind':24}{'texts':>7}{'characters':>12}{'false edits':>13}{'per 10,000':>12}", flush=True)
    rates = []
    for kind, harm in measured:
        rates.append(harm.per_10000_characters)
        print(
            f"{kind:24}{harm.texts:7,}{harm.characters:12,}{harm.edits:13,}{harm.per_10000_characters:12.2f}",
            *(f"    {example}" for example in harm.examples),
            sep="\n",
            flush=True,
        )
    above = sum(rate > 1 for rate in rates)
    print(f"mean over {len(rates)} kinds {sum(rates) / max(1, len(rates)):.2f}; {above} kinds above 1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nonprose", help="Parquet with the columns kind and text, all of it right as it is")
    parser.add_argument("--must_stay", help="TSV with the columns kind and text")
    parser.add_argument("--model", default="default", help="a shipped model or a model directory")
    parser.add_argument("--rows", type=int, help="measure at most so many texts of each kind")
    parser.add_argument("--kinds", nargs="+", help="measure only these kinds")
    parser.add_argument("--examples", type=int, default=0, help="show so many false edits of each kind")
    parser.add_argument("--all_text", action="store_true", help="without the judgement of lines; guards stay")
    options = parser.parse_args()
    if not options.nonprose and not options.must_stay:
        parser.error("expected --nonprose, --must_stay, or both")
    try:
        kinds = read_kinds(options.nonprose, options.rows) if options.nonprose else {}
        lines = read_must_stay(options.must_stay) if options.must_stay else []
        repairer = Repairer.load(options.model, all_text=options.all_text)
    except (OSError, ValueError) as error:
        sys.exit(f"training.harm: {error}")
    print(f"model {repairer.method.identity}")
    if options.nonprose:
        wanted = {kind: texts for kind, texts in kinds.items() if not options.kinds or kind in options.kinds}
        print_kinds(measure(repairer, wanted, options.examples))
    if options.must_stay:
        changed = changed_lines(repairer, lines)
        print(f"{len(changed)} of {len(lines)} lines that must stay were changed")
        for kind, before, after in changed:
            print(f"    {kind}: {before}\n    {' ' * len(kind)}  {after}")


if __name__ == "__main__":
    main()
