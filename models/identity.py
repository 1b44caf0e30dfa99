"""What decides how a model repairs, in one line: the same in manifests, in provenance and in reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_identity(
    name: str, sha256: str, insertion_penalty: float, deletion_penalty: float, **settings: object
) -> str:
    """
    >>> model_identity("bid", "0123456789abcdef0123", 2.5, 3.0, beams=5)
    'bid@0123456789abcdef insertion_penalty=2.5 deletion_penalty=3 beams=5'

    Args:
        name: of the model.
        sha256: of its files.
        insertion_penalty, deletion_penalty: those that are in force.
        settings: whatever else decides.
    """
    others = "".join(f" {key}={value}" for key, value in settings.items())
    return f"{name}@{sha256[:16]} insertion_penalty={insertion_penalty:g} deletion_penalty={deletion_penalty:g}{others}"


def penalties_in_force(
    config: Mapping[str, Any], insertion_penalty: float | None, deletion_penalty: float | None
) -> tuple[float, float]:
    """The given penalties; the model's own where none is given."""
    own = config["penalties"]
    return (
        own["insertion"] if insertion_penalty is None else insertion_penalty,
        own["deletion"] if deletion_penalty is None else deletion_penalty,
    )
