"""Configurations of training: JSON files that may name environment variables, ``$RESPACE_DATA`` above all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

DATA = "RESPACE_DATA"


def read_settings(path: str | Path) -> dict[str, Any]:
    """The content of a configuration, with variables in its strings replaced.

    Raises:
        ValueError: it is not a JSON object, or names a variable that is not set.
    """
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object with the settings, found {type(values).__name__}")
    replaced: dict[str, Any] = _replaced(values, str(path))
    return replaced


def data_folder() -> str | None:
    """Where corpora and benchmarks are, see docs/data.md; None where nobody said."""
    return os.environ.get(DATA)


def _replaced(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(one, path) for key, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, path) for one in value]
    if isinstance(value, str) and f"${DATA}" in value:
        if data_folder() is None:
            raise ValueError(f"{path} names {value}, but {DATA} is not set: export {DATA}=FOLDER, see docs/data.md")
        return value.replace(f"${DATA}", str(data_folder()))
    return value
