"""Where a command runs its cells: on this machine, or on the workers that ``--cluster`` names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pt2bugs.commands.console import say
from pt2bugs.commands.options import RunningOptions
from pt2bugs.errors import InputError
from pt2bugs.results.matrix import CellKey, Results
from pt2bugs.results.record import Record

if TYPE_CHECKING:
    from pt2bugs.cluster.plan import Settings
    from pt2bugs.cluster.session import Session
    from pt2bugs.envs.store import Store
    from pt2bugs.run.runner import NewRunner, Progress
    from pt2bugs.run.schedule import RunOptions, Work


@contextlib.contextmanager
def machines(options: RunningOptions, lines: Mapping[CellKey, Record]) -> Iterator[NewRunner]:
    """What makes the runners of a command. A cluster is connected to when it gets its first work, and once.

    Args:
        lines: of the journal; they say how long checks take.

    Raises:
        InputError: ``--cluster`` and ``--jobs`` together.
    """
    if options.cluster is None:
        from pt2bugs.run.runner import Runner

        yield Runner
        return
    if options.jobs is not None:
        raise InputError("--jobs says how many cells run here at once; the workers of a --cluster say it themselves")
    with contextlib.ExitStack() as stack:
        yield _Cluster(options, lines, stack)


class _Cluster:
    """Makes runners that share one connection to a cluster."""

    def __init__(self, options: RunningOptions, lines: Mapping[CellKey, Record], stack: contextlib.ExitStack) -> None:
        self._options, self._lines, self._stack = options, lines, stack
        self._session: Session | None = None
        self._settings: Settings | None = None

    def __call__(
        self,
        results: Results,
        store: Store,
        options: RunOptions,
        progress: Progress,
        record: Callable[[Record], None],
    ) -> _Run:
        return _Run(self, results, options, progress, record)

    def session(self) -> Session:
        from pt2bugs.cluster.session import open_session

        if self._session is None:
            self._session = self._stack.enter_context(open_session(self._options.cluster or "", say))
        return self._session

    def settings(self) -> Settings:
        from pt2bugs.cluster.plan import Settings
        from pt2bugs.cluster.task import InstallOptions
        from pt2bugs.run.estimate import durations, release_factors

        if self._settings is None:
            asked = self._options
            packages = InstallOptions(asked.index, tuple(asked.find_links), asked.torch_backend, asked.budget)
            longest: dict[tuple[str, str, str, str], float] = {}
            for key, record in self._lines.items():
                longest[key[:4]] = max(longest.get(key[:4], 0.0), record["duration_s"])
            known = durations(self._lines)
            self._settings = Settings(packages, known, longest, release_factors(self._lines))
        return self._settings


@dataclass
class _Run:
    """One run on a cluster."""

    cluster: _Cluster
    results: Results
    options: RunOptions
    progress: Progress
    record: Callable[[Record], None]

    def run(self, work: list[Work]) -> list[Work]:
        from pt2bugs.cluster.runner import ClusterRunner

        if not work:
            return work
        session, settings = self.cluster.session(), self.cluster.settings()
        return ClusterRunner(session, settings, self.results, self.options, self.progress, self.record).run(work)
