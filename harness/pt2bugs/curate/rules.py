"""The rules of a good case: one function for each, on the file, on the journal, and on a few runs made for it.

`problems_of` says what the file alone shows, while it is edited; `findings_of` answers every rule.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import metadata
from itertools import pairwise
from pathlib import Path

from pt2bugs.case.cells import cells_of
from pt2bugs.case.expectation import Where, expected_bug
from pt2bugs.case.failure import WRAPPERS, documents
from pt2bugs.case.header import decode, parse_case, read_regular
from pt2bugs.case.model import Bug, Case, CaseError, Check, Problem, pinned_release
from pt2bugs.case.observation import NOT_IMPORTED, Observation
from pt2bugs.case.private import private_backends
from pt2bugs.case.versions import public, public_or_empty
from pt2bugs.case.vocabulary import TORCH_BACKENDS, Outcome, Verdict, number_of
from pt2bugs.curate.bless import covers, unmeasured_minors
from pt2bugs.curate.duplicates import is_related
from pt2bugs.curate.placeholders import PLACEHOLDER, placeholders_in
from pt2bugs.curate.script import lines_of_code
from pt2bugs.curate.specificity import FailureKind, Foreign, identity_problem
from pt2bugs.engine.client import Engine, EngineSettings
from pt2bugs.engine.messages import CheckRequest, OnFile
from pt2bugs.engine.normalize import Normalizer
from pt2bugs.engine.program import FUNCTION, ProgramRequest
from pt2bugs.engine.protocol import Limits
from pt2bugs.envs.extras import installed_extras, known_extras
from pt2bugs.results.journal import Record
from pt2bugs.results.line import version_key, where_of
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
    """Ask for a complete header.

    It has a pinned torch, an explanation of three to ten lines, identity on every entry, and a bug or a guard.
    The symptom is what was seen, not what was reported: some entry shows it.

    Args:
        case: the case.
    """
    problems = []
    if not pinned_release(case.dependencies):
        problems.append("dependencies pins no torch release: `pt2bugs check --fix` pins the newest that fails")
    lines = [line for line in case.doc.splitlines() if line.strip()]
    if not 3 <= len(lines) <= 10:
        problems.append(f"the docstring has {number_of(len(lines), 'line')}, not 3 to 10")
    if not case.bugs and not case.guard and not case.unmeasured:
        problems.append(NO_ENTRY)
    shown = SHOWN_BY.get(case.symptom)
    outcomes = sorted({str(bug.outcome) for bug in case.bugs})
    if shown is not None and outcomes and str(shown) not in outcomes:
        problems.append(f"symptom {case.symptom!r} is shown by no entry: they say {', '.join(outcomes)}")
    raised = {(bug.error or "").rpartition(".")[2] for bug in case.bugs if not bug.blocked}
    if case.symptom == "internal-error" and raised and raised <= WRAPPERS:
        problems.append(f"symptom 'internal-error': {' or '.join(sorted(raised))} is a 'backend-failure'")
    if case.unmeasured and not case.fix and (named := re.search(r"\bPR\s+(\d+)", case.doc)):
        problems.append(f"the docstring names PR {named[1]}: give its address as fix")
    for bug in case.bugs:
        if bug.outcome in (Outcome.RAISE, Outcome.WRONG) and not (bug.error and bug.match):
            problems.append(f"the entry in line {bug.line} needs error and match")
        if bug.outcome is Outcome.CRASH and not (bug.signal or bug.match):
            problems.append(f"the entry in line {bug.line} needs signal, or match where it varies")
    return Finding("header", not problems, "; ".join(problems))


def check_identity(case: Case, records: Sequence[Record] = (), others: Iterable[Foreign] = ()) -> Finding:
    """Ask that no entry takes another failure of its outcome and type for the documented one.

    Args:
        case: the case.
        records: its newest lines of the journal.
        others: failures of other cases, with their ids.
    """
    own = [Observation.from_dict(record) for record in records if record["verdict"] == Verdict.XFAIL]
    others = list(others)
    problems = [
        f"{case.path}:{bug.line}: {problem}"
        for bug in case.bugs
        if (problem := identity_problem(case, bug, own, others))
    ]
    return Finding("identity", not problems, "; ".join(problems))


def check_filled(case: Case) -> Finding:
    """Ask that no line waits for a person.

    Args:
        case: the case.
    """
    placeholders = placeholders_in(case.path.read_text(encoding="utf-8-sig"))
    return Finding(
        "filled", not placeholders, "; ".join(f"{case.path}:{line.line}: {line.text}" for line in placeholders)
    )


def check_imports(case: Case, records: Sequence[Record] = ()) -> Finding:
    """Ask for imports of torch and the standard library alone, which every measured release has.

    A case of an extra may import what that brings, a case about numpy that, one for a private backend the module that
    registers it, and a case that is not for the CPU triton, which comes with torch's wheels for accelerators. A release
    that lacks the API has no answer (118260 on torch 2.0), and the header says so.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    allowed = ALLOWED_IMPORTS | ({"numpy"} if "numpy" in case.labels else set())
    allowed |= {"triton"} if "cpu" not in case.devices else set()
    tables = (private_backends().get(backend, {}) for backend in case.backends)
    allowed |= {table["import"].partition(".")[0] for table in tables if "import" in table}
    modules = set()
    for node in ast.walk(ast.parse(case.path.read_text(encoding="utf-8-sig"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or ".").partition(".")[0])
    problems = []
    if (foreign := sorted(modules - allowed)) and not case.extra:
        problems.append(f"imports {', '.join(foreign)}")
    answered = _releases(record for record in records if record["verdict"] != Verdict.ERROR)
    failed = _releases(record for record in records if record["message"].startswith(NOT_IMPORTED))
    if lacking := [release for release in failed if release not in answered]:
        problems.append(f"torch {', '.join(lacking)} cannot import the file: say in requires-torch which can")
    return Finding("imports", not problems, "; ".join(problems))


def check_size(case: Case) -> Finding:
    """Ask for fewer than 80 lines of code; header, docstrings, comments and blank lines left aside.

    Args:
        case: the case.
    """
    count = lines_of_code(case.path.read_text(encoding="utf-8-sig"))
    return Finding("size", count < MAX_LINES, f"{number_of(count, 'line')} of code")


def fingerprint(case: Case) -> str:
    """Return what a case does, names and constants aside: two cases with one fingerprint are one case twice.

    Args:
        case: the case.
    """
    identities = sorted({bug.identity for bug in case.bugs})
    return repr((_names_used(case.path, case.hash), identities, case.backends, case.extra))


@lru_cache(maxsize=4096)
def _names_used(path: Path, _: str) -> list[str]:
    """Return what a program calls and reads, sorted; the second argument tells versions of the file apart."""
    tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.Attribute)))
    return sorted(node.attr if isinstance(node, ast.Attribute) else type(node.func).__name__ for node in nodes)


