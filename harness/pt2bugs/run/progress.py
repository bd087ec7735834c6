"""Progress of long work: a live bar on a terminal, nothing but the messages in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pt2bugs.results.record import Record
from pt2bugs.run.runner import Progress


@contextmanager
def progress_of_cells() -> Iterator[Progress]:
    """Counts cells as they finish, on stderr."""
    if not sys.stderr.isatty():
        yield Progress(log=lambda text: print(text, file=sys.stderr, flush=True))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        # Cells come in bursts, one for each environment: the last few minutes tell little about the rest.
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True, expand=True, speed_estimate_period=600) as bar:
        task = bar.add_task("cells", total=None)

        def advance(record: Record) -> None:
            text = f"torch {record['torch']} {record['case']} {record['verdict']}"
            bar.update(task, advance=1, description=text)

        yield Progress(
            log=lambda text: console.print(text, highlight=False, markup=False),
            total=lambda count: bar.update(task, total=count),
            advance=advance,
        )
