"""An environment as cells see it: its facts, and the variables, without credentials and what steers a compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

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
    """Return the variables for the processes of an engine, and the names of those left out that steer torch or Python.

    A variable like ``TORCH_COMPILE_DISABLE=1`` makes bugs vanish: cells have what their header's `env` says and what is
    set here, and nothing else of the kind.

    Args:
        environ: the user's variables.
        threads: of torch.
        keeps_python_path: whether PYTHONPATH stays.
        extra: variables to be set beside.
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
    """Return whether a variable looks like a secret, by its name or by a password in an address.

    Args:
        name: of the variable.
        value: its text.
    """
    return bool(_CREDENTIAL.search(name) or _CREDENTIAL_IN_URL.search(value))


@dataclass(frozen=True)
class EnvironmentFacts:
    """Facts of one environment. Before torch was imported, and of one that cannot import it, they are empty.

    Args:
        torch: its version, with the local part: ``2.13.0+cpu``.
        torch_git: the commit that torch was built from; empty if it does not say.
        python: the version of the interpreter, all three parts.
        platform: the operating system, as `platform.platform` names it.
        cpu_capability: the vector instructions that torch uses, in its own words: ``AVX2``.
        device_name: of the CPU; that of another device is known from its canary.
        memory: the folder of what the environment remembers between runs.
        known_targets: devices and backends of which it remembers what a compile needs, see `warmup.is_known`.
        paths: folders that must not show in results, and the word that stands for each; empty: it is left out.
        distributions: versions of those packages that were asked for and are installed, by name.
        unconfined: what its cells are not kept from, in words of `sandbox`; known once a worker is open.
    """

    torch: str = ""
    torch_git: str = ""
    python: str = ""
    platform: str = ""
    cpu_capability: str = ""
    device_name: str = ""
    memory: str = ""
    known_targets: tuple[str, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    distributions: Mapping[str, str] = field(default_factory=dict)
    unconfined: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return them as they travel in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnvironmentFacts:
        """Make them of what arrived as JSON, which has no tuples.

        Args:
            data: the decoded JSON.
        """
        return cls(**{**data, "known_targets": tuple(data["known_targets"]), "unconfined": ()})
