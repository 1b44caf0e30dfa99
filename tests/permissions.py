"""Permissions that hold for root, too, as which tests may run in a container."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what lets root read everything.
_READ_ALL = (1 << 1) | (1 << 2)


@contextmanager
def as_anybody() -> Iterator[None]:
    """In this block this thread may read and write only what permissions allow."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, before = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, before):
        raise OSError(ctypes.get_errno(), "capget")
    less = (ctypes.c_uint32 * 6)(*before)
    less[0] &= ~_READ_ALL
    if libc.capset(header, less):
        raise OSError(ctypes.get_errno(), "capset")
    try:
        yield
    finally:
        libc.capset(header, before)
