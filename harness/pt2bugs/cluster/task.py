"""What travels between the driver and a worker: a batch of cells with their case files, and the answer.

No paths of the driver's machine are among it: a worker needs no file system that it shares with anybody.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.environment import Key
from pt2bugs.run.schedule import RunOptions

LINE, LOG, READY = "line", "log", "ready"
"""Kinds of events that a worker sends while a task runs."""


@dataclass(frozen=True)
class InstallOptions:
    """Where a worker is to take packages from, as the user named it; what is not named is the worker's own setting.

    `budget` is the bytes that all environments of a worker may take together.
    """

    index: str | None = None
    find_links: tuple[str, ...] = ()
    torch_backend: str | None = None
    budget: int | None = None


@dataclass(frozen=True)
class CaseFile:
    """A case file and the hash that the driver's `parse_case` gave it."""

    name: str
    text: bytes
    hash: str


@dataclass(frozen=True)
class TaskCell:
    """A cell by the names of its parts; `file` is a place in the list of case files."""

    file: int
    check: str
    device: str
    backend: str


@dataclass(frozen=True)
class Task:
    """One environment and a batch of cells.

    Args:
        attempt: a name that no other task has; every line comes back under it.
        topic: of the events that carry the lines.
        pairs: devices and backends of all cells that the run has in this environment.
    """

    attempt: str
    topic: str
    run_id: str
    key: Key
    setup: BackendSetup | None
    pairs: tuple[tuple[str, str], ...]
    options: RunOptions
    packages: InstallOptions
    files: tuple[CaseFile, ...]
    cells: tuple[TaskCell, ...]


@dataclass
class Answer:
    """What a task came to. `lines` repeats every line that was sent as an event: the number of its cell, and the line.

    Args:
        unmade: why the environment cannot be made.
        failure: why no cell can be measured in it.
        other_torch: that it imports another torch than the one asked for; no cell was run.
        refused: why the worker cannot take the task at all.
    """

    lines: list[tuple[int, bytes]] = field(default_factory=list)
    unmade: str = ""
    failure: str = ""
    other_torch: str = ""
    refused: str = ""


@lru_cache
def code_hash() -> str:
    """A hash of all source files of this package: two checkouts may call themselves by one version and differ."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith("_corpus/"):
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
