"""Takes the network away from this process, but for its own loopback."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def leave_network() -> bool:
    """Move this process into a network namespace of its own, and return whether the system allows that."""
    libc, uid, gid = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        # Of root without its rights the system refuses the names; files stay its own all the same.
        with contextlib.suppress(OSError), open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
            file.write(text)
    _start_loopback()
    return True


def _start_loopback() -> None:
    """Bring the loopback up, over which the processes of one program talk."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(asked, _GET_FLAGS, request))[1]
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("16sH14s", b"lo", flags | _UP, b""))