def check_unique(case: Case, corpus: Iterable[Case]) -> Finding:
    """Ask that no other case has the same fingerprint, or the same fix without a `same-fix` that says so.

    Args:
        case: the case.
        corpus: all cases.
    """
    own = fingerprint(case)
    others = [other for other in corpus if other.id != case.id]
    problems = []
    if same := [other.id for other in others if fingerprint(other) == own]:
        problems.append(f"does the same as {', '.join(same)}")
    if same := [other.id for other in others if case.fix and other.fix == case.fix and not is_related(case, other)]:
        problems.append(f"has the fix of {', '.join(same)}: name the root of both in same-fix")
    return Finding("unique", not problems, "; ".join(problems))


def check_main(case: Case) -> Finding:
    """Ask that the main block runs every check.

    Args:
        case: the case.
    """
    run = {name for name, _, _ in main_cells(case)}
    left = [check.name for check in case.checks if check.name not in run]
    return Finding("main", not left, f"the main block does not run {', '.join(left)}" if left else "")


def main_cells(case: Case) -> list[tuple[str, str, str]]:
    """Return check, device and backend of what `python FILE` runs.

    Args:
        case: the case of the file.
    """
    return [
        (check.name, arguments.get("device", case.devices[0]), arguments.get("backend", case.backends[0]))
        for check in case.checks
        for arguments in calls_of_main(case.path.read_text(encoding="utf-8-sig"), check)
    ]


