"""Commands under fire: `pt2bugs run` over several releases of a fake torch, and others, and a gun that kills processes.

The test of the kills and ``benchmarks/kills.py`` both use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pt2bugs.results.journal import Record, journal_files, read_journal
from pt2bugs.results.line import cell_key, is_complete
from suite import case_text, parent_of

RELEASES = {
    "2.5.0": {},
    "2.6.0": {"half": "wrong", "dead": "abort"},
    "2.7.0": {"half": "raise"},
}
"""The releases of the matrix, and the bugs of each: what the checks of ``half`` and ``dead`` compile goes wrong."""
_NAMES = ("fine", "half", "dead")
_CHECK = """
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
_CHECKS, _BACKENDS = 3, ("eager", "inductor")


class Target:
    """A command of pt2bugs, with all its processes, in a folder of its own.

    Args:
        arguments: of the command.
    """

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.temporary = folder / "tmp"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_", "PT2BUGS_"))},
            "PT2BUGS_HOME": str(folder / "home"),
            "TMPDIR": str(self.temporary),
            "PIP_CONFIG_FILE": os.devnull,
            "MATRIX_MARK": self.mark,
        }
        self.temporary.mkdir(parents=True)
        self.command = [sys.executable, "-m", "pt2bugs", *arguments]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command, cwd=self.folder, env=self.environ, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def processes(self) -> dict[int, str]:
        """Every process of the command, with its role."""
        roles = {}
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"MATRIX_MARK={self.mark}".encode() in (path / "environ").read_bytes():
                    roles[int(path.name)] = _role(path)
        return roles

    def may_hit_again(self, run: int) -> bool:
        """Whether an engine may be hit so that no cell loses its process twice in a row; a hit is then noted.

        Args:
            run: the process of the command.
        """
        raise NotImplementedError

    def leftovers(self) -> list[str]:
        """Processes and folders that outlive the command."""
        # A worker of a cluster sees within seconds that its driver is gone.
        deadline = time.monotonic() + 30
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        leftovers = [f"still there: process {pid}, {role}" for pid, role in self.processes().items()]
        # The folder of a run that was killed together with its guardian goes with the next run, once it is ten
        # seconds old and so cannot be one that another run has just made.
        for path in self.temporary.iterdir():
            os.utime(path, (time.time() - 60,) * 2)
        program = "from pt2bugs.engine.folders import RunFolder; RunFolder.create().remove()"
        subprocess.run([sys.executable, "-c", program], env=self.environ, check=True)
        leftovers += [f"still there: {path}" for path in self.temporary.iterdir()]
        environments = self.folder / "home" / "envs"
        leftovers += [
            f"still there: {path}, half an environment"
            for path in environments.iterdir()
            if path.is_dir() and path.name.startswith("torch-") and not (path / "pt2bugs.json").exists()
        ]
        return leftovers


