"""A journal line: its keys, and how one is made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypedDict

from pt2bugs import __version__
from pt2bugs.case.cells import Cell
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Verdict

SCHEMA = 2
"""The newest that is read. In schema 1 every line has all keys; in schema 2 a line leaves out the facts that the line
of its run has (`RUN_KEYS`)."""
FULL = 1
"""The schema of a line that has all keys."""


class _MayFollow(TypedDict, total=False):
    frames: list[str]
    build: str
    host: str


class Record(_MayFollow):
    """One run of one cell. `frames` follows where torch frames beyond the innermost one were kept, `build` where the
    interpreter was named by ``--python-exe`` and does not stand for a release, `host` where a worker of a cluster ran
    it: the class of its machine."""

    schema: int
    run_id: str
    started: str
    case: str
    check: str
    case_hash: str
    torch: str
    torch_git: str
    python: str
    platform: str
    device: str
    device_name: str
    cpu_capability: str
    backend: str
    extras: list[str]
    repeat: int
    repeats: int
    outcome: str
    verdict: str
    error_type: str
    message: str
    frame: str
    signal: str
    exit_status: int | None
    graphs: int | None
    duration_s: float
    peak_rss_mb: float
    output_tail: str
    harness: str


OPTIONAL_KEYS = tuple(_MayFollow.__annotations__)
RUN = "run"
"""The `kind` of a line that has the facts of a run."""
RUN_KEYS = (
    "torch",
    "torch_git",
    "python",
    "platform",
    "device",
    "device_name",
    "cpu_capability",
    "backend",
    "extras",
    "harness",
    "build",
)
"""What lines of one run in one environment have in common."""
KEYS = tuple(key for key in Record.__annotations__ if key not in OPTIONAL_KEYS)
"""What every line has, in the order in which it is written."""


class Facts(Protocol):
    """What a line says of an environment; empty where that is not known. The engine's `EnvironmentFacts` are such."""

    @property
    def torch(self) -> str: ...
    @property
    def torch_git(self) -> str: ...
    @property
    def python(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def device_name(self) -> str: ...
    @property
    def cpu_capability(self) -> str: ...


def new_record(
    cell: Cell,
    seen: Observation,
    verdict: Verdict,
    facts: Facts,
    *,
    run_id: str,
    started: datetime,
    extras: Sequence[str],
    repeat: int = 1,
    repeats: int = 1,
    build: str = "",
) -> Record:
    """The journal line of one run of a cell.

    Args:
        facts: of the environment, as far as known.
        started: in UTC.
        build: what the interpreter was named by, where it does not stand for a release.
    """
    record: Record = {
        "schema": FULL,
        "run_id": run_id,
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "case": cell.case.id,
        "check": cell.check.name,
        "case_hash": cell.case.hash,
        "torch": facts.torch,
        "torch_git": facts.torch_git,
        "python": facts.python,
        "platform": facts.platform,
        "device": cell.device,
        "device_name": facts.device_name,
        "cpu_capability": facts.cpu_capability,
        "backend": cell.backend,
        "extras": list(extras),
        "repeat": repeat,
        "repeats": repeats,
        "outcome": str(seen.outcome),
        "verdict": str(verdict),
        "error_type": seen.error_type,
        "message": seen.message,
        "frame": seen.frame,
        "signal": seen.signal,
        "exit_status": seen.exit_status,
        "graphs": seen.graphs,
        "duration_s": round(seen.duration_s, 4),
        "peak_rss_mb": round(seen.peak_rss_mb, 1),
        "output_tail": seen.output_tail,
        "harness": __version__,
    }
    if seen.frames:
        record["frames"] = list(seen.frames)
    if build:
        record["build"] = build
    return record