def calls_of_main(text: str, check: Check) -> Iterator[dict[str, str]]:
    """Yield the arguments of every call of the check below ``if __name__ == "__main__"``, by parameter.

    An argument that is no constant is left out, as are calls outside that block.

    Args:
        text: the text of a case file.
        check: a check of it.
    """
    for block in ast.parse(text).body:
        if isinstance(block, ast.If) and "__name__" in ast.unparse(block.test):
            for node in ast.walk(block):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == check.name:
                    given = [*zip(check.parameters, node.args, strict=False)]
                    given += [(keyword.arg or "", keyword.value) for keyword in node.keywords]
                    yield {name: str(value.value) for name, value in given if isinstance(value, ast.Constant)}


# --- the journal --------------------------------------------------------------------------------------


def check_pinned(case: Case, records: Sequence[Record]) -> Finding:
    """Ask that `python FILE` shows the bug at the release that the header pins, the newest on which it does.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    if case.guard:
        return Finding("pinned", None, "a guard fails nowhere")
    pinned = pinned_release(case.dependencies)
    if not pinned:
        return Finding("pinned", None, "no release is pinned")
    if not records and not case.unmeasured:
        # `releases` asks for the run.
        return Finding("pinned", None, "not measured")
    run = main_cells(case)
    if not run:
        # `main` asks for it.
        return Finding("pinned", None, "the main block runs no check")
    lines = [record for record in records if public_or_empty(record["torch"]) == pinned]
    if all(device != "cpu" for _, device, _ in run) and not lines:
        return Finding("pinned", None, f"not measured on {run[0][1]}")
    if not any(_cell_of(record) in run for record in lines):
        why = f"what the main block runs is not measured on torch {pinned}; `pt2bugs run {case.id} --torch {pinned}`"
        return Finding("pinned", False, why)
    failing = [r for r in records if r["verdict"] == Verdict.XFAIL and not names_a_python(case, r)]
    newest = max(
        (version_key(public_or_empty(r["torch"])) for r in failing if _cell_of(r) in run), default=version_key(pinned)
    )
    if not any(_cell_of(record) in run and record in failing for record in lines):
        shown = sorted({record["check"] for record in lines if record in failing})
        remedy = f"call {', '.join(shown)} there" if shown else "pin the newest release that shows it"
        return Finding("pinned", False, f"what the main block runs does not show the bug on torch {pinned}: {remedy}")
    if newest > version_key(pinned):
        release = next(
            public_or_empty(r["torch"]) for r in failing if version_key(public_or_empty(r["torch"])) == newest
        )
        return Finding("pinned", False, f"fails on torch {release}, too: pin the newest release, with check --fix")
    return Finding("pinned", True, f"fails on {pinned}")


def names_a_python(case: Case, record: Record) -> bool:
    """Return whether the entry that expects a line names a Python: `python FILE` shows that failure on some alone.

    Args:
        case: the case.
        record: a line of it.
    """
    bug = expected_bug(case, record["check"], where_of(record))
    return bug is not None and bool(bug.python_text)


def _cell_of(record: Record) -> tuple[str, str, str]:
    return record["check"], record["device"], record["backend"]


def check_edges(case: Case, records: Sequence[Record]) -> Finding:
    """Ask that no minor release was left out between the measured ones on the two sides of an entry's edge.

    A release for which the case's extra is not made cannot be measured, and is not asked for.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    problems: dict[str, None] = {}
    measured: dict[tuple[str, str, str], set[str]] = {}
    for record in records:
        if record["verdict"] != Verdict.ERROR and public_or_empty(record["torch"]):
            measured.setdefault(_cell_of(record), set()).add(public_or_empty(record["torch"]))
    for bug in case.bugs:
        for cell, releases in measured.items():
            order = sorted(releases, key=version_key) if covers(bug, cell) else []
            for before, after in pairwise(order):
                inside = [bug.torch.contains(release, prereleases=True) for release in (before, after)]
                if inside[0] != inside[1] and (gap := _measurable(case, unmeasured_minors(before, after))):
                    where = f"{case.path}:{bug.line}: torch = {bug.torch_text!r} ends between {before} and {after}"
                    hint = _run_hint(case, before, gap, after)
                    problems[f"{where}, and {', '.join(gap)} not measured; {hint}"] = None
    return Finding("edges", not problems, "; ".join(problems))


def _measurable(case: Case, minors: Sequence[str]) -> list[str]:
    """Return the minor releases that the case can be measured on: those for which its extra is made."""
    extra = known_extras().get(case.extra)
    return [minor for minor in minors if extra is None or extra.requirements_for(minor) is not None]


