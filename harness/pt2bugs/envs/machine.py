"""Findings about this machine: each thing that the suite needs, whether it is there, and the remedy."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pt2bugs.engine.environment import cell_environment
from pt2bugs.engine.folders import cache_home
from pt2bugs.engine.linux import enter_namespace
from pt2bugs.engine.restrictions import has_landlock
from pt2bugs.engine.sandbox import DISK, FILES, KEYS, NETWORK, probe
from pt2bugs.envs.size import format_size
from pt2bugs.errors import install_command

ENVIRONMENT_BYTES = 7 << 30
"""Free bytes for an environment: more than the largest that was measured (torch 2.10.0 with CUDA takes 6.8 GiB)."""
PYTHONS = ("3.10", "3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Finding:
    """Something that a run needs. `is_fine` is None where not everybody needs it, or where it only informs."""

    name: str
    is_fine: bool | None
    seen: str
    remedy: str = ""


def findings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what this machine has.

    Args:
        environ: the variables of cells.
    """
    yield _compiler(environ)
    yield _namespaces()
    yield _sandbox()
    uv = _uv()
    yield Finding("uv", True, uv) if uv else Finding("uv", False, "not installed", install_command("envs"))
    yield _pythons(uv)
    yield _disk()
    yield _gpu()
    _, removed = cell_environment(environ, threads=1, keeps_python_path=False, extra={})
    advice = "they steer torch or Python, so cells do not get them; nothing is to be done"
    yield Finding(
        "variables", None if removed else True, ", ".join(removed) or "none in the way", advice if removed else ""
    )


def _compiler(environ: Mapping[str, str]) -> Finding:
    name = environ.get("CXX") or "g++"
    path = shutil.which(name)
    if path is None:
        remedy = "install it (apt-get install g++), or name another with CXX; Inductor compiles C++ on the CPU"
        return Finding("C++ compiler", False, f"{name} is not there", remedy)
    return Finding("C++ compiler", True, _first_line([path, "--version"]) or path)


def _namespaces() -> Finding:
    """Return whether namespaces are allowed. A child tries: a process that has entered one cannot leave it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if enter_namespace() else 1)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status == 0:
        return Finding("namespaces", True, "processes of a check cannot outlive it")
    remedy = "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1) to close that gap"
    return Finding("namespaces", None, "not allowed: a process that a check hides may outlive it", remedy)


def _sandbox() -> Finding:
    """Return whether cells can be kept from the network, the user's files and a full disk."""
    unconfined = probe()
    if not unconfined:
        lacks = "" if has_landlock() else "; this kernel has no Landlock, a second wall"
        kept_from = "a check sees neither the network nor your files, and writes 8 GiB at most"
        return Finding("sandbox", True, kept_from + lacks)
    missing = "; ".join(_NOT_CONFINED[word] for word in unconfined)
    remedy = "allow namespaces, or run code that you have not read in a container or a virtual machine of its own"
    return Finding("sandbox", None, missing, remedy)


_NOT_CONFINED = {
    NETWORK: "a check reaches the network",
    FILES: "a check reads and writes whatever you may",
    DISK: "a check can fill the disk",
    KEYS: "a check reads your keyrings",
}


def _uv() -> str:
    """Return the first line of uv about itself; empty where it is not installed."""
    try:
        from uv import find_uv_bin

        return _first_line([find_uv_bin(), "--version"])
    except (ImportError, FileNotFoundError):
        return ""


def _pythons(uv: str) -> Finding:
    if not uv:
        return Finding("Pythons", None, "unknown without uv")
    if there := pythons_here():
        return Finding("Pythons", True, f"{', '.join(there)}; uv fetches others when a release needs them")
    return Finding("Pythons", False, "uv finds none", f"uv python install {PYTHONS[1]}")


def pythons_here() -> list[str]:
    """Return the Pythons of this machine that uv finds, as minor versions; none where uv is not installed."""
    return [version for version in PYTHONS if has_python(version)]


def has_python(version: str) -> bool:
    """Return whether uv finds a Python on this machine. It starts what it finds, which can take a second.

    Args:
        version: a minor version, as ``3.11``.
    """
    try:
        from uv import find_uv_bin

        command = [find_uv_bin(), "python", "find", "--no-python-downloads", version]
    except (ImportError, FileNotFoundError):
        return False
    return bool(_first_line(command))


def _disk() -> Finding:
    home = cache_home()
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    seen = f"{format_size(free)} free for environments"
    if free >= ENVIRONMENT_BYTES:
        return Finding("disk", True, seen)
    remedy = (
        "`pt2bugs envs gc --budget SIZE` removes environments; PT2BUGS_HOME moves them; --torch-backend cpu is smaller"
    )
    return Finding("disk", False, f"{seen}; one with CUDA takes up to {format_size(ENVIRONMENT_BYTES)}", remedy)


def _gpu() -> Finding:
    path = shutil.which("nvidia-smi")
    seen = _first_line([path, "-L"]) if path else ""
    return Finding("GPU", True if seen else None, seen or "none: checks on cuda are skipped")


def _first_line(command: list[str]) -> str:
    """Return the first line that a program prints; empty if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=30, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.splitlines() or [""])[0].strip() if done.returncode == 0 else ""
