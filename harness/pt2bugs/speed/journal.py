"""`results/perf`: the journal of speed, a line for each bench in an environment. None of them is a verdict."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock

from pt2bugs.case.versions import public_or_empty
from pt2bugs.errors import InputError
from pt2bugs.files import walked, write_text
from pt2bugs.results.journal import journal_files
from pt2bugs.results.line import version_key

SCHEMA = 1
FOLDER = "perf"


class SpeedJournalError(InputError):
    """The journal of speed cannot be written.

    Cause: a full disk, or a folder that is not writable.
    Remedy: the message names the file and what the system said; what was written before is whole.
    """


class BenchKey(NamedTuple):
    """Names a bench on a device and a backend."""

    case: str
    bench: str
    device: str
    backend: str


@dataclass(frozen=True, kw_only=True)
class SpeedLine:
    """What one bench showed in one environment.

    Args:
        program: hash of the program of the case file; a line of another program says nothing about this one.
        torch: its version, with the local part.
        python: the version of the interpreter, all three parts.
        cpu: name of the processor.
        capability: the vector instructions that torch used.
        eager_s: seconds of the fastest call without the compiler, one for each process.
        compiled_s: those of the fastest compiled call.
        counts: of the compiler, those that repeat exactly; a count that this torch does not have is None.
        problem: why there are no seconds; empty where there are.
        started: ISO 8601 in UTC.
    """

    case: str
    bench: str
    device: str
    backend: str
    program: str
    torch: str
    python: str
    cpu: str
    capability: str
    threads: int
    started: str
    eager_s: tuple[float, ...] = ()
    compiled_s: tuple[float, ...] = ()
    counts: Mapping[str, int | None] = field(default_factory=dict)
    problem: str = ""

    @property
    def key(self) -> BenchKey:
        """The bench, its device and its backend."""
        return BenchKey(self.case, self.bench, self.device, self.backend)

    @property
    def release(self) -> str:
        """The public version of torch."""
        return public_or_empty(self.torch)

    @property
    def ratios(self) -> tuple[float, ...]:
        """The compiled call's time as a multiple of eager's, one for each process."""
        return tuple(compiled / eager for eager, compiled in zip(self.eager_s, self.compiled_s, strict=True))

    @property
    def ratio(self) -> float | None:
        """The median of `ratios`; None where there are none."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def spread(self) -> str:
        """The least and the greatest of `ratios`, in words."""
        return f"{min(self.ratios):.2f} to {max(self.ratios):.2f}"

    def as_dict(self) -> dict[str, Any]:
        """Return the line as the journal has it."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> SpeedLine:
        """Return the line of a journal.

        Args:
            data: as `as_dict` made it.

        Raises:
            TypeError: a key is missing, or there is another.
            ValueError: it is of another schema, or a value is of another type.
        """
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema {data.get('schema')!r}, not {SCHEMA}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        del values["schema"]
        line = cls(**values)
        texts = [item.name for item in fields(cls) if item.type == "str"]
        if not all(isinstance(getattr(line, name), str) for name in texts) or not isinstance(line.counts, dict):
            raise ValueError("a value is of another type")
        if len(line.eager_s) != len(line.compiled_s) or not all(s > 0 for s in (*line.eager_s, *line.compiled_s)):
            raise ValueError("seconds are positive, and as many for eager as for compiled calls")
        return line


Speeds = Mapping[BenchKey, Mapping[str, SpeedLine]]
"""The newest line of each release, oldest release first, for each bench."""


def read(results: Path, programs: Mapping[str, str], warn: Callable[[str], None], python: str = "") -> Speeds:
    """Return the lines of programs as they are now.

    Args:
        results: the folder that has `perf`.
        programs: hash by case; lines of others are left out.
        warn: is told of lines that cannot be read.
        python: lines of this minor version alone; empty: all.
    """
    newest: dict[BenchKey, dict[str, SpeedLine]] = {}
    for line in _lines(journal_files(results / FOLDER, warn), warn):
        if programs.get(line.case) == line.program and line.python.startswith(f"{python}." if python else ""):
            newest.setdefault(line.key, {})[line.release] = line
    return {
        key: dict(sorted(lines.items(), key=lambda item: version_key(item[0]))) for key, lines in sorted(newest.items())
    }


def unknown_lines(sources: Iterable[Path], results: Path, warn: Callable[[str], None]) -> list[SpeedLine]:
    """Return the lines that lie in a `perf` below the sources and not in that of the results, each once, oldest first.

    Args:
        sources: results folders, and folders of those; a file is none.
        results: the folder that has `perf`.
        warn: is told of lines that cannot be read.
    """
    own = journal_files(results / FOLDER, warn)
    known = [line.as_dict() for line in _lines(own, warn)]
    # The results may lie below a source.
    others = {path for source in sources for path in walked(source, ".jsonl") if path.parent.name == FOLDER} - {*own}
    new: list[SpeedLine] = []
    for line in _lines(sorted(others), warn):
        if line.as_dict() not in known:
            known.append(line.as_dict())
            new.append(line)
    return sorted(new, key=lambda line: line.started)


def _lines(paths: Iterable[Path], warn: Callable[[str], None]) -> Iterator[SpeedLine]:
    for path in paths:
        for number, text in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            try:
                yield SpeedLine.of(json.loads(text))
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                warn(f"{path}:{number}: no line of speed, left out: {error}")


def append(results: Path, lines: Iterable[SpeedLine]) -> None:
    """Add lines to the files of their releases, which are written whole or stay as they are.

    Args:
        results: the folder that has `perf`.
        lines: that were measured.

    Raises:
        SpeedJournalError: that does not work.
    """
    for line in lines:
        python = ".".join(line.python.split(".")[:2])
        path = results / FOLDER / f"torch-{line.release}-py{python}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(results / f"{FOLDER}.lock"):
                before = path.read_text(encoding="utf-8") if path.exists() else ""
                write_text(path, f"{before}{json.dumps(line.as_dict(), ensure_ascii=False)}\n")
        except OSError as error:
            raise SpeedJournalError(f"{path}: {error.strerror or error}") from None
