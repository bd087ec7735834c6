"""`pt2bugs list`: what the corpus holds. Needs neither torch nor pandas."""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.case.words import Verdict
from pt2bugs.commands import OK
from pt2bugs.commands.console import cut, print_json, say
from pt2bugs.commands.options import ResultsOptions, SelectionOptions, add_results, add_selection
from pt2bugs.commands.selection import cases_on, results_folder, select_cases
from pt2bugs.errors import NothingSelected

EXAMPLES = (
    (
        "pt2bugs list --component inductor --symptom wrong-result",
        "the documented cases in which Inductor computes something else",
    ),
    ("pt2bugs list 'pytorch_16*' --json", "all that the headers of these cases say"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions):
    """What the command takes."""

    text: Sequence[str] = ()
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="WORDS",
        help="only cases whose header or explanation has these words",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, with all of the header")


def run(options: Options) -> int:
    _, cases = select_cases(options)
    cases = cases_on(options, cases)
    for query in options.text:
        cases = [case for case in cases if _has_text(case, query)]
        if not cases:
            raise NothingSelected(f"nothing selected: no selected case has the words {query!r}")
    measured = _measured(options.results or results_folder())
    missing = {
        case.id: [one for one in case.devices if measured is not None and (case.id, one) not in measured]
        for case in cases
    }
    if options.json:
        print_json([{**case.as_dict(), "not_measured": missing[case.id]} for case in cases])
        return OK
    width = max(len(case.id) for case in cases)
    for case in cases:
        absent = missing[case.id]
        # On a GPU most were not: that is said where it was asked for, and where there is no answer at all.
        told = absent if len(absent) == len(case.devices) else [one for one in absent if one in options.device]
        note = f"  (not measured on {', '.join(told)})" if told else ""
        print(cut(f"{case.id:{width}}  {case.component:17}  {case.symptom:15}  {case.title}{note}"))
    counts = Counter(device for devices in missing.values() for device in devices)
    say(f"{len(cases)} cases, {sum(len(case.checks) for case in cases)} checks")
    if counts:
        say(f"not measured: {', '.join(f'{counts[device]} on {device}' for device in sorted(counts))}")
    return OK


def _measured(results: Path) -> set[tuple[str, str]] | None:
    """Case and device of every cell that has an answer in the table of a results folder; None if none can be read."""
    table = results / "cells.csv"
    try:
        with table.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            return {(row["case"], row["device"]) for row in rows if row["verdict"] != Verdict.ERROR}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no table of cells"
        say(f"pt2bugs: warning: {table}: {reason}; so it is not said on which devices a case was not measured")
        return None


def _has_text(case: Case, query: str) -> bool:
    """Whether every word is found in the title, the explanation, the addresses or the documented identities."""
    identities = (f"{bug.error or ''} {bug.match or ''} {bug.frame or ''} {bug.signal or ''}" for bug in case.bugs)
    text = " ".join((case.id, case.title, case.doc, case.issue, case.fix, *case.labels, *identities)).lower()
    # Patterns escape what is no letter.
    plain = text.replace("\\", "")
    return all(word in text or word in plain for word in query.lower().split())
