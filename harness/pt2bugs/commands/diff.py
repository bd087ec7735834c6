"""`pt2bugs diff A B`: the cells on which two results folders disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import COUNTED
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say
from pt2bugs.commands.options import LinesOptions, SelectionOptions, folder, option
from pt2bugs.commands.selection import load_results, select_cases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.difference import COLUMNS, VERDICT, Difference, differences, shared_cells

EXAMPLES = (
    ("pt2bugs diff results plain", "whether another CPU, or a second run, gave the same verdicts"),
    ("pt2bugs diff first second --exact", "whether two runs gave the same cells.csv, cell by cell"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions):
    """Options of `diff`."""

    first: Path = option("A", default=MISSING, parse=folder, help="a results folder")
    second: Path = option("B", default=MISSING, parse=folder, help="another one")
    exact: bool = option("--exact", default=False, help="every column of cells.csv must agree, not the verdict alone")
    json: bool = option("--json", default=False, help="print the differences as JSON")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    corpus, cases = select_cases(options)
    return render(options, query(options, corpus, cases))


@dataclass(frozen=True)
class Compared:
    """The cells on which two folders disagree, and the number of cells in both."""

    differences: Sequence[Difference]
    shared: int


def query(options: Options, corpus: Sequence[Case], cases: Sequence[Case]) -> Compared:
    """Return the differences between the two folders.

    Args:
        options: of the command.
        corpus: all cases.
        cases: the selected ones.

    Raises:
        InputError: a folder is not there.
        NothingSelected: they have no cell in common.
    """
    given = {name: getattr(options, name) for name in SelectionOptions.__dataclass_fields__}
    lines = []
    for path in (options.first, options.second):
        if not path.is_dir():
            raise InputError(f"{path}: there is no such results folder")
        lines.append(load_results(LinesOptions(**given, results=path), corpus, cases).lines)
    first, second = lines
    shared = shared_cells(first, second)
    if not shared:
        sizes = f"{options.first} has {len(first)} cells of the selected cases, {options.second} {len(second)}"
        raise NothingSelected(f"nothing to compare: {sizes}, and none is in both")
    columns = COLUMNS if options.exact else VERDICT
    return Compared(differences(first, second, {case.id: case for case in corpus}, columns), shared)


def render(options: Options, compared: Compared) -> int:
    """Print the differences. Return the exit code.

    Args:
        options: of the command.
        compared: the two folders.
    """
    if options.json:
        print_json([difference.as_dict() for difference in compared.differences])
    else:
        for difference in compared.differences:
            print(fit(_line(difference)))
    differ, shared = len(compared.differences), compared.shared
    bare = sum(not difference.reason for difference in compared.differences)
    missing = sum(difference.first is None or difference.second is None for difference in compared.differences)
    what = "cells are equal in every column" if options.exact else "verdicts are equal"
    say(
        f"{shared + missing - differ} of {shared} {what}, {differ - missing} differ "
        f"({differ - bare} as the header says), {missing} are in one folder only ({COUNTED})"
    )
    return UNEXPECTED if bare else OK


def _line(difference: Difference) -> str:
    key = difference.key
    values = "; ".join(
        f"{column} {_shown(difference.first, column)} -> {_shown(difference.second, column)}"
        for column in difference.columns
    )
    reason = f"  ({difference.reason})" if difference.reason else ""
    return f"torch {key.torch} {key.cell}: {values}{reason}"


def _shown(record: object, column: str) -> str:
    if not isinstance(record, dict):
        return "not measured"
    text = " ".join(str(record[column]).split())
    return text[:60] or "nothing"
