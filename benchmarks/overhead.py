"""The overhead of a cell: what the engine adds to a bare fork, exit and wait of the same process.

A process imports torch and the compiler as a zygote does, and is the supervisor of its own cells, process 1 of a PID
namespace: cell and fork are measured in turn, on the same parent. A cell here is all that the engine does for one: its
fork, session, output file, limits, pipe, the import of the case file, the check, the report, and the end of whatever it
left. A cell outside the sandbox is measured in the same turns.
"""

from __future__ import annotations

import os
import resource
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from measure import row, start
from pt2bugs.engine import linux
from pt2bugs.engine.check import freeze, remember_originals
from pt2bugs.engine.child import BODIES, body_of, prepare_cells
from pt2bugs.engine.counts import COUNTS
from pt2bugs.engine.environment import cell_environment
from pt2bugs.engine.linux import Descendants
from pt2bugs.engine.protocol import Limits
from pt2bugs.engine.sandbox import Sandbox, Surroundings, environment_folders
from pt2bugs.engine.supervisor import GRACE, Supervisor
from pt2bugs.engine.warmup import prepare

from cases import write_cases

LIMITS = Limits(timeout_s=60, memory_mib=4096)


def supervisors(folder: Path) -> tuple[Supervisor, Supervisor]:
    """This process as a supervisor, with all imported that a zygote imports: with a sandbox, and without one."""
    facts = prepare({"threads": 1, "targets": [["cpu", "inductor"]], "imports": [], "distributions": []}, folder)
    for kind in BODIES:
        body_of(kind)
    COUNTS.watch()
    remember_originals()
    prepare_cells()
    freeze()
    descendants = Descendants(namespace=True, own_proc=linux.mount_own_proc())
    around = Surroundings(tuple(environment_folders(os.environ)), (), facts.memory)
    sandbox = Sandbox(folder / "disk", around)
    if sandbox.unconfined:
        raise SystemExit(f"this system cannot keep a cell from: {', '.join(sandbox.unconfined)}")
    _, control = socket.socketpair()
    return (
        Supervisor(control, folder, "cell-0", descendants, [], GRACE, sandbox),
        Supervisor(control, folder, "cell-1", descendants, [], GRACE),
    )


def bare_fork() -> float:
    """Seconds of a fork, an exit and a wait."""
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return time.perf_counter() - began


def page_faults() -> list[int]:
    """The minor page faults so far of the children that ended, and of this process."""
    return [resource.getrusage(who).ru_minflt for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]


def pages(run: Callable[[], float], count: int) -> str:
    """Return how many pages the child and its parent write to for the first time: medians of minor page faults."""
    faults = []
    for _ in range(count):
        before = page_faults()
        run()
        faults.append([new - old for old, new in zip(before, page_faults(), strict=True)])
    child, parent = (statistics.median(column) for column in zip(*faults, strict=True))
    return f"{child:.0f} and {parent:.0f}"


def measure(folder: Path, count: int) -> None:
    """Measure so many cells and print the rows."""
    confined, unconfined = supervisors(folder)
    (path,) = write_cases(folder, 1).iterdir()
    request = {
        "kind": "check", "path": str(path), "check": "test_nothing", "arguments": {}, "device": "cpu",
        "threads": 1, "timeout_s": LIMITS.timeout_s, "compiles": False, "setup": None,
    }  # fmt: skip

    def cell(worker: Supervisor) -> float:
        began = time.perf_counter()
        ended = worker._run(request, LIMITS)
        seconds = time.perf_counter() - began
        if ended.frames["report"]["observation"]["outcome"] != "pass":
            raise SystemExit(f"a check that does nothing did not pass: {ended}")
        worker._folder.renew()
        if worker._sandbox is not None:
            worker._sandbox.renew()
        worker._prepare()
        return seconds

    turns = [(bare_fork(), cell(confined), cell(unconfined)) for _ in range(count + 5)][5:]
    bare, inside, outside = (statistics.median(column) for column in zip(*turns, strict=True))
    ratio, more = against((cell_s, bare_s) for bare_s, cell_s, _ in turns)
    row(
        f"overhead of a cell, median of {count}",
        f"{1000 * inside:.1f} ms, {signed(more)}",
        f"fork, exit, wait of the same parent: {1000 * bare:.1f} ms",
        f"1 / {ratio:.2f}",
        "1 / 1.3",
    )
    ratio, more = against((inside_s, outside_s) for _, inside_s, outside_s in turns)
    row(
        f"a cell in the sandbox, median of {count}",
        f"{1000 * inside:.1f} ms, {signed(more)}",
        f"a cell outside the sandbox: {1000 * outside:.1f} ms",
        f"1 / {ratio:.2f}",
        "5 ms more",
    )
    others = f"fork, exit, wait: {pages(bare_fork, count)}"
    inside_pages = pages(lambda: cell(confined), count)
    row("pages that the cell and the supervisor write to, of 4 KiB", inside_pages, others, "", "")


def against(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the medians of the ratios and of the differences of pairs of seconds.

    Of neighbours: the machine's own ups and downs last longer than a turn.
    """
    ratios, differences = zip(*((ours / theirs, ours - theirs) for ours, theirs in pairs), strict=True)
    return statistics.median(ratios), statistics.median(differences)


def signed(seconds: float) -> str:
    """A difference in milliseconds, in words."""
    return f"{abs(1000 * seconds):.1f} ms {'more' if seconds > 0 else 'less'}"


def main() -> None:
    options = start(__doc__, ("--cells", int, 200, "cells"))
    # As every engine starts: with huge pages, which make the bare forks cheaper too, and without threads of libraries.
    environ, _ = cell_environment(os.environ, threads=1, keeps_python_path=True, extra={})
    if environ != os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], environ)
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        if not linux.enter_namespace():
            raise SystemExit("this system allows no PID namespace, and so no sandbox")
        if pid := os.fork():
            raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        measure(Path(name), options.cells)
        sys.stdout.flush()
        os._exit(0)  # the folder is the other process's


if __name__ == "__main__":
    main()
