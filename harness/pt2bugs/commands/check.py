"""`pt2bugs check`: is this a good case? A table of rules per case, and what to do where one does not hold.

With ``--watch`` it shows the problems of the files' text while they are edited, with ``--fix`` it mends what is
mechanical before it looks.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pt2bugs.case.corpus import CorpusError, find_case_files
from pt2bugs.case.model import CaseError
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import (
    LinesOptions,
    cases_on,
    corpus_roots,
    open_results,
    select_cases,
    select_lines,
    tell_stale,
)
from pt2bugs.curate.mend import mend
from pt2bugs.curate.problems import problems_of, shown
from pt2bugs.curate.review import RULES, Prober, findings_of
from pt2bugs.curate.twins import seen_of, twins_of
from pt2bugs.errors import InputError
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import is_own

WATCH_S = 0.3
"""Between two looks at the files."""

EXAMPLES = (("pt2bugs check pytorch_163640", "what is missing for the case to be a good one"),)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes."""

    no_run: bool = False
    watch: bool = False
    fix: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--no-run", action="store_true", help="only the file and the journal, no runs")
    parser.add_argument("--watch", action="store_true", help="show all problems of the files anew whenever one changes")
    parser.add_argument("--fix", action="store_true", help="mend what is mechanical: format, pins, main block, folder")
    parser.add_argument("--json", action="store_true", help="all findings as JSON")


def run(options: Options) -> int:
    if options.fix:
        options = replace(options, patterns=_mend(options))
    if options.watch:
        try:
            return _watch(_files(options))
        except KeyboardInterrupt:
            return UNEXPECTED
    try:
        corpus, cases = select_cases(options)
    except CaseError as error:
        # With a header that does not parse, what else is to be done in that file.
        errors = error.errors if isinstance(error, CorpusError) else (error,)
        problems = [shown(one.path, problem) for one in errors for problem in problems_of(one.path)]
        raise InputError("\n".join(problems) or str(error)) from None
    cases = cases_on(options, cases)
    # A good case is one on all its devices and backends.
    newest = open_results(options, options.backend).load(corpus, warn)
    tell_stale(newest, cases)
    everything = newest.lines()
    lines = select_lines(replace(options, device=(), backend=()), everything, cases)
    marks = {True: "+", False: "X", None: "-"}
    width = max(len(case.id) for case in cases)
    found_all = []
    bad = 0
    if not options.json:
        print(f"{'':{width}}", *RULES, flush=True)
    with nullcontext() if options.no_run else closing(Prober()) as prober:
        for case in cases:
            records = [record for key, record in lines.items() if key[0] == case.id and is_own(record, case)]
            found = findings_of(case, corpus, records, prober)
            broken = [one for one in found if one.holds is False]
            bad += bool(broken)
            if options.json:
                found_all += [
                    {"case": case.id, "rule": one.rule, "holds": one.holds, "words": one.message} for one in found
                ]
                continue
            print(f"{case.id:{width}}", *(f"{marks[one.holds]:^{len(one.rule)}}" for one in found), flush=True)
            for one in broken:
                print(f"{'':{width}}   {one.rule}: {one.message}")
    if options.patterns:
        seen = seen_of(corpus, everything)
        for case in cases:
            if alike := twins_of(case, corpus, seen):
                names = ", ".join(f"{other.id} ({other.title})" for other in alike)
                say(f"{case.id}: fails on the same releases with the same symptom as {names}")
                say("  if they are one bug, name the other in same-fix")
    if options.json:
        print_json(found_all)
    say(f"{len(cases) - bad} of {len(cases)} cases are good")
    return UNEXPECTED if bad else OK


def _files(options: Options) -> list[Path]:
    """The files that the words of the command line name; those of the whole corpus if there are none.

    Files with a broken header are found by their name, since they have no case yet.
    """
    everything = list(find_case_files(corpus_roots(options.cases), warn))
    found: list[Path] = []
    for argument in options.patterns:
        path = Path(argument)
        named = [path] if path.is_file() else [one for one in everything if fnmatchcase(one.stem, argument)]
        named = named or [one for one in everything if one.stem.rpartition("_")[2] == argument]
        if not named:
            raise InputError(f"no case file {argument!r}; name its path, its id or its issue's number")
        found += named
    return list(dict.fromkeys(found)) if options.patterns else everything


def _mend(options: Options) -> list[str]:
    """Mend the files; returns where those asked for are now."""
    journal = journal_files(open_results(options).journal_folder, warn)
    paths = []
    for file in _files(options):
        name = f'"{file.stem}"'.encode()
        lines = read_journal(journal, lambda _: None, lambda line, name=name: name in line)  # type: ignore[misc]
        path, done = mend(file, [record for record in lines if record["case"] == file.stem])
        paths.append(str(path))
        for change in done:
            say(f"{path}: mended: {change}")
    return paths if options.patterns else []


def _watch(files: list[Path]) -> int:
    """Show the problems of the files whenever one changes, until there are none."""
    before: dict[Path, tuple[int, int]] | None = None
    while True:
        now = {path: (stat.st_mtime_ns, stat.st_size) for path in files if (stat := _stat(path)) is not None}
        if now != before:
            before = now
            found = [shown(path, problem) for path in files for problem in problems_of(path)]
            if sys.stdout.isatty():
                print("\x1b[2J\x1b[H", end="")
            print("\n".join(found) if found else f"{len(files)} files: no problem", flush=True)
            if not found:
                names = " ".join(path.stem for path in files) if len(files) < 4 else "--no-run"
                say(f"next: pt2bugs run {names} --torch minors" if len(files) < 4 else f"next: pt2bugs check {names}")
                return OK
            say(f"{len(found)} to do; waiting for a change (Ctrl-C ends)")
        time.sleep(WATCH_S)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
