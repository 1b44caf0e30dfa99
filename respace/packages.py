"""Our packages have plain names at the top level, and another package of such a name may hide one of them."""

from __future__ import annotations

import importlib.util
import os

PACKAGES = ("models", "pipelines", "runners", "training", "transforms", "webapp")


def hidden_package() -> str | None:
    """What hides one of our packages, in one line; None if nothing does."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        found = os.path.dirname(spec.origin) if spec is not None and spec.origin else None
        if found is not None and os.path.realpath(found) != os.path.realpath(os.path.join(root, name)):
            return (
                f"{found} hides the package {name} of respace in {root}. "
                "Run from another folder, or give respace a virtual environment of its own"
            )
    return None