def _run_hint(case: Case, before: str, minors: Sequence[str], after: str) -> str:
    """Return the command that measures one release between two measured ones; of several those that decide."""
    releases, how = (minors, []) if len(minors) == 1 else ((before, *minors, after), ["--bisect"])
    return f"`pt2bugs run {' '.join([case.id, *(f'--torch {release}' for release in releases), *how])}`"


def check_graphs(case: Case, records: Sequence[Record]) -> Finding:
    """Ask of a check that turned from wrong to right with more graphs or breaks that its file says why.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    rows: dict[tuple[str, str, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: version_key(record["torch"])):
        if record["outcome"] in (Outcome.WRONG, Outcome.PASS):
            rows.setdefault(_cell_of(record), []).append(record)
    turned = [
        f"{check} on torch {public_or_empty(after['torch'])}"
        for (check, _, _), lines in rows.items()
        for before, after in pairwise(lines)
        if (before["outcome"], after["outcome"]) == (Outcome.WRONG, Outcome.PASS)
        and (_is_more(before["graphs"], after["graphs"]) or _is_more(before.get("breaks"), after.get("breaks")))
    ]
    if not turned or _SAYS_WHY.search(case.path.read_text(encoding="utf-8-sig")):
        return Finding("graphs", True)
    return Finding("graphs", False, f"passes with more graphs than it failed with: {turned[0]}; say why it is fixed")


def _is_more(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


_SAYS_WHY = re.compile(r"graph[ -]break|breaks? the graph|more graphs|recompil|compile[sd]? again", re.IGNORECASE)


def check_releases(case: Case, records: Sequence[Record]) -> Finding:
    """Ask that the bug was seen failing as documented on a release its entries name, and passing on another.

    A bug that every release shows has no passing one; that is said. A guard has been seen passing only.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    answers = [record for record in records if record["verdict"] not in (Verdict.SKIP, Verdict.ERROR)]
    if not answers and case.unmeasured:
        return Finding("releases", None, f"not measured: needs {case.devices[0]}")
    if not answers:
        return Finding("releases", False, f"nothing measured; `pt2bugs run {case.id} --torch minors --bisect`")
    bad = [r for r in answers if r["verdict"] in (Verdict.FAIL, Verdict.XPASS)]
    if bad:
        where = ", ".join(_releases(bad))
        return Finding("releases", False, f"not as its header says on {where}; `pt2bugs bless {case.id}`")
    failing, passing = (
        _releases(r for r in answers if r["verdict"] == verdict) for verdict in (Verdict.XFAIL, Verdict.PASS)
    )
    if case.guard:
        return Finding("releases", True, f"guard: passes on {number_of(len(passing), 'release')}")
    if not failing:
        return Finding("releases", False, "seen failing on no release: a case must have been, or be a guard")
    message = f"fails on {failing[0]} to {failing[-1]}"
    if passing:
        return Finding("releases", True, f"{message}, passes on {passing[-1]}")
    return Finding("releases", True, f"{message}, on every release with an answer: not fixed yet")


def _releases(records: Iterable[Record]) -> list[str]:
    return sorted({public_or_empty(record["torch"]) for record in records}, key=version_key)


