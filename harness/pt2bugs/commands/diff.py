"""`pt2bugs diff A B`: what two results folders say differently of the same cells."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import SelectionOptions, add_selection, folder
from pt2bugs.commands.selection import LinesOptions, load_lines, select_cases
from pt2bugs.errors import InputError, NothingSelected

EXAMPLES = (
    ("pt2bugs diff results plain", "whether another CPU, or a second run, gave the same verdicts"),
    ("pt2bugs diff first second --exact", "whether two runs gave the same cells.csv, cell by cell"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions):
    """What the command takes."""

    first: Path
    second: Path
    exact: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", type=folder, help="a results folder")
    parser.add_argument("second", metavar="B", type=folder, help="another one")
    add_selection(parser)
    parser.add_argument(
        "--exact", action="store_true", help="every column of cells.csv must agree, not the verdict alone"
    )
    parser.add_argument("--json", action="store_true", help="print the differences as JSON")


def run(options: Options) -> int:
    from pt2bugs.results.difference import COLUMNS, VERDICT, differences, shared_cells

    corpus, cases = select_cases(options)
    given = {name: getattr(options, name) for name in SelectionOptions.__dataclass_fields__}
    lines = []
    for path in (options.first, options.second):
        if not path.is_dir():
            raise InputError(f"{path}: there is no such results folder")
        lines.append(load_lines(replace(LinesOptions(**given), results=path), corpus, cases, warn))
    first, second = lines
    shared = shared_cells(first, second)
    if not shared:
        sizes = f"{options.first} has {len(first)} cells of the selected cases, {options.second} {len(second)}"
        raise NothingSelected(f"nothing to compare: {sizes}, and none is in both")
    found = differences(first, second, {case.id: case for case in corpus}, COLUMNS if options.exact else VERDICT)
    if options.json:
        print_json([one.as_dict() for one in found])
    for one in [] if options.json else found:
        name = f"{one.key.case}::{one.key.check}[{one.key.device}-{one.key.backend}]"
        values = "; ".join(
            f"{column} {_shown(one.first, column)} -> {_shown(one.second, column)}" for column in one.columns
        )
        print(f"torch {one.key.torch} {name}: {values}{f'  ({one.reason})' if one.reason else ''}")
    bare = [one for one in found if not one.reason]
    missing = sum(one.first is None or one.second is None for one in found)
    what = "cells are equal in every column" if options.exact else "verdicts are equal"
    say(
        f"{shared + missing - len(found)} of {shared} {what}, {len(found) - missing} differ "
        f"({len(found) - len(bare)} as the header says), {missing} are in one folder only"
    )
    return UNEXPECTED if bare else OK


def _shown(record: object, column: str) -> str:
    if not isinstance(record, dict):
        return "not measured"
    text = " ".join(str(record[column]).split())
    return text[:60] or "nothing"
