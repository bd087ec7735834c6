"""What a command costs, on what machine, and the row of the table in docs/evaluation/performance.md that says so."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pt2bugs.engine.warm_cache import cpu_name

HEAD = "| what | pt2bugs | alternative | alternative / pt2bugs | aim |"
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, seconds of processor (user and system, of all descendants), MiB of the largest process."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run(command: Sequence[str], accept: Iterable[int] = (0,), env: dict[str, str] | None = None) -> Cost:
    """Run a command to its end, its output dropped.

    Raises:
        SystemExit: it left with another status than those in `accept`; its last words are in the message.
    """
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        if process.stderr is None:
            raise SystemExit("the program was started without a pipe")
        stderr = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in tuple(accept):
        raise SystemExit(f"{' '.join(command)}\nleft with status {process.returncode}:\n{stderr[-2000:]}")
    return Cost(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best(costs: Iterable[Cost]) -> Cost:
    """The quickest of several runs: what disturbs a run only ever makes it slower."""
    return min(costs, key=lambda cost: cost.wall_s)


def machine() -> str:
    """The machine, Python and torch on one line."""
    with Path("/proc/meminfo").open() as lines:
        memory = int(next(lines).split()[1]) / 2**20
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return (
        f"{cpu_name()}, {cores} cores, {memory:.0f} GiB; {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}, torch {metadata.version('torch')}; load {load:.1f} at the start"
    )


def log(text: str) -> None:
    """Tell the person who waits; stdout has the rows alone."""
    print(text, file=sys.stderr, flush=True)


def start(description: str | None, *options: tuple[str, type, object, str]) -> argparse.Namespace:
    """Parse the options (name, type, default, help), and print the machine and the head of the table."""
    parser = argparse.ArgumentParser(description=description)
    for name, kind, default, help_text in options:
        parser.add_argument(name, type=kind, default=default, help=f"{help_text} (default: {default})")
    arguments = parser.parse_args()
    log(machine())
    if os.getloadavg()[0] > 0.5 * len(os.sched_getaffinity(0)):
        log("warning: the machine is busy; only the ratios mean something, and those little")
    print(HEAD)
    print("| --- | --- | --- | --- | --- |", flush=True)
    return arguments


def row(what: str, ours: str, theirs: str = "", ratio: str = "", aim: str = "") -> None:
    """One row of the table."""
    print(f"| {what} | {ours} | {theirs} | {ratio} | {aim} |", flush=True)
