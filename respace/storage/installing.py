"""How to install the packages of an extra, in one command that works wherever Respace came from.

The packages themselves are named, never ``respace[…]``: on package indexes `respace` is a package of somebody else, and
a checkout or a wheel need not be on any index.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

# The name of the distribution; the packages and the command are called respace.
DISTRIBUTION = "respace-corpus"
_CHECKOUT = Path(__file__).parents[2]


def install_hint(extra: str) -> str:
    """The command that installs what an extra brings.

    >>> install_hint("s3")
    "pip install 's3fs>=2025.9'"
    """
    requirements = _of_checkout(extra, _CHECKOUT) or _of_distribution(extra)
    if not requirements:
        return f"pip install, with the packages of the extra {extra} in Respace's pyproject.toml"
    return f"pip install {' '.join(repr(requirement) for requirement in requirements)}"


def _of_checkout(extra: str, root: Path) -> list[str]:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return []
    return list(project["optional-dependencies"].get(extra, ())) if project["name"] == DISTRIBUTION else []


def _of_distribution(extra: str) -> list[str]:
    try:
        lines = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    split = (line.partition(";") for line in lines)
    return [
        requirement.strip() for requirement, _, marker in split if re.search(rf"extra == ['\"]{extra}['\"]", marker)
    ]
