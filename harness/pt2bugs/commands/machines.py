"""Running a command's cells into the journal: on this machine, or on the workers that ``--cluster`` names."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pt2bugs.commands.console import say
from pt2bugs.commands.options import RunningOptions
from pt2bugs.errors import InputError
from pt2bugs.results.folder import Results
from pt2bugs.results.history import Histories
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey

if TYPE_CHECKING:
    from pt2bugs.envs.store import Store
    from pt2bugs.run.plan import RunOptions, Work
    from pt2bugs.run.runner import NewRunner, Progress, Runs


def run_cells(
    options: RunningOptions,
    store: Store,
    results: Results,
    histories: Histories,
    batches: Iterable[tuple[list[Work], RunOptions]],
) -> None:
    """Run batches one after the other into the journal.

    Args:
        options: of the command.
        store: of the environments.
        results: the folder that gets the lines.
        histories: get them, too; a batch may depend on those of the batches before it.
        batches: work, and how it is run. Where an environment fails, the work says so afterwards.

    Raises:
        JournalError: the results folder cannot be written.
        InputError: as of `machines`.
    """
    from pt2bugs.run.runner import progress_of_cells

    with machines(options, histories.lines()) as new_runner:
        for work, how in batches:
            with progress_of_cells() as progress:
                new_runner(results, store, how, progress, histories.add).run(work)


@contextlib.contextmanager
def machines(options: RunningOptions, lines: Mapping[CellKey, Record]) -> Iterator[NewRunner]:
    """Yield what makes the runners of a command. All runners of a cluster share one connection.

    Args:
        options: of the command.
        lines: of the journal; they say how long checks take.

    Raises:
        InputError: ``--cluster`` and ``--jobs`` together, or a cluster that cannot be reached.
    """
    if options.cluster is None:
        from pt2bugs.run.runner import Runner

        yield functools.partial(Runner, told=set())
        return
    if options.jobs is not None:
        raise InputError("--jobs says how many cells run here at once; the workers of a --cluster say it themselves")
    from pt2bugs.cluster.driver import ClusterRunner, open_cluster
    from pt2bugs.cluster.task import InstallOptions
    from pt2bugs.run.plan import expected_seconds

    packages = InstallOptions(options.index, tuple(options.find_links), options.torch_backend, options.budget)
    with contextlib.ExitStack() as stack:
        connect = functools.cache(lambda: stack.enter_context(open_cluster(options.cluster or "", say)))

        def _new_runner(
            results: Results, store: Store, options: RunOptions, progress: Progress, record: Callable[[Record], None]
        ) -> Runs:
            return ClusterRunner(connect, packages, expected_seconds(lines), results, options, progress, record)

        yield _new_runner
