"""Mounts of a namespace of one's own: file systems in memory, folders at other places, and what may be written."""

from __future__ import annotations

import ctypes
import os
import re
import stat

_MS_BIND, _MS_REC, _MS_NOSUID, _MS_NODEV = 0x1000, 0x4000, 2, 4
_MNT_DETACH = 2
_MOUNT_SETATTR = 442
"""Number of a system call, the same on every architecture."""
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_READ_ONLY, _ATTR_NO_SETUID = 1, 2

_SEPARATORS, _ESCAPED = re.compile(r"[\\:,]"), r"\\\g<0>"

_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def mount_memory(path: str, size: int = 1 << 20, mode: int = 0o755) -> None:
    """Mount an empty file system in memory.

    Args:
        path: of the folder.
        size: bytes that it may hold.
        mode: of its top folder.

    Raises:
        OSError: the system refuses it.
    """
    options = f"size={size},nr_inodes={max(1024, size >> 14)},mode={mode:o}".encode()
    _check(_libc.mount(b"pt2bugs", os.fsencode(path), b"tmpfs", _MS_NOSUID | _MS_NODEV, options), path)


def mount_layer(below: str, above: str, work: str, path: str) -> None:
    """Show a folder such that what is written goes to another one.

    Args:
        below: the folder.
        above: takes what is written.
        work: an empty folder beside `above`.
        path: where both are shown as one folder, which is made.

    Raises:
        OSError: the system refuses it.
    """
    os.makedirs(path, exist_ok=True)  # noqa: PTH103
    places = {"lowerdir": below, "upperdir": above, "workdir": work}
    options = ",".join(f"{name}={_SEPARATORS.sub(_ESCAPED, place)}" for name, place in places.items())
    for further in ("", ",userxattr"):
        if _libc.mount(b"overlay", os.fsencode(path), b"overlay", 0, os.fsencode(options + further)) == 0:
            return
    _check(-1, path)


def mount_terminals(path: str) -> None:
    """Mount an instance of the terminals that has those alone which are opened there.

    Args:
        path: of the folder.

    Raises:
        OSError: the system refuses it.
    """
    options = b"newinstance,ptmxmode=0666,mode=0620"
    _check(_libc.mount(b"devpts", os.fsencode(path), b"devpts", _MS_NOSUID, options), path)


def bind(source: str, target: str) -> None:
    """Show a file, a device or a folder with all that is mounted below at a second place, which is made.

    Args:
        source: what is shown.
        target: where.

    Raises:
        OSError: the system refuses it.
    """
    if stat.S_ISDIR(os.stat(source).st_mode):  # noqa: PTH116
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(target, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o600))
    _check(_libc.mount(os.fsencode(source), os.fsencode(target), None, _MS_BIND | _MS_REC, None), target)


def seal(path: str, *, below: bool = True) -> None:
    """Have nothing of a mount be written, and no program of it gain rights.

    Args:
        path: where it is mounted.
        below: whether that holds for what is mounted below, too.

    Raises:
        OSError: the system cannot (Linux can since 5.12).
    """
    wanted = _Attributes(_ATTR_READ_ONLY | _ATTR_NO_SETUID, 0, 0, 0)
    flags = _AT_RECURSIVE if below else 0
    done = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, ctypes.byref(wanted), ctypes.sizeof(wanted)
    )
    _check(done, path)


def become_root(path: str) -> None:
    """Have a mount be all that this process and its namespace see of the file system.

    Args:
        path: where it is mounted.

    Raises:
        OSError: the system refuses it.
    """
    os.chdir(path)
    # The old root is then mounted over the new one, and taken away.
    _check(_libc.pivot_root(b".", b"."), path)
    _check(_libc.umount2(b".", _MNT_DETACH), path)
    os.chdir("/")


def _check(result: int, path: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
