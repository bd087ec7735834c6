"""The score of a patch: its effect on the task, on the hidden checks, and on everything else.

All that runs, runs in fresh processes without a network. The patched torch only computes; another process, whose torch
is that of the wheel, compares. What the compiler did is compared with what it does in the *fixed copy*: the bad release
with the proved units and no other change.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.check import NOTHING_COMPILED
from pt2bugs.engine.client import Engine, EngineError, EngineSettings
from pt2bugs.engine.protocol import Limits
from pt2bugs.envs.environment import Environment
from pt2bugs.errors import InputError, last_line
from pt2bugs.files import write_text
from pt2bugs.isolate.patched import patched_torch
from pt2bugs.isolate.trials import Check, PatchedRelease, Run, check_took_place, executed_by, mentions
from pt2bugs.isolate.units import FilePair, PatchError, SourceFile, Unit, Wheels, items_met
from pt2bugs.repair.patch import Patch
from pt2bugs.repair.tasks import SMOKE, TASK, UNRELATED, Probe, Task, probes_of
from pt2bugs.run.measurement import learn_needs

SOLVED, AROUND, BROKE, NO = "solved", "around", "broke", "no"
AT_ONCE = 2
"""Processes that run beside each other."""
PROBE_S = 300.0
NEIGHBOURS_S = 30.0
_INSIDE = "pt2bugs.repair.inside"
_ENV = {"TORCH_COMPILE_USE_LAZY_GRAPH_MODULE": "0"}
"""The texts of all graphs are made, whether or not they run."""
_MORE_IS_WORSE = {
    "entries": "frames are compiled again",
    "breaks": "graph breaks",
    "functions": "runs of the program's own functions as Python",
    "graph_calls": "runs of a graph as Python",
    "late": "texts compiled when all had been before",
}
_NONE_IS_WORSE = {"graphs": "graphs of AOTAutograd", "kernels": "kernels"}
_Report = Mapping[str, Any]
DIED = "died"
"""Key of the report of a probe that said nothing itself."""


class ScoreError(InputError):
    """A task that cannot be scored here.

    Cause: its hidden checks are not written, or do not pass on this machine with the fix.
    Remedy: the message says which; another task, or another machine.
    """


@dataclass
class Score:
    """A verdict with its reasons."""

    task: str
    findings: list[tuple[str, str]] = field(default_factory=list)

    def add(self, verdict: str, reason: str) -> None:
        """Add what speaks against the patch.

        Args:
            verdict: what it would make of it.
            reason: one line.
        """
        if (verdict, reason) not in self.findings:
            self.findings.append((verdict, reason))

    @property
    def verdict(self) -> str:
        """The first of ``no``, ``around``, ``broke`` that was found; else ``solved``."""
        verdicts = {verdict for verdict, _ in self.findings}
        return next((verdict for verdict in (NO, AROUND, BROKE) if verdict in verdicts), SOLVED)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"task": self.task, "verdict": self.verdict, "reasons": [reason for _, reason in self.findings]}


class Processes:
    """The processes of one torch: that of the wheel, or a copy with other texts."""

    def __init__(self, environment: Environment, task: Task, paths: Sequence[Path], home: Path | None) -> None:
        self._engine = Engine(
            EngineSettings(
                python=environment.python,
                # What is unrelated runs on Inductor; without a word here each of its cells would prepare that anew.
                targets=tuple((task.isolation["device"], name) for name in dict.fromkeys((task.backend, "inductor"))),
                keeps_python_path=False,
                env={**_ENV, **({"PT2BUGS_HOME": str(home)} if home else {})},
                paths=tuple(paths),
                offline=True,
            )
        )
        self._device = task.isolation["device"]
        self.release = PatchedRelease(self._engine)
        """The same torch as what runs the checks of cases."""

    def memory(self) -> Path:
        """Return where this torch keeps what it has learnt about this machine, and about what a compile imports.

        Raises:
            EngineError: this torch does not import.
        """
        facts = self._engine.start()
        with self.release.workers.taken() as worker:
            for device, backend in self._engine.settings.targets:
                learn_needs(facts, worker, device, backend)
        return Path(facts.memory)

    def probe(self, probes: Sequence[Probe], backend: str | None = None, *, apart: bool = True) -> list[_Report]:
        """Call probes, `AT_ONCE` beside each other, and return what each reports.

        Args:
            probes: of one hidden file; they run under another name.
            backend: instead of theirs; empty for none.
            apart: whether each gets a process of its own; else there are `AT_ONCE` for all, as the first compile of a
                process takes as long as several more.

        Raises:
            EngineError: this torch does not import.
        """
        self._engine.start()
        groups = [[probe] for probe in probes] if apart else [probes[start::AT_ONCE] for start in range(AT_ONCE)]
        with tempfile.TemporaryDirectory(prefix="program-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
            moved = {probe.path: _moved(probe.path, Path(folder)) for probe in probes}
            parts = pool.map(lambda group: self._call(group, moved, backend), groups)
            reports = dict(zip(chain.from_iterable(groups), chain.from_iterable(parts), strict=True))
        return [reports[probe] for probe in probes]

    def _call(self, group: Sequence[Probe], moved: Mapping[Path, Path], backend: str | None) -> list[_Report]:
        """Call probes in one process."""
        if not group:
            return []
        first = group[0]
        request: Any = {
            "kind": "call", "function": f"{_INSIDE}:run", "path": str(moved[first.path]),
            "probes": [probe.name for probe in group], "backend": first.backend if backend is None else backend,
            "device": self._device, "threads": 1, "timeout_s": PROBE_S,
        }  # fmt: skip
        with self.release.workers.taken() as worker:
            ended = worker.run(request, Limits(PROBE_S * len(group), None))
        check_took_place(ended)
        report = ended.frames.get("report")
        if isinstance(report, dict) and len(report.get("reports", ())) == len(group):
            return list(report["reports"])
        if len(group) > 1:
            # None of them says which one ended the process.
            return [report for probe in group for report in self._call([probe], moved, backend)]
        if isinstance(report, dict) and "observation" in report:
            seen = report["observation"]
            failed = {name: seen.get(name, "") for name in ("error_type", "message")}
        else:
            failed = {"error_type": "", "message": f"the process died: {ended.signal or ended.exit_status}"}
        return [{"rounds": [{"outcome": "raise", **failed}], "counts": {}, DIED: True}]

    def judge(self, pairs: Sequence[tuple[Any, Any]]) -> list[str]:
        """Return where what came out differs from what should have, a text for each pair.

        Args:
            pairs: both as `inside.encode` makes them.

        Raises:
            ScoreError: the judge died.
            EngineError: this torch does not import.
        """
        request: Any = {"kind": "call", "function": f"{_INSIDE}:judge", "pairs": list(pairs)}
        with self.release.workers.taken() as worker:
            ended = worker.run(request, Limits(PROBE_S, None))
        check_took_place(ended)
        report = ended.frames.get("report") or {}
        if "differences" not in report:
            raise ScoreError(f"the outputs cannot be compared: {report.get('text', 'the process died')}")
        return list(report["differences"])

    def close(self) -> None:
        """End them."""
        self.release.close()
        self._engine.close()


def _moved(path: Path, folder: Path) -> Path:
    """Copy a file to where neither folder nor name tells what it is."""
    name = f"m{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.py"
    if not (folder / name).exists():
        shutil.copyfile(path, folder / name)
    return folder / name


class Scorer:
    """Scores patches of one task.

    Args:
        task: what they are to repair.
        environments: yields the environment of a release.
        cache: a folder for copies, what checks execute, and what the releases themselves show; that of `isolate`, which
            has found out most of it already.
        say: told of every step.
    """

    def __init__(
        self, task: Task, environments: Callable[[str], Environment], cache: Path, say: Callable[[str], None]
    ) -> None:
        if not task.can_be_scored:
            raise ScoreError(f"{task.id}: its hidden checks are not written yet, so that nothing can be scored")
        self.task, self._environments, self._cache, self._say = task, environments, cache, say
        self._bad = environments(task.bad)
        self._stack = contextlib.ExitStack()

    @cached_property
    def torch(self) -> Path:
        """The torch folder of the bad release."""
        return self._bad.torch

    @cached_property
    def _wheel(self) -> Processes:
        """The bad release as it is: it computes without the compiler what is right, and compares."""
        processes = Processes(self._bad, self.task, (), None)
        self._stack.callback(processes.close)
        return processes

    @cached_property
    def _memory(self) -> Path:
        return self._wheel.memory()

    @contextlib.contextmanager
    def _patched(self, texts: Mapping[str, str]) -> Iterator[Processes]:
        with patched_torch(self.torch, self._cache, self._bad.key.folder) as copy:
            copy.patch(texts)
            # Without it each process of the copy would import for itself what the first of the release has found.
            copy.remember(self._memory)
            with contextlib.closing(Processes(self._bad, self.task, (copy.path,), copy.home)) as processes:
                yield processes

    def score(self, patch: Patch, neighbours: Sequence[Check] = ()) -> Score:
        """Return the verdict on a patch.

        Args:
            patch: of the bad release's text.
            neighbours: checks of other cases that pass in the bad release, the likeliest to be met first.

        Raises:
            ScoreError: the hidden checks do not pass with the fix on this machine.
            EngineError: the environment is broken.
            CopyError: a copy of torch cannot be made.
        """
        score = Score(self.task.id)
        if not patch.texts:
            score.add(NO, "the patch is empty")
            return score
        for sign in patch.signs_of_going_around(self.task.program, self.task.id):
            score.add(AROUND, sign)
        # Before the patch has a copy: a second copy would first compile headers of its own.
        self._fixed(self.task.probes)
        with self._patched(patch.texts) as patched:
            try:
                self._check(patched, score)
                # What is no repair of the program needs no further look.
                for step in (self._hidden, self._unrelated):
                    if not score.findings:
                        step(patched, score)
            except EngineError as error:
                score.add(BROKE, f"torch does not import: {last_line(error)}")
            if not score.findings:
                self._neighbours(patched, patch, neighbours, score)
        return score

    def close(self) -> None:
        """End all processes."""
        self._stack.close()

    # --- the steps ---------------------------------------------------------------------------------------

    def _check(self, patched: Processes, score: Score) -> None:
        """Run the check of the case itself, as a program of no particular name."""
        cell, case = self.task.cell, self.task.case
        given = {"device": cell.device, "backend": cell.backend}
        with tempfile.TemporaryDirectory(prefix="program-") as folder:
            path = Path(folder) / f"p{hashlib.sha256(case.id.encode()).hexdigest()[:8]}.py"
            path.write_text(self.task.program, encoding="utf-8")
            check = Check(
                path, cell.check.name, {name: given[name] for name in cell.check.parameters}, cell.device,
                cell.backend, case.timeout, case.memory, case.compiles, case.isolation, case.env,
            )  # fmt: skip
            run = patched.release.run(check)
        if run.seen.message == NOTHING_COMPILED:
            score.add(AROUND, "the program passes, but nothing of it is compiled")
        elif run.seen.outcome is Outcome.ERROR and not run.counts:
            score.add(BROKE, f"the program does not start: {run.seen.message.splitlines()[-1][:300]}")
        elif not run.passed:
            score.add(NO, f"the program still fails: {run.seen.summary}")

    def _hidden(self, patched: Processes, score: Score) -> None:
        """Judge the program on its own values and on new ones, and its twins, and compare what was compiled."""
        for _, reason in self._hidden_findings(patched):
            score.add(AROUND, reason)

    def _hidden_findings(self, processes: Processes) -> Iterator[tuple[str, str]]:
        """Yield what the hidden checks find, each with its name."""
        probes = self.task.probes
        right, fixed = self._right(probes), self._fixed(probes)
        reports = processes.probe(probes)
        differences = self._differences(reports, right)
        for probe, report, differing, counted in zip(probes, reports, differences, fixed, strict=True):
            name = "the program" if probe.name == TASK else f"the hidden check {probe.name}"
            for number, difference in enumerate(differing):
                if difference:
                    values = " on new values" if probe.name == TASK and number else ""
                    yield probe.name, f"{name}{values}: {difference}"
                    break
            for worse in worse_counts(report["counts"], counted["counts"]):
                yield probe.name, f"{name}: {worse}"

    def unpatched(self) -> dict[str, list[str]]:
        """Return the faults that each hidden check finds in the release with the bug, without a patch.

        A check that finds nothing there cannot tell a repair from none.

        Raises:
            ScoreError: the hidden checks do not pass with the fix on this machine.
            EngineError: the environment is broken.
        """
        reasons: dict[str, list[str]] = {probe.name: [] for probe in self.task.probes}
        for name, reason in self._hidden_findings(self._wheel):
            reasons[name].append(reason)
        return reasons

    def _unrelated(self, patched: Processes, score: Score) -> None:
        """Ask that programs without a part in the task, and operators outside the compiler, are as they were."""
        probes = probes_of(UNRELATED, "inductor")
        before = self._kept("wheel", probes, lambda: self._wheel.probe(probes, apart=False))
        reports = patched.probe(probes, apart=False)
        for probe, report, expected, differing in zip(
            probes, reports, before, self._differences(reports, before), strict=True
        ):
            if differing := [text for text in differing if text]:
                score.add(BROKE, f"{probe.name}: {differing[0]}")
            for worse in worse_counts(report["counts"], expected["counts"]):
                score.add(AROUND, f"{probe.name}: {worse}")
        smoke = probes_of(SMOKE, "")
        for probe, differing in zip(smoke, self._differences(patched.probe(smoke), self._right(smoke)), strict=True):
            for difference in differing:
                if difference:
                    score.add(BROKE, f"without the compiler, {probe.name}: {difference}")

    def _neighbours(self, patched: Processes, patch: Patch, neighbours: Sequence[Check], score: Score) -> None:
        """Run checks of other cases that execute a changed function in the bad release."""
        units, pairs = _units(patch)
        functions = {(unit.file, unit.key) for unit in units if unit.kind == "function" and unit.change == "changed"}
        if not functions:
            return
        words = {word for unit in units for word in re.findall(r"[a-z]{4,}", unit.qualname.lower())}
        deadline = time.monotonic() + NEIGHBOURS_S
        traces = self._cache / "traces" / self._bad.build
        ordered = sorted(neighbours, key=lambda check: -mentions(check, words))
        with ThreadPoolExecutor(AT_ONCE) as pool:

            def run(check: Check) -> Run | None:
                if time.monotonic() > deadline:
                    return None
                # In the processes that have judged: another engine would first have to learn about this machine.
                ran = executed_by(check, self._wheel.release, traces)
                return patched.release.run(check) if items_met(ran, pairs.values()) & functions else None

            runs = [(check, ended) for check, ended in zip(ordered, pool.map(run, ordered), strict=True) if ended]
        for check, ended in runs:
            if not ended.passed:
                score.add(BROKE, f"{check.path.stem} turned red: {ended.seen.summary}")
        stayed = sum(ended.passed for _, ended in runs)
        self._say(f"{stayed} of {len(runs)} other cases that execute a changed function stay green")

    # --- what is right ---------------------------------------------------------------------------------

    def _differences(self, reports: Sequence[_Report], expected: Sequence[_Report]) -> list[list[str]]:
        """Return for each probe where its calls differ from those that are right."""
        pairs: list[list[tuple[Any, Any]]] = []
        for report, wanted in zip(reports, expected, strict=True):
            calls = zip(report["rounds"], wanted["rounds"], strict=False)
            pairs.append([_comparable(actual, right) for actual, right in calls])
        try:
            differences = iter(self._wheel.judge([pair for some in pairs for pair in some]))
        except EngineError as error:
            raise ScoreError(f"{self.task.id}: cannot be scored here: {last_line(error)}") from None
        return [list(islice(differences, len(some))) for some in pairs]

    def _right(self, probes: Sequence[Probe]) -> list[_Report]:
        """Return what the probes give without the compiler."""
        return self._kept("eager", probes, lambda: self._wheel.probe(probes, ""))

    def _fixed(self, probes: Sequence[Probe]) -> list[_Report]:
        """Return what they give, and what the compiler does, in the bad release with the proved units."""

        def measure() -> list[_Report]:
            with self._patched(self._fix()) as fixed:
                reports = fixed.probe(probes)
            for probe, differing in zip(probes, self._differences(reports, self._right(probes)), strict=True):
                if differences := [text for text in differing if text]:
                    raise ScoreError(f"{self.task.id}: {probe.name} does not pass with the fix here: {differences[0]}")
            return reports

        return self._kept(f"fixed {self.task.isolation['patch_sha256']}", probes, measure)

    def _fix(self) -> dict[str, str]:
        """Return the texts of the proved fix, made of the two wheels; they are written nowhere but into a copy."""
        good = self._environments(self.task.good).torch
        try:
            return fix_texts(self.task.isolation["units"], Wheels(self.torch, good))
        except PatchError as error:
            raise ScoreError(f"{self.task.id}: the fix cannot be made of the two wheels: {error}") from None

    def _kept(self, what: str, probes: Sequence[Probe], measure: Callable[[], list[_Report]]) -> list[_Report]:
        """Return what a release shows; measured once, and kept."""
        texts = [probe.path.read_text(encoding="utf-8") for probe in probes]
        inside = (Path(__file__).parent / "inside.py").read_text(encoding="utf-8")
        about = json.dumps([what, self._bad.build, [(p.name, p.backend) for p in probes], texts, inside])
        path = self._cache / "references" / f"{hashlib.sha256(about.encode()).hexdigest()[:24]}.json"
        with contextlib.suppress(OSError, ValueError):
            return list(json.loads(path.read_text(encoding="utf-8")))
        try:
            reports = measure()
        except EngineError as error:
            # It is not the patch that does not import.
            raise ScoreError(f"{self.task.id}: cannot be scored here: {last_line(error)}") from None
        if died := [probe.name for probe, report in zip(probes, reports, strict=True) if DIED in report]:
            raise ScoreError(f"{self.task.id}: cannot be scored here: without the patch {died[0]} died")
        write_text(path, json.dumps(reports))
        return reports


def fix_texts(units: Iterable[Mapping[str, Any]], wheels: Wheels) -> dict[str, str]:
    """Return the texts of the bad release with units of the good one.

    Args:
        units: as results have them.
        wheels: the two releases.

    Raises:
        PatchError: they do not differ there.
    """
    selection: dict[Unit, frozenset[int] | None] = {}
    for told in units:
        known = (u for u in wheels.units(told["file"]) if (u.qualname, u.kind) == (told["qualname"], told["kind"]))
        unit = next(known, None)
        if unit is None:
            raise PatchError(f"torch/{told['file']}: {told['qualname']} is the same in both releases")
        hunks = told.get("hunks")
        selection[unit] = frozenset(hunks) if hunks is not None else None
    return wheels.mixed(selection)


def worse_counts(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield in what the compiler did less than it should, or more often.

    Args:
        actual: counts of a probe.
        expected: those of the release that they are compared with.
    """
    if expected and not actual:
        yield "what the compiler did cannot be counted"
        return
    for name, what in _MORE_IS_WORSE.items():
        if actual.get(name, 0) > expected.get(name, 0):
            yield f"{actual[name]} {what}, not {expected[name]}"
    # A break makes two frames of one; whoever needs fewer breaks has fewer frames.
    saved = max(0, expected.get("breaks", 0) - actual.get("breaks", 0))
    if actual.get("frames", 0) + saved < expected.get("frames", 0):
        yield f"{actual['frames']} frames are compiled, not {expected['frames']}"
    for name, what in _NONE_IS_WORSE.items():
        if expected.get(name, 0) and not actual.get(name, 0):
            yield f"no {what}, not {expected[name]}"
    new, old = Counter(actual.get("operators", {})), Counter(expected.get("operators", {}))
    if new.total() < old.total():
        yield f"{new.total()} operators are captured, not {old.total()}: {', '.join(sorted(old - new))} less"
    for name in sorted(new.keys() - old.keys()):
        if name.startswith("torch.ops."):
            yield f"the graph calls {name}, which is not of the program"
    fallbacks = Counter(actual.get("fallbacks", {})) - Counter(expected.get("fallbacks", {}))
    if Counter(actual.get("fallbacks", {})).total() > Counter(expected.get("fallbacks", {})).total():
        yield f"Inductor leaves {', '.join(sorted(fallbacks))} to eager"


def _comparable(actual: Mapping[str, Any], right: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what is to be compared of two calls: their outputs, or how they ended."""
    if actual["outcome"] != right["outcome"] or actual["outcome"] == "raise":
        return _end(actual), _end(right)
    return actual["output"], right["output"]


def _end(call: Mapping[str, Any]) -> str:
    if call["outcome"] == "pass":
        return "a result"
    message = " ".join(str(call.get("message", "")).split())[:200]
    return f"{call.get('error_type', '')}: {message}"


def _units(patch: Patch) -> tuple[list[Unit], dict[str, FilePair]]:
    """Return the units of a patch, and its files that Python can parse."""
    pairs: dict[str, FilePair] = {}
    for file, text in patch.texts.items():
        if file.endswith(".py") and file in patch.before:
            with contextlib.suppress(PatchError):
                pairs[file] = FilePair(file, SourceFile(patch.before[file]), SourceFile(text))
    return [unit for pair in pairs.values() for unit in pair.units], pairs
