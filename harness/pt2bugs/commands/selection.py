"""What the selection of a command means: cases, cells, and the lines that the results have of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.corpus import Selection, brought, find_case_files, is_case_file, load_cases
from pt2bugs.case.model import Case, Check
from pt2bugs.case.program import did_you_mean
from pt2bugs.commands.console import warn
from pt2bugs.commands.options import BackendOptions, ResultsOptions, SelectionOptions
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.remembered import remembered

if TYPE_CHECKING:
    from pt2bugs.case.cells import Cell
    from pt2bugs.report.history import History
    from pt2bugs.results.matrix import CellKey, NewestLines, Results
    from pt2bugs.results.record import Record


@dataclass(frozen=True, kw_only=True)
class LinesOptions(SelectionOptions, ResultsOptions):
    """Which lines of which results folder are meant."""


@dataclass(frozen=True, kw_only=True)
class ShownOptions(LinesOptions):
    """Which of these lines a command shows, by release and verdict. Empty fields select everything."""

    torch: Sequence[str] = ()
    verdict: Sequence[str] = ()


def corpus_roots(asked: Sequence[Path]) -> list[Path]:
    """The folders of the corpus: those asked for, else `cases` here, else the installed one.

    Raises:
        InputError: one asked for does not exist.
    """
    for path in asked:
        if not path.exists():
            raise InputError(f"--cases {path}: there is no such file or folder")
    if asked:
        return list(asked)
    here = Path("cases")
    return [here if here.is_dir() else brought("cases")]


def select_cases(options: SelectionOptions) -> tuple[list[Case], list[Case]]:
    """The whole corpus, and what of it the options select (devices and backends left aside).

    A case that is selected by ``id::check`` has only the checks asked for. A file that is named on the command line
    belongs to the corpus, wherever it is.

    Raises:
        CaseError: a file of the corpus breaks the contract.
        InputError: a word of the command line names no case, or a file that is none.
        NothingSelected: the filters together leave nothing.
    """
    corpus = load_corpus([*corpus_roots(options.cases), *_files_named(options.patterns)])
    named = [case for argument in options.patterns for case in cases_named(argument, corpus)]
    chosen = _merged(named) if options.patterns else corpus
    for name, selection in {
        "--component": Selection(components=tuple(options.component)),
        "--symptom": Selection(symptoms=tuple(options.symptom)),
        "--label": Selection(labels=tuple(options.label)),
    }.items():
        before = chosen
        chosen = [case for case in chosen if selection.matches(case)]
        if before and not chosen:
            raise NothingSelected(f"nothing selected: {name} leaves none of {len(before)} cases")
    if not chosen:
        raise NothingSelected("nothing selected: the corpus is empty")
    return corpus, chosen


def load_corpus(roots: Sequence[Path]) -> list[Case]:
    """Every case under some files and folders, sorted by id; read anew only where a file has changed.

    Raises:
        CaseError: a file breaks the contract.
    """
    files = list(find_case_files(roots, warn))
    return remembered("cases", roots, files, lambda: (load_cases(files), True))


def _files_named(arguments: Sequence[str]) -> list[Path]:
    """The files and folders among the words of the command line.

    Raises:
        InputError: one is not there, or is a file without a header of ours.
    """
    found = []
    for argument in arguments:
        path = Path(argument.partition("::")[0])
        if not _is_path(argument):
            continue
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        if not path.is_dir() and not is_case_file(path, warn):
            problem = "has no '# /// script' header with [tool.pt2bugs]"
            raise InputError(f"{path}: {problem}; `pt2bugs new ID --from {path}` makes a case of it")
        found.append(path)
    return found


def _is_path(argument: str) -> bool:
    name = argument.partition("::")[0]
    return (
        "://" not in name
        and not _SHORT.fullmatch(name)
        and ("/" in name or name.endswith(".py") or name in (".", ".."))
    )


_SHORT = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)?#(?P<number>\d+)")
"""GitHub's short forms of an issue: ``#163640``, ``pytorch/pytorch#163640``."""


