"""Requests of the engine to Linux: namespaces, signals at a parent's death, the process tree, limits of a process."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import resource
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.engine.protocol import EXIT_S

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
_CLONE_NEWIPC = 0x08000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
_PR_CAPBSET_DROP = 24
_CAPABILITIES_3 = 0x20080522
_CAP_DAC_READ_SEARCH = 2
_CAPABILITIES = 64
"""Number of capabilities that are dropped: more than any kernel has."""
NO_NAMESPACE_VARIABLE = "PT2BUGS_NO_NAMESPACE"

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Have the system send this process a signal when the thread that started it ends.

    Args:
        how: the signal.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every process below that loses its own."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def may_be_traced(allowed: bool) -> None:
    """Allow or forbid other processes of the same user to trace this one or to write to its memory.

    Args:
        allowed: whether they may.
    """
    _libc.prctl(_PR_SET_DUMPABLE, int(allowed), 0, 0, 0)


_HEADER = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
_READING = 1 << _CAP_DAC_READ_SEARCH
_KEPT = (ctypes.c_uint32 * 6)(_READING, _READING, 0, 0, 0, 0)
_KEEPABLE = (ctypes.c_uint32 * 6)(0, _READING, 0, 0, 0, 0)
_NONE = (ctypes.c_uint32 * 6)()


def drop_privileges(needed: Sequence[str] = ()) -> None:
    """Give up the rights of root for good; programs started from here do not regain them.

    Without them a check can neither mount, nor trace the processes above it, which still have them. The right to read
    any file stays only where a needed one is another user's: with it a hidden file can be opened by its number.

    Args:
        needed: files and folders that must stay readable.
    """
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    may_read = _libc.capset(_HEADER, _KEEPABLE) == 0
    _libc.capset(_HEADER, _KEPT if may_read and any(map(_is_denied, needed)) else _NONE)


def _is_denied(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except PermissionError:
        return True
    except OSError:
        pass
    return False


def limit_privileges() -> None:
    """Have no program that is started from here gain a right that this process might give up."""
    for capability in range(_CAPABILITIES):
        _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def enter_namespace() -> bool:
    """Have children from now on live in a new PID namespace. Without root this takes a user namespace."""
    if os.environ.get(NO_NAMESPACE_VARIABLE):
        return False
    if _libc.unshare(_CLONE_NEWPID | _CLONE_NEWNS) == 0:
        return True
    return _unshare_as_user(_CLONE_NEWPID | _CLONE_NEWNS)


def has_namespaces() -> bool:
    """Return whether `enter_namespace` works here. A child tries: what has entered a namespace cannot leave it."""
    pid = os.fork()
    if pid == 0:
        os._exit(not enter_namespace())
    return os.waitpid(pid, 0)[1] == 0


def leave_network() -> bool:
    """Have this process and its children reach no network but a loopback of their own.

    It must be of one thread. Without root this takes a user namespace.
    """
    if _libc.unshare(_CLONE_NEWNET) != 0 and not _unshare_as_user(_CLONE_NEWNET):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(asked, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(asked, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    return True


def leave_messages() -> bool:
    """Have this process and its children share no memory or queue of System V with others."""
    return bool(_libc.unshare(_CLONE_NEWIPC) == 0)


def leave_mounts() -> None:
    """Have mounts of this process and its children be their own.

    Raises:
        OSError: the system refuses it.
    """
    if _libc.unshare(_CLONE_NEWNS) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter(namespace: int) -> None:
    """Enter a namespace.

    Args:
        namespace: a descriptor of it.

    Raises:
        OSError: the system refuses it.
    """
    if _libc.setns(namespace, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _unshare_as_user(flags: int) -> bool:
    """Enter new namespaces together with one of users, in which this user is who it was."""
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_CLONE_NEWUSER | flags) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def fork_into_namespace() -> int:
    """Fork a child that is process 1 of a PID namespace of its own. The caller is in one already.

    Raises:
        OSError: the system refuses the namespace, or another process.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(_CLONE_NEWPID) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        try:
            return os.fork()
        finally:
            # The next child can then have a namespace of its own. The child just forked is not affected.
            _libc.setns(own, _CLONE_NEWPID)
    finally:
        os.close(own)


