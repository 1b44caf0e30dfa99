"""The text of PDFs, by whatever extractor is there, in a process that can be killed.

A PDF is a program; some never end, some fill the memory. So the extractor runs in a process of its own with limits on
time, memory and output: `extract_text` starts ``pdf_process.py``, which sets its own limits and then becomes poppler's
``pdftotext``, or runs a library from PyPI where poppler is missing. Of those, pypdfium2 is a wheel without dependencies
and six times as fast as pdfminer.six, which is pure Python but finds the paragraphs better (on 18 documents, of the
prose paragraphs 61 % were found in their sources with poppler, 38 % with pdfium, 54 % with pdfminer).
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec

from respace import pdf_process
from respace.pdf_process import ENCRYPTED, OUT_OF_MEMORY
from respace.storage.errors import BadOption, UserError
from respace.storage.installing import install_hint

BACKENDS = ("poppler", "pypdfium2", "pdfminer")
# With this code the system's loader ends a process that has no memory left for a library.
_LOADER_FAILED = 127
_POPPLER_ERROR, _POPPLER_PASSWORD = 1, "Incorrect password"
_MODULES = {"pypdfium2": "pypdfium2", "pdfminer": "pdfminer"}


class PdfError(ValueError):
    """A PDF whose text could not be had, and why."""


@dataclass(frozen=True, kw_only=True)
class PdfLimits:
    """What the text of one PDF may cost."""

    seconds: float = 60.0
    memory_bytes: int = 2 << 30
    output_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        for name in ("seconds", "memory_bytes", "output_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} {getattr(self, name)}: expected more than 0")


def choose_backend(wanted: str = "auto") -> str:
    """The extractor to use; ``auto`` is poppler where it is installed.

    Raises:
        BadOption: it is not installed, or there is none of that name.
        UserError: nothing limits a process on this system.
    """
    if find_spec("resource") is None:
        raise UserError("PDFs are not read on this system: it cannot limit a process. Extract their text elsewhere")
    there = [name for name in BACKENDS if _is_there(name)]
    if wanted == "auto":
        if not there:
            how = f"Install poppler-utils, or run: {install_hint('pdf')}"
            raise BadOption(f"--pdf_backend auto: none is installed. {how}")
        return there[0]
    if wanted not in BACKENDS:
        raise BadOption(f"--pdf_backend {wanted}: expected auto, {', '.join(BACKENDS)}")
    if wanted not in there:
        how = {"poppler": "apt-get install poppler-utils", "pdfminer": "pip install pdfminer.six"}.get(
            wanted, f"pip install {wanted}"
        )
        raise BadOption(f"--pdf_backend {wanted}: not installed. Install it ({how}), or use one of: {', '.join(there)}")
    return wanted


def extract_text(pdf: bytes, backend: str, limits: PdfLimits | None = None) -> str:
    """The text of a PDF, pages separated by form feeds.

    Raises:
        PdfError: it is damaged, encrypted or without text, or its extraction reached a limit.
    """
    limits = limits or PdfLimits()
    if not pdf.strip():
        raise PdfError("the file is empty")
    with tempfile.TemporaryDirectory(prefix="respace-") as folder:
        path = os.path.join(folder, "paper.pdf")
        with open(path, "wb") as stream:
            stream.write(pdf)
        # As a script, not as a module: the package would be imported, and take memory that is the extractor's.
        command = [sys.executable, "-P", pdf_process.__file__, backend]
        command += [str(limits.memory_bytes), str(limits.seconds), path]
        before = _children_seconds()
        output, errors, code = _run_limited(command, limits)
    if code:
        raise PdfError(_explain(errors, code, _children_seconds() - before, limits))
    text = output.decode("utf-8", "replace")
    if not text.strip():
        raise PdfError("it holds no text: scanned pages need OCR first")
    return text


def _is_there(backend: str) -> bool:
    return bool(shutil.which("pdftotext")) if backend == "poppler" else find_spec(_MODULES[backend]) is not None


def _run_limited(command: list[str], limits: PdfLimits) -> tuple[bytes, bytes, int]:
    """Runs a command in a session of its own, and ends the whole session at the first limit it reaches."""
    deadline = time.monotonic() + limits.seconds
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    found: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, "out")
            selector.register(process.stderr, selectors.EVENT_READ, "err")
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise PdfError(f"extraction took more than {limits.seconds:g} s")
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data == "out" or len(found["err"]) < 10_000:
                        found[key.data] += data
                if len(found["out"]) > limits.output_bytes:
                    raise PdfError(f"its text is longer than {limits.output_bytes} bytes")
        code = process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise PdfError(f"extraction took more than {limits.seconds:g} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        process.stderr.close()
    return bytes(found["out"]), bytes(found["err"]), code


def _explain(errors: bytes, code: int, processor_seconds: float, limits: PdfLimits) -> str:
    said = errors.decode("utf-8", "replace").strip().splitlines()
    last = said[-1][:300] if said else ""
    # Poppler has one exit code for all its errors, and says in words that a password is needed.
    if code == ENCRYPTED or (code == _POPPLER_ERROR and last.endswith(_POPPLER_PASSWORD)):
        return "it is encrypted and needs a password"
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and processor_seconds >= round(limits.seconds)):
        return "extraction was stopped by the limit on its time"
    if code == -signal.SIGKILL:
        return "extraction was killed, most often because the machine's memory ran out. Fewer --local_workers need less"
    if code in (OUT_OF_MEMORY, _LOADER_FAILED, -signal.SIGABRT, -signal.SIGSEGV):
        return f"extraction ran out of memory or crashed (exit code {code}): {last}"
    return f"it cannot be read (exit code {code}): {last}"


def _children_seconds() -> float:
    """Processor time of all processes that this one has waited for."""
    used = os.times()
    return used.children_user + used.children_system
