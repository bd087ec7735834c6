"""Is this a good case? One function per rule, on the file, on the journal, and on a few runs made for it."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pt2bugs.case.cells import cells_of
from pt2bugs.case.expectation import Where, expected_bug, has_identity, public
from pt2bugs.case.model import Bug, Case, Check
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.curate.invented import identity_problem
from pt2bugs.curate.main_block import calls_of_main
from pt2bugs.curate.marks import marks_in
from pt2bugs.engine.client import Engine, EngineSettings
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.protocol import Limits
from pt2bugs.envs.extras import installed_extras
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record
from pt2bugs.results.tables import version_key
from pt2bugs.run.measurement import observe_exit

MAX_LINES = 80
MAX_SECONDS = 60.0
ALLOWED_IMPORTS = frozenset({"torch", "functorch", *sys.stdlib_module_names})
"""functorch comes in torch's own wheel."""
REPEATS = 5
SHOWN_BY = {
    "wrong-result": Outcome.WRONG,
    "missing-error": Outcome.WRONG,
    "internal-error": Outcome.RAISE,
    "backend-failure": Outcome.RAISE,
    "triton": Outcome.RAISE,
    "crash": Outcome.CRASH,
    "hang": Outcome.TIMEOUT,
}
"""The outcome that some entry must have, by symptom. The other symptoms have no outcome of their own."""

NO_ENTRY = "neither a [[tool.pt2bugs.bug]] entry nor guard = true"


@dataclass(frozen=True)
class Finding:
    """The answer to one rule. `holds` None: the rule cannot be asked here, and `message` says why."""

    rule: str
    holds: bool | None
    message: str = ""


# --- the file -----------------------------------------------------------------------------------------


def check_header(case: Case) -> Finding:
    """Complete: a pinned torch, an explanation of three to ten lines, identity on every entry, a bug or a guard.

    The symptom is what was seen, not what was reported: some entry shows it.
    """
    problems = []
    if not pinned_release(case):
        problems.append("dependencies pins no torch release (torch==2.9.1)")
    lines = [line for line in case.doc.splitlines() if line.strip()]
    if not 3 <= len(lines) <= 10:
        problems.append(f"the docstring has {len(lines)} lines, not 3 to 10")
    if not case.bugs and not case.guard and not case.unmeasured:
        problems.append(NO_ENTRY)
    shown = SHOWN_BY.get(case.symptom)
    outcomes = sorted({str(bug.outcome) for bug in case.bugs})
    if shown is not None and outcomes and str(shown) not in outcomes:
        problems.append(f"symptom {case.symptom!r} is shown by no entry: they say {', '.join(outcomes)}")
    for bug in case.bugs:
        if bug.outcome in (Outcome.RAISE, Outcome.WRONG) and not (bug.error and bug.match):
            problems.append(f"the entry in line {bug.line} needs error and match")
        if bug.outcome is Outcome.CRASH and not (bug.signal or bug.match):
            problems.append(f"the entry in line {bug.line} needs signal, or match where it varies")
    return Finding("header", not problems, "; ".join(problems))


def check_identity(case: Case) -> Finding:
    """No entry takes an invented, other failure of its outcome and type for the documented one."""
    found = [f"{case.path}:{bug.line}: {problem}" for bug in case.bugs if (problem := identity_problem(case, bug))]
    return Finding("identity", not found, "; ".join(found))


def check_filled(case: Case) -> Finding:
    """No line of it waits for a person."""
    marks = marks_in(case.path.read_text(encoding="utf-8"))
    return Finding("filled", not marks, "; ".join(f"{case.path}:{mark.line}: {mark.text}" for mark in marks))


def check_imports(case: Case) -> Finding:
    """Only torch and the standard library; a case of an extra may import what that brings, one about numpy that, one
    that is not for the CPU triton, which comes with torch's wheels for accelerators."""
    allowed = ALLOWED_IMPORTS | ({"numpy"} if "numpy" in case.labels else set())
    allowed |= {"triton"} if "cpu" not in case.devices else set()
    found = set()
    for node in ast.walk(ast.parse(case.path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or ".").partition(".")[0])
    foreign = sorted(found - allowed)
    holds = not foreign or bool(case.extra)
    return Finding("imports", holds, "" if holds else f"imports {', '.join(foreign)}")


