"""Respace repairs the spaces of text and changes nothing else."""

from respace.gaps import Edit
from respace.repairer import Repair, Repairer
from respace.version import VERSION as __version__

__all__ = ["Edit", "Repair", "Repairer", "__version__"]
