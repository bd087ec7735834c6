"""Accelerators that this machine cannot have, told without torch: an environment is gigabytes, a question is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pt2bugs.run.schedule import Work

_SIGNS = {
    # NVIDIA's driver on a PC, on Jetson, under WSL; AMD's.
    "cuda": ("/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu", "/dev/dxg", "/dev/kfd"),
    "xpu": ("/dev/dri", "/dev/dxg"),
}


def may_be_here(device: str, root: Path = Path("/")) -> bool:
    """False where the machine shows no sign of such a device; True of devices whose signs are not known.

    Args:
        root: where the file system of the machine begins.
    """
    signs = _SIGNS.get(device)
    return signs is None or any((root / sign.lstrip("/")).exists() for sign in signs)


def without_absent(work: Iterable[Work]) -> tuple[list[Work], dict[str, int]]:
    """The work without cells on devices that cannot be here, and how many of those there are on each device."""
    left: list[Work] = []
    absent: dict[str, int] = {}
    work = list(work)
    here = {device: may_be_here(device) for device in {cell.device for one in work for cell in one.cells}}
    for one in work:
        cells = []
        for cell in one.cells:
            if here[cell.device]:
                cells.append(cell)
            else:
                absent[cell.device] = absent.get(cell.device, 0) + 1
        if cells:
            left.append(one if len(cells) == len(one.cells) else replace(one, cells=cells))
    return left, absent


def told(absent: dict[str, int]) -> Sequence[str]:
    """A sentence for each device."""
    return [
        f"{count} cells on {device} are left out: this machine has no such device (--device {device} asks torch itself)"
        for device, count in absent.items()
    ]
