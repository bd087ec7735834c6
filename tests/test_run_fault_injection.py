"""A matrix under fire: random processes of it are killed, and what comes out is what an undisturbed run gives."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import cell_key, is_complete
from pt2bugs.results.record import Record
from suite import case_text, parent_of

KILLS = 100
KILLS_A_ROUND = 34
RELEASES = {
    "2.5.0": {},
    "2.6.0": {"half": "wrong", "dead": "abort"},
    "2.7.0": {"half": "raise"},
}
CHECK = """
import time
import torch

def {name}(x):
    return x.sin()

def check(backend):
    x = torch.arange(4)
    time.sleep(0.05)
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))

def test_a(backend): check(backend)
def test_b(backend): check(backend)
def test_c(backend): check(backend)
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES)
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


class Matrix:
    """`pt2bugs run` over all releases, in a folder and with environments of its own."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "PT2BUGS_"))},
            "PT2BUGS_HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "PIP_CONFIG_FILE": os.devnull,
            "MATRIX_MARK": self.mark,
        }
        (folder / "tmp").mkdir()
        self.command = [sys.executable, "-m", "pt2bugs.cli", "run", "--torch", "all", "--index", index, "--jobs", "2"]
        for name in ("fine", "half", "dead"):
            bugs = [{"torch": "==2.6.0", "outcome": "wrong"}] if name == "half" else []
            path = folder / "cases" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(case_text(CHECK.format(name=name), bugs=bugs, backends=["eager", "inductor"]))

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, cwd=self.folder, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def finish(self) -> str:
        """Run to the end undisturbed."""
        process = self.start()
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 1, output  # `dead` and `half` fail where no entry says so
        return output

    @property
    def cells(self) -> list[str]:
        """The rows of the matrix."""
        return (self.folder / "results" / "cells.csv").read_text().splitlines()

    def records(self) -> list[Record]:
        return list(read_journal(journal_files(self.folder / "results" / "journal"), lambda _: None))

    def processes(self) -> dict[int, str]:
        """Every process of the run, with what it is."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if f"MATRIX_MARK={self.mark}".encode() in (path / "environ").read_bytes():
                    found[int(path.name)] = self._role(path)
            except OSError:
                continue
        return found

    def _role(self, path: Path) -> str:
        words = (path / "cmdline").read_bytes().decode().split("\0")
        if "pt2bugs.cli" in words:
            return "run"
        if "guardian" not in words:
            return "install"
        return ENGINE[min(self._depth(int(path.name)), len(ENGINE) - 1)]

    def _depth(self, pid: int) -> int:
        """How far below the run: 0 for a guardian."""
        depth = 0
        while not _is_run(pid := parent_of(pid)):
            if pid <= 1:
                return len(ENGINE)
            depth += 1
        return depth


ENGINE = ("guardian", "zygote", "supervisor", "cell")


def _is_run(pid: int) -> bool:
    return b"pt2bugs.cli" in Path(f"/proc/{pid}/cmdline").read_bytes()


class Gun:
    """Kills one random process at a time, each kind as often as its weight says."""

    WEIGHTS = MappingProxyType({"run": 10, "install": 10, "guardian": 10, "zygote": 10, "supervisor": 20, "cell": 40})

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.hits: Counter[str] = Counter()
        self._safe_again: dict[int, int] = {}
        self._aim()

    def _aim(self) -> None:
        (self._role,) = self.random.choices(list(self.WEIGHTS), list(self.WEIGHTS.values()))
        self._until = time.monotonic() + 3

    def fire(self, matrix: Matrix) -> None:
        """Hit a process of the kind aimed at, if there is one; aim anew in the end."""
        if targets := sorted(pid for pid, role in matrix.processes().items() if role == self._role):
            target = self.random.choice(targets)
            with contextlib.suppress(OSError):
                if self._may_hit(target, matrix):
                    os.kill(target, signal.SIGKILL)
                    self.hits[self._role] += 1
                    return self._aim()
        if time.monotonic() > self._until:
            self._aim()
        return None

    def _may_hit(self, pid: int, matrix: Matrix) -> bool:
        """Whether no cell loses its process twice in a row, which is believed to be the check's own doing.

        After a hit on an engine every cell that runs there must have been recorded before the next one.
        """
        if self._role in ("run", "install"):
            return True
        run = pid
        while not _is_run(run):
            run = parent_of(run)
            if run <= 1:
                return False
        recorded = len(matrix.records())
        if recorded < self._safe_again.get(run, 0):
            return False
        # Two jobs: as many cells may be on their way when it hits, and two more be begun before they are seen.
        self._safe_again[run] = recorded + 5
        return True


def under_fire(matrix: Matrix, gun: Gun, kills: int) -> None:
    """Run again and again while the gun fires, until it has hit so often or all is done."""
    goal = gun.hits.total() + kills
    while gun.hits.total() < goal and not is_done(matrix):
        process = matrix.start()
        try:
            while process.poll() is None and gun.hits.total() < goal:
                time.sleep(gun.random.uniform(0.01, 0.1))
                gun.fire(matrix)
        finally:
            process.kill()
        output, _ = process.communicate(timeout=60)
        assert "Traceback" not in output, output


def is_done(matrix: Matrix) -> bool:
    return len({cell_key(record) for record in matrix.records() if is_complete(record)}) == CELLS


CELLS = 3 * 3 * 2 * len(RELEASES)


@pytest.mark.timeout(1500)
def test_kills_change_nothing(index: str, tmp_path: Path) -> None:
    def matrix(name: str) -> Matrix:
        (tmp_path / name).mkdir()
        return Matrix(tmp_path / name, index)

    undisturbed = matrix("undisturbed")
    undisturbed.finish()
    assert len(undisturbed.records()) == CELLS
    gun = Gun(seed=20)
    rounds = 0
    while gun.hits.total() < KILLS:
        rounds += 1
        disturbed = matrix(f"round-{rounds}")
        under_fire(disturbed, gun, min(KILLS_A_ROUND, KILLS - gun.hits.total()))
        before = disturbed.records()
        disturbed.finish()
        # Identical, none lost, none twice.
        assert set(disturbed.cells) ^ set(undisturbed.cells) == set(), dict(gun.hits)
        assert disturbed.cells == undisturbed.cells
        complete = Counter(cell_key(record) for record in disturbed.records() if is_complete(record))
        assert len(complete) == CELLS
        assert set(complete.values()) == {1}
        assert all(record in disturbed.records() for record in before)
        assert not disturbed.processes()
    assert gun.hits.total() >= KILLS
    assert set(gun.hits) == set(gun.WEIGHTS), gun.hits
