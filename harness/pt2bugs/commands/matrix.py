"""`pt2bugs matrix`: the matrix in the terminal, or as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from packaging.version import Version
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pt2bugs.case.expectation import pinned
from pt2bugs.commands import OK
from pt2bugs.commands.console import elided, fit, is_terminal, print_drawn, print_json, say, side_by_side, warn
from pt2bugs.commands.options import ShownOptions, option
from pt2bugs.commands.selection import SelectedResults, select_results
from pt2bugs.errors import NothingSelected
from pt2bugs.files import write_text
from pt2bugs.report.style import OUTCOME_LETTERS, STYLES, style_of
from pt2bugs.report.svg import HEAD, matrix_svg, row_label, summary_svg
from pt2bugs.report.trends import Trends
from pt2bugs.results.history import along
from pt2bugs.results.line import builds_of, mixed_builds, version_key
from pt2bugs.results.tables import cells_table, matrix_table

EXAMPLES = (
    ("pt2bugs matrix --component dynamo --torch '>=2.10'", "a letter per check and release"),
    ("pt2bugs matrix --verdict fail --json", "the checks that fail otherwise than documented, for a program"),
)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """Options of `matrix`."""

    svg: Path | None = option("--svg", parse=Path, metavar="FILE", exclusive=True, help="draw it there instead")
    summary: Path | None = option(
        "--summary",
        parse=Path,
        metavar="FILE",
        exclusive=True,
        help="draw how many bugs of each component each release has, instead",
    )
    axis: str = option(
        "--axis",
        default="release",
        metavar="NAME",
        help="python or a package: columns for its versions (2.9.1+py3.10, 2.13.0+toyc.1.0)",
    )
    json: bool = option(
        "--json", default=False, exclusive=True, help="print it as JSON: an object per row, with its releases"
    )


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    selected = select_results(options)
    return render(options, selected, query(options, selected))


def query(options: Options, selected: SelectedResults) -> pd.DataFrame:
    """Return the matrix of the selected lines.

    Args:
        options: of the command.
        selected: the cases and their lines.

    Raises:
        NothingSelected: there is none, or none with the package of the axis.
    """
    lines = selected.lines
    shown = lines if options.axis == "release" else along(options.axis, lines)
    if lines and not shown:
        there = ", ".join(sorted({name for key in lines for name, _ in pinned(key.extras.split("+"))})) or "none"
        problem = "is no package that a selected line was measured with by version"
        raise NothingSelected(f"--axis {options.axis}: {problem}; there is {there}")
    table = matrix_table(cells_table(shown), selected.corpus)
    if table.empty:
        raise selected.nothing_to("show")
    return table


def render(options: Options, selected: SelectedResults, table: pd.DataFrame) -> int:
    """Print or draw the matrix. Return the exit code.

    Args:
        options: of the command.
        selected: the lines that it shows.
        table: the matrix.
    """
    head, releases = list(table.columns[:HEAD]), list(table.columns[HEAD:])
    if options.summary is not None:
        trends = Trends.of(selected.rows, releases)
        title = f"{len(trends.lives)} documented compiler bugs: how many each torch release has"
        write_text(options.summary, summary_svg(trends, title))
        return OK
    if options.svg is not None:
        title = f"{table['case'].nunique()} documented compiler bugs x {len(releases)} torch releases"
        write_text(options.svg, matrix_svg(table, title))
        return OK
    if options.json:
        rows = table.to_dict("records")
        print_json([{**{k: row[k] for k in head}, "releases": {r: row[r] for r in releases}} for row in rows])
        return OK
    legend = ", ".join(f"{style.letter} {name}" for name, style in STYLES.items() if name not in ("", "xfail"))
    legend += f"; documented bug: {', '.join(f'{letter} {word}' for word, letter in OUTCOME_LETTERS.items())}"
    if is_terminal():
        print(fit(legend))  # above the matrix in the pager, too
    else:
        say(legend)
    shown = _shown(releases, options) if is_terminal() else releases[::-1]
    if is_terminal():
        _print_tables(table, shown)
    else:
        _print_plain(table, shown)
    builds = builds_of(selected.lines)
    is_by_release = options.axis == "release"
    _tell_builds({release: builds[release] for release in builds if release in shown or not is_by_release})
    return OK


def _shown(releases: Sequence[str], options: Options) -> list[str]:
    """Return the columns for a terminal, newest first: without a choice the newest patch of each minor release."""
    newest = {Version(release).release[:2]: release for release in releases}
    if options.torch or options.axis != "release" or len(newest) == len(releases):
        return list(releases[::-1])
    say(f"the newest patch of each minor release; --torch all shows all {len(releases)}")
    return list(newest.values())[::-1]


def _print_tables(matrix: pd.DataFrame, releases: list[str]) -> None:
    """Print the matrix; a narrow terminal gets several tables, one below the other."""
    columns = Console().width
    # Half of a narrow terminal is for the names, so that releases stand side by side.
    label = min(_label_width(matrix), max(columns // 2, columns - 6 * len(releases)))
    for part in side_by_side(releases, columns - label - 3):
        print_drawn(_table(matrix, part, label))


def _tell_builds(builds: dict[str, list[str]]) -> None:
    """Say which builds of torch were measured."""
    named = [f"{release}{build}" for release in sorted(builds, key=version_key) for build in builds[release] if build]
    if named:
        say(f"builds: {', '.join(named)}")
    if mixed := mixed_builds(builds):
        warn(mixed)


def _label_width(matrix: pd.DataFrame) -> int:
    return max(len(row_label(row)) for row in matrix.to_dict("records"))


def _table(matrix: pd.DataFrame, releases: list[str], label: int) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("check", no_wrap=True, overflow="ellipsis", max_width=label)
    for release in releases:
        table.add_column(release, justify="center", no_wrap=True)
    rows = matrix.to_dict("records")
    for name, row in zip(elided([row_label(row) for row in rows], label), rows, strict=True):
        values = [style_of(row[release]) for release in releases]
        table.add_row(name, *(Text(letter, style=style.terminal) for letter, style in values))
    return table


def _print_plain(matrix: pd.DataFrame, releases: list[str]) -> None:
    width = _label_width(matrix)
    print(" " * width, *releases)
    for row in matrix.to_dict("records"):
        values = (f"{style_of(row[release])[0]:^{len(release)}}" for release in releases)
        print(f"{row_label(row):{width}}", *values)
