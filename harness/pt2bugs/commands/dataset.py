"""`pt2bugs dataset`: the corpus and its measurements as files that others load without pt2bugs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import LinesOptions, folder, option
from pt2bugs.commands.selection import load_histories, results_of, select_cases, select_lines
from pt2bugs.errors import InputError, NothingSelected
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
    """Select, query, render."""
    corpus, cases = select(options)
    return render(options, *query(options, corpus, cases))


def select(options: Options) -> tuple[list[Case], list[Case]]:
    """Return the whole corpus and the selected cases.

    Raises:
        InputError: the folder to write has something in it.
    """
    if options.output.exists() and (not options.output.is_dir() or any(options.output.iterdir())):
        raise InputError(f"-o {options.output}: is not an empty folder; name a new one")
    return select_cases(options)


def query(options: Options, corpus: Sequence[Case], cases: Sequence[Case]) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the files by path, and how many bugs, cells and programs are in them.

    Args:
        corpus: all cases.
        cases: the selected ones.

    Raises:
        NothingSelected: the results have no line of them.
        FixesError: an isolation cannot be read.
    """
    from pt2bugs.dataset.files import data_set
    from pt2bugs.dataset.rows import Tables, bugs_of

    histories = load_histories(options, corpus, cases)
    rows = histories.rows(select_lines(options, histories.lines(), cases))
    results = results_of(options).folder
    if not rows:
        raise NothingSelected(f"nothing to write: {results} has no results of the selected cases")
    tables = Tables(bugs_of(cases, corpus, rows, results), rows)
    written = data_set(tables, cases, results, is_ours=not options.cases)
    return written, {"bugs": len(tables.bug_rows), "cells": len(tables.cell_rows), "programs": len(cases)}


def render(options: Options, data: dict[str, bytes], counts: dict[str, int]) -> int:
    """Write the files. Return the exit code.

    Args:
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
    say(f"{options.output}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return OK
