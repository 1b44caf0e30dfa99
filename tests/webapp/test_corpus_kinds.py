"""Every kind of file that the job repairs can be reviewed: a rejected edit is not made by the next run."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.repair_corpus import main as repair_corpus
from tests.transforms.corpora import RULES
from transforms.repair.review import read_review
from webapp.corpus import Corpus

GIVEN = '\u00fc <b>ofthe</b> "others", a x\nofthe end'
REPAIRED = '\u00fc <b>of the</b> "others", ax\nof the end'
REVIEWED = '\u00fc <b>of the</b> "others", ax\nofthe end'


def as_csv(text: str, **dialect: Any) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, **dialect).writerows([["id", "text"], ["1", "fine"], ["2", text]])
    return stream.getvalue().encode()


def of_csv(content: bytes, **dialect: Any) -> Any:
    return list(csv.DictReader(io.StringIO(content.decode(), newline=""), **dialect))[1]["text"]


def as_parquet(*rows: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def of_parquet(content: bytes) -> Any:
    return pq.read_table(io.BytesIO(content)).to_pylist()[1]


def as_lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@dataclass(frozen=True)
class Kind:
    """How a file is written with a text in its second document, and how that text is read by others than us."""

    name: str
    write: Callable[[str], bytes]
    read: Callable[[bytes], Any]
    options: tuple[str, ...] = ()
    row: int = 1


KINDS = [
    Kind("a.csv", as_csv, of_csv),
    Kind("semicolons.csv", lambda text: as_csv(text, delimiter=";"), lambda raw: of_csv(raw, delimiter=";")),
    Kind("a.tsv", lambda text: as_csv(text, delimiter="\t"), lambda raw: of_csv(raw, delimiter="\t")),
    Kind("a.csv.gz", lambda text: gzip.compress(as_csv(text)), lambda raw: of_csv(gzip.decompress(raw))),
    Kind(
        "array.json",
        lambda text: json.dumps([{"text": "fine"}, {"text": text}], indent=1).encode(),
        lambda raw: json.loads(raw)[1]["text"],
    ),
    Kind("object.json", lambda text: json.dumps({"text": text}).encode(), lambda raw: json.loads(raw)["text"], row=0),
    Kind(
        "nested.json",
        lambda text: json.dumps([{"doc": {"text": "fine"}}, {"doc": {"text": text}}]).encode(),
        lambda raw: json.loads(raw)[1]["doc"]["text"],
        ("--text_column", "doc.text"),
    ),
    Kind(
        "nested.jsonl",
        lambda text: as_lines({"doc": {"text": "fine"}}, {"doc": {"text": text}}),
        lambda raw: json.loads(raw.splitlines()[1])["doc"]["text"],
        ("--text_column", "doc.text"),
    ),
    Kind(
        "nested.parquet",
        lambda text: as_parquet({"doc": {"text": "fine", "n": 1}}, {"doc": {"text": text, "n": 2}}),
        lambda raw: of_parquet(raw)["doc"]["text"],
        ("--text_column", "doc.text"),
    ),
    Kind(
        "list.jsonl",
        lambda text: as_lines({"text": ["fine"]}, {"text": ["of", "the ofthe", text]}),
        lambda raw: json.loads(raw.splitlines()[1])["text"][2],
    ),
    Kind(
        "list.parquet",
        lambda text: as_parquet({"text": ["fine", None]}, {"text": ["of", None, "the ofthe", text]}),
        lambda raw: of_parquet(raw)["text"][3],
    ),
    Kind(
        "messages.parquet",
        lambda text: as_parquet({"messages": []}, {"messages": [{"by": "a", "content": ["of", text]}]}),
        lambda raw: of_parquet(raw)["messages"][0]["content"][1],
        ("--text_column", "messages.content"),
    ),
    Kind("a.parquet", lambda text: as_parquet({"text": None}, {"text": text}), lambda raw: of_parquet(raw)["text"]),
    Kind("mark.txt", lambda text: b"\xef\xbb\xbf" + text.encode(), lambda raw: raw.decode("utf-8-sig"), row=0),
    Kind("notes.md", str.encode, bytes.decode, ("--text_suffix", ".md"), row=0),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_rejected_edit_is_not_made(kind: Kind, tmp_path: Path) -> None:
    source, output, review = tmp_path / "in", tmp_path / "out", tmp_path / "review.jsonl"
    source.mkdir()
    (source / kind.name).write_bytes(kind.write(GIVEN))
    arguments = ["--input", str(source), "--output", str(output), "--model", RULES, *kind.options]
    arguments += ["--provenance", "--all_text", "--local_workers", "1"]
    assert repair_corpus(arguments) == 0
    assert kind.read((output / kind.name).read_bytes()) == REPAIRED

    corpus = Corpus(str(output), str(review))
    assert corpus.notes() == []
    found = corpus.edits()
    rejected = next(one for one in found if one["after"] == "the end")
    assert (rejected["shard"], rejected["row"], rejected["kind"]) == (kind.name, kind.row, "insertion")
    assert rejected["before"].endswith('<b>of the</b> "others", ax\nof')
    corpus.decide({key: rejected[key] for key in ("shard", "row", "gap", "kind")} | {"decision": "reject"})
    assert read_review(str(review)).keys() == {(kind.name, kind.row)}

    assert repair_corpus([*arguments, "--review", str(review)]) == 0
    assert kind.read((output / kind.name).read_bytes()) == REVIEWED
    left = {(one["row"], one["gap"], one["kind"]) for one in Corpus(str(output), str(review)).edits()}
    assert left == {(one["row"], one["gap"], one["kind"]) for one in found if one is not rejected}


def test_lines_of_a_text(tmp_path: Path) -> None:
    source, output, review = tmp_path / "in", tmp_path / "out", tmp_path / "review.jsonl"
    source.mkdir()
    (source / "a.txt").write_text("fine\none ofthe others\n\nofthe end\n")
    arguments = ["--input", str(source), "--output", str(output), "--model", RULES, "--text_unit", "line"]
    arguments += ["--provenance", "--all_text", "--local_workers", "1"]
    assert repair_corpus(arguments) == 0
    corpus = Corpus(str(output), str(review))
    assert [(one["row"], one["before"], one["after"]) for one in corpus.edits()] == [
        (1, "one of", "the others"),
        (3, "of", "the end"),
    ]
    corpus.decide({"shard": "a.txt", "row": 3, "gap": 2, "kind": "insertion", "decision": "reject"})
    assert repair_corpus([*arguments, "--review", str(review)]) == 0
    assert (output / "a.txt").read_text() == "fine\none of the others\n\nofthe end\n"
