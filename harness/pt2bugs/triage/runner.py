"""One run of the program in a child of the engine, with the compiler sent wherever a step wants it."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pt2bugs.case.observation import MESSAGE_LIMIT, Observation, bounded, telling_line
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.client import Engine, EngineError, EngineSettings, Worker
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.engine.folders import RunFolder, remove_tree
from pt2bugs.engine.messages import CheckRequest, OnFile
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import Limits
from pt2bugs.engine.sandbox import is_shared
from pt2bugs.files import write_text
from pt2bugs.run.measurement import learn_needs, observe_exit
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.inside.program import FUNCTION, RedirectedRequest
from pt2bugs.triage.redact import REDACTED, redact, redact_source, secrets_in

PROGRAM_NAME = "program.py"
"""Stands for the name of the program's file in messages: copies of one program have other names, and fail alike."""
TARGET = ("cpu", "inductor")
"""Device and backend of programs, unless they say otherwise."""
MEMORY_MIB = 8192
"""Memory of a run, beyond the imported torch."""


@dataclass(frozen=True)
class Access:
    """Things that programs may reach beside their own folder.

    Args:
        network: whether they may use it.
        strict: whether they do not run where the network cannot be taken away.
        read: files and folders.
    """

    network: bool = False
    strict: bool = False
    read: tuple[Path, ...] = ()


NOTHING = Access()


@dataclass(frozen=True)
class RunResult:
    """Everything that one run showed.

    `seconds` is the time of the whole child; `absent` are settings that this torch does not have; `refused` says that
    the call of `torch.compile` itself raised.
    """

    observation: Observation
    text: str = ""
    entered: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    caught: tuple[Observation, ...] = ()
    handled: tuple[tuple[str, str, int], ...] = ()
    absent: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    stdout: str = ""
    graphs: int = 0
    breaks: int = 0
    recompiles: int = 0
    applied: Mapping[str, int] = field(default_factory=dict)
    disabled: str = ""
    seconds: float = 0.0
    torch: str = ""
    own_compilers: bool = False
    precision: tuple[str, ...] = ()
    difference: str = ""
    refused: bool = False

    @property
    def outcome(self) -> Outcome:
        return self.observation.outcome

    @property
    def identity(self) -> Identity:
        """The identity of its failure, or of the compiler's exception that a program caught and printed."""
        if self.outcome is Outcome.PASS and self.caught:
            return Identity.of(self.caught[0])
        return self.own_identity

    @property
    def own_identity(self) -> Identity:
        """The identity of what left the program, whatever it caught."""
        return Identity.of(self.observation, list(self.lines))

    @property
    def is_caught(self) -> bool:
        """True where the program itself caught the failure."""
        return self.outcome is Outcome.PASS and bool(self.caught)


