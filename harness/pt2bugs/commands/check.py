"""`pt2bugs check`: judges cases by the rules of a good case, and names the remedy for each rule that does not hold.

With ``--watch`` it shows the problems of the files' text while they are edited, with ``--fix`` it fixes what is
mechanical before it looks.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pt2bugs.case.corpus import CorpusError, corpus_roots, find_case_files
from pt2bugs.case.model import Case, CaseError
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, is_narrower_than, print_json, print_styled, say, warn
from pt2bugs.commands.options import LinesOptions, option
from pt2bugs.commands.selection import SelectedResults, results_of, select_results
from pt2bugs.curate.autofix import autofix
from pt2bugs.curate.duplicates import nearest, possible_duplicates, sightings_of
from pt2bugs.curate.rules import RULES, Finding, Prober, findings_of, problems_of, shown
from pt2bugs.curate.specificity import failures_seen
from pt2bugs.errors import InputError, install_command
from pt2bugs.isolate import fixes
from pt2bugs.results.folder import open_results
from pt2bugs.results.journal import journal_files, read_journal

WATCH_S = 0.3
"""Seconds between two looks at the files."""
_SIGNS = {True: "+", False: "X", None: "-"}

EXAMPLES = (("pt2bugs check pytorch_163640", "what is missing for the case to be a good one"),)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """Options of `check`."""

    no_run: bool = option("--no-run", default=False, help="only the file and the journal, no runs")
    watch: bool = option("--watch", default=False, help="show all problems of the files anew whenever one changes")
    fix: bool = option("--fix", default=False, help="fix what is mechanical: format, pins, main block, folder")
    json: bool = option("--json", default=False, help="all findings as JSON")


def run(options: Options) -> int:
    """Select, query, render; with ``--watch``, again whenever a file changes. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: there is no torch to run the cases.
    """
    if options.fix:
        options = replace(options, patterns=fix(options))
    if options.watch:
        return watch(select_files(options))
    selected = select(options)
    if not options.no_run and find_spec("torch") is None:
        problem = f"check runs each case, and this Python has no torch: install one (`{install_command('run')}`)"
        raise InputError(f"{problem}, or let `--no-run` look at the file and the journal alone")
    return render(options, selected, query(options, selected))


def select(options: Options) -> SelectedResults:
    """Return the cases to be judged, on all their devices and backends.

    Args:
        options: of the command.

    Raises:
        InputError: a header does not parse. The message says also what else is to be done in that file.
    """
    try:
        return select_results(options, everywhere=True)
    except CaseError as error:
        errors = error.errors if isinstance(error, CorpusError) else (error,)
        problems = [shown(broken.path, problem) for broken in errors for problem in problems_of(broken.path)]
        raise InputError("\n".join(problems) or str(error)) from None


def query(options: Options, selected: SelectedResults) -> Iterator[tuple[Case, list[Finding]]]:
    """Yield each case with what the rules say of it, as soon as that is known.

    Args:
        options: of the command.
        selected: the cases and their lines.
    """
    failures = failures_seen(selected.histories.rows())
    with nullcontext() if options.no_run else closing(Prober()) as prober:
        for case in selected.cases:
            yield case, findings_of(case, selected.corpus, selected.own_lines(case), prober, failures)


def render(options: Options, selected: SelectedResults, judged: Iterable[tuple[Case, list[Finding]]]) -> int:
    """Print a row for each case, and under it the rules that do not hold. Return the exit code.

    Args:
        options: of the command.
        selected: the cases.
        judged: the same with their findings.

    Raises:
        FixesError: a file of isolated fixes cannot be read.
    """
    width = max(len(case.id) for case in selected.cases)
    heads = f"{'':{width}} {' '.join(RULES)}"
    is_narrow = is_narrower_than(heads)
    as_json: list[dict[str, Any]] = []
    bad = 0
    if not (options.json or is_narrow):
        print(heads, flush=True)
    for case, findings in judged:
        broken = [finding for finding in findings if finding.holds is False]
        bad += bool(broken)
        if options.json:
            as_json += [
                {"case": case.id, "rule": finding.rule, "holds": finding.holds, "words": finding.message}
                for finding in findings
            ]
            continue
        if is_narrow:
            print(fit(f"{case.id:{width}}  {_in_words(findings)}"), flush=True)
        else:
            answers = (f"{_SIGNS[finding.holds]:^{len(finding.rule)}}" for finding in findings)
            print(f"{case.id:{width}}", *answers, flush=True)
        for finding in broken:
            print(fit(f"{'':{4 if is_narrow else width + 3}}{finding.rule}: {finding.message}"))
    if options.patterns:
        _tell_duplicates(selected)
    elif orphans := sorted(selected.histories.orphans):
        say(f"the journal has lines of cases that do not exist, and no table has them: {', '.join(orphans)}")
    _tell_doubtful_fixes(options, selected)
    if options.json:
        print_json(as_json)
    say(f"good: {len(selected.cases) - bad} of {number_of(len(selected.cases), 'case')}")
    return UNEXPECTED if bad else OK


def _in_words(findings: Sequence[Finding]) -> str:
    """Return a row of the table for a terminal that is too narrow for it."""
    rules = {holds: [finding.rule for finding in findings if finding.holds is holds] for holds in _SIGNS}
    told = [number_of(len(rules[True]), "rule") + (" holds" if len(rules[True]) == 1 else " hold")]
    told += [f"broken: {', '.join(rules[False])}"] if rules[False] else []
    told += [f"not judged: {', '.join(rules[None])}"] if rules[None] else []
    return "; ".join(told)


def _tell_duplicates(selected: SelectedResults) -> None:
    """Name the cases that may be the same bug as a selected one, those nearest to it by their programs."""
    sightings = sightings_of(selected.histories.rows())
    for case in selected.cases:
        if duplicates := possible_duplicates(case, sightings):
            near = nearest(case.path.read_text(encoding="utf-8"), case.component, case.symptom, duplicates)
            names = ", ".join(f"{neighbour.case.id} ({neighbour.case.title})" for neighbour in near)
            more = f", and {len(duplicates) - len(near)} more" if len(near) < len(duplicates) else ""
            say(f"{case.id}: fails on the same releases with the same component and symptom as {names}{more}")
            say("  if they are one bug, name the other in same-fix")


def _tell_doubtful_fixes(options: Options, selected: SelectedResults) -> None:
    """Name the cases whose header gives a pull request that speaks of other files than those that fixed the bug."""
    results = results_of(options).folder
    for case in selected.cases:
        for isolation in fixes.of_case(results, case.id):
            is_told = isolation.get("pull_request") == case.fix and isolation.get("named_in_pull_request") is False
            if is_told and isolation["direction"] == "fixed" and (cause := fixes.cause(isolation)):
                say(f"{case.id}: {cause}, and the thread of {case.fix} names none of it")
                say("  look again whether this is the fix")


# --- files: also those whose header does not parse -----------------------------------------------------


def select_files(options: Options) -> list[Path]:
    """Return the files that the words of the command line name; those of the whole corpus if there are none.

    Files with a broken header go by their name, since they have no case yet.

    Args:
        options: of the command.

    Raises:
        InputError: a word names no file.
    """
    everything = list(find_case_files(corpus_roots(options.cases), warn))
    files: list[Path] = []
    for argument in options.patterns:
        path = Path(argument)
        named = [path] if path.is_file() else [file for file in everything if fnmatchcase(file.stem, argument)]
        named = named or [file for file in everything if file.stem.rpartition("_")[2] == argument]
        if not named:
            raise InputError(f"no case file {argument!r}; name its path, its id or its issue's number")
        files += named
    return list(dict.fromkeys(files)) if options.patterns else everything


def fix(options: Options) -> list[str]:
    """Fix what is mechanical in the files, and return where those asked for are now.

    Args:
        options: of the command.

    Raises:
        InputError: a word names no file.
        JournalError: a journal cannot be read.
    """
    journal = journal_files(open_results(options.results).journal_folder, warn)
    paths = []
    for file in select_files(options):
        name = f'"{file.stem}"'.encode()
        lines = read_journal(journal, lambda _: None, lambda line, name=name: name in line)  # type: ignore[misc]
        path, done = autofix(file, [record for record in lines if record["case"] == file.stem])
        paths.append(str(path))
        for change in done:
            say(f"{path}: fixed: {change}")
    return paths if options.patterns else []


def watch(files: Sequence[Path]) -> int:
    """Show the problems of the files whenever one changes, until there are none. Return the exit code.

    Args:
        files: to be looked at.
    """
    before: dict[Path, tuple[int, int]] | None = None
    try:
        while True:
            now = {path: (stat.st_mtime_ns, stat.st_size) for path in files if (stat := _stat(path)) is not None}
            if now != before:
                before = now
                if not _show_problems(files):
                    return OK
            time.sleep(WATCH_S)
    except KeyboardInterrupt:
        return UNEXPECTED


def _show_problems(files: Sequence[Path]) -> int:
    """Print the problems of the files, and what is next. Return how many there are."""
    problems = [shown(path, problem) for path in files for problem in problems_of(path)]
    if sys.stdout.isatty():
        print_styled("\x1b[2J\x1b[H")
    print("\n".join(problems) if problems else f"{number_of(len(files), 'file')}: no problem", flush=True)
    if problems:
        say(f"{len(problems)} to do; waiting for a change (Ctrl-C ends)")
    elif len(files) < 4:
        say(f"next: pt2bugs run {' '.join(path.stem for path in files)} --torch minors --bisect")
    else:
        say("next: pt2bugs check --no-run")
    return len(problems)


def _stat(path: Path) -> os.stat_result | None:
    """Return the status of a file; None if it cannot be read now, as while an editor replaces it.

    `problems_of` tells what is wrong with it.
    """
    try:
        return path.stat()
    except OSError:
        return None
