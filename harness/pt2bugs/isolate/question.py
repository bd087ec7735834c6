"""A question to be isolated: a check, the two releases between which it changes, and what must stay as it is."""

from __future__ import annotations

from dataclasses import dataclass

from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.failure import documents
from pt2bugs.case.model import Case
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.isolate.isolation import Isolation
from pt2bugs.isolate.trials import Check, Run
from pt2bugs.results.history import Histories, History, State


@dataclass(frozen=True)
class Question:
    """One check and the two releases between which it changes."""

    result: Isolation
    check: Check
    case: Case | None

    def is_documented(self, run: Run) -> bool:
        """Return whether a failure is one that the case documents; of a script every failure is meant.

        Args:
            run: what was seen in the release with the bug.
        """
        if self.case is None:
            return True
        try:
            return any(documents(bug, run.seen) for bug in self.case.bugs if not bug.blocked)
        except PatternTimeout:
            return False

    @property
    def pair(self) -> tuple[str, str]:
        """The releases with and without the bug."""
        return self.result.bad, self.result.good


def check_of(cell: Cell) -> Check:
    """Return what is run of a cell.

    Args:
        cell: of any release.
    """
    case = cell.case
    given = {"device": cell.device, "backend": cell.backend}
    return Check(
        path=case.path.resolve(),
        name=cell.check.name,
        arguments={name: given[name] for name in cell.check.parameters},
        device=cell.device,
        backend=cell.backend,
        timeout_s=case.timeout,
        memory_mib=case.memory,
        compiles=case.compiles,
        isolation=case.isolation,
        env=case.env,
        network=case.network,
    )


def sides_of(history: History, *, introduced: bool) -> tuple[str, str] | None:
    """Return the last two decided neighbours between which the bug went, or came: with and without it.

    Args:
        history: of the check.
        introduced: whether the change that brought the bug is meant.
    """
    changes = [change for change in history.transitions if change.introduced == introduced]
    if not changes or history.is_flaky:
        return None
    older, newer = changes[-1].before, changes[-1].after
    return (newer, older) if introduced else (older, newer)


def neighbours_of(case: Case | None, histories: Histories, release: str, device: str) -> list[Check]:
    """Return the checks of other cases that pass in a release, guards and the same component first.

    Args:
        case: that is left out; None for a script.
        histories: of the corpus.
        release: with the bug of the case.
        device: where they run.
    """
    component, neighbours = case.component if case else "", list[Check]()
    # Guards and its own component first: what executes a changed unit is asked as long as there is time.
    for other in sorted(histories.cases.values(), key=lambda other: (not other.guard, other.component != component)):
        if (case and other.id == case.id) or other.extra or other.flaky or device not in other.devices:
            continue
        for cell in cells_of(other, (device,)):
            if histories.of(cell).state(release) is State.NO_BUG:
                neighbours.append(check_of(cell))
                break
    return neighbours
