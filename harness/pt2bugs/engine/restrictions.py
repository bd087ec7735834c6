"""Restrictions that a process takes on for good, with all that it starts: no keys, no hypervisor, no mounts.

They are a second wall within the sandbox. A filter of system calls (seccomp) keeps a cell from the keyrings of its
user, which no namespace of the sandbox hides, and from sockets of the hypervisor, which are of no network. Landlock
keeps it from mounting anything, also in a user namespace of its own, and from tracing what is outside.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _FILTER = 21, 22, 2
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in what a filter is shown of a call; the low half of an argument stands first on these machines."""
_X32 = 0x40000000
"""Calls of the x32 ABI have this bit, and the same architecture."""
_VSOCK = 40
_MACHINES = {
    # add_key, request_key, keyctl; socket
    "x86_64": (0xC000003E, (248, 249, 250), 41),
    "aarch64": (0xC00000B7, (217, 218, 219), 198),
}
"""Architectures as the kernel's audit names them, and the numbers of their calls."""
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same numbers on every architecture."""
_VERSION, _PATH_BENEATH = 1, 1
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FILES = (1 << 13) - 1
"""All that the first version of Landlock handles."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def has_filters() -> bool:
    """Return whether this machine filters system calls, and its numbers are known here."""
    return bool(_INSTRUCTIONS) and _libc.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def has_landlock() -> bool:
    """Return whether this machine has Landlock."""
    return _landlock_version() > 0


def _landlock_version() -> int:
    return int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))


def restrict() -> None:
    """Take them on, as far as the machine has them. The process must have given up its privileges already."""
    _refuse_mounts()
    if _INSTRUCTIONS:
        program = _Program(len(_INSTRUCTIONS) // 8, _INSTRUCTIONS)
        _libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _filter_of(architecture: int, keys: tuple[int, ...], socket: int) -> bytes:
    """Return the program of the filter. A jump goes over so many instructions if the comparison holds, else so many."""
    refused = _FAIL | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, refused),
        (_LOAD, 0, 0, _NUMBER),
        (_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, refused),
    ]
    for number in keys:
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    steps += [
        (_EQUAL, 0, 3, socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 0, 1, _VSOCK),
        (_RETURN, 0, 0, _FAIL | errno.EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


_INSTRUCTIONS = _filter_of(*_MACHINES[os.uname().machine]) if os.uname().machine in _MACHINES else b""
"""The filter of this machine, made before any cell; empty where its numbers are not known here."""


def _refuse_mounts() -> None:
    """Enter a domain of Landlock that may do with the files that it sees what their permissions allow.

    In any domain a process mounts nothing, and traces no process outside of it.
    """
    version = _landlock_version()
    if version < 2:
        # The first version cannot allow what moves a file to another folder.
        return
    handled = _FILES | _REFER | (_TRUNCATE if version > 2 else 0)
    rules = struct.pack("=Q", handled)
    ruleset = int(_libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0))
    if ruleset < 0:
        return
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", handled, root)
        if _libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) == 0:
            _libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(root)
        os.close(ruleset)
