"""Retention of nightlies: between two changes of a check, their lines say nothing that those around them do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path

from packaging.version import Version
from pt2bugs.case.versions import day_of
from pt2bugs.results.history import Finding, Histories, History, appearance
from pt2bugs.results.journal import Warn, all_journals, named_release, remove_lines, shown_releases
from pt2bugs.results.line import CellKey, cell_key


@dataclass
class Thinned:
    """What thinning removes, or would: lines, the nightlies that they are of, and bytes."""

    lines: int = 0
    nightlies: int = 0
    bytes: int = 0


def needless(rows: Iterable[History], before: date) -> set[CellKey]:
    """Return the cells of nightlies that tell nothing: the row shows the same in the releases on both sides.

    The first and the last release of a stretch that shows the same are not among them: so every transition stays
    between the same two releases, with the same failures on both sides. Nor is a flaky row, of which runs are counted.

    Args:
        rows: the histories.
        before: the first day that is kept whole.
    """
    cells: set[CellKey] = set()
    for row in rows:
        if row.is_flaky:
            continue
        for _, stretch in groupby(row.findings.items(), key=lambda item: _shown(item[1])):
            for release, finding in list(stretch)[1:-1]:
                day = _day(release)
                if day is not None and day < before:
                    cells |= {cell_key(record) for record in (finding.record, *finding.others)}
    return cells


def thin(results: Path, histories: Histories, before: date, warn: Warn, *, dry_run: bool = False) -> Thinned:
    """Remove the lines of needless nightlies from all journals of a results folder; all other lines stay as they are.

    Args:
        results: the folder.
        histories: by all its journals.
        before: the first day that is kept whole.
        warn: takes what is wrong with a line.
        dry_run: change nothing.

    Raises:
        JournalError: a journal cannot be read or written.
    """
    cells = needless(histories.rows(), before)
    done = Thinned(nightlies=len({key.torch for key in cells}))
    for journal in all_journals(results):
        # Those of a release are not read.
        named = named_release(journal)
        if named and not any(map(_day, {named, *shown_releases(journal)})):
            continue
        lines, size = remove_lines(journal, lambda record: cell_key(record) in cells, warn, dry_run=dry_run)
        done.lines += lines
        done.bytes += size
    return done


def _day(release: str) -> date | None:
    return day_of(Version(release))


def _shown(finding: Finding) -> tuple[object, ...]:
    """Return what a release shows of a row, with every Python."""
    records = sorted((finding.record, *finding.others), key=lambda record: record["python"])
    return finding.state, *((record["python"].rpartition(".")[0], appearance(record)) for record in records)
