"""Bytes to text for the command: what is refused, what is extracted, and what is kept although it is not UTF-8.

Files and standard input share these checks. Bytes that are not UTF-8 become lone surrogates (``surrogateescape``), so
that `encode` gives every one of them back.

>>> encode(decode(b"caf\\xe9")), not_utf8_warning("a.txt", decode(b"one\\ncaf\\xe9"))[:39]
(b'caf\\xe9', 'a.txt: line 2 is not UTF-8 (byte 0xE9).')
"""

from __future__ import annotations

import re

from respace.pdf import PdfError, choose_backend, extract_text
from respace.storage.errors import BadOption, UserError
from respace.storage.installing import install_hint

STANDARD_INPUT = "standard input"
BOM = "\ufeff"
# A text file has no zero byte, and a file of another kind has one early.
LOOKED_AT = 1 << 16
_PDF, _PARQUET = b"%PDF-", b"PAR1"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def is_pdf(start: bytes) -> bool:
    return start.startswith(_PDF)


def check_is_text(name: str, start: bytes) -> None:
    """Refuses what is not text, by its first bytes.

    Raises:
        UserError: with what it is instead.
    """
    if start.startswith(_PARQUET):
        raise UserError(
            f"{name}: a Parquet file. Repair it with: python -m pipelines.repair_corpus --input FILE --output DIRECTORY"
        )
    if start.startswith(_UTF_16):
        raise UserError(f"{name}: UTF-16 text. Convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8")
    if b"\0" in start[:LOOKED_AT]:
        raise UserError(f"{name} is not a text file: it has zero bytes. Convert it to UTF-8 text first")


def pdf_text(name: str, content: bytes) -> str:
    """The text of a PDF.

    Raises:
        UserError: it has none, or nothing is installed that extracts it.
    """
    try:
        return extract_text(content, choose_backend())
    except BadOption as error:
        raise UserError(
            f"{name} is a PDF, and nothing is installed that extracts its text. Install poppler-utils, or run: "
            f"{install_hint('pdf')}"
        ) from error
    except PdfError as error:
        raise UserError(f"{name}: {error}") from error


def file_text(name: str, may_be_pdf: bool = True) -> str:
    """The text of a file, or of a PDF.

    Raises:
        UserError: it has none.
    """
    with open(name, "rb") as stream:
        content = stream.read()
    if is_pdf(content):
        if not may_be_pdf:
            raise UserError(f"{name} is a PDF, which cannot be replaced by its text. Give -o FILE")
        return pdf_text(name, content)
    check_is_text(name, content)
    return decode(content)


def decode(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def not_utf8_warning(name: str, text: str, first_line: int = 1) -> str | None:
    """One line about the first byte that is not UTF-8, if there is one.

    Args:
        name: of the file.
        text: decoded.
        first_line: the number of the text's first line in the file.
    """
    found = _NOT_UTF8.search(text)
    if found is None:
        return None
    line, byte = first_line + text.count("\n", 0, found.start()), ord(found[0]) - 0xDC00
    return (
        f"{name}: line {line} is not UTF-8 (byte 0x{byte:X}). Such bytes and the spaces next to them are kept as they "
        "are. Convert the file to UTF-8 to have these repaired, too"
    )
