"""`pt2bugs run --cluster local:2` against the same run without a cluster: what it costs, and what random kills change.

Environments are made by uv from wheels of a fake torch, so that what is measured is the cluster and not the compiler.
`--kills` processes are ended by SIGKILL while runs are under way: workers, installations, the engine's processes and
cells. Then the command is run once more in peace, and its cells are compared with those of an undisturbed local run.
"""

from __future__ import annotations

import contextlib
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from measure import ROOT, log, row, run, start

sys.path.insert(0, str(ROOT / "tests"))

from fake_torch import build_wheels, serve_index
from pt2bugs.results.journal import journal_files, read_journal
from suite import case_text, parent_of

RELEASES = {"2.5.0": {}, "2.6.0": {"half": "wrong", "dead": "abort"}, "2.7.0": {"half": "raise"}}
CHECK = """
import time
import torch

def {name}(x):
    return x.sin()

def check(backend):
    x = torch.arange(4)
    time.sleep({seconds})
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))

def test_a(backend): check(backend)
def test_b(backend): check(backend)
def test_c(backend): check(backend)
"""
KINDS = {"driver": 3, "worker": 20, "install": 10, "engine": 20, "cell": 47}
"""What is hit, and how often of a hundred times."""
KILLS_A_ROUND = 25
ENGINE_DEPTH = 3
"""Below the worker stand guardian, zygote and supervisor; whatever is deeper belongs to a cell."""


class Matrix:
    """One command in a folder of its own, with environments of its own."""

    def __init__(self, folder: Path, index: str, cluster: str, cases: int, seconds: float) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        (folder / "tmp").mkdir(parents=True)
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "PT2BUGS_"))},
            "PT2BUGS_HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "PIP_CONFIG_FILE": os.devnull,
            "PYTHONPATH": str(ROOT / "harness"),
            "CLUSTER_MARK": self.mark,
        }
        where = ["--cluster", cluster] if cluster else ["--jobs", "2"]
        self.command = [sys.executable, "-m", "pt2bugs", "run", "--torch", "all", "--index", index, *where]
        (folder / "cases").mkdir()
        for number in range(cases):
            name = ("fine", "half", "dead")[number % 3]
            bugs = [{"torch": "==2.6.0", "outcome": "wrong"}] if name == "half" else []
            text = case_text(CHECK.format(name=name, seconds=seconds), bugs=bugs, backends=["eager", "inductor"])
            (folder / "cases" / f"{name}_{number}.py").write_text(text)
        self.cells = cases * 3 * 2 * len(RELEASES)

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, cwd=self.folder, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def finish(self) -> float:
        """Run to the end; the seconds it took."""
        began = time.perf_counter()
        process = self.start()
        if process.wait() not in (0, 1):
            raise SystemExit(f"{' '.join(self.command)}: left with status {process.returncode}")
        return time.perf_counter() - began

    def lines(self) -> list[dict[str, object]]:
        files = journal_files(self.folder / "results" / "journal")
        return [{**record} for record in read_journal(files, lambda _: None)]

    def answered(self) -> Counter[tuple[object, ...]]:
        """Return how often each cell was answered."""
        names = ("torch", "case", "check", "backend")
        return Counter(tuple(line[name] for name in names) for line in self.lines() if line["verdict"] != "error")

    def table(self) -> list[str]:
        return (self.folder / "results" / "cells.csv").read_text().splitlines()

    def processes(self) -> Iterator[tuple[int, str]]:
        """The processes of the run, with their kinds."""
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError):
                if f"CLUSTER_MARK={self.mark}".encode() in (path / "environ").read_bytes():
                    kind = _kind(int(path.name), (path / "cmdline").read_bytes())
                    if kind:
                        yield int(path.name), kind


def _kind(pid: int, command: bytes) -> str:
    if b"pt2bugs\0run" in command:
        return "driver"
    if b"spawn_main" in command:
        return "worker"
    if b"guardian" in command:
        depth = 0
        while b"spawn_main" not in Path(f"/proc/{(pid := parent_of(pid))}/cmdline").read_bytes():
            depth += 1
            if pid <= 1:
                return "cell"
        return "engine" if depth < ENGINE_DEPTH else "cell"
    return "install" if b"uv\0" in command or b"/uv" in command else ""


def under_fire(matrix: Matrix, dice: random.Random, hits: Counter[str], goal: int) -> None:
    """Run until all cells are answered or so many processes were hit.

    No cell loses its process twice in a row, which is believed to be its own doing: after a hit on an engine or a cell
    whatever runs is recorded before the next one.
    """
    process = matrix.start()
    safe_again = 0
    try:
        while process.poll() is None and hits.total() < goal:
            (kind,) = dice.choices(list(KINDS), list(KINDS.values()))
            deadline = time.monotonic() + 2
            while time.monotonic() < deadline and process.poll() is None:
                targets = sorted(pid for pid, role in matrix.processes() if role == kind)
                recorded = len(matrix.lines())
                if targets and (kind not in ("engine", "cell") or recorded >= safe_again):
                    if kind in ("engine", "cell"):
                        safe_again = recorded + 5
                    with contextlib.suppress(OSError):
                        os.kill(dice.choice(targets), signal.SIGKILL)
                        hits[kind] += 1
                    break
                time.sleep(0.02)
            time.sleep(dice.uniform(0.1, 0.6))
    finally:
        process.terminate()
        process.wait(60)


