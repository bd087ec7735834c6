"""`pt2bugs list`: what the corpus holds. Needs neither torch nor pandas."""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.model import Case
from pt2bugs.commands import OK
from pt2bugs.commands.console import cut, print_json, say
from pt2bugs.commands.options import SelectionOptions, add_selection
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
class Options(SelectionOptions):
    """What the command takes."""

    text: Sequence[str] = ()
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
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
    for words in options.text:
        cases = [case for case in cases if _has_words(case, words)]
        if not cases:
            raise NothingSelected(f"nothing selected: no selected case has the words {words!r}")
    absent = {} if options.cases else _not_measured(cases)
    if options.json:
        print_json([{**case.as_dict(), "not_measured": absent.get(case.id, [])} for case in cases])
        return OK
    width = max(len(case.id) for case in cases)
    for case in cases:
        devices = [device for device in absent.get(case.id, []) if device in options.device]
        note = f"  ({', '.join(devices)}: not measured)" if devices else ""
        print(cut(f"{case.id:{width}}  {case.component:17}  {case.symptom:15}  {case.title}{note}"))
    say(f"{len(cases)} cases, {sum(len(case.checks) for case in cases)} checks")
    for device, count in sorted(Counter(device for devices in absent.values() for device in devices).items()):
        say(f"{device}: not measured for the {count} of them that name it")
    return OK


def _not_measured(cases: Sequence[Case]) -> dict[str, list[str]]:
    """For each case the devices of its header on which the results have no answer; empty where there are no results."""
    path = results_folder() / "cells.csv"
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        measured = {
            (row["case"], row["device"]) for row in csv.DictReader(file) if row["outcome"] not in ("skip", "error")
        }
    found = {case.id: [device for device in case.devices if (case.id, device) not in measured] for case in cases}
    return {name: devices for name, devices in found.items() if devices}


def _has_words(case: Case, words: str) -> bool:
    """Whether every word is found in the title, the explanation, the addresses or the documented identities."""
    identities = (f"{bug.error or ''} {bug.match or ''} {bug.frame or ''} {bug.signal or ''}" for bug in case.bugs)
    text = " ".join((case.id, case.title, case.doc, case.issue, case.fix, *case.labels, *identities)).lower()
    # Patterns escape what is no letter.
    plain = text.replace("\\", "")
    return all(word in text or word in plain for word in words.lower().split())
