"""Where corpora and benchmarks are that are not part of the project: ``$RESPACE_DATA``, or ``shared`` beside it."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("RESPACE_DATA") or Path(__file__).resolve().parents[2] / "shared")
