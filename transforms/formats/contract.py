"""What every format of files can do, and what lies in its files: documents.

A format is one file in this folder: a class with the methods of `ShardFormat`, and a line in
`transforms.formats.registry`. Nobody else asks what kind of file a file is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from respace.gaps import Edit
from respace.judgement import LeftAlone
from respace.storage.files import InputFile
from transforms.formats.provenance import ORIGINAL, PROVENANCE_COLUMNS, KeptEdit
from transforms.shards.dead_letters import DeadLetter

# Rows of a Parquet file, bytes of a line-based one; an end of -1 is the end of the file.
Range = tuple[int, int]
WHOLE: Range = (0, -1)


class Slice(NamedTuple):
    """One stretch of a file, and about how much text is in it."""

    span: Range
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    Args:
        row: its row or line, counted from 0.
        text: what to repair; None where there is nothing to repair.
        id: its identifier, if the input has any.
        problem: why it could not be read.
        original: what it was, where it could not be read as text.
    """

    row: int
    text: str | None
    id: str | None = None
    problem: Exception | None = None
    original: bytes | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document. Without edits its text stays as it is, byte by byte."""

    text: str | None
    edits: Sequence[Edit] = ()
    dead_letter: DeadLetter | None = None
    left_alone: Sequence[LeftAlone] = ()


class EditedDocument(NamedTuple):
    """One document of an output, and the edits that made it."""

    document: Document
    edits: Sequence[KeptEdit]


RepairDocuments = Callable[[Sequence[Document]], list[Outcome]]


class DocumentTooLarge(ValueError):
    """A document above the size cap."""

    def __init__(self, size: int, limit: int):
        super().__init__(f"{size} bytes, more than --max_document_megabytes {limit >> 20} allows")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """How documents lie in files.

    Args:
        text_column: column or member that holds the text, or the way to it with dots in between.
        id_column: column or member that holds an identifier.
        text_unit: whether a text file is one ``document``, or every ``line`` is.
        text_suffixes: what else, beside ``.txt``, is a text file.
        keep_original: add the text as it was.
        provenance: add what was changed.
        refuse_repaired: a file that has what we add is an output of ours, and not to be repaired again.
        max_document_bytes: a longer document is left alone.
        chunk_bytes: how much of a line-based file to hold at once.
        copied: names of files that go along as they are, whatever kind they seem to be.
        copy_others: a file of a kind that no format knows goes along as it is.
    """

    text_column: str = "text"
    id_column: str | None = None
    text_unit: str = "document"
    text_suffixes: tuple[str, ...] = ()
    keep_original: bool = False
    provenance: bool = False
    refuse_repaired: bool = True
    max_document_bytes: int = 256 << 20
    chunk_bytes: int = 1 << 20
    copied: frozenset[str] = frozenset()
    copy_others: bool = False

    @property
    def added(self) -> tuple[str, ...]:
        return (PROVENANCE_COLUMNS if self.provenance else ()) + ((ORIGINAL,) if self.keep_original else ())


class Retried(Protocol):
    """Which documents of an output are to be tried again, and how."""

    @property
    def model(self) -> str: ...

    def chosen(self, rows: Sequence[int]) -> list[int]:
        """Places of those among some rows."""

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]: ...


class ShardFormat(Protocol):
    """What every format can do with a file."""

    @property
    def title(self) -> str:
        """What the file is taken for. Another one gives another output."""

    @property
    def has_sidecar(self) -> bool:
        """Whether what repair adds goes to a file of its own, because there are no columns to add."""

    @property
    def rows_are_absolute(self) -> bool:
        """Whether rows of a part are counted as in the whole file; if not, from the part's beginning."""

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        """Stretches of about so much text; one if it is small or cannot be cut. Raises BadFile for another format."""

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        """The documents of a stretch, some at a time, with the place of each: its row, or the byte it begins at."""

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        """Writes the repaired stretch to a local path, and returns how many documents that were."""

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        """Re-reads what was written and compares it with the input; returns how many documents there are."""

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        """Puts repaired stretches (local paths) together."""

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        """Writes an output again, with some of its documents repaired and all others as they are."""

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        """The documents of an output with provenance, and what was changed in each. Raises BadFile as `revert` does."""

    def revert(self, file: InputFile, path: str) -> int:
        """Writes an output with provenance back as the input it was; returns how many documents there are."""
