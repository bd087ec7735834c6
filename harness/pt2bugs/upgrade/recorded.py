"""A user's program recorded: run once in an interpreter, with everything that the compiler made of it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.header import NotRegularError, read_regular
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.client import Engine, EngineError, EngineSettings, Worker
from pt2bugs.engine.folders import RunFolder
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import ChildExit, Limits
from pt2bugs.errors import InputError
from pt2bugs.run.measurement import observe_exit
from pt2bugs.upgrade.inside.recording import ARTIFACTS, FUNCTION
from pt2bugs.upgrade.inside.replay import FUNCTION as REPLAY

TRACE_FACTOR = 3
"""Factor for the time of a program while its calls are traced."""


class ProgramChangedError(InputError):
    """A program that is another one than that of the runs before.

    Cause: it was edited meanwhile, or it writes or removes itself.
    Remedy: ask again, about a copy of it.
    """


@dataclass(frozen=True)
class Call:
    """A compared call of a compiled graph. A difference is what differs, how, and by how much at most."""

    graph: int
    number: int
    place: str
    differences: tuple[tuple[str, str, float | None], ...]
    digest: str


@dataclass(frozen=True)
class Recorded:
    """The record of one run of a program.

    `artifacts` are texts by kind, in order; `calls` what was compared with eager; `problems` why something was not;
    `breaks` reason, file and line; `compiled` an entry of the compiler's own metrics for each frame; `graphs` those
    that were captured, with the metadata of their inputs, and `uncaptured` why others were not.
    """

    seen: Observation
    text: str = ""
    stdout: str = ""
    lines: tuple[int, ...] = ()
    unswapped: tuple[tuple[str, int], ...] = ()
    artifacts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    problems: tuple[str, ...] = ()
    breaks: tuple[tuple[str, str, int], ...] = ()
    compiled: tuple[Mapping[str, Any], ...] = ()
    device_mb: float | None = None
    graphs: tuple[Mapping[str, Any], ...] = ()
    uncaptured: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if the program ended well."""
        return self.seen.outcome is Outcome.PASS

    @property
    def succeeded(self) -> bool:
        """True if whoever started the program saw success: it ended well, or left by itself with status 0."""
        left = self.seen.outcome is Outcome.CRASH and not self.seen.signal and self.seen.exit_status == 0
        return self.passed or left

    @property
    def failure(self) -> Failure | None:
        """Its failure; None if it ended well or could not say."""
        return Failure.of(self.seen)

    @property
    def ending(self) -> str:
        """The end of the run, in a line."""
        return self.seen.summary

    def fails_like(self, other: Recorded, level: Level = Level.MESSAGE) -> bool:
        """Return whether both end alike: well, or in the same failure.

        Args:
            other: another run.
            level: MESSAGE for runs on one release; between releases TYPE, as messages are rewritten.
        """
        if self.failure is None or other.failure is None:
            return self.seen.outcome is other.seen.outcome
        return self.failure.same(other.failure, level)

    @cached_property
    def aspects(self) -> Mapping[str, Any]:
        """The aspects in which two runs are compared: texts by kind, results of calls, the ending and the output."""
        return {
            **{kind: self.artifacts.get(kind, ()) for kind in dict.fromkeys(ARTIFACTS.values())},
            "outputs": tuple((call.graph, call.number, call.digest) for call in self.calls),
            "printed text": self.stdout,
            "outcome": (str(self.seen.outcome), self.seen.error_type, self.seen.message),
        }

    def different_in(self, other: Recorded) -> list[str]:
        """Return the names of aspects in which two runs differ.

        Args:
            other: another run.
        """
        return [name for name, value in self.aspects.items() if value != other.aspects[name]]


