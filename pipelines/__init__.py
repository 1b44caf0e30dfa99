"""One runnable module per job: options, then the graph."""

import sys

from respace.packages import hidden_package

# Before any job imports what it needs: it would fail on a module that a package of somebody else does not have.
_hidden = hidden_package()
if _hidden is not None:
    if sys.argv[0] == "-m":  # python -m pipelines.…: one line, no stack trace
        print(f"error: {_hidden}", file=sys.stderr)
        sys.exit(2)
    raise ImportError(_hidden)
