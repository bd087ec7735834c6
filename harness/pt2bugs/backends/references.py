"""The ladder of references: torch's own backends, with which a backend is compared, and where each is measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pt2bugs.backends.spec import BackendSpec, known_backends
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.model import Case
from pt2bugs.engine.backend import BackendSetup

LAYERS = ("eager", "aot_eager", "aot_autograd_nop", "aot_eager_decomp_partition")
"""The layers above a backend, from the outermost inwards: a failure that one of them shows is not the backend's own."""
REFERENCES = (*LAYERS, "inductor")


@dataclass(frozen=True)
class ReferenceCells:
    """The cells of `REFERENCES` that a backend is compared with.

    `plain` are those of an environment without its packages. Those of the layers on the backend's own device are
    `beside` it: only its own environment knows the device, and what fails there without the backend is not its own.
    """

    plain: tuple[Cell, ...]
    beside: tuple[Cell, ...]


def reference_cells(spec: BackendSpec, cases: Iterable[Case], devices: tuple[str, ...] = ()) -> ReferenceCells:
    """Return the cells that a backend is compared with; it is none of its own references.

    Args:
        spec: the backend.
        cases: the cases that are selected.
        devices: the devices that are selected; empty for the CPU.
    """
    names = tuple(name for name in REFERENCES if name != spec.name)
    cases = tuple(cases)
    checks = {cell.key.which_check for case in cases for cell in cells_of(case, devices, (spec.name,))}
    cells = [cell for case in cases for cell in cells_of(case, devices, names) if cell.key.which_check in checks]
    device = spec.setup.device
    # Inductor has no code for a device that a package brings.
    moved = {cell.key for cell in cells if device and cell.device == "cpu" and cell.backend != "inductor"}
    plain = tuple(cell for cell in cells if cell.key not in moved)
    return ReferenceCells(plain, tuple(replace(cell, device=device) for cell in cells if cell.key in moved))


def setup_beside(name: str, spec: BackendSpec) -> BackendSetup:
    """Return how a reference is set up in the environment of a backend of another device.

    Args:
        name: one of `REFERENCES`.
        spec: the backend.
    """
    own, setup = known_backends()[name].setup, spec.setup
    return replace(own, imports=(*setup.imports, *own.imports), env=setup.env, device=setup.device)
