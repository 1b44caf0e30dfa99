"""LaTeX documents as input: directories, loose files, archives, and Parquet files of sources, each with its PDF if any.

Archives are read member by member in memory. Nothing is ever unpacked to disk, so a member's path is only a name; those
that are absolute, climb out with ``..``, or are links or devices are passed over and counted.
"""

from __future__ import annotations

import posixpath
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import BinaryIO, cast

from respace.latex.project import decode
from respace.storage.compression import Limits, compression_of, open_decompressed
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input

_TEX = (".tex", ".ltx", ".sty", ".cls", ".latex")
_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar", ".gz")
SOURCE_SUFFIXES = (*_TEX, *_ARCHIVES, ".pdf", ".parquet")
_MEMBER_KINDS = re.compile(r"\.(?:tex|ltx|latex|sty|cls|def)\Z|(?:\A|/)[^./]+\Z", re.IGNORECASE)
_VERSION = re.compile(r"v\d+\Z")


@dataclass(frozen=True, kw_only=True)
class SourceLimits:
    """What one document may hold."""

    archive: Limits = field(default_factory=lambda: Limits(max_bytes=512 << 20, max_ratio=200))
    file_bytes: int = 64 << 20
    text_bytes: int = 128 << 20
    pdf_bytes: int = 256 << 20
    members: int = 20_000


@dataclass(frozen=True, kw_only=True)
class SourceDocument:
    """Where a document's files are."""

    id: str
    sources: tuple[InputFile, ...]
    pdf: InputFile | None = None

    @property
    def size(self) -> int:
        return sum(file.size for file in self.sources) + (self.pdf.size if self.pdf else 0)


@dataclass(kw_only=True)
class LatexDocument:
    """A document's files, read.

    Args:
        id: its name.
        source: what it belongs to, such as a repository: documents of one source may share text.
        files: LaTeX text by path.
        library: more files that it may read.
        pdf: the PDF made from it.
        passed_over: members of its archive that were not read, by reason.
    """

    id: str
    source: str
    files: dict[str, str]
    library: dict[str, str] = field(default_factory=dict)
    pdf: bytes | None = None
    passed_over: Counter[str] = field(default_factory=Counter)


def group_documents(files: Iterable[InputFile]) -> list[SourceDocument]:
    """Puts files together into documents, sorted by their names.

    An archive is a document; its PDF has the same name. Loose files belong to the nearest directory above them that has
    a PDF, or else to the first directory of their path; where a directory has several PDFs, each belongs to the file of
    its own name.
    """
    pdfs: dict[str, dict[str, InputFile]] = defaultdict(dict)
    archives: list[InputFile] = []
    loose: list[InputFile] = []
    for file in files:
        lowered = file.name.lower()
        if lowered.endswith(".pdf"):
            folder, name = posixpath.split(file.name)
            pdfs[folder][name[:-4]] = file
        elif lowered.endswith(_ARCHIVES):
            archives.append(file)
        elif lowered.endswith(_TEX):
            loose.append(file)
    documents = [_archive_document(file, pdfs) for file in archives]
    documents += _loose_documents(loose, pdfs)
    return sorted(documents, key=lambda document: document.id)


def _archive_document(file: InputFile, pdfs: dict[str, dict[str, InputFile]]) -> SourceDocument:
    folder, name = posixpath.split(file.name)
    stem = name[: -len(next(suffix for suffix in _ARCHIVES if name.lower().endswith(suffix)))]
    stem = stem.removesuffix(".tex")
    there = pdfs.get(folder, {})
    same = [name for name in there if name == stem or _VERSION.sub("", name) == _VERSION.sub("", stem)]
    pdf = there.pop(same[0]) if same else None
    return SourceDocument(id=posixpath.join(folder, stem), sources=(file,), pdf=pdf)


def _loose_documents(loose: Sequence[InputFile], pdfs: dict[str, dict[str, InputFile]]) -> Iterator[SourceDocument]:
    groups: dict[str, list[InputFile]] = defaultdict(list)
    for file in loose:
        folder = posixpath.dirname(file.name)
        home = folder
        while home and not pdfs.get(home):
            home = posixpath.dirname(home)
        groups[home if pdfs.get(home) else folder.split("/")[0]].append(file)
    for folder, files in groups.items():
        there = pdfs.get(folder, {})
        if len(there) <= 1:
            yield SourceDocument(
                id=folder or next(iter(there), "."), sources=tuple(files), pdf=next(iter(there.values()), None)
            )
            continue
        by_stem = {posixpath.splitext(posixpath.basename(file.name))[0]: file for file in files}
        others = tuple(file for stem, file in by_stem.items() if stem not in there)
        for stem in sorted(there.keys() & by_stem.keys()):
            yield SourceDocument(id=posixpath.join(folder, stem), sources=(by_stem[stem], *others), pdf=there[stem])