def check_size(case: Case) -> Finding:
    """Fewer than 80 lines of code; header, docstrings, comments and blank lines left aside."""
    count = lines_of_code(case.path.read_text(encoding="utf-8"))
    return Finding("size", count < MAX_LINES, f"{count} lines of code")


def lines_of_code(text: str) -> int:
    """Lines that hold code: no comment, no blank, no string that stands alone (a docstring)."""
    rows: set[int] = set()
    fresh = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            fresh = True
        elif token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            continue
        else:
            if not (fresh and token.type == tokenize.STRING):
                rows.update(range(token.start[0], token.end[0] + 1))
            fresh = False
    return len(rows)


def fingerprint(case: Case) -> str:
    """What a case does, names and constants aside: two cases with one fingerprint are one case twice."""
    identities = sorted({bug.identity for bug in case.bugs})
    return repr((_names_used(case.path, case.hash), identities, case.backends, case.extra))


@lru_cache(maxsize=4096)
def _names_used(path: Path, _: str) -> list[str]:
    """What a program calls and reads, sorted; the second argument tells versions of the file apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.Attribute)))
    return sorted(node.attr if isinstance(node, ast.Attribute) else type(node.func).__name__ for node in nodes)


def check_neighbours(case: Case, corpus: Iterable[Case]) -> Finding:
    """No other case has the same fingerprint."""
    own = fingerprint(case)
    twins = [other.id for other in corpus if other.id != case.id and fingerprint(other) == own]
    return Finding("unique", not twins, f"does the same as {', '.join(twins)}" if twins else "")


# --- the journal --------------------------------------------------------------------------------------


def check_pinned(case: Case, records: Sequence[Record]) -> Finding:
    """`python FILE` shows the bug at the release that the header pins; that of a guard runs all of its checks."""
    run = main_cells(case)
    if case.guard:
        left = [check.name for check in case.checks if all(check.name != name for name, _, _ in run)]
        return Finding("pinned", not left, f"the main block does not run {', '.join(left)}" if left else "")
    pinned = pinned_release(case)
    if not pinned:
        return Finding("pinned", None, "no release is pinned")
    if not records and not case.unmeasured:
        # `releases` asks for the run.
        return Finding("pinned", None, "not measured")
    lines = [r for r in records if public_or_empty(r["torch"]) == pinned]
    if run and all(device != "cpu" for _, device, _ in run) and not lines:
        return Finding("pinned", None, f"not measured on {run[0][1]}")
    ran = [r for r in lines if (r["check"], r["device"], r["backend"]) in run]
    if not ran:
        why = f"what the main block runs is not measured on torch {pinned}; `pt2bugs run {case.id} --torch {pinned}`"
        return Finding("pinned", False, why)
    if any(r["verdict"] == Verdict.XFAIL for r in ran):
        return Finding("pinned", True, f"fails on {pinned}")
    shown = sorted({r["check"] for r in lines if r["verdict"] == Verdict.XFAIL})
    remedy = f"call {', '.join(shown)} there" if shown else "pin the newest release that shows it"
    return Finding("pinned", False, f"what the main block runs does not show the bug on torch {pinned}: {remedy}")


def pinned_release(case: Case) -> str:
    """The torch release that the file's dependencies pin; empty if they pin none."""
    pins = (re.fullmatch(r"torch==(\d+\.\d+\.\d+)", one.replace(" ", "")) for one in case.dependencies)
    return next((pin[1] for pin in pins if pin), "")


def main_cells(case: Case) -> list[tuple[str, str, str]]:
    """Check, device and backend of what `python FILE` runs."""
    return [
        (check.name, arguments.get("device", case.devices[0]), arguments.get("backend", case.backends[0]))
        for check in case.checks
        for arguments in calls_of_main(case.path.read_text(encoding="utf-8"), check)
    ]


