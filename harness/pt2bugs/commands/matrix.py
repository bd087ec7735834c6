"""`pt2bugs matrix`: the matrix in the terminal, or as a picture."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pt2bugs.commands import OK
from pt2bugs.commands.console import is_terminal, print_json, say, warn
from pt2bugs.commands.options import add_lines
from pt2bugs.commands.selection import ShownOptions, load_histories, load_rows, open_results, select_cases
from pt2bugs.errors import NothingSelected
from pt2bugs.files import write_text
from pt2bugs.report.style import OUTCOME_LETTERS, STYLES, style_of
from pt2bugs.report.svg import HEAD, matrix_svg, row_label, summary_svg
from pt2bugs.report.trends import Trends
from pt2bugs.results.matrix import builds_of, mixed_builds
from pt2bugs.results.tables import cells_table, matrix_table, version_key

EXAMPLES = (
    ("pt2bugs matrix --component dynamo --torch '>=2.10'", "a letter per check and release"),
    ("pt2bugs matrix --verdict fail --json", "the checks that fail otherwise than documented, for a program"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """What the command takes."""

    svg: Path | None = None
    summary: Path | None = None
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lines(parser, "checks that have this verdict in one of the releases")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--svg", type=Path, metavar="FILE", help="draw it there instead")
    how.add_argument(
        "--summary", type=Path, metavar="FILE", help="draw how many bugs of each component each release has, instead"
    )
    how.add_argument("--json", action="store_true", help="print it as JSON: an object per row, with its releases")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    lines = load_rows(options, corpus, cases, warn)
    matrix = matrix_table(cells_table(lines), corpus)
    if matrix.empty:
        raise NothingSelected(f"nothing to show: {open_results(options).folder} has no results of the selected cases")
    releases = list(matrix.columns[HEAD:])
    if options.summary is not None:
        trends = Trends.of(load_histories(options, corpus, cases, warn), releases)
        title = f"{len(trends.lives)} documented compiler bugs: how many each torch release has"
        write_text(options.summary, summary_svg(trends, title))
        return OK
    if options.svg is not None:
        title = f"{matrix['case'].nunique()} documented compiler bugs x {len(releases)} torch releases"
        write_text(options.svg, matrix_svg(matrix, title))
        return OK
    if options.json:
        head = list(matrix.columns[:HEAD])
        rows = matrix.to_dict("records")
        print_json([{**{k: row[k] for k in head}, "releases": {r: row[r] for r in releases}} for row in rows])
        return OK
    builds = builds_of(lines)
    if not is_terminal():
        _print_plain(matrix, releases)
        _tell_builds(builds)
        return OK
    console = Console()
    # On a narrow terminal half is for the names, so that releases stand side by side.
    label = min(_label_width(matrix), max(console.width // 2, console.width - 6 * len(releases)))
    for part in _fitting(releases, console.width - label - 3):
        console.print(_table(matrix, part, label))
    legend = ", ".join(f"{style.letter} {name}" for name, style in STYLES.items() if name not in ("", "xfail"))
    say(f"{legend}; documented bug: " + ", ".join(f"{letter} {o}" for o, letter in OUTCOME_LETTERS.items()))
    _tell_builds(builds)
    return OK


def _tell_builds(builds: dict[str, list[str]]) -> None:
    """Say which builds of torch were measured."""
    named = [f"{release}{build}" for release in sorted(builds, key=version_key) for build in builds[release] if build]
    if named:
        say(f"builds: {', '.join(named)}")
    if mixed := mixed_builds(builds):
        warn(mixed)


def _label_width(matrix: pd.DataFrame) -> int:
    return max(len(row_label(row)) for row in matrix.to_dict("records"))


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


def _table(matrix: pd.DataFrame, releases: list[str], label: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("check", no_wrap=True, overflow="ellipsis", max_width=label)
    for release in releases:
        table.add_column(_short(release), justify="center", no_wrap=True)
    for row in matrix.to_dict("records"):
        values = [style_of(row[release]) for release in releases]
        table.add_row(row_label(row), *(Text(letter, style=style.terminal) for letter, style in values))
    return table


def _print_plain(matrix: pd.DataFrame, releases: list[str]) -> None:
    width = _label_width(matrix)
    print(" " * width, *releases)
    for row in matrix.to_dict("records"):
        values = (f"{style_of(row[release])[0]:^{len(release)}}" for release in releases)
        print(f"{row_label(row):{width}}", *values)
