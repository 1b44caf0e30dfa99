"""Data sets, training loops, penalty fitting and scoring."""
