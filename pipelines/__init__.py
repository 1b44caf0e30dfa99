"""One runnable module per job: options, then the graph."""
