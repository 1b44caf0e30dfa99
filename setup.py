"""Everything is in pyproject.toml; Beam ships this file to its workers (``--setup_file ./setup.py``)."""

from setuptools import setup

setup()
