"""Flink on this machine: `python -m runners.flink` fetches and starts it on loopback."""
