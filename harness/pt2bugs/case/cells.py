"""Cells: one check, in one environment, on one device, with one backend."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pt2bugs.case.model import Case, Check


class CheckName(NamedTuple):
    """Name of a check in the corpus."""

    case: str
    check: str


class CellName(NamedTuple):
    """Name of a cell, without its environment."""

    case: str
    check: str
    device: str
    backend: str

    @property
    def which_check(self) -> CheckName:
        """The check without the device and the backend."""
        return CheckName(self.case, self.check)

    @property
    def item(self) -> str:
        """The name of its pytest item."""
        return f"{self.check}[{self.device}-{self.backend}]"

    def __str__(self) -> str:
        return f"{self.case}::{self.item}"


@dataclass(frozen=True)
class Cell:
    """A cell of some environment."""

    case: Case
    check: Check
    device: str
    backend: str

    @property
    def key(self) -> CellName:
        """The name that tables and journals have for the cell."""
        return CellName(self.case.id, self.check.name, self.device, self.backend)

    @property
    def name(self) -> str:
        """The name of its pytest item."""
        return self.key.item


def cells_of(case: Case, devices: tuple[str, ...] = (), backends: tuple[str, ...] = ()) -> Iterator[Cell]:
    """Yield the cells of a case on some devices and backends.

    Args:
        case: which one.
        devices: those asked for; none means the CPU, or the first device of a case that is not for the CPU.
        backends: those asked for; none means those of the header. One that the header does not name runs the checks
            that take a backend.
    """
    chosen = tuple(device for device in case.devices if device in (devices or ("cpu",)))
    if not chosen and not devices:
        chosen = case.devices[:1]
    for check in case.checks:
        takes_backend = "backend" in check.parameters
        named = case.backends if takes_backend else case.backends[:1]
        if backends:
            foreign = takes_backend and case.compiles and not case.extra
            named = tuple(backend for backend in backends if backend in named or foreign)
        for device in chosen:
            for backend in named:
                yield Cell(case, check, device, backend)


NOT_CLAIMED = "not claimed: "


def unclaimed(cell: Cell, not_claimed: Collection[str]) -> str:
    """Return why the backend of a cell does not claim it; empty if it does.

    A claim is about checks that were not written for the backend. Those whose header names it are always run, so that
    every verb journals the same of them.

    Args:
        cell: with what its check demands.
        not_claimed: what the backend does not claim to do.
    """
    if cell.backend in cell.case.backends:
        return ""
    missing = [word for word in cell.case.demands.get(cell.check.name, ()) if word in not_claimed]
    return NOT_CLAIMED + ", ".join(missing) if missing else ""