def check_releases(case: Case, records: Sequence[Record]) -> Finding:
    """Seen failing as documented on a release its entries name, and passing on one they do not.

    A bug that every release shows has no passing one; that is said. A guard has been seen passing only.
    """
    answers = [record for record in records if record["verdict"] not in (Verdict.SKIP, Verdict.ERROR)]
    if not answers and case.unmeasured:
        return Finding("releases", None, f"not measured: needs {case.devices[0]}")
    if not answers:
        return Finding("releases", False, f"nothing measured; `pt2bugs run {case.id} --torch minors`")
    bad = [r for r in answers if r["verdict"] in (Verdict.FAIL, Verdict.XPASS)]
    if bad:
        where = ", ".join(_releases(bad))
        return Finding("releases", False, f"not as its header says on {where}; `pt2bugs bless {case.id}`")
    failing, passing = (
        _releases(r for r in answers if r["verdict"] == verdict) for verdict in (Verdict.XFAIL, Verdict.PASS)
    )
    if case.guard:
        return Finding("releases", True, f"guard: passes on {len(passing)} releases")
    if not failing:
        return Finding("releases", False, "seen failing on no release: a case must have been, or be a guard")
    message = f"fails on {failing[0]} to {failing[-1]}"
    if passing:
        return Finding("releases", True, f"{message}, passes on {passing[-1]}")
    return Finding("releases", True, f"{message}, on every release with an answer: not fixed yet")


def _releases(records: Iterable[Record]) -> list[str]:
    return sorted({public_or_empty(record["torch"]) for record in records}, key=version_key)


def check_compiles(case: Case, records: Sequence[Record]) -> Finding:
    """Some graph was captured, unless the header says that none is."""
    if not case.compiles:
        return Finding("compiles", None, "compiles = false")
    if not records:
        needs = f": needs {case.devices[0]}" if case.unmeasured else ""
        return Finding("compiles", None, f"not measured{needs}")
    graphs = max((record["graphs"] or 0 for record in records), default=0)
    # A check of torch's own (`torch._check`) may be the innermost frame of what the compiler refuses.
    frames = [frame for record in records for frame in (record["frame"], *record.get("frames", []))]
    if not graphs and any(re.match(r"torch/_(dynamo|functorch|inductor)/", frame) for frame in frames):
        return Finding("compiles", True, "the compiler raises before it captures a graph")
    return Finding("compiles", graphs > 0, f"{graphs} graphs" if graphs else "no graph was ever captured")


def check_duration(case: Case, records: Sequence[Record]) -> Finding:
    """Under 60 s on every release measured."""
    slowest = max((record["duration_s"] for record in records), default=0.0)
    return Finding("seconds", slowest < MAX_SECONDS, f"{slowest:.1f} s at most")


# --- runs on the torch at hand ------------------------------------------------------------------------


