"""`pt2bugs matrix`: the matrix in the terminal, or as a picture."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pt2bugs.commands import OK
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import LinesOptions, load_lines, select_cases
from pt2bugs.errors import NothingSelected
from pt2bugs.files import write_text
from pt2bugs.report.style import LOOKS, OUTCOME_LETTERS, look_of
from pt2bugs.report.svg import HEAD, matrix_svg, row_label
from pt2bugs.results.tables import cells_table, matrix_table


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes."""

    svg: Path | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw it there instead")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    lines = load_lines(options, corpus, cases, warn)
    matrix = matrix_table(cells_table(lines), corpus)
    if matrix.empty:
        raise NothingSelected(f"nothing to show: {options.results} has no results of the selected cases")
    releases = list(matrix.columns[HEAD:])
    if options.svg is not None:
        title = f"{matrix['case'].nunique()} documented compiler bugs x {len(releases)} torch releases"
        write_text(options.svg, matrix_svg(matrix, title))
        return OK
    if not sys.stdout.isatty():
        _print_plain(matrix, releases)
        return OK
    console = Console()
    for part in _fitting(releases, console.width - _label_width(matrix) - 3):
        console.print(_table(matrix, part))
    legend = ", ".join(f"{look.letter} {name}" for name, look in LOOKS.items() if name not in ("", "xfail"))
    say(f"{legend}; documented bug: " + ", ".join(f"{letter} {o}" for o, letter in OUTCOME_LETTERS.items()))
    return OK


def _label_width(matrix: pd.DataFrame) -> int:
    return max(len(row_label(row)) for _, row in matrix.iterrows())


def _fitting(releases: list[str], width: int) -> list[list[str]]:
    """The releases in groups that fit side by side; a narrow terminal gets several tables."""
    groups: list[list[str]] = [[]]
    left = width
    for release in releases:
        needed = len(_short(release)) + 1
        if groups[-1] and needed > left:
            groups.append([])
            left = width
        groups[-1].append(release)
        left -= needed
    return groups


def _short(release: str) -> str:
    return release.rsplit(".", 1)[0] if release.count(".") == 2 else release


def _table(matrix: pd.DataFrame, releases: list[str]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("check", no_wrap=True)
    for release in releases:
        table.add_column(_short(release), justify="center", no_wrap=True)
    for _, row in matrix.iterrows():
        values = [look_of(row[release]) for release in releases]
        table.add_row(row_label(row), *(Text(letter, style=look.terminal) for letter, look in values))
    return table


def _print_plain(matrix: pd.DataFrame, releases: list[str]) -> None:
    width = _label_width(matrix)
    print(" " * width, *releases)
    for _, row in matrix.iterrows():
        values = (f"{look_of(row[release])[0]:^{len(release)}}" for release in releases)
        print(f"{row_label(row):{width}}", *values)