class Matrix(Target):
    """`pt2bugs run` over all releases, in a folder and with environments of its own.

    Args:
        index: address of a package index with the wheels of `RELEASES`.
        copies: case files of each of the three kinds.
        workers: of a cluster that the run starts; 0: it runs the cells itself.
    """

    def __init__(self, folder: Path, index: str, copies: int = 1, workers: int = 0) -> None:
        # One job: with two, a cell that was hit may still be on its way when the other job has recorded any number.
        where = ["--cluster", f"local:{workers}"] if workers else ["--jobs", "1"]
        super().__init__(folder, ["run", "--torch", "all", "--index", index, *where])
        self._jobs = workers or 1
        self._safe_again: dict[int, int] = {}
        for name in _NAMES:
            bugs = [{"torch": "==2.6.0", "outcome": "wrong"}] if name == "half" else []
            text = case_text(_CHECK.format(name=name), bugs=bugs, backends=list(_BACKENDS))
            for number in range(copies):
                path = folder / "cases" / f"{name}_{number}.py"
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
        self.size = len(_NAMES) * copies * _CHECKS * len(_BACKENDS) * len(RELEASES)
        """Cells of the whole matrix."""

    def finish(self) -> str:
        """Run to the end undisturbed."""
        process = self.start()
        output, errors = process.communicate(timeout=600)
        assert process.returncode == 1, output + errors  # `dead` and `half` fail where no entry says so
        return output

    @property
    def cells(self) -> list[str]:
        """The rows of the table."""
        return (self.folder / "results" / "cells.csv").read_text().splitlines()

    def records(self) -> list[Record]:
        return list(read_journal(journal_files(self.folder / "results" / "journal"), lambda _: None))

    def is_done(self) -> bool:
        return len({cell_key(record) for record in self.records() if is_complete(record)}) == self.size

    def may_hit_again(self, run: int) -> bool:
        """Every cell that runs when an engine is hit must have been recorded before the next hit."""
        recorded = len(self.records())
        if recorded < self._safe_again.get(run, 0):
            return False
        # One may have ended and not be recorded yet, the next is hit, and one more is for safety: for each job. Two
        # workers need not take turns.
        self._safe_again[run] = recorded + (3 if self._jobs == 1 else 8 * self._jobs)
        return True

    def differences(self, undisturbed: Matrix, before: list[Record]) -> list[str]:
        """What is not as it must be after the fire, in words.

        Args:
            undisturbed: the same matrix, which nobody fired at.
            before: what was in the journal when the fire ended.
        """
        differences = [f"the tables differ: {row}" for row in sorted(set(self.cells) ^ set(undisturbed.cells))]
        if not differences and self.cells != undisturbed.cells:
            differences.append("the tables have another order")
        records = self.records()
        complete = Counter(cell_key(record) for record in records if is_complete(record))
        if len(complete) != self.size:
            differences.append(f"{len(complete)} of {self.size} cells have an answer")
        differences += [f"measured {times} times: {key}" for key, times in complete.items() if times > 1]
        differences += [f"lost: {record}" for record in before if record not in records]
        return differences + self.leftovers()


class Question(Target):
    """A command that answers in JSON, such as `pt2bugs isolate`. The folder is there already, and has what it reads.

    Args:
        changing: keys whose values are others in each run.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], changing: Sequence[str] = ()) -> None:
        super().__init__(folder, arguments)
        self._changing = set(changing)
        self._hit = 0

    def may_hit_again(self, run: int) -> bool:
        """Once in each run of the command: which of its cells was hit is not to be seen from outside."""
        if self._hit == run:
            return False
        self._hit = run
        return True

    def answer(self, process: subprocess.Popen[str]) -> Any:
        """Return the exit code and the answer of a run; None where it was killed, or says what stopped it.

        Args:
            process: of the run.
        """
        output, errors = process.communicate(timeout=600)
        assert "Traceback" not in errors, errors
        if process.returncode == -signal.SIGKILL:
            return None
        if process.returncode == 2:
            assert (output, errors.count("pt2bugs: ")) == ("", 1), output + errors
            return None
        return process.returncode, self._settled(json.loads(output))

    def _settled(self, value: Any) -> Any:
        """Return an answer without what is another in each run."""
        if isinstance(value, dict):
            return {key: self._settled(entry) for key, entry in value.items() if key not in self._changing}
        return [self._settled(entry) for entry in value] if isinstance(value, list) else value


_ENGINE = ("guardian", "zygote", "supervisor", "cell")
"""The processes of an engine without a namespace, from the outermost on."""


def _role(path: Path) -> str:
    """What a process of a matrix is."""
    arguments = (path / "cmdline").read_bytes().decode().split("\0")
    if "pt2bugs" in arguments:
        return "run"
    if "spawn_main" in "".join(arguments):
        return "worker"
    if "resource_tracker" in "".join(arguments):
        return "tracker"
    if "guardian" not in arguments:
        return "install"
    numbers = _numbers(path)
    if len(numbers) == 1:
        return _ENGINE[min(_depth(int(path.name)), len(_ENGINE) - 1)]
    if len(numbers) == 2:
        return "process 1" if numbers[-1] == "1" else "zygote"
    return "supervisor" if numbers[-1] == "1" else "cell"


def _numbers(path: Path) -> list[str]:
    """The process's number in each PID namespace that it is in, from ours on."""
    lines = (path / "status").read_text().splitlines()
    return next((line.split()[1:] for line in lines if line.startswith("NSpid:")), [path.name])