def cases_named(argument: str, corpus: Sequence[Case]) -> list[Case]:
    """The cases that a word of the command line means: an id or a glob, the number or the address of an issue, a path;
    after ``::`` a check or a glob of checks.

    Raises:
        InputError: it means none.
    """
    name, colons, check = _split(argument)
    if short := _SHORT.fullmatch(name):
        repository, number = short["repository"], short["number"]
        name = f"https://github.com/{repository}/issues/{number}" if repository else number
    if "://" not in name and _is_path(argument):
        path = Path(name).resolve()
        found = [case for case in corpus if path in (case.path.resolve(), *case.path.resolve().parents)]
    elif "://" in name:
        found = [case for case in corpus if _address(name) in (_address(case.issue), _address(case.fix))]
    elif name.isascii() and name.isdigit():
        found = [c for c in corpus if c.id.rpartition("_")[2] == name or _address(c.issue).endswith(f"/{name}")]
    else:
        found = [case for case in corpus if Selection((name,)).matches(case)]
    if not found:
        close = difflib.get_close_matches(name, [case.id for case in corpus], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"no case {name!r}{hint}; `pt2bugs list` shows all")
    if not colons:
        return found
    if "[" in check:
        raise InputError(f"{argument}: name a check; its device and backend go to --device and --backend")
    narrowed = [replace(case, checks=checks) for case in found if (checks := _checks(case, check))]
    if not narrowed:
        names = [one.name for case in found for one in case.checks]
        raise InputError(f"{argument}: no check {check!r}{did_you_mean(check, names)}; there is {', '.join(names)}")
    return narrowed


def _split(argument: str) -> tuple[str, str, str]:
    # An address may hold a fragment, and is cut at the last colons.
    name, colons, check = argument.rpartition("::")
    return (name, colons, check) if colons else (argument, "", "")


def _checks(case: Case, pattern: str) -> tuple[Check, ...]:
    return tuple(check for check in case.checks if fnmatchcase(check.name, pattern))


def _address(url: str) -> str:
    return (
        url.partition("#")[0]
        .partition("?")[0]
        .rstrip("/")
        .lower()
        .replace("://www.", "://")
        .replace("http:", "https:")
        .replace("/pull/", "/issues/")
    )


def _merged(cases: Sequence[Case]) -> list[Case]:
    """Each case once, with every check that was asked for."""
    found: dict[str, Case] = {}
    for case in cases:
        known = found.get(case.id, case)
        checks = {check.name: check for check in (*known.checks, *case.checks)}
        found[case.id] = replace(case, checks=tuple(sorted(checks.values(), key=lambda check: check.line)))
    return [found[id_] for id_ in sorted(found)]


def cases_on(options: SelectionOptions, cases: Sequence[Case]) -> list[Case]:
    """Those that have a cell on the devices and backends asked for, as `select_cells` has it.

    Raises:
        NothingSelected: none has.
    """
    from pt2bugs.case.cells import cells_of

    devices, backends = tuple(options.device), tuple(options.backend)
    # A case that is not for the CPU has its cells on its own device, as everywhere.
    found = [case for case in cases if any(cells_of(case, devices or case.devices, backends))]
    if not found:
        where = " ".join([*(f"--device {d}" for d in devices), *(f"--backend {b}" for b in backends)])
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on {where}")
    return found


def select_cells(options: SelectionOptions, cases: Sequence[Case]) -> list[Cell]:
    """The cells of the selected cases on the devices and backends asked for.

    Raises:
        NothingSelected: no selected check runs there.
    """
    from pt2bugs.backends.reach import BackendOverrides, on_its_device, special_reaches
    from pt2bugs.case.cells import cells_of

    devices, backends = tuple(options.device), tuple(options.backend)
    overrides = options.overrides if isinstance(options, BackendOptions) else BackendOverrides()
    reaches = special_reaches(backends, overrides)
    cells = on_its_device((cell for case in cases for cell in cells_of(case, devices, backends)), reaches)
    if not cells:
        where = " ".join([*(f"--device {d}" for d in devices), *(f"--backend {b}" for b in backends)])
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on {where}")
    return cells


def results_folder() -> Path:
    """The folder of results here; where there is none, and the wheel brought one, that is read instead."""
    here = Path("results")
    installed = Path(__file__).resolve().parent.parent / "_corpus" / "results"
    return here if here.is_dir() or not installed.is_dir() else installed


def open_results(options: ResultsOptions, backends: Sequence[str] = ()) -> Results:
    """The results folder; with `backends`, also what it has of cells on them that no header names."""
    from pt2bugs.results.matrix import Results

    return Results(options.results or results_folder(), backends)