@dataclass
class ProgramRunner:
    """One interpreter in which programs are run.

    Args:
        python: the interpreter.
        budget: of the whole; no run takes longer than what is left.
        timeout_s: of one run.
        argv: arguments of the program.
        beside: the folder of the program as it was given, whose modules programs made of it may import.
        access: what the programs may reach.
        runs: how many there were; `cpu_s` are their processor seconds.
    """

    python: Path
    budget: Budget
    timeout_s: float = 120.0
    argv: Sequence[str] = ()
    beside: Path | None = None
    access: Access = NOTHING
    runs: int = 0
    cpu_s: float = 0.0
    facts: EnvironmentFacts = field(default_factory=EnvironmentFacts)

    def __post_init__(self) -> None:
        self._engine = Engine(EngineSettings(python=self.python, targets=(TARGET,)))
        self._worker: Worker | None = None
        self._kernels = Path()
        self._folder: RunFolder | None = None
        self._normalizer = Normalizer({})
        self._packages: list[str] = []
        self._secrets: set[str] = set()
        self._sources: dict[Path, str] = {}

    def start(self) -> EnvironmentFacts:
        """Import torch there, and return the facts of it.

        Raises:
            EngineError: that does not work.
        """
        self.facts = self._engine.start()
        self._normalizer = Normalizer(self.facts.paths)
        self._packages = [folder for folder, word in self.facts.paths.items() if not word]
        if self._worker is None:
            self._worker = self._engine.open()
            self._folder = RunFolder.create("kernels")
            self._kernels = self._folder.path.resolve()
            learn_needs(self.facts, self._worker, *TARGET)
        return self.facts

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._engine.close()
        if self._folder is not None:
            self._folder.remove()

    def __enter__(self) -> ProgramRunner:
        try:
            self.start()
        except EngineError:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def torch(self) -> str:
        return self.facts.torch

    def hide(self, text: str, path: Path) -> str:
        """Return a text without paths of this machine and without secrets.

        Args:
            text: any.
            path: of the program.
        """
        # An environment may lie below the folder of the program: the longer path goes first.
        for folder in self._packages:
            text = text.replace(folder, "")
        text = self._normalizer.hide(text, path)
        if self.beside is not None:
            # Last, as the folder of the program may be that of all temporary files.
            text = text.replace(f"{self.beside}/", "")
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return redact(text)

    def redacted(self, source: str) -> str:
        """Return a program without the secrets of any program that was run.

        Args:
            source: of the program.
        """
        return redact_source(source, self._secrets)

    def _keep(self, path: Path) -> None:
        """Remember a program and its secrets.

        Without a sandbox, write it again where its last run deleted it or put something else in its place.
        """
        if path in self._sources and not (path.is_file() and not path.is_symlink()):
            remove_tree(path)
            write_text(path, self._sources[path])
        with contextlib.suppress(OSError):
            source = path.read_text(encoding="utf-8", errors="replace")
            if self._sources.get(path) != source:
                self._sources[path] = source
                self._secrets |= secrets_in(source)

    def run(
        self,
        path: Path,
        redirect: Mapping[str, Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        write: Path | None = None,
        fresh: bool = False,
        stdout: bool = False,
        timeout_s: float | None = None,
        alone: bool = False,
        unit_test: bool = False,
        check: str = "",
    ) -> RunResult:
        """Run a file.

        Args:
            path: of the file.
            redirect: see `inside.redirect.install`.
            env: variables for the run; with `fresh` they are there before torch is imported.
            write: a folder that the variables name, to which torch writes.
            fresh: a fresh interpreter instead of a fork.
            stdout: keep what it prints on standard output.
            timeout_s: of this run, instead of the usual.
            alone: without what lies beside the program that was given, as the reader of a report has it.
            unit_test: run its tests.
            check: run this check of it, which takes no parameters, with its compiler as it is.

        Raises:
            EngineError: the engine cannot be started.
        """
        if self._worker is None:
            self.start()
        self._keep(path)
        seconds = self.budget.cap(timeout_s or self.timeout_s)
        file: OnFile = {
            "path": str(path.resolve()),
            "device": "cpu",
            "threads": 1,
            "timeout_s": seconds,
            "env": dict(env or {}),
            "isolation": "spawn" if fresh else "fork",
            "network": self.access.network,
            "strict": self.access.strict,
            "read": [*map(str, self.access.read), *_own_folder(self.beside)],
            "write": [str(self._kernels), *([str(write.resolve())] if write is not None else [])],
            # A program may write, rename or delete itself, and is the same in its next run.
            "copy": [str(path.parent.resolve())] if RunFolder.is_one(path.parent) else [],
        }
        request: CheckRequest | RedirectedRequest = {
            **file,
            "kind": "call",
            "function": FUNCTION,
            "argv": list(self.argv),
            "redirect": dict(redirect or {}),
            "stdout": stdout,
            "unit_test": unit_test,
            "kernels": str(self._kernels),
            "beside": "" if alone or self.beside in (None, path.parent) else str(self.beside),
        }
        if check:
            request = {**file, "kind": "check", "check": check, "arguments": {}, "compiles": False, "setup": None}
        self.runs += 1
        if self._worker is None:
            raise EngineError("the engine is closed")
        ended = self._worker.run(request, Limits(seconds, _memory_for(path)))
        self.cpu_s += ended.cpu_s
        seen, text = observe_exit(ended, seconds, MEMORY_MIB)
        report = ended.frames.get("report") or {}
        entered = report.get("entered") or [
            name.removeprefix("entered-") for name in ended.frames if name.startswith("entered-")
        ]
        seen = self._clean(seen, path)
        printed = self.hide(report.get("stdout", ""), path)
        caught = [self._clean(Observation.from_dict(data), path) for data in report.get("caught", ())]
        return RunResult(
            seen,
            bounded(self.hide(text, path), 4 * MESSAGE_LIMIT),
            tuple(entered),
            tuple(report.get("backends", ())),
            tuple(error for error in caught if _is_told(error, f"{printed}\n{seen.output_tail}")),
            tuple((kind, function, int(line)) for kind, function, line in report.get("handled", ())),
            tuple(report.get("absent", ())),
            tuple(report.get("lines", ())),
            printed,
            report.get("graphs", 0),
            report.get("breaks", 0),
            report.get("recompiles", 0),
            report.get("applied", {}),
            report.get("disabled", ""),
            ended.duration_s,
            self.torch,
            bool(report.get("own_compilers")),
            tuple(report.get("precision", ())),
            report.get("difference", ""),
            bool(report.get("refused")),
        )

    def _clean(self, seen: Observation, path: Path) -> Observation:
        seen.present(partial(self.hide, path=path))
        seen.message = re.sub(rf"(?<![\w.-]){re.escape(path.name)}\b", PROGRAM_NAME, seen.message)
        return seen


def _own_folder(folder: Path | None) -> list[str]:
    """Return the folder as a list; an empty one where others have their files there, too."""
    return [str(folder.resolve())] if folder is not None and not is_shared(str(folder.resolve())) else []


def _memory_for(path: Path) -> int | None:
    """Return the limit of memory; none where the program names an accelerator, whose drivers map more than they use."""
    with contextlib.suppress(OSError):
        if re.search(r"\b(cuda|xpu|mps|hpu)\b", path.read_text(encoding="utf-8", errors="replace")):
            return None
    return MEMORY_MIB


def _is_told(caught: Observation, output: str) -> bool:
    """Return whether the program printed the exception: one that it drops in silence is one that it expects."""
    line = telling_line(caught.message)[:60]
    return bool(line) and line in output


PythonOf = Callable[[str], Path]
"""The interpreter of a release's environment, made if it is not there; raises `Pt2bugsError` where it cannot be."""


@dataclass(frozen=True)
class Runners:
    """The way in which the programs of a triage are run on each release; see `ProgramRunner`."""

    python_of: PythonOf
    timeout_s: float = 120.0
    argv: Sequence[str] = ()
    beside: Path | None = None
    access: Access = NOTHING

    def on(self, release: str, budget: Budget) -> ProgramRunner:
        """Return a runner on a release, to be opened; making its environment is no part of the budget.

        Args:
            release: the empty text stands for the interpreter at hand.
            budget: of the whole.

        Raises:
            Pt2bugsError: the environment cannot be made.
        """
        began = time.monotonic()
        python = self.python_of(release)
        budget.exclude(time.monotonic() - began)
        return ProgramRunner(python, budget, self.timeout_s, self.argv, self.beside, self.access)
