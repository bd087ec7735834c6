"""What an environment remembers between runs. Nothing of it can change an outcome."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pt2bugs.engine.environment import CAPABILITY_VARIABLE
from pt2bugs.engine.folders import cache_home, remove_tree
from pt2bugs.files import FileError, write_text

_ABANDONED_S = 7 * 24 * 3600
"""Seconds after which a temporary folder counts as abandoned."""
_HEADER_S = 600
"""A precompiled header that is incomplete after so many seconds was left by a process that was killed."""
_BEING_WRITTEN = b"gpcWrite"
"""How g++ begins a precompiled header until it is complete."""


class Memory:
    """What an environment remembers between runs, in one folder per environment and CPU."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "memory.json"
        try:
            self.stored: dict[str, Any] = _checked(json.loads(self._file.read_text()))
        except (OSError, ValueError):
            self.stored = {}
        # The canary's program says which modules a compile needs: they are asked anew when that file changes.
        canary = hashlib.sha256(Path(__file__).with_name("canary.py").read_bytes()).hexdigest()[:16]
        if self.stored.get("canary") != canary:
            self.stored |= {"canary": canary, "needs": {}}

    @classmethod
    def of_this_environment(cls, fallback: Path) -> Memory:
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
        return cls(folder)

    def save(self, **facts: Any) -> None:
        if all(name in self.stored and self.stored[name] == value for name, value in facts.items()):
            return
        self.stored.update(facts)
        with contextlib.suppress(FileError):
            write_text(self._file, json.dumps(self.stored))


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
        if found := re.search(r"^flags\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
            return found[1]
    return ""


def _compiler() -> str:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        return ""
    with contextlib.suppress(OSError):
        return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return ""


def _checked(known: Any) -> dict[str, Any]:
    """What is remembered.

    Raises:
        ValueError: it is not what `Memory.save` writes.
    """
    needs = known.get("needs", {}) if isinstance(known, dict) else None
    if not isinstance(needs, dict) or not all(isinstance(one, dict) for one in needs.values()):
        raise ValueError("no memory of an environment")
    return dict(known)


def cpu_name() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()