def kills(index: str, folder: Path, count: int, seconds: float) -> None:
    """Compare runs under fire with one in peace; SystemExit if they differ."""
    dice = random.Random(17)
    here = Matrix(folder / "here", index, "", 6, seconds)
    here.finish()
    hits: Counter[str] = Counter()
    rounds = 0
    while hits.total() < count:
        rounds += 1
        matrix = Matrix(folder / f"round-{rounds}", index, "local:2", 6, seconds)
        under_fire(matrix, dice, hits, min(count, hits.total() + KILLS_A_ROUND))
        before = matrix.lines()
        matrix.finish()
        log(f"round {rounds}: {dict(hits)}, {len(before)} of {matrix.cells} cells recorded under fire")
        if matrix.table() != here.table():
            raise SystemExit(f"{matrix.folder}: the cells differ from those of an undisturbed run")
        if set(matrix.answered().values()) != {1} or len(matrix.answered()) != matrix.cells:
            raise SystemExit(f"{matrix.folder}: a cell is lost, or has two answers")
        after = matrix.lines()
        if any(line not in after for line in before):
            raise SystemExit(f"{matrix.folder}: a line that was there is gone")
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(hits.items()))
    summary = f"{hits.total()} kills ({told}) in {rounds} runs of {here.cells} cells each"
    row(summary, "all cells equal", "an undisturbed run here", "", "all equal")


def overhead(index: str, folder: Path, cases: int, seconds: float) -> None:
    """The same cells by two jobs here, and by two workers; environments are made before in both."""
    here = Matrix(folder / "two-jobs", index, "", cases, seconds)
    there = Matrix(folder / "two-workers", index, "local:2", cases, seconds)
    for matrix in (here, there):
        log(f"{matrix.folder.name}: once to have the environments made")
        matrix.finish()
        matrix.command.append("--rerun")
    best = {matrix: min(matrix.finish() for _ in range(2)) for matrix in (here, there)}
    row(
        f"{here.cells} cells of {seconds:g} s in {len(RELEASES)} environments, two workers",
        f"{best[there]:.1f} s",
        f"two jobs without a cluster: {best[here]:.1f} s",
        f"{best[here] / best[there]:.2f}",
        "0.91",
    )


IDENTITY = ("outcome", "verdict", "error_type", "signal")


def release(torch: str) -> None:
    """A release of the real torch by two workers, against what is committed of it: cell by cell."""
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        command = [sys.executable, "-m", "pt2bugs", "run", "--torch", torch, "--cluster", "local:2"]
        cost = run([*command, "--results", name], accept=(0, 1), env={"PYTHONPATH": str(ROOT / "harness")})
        ours, committed = (_cells(folder, torch) for folder in (Path(name), ROOT / "results"))
    both = [key for key in ours if key in committed]
    seen = {
        key: ([ours[key][field] for field in IDENTITY], [committed[key][field] for field in IDENTITY]) for key in both
    }
    differ = [key for key, (mine, theirs) in seen.items() if mine != theirs]
    for key in differ:
        log(f"{' '.join(key)}: {seen[key][0]}, not {seen[key][1]}")
    messages = sum(ours[key]["message"] != committed[key]["message"] for key in both)
    row(
        f"torch {torch}: {len(ours)} cells by two workers, {cost.wall_s:.0f} s",
        f"{len(both) - len(differ)} as committed; {messages} messages differ",
        f"{len(committed)} cells are committed",
        "",
        "all",
    )


def _cells(folder: Path, torch: str) -> dict[tuple[str, ...], dict[str, str]]:
    with (folder / "cells.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["torch"] == torch and not row["extras"]]
    return {(row["case"], row["check"], row["device"], row["backend"], row["python"]): row for row in rows}


def main() -> None:
    options = start(
        __doc__,
        ("--kills", int, 200, "processes to be killed"),
        ("--cases", int, 30, "cases for the overhead, of 18 cells each"),
        ("--seconds", float, 0.2, "seconds of a cell"),
        ("--release", str, "", "run this release of the real torch instead, and compare it with what is committed"),
    )
    if options.release:
        release(options.release)
        return
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        folder = Path(name)
        build_wheels(folder / "wheels", RELEASES)
        with serve_index(folder / "wheels", folder / "index") as index:
            if options.cases:
                overhead(index, folder, options.cases, options.seconds)
            if options.kills:
                kills(index, folder, options.kills, options.seconds)


if __name__ == "__main__":
    main()