def check_compiles(case: Case, records: Sequence[Record]) -> Finding:
    """Ask that some graph was captured, unless the header says that none is.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
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
    if not graphs and all(record["outcome"] in (Outcome.CRASH, Outcome.TIMEOUT, Outcome.OOM) for record in records):
        return Finding("compiles", None, "not counted: every cell died")
    return Finding("compiles", graphs > 0, number_of(graphs, "graph") if graphs else "no graph was ever captured")


def check_duration(case: Case, records: Sequence[Record]) -> Finding:
    """Ask for less than 60 s on every release measured.

    Args:
        case: the case.
        records: its newest lines of the journal.
    """
    slowest = max((record["duration_s"] for record in records), default=0.0)
    return Finding("seconds", slowest < MAX_SECONDS, f"{slowest:.1f} s at most")


# --- runs on the torch at hand ------------------------------------------------------------------------


def _file(case: Case, seconds: float) -> OnFile:
    path = str(case.path.resolve())
    return {"path": path, "device": "cpu", "threads": 1, "timeout_s": seconds, "network": case.network}


def _program(case: Case, seconds: float, check: str = "", arguments: Mapping[str, str] | None = None) -> ProgramRequest:
    """Return the request for a case as a program, or for a check of it without the compiler."""
    what: ProgramRequest = {
        **_file(case, seconds), "kind": "call", "function": FUNCTION, "check": check, "arguments": arguments or {},
    }  # fmt: skip
    return what


class Prober:
    """Runs case files in cells of an engine of its own: as programs, without the compiler, repeatedly."""

    def __init__(self) -> None:
        self.engine = Engine(EngineSettings(targets=(("cpu", "inductor"),)))
        self.facts = self.engine.start()
        self._worker = self.engine.open()

    @property
    def torch(self) -> str:
        """The release that the cases run on."""
        return public(self.facts.torch)

    def close(self) -> None:
        """End the engine."""
        self._worker.close()
        self.engine.close()

    def _run(self, case: Case, request: CheckRequest | ProgramRequest) -> Observation:
        seconds = request["timeout_s"]
        ended = self._worker.run(request, Limits(seconds, case.memory))
        seen, _ = observe_exit(ended, seconds, case.memory)
        seen.present(partial(Normalizer(self.facts.paths).hide, case=case.path))
        return seen

    def _run_check(self, case: Case, check: Check, backend: str, *, compiled: bool) -> Observation:
        given = {"device": "cpu", "backend": backend}
        arguments = {name: given[name] for name in check.parameters}
        if not compiled:
            return self._run(case, _program(case, case.timeout, check.name, arguments))
        request: CheckRequest = {
            **_file(case, case.timeout), "kind": "check", "check": check.name, "arguments": arguments,
            "compiles": False, "setup": None,
        }  # fmt: skip
        return self._run(case, request)

    def check_program(self, case: Case) -> Finding:
        """Ask that `python FILE` reproduces the bug where it is expected, and ends well where it is not.

        Expected is what the entries say of the checks and backends that the main block calls.

        Args:
            case: the case.
        """
        called = {(name, backend) for name, _, backend in main_cells(case)}
        cells = [cell for cell in cells_of(case) if (cell.check.name, cell.backend) in called]
        bugs = [bug for cell in cells if (bug := self._expected(case, cell.check, cell.backend)) is not None]
        # A program runs several checks.
        seen = self._run(case, _program(case, 2 * case.timeout))
        if seen.outcome is Outcome.SKIP:
            return Finding("program", None, seen.message)
        if seen.outcome is Outcome.PASS:
            # A limitation may be gone here; a bug that is expected of what was called may not.
            holds = case.flaky or all(bug.blocked for bug in bugs)
            return Finding("program", holds, "ends well" if holds else "ends well, though a bug is expected")
        holds = any(documents(bug, seen) for bug in bugs)
        return Finding("program", holds, seen.summary[:80])

    def _expected(self, case: Case, check: Check, backend: str) -> Bug | None:
        where = Where(self.torch, self.facts.python, "cpu", backend)
        return expected_bug(case, check.name, where)

    def check_eager(self, case: Case) -> Finding:
        """Ask that the same program gives the right answer without the compiler.

        Args:
            case: the case.
        """
        if not case.compiles or case.symptom == "recompilation":
            why = "compiles = false" if not case.compiles else "the compiler is what it counts"
            return Finding("eager", None, why)
        for cell in cells_of(case):
            seen = self._run_check(case, cell.check, cell.backend, compiled=False)
            if seen.outcome is Outcome.SKIP:
                return Finding("eager", None, seen.message)
            if seen.outcome is not Outcome.PASS:
                expected = self._expected(case, cell.check, cell.backend)
                if expected is not None and expected.blocked and documents(expected, seen):
                    return Finding("eager", None, f"a limitation of torch {self.torch}: {seen.summary[:80]}")
                return Finding("eager", False, f"{cell.check.name} without the compiler: {seen.summary[:80]}")
        return Finding("eager", True)

    def check_repeats(self, case: Case) -> Finding:
        """Ask that five children of every cell agree.

        Args:
            case: the case.
        """
        for cell in cells_of(case):
            runs = [self._run_check(case, cell.check, cell.backend, compiled=True) for _ in range(REPEATS)]
            kinds = {(seen.outcome, seen.error_type, seen.signal) for seen in runs}
            if len(kinds) > 1 and not case.flaky:
                message = ", ".join(sorted(f"{outcome} {error}{signal}".strip() for outcome, error, signal in kinds))
                return Finding("repeats", False, f"{cell.name}: {message}")
        return Finding("repeats", True, "flaky, as it says" if case.flaky else "")

    def reason_to_skip(self, case: Case) -> str:
        """Return why the case cannot run on the torch at hand; empty if it can.

        Args:
            case: the case.
        """
        if case.extra and case.extra not in installed_extras():
            return f"needs the extra {case.extra}"
        registered = {*TORCH_BACKENDS, *metadata.entry_points(group="torch_dynamo_backends").names}
        if missing := [name for name in case.backends if name not in registered]:
            return f"needs the backend {missing[0]}, which this Python has not"
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
    "main",
    "pinned",
    "releases",
    "edges",
    "graphs",
    "compiles",
    "seconds",
    "program",
    "eager",
    "repeats",
)


def findings_of(
    case: Case,
    corpus: Sequence[Case],
    records: Sequence[Record],
    prober: Prober | None,
    failures: Mapping[FailureKind, Sequence[Foreign]] | None = None,
) -> list[Finding]:
    """Return the answers to all of `RULES`, in their order.

    Args:
        case: the case.
        corpus: all cases.
        records: the newest lines of the case.
        prober: what runs the file; without it the runs are left out.
        failures: the documented failures of all cases, by outcome and type.
    """
    findings = [
        check_header(case),
        check_identity(case, records, _foreign(case, corpus, failures or {})),
        check_filled(case),
        check_imports(case, records),
        check_size(case),
        check_unique(case, corpus),
        check_main(case),
        check_pinned(case, records),
        check_releases(case, records),
        check_edges(case, records),
        check_graphs(case, records),
        check_compiles(case, records),
        check_duration(case, records),
    ]
    runs: list[Callable[[Case], Finding]] = []
    if prober is not None:
        runs = [prober.check_program, prober.check_eager, prober.check_repeats]
        if why := prober.reason_to_skip(case):
            return [*findings, *(Finding(rule, None, why) for rule in RULES[len(findings) :])]
    return [*findings, *(run(case) for run in runs)]


def _foreign(
    case: Case, corpus: Iterable[Case], failures: Mapping[FailureKind, Sequence[Foreign]]
) -> Iterator[Foreign]:
    """Yield the failures of cases that are no relatives, of the outcomes and types that the entries name."""
    related = {
        other.id
        for other in corpus
        if is_related(case, other) or other.issue == case.issue or (case.fix and other.fix == case.fix)
    }
    kinds = {(bug.outcome, (bug.error or "").removeprefix("builtins.")) for bug in case.bugs}
    return (failure for kind in kinds for failure in failures.get(kind, ()) if failure[0] not in related)


# --- the text alone -----------------------------------------------------------------------------------


def problems_of(path: Path) -> list[Problem]:
    """Return the problems of a file by line; none if its text is that of a good case, or of one to be measured.

    A file that cannot be read is a problem too.

    Args:
        path: the file.
    """
    try:
        text = decode(read_regular(path))
    except (OSError, UnicodeDecodeError) as error:
        return [Problem(None, f"cannot be read: {error}")]
    problems = placeholders_in(text)
    waiting = {problem.line for problem in problems}
    try:
        case = parse_case(path)
    except CaseError as error:
        problems += [
            problem for problem in error.problems if problem.line not in waiting and not _is_waiting(problem, text)
        ]
    else:
        problems += [
            Problem(bug.line, f"identity: {reason}") for bug in case.bugs if (reason := identity_problem(case, bug))
        ]
        for finding in (check_header(case), check_imports(case), check_size(case), check_main(case)):
            if finding.holds is False:
                # An entry is written by `bless` from measurements: no edit of the text is waited for.
                reasons = [reason for reason in finding.message.split("; ") if reason != NO_ENTRY]
                problems += [Problem(None, f"{finding.rule}: {reason}") for reason in reasons]
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.text))


def _is_waiting(problem: Problem, text: str) -> bool:
    """Return whether a missing key is one that a placeholder asks for."""
    key = re.search(r"needs '([\w-]+)'$", problem.text)
    return key is not None and re.search(rf'^# {key[1]} = "" +# {PLACEHOLDER}', text, re.MULTILINE) is not None


def shown(path: Path, problem: Problem) -> str:
    """Return a problem on one line, which an editor can jump to.

    Args:
        path: the file.
        problem: a problem of it.
    """
    return f"{path}{f':{problem.line}' if problem.line else ''}: {problem.text}"
