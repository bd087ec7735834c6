"""The class of the machine that a worker is on, never its name."""

from __future__ import annotations

import platform
import shutil
import socket
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pt2bugs.engine.folders import cache_home

_AVX512 = frozenset({"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"})
_AVX2 = frozenset({"avx2", "fma"})


@dataclass(frozen=True)
class Host:
    """A machine as far as a cell's outcome may depend on it; `gpus` are model and compute capability of each."""

    machine: str
    capability: str
    gpus: tuple[str, ...]

    def __str__(self) -> str:
        counts = {gpu: self.gpus.count(gpu) for gpu in self.gpus}
        cards = [f"{n} x {gpu}" if n > 1 else gpu for gpu, n in counts.items()]
        return ", ".join([" ".join(part for part in (self.machine, self.capability) if part), *cards])

    @property
    def platforms(self) -> frozenset[str]:
        """Words of a header's `platform` that this machine fits."""
        levels = ("default", "avx2", "avx512")
        there = levels[: levels.index(self.capability) + 1] if self.capability in levels else ()
        return frozenset({self.machine.lower(), *there})


@lru_cache
def this_host() -> Host:
    """Return the machine of this process."""
    return Host(platform.machine(), _capability(), _gpus())


def site() -> str:
    """Return a name for the disk that environments are made on: worker processes with the same site share them."""
    home = cache_home()
    home.mkdir(parents=True, exist_ok=True)
    place = home.stat()
    return f"{socket.gethostname()} {place.st_dev}:{place.st_ino}"


def _capability() -> str:
    """Return the word of `torch.backends.cpu.get_cpu_capability` for the vector instructions that are here."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    flags = frozenset(line.partition(":")[2].split())
    return "avx512" if flags >= _AVX512 else "avx2" if flags >= _AVX2 else "default"


def _gpus() -> tuple[str, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    command = [program, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=30, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if done.returncode != 0:
        return ()
    rows = [line.split(",") for line in done.stdout.splitlines() if "," in line]
    return tuple(f"{name.strip()} ({capability.strip()})" for name, capability in rows)
