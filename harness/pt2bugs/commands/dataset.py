"""`pt2bugs dataset`: the corpus and its measurements as files that others load without pt2bugs."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.case.vocabulary import COUNTED
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import LinesOptions, folder, option
from pt2bugs.commands.selection import SelectedResults, select_results
from pt2bugs.errors import InputError
from pt2bugs.files import write_bytes

EXAMPLES = (("pt2bugs dataset -o dataset", "bugs and cells as Parquet, programs, splits, checksums"),)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """Options of `dataset`."""

    output: Path = option(
        "-o", "--output", default=MISSING, parse=folder, metavar="DIR", help="write there; it must be empty or new"
    )
    json: bool = option("--json", default=False, help="print what was written as JSON: schema, counts and files")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, *query(options, select(options)))


def select(options: Options) -> SelectedResults:
    """Return the selected cases with their lines.

    Args:
        options: of the command.

    Raises:
        InputError: the folder to write has something in it.
        NothingSelected: the results have no line of them.
    """
    if options.output.exists() and (not options.output.is_dir() or any(options.output.iterdir())):
        raise InputError(f"-o {options.output}: is not an empty folder; name a new one")
    selected = select_results(options)
    if not selected.lines:
        raise selected.nothing_to("write")
    return selected


def query(options: Options, selected: SelectedResults) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the files by path, and how many bugs, cells and programs are in them.

    Args:
        options: of the command.
        selected: the cases and their lines.

    Raises:
        FixesError: an isolation cannot be read.
    """
    from pt2bugs.dataset.files import data_set
    from pt2bugs.dataset.rows import Tables, bugs_of

    cases, rows, results = selected.cases, selected.rows, selected.results.folder
    tables = Tables(bugs_of(cases, selected.corpus, rows, results), rows)
    written = data_set(tables, cases, results, is_ours=not options.cases)
    return written, {"bugs": len(tables.bug_rows), "cells": len(tables.cell_rows), "programs": len(cases)}


def render(options: Options, data: dict[str, bytes], counts: dict[str, int]) -> int:
    """Write the files. Return the exit code.

    Args:
        options: of the command.
        data: by path.
        counts: of what is in them.

    Raises:
        FileError: a file cannot be written.
    """
    from pt2bugs.dataset.schema import SCHEMA

    for path, text in data.items():
        write_bytes(options.output / path, text)
    if options.json:
        print_json({"folder": str(options.output), "schema": SCHEMA, **counts, "files": sorted(data)})
    say(f"{options.output}: " + ", ".join(f"{count} {name}" for name, count in counts.items()) + f" ({COUNTED})")
    return OK
