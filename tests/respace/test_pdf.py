"""Text from PDFs by the real extractors; hostile PDFs end in an error, never in a hang."""

from __future__ import annotations

import os
import signal
import time

import pytest

from respace.latex.pdf_text import is_prose, paragraphs
from respace.pdf import (
    BACKENDS,
    PdfError,
    PdfLimits,
    _explain,
    _is_there,
    choose_backend,
    extract_text,
)
from respace.pdf_process import OUT_OF_MEMORY
from respace.storage.errors import BadOption
from tests.respace.pdfs import make_encrypted_pdf, make_endless_pdf, make_pdf

LINES = ["A line of the first paragraph, which is", "ended by this one.", "", "Another paragraph, F (R, T ) too."]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    if not _is_there(request.param):
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def test_paragraphs_of_a_pdf(backend: str) -> None:
    text = extract_text(make_pdf(LINES), backend)
    assert "".join(text.split()) == "".join("".join(LINES).split())
    assert list(paragraphs(text)) == [
        "A line of the first paragraph, which is ended by this one.",
        "Another paragraph, F (R, T ) too.",
    ]


@pytest.mark.parametrize(
    ("pdf", "message"),
    [
        (b"", "empty"),
        (b"no PDF at all", "cannot be read"),
        (make_pdf(LINES)[:200], "cannot be read"),
        (make_encrypted_pdf(), "encrypted"),
        (make_pdf([]), "no text"),
    ],
    ids=["empty", "garbage", "truncated", "encrypted", "without text"],
)
def test_bad_pdfs(backend: str, pdf: bytes, message: str) -> None:
    with pytest.raises(PdfError, match=message):
        extract_text(pdf, backend)


def test_an_endless_pdf_is_killed() -> None:
    started = time.monotonic()
    with pytest.raises(PdfError, match=r"took more than 2 s|limit on its time"):
        extract_text(make_endless_pdf(), choose_backend(), PdfLimits(seconds=2))
    assert time.monotonic() - started < 20
    assert not [name for name in _commands() if "pdf_process" in name and str(os.getpid()) in name]


def test_memory_is_limited() -> None:
    with pytest.raises(PdfError, match="ran out of memory"):
        extract_text(make_endless_pdf(), choose_backend(), PdfLimits(seconds=20, memory_bytes=64 << 20))


def test_output_is_limited() -> None:
    lines = ["0123456789 " * 8] * 50
    with pytest.raises(PdfError, match="longer than 1000 bytes"):
        extract_text(make_pdf(lines), choose_backend(), PdfLimits(output_bytes=1000))


def test_an_unknown_backend() -> None:
    with pytest.raises(BadOption, match="--pdf_backend tika: expected auto, poppler, pypdfium2, pdfminer"):
        choose_backend("tika")


def test_a_backend_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadOption, match=r"poppler: not installed\. Install it \(apt-get install poppler-utils\)"):
        choose_backend("poppler")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("one\n\n\ntwo\x0cthree", ["one", "two", "three"]),
        ("ﬁrst ﬂow of eﬀects", ["first flow of effects"]),
        ("a long line that goes on and on\nshort.\nanother line that goes on and on\nend", [
            "a long line that goes on and on short.", "another line that goes on and on end"]),
        ("hy\ufffe\r\nphen", ["hyphen"]),
        ("soft\u00adhyphen", ["softhyphen"]),
    ],
)  # fmt: skip
def test_paragraphs(text: str, expected: list[str]) -> None:
    assert list(paragraphs(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a" * 60, True), ("a" * 59, False), ("a" * 45 + "1" * 15, True), ("a" * 44 + "1" * 16, False), ("", False)],
)
def test_prose(text: str, expected: bool) -> None:
    assert is_prose(text) is expected


def _commands() -> list[str]:
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as stream:
                found.append(stream.read().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_a_killed_extractor_is_not_always_blamed_on_time() -> None:
    limits = PdfLimits(seconds=10)
    assert "limit on its time" in _explain(b"", -signal.SIGXCPU, 10.0, limits)
    assert "limit on its time" in _explain(b"", -signal.SIGKILL, 11.0, limits)
    assert "memory ran out" in _explain(b"", -signal.SIGKILL, 0.5, limits)
    assert "ran out of memory" in _explain(b"MemoryError", OUT_OF_MEMORY, 0.5, limits)
