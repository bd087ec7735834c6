"""`pt2bugs check`: is this a good case? A table of rules per case, and what to do where one does not hold."""

from __future__ import annotations

import argparse
from contextlib import closing, nullcontext
from dataclasses import dataclass

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import LinesOptions, load_lines, select_cases
from pt2bugs.curate.review import RULES, Prober, findings_of
from pt2bugs.results.matrix import is_own


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes."""

    no_run: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--no-run", action="store_true", help="only the file and the journal, no runs")
    parser.add_argument("--json", action="store_true", help="all findings as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    lines = load_lines(options, corpus, cases, warn)
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
                found_all += [{"case": case.id, **vars(one)} for one in found]
                continue
            print(f"{case.id:{width}}", *(f"{marks[one.holds]:^{len(one.rule)}}" for one in found), flush=True)
            for one in broken:
                print(f"{'':{width}}   {one.rule}: {one.words}")
    if options.json:
        print_json(found_all)
    say(f"{len(cases) - bad} of {len(cases)} cases are good")
    return UNEXPECTED if bad else OK