def entries_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a record: none of a run that never began; of one that crashed the last line may be torn.

    Args:
        path: as `inside.recording.Record` wrote it.
    """
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def read_record(path: Path) -> dict[str, Any]:
    """Return the fields of `Recorded` that a record holds.

    Args:
        path: as `inside.recording` wrote it.
    """
    artifacts: dict[str, list[str]] = {}
    fields: dict[str, Any] = {"calls": [], "problems": [], "compiled": [], "breaks": [], "device_mb": None}
    fields |= {"graphs": [], "uncaptured": []}
    for entry in entries_of(path):
        kind = entry.pop("kind", "")
        if kind == "artifact":
            artifacts.setdefault(ARTIFACTS[entry["name"]], []).append(comparable(entry["text"]))
        elif kind == "call":
            told = tuple((what, how, size) for what, how, size in entry["differences"])
            fields["calls"].append(Call(entry["graph"], entry["call"], entry["place"], told, entry["digest"]))
        elif kind == "not compared":
            fields["problems"].append(entry["reason"])
        elif kind == "compiled":
            fields["compiled"].append(entry)
        elif kind == "graph":
            fields["graphs"].append({**entry, "inputs": [], "grad": True})
        elif kind == "inputs":
            graph = fields["graphs"][entry["number"] - 1]
            graph["inputs"].append(entry["inputs"])
            graph["grad"] = entry["grad"]
        elif kind == "not captured":
            fields["uncaptured"].append(f"{entry['place']}: {entry['reason']}")
        elif kind == "breaks":
            fields["breaks"] = [tuple(told) for told in entry["breaks"]]
        elif kind == "device memory":
            fields["device_mb"] = entry["mb"]
    fields["artifacts"] = {kind: tuple(texts) for kind, texts in artifacts.items()}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//) .*$|^Guard latency = .*$", re.MULTILINE)
_FOLDER = re.compile(r"(?:/[\w.+@-]+)+/(?=[\w<])")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,16}|\b\d{9,}\b")
_HASH = re.compile(r"\bc[a-z2-7]{50,52}\b|\b[0-9a-f]{32,64}\b")


def comparable(text: str) -> str:
    """Return a text of the compiler without what differs from process to process: comments, times, folders, addresses.

    Args:
        text: a graph, generated code or guards.
    """
    for pattern, word in ((_COMMENT, ""), (_FOLDER, ""), (_ADDRESS, "N"), (_HASH, "H")):
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


@dataclass(frozen=True)
class Program:
    """A program as the user starts it. `timeout_s` is for one run."""

    path: Path
    arguments: Sequence[str] = ()
    timeout_s: float = 600.0

    @cached_property
    def source(self) -> bytes:
        """Its text when it was first asked for."""
        return self.path.read_bytes()

    def recorder(self, python: Path, **settings: Any) -> Recorder:
        """Return what records it in an interpreter.

        Args:
            python: the interpreter.
            settings: further ones of the engine.
        """
        return Recorder(python, self.path, self.arguments, self.timeout_s, source=self.source, **settings)


class Recorder:
    """One interpreter in which a program is recorded.

    Args:
        python: the interpreter.
        program: the file.
        argv: its arguments.
        timeout_s: of one run.
        source: the text that the program must have in each run; None for any.
        settings: further ones of the engine.
    """

    def __init__(
        self,
        python: Path,
        program: Path,
        argv: Sequence[str] = (),
        timeout_s: float = 600.0,
        *,
        source: bytes | None = None,
        **settings: Any,
    ) -> None:
        self.program, self._argv, self.timeout_s = program.resolve(), list(argv), timeout_s
        self._source = source
        targets = (("cpu", "inductor"),)
        self._engine = Engine(EngineSettings(python=python, targets=targets, confined=False, **settings))
        self._worker: Worker | None = None
        self._folder = RunFolder.create("upgrade")
        self.scratch = self._folder.path.resolve()
        self._kernels = self.scratch / "kernels"
        self._kernels.mkdir()
        self.runs = 0
        self.seconds = 0.0

    def start(self) -> str:
        """Import torch there, and return its version.

        Raises:
            EngineError: that does not work.
        """
        self._engine.start()
        self._worker = self._worker or self._engine.open()
        return self._engine.facts.torch

    @property
    def removed(self) -> tuple[str, ...]:
        """Names of the variables that are kept from the program."""
        return self._engine.removed

    def close(self) -> None:
        """End its processes, and remove what they wrote."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._engine.close()
        self._folder.remove()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, limit_s: float, **values: Any) -> tuple[ChildExit, Path]:
        """Call a function of `inside` in a child, and return how that ended, and the path of its record.

        Args:
            function: as ``MODULE:FUNCTION``.
            limit_s: for the child.
            values: further ones of the request.

        Raises:
            EngineError: the interpreter does not start.
        """
        self.start()
        if self._worker is None:
            raise EngineError("the recorder was closed")
        self.runs += 1
        path = self.scratch / f"record-{self.runs}"
        request: Any = {
            "kind": "call",
            "function": function,
            "device": "cpu",
            "threads": self._engine.settings.threads,
            "record": str(path),
            **values,
        }
        ended = self._worker.run(request, Limits(limit_s, None))
        self.seconds += ended.duration_s
        return ended, path

    def hide(self, text: str) -> str:
        """Return a text without paths and addresses of this machine.

        Args:
            text: printed in a child.
        """
        return Normalizer(self._engine.facts.paths).hide(text, case=self.program)

    def record(
        self,
        *,
        trace: Path | None = None,
        swap: Sequence[Mapping[str, Any]] = (),
        swap_back: bool = False,
        compare: bool = False,
        capture: bool = False,
        share: bool = True,
        redirect: Mapping[str, Any] | None = None,
    ) -> Recorded:
        """Run the program once.

        Args:
            trace: takes a line for each code object of torch that is executed.
            swap: functions that are swapped in memory, as `isolate.inside.FileSwap`.
            swap_back: whether they are taken back before the program runs.
            compare: whether calls of compiled graphs are compared with eager.
            capture: whether graphs are written down such that they can be replayed.
            share: whether a kernel's text is compiled once for all runs; else the seconds of compilation are its own.
            redirect: see `triage.inside.redirect.install`.

        Raises:
            ProgramChangedError: it is not the program that was asked about.
            EngineError: the interpreter does not start.
        """
        if self._source is not None and _text_of(self.program) != self._source:
            raise ProgramChangedError(f"{self.program}: was edited or removed since its first run; ask again")
        timeout_s = self.timeout_s * (TRACE_FACTOR if trace else 1)
        ended, path = self.call(
            FUNCTION,
            timeout_s,
            path=str(self.program),
            timeout_s=timeout_s,
            argv=self._argv,
            trace=str(trace) if trace else "",
            swap=list(swap),
            swap_back=swap_back,
            compare=compare,
            capture=capture,
            kernels=str(self._kernels) if share else "",
            redirect=dict(redirect or {}),
        )
        seen, text = observe_exit(ended, timeout_s, 0)
        seen.present(self.hide)
        report = ended.frames.get("report") or {}
        told = read_record(path)
        path.unlink(missing_ok=True)
        return Recorded(
            seen,
            self.hide(text),
            self.hide(str(report.get("stdout", ""))),
            tuple(report.get("lines", ())),
            tuple((file, line) for file, line in report.get("unswapped", ())),
            seconds=ended.duration_s,
            **told,
        )

    def replay(self, graphs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Run captured graphs compiled and in eager, and return the entries of the record.

        A graph that takes its process along is not replayed; those behind it are, in a new process.

        Args:
            graphs: as `Recorded.graphs` has them, each with its `id`.

        Raises:
            EngineError: the interpreter does not start.
        """
        entries: list[dict[str, Any]] = []
        left = list(graphs)
        while left:
            given = self.scratch / "graphs.json"
            given.write_text(json.dumps(left), encoding="utf-8")
            ended, path = self.call(REPLAY, self.timeout_s, graphs=str(given), kernels=str(self._kernels))
            told = list(entries_of(path))
            path.unlink(missing_ok=True)
            given.unlink()
            entries += told
            done = {entry["graph"] for entry in told if entry["kind"] != "begun"}
            left = [graph for graph in left if graph["id"] not in done]
            begun = [entry["graph"] for entry in told if entry["kind"] == "begun" and entry["graph"] not in done]
            seen, _ = observe_exit(ended, self.timeout_s, 0)
            # Where none has begun, or time is up, the next process would end in the same way.
            lost = begun if begun and seen.outcome is not Outcome.TIMEOUT else [graph["id"] for graph in left]
            reason = f"its process ended: {seen.summary}"
            entries += [{"kind": "not replayed", "graph": graph, "reason": reason} for graph in lost]
            left = [graph for graph in left if graph["id"] not in lost]
        return entries


def _text_of(path: Path) -> bytes | None:
    with contextlib.suppress(OSError, NotRegularError):
        return read_regular(path)
    return None


_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def prints_alike(text: str, other: str, tolerance: float = 1e-3) -> bool:
    """Return whether two texts are the same but for rounding of the numbers in them.

    Args:
        text: that was printed.
        other: that was printed.
        tolerance: relative, of each number that has a decimal point.
    """
    if _NUMBER.sub("N", text) != _NUMBER.sub("N", other):
        return False
    for left, right in zip(_NUMBER.findall(text), _NUMBER.findall(other), strict=True):
        if left == right:
            continue
        if left.lstrip("+-").isdigit() or right.lstrip("+-").isdigit():
            return False
        if abs(float(left) - float(right)) > tolerance * max(abs(float(left)), abs(float(right)), 1e-3):
            return False
    return True