def _depth(pid: int) -> int:
    """How far below the run: 0 for a guardian."""
    depth = 0
    while not _is_front(pid := parent_of(pid)):
        if pid <= 1:
            return len(_ENGINE)
        depth += 1
    return depth


def _is_front(pid: int) -> bool:
    """Whether an engine is started by it: a run, or a worker of its cluster."""
    line = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"\0pt2bugs\0" in line or b"spawn_main" in line


class Gun:
    """Kills one random process at a time, each kind as often as its weight says."""

    WEIGHTS = MappingProxyType(
        {"run": 10, "install": 10, "guardian": 10, "process 1": 10, "zygote": 10, "supervisor": 20, "cell": 30}
    )

    def __init__(self, seed: int, further: Mapping[str, int] = MappingProxyType({})) -> None:
        self.random = random.Random(seed)
        self.hits: Counter[str] = Counter()
        self._weights = {**self.WEIGHTS, **further}
        self._aim()

    def _aim(self) -> None:
        (self._role,) = self.random.choices(list(self._weights), list(self._weights.values()))
        self._until = time.monotonic() + 3

    def fire(self, target: Target) -> None:
        """Hit a process of the kind aimed at, if there is one; aim anew in the end."""
        roles = target.processes()
        # A run is hit while it is at work. On a busy machine it would otherwise hardly ever get beyond its start.
        is_at_work = set(roles.values()) != {"run"}
        if pids := sorted(pid for pid, role in roles.items() if role == self._role and is_at_work):
            pid = self.random.choice(pids)
            with contextlib.suppress(OSError):
                if self._role in ("run", "install") or target.may_hit_again(_run_of(pid)):
                    os.kill(pid, signal.SIGKILL)
                    self.hits[self._role] += 1
                    return self._aim()
        if time.monotonic() > self._until:
            self._aim()
        return None


def _run_of(pid: int) -> int:
    """The process of the command that it belongs to.

    Raises:
        OSError: it is an orphan.
    """
    while b"\0pt2bugs\0" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = parent_of(pid)
        if pid <= 1:
            raise ProcessLookupError
    return pid


def under_fire(matrix: Matrix, gun: Gun, kills: int, log: Callable[[str], None] = lambda _: None) -> None:
    """Run again and again while the gun fires, until it has hit so often or all is done."""
    goal = gun.hits.total() + kills
    while gun.hits.total() < goal and not matrix.is_done():
        process = _shot_at(matrix, gun, goal)
        process.kill()
        output, errors = process.communicate(timeout=60)
        assert "Traceback" not in output + errors, output + errors
        log(f"{gun.hits.total()} kills: {dict(gun.hits)}")


def asked_under_fire(
    question: Question,
    expected: Any,
    gun: Gun,
    kills: int,
    log: Callable[[str], None] = lambda _: None,
    ends: float = float("inf"),
) -> Counter[str]:
    """Ask again and again while the gun fires, until it has hit so often. Count the answers by what they were.

    Args:
        question: which is asked.
        expected: its answer where nobody fires.
        gun: which fires.
        kills: how many.
        log: is told of progress, and of each answer that is another one.
        ends: by the monotonic clock; after that it is not asked again.
    """
    answers: Counter[str] = Counter()
    goal = gun.hits.total() + kills
    while gun.hits.total() < goal and time.monotonic() < ends:
        answer = question.answer(_shot_at(question, gun, goal))
        kind = "stopped" if answer is None else "the same" if answer == expected else "another"
        answers[kind] += 1
        log(f"{gun.hits.total()} kills: {dict(gun.hits)}; answers: {dict(answers)}")
        if kind == "another":
            log(f"  {answer}")
    return answers


def _shot_at(target: Target, gun: Gun, goal: int) -> subprocess.Popen[str]:
    """Start a command, and fire at it until it has ended, or the gun has hit so often."""
    process = target.start()
    try:
        while process.poll() is None and gun.hits.total() < goal:
            time.sleep(gun.random.uniform(0.01, 0.1))
            gun.fire(target)
    except BaseException:
        process.kill()
        raise
    return process
