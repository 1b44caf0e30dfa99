"""Counts of words, and the baselines that know nothing else."""
