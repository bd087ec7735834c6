"""The variables that cells see: without those that change what a compiler does, and without credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping

Removed = tuple[str, ...]

_STEERS_TORCH = re.compile(r"(TORCH|PYTORCH|TRITON|PYTHON|ATEN_)")
CAPABILITY_VARIABLE = "ATEN_CPU_CAPABILITY"
"""Limits the vector instructions of ATen's kernels and, since torch 2.1, of Inductor's."""
_PYTHON_PATH = frozenset({"PYTHONPATH", "PYTHONHOME"})
_CREDENTIAL = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH|COOKIE|SESSION",
    re.IGNORECASE,
)
_CREDENTIAL_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
HUGE_PAGES = "glibc.malloc.hugetlb=1"
"""A setting of glibc 2.35 and newer, ignored by other C libraries. Fewer pages to copy for a cell, and to clear for
each 32 MiB with which Dynamo flushes the CPU's cache after it has made guards (torch 2.6 and newer)."""


def cell_environment(
    environ: Mapping[str, str], *, threads: int, keeps_python_path: bool, extra: Mapping[str, str]
) -> tuple[dict[str, str], Removed]:
    """The variables for the processes of an engine, and the names of those kept from them that steer torch or Python.

    A variable like ``TORCH_COMPILE_DISABLE=1`` makes bugs vanish: cells have what their header's `env` says and what is
    set here, and nothing else of the kind.
    """
    kept: dict[str, str] = {}
    removed = []
    for name, value in environ.items():
        if _STEERS_TORCH.match(name) and not (keeps_python_path and name in _PYTHON_PATH):
            removed.append(name)
        elif name != "VIRTUAL_ENV" and not is_credential(name, value):
            kept[name] = value
    own = {
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        # A pool of compile workers would be forked from every cell.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "GLIBC_TUNABLES": environ.get("GLIBC_TUNABLES") or HUGE_PAGES,
    }
    return {**kept, **own, **extra}, tuple(sorted(removed))


def is_credential(name: str, value: str) -> bool:
    """Whether a variable looks like a secret, by its name or by a password in an address."""
    return bool(_CREDENTIAL.search(name) or _CREDENTIAL_IN_URL.search(value))