class Prober:
    """Runs case files in cells of an engine of its own: as programs, without the compiler, repeatedly."""

    def __init__(self) -> None:
        self.engine = Engine(EngineSettings(targets=(("cpu", "inductor"),)))
        self.facts = self.engine.start()
        self._worker = self.engine.open()

    @property
    def torch(self) -> str:
        return public(self.facts.torch)

    def close(self) -> None:
        self.engine.close()

    def _run(self, case: Case, *, seconds: float, **request: Any) -> Observation:
        common = {"path": str(case.path.resolve()), "device": "cpu", "threads": 1, "timeout_s": seconds}
        ended = self._worker.run({**common, **request}, Limits(seconds, case.memory))
        seen, _ = observe_exit(ended, seconds, case.memory)
        seen.present(partial(Normalizer(self.facts.paths).hide, case=case.path))
        return seen

    def _run_check(self, case: Case, check: Check, backend: str, *, kind: str) -> Observation:
        given = {"device": "cpu", "backend": backend}
        arguments = {name: given[name] for name in check.parameters}
        request = {"kind": kind, "check": check.name, "arguments": arguments, "compiles": False}
        return self._run(case, seconds=case.timeout, **request)

    def check_program(self, case: Case) -> Finding:
        """`python FILE` reproduces the bug where it is expected, and ends well where it is not.

        Expected is what the entries say of the checks and backends that the main block calls.
        """
        called = {(name, backend) for name, _, backend in main_cells(case)}
        cells = [cell for cell in cells_of(case) if (cell.check.name, cell.backend) in called]
        bugs = [bug for cell in cells if (bug := self._expected(case, cell.check, cell.backend)) is not None]
        # A program runs several checks.
        seen = self._run(case, seconds=2 * case.timeout, kind="program")
        if seen.outcome is Outcome.SKIP:
            return Finding("program", None, seen.message)
        if seen.outcome is Outcome.PASS:
            # A limitation may be gone here; a bug that is expected of what was called may not.
            holds = case.flaky or all(bug.blocked for bug in bugs)
            return Finding("program", holds, "ends well" if holds else "ends well, though a bug is expected")
        holds = any(has_identity(bug, seen) for bug in bugs)
        return Finding("program", holds, seen.summary[:80])

    def _expected(self, case: Case, check: Check, backend: str) -> Bug | None:
        where = Where(self.torch, self.facts.python, "cpu", backend)
        return expected_bug(case, check.name, where)

    def check_eager(self, case: Case) -> Finding:
        """Without the compiler the same program gives the right answer."""
        if not case.compiles or case.symptom == "recompilation":
            why = "compiles = false" if not case.compiles else "the compiler is what it counts"
            return Finding("eager", None, why)
        for cell in cells_of(case):
            seen = self._run_check(case, cell.check, cell.backend, kind="program")
            if seen.outcome is Outcome.SKIP:
                return Finding("eager", None, seen.message)
            if seen.outcome is not Outcome.PASS:
                expected = self._expected(case, cell.check, cell.backend)
                if expected is not None and expected.blocked and has_identity(expected, seen):
                    return Finding("eager", None, f"a limitation of torch {self.torch}: {seen.summary[:80]}")
                return Finding("eager", False, f"{cell.check.name} without the compiler: {seen.summary[:80]}")
        return Finding("eager", True)

    def check_repeats(self, case: Case) -> Finding:
        """Five children of every cell agree."""
        for cell in cells_of(case):
            found = [self._run_check(case, cell.check, cell.backend, kind="check") for _ in range(REPEATS)]
            kinds = {(seen.outcome, seen.error_type, seen.signal) for seen in found}
            if len(kinds) > 1 and not case.flaky:
                message = ", ".join(sorted(f"{outcome} {error}{signal}".strip() for outcome, error, signal in kinds))
                return Finding("repeats", False, f"{cell.name}: {message}")
        return Finding("repeats", True, "flaky, as it says" if case.flaky else "")

    def reason_to_skip(self, case: Case) -> str:
        """Why the case cannot run on the torch at hand; empty if it can."""
        if case.extra and case.extra not in installed_extras():
            return f"needs the extra {case.extra}"
        if "cpu" not in case.devices:
            return f"needs {case.devices[0]}"
        if not case.requires_torch.contains(self.torch, prereleases=True):
            return f"needs torch {case.requires_torch}"
        if case.isolation == "spawn":
            return "needs an interpreter of its own"
        return ""


RULES: tuple[str, ...] = (
    "header",
    "identity",
    "filled",
    "imports",
    "size",
    "unique",
    "pinned",
    "releases",
    "compiles",
    "seconds",
    "program",
    "eager",
    "repeats",
)


def findings_of(case: Case, corpus: Sequence[Case], records: Sequence[Record], prober: Prober | None) -> list[Finding]:
    """The answers to all of `RULES`, in their order. Without a prober the runs are left out."""
    found = [
        check_header(case),
        check_identity(case),
        check_filled(case),
        check_imports(case),
        check_size(case),
        check_neighbours(case, corpus),
        check_pinned(case, records),
        check_releases(case, records),
        check_compiles(case, records),
        check_duration(case, records),
    ]
    runs: list[Callable[[Case], Finding]] = []
    if prober is not None:
        runs = [prober.check_program, prober.check_eager, prober.check_repeats]
        if why := prober.reason_to_skip(case):
            return [*found, *(Finding(rule, None, why) for rule in RULES[len(found) :])]
    return [*found, *(run(case) for run in runs)]
