"""The facts that an environment has learnt and keeps between runs. None of them can change an outcome."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

from pt2bugs.engine.environment import CAPABILITY_VARIABLE
from pt2bugs.engine.folders import cache_home, remove_tree
from pt2bugs.engine.messages import Needs
from pt2bugs.files import FileError, write_text

LOCK_S = 2.0
"""Seconds to wait for other processes that write the file. What is not saved by then, the next run finds out again."""

MEMORY = "memory.json"
_MAX_BYTES = 4 << 20
_ABANDONED_S = 7 * 24 * 3600
"""Seconds after which a temporary folder counts as abandoned."""
_HEADER_S = 600
"""A precompiled header that is incomplete after so many seconds was left by a process that was killed."""
_BEING_WRITTEN = b"gpcWrite"
"""First bytes of a precompiled header that g++ has not completed."""


class Stored(TypedDict, total=False):
    """Contents of the file.

    `needs` by device and backend, as the program with the digest `canary` showed them; `isa_builds`, digests of the
    probes for vector instructions that were seen to build; `vec_isa_ok`, that all of them did, before torch 2.5.
    """

    canary: str
    needs: dict[str, Needs]
    isa_builds: list[str]
    vec_isa_ok: bool


class WarmCache:
    """Facts that are kept between runs, in one folder per environment and CPU.

    Args:
        folder: where it is.
        warn: gets one sentence if what was there cannot be used. It is then forgotten, and found out again.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._file = folder / MEMORY
        self._warn = warn
        self.stored = self._read()

    def _read(self) -> Stored:
        known: Stored = {}
        try:
            known = _checked(_read_json(self._file))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError):
            self._warn(f"{self._file}: is spoilt; what it held is found out again")
            # A folder or a pipe of that name could not be replaced by a file, or would be waited for.
            remove_tree(self._file)
        # The canary's program says which modules a compile needs: they are asked anew when that file changes.
        canary = hashlib.sha256(Path(__file__).with_name("canary.py").read_bytes()).hexdigest()[:16]
        if known.get("canary") != canary:
            known["canary"], known["needs"] = canary, {}
        return known

    @classmethod
    def of_this_environment(cls, fallback: Path, warn: Callable[[str], None] = lambda _: None) -> WarmCache:
        """Open that of the running interpreter, or one below `fallback` where the user's cache is not writable.

        Args:
            fallback: a folder of the run.
            warn: gets one sentence if what was there cannot be used.
        """
        parts = [sys.prefix, sys.version, _torch_build(), cpu_name(), cpu_flags(), _compiler()]
        # It limits which vector instructions are looked for.
        parts += [limit] if (limit := os.environ.get(CAPABILITY_VARIABLE)) else []
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        for folder in (cache_home() / "warm" / digest, fallback / "warm"):
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
                if os.access(folder, os.W_OK):
                    break
        _remove_leftovers(folder)
        return cls(folder, warn)

    def save(self, facts: Stored) -> None:
        """Save further facts; those that another process saved meanwhile stay.

        Args:
            facts: what is new.
        """
        known = _together(self.stored, facts)
        if known == self.stored:
            return
        self.stored = known
        with contextlib.suppress(FileError, OSError), self._locked() as is_ours:
            if is_ours:
                self.stored = _together(self._read(), known)
                write_text(self._file, json.dumps(self.stored))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        """Keep other processes from writing the file meanwhile; yield whether that worked.

        Raises:
            OSError: the folder cannot be written.
        """
        # The file itself is replaced, and a lock on what was there before is none.
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _lock_in_time(lock)
        finally:
            os.close(lock)


def _lock_in_time(lock: int) -> bool:
    deadline = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        except OSError:
            # A file system without locks: of two that write at once the last one wins.
            return True


def _together(known: Stored, facts: Stored) -> Stored:
    merged: Stored = {**known, **facts}
    if "needs" in facts:
        merged["needs"] = {**known.get("needs", {}), **facts["needs"]}
    if "isa_builds" in facts:
        merged["isa_builds"] = sorted({*known.get("isa_builds", ()), *facts["isa_builds"]})
    return merged


def _remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed have left.

    Torch makes temporary folders at import, which no exit handler takes away. A header that is half written would stay
    for good: torch sees that it is there, g++ ignores it, and every kernel is compiled without.
    """
    for path in folder.glob("tmp*"):
        if _age_s(path) > _ABANDONED_S:
            remove_tree(path)
    for path in folder.glob("torchinductor_*/precompiled_headers/*.gch"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if file.read(len(_BEING_WRITTEN)) == _BEING_WRITTEN and _age_s(path) > _HEADER_S:
                path.unlink()


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0


def _torch_build() -> str:
    """Identity of the torch build, read without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    with contextlib.suppress(OSError):
        return (Path(spec.origin).parent / "version.py").read_text()
    return ""


def cpu_flags() -> str:
    with contextlib.suppress(OSError):
        if match := re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return match[1]
    return ""


def _compiler() -> str:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        return ""
    with contextlib.suppress(OSError):
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return ""


def _checked(known: Any) -> Stored:
    """Return the contents of the file with their types.

    Raises:
        ValueError: it is not what `WarmCache.save` writes.
    """
    if not isinstance(known, dict) or not isinstance(known.get("needs", {}), dict):
        raise ValueError("this is no warm cache")  # noqa: TRY004
    modules = [needs.get("modules") if isinstance(needs, dict) else None for needs in known.get("needs", {}).values()]
    for names in (*modules, known.get("isa_builds", [])):
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("names are expected")
    if type(known.get("vec_isa_ok", False)) is not bool or not isinstance(known.get("canary", ""), str):
        raise ValueError("a flag and a digest are expected")
    checked: Any = known
    stored: Stored = checked
    return stored


def _read_json(path: Path) -> Any:
    """Return what a regular file holds.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no regular file, larger than any that is written here, or no JSON.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("this is no file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError("this is too long")
    return json.loads(data)


def cpu_name() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or platform.machine()
