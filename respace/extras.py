"""Packages that only some commands need, and the extra that brings each."""

from __future__ import annotations

from importlib.util import find_spec

from respace.storage.errors import BadOption
from respace.storage.installing import install_hint

EXTRAS = {
    "matplotlib": "speed",
    "pdfminer": "pdf",
    "pypdfium2": "pdf",
    "spylls": "spelling",
    "starlette": "web",
    "symspellpy": "spelling",
    "uvicorn": "web",
    "wordsegment": "baselines",
}


def missing(package: str, wanted_by: str) -> BadOption:
    """What to do about a package that is not installed.

    Args:
        package: its name when it is imported.
        wanted_by: the command or option that needs it, for the message.
    """
    return BadOption(f"{wanted_by} needs the package {package}. Run: {install_hint(EXTRAS[package])}")


def require(package: str, wanted_by: str) -> None:
    """Raises what `missing` says unless the package is installed; it is not imported."""
    if find_spec(package) is None:
        raise missing(package, wanted_by)
