"""`pt2bugs list`: what the corpus holds. Needs neither torch nor pandas."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.case.selectors import with_text
from pt2bugs.case.vocabulary import COUNTED, Verdict, number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, print_table, say
from pt2bugs.commands.options import ResultsOptions, SelectionOptions, TextOptions, option
from pt2bugs.commands.selection import cases_on, select_cases
from pt2bugs.errors import NothingSelected
from pt2bugs.results.folder import results_folder

EXAMPLES = (
    (
        "pt2bugs list --component inductor --symptom wrong-result",
        "the documented cases in which Inductor computes something else",
    ),
    ("pt2bugs list 'pytorch_16*' --json", "all that the headers of these cases say"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, TextOptions, ResultsOptions):
    """Options of `list`."""

    releases: bool = option("--releases", default=False, help="the torch releases of the results, not the cases")
    json: bool = option("--json", default=False, help="as JSON, with all of the header")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    if options.releases:
        return render_releases(options)
    cases = select(options)
    return render(options, cases, query(options, cases))


def select(options: Options) -> list[Case]:
    """Return the selected cases.

    Args:
        options: of the command.

    Raises:
        NothingSelected: there are none.
    """
    _, cases = select_cases(options)
    return with_text(cases_on(options, cases), options.text)


def query(options: Options, cases: Sequence[Case]) -> dict[str, list[str]]:
    """Return the devices that each case was never measured on.

    Args:
        options: of the command.
        cases: the selected ones.
    """
    measured = _measured(options.results or results_folder())
    return {
        case.id: [device for device in case.devices if measured is not None and (case.id, device) not in measured]
        for case in cases
    }


def render(options: Options, cases: Sequence[Case], missing: Mapping[str, Sequence[str]]) -> int:
    """Print the cases. Return the exit code.

    Args:
        options: of the command.
        cases: the selected ones.
        missing: the devices that each was never measured on.
    """
    if options.json:
        print_json([{**case.as_json(), "not_measured": missing[case.id]} for case in cases])
        return OK
    rows = []
    for case in cases:
        absent = missing[case.id]
        # On a GPU most were not: that is said where it was asked for, and where there is no answer at all.
        told = absent if len(absent) == len(case.devices) else [name for name in absent if name in options.device]
        note = f"  (not measured on {', '.join(told)})" if told else ""
        rows.append((case.id, case.component, case.symptom, f"{case.title}{note}"))
    print_table(rows)
    counts = Counter(device for devices in missing.values() for device in devices)
    say(f"{number_of(len(cases), 'case')}, {number_of(sum(len(case.checks) for case in cases), 'check')} ({COUNTED})")
    if counts:
        say(f"not measured: {', '.join(f'{counts[device]} on {device}' for device in sorted(counts))}")
    return OK


def render_releases(options: Options) -> int:
    """Print the releases that the matrix has, newest first. Return the exit code.

    Args:
        options: of the command.

    Raises:
        NothingSelected: there are none.
    """
    table = (options.results or results_folder()) / "matrix.csv"
    try:
        with table.open(newline="", encoding="utf-8") as file:
            releases = [column for column in next(csv.reader(file), ()) if column[:1].isdigit()][::-1]
    except (OSError, ValueError, csv.Error):
        releases = []
    if not releases:
        raise NothingSelected(f"{table}: has no releases")
    if options.json:
        print_json(releases)
    else:
        print("\n".join(releases))
    return OK


def _measured(results: Path) -> set[tuple[str, str]] | None:
    """Return case and device of every cell that has an answer in a table of results; None if none can be read."""
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
