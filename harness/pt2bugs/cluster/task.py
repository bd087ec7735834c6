"""Messages between the driver and a worker: a cell with its case file, and its journal lines.

No paths of the driver's machine are among it: a worker needs no file system that it shares with anybody.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.environment import Key
from pt2bugs.run.plan import RunOptions


@dataclass(frozen=True)
class InstallOptions:
    """Package sources of the command line; what is not set there is the worker's own setting.

    `budget` is the bytes that all environments of a worker may take together.
    """

    index: str | None = None
    find_links: tuple[str, ...] = ()
    torch_backend: str | None = None
    budget: int | None = None


@dataclass(frozen=True)
class Batch:
    """Settings that the cells of one environment share in a run.

    Args:
        topic: of the events by which a worker says what it does.
        pairs: devices and backends of all cells that the run has in this environment.
    """

    topic: str
    run_id: str
    key: Key
    setup: BackendSetup | None
    pairs: tuple[tuple[str, str], ...]
    options: RunOptions
    packages: InstallOptions

    @property
    def name(self) -> str:
        """Equal for cells that share an engine."""
        return repr((self.run_id, self.key, self.setup))


@dataclass(frozen=True)
class Task:
    """One cell. `case_hash` is what the driver's `parse_case` made of the file."""

    batch: Batch
    file: str
    text: bytes
    case_hash: str
    check: str
    device: str
    backend: str


@dataclass
class Answer:
    """The journal lines of a cell, one for each repeat; or why there are none.

    Args:
        unmade: why the environment cannot be made.
        failure: why no cell can be measured in it.
        other_torch: it imports another torch than the one it was made for; the cell was not run.
        refused: why the worker cannot take the task at all.
    """

    lines: tuple[bytes, ...] = ()
    unmade: str = ""
    failure: str = ""
    other_torch: str = ""
    refused: str = ""


@lru_cache
def code_hash() -> str:
    """Return a hash of all source files of this package: two checkouts of one version may differ."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if not name.startswith("_corpus/"):
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
