"""Eager, aot_eager and inductor: what a backend is compared with, and where each of them is measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pt2bugs.backends.known import REFERENCES
from pt2bugs.backends.reach import Reach
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.model import Case
from pt2bugs.engine.backend import BackendSetup

_NOT_ELSEWHERE = "inductor"
"""Stays on the CPU: it has no code for a device that a package brings."""


@dataclass(frozen=True)
class Compared:
    """The cells of `REFERENCES` that a backend is compared with.

    `plain` are those of an environment without its packages. A backend of another device than the CPU has `beside` it
    the layers above on that device, which only its own environment knows: what fails there without it is not its own.
    """

    plain: tuple[Cell, ...]
    beside: tuple[Cell, ...]


def compared_with(reach: Reach, cases: Iterable[Case], devices: tuple[str, ...] = ()) -> Compared:
    """The cells that a backend is compared with; it is none of its own references."""
    names = tuple(name for name in REFERENCES if name != reach.name)
    cases = tuple(cases)
    asked = {cell.key.which_check for case in cases for cell in cells_of(case, devices, (reach.name,))}
    cells = [cell for case in cases for cell in cells_of(case, devices, names) if cell.key.which_check in asked]
    device = reach.setup.device
    moves = {cell.key for cell in cells if device and cell.device == "cpu" and cell.backend != _NOT_ELSEWHERE}
    plain = tuple(cell for cell in cells if cell.key not in moves)
    return Compared(plain, tuple(replace(cell, device=device) for cell in cells if cell.key in moves))


def setup_beside(name: str, reach: Reach) -> BackendSetup:
    """How one of `REFERENCES` is reached in the environment of a backend of another device."""
    setup = reach.setup
    return BackendSetup(name, name, imports=setup.imports, env=setup.env, device=setup.device)
