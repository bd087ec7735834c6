"""`pt2bugs list`: what the corpus holds. Needs neither torch nor pandas."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.cells import cells_of
from pt2bugs.case.model import Case
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import SelectionOptions, add_selection
from pt2bugs.commands.selection import select_cases
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
    if options.device:
        cases = [case for case in cases if set(options.device) & set(case.devices)]
        if not cases:
            raise NothingSelected(f"nothing selected: no selected case names the device {', '.join(options.device)}")
    if options.backend:
        # A case that is not for the CPU has its cells on its own device, as everywhere.
        cases = [case for case in cases if any(cells_of(case, case.devices, tuple(options.backend)))]
        if not cases:
            words = ", ".join(options.backend)
            raise NothingSelected(f"nothing selected: no check of the selected cases runs on the backend {words}")
    for words in options.text:
        cases = [case for case in cases if _has_words(case, words)]
        if not cases:
            raise NothingSelected(f"nothing selected: no selected case has the words {words!r}")
    if options.json:
        print_json([case.as_dict() for case in cases])
        return OK
    width = max(len(case.id) for case in cases)
    for case in cases:
        print(f"{case.id:{width}}  {case.component:17}  {case.symptom:15}  {case.title}")
    say(f"{len(cases)} cases, {sum(len(case.checks) for case in cases)} checks")
    return OK


def _has_words(case: Case, words: str) -> bool:
    """Whether every word is found in the title, the explanation, the addresses or the documented identities."""
    identities = (f"{bug.error or ''} {bug.match or ''} {bug.frame or ''} {bug.signal or ''}" for bug in case.bugs)
    text = " ".join((case.id, case.title, case.doc, case.issue, case.fix, *case.labels, *identities)).lower()
    # Patterns escape what is no letter.
    plain = text.replace("\\", "")
    return all(word in text or word in plain for word in words.lower().split())
