"""What the engine asks of Linux: namespaces, signals at a parent's death, the process tree, limits of a process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.engine.environment import HUGE_PAGES
from pt2bugs.engine.protocol import EXIT_S

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
NO_NAMESPACE_VARIABLE = "PT2BUGS_NO_NAMESPACE"

_MADV_COLLAPSE, _HUGE_PAGE = 25, 2 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)
"""Keeps the interpreter's lock during a call: a child that is forked in one has it too."""


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Have the system send this process a signal when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of every process below that loses its own."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def enter_namespace() -> bool:
    """Have children from now on live in a new PID namespace. Without root this takes a user namespace."""
    if os.environ.get(NO_NAMESPACE_VARIABLE):
        return False
    if _libc.unshare(_CLONE_NEWPID | _CLONE_NEWNS) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def fork_alone() -> int:
    """As `os.fork`, without what `os.register_at_fork` and Python itself have the child do about other threads.

    They make new locks, forget threads and seed `random`, and write to 300 pages for it, each of them copied. A
    process that `has_one_thread` needs none of that.

    Raises:
        OSError: the system refuses another process.
    """
    pid: int = _libc_with_lock.fork()
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid


def has_one_thread() -> bool:
    """Whether this process has no thread but the one that asks."""
    return re.search(r"^Threads:\s+1$", read_proc("/proc/self/status"), re.MULTILINE) is not None


def use_huge_pages() -> None:
    """Move the memory of this process into huge pages, unless somebody has other wishes for them.

    glibc asks for them for what `malloc` gives, but Python has arenas of its own. A fork copies the number of every
    small page, and an end of the process takes each of them back; of huge ones there are 512 times fewer.
    """
    if os.environ.get("GLIBC_TUNABLES") != HUGE_PAGES:
        return
    for line in read_proc("/proc/self/maps").splitlines():
        addresses, access, _, _, _, *name = line.split(maxsplit=5)
        if access != "rw-p" or name not in ([], ["[heap]"]):
            continue
        first, end = (int(address, 16) for address in addresses.split("-"))
        first = -(-first // _HUGE_PAGE) * _HUGE_PAGE
        if (size := end // _HUGE_PAGE * _HUGE_PAGE - first) > 0:
            # Before Linux 6.1, and where no huge page is free, nothing happens.
            _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), _MADV_COLLAPSE)


def fork_into_namespace() -> int:
    """As `os.fork`, the child being process 1 of a PID namespace of its own. The caller is in one already.

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
    """Have the next process of this namespace get that number, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))


def open_pidfd(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended; None where the system has none."""
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
        """Their numbers, as /proc shows them."""
        if self.own_proc:
            return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208
        found: list[str] = []
        todo = [os.readlink("/proc/self")]  # noqa: PTH115
        while todo:
            # A process is listed as a child of the thread that forked it.
            below = children(todo.pop())
            found += below
            todo += below
        return found

    def kill_all(self) -> bool:
        """End them all, and wait for them. False if some would not go."""
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
    """The children of a process, as /proc shows them."""
    return _read_all(f"/proc/{pid}/task", "children").split()


def resident_mib(pids: list[str]) -> float:
    """Memory that the processes hold between them, in MiB; what they share counts for each."""
    pages = 0
    for pid in pids:
        fields = read_proc(f"/proc/{pid}/statm").split()
        if len(fields) > 2:
            pages += int(fields[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def data_bytes() -> int:
    """Size of this process's data segment, as RLIMIT_DATA counts it."""
    match = re.search(r"VmData:\s+(\d+) kB", read_proc("/proc/self/status"))
    return int(match[1]) * 1024 if match else 0


def _read_all(folder: str, name: str) -> str:
    """The texts of all files ``folder/*/name``."""
    try:
        return " ".join(read_proc(f"{folder}/{entry}/{name}") for entry in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return ""


def read_proc(path: str) -> str:
    """The text of a file of /proc; empty if it is gone."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


_RLIMITS = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})


@dataclass(frozen=True)
class Standing:
    """Limits, priority and processors of this process: what a child may change of its parent."""

    limits: tuple[tuple[int, int], ...]
    priority: int
    scheduler: int
    affinity: frozenset[int]

    @classmethod
    def now(cls) -> Standing:
        return cls(
            tuple(resource.getrlimit(which) for which in _RLIMITS),
            os.getpriority(os.PRIO_PROCESS, 0),
            os.sched_getscheduler(0),
            frozenset(os.sched_getaffinity(0)),
        )

    def restore(self) -> bool:
        """Set back what has changed; False if it cannot be."""
        if (found := Standing.now()) == self:
            return True
        steps: list[tuple[Any, ...]] = [
            (resource.setrlimit, which, limit)
            for which, limit, changed in zip(_RLIMITS, self.limits, found.limits, strict=True)
            if limit != changed
        ]
        if found.scheduler != self.scheduler:
            steps.append((os.sched_setscheduler, 0, self.scheduler, os.sched_param(0)))
        if found.priority != self.priority:
            steps.append((os.setpriority, os.PRIO_PROCESS, 0, self.priority))
        if found.affinity != self.affinity:
            steps.append((os.sched_setaffinity, 0, self.affinity))
        for function, *arguments in steps:
            with contextlib.suppress(OSError, ValueError):
                function(*arguments)
        return Standing.now() == self
