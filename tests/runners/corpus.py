"""A corpus whose files are cut into several parts, and clean text for training shards, from a seed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_WORDS = """the of and to in a is that was for it with as his on be at by had not are but from or have an they which one
you were all her she there would their we him been has when who will no more if out so up said what its about than into
them can only other time new some could these two may first then do any like my now over such our man me even most made
after also did many off before must well back through years much where your way down should because long each just state
those people too mister how little good world make very year still see own work men day get here old life both between
being under three never know same last another while us might great go come since against right came take used himself
few house use during without again place around however home small found thought went say part once general high upon
school every does got united left number course war until always away something fact water though less public put think
almost hand enough took far head yet government system set better told nothing night end called find going look asked
later point knew next program city business give group toward young days let room word within side large
church""".split()


def write_corpus(folder: Path, kilobytes: int, megabytes: float = 2.5) -> None:
    """A JSONL and a Parquet file with so many kilobytes of text each, and a small text file.

    The JSONL file has as many megabytes, most of them beside the text: it is cut into parts, and soon repaired.
    """
    folder.mkdir(parents=True)
    drawn = random.Random(7)
    documents = _documents(drawn, kilobytes)
    beside = "0123456789abcdef" * int(megabytes * (1 << 16) / len(documents))
    lines = [json.dumps({"id": number, "beside": beside, "text": text}) for number, text in enumerate(documents)]
    (folder / "lines.jsonl").write_text("\n".join(lines) + "\n")
    documents = _documents(drawn, kilobytes)
    table = pa.table({"text": documents, "number": range(len(documents))})
    pq.write_table(table, folder / "rows.parquet", row_group_size=len(documents) // 4 + 1)
    (folder / "note.txt").write_text("\n".join(_documents(drawn, 2)))


def write_clean_text(path: Path, sentences: int) -> None:
    path.parent.mkdir(parents=True)
    drawn = random.Random(8)
    path.write_text("".join(f"{_sentence(drawn)}\n" for _ in range(sentences)))


def _documents(drawn: random.Random, kilobytes: int) -> list[str]:
    documents: list[str] = []
    size = 0
    while size < kilobytes << 10:
        text = " ".join(_disturbed(drawn, _sentence(drawn)) for _ in range(8))
        documents.append(text)
        size += len(text)
    return documents


def _sentence(drawn: random.Random) -> str:
    words = drawn.choices(_WORDS, k=drawn.randint(6, 14))
    return " ".join(words).capitalize() + "."


def _disturbed(drawn: random.Random, sentence: str) -> str:
    """Some spaces lost, some words broken."""
    kept = ["" if one == " " and drawn.random() < 0.1 else one for one in sentence]
    return "".join(one + " " if one.isalpha() and drawn.random() < 0.01 else one for one in kept)
