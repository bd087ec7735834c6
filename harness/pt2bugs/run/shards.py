"""Divides a plan into shards for machines that do not talk to each other.

A division depends on the plan and on the committed durations alone, never on what a journal answers. So all machines
come to the same one, and a shard has the same cells when it is run again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from pt2bugs.case.cells import Cell, CellName
from pt2bugs.case.header import read_regular
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.run.plan import CELL_S, Target, Work

SETUP_S = 60.0
"""Seconds that an environment is taken to cost each shard that has a part of it. A constant, so that no machine
divides by its own speed."""

TOLERANCE = 1.1
"""A division that keeps environments whole may last this much longer than the best one."""

MAX_SHARDS = 1000
"""Most shards of a division: more than any CI starts."""

DURATIONS = "durations.csv"
"""The committed durations in the folder of results: a file that runs do not change.

The journal would be a better source and a moving one. `pt2bugs plan --update-durations` writes the file from the
journal.
"""

_COLUMNS = ["case", "check", "device", "backend", "seconds"]


@dataclass(frozen=True)
class ShardName:
    """``3/10``, the third of ten shards; after an ``@`` the digest of the division that is meant."""

    number: int
    count: int
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> ShardName:
        """Return the name that a text is.

        Args:
            text: as ``1/4``, with or without a digest.

        Raises:
            ValueError: the text is none; the message says so in words.
        """
        match = re.fullmatch(r"(\d{1,5})/(\d{1,5})(?:@([0-9a-f]{8}))?", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]) <= MAX_SHARDS:
            raise ValueError(f"{text!r} is no shard; write for example 3/10, with at most {MAX_SHARDS} shards")
        return cls(int(match[1]), int(match[2]), match[3] or "")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}" + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True)
class Division:
    """All shards of a plan, each with its slice of it; a shard may be empty."""

    shards: Sequence[Sequence[Work]]

    @cached_property
    def digest(self) -> str:
        """Short hash, equal on two machines if both divide the same cells in the same way."""
        names = sorted(
            f"{number} {_place(work.target)} {' '.join(cell.key)}"
            for number, shard in enumerate(self.shards, 1)
            for work in shard
            for cell in work.cells
        )
        return hashlib.sha256("\n".join([str(len(self.shards)), *names]).encode()).hexdigest()[:8]

    def name(self, number: int) -> ShardName:
        """Return the name of a shard, counted from 1, with the digest of this division.

        Args:
            number: of the shard.
        """
        return ShardName(number, len(self.shards), self.digest)

    def shard(self, name: ShardName) -> Sequence[Work]:
        """Return the slice of the plan that a shard is.

        Args:
            name: of the shard.

        Raises:
            InputError: the name means another division.
        """
        if name.digest and name.digest != self.digest:
            raise InputError(
                f"--shard {name}: the selection has changed since it was planned, it is {self.digest} now: another "
                "release, case or option, or other durations; plan again"
            )
        return self.shards[name.number - 1]


def _place(target: Target) -> str:
    # Without the Python, which is the running one where a release has it.
    return " ".join([target.build or target.key.torch, *target.key.extras, target.setup.name if target.setup else ""])


@dataclass(frozen=True)
class OwedShard:
    """The cells of a shard that the journal does not answer, and the minutes that they take."""

    name: str
    number: int
    work: Sequence[Work]
    minutes: float

    @property
    def cells(self) -> int:
        """The number of cells that it has to run."""
        return sum(len(part.cells) for part in self.work)

    @property
    def environments(self) -> list[str]:
        """The names of its environments."""
        return [str(part.target) for part in self.work]

    @property
    def cache(self) -> str:
        """A name for the set of environments, for the key of a cache."""
        names = sorted(part.target.key.folder for part in self.work)
        return hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]

    def gigabytes(self, size: int) -> float:
        """Return what its environments take on a machine that has none of them yet.

        Args:
            size: bytes of an environment.
        """
        return size * sum(part.target.python is None for part in self.work) / 1e9

    def as_dict(self, size: int) -> dict[str, Any]:
        """Return it for JSON.

        Args:
            size: bytes of an environment.
        """
        return {
            "shard": self.name,
            "number": self.number,
            "cells": self.cells,
            "minutes": round(self.minutes, 1),
            "gigabytes": round(self.gigabytes(size), 1),
            "environments": self.environments,
            "cache": self.cache,
        }


def divide(planned: Iterable[Work], count: int, seconds: Callable[[Cell], float]) -> Division:
    """Divide a plan into shards of about the same duration, environments whole as far as that allows.

    Args:
        planned: the plan.
        count: number of shards.
        seconds: expected duration of a cell.
    """
    ordered = [_Part.of(part, seconds) for part in planned if part.cells]
    ordered.sort(key=lambda part: (-part.seconds, _place(part.target)))
    total = sum(part.seconds for part in ordered) + SETUP_S * max(len(ordered), count)
    best = max([total / count, *(SETUP_S + part.longest for part in ordered)])
    shards = _keep_whole(ordered, count, best * TOLERANCE)
    capacity = best
    while shards is None:
        shards = _cut(ordered, count, capacity)
        capacity *= 1.01
    return Division([_as_work(shard) for shard in shards])


@dataclass
class _Part:
    """Cells of one environment, the longest first."""

    target: Target
    cells: list[tuple[float, Cell]] = field(default_factory=list)

    @classmethod
    def of(cls, work: Work, seconds: Callable[[Cell], float]) -> _Part:
        cells = [(seconds(cell), cell) for cell in work.cells]
        return cls(work.target, sorted(cells, key=lambda cell: (-cell[0], cell[1].key)))

    @property
    def seconds(self) -> float:
        return sum(seconds for seconds, _ in self.cells)

    @property
    def longest(self) -> float:
        return self.cells[0][0]

    def in_parts(self, count: int) -> list[_Part]:
        """Return parts of about the same duration, none of them empty.

        Args:
            count: of parts at most.
        """
        parts = [_Part(self.target) for _ in range(min(count, len(self.cells)))]
        filled = [0.0] * len(parts)
        for seconds, cell in self.cells:
            # An empty part first, also where cells take no time at all.
            least = min(range(len(parts)), key=lambda number: (filled[number], len(parts[number].cells), number))
            parts[least].cells.append((seconds, cell))
            filled[least] += seconds
        return parts


def _keep_whole(ordered: Sequence[_Part], count: int, capacity: float) -> list[list[_Part]] | None:
    """Return shards of environments that are whole, or in as few equal parts as fit; None if a shard overflows."""
    room = max(capacity - SETUP_S, 1e-9)
    parts = [part for whole in ordered for part in whole.in_parts(int(-(-whole.seconds // room)) or 1)]
    parts.sort(key=lambda part: (-part.seconds, _place(part.target), part.cells[0][1].key))
    shards: list[list[_Part]] = [[] for _ in range(count)]
    filled = [0.0] * count
    for part in parts:
        least = min(range(count), key=lambda number: (filled[number], number))
        shards[least].append(part)
        filled[least] += SETUP_S + part.seconds
    return shards if max(filled) <= capacity else None


def _cut(ordered: Sequence[_Part], count: int, capacity: float) -> list[list[_Part]] | None:
    """Return shards filled one after the other, environments cut where a shard is full; None if something is left."""
    shards: list[list[_Part]] = [[]]
    filled = 0.0
    for whole in ordered:
        part: _Part | None = None
        for seconds, cell in whole.cells:
            # A new part that is hardly more than its set-up is not worth it.
            needed = seconds if part else max(SETUP_S + seconds, min(2 * SETUP_S, capacity))
            if shards[-1] and filled + needed > capacity:
                shards.append([])
                filled, part = 0.0, None
            if part is None:
                part = _Part(whole.target)
                shards[-1].append(part)
                filled += SETUP_S
            part.cells.append((seconds, cell))
            filled += seconds
    return shards + [[] for _ in range(count - len(shards))] if len(shards) <= count else None


def _as_work(shard: Sequence[_Part]) -> list[Work]:
    """Return one work for each environment of a shard, which may have several parts of it."""
    works: dict[str, Work] = {}
    for part in shard:
        works.setdefault(_place(part.target), Work(part.target, [])).cells.extend(cell for _, cell in part.cells)
    return list(works.values())


class Durations:
    """Expected seconds of cells; the median of all for a cell that is not known."""

    def __init__(self, known: Mapping[CellName, float]) -> None:
        self._known = known
        self._usual = median(known.values()) if known else CELL_S

    def of(self, cell: Cell) -> float:
        """Return the expected seconds of a cell.

        Args:
            cell: of the plan.
        """
        return self._known.get(cell.key, self._usual)


def read_durations(path: Path) -> Durations:
    """Return the durations of a file; without the file all cells last the same.

    Args:
        path: of the file.

    Raises:
        InputError: a line of the file is damaged.
    """
    try:
        text = read_regular(path).decode()
    except FileNotFoundError:
        return Durations({})
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    known: dict[CellName, float] = {}
    rows = csv.reader(io.StringIO(text))
    for number, row in enumerate(rows, 1):
        if number == 1 and row == _COLUMNS:
            continue
        try:
            case, check, device, backend, seconds = row
            known[CellName(case, check, device, backend)] = value = float(seconds)
            if not 0 <= value < float("inf"):
                raise ValueError(value)  # noqa: TRY301
        except ValueError:
            problem = f"is no line of {','.join(_COLUMNS)}; `pt2bugs plan --update-durations` writes the file anew"
            raise InputError(f"{path}:{number}: {problem}") from None
    return Durations(known)


def write_durations(path: Path, known: Mapping[CellName, float]) -> None:
    """Write durations, sorted, with two significant digits: small changes of a machine leave the file as it is.

    Args:
        path: the file.
        known: seconds of checks.

    Raises:
        FileError: the file cannot be written; the one that was there stays.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    # Below a tenth of a second the fork and the exit of a cell are what lasts.
    writer.writerows([*name, f"{float(f'{max(seconds, 0.1):.2g}'):g}"] for name, seconds in sorted(known.items()))
    write_text(path, text.getvalue())
