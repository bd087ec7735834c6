"""`pt2bugs bless`: rewrite the bug entries of headers from the journal."""

from __future__ import annotations

import argparse
import difflib
import sys
from dataclasses import dataclass, replace

from pt2bugs.case.words import Verdict
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import LinesOptions, cases_on, load_lines, select_cases
from pt2bugs.curate.bless import ThinJournal, entries_of, identities_of
from pt2bugs.curate.header_edit import rewrite
from pt2bugs.curate.marks import marks_in
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.results.matrix import is_own

EXAMPLES = (("pt2bugs bless pytorch_163640", "the entries of its header, set to what was measured"),)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes."""

    dry_run: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--dry-run", action="store_true", help="show the diff, change nothing")


def run(options: Options) -> int:
    for word in options.patterns:
        if "::" in word:
            raise InputError(f"{word}: the entries of a header speak of all checks; name the case alone")
    corpus, cases = select_cases(options)
    cases = cases_on(options, cases)
    # The entries of a header speak of all devices and backends.
    lines = load_lines(replace(options, device=(), backend=()), corpus, cases, warn)
    thin = 0
    blessed = []
    for case in cases:
        records = [
            record
            for key, record in lines.items()
            if key[0] == case.id and case.extra in ("", *record["extras"]) and is_own(record, case)
        ]
        if case.guard or case.flaky:
            # What shows only sometimes has no range that the journal could give.
            if options.patterns:
                say(f"{case.id}: left alone: {'a guard has no entries' if case.guard else 'its header says flaky'}")
            continue
        try:
            entries = entries_of(case, records)
        except ThinJournal as error:
            say(f"{case.id}: left alone: {error}; `pt2bugs run {case.id} --torch minors` measures it")
            thin += 1
            continue
        if not any(record["verdict"] in (Verdict.FAIL, Verdict.XPASS) for record in records):
            # It says what was seen. Elsewhere a person may know more than the nearest release that was run.
            if options.patterns:
                say(f"{case.id}: left alone: its entries say what was seen")
            continue
        text = case.path.read_text(encoding="utf-8")
        new = rewrite(case, text, entries, identities_of(case, records))
        if new == text:
            continue
        name = case.path.as_posix()
        diff = difflib.unified_diff(text.splitlines(True), new.splitlines(True), name, name, n=1)
        sys.stdout.writelines(diff)
        if not options.dry_run:
            write_text(case.path, new)
            blessed.append(case.id)
            for mark in marks_in(new):
                say(f"{name}:{mark.line}: {mark.text}")
    if blessed:
        say(f"next: pt2bugs check --fix {' '.join(blessed)}")
    return UNEXPECTED if thin else OK
