"""The corpus for Python programs: cases, what was measured of them, the run of one cell (docs/reference/api.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.corpus import load_cases as _load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.selectors import cases_named
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.errors import InputError
from pt2bugs.results.folder import open_results

if TYPE_CHECKING:
    import pandas as pd

    from pt2bugs.results.journal import Record

Warn = Callable[[str], None]
TEXT_COLUMNS = (
    "case", "check", "device", "backend", "extras", "torch", "python",
    "outcome", "verdict", "error_type", "message", "signal", "component", "issue",
)  # fmt: skip
"""Columns of `load_cells` that are texts."""


def load_cases(folder: str | PathLike[str] | None = None, *, warn: Warn = lambda _: None) -> list[Case]:
    """Return every case of the corpus, sorted by id. No case file is imported.

    Args:
        folder: another corpus, or one case file. Default: `cases` in the current folder, else what was installed.
        warn: told of files that look like cases and are left out.

    Raises:
        CaseError: files break the contract. It names every problem of every file.
        InputError: there is no such folder.
    """
    return _load_cases(corpus_roots([Path(folder)] if folder is not None else []), warn)


def load_cells(
    results: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    *,
    warn: Warn = lambda _: None,
) -> pd.DataFrame:
    """Return a row for every cell that was measured: its newest journal line, with its verdict by today's headers.

    The rows are those of `results/cells.csv`, whose columns ``component``, ``issue``, ``started`` and ``duration_s``
    follow. All are texts of the dtype ``string``, empty where there is nothing to say, but for ``graphs`` (``Int64``,
    missing where no graph was counted), ``started`` (a time in UTC) and ``duration_s`` (seconds). ``torch`` and
    ``python`` are versions, to be compared by `packaging.version.Version`. A cell that was never measured has no row.

    Args:
        results: another folder of results. Default: `results` in the current folder, else what was installed.
        folder: of the cases, as for `load_cases`.
        warn: told of journal lines that are left out.

    Raises:
        CaseError: a case file breaks the contract.
        InputError: there is no such folder.
        JournalError: a journal cannot be read, or is of a newer schema.
    """
    import pandas as pd

    from pt2bugs.results.line import sorted_keys
    from pt2bugs.results.tables import cells_table

    if results is not None and not Path(results).is_dir():
        raise InputError(f"{Path(results)}: there is no such folder of results")
    opened = open_results(Path(results) if results is not None else None)
    newest = opened.load(load_cases(folder, warn=warn), warn)
    lines = newest.lines()
    keys = sorted_keys(lines)
    table = cells_table(lines).assign(
        component=[newest.cases[key.case].component for key in keys],
        issue=[newest.cases[key.case].issue for key in keys],
        started=pd.to_datetime([lines[key]["started"] for key in keys], format="ISO8601", utc=True).as_unit("ns"),
        duration_s=[lines[key]["duration_s"] for key in keys],
    )
    return table.astype({**dict.fromkeys(TEXT_COLUMNS, "string"), "duration_s": "float64"})


@dataclass(frozen=True)
class CellResult:
    """A run of a cell: what was seen, and what it means.

    Args:
        torch: the version that was actually imported; `python` that of its interpreter. Empty if torch did not import.
        outcome: what was seen; `verdict` is that against what the case expects, `reason` a sentence that says why.
        error_type: dotted type of the exception; built-in ones bare.
        frame: the innermost torch frame, as ``torch/path.py:LINE function``; `frames` are the next ones outwards.
        graphs: how many Dynamo captured; None where that is not known.
        duration_s: seconds of the check's body; `peak_rss_mb` is in MiB.
        output_tail: the end of what the cell printed.
    """

    case: str
    check: str
    device: str
    backend: str
    torch: str
    python: str
    outcome: Outcome
    verdict: Verdict
    reason: str
    error_type: str
    message: str
    frame: str
    frames: tuple[str, ...]
    signal: str
    graphs: int | None
    duration_s: float
    peak_rss_mb: float
    output_tail: str

    @classmethod
    def _of(cls, record: Record, reason: str) -> CellResult:
        texts = ("case", "check", "device", "backend", "torch", "python", "error_type", "message", "frame", "signal")
        return cls(
            **{key: record[key] for key in texts},  # type: ignore[literal-required]
            outcome=Outcome(record["outcome"]),
            verdict=Verdict(record["verdict"]),
            reason=reason,
            frames=tuple(record.get("frames", ())),
            graphs=record["graphs"],
            duration_s=record["duration_s"],
            peak_rss_mb=record["peak_rss_mb"],
            output_tail=record["output_tail"],
        )


def run_cell(
    case: str | Case,
    check: str = "",
    *,
    device: str = "cpu",
    backend: str = "",
    python: str | PathLike[str] | None = None,
    threads: int = 1,
) -> CellResult:
    """Run one cell in a child process, as `pt2bugs run` does. Nothing is written to a journal.

    Args:
        case: a case, or what names one: its id, its issue's number or address, its path.
        check: needed where the case has several.
        device: to run it on.
        backend: default: the first that the header names.
        python: another interpreter, of which only torch is asked for. Default: the running one.
        threads: of torch in the cell.

    Raises:
        InputError: there is no such case, check or cell.
        EnvironmentFailure: the interpreter does not start, or has no torch.
    """
    from pt2bugs.engine.client import Engine, EngineSettings
    from pt2bugs.run.measurement import MeasureOptions, Measuring, new_run_id

    cell = _cell(_case(case), check, device, backend)
    interpreter, extras = _interpreter(python)
    targets = ((cell.device, cell.backend),)
    engine = Engine(EngineSettings(python=interpreter, threads=threads, targets=targets))
    options = MeasureOptions(run_id=new_run_id(), threads=threads, extras=extras)
    with closing(engine), closing(engine.open()) as worker:
        (measured,) = Measuring(engine, options).measure(cell, worker)
    return CellResult._of(measured.record, measured.judgement.reason)


@dataclass(frozen=True)
class KnownBug:
    """A documented bug that a traceback may be.

    Args:
        kind: how it was told; `score` is its certainty, 1.0 the highest.
        introduced: the releases between which it came in, or the first that has it; `fixed` those without it again.
        fix: address of the pull request; `advice` and `reproduce` are a sentence and a command.
    """

    case: str
    issue: str
    title: str
    kind: str
    score: float
    introduced: str
    fixed: str
    fix: str
    advice: str
    reproduce: str


@dataclass(frozen=True)
class Recognition:
    """A traceback of a text, with the documented bugs that it may be, best first."""

    text: str
    is_known: bool
    matches: tuple[KnownBug, ...]


def match(
    text: str,
    torch: str = "",
    *,
    results: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
    warn: Warn = lambda _: None,
) -> list[Recognition]:
    """Return the tracebacks of a text and the documented bugs that they may be, as `pt2bugs match` tells them.

    Args:
        text: of a log.
        torch: the release that failed, for the advice.
        results: another folder of results, as for `load_cells`.
        folder: of the cases, as for `load_cases`.
        warn: told of journal lines that are left out.

    Raises:
        CaseError: a case file breaks the contract.
        JournalError: a journal cannot be read.
    """
    from pt2bugs.match.known import KnownBugs

    roots = corpus_roots([Path(folder)] if folder is not None else [])
    known = KnownBugs.load(open_results(Path(results) if results is not None else None), roots, warn)
    return [
        Recognition(
            recognized.traceback.text,
            recognized.is_known,
            tuple(KnownBug(**known.as_dict(bug, torch)) for bug in recognized.matches),
        )
        for recognized in known.recognize(text, torch)
    ]


@dataclass(frozen=True)
class Change:
    """Two neighbouring releases between which a bug came in, or went.

    Args:
        kind: ``introduced`` or ``fixed``.
        compare: address of the commits between; empty where a release does not name its commit.
        documented_fix: address of the pull request that the header names.
        cannot_say: releases between them that gave no answer; `not_run` those that were not asked.
        sure: False where a flaky check was not repeated often enough; `confidence` is None where it is not flaky.
    """

    kind: str
    before: str
    after: str
    compare: str
    documented_fix: str
    cannot_say: tuple[str, ...]
    not_run: tuple[str, ...]
    confidence: float | None
    sure: bool


@dataclass(frozen=True)
class BisectResult:
    """The transitions of a check: where it was broken and fixed.

    Args:
        decided: every change is known; `summary` is the answer in a sentence.
        releases: ``bug``, ``no bug`` or ``cannot say`` by release, oldest first; `cannot_say` says why.
        surprises: releases that the header is wrong about, each with what was seen.
    """

    case: str
    check: str
    device: str
    backend: str
    decided: bool
    summary: str
    releases: Mapping[str, str]
    cannot_say: Mapping[str, str]
    surprises: Mapping[str, str]
    changes: tuple[Change, ...]


def bisect(
    case: str | Case,
    check: str = "",
    *,
    device: str = "cpu",
    backend: str = "",
    torch: Sequence[str] = (),
    offline: bool = False,
    results: str | PathLike[str] | None = None,
) -> BisectResult:
    """Return where a check was broken and fixed, as `pt2bugs bisect` does: runs the releases that decide.

    Args:
        case: a case, or what names one, as for `run_cell`.
        check: needed where the case has several.
        device: of the cell.
        backend: default: the first that the header names.
        torch: the releases, as ``>=2.4,<2.10``. Default: the newest patch of every minor release.
        offline: answer from the journal alone, run nothing.
        results: another folder of results, as for `load_cells`; what is run is written there.

    Raises:
        InputError: there is no such case, check, cell or release.
        JournalError: a journal cannot be read.
    """
    from pt2bugs.commands import bisect as verb

    cell = _cell(_case(case), check, device, backend)
    is_own = any(cell.case.path.is_relative_to(root) for root in corpus_roots([]))
    options = verb.Options(
        patterns=[f"{cell.case.id if is_own else cell.case.path}::{cell.check.name}"],
        device=[device],
        backend=[cell.backend],
        extra=[cell.case.extra] if cell.case.extra else [],
        torch=torch,
        offline=offline,
        results=Path(results) if results is not None else None,
    )
    bisection = verb.plan(options, *verb.select(options))
    verb.measure(options, bisection)
    (answer,) = (verb.answer_of(history, options) for history in bisection.histories)
    fields = Change.__dataclass_fields__
    changes = ({key: value for key, value in change.items() if key in fields} for change in answer["transitions"])
    texts = ("case", "check", "device", "backend", "decided", "summary", "releases", "cannot_say", "surprises")
    return BisectResult(
        **{key: answer[key] for key in texts},
        changes=tuple(
            Change(**{**change, "cannot_say": tuple(change["cannot_say"]), "not_run": tuple(change["not_run"])})
            for change in changes
        ),
    )


@dataclass(frozen=True)
class TriageResult:
    """The answer of a triage about a program; texts are empty where there is nothing to say.

    Args:
        outcome: of the program, ``pass`` if it does not fail; `error_type` and `message` are its identity.
        verdict: ``bug``, ``limitation`` or ``not-a-bug``, with its `reason` in a word.
        layer: the first layer of the compiler that fails.
        symptom: the class of the failure; `component` is where it is.
        known: the documented bugs that it may be, best first.
        workarounds: what was tried and passes.
        folder: with the report (``report.md``) and all else; `minimal` is the smallest program, if it was made smaller.
    """

    torch: str
    outcome: Outcome
    error_type: str
    message: str
    verdict: str
    reason: str
    layer: str
    symptom: str
    component: str
    known: tuple[KnownBug, ...]
    workarounds: tuple[str, ...]
    folder: Path
    minimal: Path | None


def triage(
    path: str | PathLike[str],
    arguments: Sequence[str] = (),
    *,
    output: str | PathLike[str] | None = None,
    torch: Sequence[str] = (),
    python: str | PathLike[str] | None = None,
    minutes: float = 15.0,
    skip: Sequence[str] = (),
    results: str | PathLike[str] | None = None,
    folder: str | PathLike[str] | None = None,
) -> TriageResult:
    """Reproduce, classify and minimize a failing program, as `pt2bugs triage` does.

    Args:
        path: of the program.
        arguments: of the program.
        output: folder that is written. Default: ``triage-PROGRAM`` in the current folder.
        torch: a release to triage on, or several to search. Default: the installed torch.
        python: another interpreter, instead of `torch`.
        minutes: for all steps together.
        skip: steps to leave out: ``minimize``, ``artifacts``.
        results: another folder of results, as for `load_cells`.
        folder: of the cases, as for `load_cases`.

    Raises:
        InputError: the program cannot be run, or never enters the compiler.
        EnvironmentFailure: an environment cannot be made.
    """
    from pt2bugs.commands import triage as verb
    from pt2bugs.commands.selection import open_environments

    options = verb.Options(
        what=str(path),
        arguments=arguments,
        output=Path(output) if output is not None else None,
        torch=torch,
        python_exe=Path(python) if python is not None else None,
        minutes=minutes,
        skip=skip,
        results=Path(results) if results is not None else None,
        cases=[Path(folder)] if folder is not None else [],
    )
    program = verb.select(options)
    with open_environments(options) as environments:
        settings = verb.plan(options, program, verb.select_targets(options), environments)
        answer = verb.measure(program, settings).as_json()
    minimal = answer["minimized"]["path"]
    return TriageResult(
        torch=answer["torch"],
        outcome=Outcome(answer["outcome"]),
        error_type=answer["identity"]["error_type"],
        message=answer["identity"]["message"],
        verdict=answer["verdict"] or "",
        reason=answer["reason"] or "",
        layer=answer["first_failing"] or "",
        symptom=answer["class"] or "",
        component=answer["component"] or "",
        known=tuple(KnownBug(**bug) for bug in answer["known"]),
        workarounds=tuple(workaround["what"] for workaround in answer["workarounds"] if workaround["passes"]),
        folder=settings.folder,
        minimal=Path(minimal) if minimal else None,
    )


def _case(case: str | Case) -> Case:
    if isinstance(case, Case):
        return case
    path = Path(case)
    named = cases_named(str(case), _load_cases([path] if path.is_file() else corpus_roots([])))
    if len(named) != 1:
        raise InputError(f"{case}: names {len(named)} cases, {', '.join(case.id for case in named[:3])}; name one")
    return named[0]


def _cell(case: Case, check: str, device: str, backend: str) -> Cell:
    names = [known.name for known in case.checks]
    if not check and len(names) > 1:
        raise InputError(f"{case.id} has {len(names)} checks: name one of {', '.join(names)}")
    cells = cells_of(case, (device,), (backend,) if backend else case.backends[:1])
    named = [cell for cell in cells if cell.check.name == (check or names[0])]
    if not named:
        given = f"{check or names[0]}[{device}-{backend or case.backends[0]}]"
        where = f"checks {', '.join(names)}; devices {', '.join(case.devices)}; backends {', '.join(case.backends)}"
        raise InputError(f"{case.id} has no cell {given}: {where}")
    return named[0]


def _interpreter(python: str | PathLike[str] | None) -> tuple[Path, tuple[str, ...]]:
    """Return the interpreter, and the extras that are installed there."""
    import sys

    from pt2bugs.envs.extras import installed_extras
    from pt2bugs.run.interpreter import named_interpreter

    if python is None:
        return Path(sys.executable), installed_extras()
    return Path(python), named_interpreter(Path(python)).key.extras
