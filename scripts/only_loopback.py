"""Runs a command in a network that has nothing but loopback: `python scripts/only_loopback.py COMMAND …`.

The Java servers of Beam listen on all interfaces and cannot be told otherwise. Where the system does not allow a
network of its own, the command runs in the one there is, and a line says so.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1


def leave_network() -> None:
    """
    Raises:
        OSError: this process may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _IFF_UP))


if __name__ == "__main__":
    try:
        leave_network()
    except OSError as error:
        print(f"only_loopback: {error.strerror}; the network stays as it is", file=sys.stderr)
    os.execvp(sys.argv[1], sys.argv[1:])
