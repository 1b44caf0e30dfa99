"""`python -m runners.fetch`: fetches the engines that tests start on this machine, and says which it cannot.

They are kept in ``$RESPACE_ENGINES``, or in ``respace/engines`` of the user's cache.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from runners.flink.cluster import POM as FLINK
from runners.local_cluster import MissingPart, fetch_jars, fetch_prism
from runners.spark.cluster import POM as SPARK

PARTS: Mapping[str, Callable[[], Path]] = {
    "flink": lambda: fetch_jars(FLINK),
    "spark": lambda: fetch_jars(SPARK),
    "prism": lambda: fetch_prism(importlib.metadata.version("apache-beam")),
}


def main() -> int:
    for name, fetch in PARTS.items():
        try:
            print(f"{name}: {fetch()}", flush=True)
        except MissingPart as error:
            print(f"{name}: cannot be fetched: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
