"""Packages that only some commands need, and the extra that brings each."""

from __future__ import annotations

import importlib.util

from respace.storage.errors import BadOption
from respace.storage.installing import install_hint

EXTRAS = {
    "matplotlib": "speed",
    "pdfminer": "pdf",
    "pypdfium2": "pdf",
    "spylls": "spelling",
    "starlette": "web",
    "symspellpy": "spelling",
    "tensorboard": "train",
    "uvicorn": "web",
    "wordsegment": "baselines",
}


def require(package: str, wanted_by: str) -> None:
    """Fails at once, not when the package is first needed, which may be hours later.

    Args:
        package: its name when it is imported.
        wanted_by: the command or option that needs it, for the message.

    Raises:
        BadOption: it is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise missing(package, wanted_by)


def missing(package: str, wanted_by: str) -> BadOption:
    return BadOption(f"{wanted_by} needs the package {package}. Run: {install_hint(EXTRAS[package])}")
