"""Spark on this machine: `python -m runners.spark` fetches and starts it on loopback."""
