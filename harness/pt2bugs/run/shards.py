"""Divides a selection into shards for machines that do not talk to each other.

A division depends on the selection and on the committed durations alone, never on what a journal answers. So all
machines come to the same one, and a shard has the same cells when it is run again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pt2bugs.case.cells import Cell
from pt2bugs.errors import InputError
from pt2bugs.run.schedule import Target, Work

SETUP_S = 60.0
"""Seconds that an environment is taken to cost each shard that has a part of it. A constant, so that no machine
divides by what it has itself."""

TOLERANCE = 1.1
"""A division that keeps environments whole may last so much longer than the best one."""

MOST = 1000
"""Shards at most; more than any CI starts."""


@dataclass(frozen=True)
class ShardName:
    """``3/10``, the third of ten shards; after an ``@`` the digest of the division that is meant."""

    number: int
    count: int
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> ShardName:
        """Raises ValueError, with words, if the text is none."""
        found = re.fullmatch(r"(\d{1,5})/(\d{1,5})(?:@([0-9a-f]{8}))?", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]) <= MOST:
            raise ValueError(f"{text!r} is no shard; write for example 3/10, with at most {MOST} shards")
        return cls(int(found[1]), int(found[2]), found[3] or "")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}" + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True)
class Division:
    """All shards of a selection, each with the work that it is to do; one may be empty."""

    shards: Sequence[Sequence[Work]]

    @cached_property
    def digest(self) -> str:
        """Names the division: equal on two machines if both divide the same cells in the same way."""
        names = sorted(
            f"{number} {_place(work.target)} {' '.join(cell.key)}"
            for number, shard in enumerate(self.shards, 1)
            for work in shard
            for cell in work.cells
        )
        return hashlib.sha256("\n".join([str(len(self.shards)), *names]).encode()).hexdigest()[:8]

    def name(self, number: int) -> ShardName:
        """The name of a shard, counted from 1, that says which division is meant."""
        return ShardName(number, len(self.shards), self.digest)

    def shard(self, name: ShardName) -> Sequence[Work]:
        """The work of a shard.

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


def divide(work: Iterable[Work], count: int, seconds: Callable[[Cell], float]) -> Division:
    """Divide the work into that many shards of about the same duration, environments whole as far as that allows."""
    ordered = [_Part.of(one, seconds) for one in work if one.cells]
    ordered.sort(key=lambda part: (-part.seconds, _place(part.target)))
    total = sum(part.seconds for part in ordered) + SETUP_S * max(len(ordered), count)
    best = max([total / count, *(SETUP_S + part.longest for part in ordered)])
    shards = _whole(ordered, count, best * TOLERANCE)
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
        return cls(work.target, sorted(cells, key=lambda one: (-one[0], one[1].key)))

    @property
    def seconds(self) -> float:
        return sum(seconds for seconds, _ in self.cells)

    @property
    def longest(self) -> float:
        return self.cells[0][0]

    def in_parts(self, count: int) -> list[_Part]:
        """Parts of about the same duration, none of them empty."""
        parts = [_Part(self.target) for _ in range(min(count, len(self.cells)))]
        filled = [0.0] * len(parts)
        for seconds, cell in self.cells:
            # An empty part first, also where cells take no time at all.
            least = min(range(len(parts)), key=lambda number: (filled[number], len(parts[number].cells), number))
            parts[least].cells.append((seconds, cell))
            filled[least] += seconds
        return parts


def _whole(ordered: Sequence[_Part], count: int, capacity: float) -> list[list[_Part]] | None:
    """Environments whole, or in as few equal parts as fit; None if that exceeds the capacity of a shard."""
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
    """Shard after shard filled, an environment cut where a shard is full; None if something is left."""
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
    """One work for each environment of a shard, which may have several parts of it."""
    found: dict[str, Work] = {}
    for part in shard:
        found.setdefault(_place(part.target), Work(part.target, [])).cells.extend(cell for _, cell in part.cells)
    return list(found.values())