def read_document(document: SourceDocument, limits: SourceLimits, *, with_pdf: bool) -> LatexDocument:
    """Reads a document's files.

    Raises:
        BadFile: one of them is damaged or too large, or there is no LaTeX in them.
    """
    found = LatexDocument(id=document.id, source=document.id, files={})
    for file in document.sources:
        if file.name.lower().endswith(_ARCHIVES):
            _read_archive(file, limits, found)
        else:
            found.files[file.name] = decode(_read(file, limits.file_bytes))
    if not found.files:
        raise BadFile(f"{document.sources[0].url}: no LaTeX in it. Expected files ending in {', '.join(_TEX)}")
    if with_pdf and document.pdf is not None:
        found.pdf = _read(document.pdf, limits.pdf_bytes)
    return found


def _read(file: InputFile, most: int) -> bytes:
    if file.size > most:
        raise BadFile(f"{file.url}: {file.size} bytes. Expected at most {most}")
    with open_input(file) as stream:
        return stream.read()


def _read_archive(file: InputFile, limits: SourceLimits, found: LatexDocument) -> None:
    """A tar, or one compressed file: the suffix .gz stands for both on arXiv."""
    name = re.sub(r"\.tgz\Z", ".tar.gz", file.url, flags=re.IGNORECASE)
    with open_input(file) as raw, open_decompressed(raw, name, limits.archive) as opened:
        stream = opened if compression_of(name) else cast(BinaryIO, _Capped(opened, file.url, limits.archive.max_bytes))
        head = stream.read(512)
        if head[257:262] == b"ustar":
            _read_members(_Rejoined(head, stream), file, limits, found)
            return
        if ".tar" in posixpath.basename(name).lower() and head.strip(b"\0"):
            raise BadFile(f"{file.url}: no tar archive. Is it damaged? Fetch it again")
        text = head + stream.read(limits.file_bytes)
        if len(text) > limits.file_bytes:
            raise BadFile(f"{file.url}: more than {limits.file_bytes} bytes of LaTeX")
        if b"\\" in text and b"\0" not in text:
            inner = posixpath.basename(name)[:-3]
            found.files[inner if inner.endswith(_TEX) else inner + ".tex"] = decode(text)


def _read_members(stream: _Rejoined, file: InputFile, limits: SourceLimits, found: LatexDocument) -> None:
    total = count = 0
    try:
        with tarfile.open(fileobj=cast(BinaryIO, stream), mode="r|") as archive:
            for member in archive:
                count += 1
                if count > limits.members:
                    raise BadFile(f"{file.url}: more than {limits.members} members")
                reason = _reason_to_pass_over(member, limits)
                if reason:
                    found.passed_over[reason] += 1
                    continue
                content = archive.extractfile(member)
                assert content is not None
                data = content.read()
                if "." not in posixpath.basename(member.name) and b"\\documentclass" not in data:
                    found.passed_over["other kind of file"] += 1
                    continue
                total += len(data)
                if total > limits.text_bytes:
                    raise BadFile(f"{file.url}: more than {limits.text_bytes} bytes of LaTeX")
                found.files[posixpath.normpath(member.name)] = decode(data)
    except tarfile.TarError as error:
        raise BadFile(f"{file.url}: damaged tar archive ({error}). Fetch it again") from error


def _reason_to_pass_over(member: tarfile.TarInfo, limits: SourceLimits) -> str | None:
    if member.issym() or member.islnk():
        return "link"
    if member.isdir():
        return "directory"
    if not member.isfile():
        return "device"
    if not _is_inside(member.name):
        return "path outside the archive"
    if not _MEMBER_KINDS.search(member.name):
        return "other kind of file"
    return "too large" if member.size > limits.file_bytes else None


def _is_inside(name: str) -> bool:
    return not name.startswith(("/", "\\")) and ".." not in re.split(r"[/\\]", name)


class _Rejoined:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: BinaryIO):
        self._head, self._rest = BytesIO(head), rest

    def read(self, size: int) -> bytes:
        return self._head.read(size) or self._rest.read(size)


class _Capped:
    """An uncompressed archive is bounded too: a sparse file claims any size."""

    def __init__(self, stream: BinaryIO, url: str, most: int):
        self._stream, self._url, self._left = stream, url, most

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise BadFile(f"{self._url}: larger than the limit for archives")
        return data
