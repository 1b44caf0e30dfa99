"""The process that extracts the text of one PDF: it limits itself, then becomes the extractor.

It imports nothing of the project, so that all the memory it may have is the extractor's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

# What the process says by its exit code, so that nobody need understand its messages.
ENCRYPTED, OUT_OF_MEMORY = 71, 72
_PDFIUM_PASSWORD = 4  # FPDF_ERR_PASSWORD


def _extract_with_pdfium(path: str) -> Iterator[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    for number in range(len(document)):
        yield document[number].get_textpage().get_text_bounded() + "\n\n"


def _extract_with_pdfminer(path: str) -> Iterator[str]:
    from pdfminer.high_level import extract_text as extract_all

    yield extract_all(path)


def _main(backend: str, memory_bytes: str, seconds: str, path: str) -> None:
    """What the child process does: limit itself, then extract to standard output."""
    import resource  # not on Windows, where no PDF is read but the constants above are

    processor_seconds = max(1, round(float(seconds)))
    resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if backend == "poppler":
        os.execvp("pdftotext", ["pdftotext", "-enc", "UTF-8", path, "-"])
    extract = _extract_with_pdfium if backend == "pypdfium2" else _extract_with_pdfminer
    try:
        for text in extract(path):
            sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\f")
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # one line, without the stack
        sys.exit(ENCRYPTED if _needs_password(error) else 1)


def _needs_password(error: Exception) -> bool:
    if getattr(error, "err_code", None) == _PDFIUM_PASSWORD:
        return True
    pdfminer = sys.modules.get("pdfminer.pdfdocument")
    return pdfminer is not None and isinstance(error, pdfminer.PDFEncryptionError | pdfminer.PDFPasswordIncorrect)


if __name__ == "__main__":
    _main(*sys.argv[1:])
