"""The machines that run a command's cells: this one, or the workers that ``--cluster`` names."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from pt2bugs.commands.console import say
from pt2bugs.commands.options import RunningOptions
from pt2bugs.errors import InputError
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey

if TYPE_CHECKING:
    from pt2bugs.envs.store import Store
    from pt2bugs.run.plan import RunOptions
    from pt2bugs.run.runner import NewRunner, Progress, Runs


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

        yield Runner
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