def mount_own_proc() -> bool:
    """Give this process's namespace its own /proc, so that a process finds itself there under its own number."""
    if _libc.unshare(_CLONE_NEWNS) != 0 or _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    return bool(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None) == 0)


def next_pid(pid: int) -> None:
    """Have the next process of this namespace get that number, where the system allows it.

    Args:
        pid: the number.
    """
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))


def open_pidfd(pid: int) -> int | None:
    """Return a descriptor that is readable once the process has ended; None where the system has none.

    Args:
        pid: of a child.
    """
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


@dataclass(frozen=True)
class Descendants:
    """Knows, counts and ends every process below this one.

    `namespace`: this process is the first of a PID namespace; `own_proc`: /proc shows that namespace.
    """

    namespace: bool
    own_proc: bool = False

    def pids(self) -> list[str]:
        """Return their numbers, as /proc shows them."""
        if self.own_proc:
            return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208
        pids: list[str] = []
        todo = [os.readlink("/proc/self")]  # noqa: PTH115
        while todo:
            # A process is listed as a child of the thread that forked it.
            below = children(todo.pop())
            pids += below
            todo += below
        return pids

    def kill_all(self) -> bool:
        """End them all, and wait for them. Return whether all went.

        Raises:
            RuntimeError: this process is not the first of its namespace.
        """
        deadline = time.monotonic() + EXIT_S
        while True:
            if self.namespace:
                if os.getpid() != 1:
                    raise RuntimeError("only process 1 of a namespace may end all others")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for pid in self.pids():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)


def children(pid: str) -> list[str]:
    """Return the children of a process, as /proc shows them.

    Args:
        pid: of the parent, or ``self``.
    """
    return _read_all(f"/proc/{pid}/task", "children").split()


def resident_mib(pids: list[str]) -> float:
    """Return the memory that the processes hold between them, in MiB; what they share counts for each.

    Args:
        pids: of the processes.
    """
    pages = 0
    for pid in pids:
        fields = read_proc(f"/proc/{pid}/statm").split()
        if len(fields) > 2:
            pages += int(fields[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def data_bytes() -> int:
    """Return the size of this process's data segment, as RLIMIT_DATA counts it."""
    match = re.search(r"VmData:\s+(\d+) kB", read_proc("/proc/self/status"))
    return int(match[1]) * 1024 if match else 0


def _read_all(folder: str, name: str) -> str:
    """Return the texts of all files ``folder/*/name``."""
    try:
        return " ".join(read_proc(f"{folder}/{entry}/{name}") for entry in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return ""


def read_proc(path: str) -> str:
    """Return the text of a file of /proc; empty if it is gone.

    Args:
        path: of the file.
    """
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


_RLIMITS = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


@dataclass(frozen=True)
class ProcessState:
    """Limits, priority, processors and mounts of this process: what a child may change of its parent."""

    limits: tuple[tuple[int, int], ...]
    priority: int
    scheduler: int
    affinity: frozenset[int]
    mounts: str

    @classmethod
    def now(cls) -> ProcessState:
        return cls(
            tuple(resource.getrlimit(which) for which in _RLIMITS),
            os.getpriority(os.PRIO_PROCESS, 0),
            os.sched_getscheduler(0),
            frozenset(os.sched_getaffinity(0)),
            read_proc("/proc/self/mountinfo"),
        )

    def restore(self) -> bool:
        """Set back what has changed; False if it cannot be, as mounts cannot."""
        if (now := ProcessState.now()) == self:
            return True
        steps: list[tuple[Any, ...]] = [
            (resource.setrlimit, which, limit)
            for which, limit, changed in zip(_RLIMITS, self.limits, now.limits, strict=True)
            if limit != changed
        ]
        if now.scheduler != self.scheduler:
            steps.append((os.sched_setscheduler, 0, self.scheduler, os.sched_param(0)))
        if now.priority != self.priority:
            steps.append((os.setpriority, os.PRIO_PROCESS, 0, self.priority))
        if now.affinity != self.affinity:
            steps.append((os.sched_setaffinity, 0, self.affinity))
        for function, *arguments in steps:
            with contextlib.suppress(OSError, ValueError):
                function(*arguments)
        return ProcessState.now() == self