def load_lines(
    options: LinesOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> dict[CellKey, Record]:
    """The lines that the results folder has of these cases of the corpus, on the devices and backends asked for.

    Raises:
        JournalError: a journal cannot be read.
    """
    newest = open_results(options, options.backend).load(corpus, warn)
    tell_stale(newest, cases)
    return select_lines(options, newest.lines(), cases)


def select_lines(
    options: SelectionOptions, lines: Mapping[CellKey, Record], cases: Sequence[Case], torch: Sequence[str] = ()
) -> dict[CellKey, Record]:
    """Those of these cases, on the devices and backends asked for; of the releases that values of ``--torch`` mean.

    Raises:
        ReleaseError: a release asked for has no line.
    """
    from pt2bugs.backends.known import known_backends

    checks = {(case.id, check.name) for case in cases for check in case.checks}
    # The device of a backend replaces the CPU in its cells.
    own = {name: one.setup.device for name, one in known_backends().items() if one.setup.device}
    devices = set(options.device)
    if "cpu" in devices:
        devices |= {own[name] for name in options.backend if name in own}
    releases = _releases_among(torch, lines) if torch else None
    return {
        key: record
        for key, record in lines.items()
        if (key.case, key.check) in checks
        and (not options.device or key.device in devices)
        and (not options.backend or key.backend in options.backend)
        and (releases is None or key.torch in releases)
    }


def load_cells(
    options: ShownOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> dict[CellKey, Record]:
    """As `load_lines`: the cells of the releases asked for, that have a verdict asked for.

    Raises:
        JournalError: a journal cannot be read.
        ReleaseError: a release asked for has no line.
    """
    return _with_verdict(options, select_lines(options, load_lines(options, corpus, cases, warn), cases, options.torch))


def load_rows(
    options: ShownOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> dict[CellKey, Record]:
    """As `load_cells`, but all cells of a check that has a verdict asked for in one of the releases."""
    lines = select_lines(options, load_lines(options, corpus, cases, warn), cases, options.torch)
    return _rows_with_verdict(options, lines)


def _releases_among(specs: Sequence[str], lines: Mapping[CellKey, Record]) -> set[str]:
    """The public versions that the values of ``--torch`` mean, of those that the results have."""
    from packaging.version import Version

    from pt2bugs.commands.targets import tell_newest
    from pt2bugs.envs.releases import Release, select_releases

    there = [Release(Version(version), ()) for version in sorted({key.torch for key in lines if key.torch})]
    tell_newest(specs, there)
    return {str(release) for release in select_releases(specs, there, "--torch ")}


def _with_verdict(options: ShownOptions, lines: Mapping[CellKey, Record]) -> dict[CellKey, Record]:
    wanted = options.verdict
    return {key: record for key, record in lines.items() if not wanted or record["verdict"] in wanted}


def _rows_with_verdict(options: ShownOptions, lines: Mapping[CellKey, Record]) -> dict[CellKey, Record]:
    rows = {key[:5] for key in _with_verdict(options, lines)}
    return {key: record for key, record in lines.items() if key[:5] in rows}


def tell_stale(newest: NewestLines, cases: Sequence[Case]) -> None:
    """Warn of cases that were edited after they were measured, and say how to measure again."""
    if stale := sorted(newest.stale & {case.id for case in cases}):
        names = " ".join(stale[:5]) + (f" and {len(stale) - 5} more" if len(stale) > 5 else "")
        warn(
            f"edited since they were measured, so that lines are left out: {names}; "
            f"measure again with: pt2bugs run {' '.join(stale[:5])} --torch minors"
        )


def load_histories(
    options: ShownOptions, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> list[History]:
    """The rows of the matrix of these cases, with what each release says; all of a check that has a verdict asked for.

    Raises:
        JournalError: a journal cannot be read.
        ReleaseError: a release asked for has no line.
    """
    from pt2bugs.bisect.evidence import Evidence
    from pt2bugs.report.history import histories

    evidence = Evidence.load(open_results(options, options.backend), corpus, warn)
    tell_stale(evidence.newest, cases)
    lines = _rows_with_verdict(options, select_lines(options, evidence.newest.lines(), cases, options.torch))
    return histories(lines, evidence)
