"""Measure the benches of cases in an environment: several processes each, one after another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pt2bugs.case.header import decode, find_block
from pt2bugs.case.model import Case, Check
from pt2bugs.engine.client import Engine, EngineSettings, Worker
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import Limits
from pt2bugs.engine.warm_cache import cpu_name
from pt2bugs.run.measurement import observe_exit
from pt2bugs.speed.inside import FUNCTION
from pt2bugs.speed.journal import BenchKey, SpeedLine

PROCESSES = 3
TIMEOUT_S = 300.0
"""Seconds for one process."""


@dataclass(frozen=True)
class Bench:
    """A ``bench_*`` function of a case on a device and a backend."""

    case: Case
    function: Check
    device: str
    backend: str

    @property
    def key(self) -> BenchKey:
        """Its names."""
        return BenchKey(self.case.id, self.function.name, self.device, self.backend)

    def __str__(self) -> str:
        return f"{self.case.id} {self.function.name}"


def benches_of(cases: Iterable[Case], devices: Sequence[str], backends: Sequence[str] = ()) -> Iterator[Bench]:
    """Yield the benches of cases.

    Args:
        cases: the selected ones.
        devices: where they are measured, as far as a header names them.
        backends: that compile; empty: those that the headers name.
    """
    for case in cases:
        for function in case.benches:
            for device in devices:
                if device in case.devices:
                    yield from (Bench(case, function, device, backend) for backend in backends or case.backends)


def program_hash(case: Case) -> str:
    """Return a hash of the program around the header of a case: another one is another measurement.

    Args:
        case: with benches.
    """
    block = find_block(decode(case.path.read_bytes()))
    assert block is not None, "a case has a header"
    return hashlib.sha256(block.program.encode()).hexdigest()[:16]


def program_hashes(cases: Iterable[Case]) -> dict[str, str]:
    """Return `program_hash` of each case that has benches, by id.

    Args:
        cases: any.
    """
    return {case.id: program_hash(case) for case in cases if case.benches}


class Stopwatch:
    """One interpreter in which benches are measured. Close it.

    Args:
        python: the interpreter.
        benches: that will be asked for.
        threads: of torch.
    """

    def __init__(self, python: Path, benches: Iterable[Bench], threads: int = 1) -> None:
        targets = tuple(sorted({(bench.device, bench.backend) for bench in benches}))
        self._engine = Engine(EngineSettings(python, threads, targets, keeps_python_path=False))
        self._worker: Worker | None = None

    def close(self) -> None:
        """End its processes."""
        if self._worker is not None:
            self._worker.close()
        self._engine.close()

    def measure(self, bench: Bench) -> SpeedLine:
        """Measure a bench in several processes; the first that fails is the last.

        Args:
            bench: any.

        Raises:
            EngineError: torch does not import there.
        """
        self._engine.start()
        self._worker = self._worker or self._engine.open()
        facts = self._engine.facts
        line = SpeedLine(
            **bench.key._asdict(),
            program=program_hash(bench.case),
            torch=facts.torch,
            python=facts.python,
            cpu=cpu_name(),
            capability=facts.cpu_capability,
            threads=self._engine.settings.threads,
            started=datetime.now(timezone.utc).replace(tzinfo=None).isoformat(timespec="milliseconds"),
        )
        for _ in range(PROCESSES):
            report, problem = self._call(self._worker, bench)
            if problem:
                return replace(line, eager_s=(), compiled_s=(), counts={}, problem=problem)
            line = replace(
                line,
                eager_s=(*line.eager_s, report["eager_s"]),
                compiled_s=(*line.compiled_s, report["compiled_s"]),
                counts=report["counts"],
            )
        return line

    def _call(self, worker: Worker, bench: Bench) -> tuple[dict[str, Any], str]:
        given = {"device": bench.device, "backend": bench.backend}
        request: Any = {
            "kind": "call", "function": FUNCTION, "path": str(bench.case.path.resolve()),
            "bench": bench.function.name, "arguments": {name: given[name] for name in bench.function.parameters},
            "device": bench.device, "backend": bench.backend, "threads": self._engine.settings.threads,
            "isolation": bench.case.isolation, "env": dict(bench.case.env),
        }  # fmt: skip
        memory = bench.case.memory if bench.device == "cpu" else None
        ended = worker.run(request, Limits(TIMEOUT_S, memory))
        report = ended.frames.get("report")
        if isinstance(report, dict) and "counts" in report:
            return report, ""
        seen, _ = observe_exit(ended, TIMEOUT_S, memory or 0)
        seen.present(lambda text: Normalizer(self._engine.facts.paths).hide(text, case=bench.case.path))
        return {}, seen.summary
