"""Figures that others published for the public benchmarks, to be shown beside ours. All are of the test halves."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

REMARK = "Published figures are of the test halves of the benchmarks; they are comparable with other halves, not equal."


@cache
def published(figure: str) -> dict[str, dict[str, Any]]:
    """Figures by system and benchmark, in percent.

    >>> published("f_score")["BID+"]["Wiki"], published("spelling")["Google"]["ACL"]
    (98.7, {'corrected': 13.5, 'f_score': 47.7})

    Args:
        figure: ``f_score``, ``sequence_accuracy`` or ``spelling``; others were not published.
    """
    content = json.loads(resources.files("respace").joinpath("published.json").read_text("utf-8"))
    found = content.get(figure, {})
    return found if isinstance(found, dict) else {}
