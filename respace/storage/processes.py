"""Which process something belongs to, and whether that process is provably gone.

A number alone says little: it is given again to others, and means another process on another machine, after a restart
of this one, or in another container. So a process is known by its machine (host, boot, namespace of processes), its
number and the moment it began. Where the system tells none of this, nothing is provable.

>>> gone(this_process()), gone({**this_process(), "began": "0"}), gone({**this_process(), "machine": "another"})
(False, True, False)
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any


def this_process() -> dict[str, str | int]:
    """What identifies this process; no machine where that cannot be known."""
    return {"machine": _machine(), "process": os.getpid(), "began": _began(os.getpid())}


def gone(process: Mapping[str, Any]) -> bool:
    """Whether a process is certain to have ended: it was on this machine, and is not any more."""
    machine, number, began = (process.get(name) for name in ("machine", "process", "began"))
    if not machine or machine != _machine() or not isinstance(number, int) or began is None:
        return False
    return _began(number) != str(began)


def _machine() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            boot = stream.read().strip()
        return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _began(process: int) -> str:
    """When a process began, in ticks since the system did; nothing if there is none, or only its remains."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()  # the name before it may hold anything
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]
