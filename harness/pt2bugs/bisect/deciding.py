"""The cells that decide where a check changes, among all cells that a run means; the rest need not be run.

`Bisection` searches for a documented bug. Here a case may be new and have no entries: any failure counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pt2bugs.bisect.search import Search, choose, takes_part
from pt2bugs.case.cells import Cell, CellName
from pt2bugs.case.model import pinned_release
from pt2bugs.case.vocabulary import FAILURES, Outcome
from pt2bugs.envs.environment import Key
from pt2bugs.results.history import Histories, State
from pt2bugs.results.line import version_key
from pt2bugs.run.plan import Target, Work, line_of

_STATES = {Outcome.PASS: State.NO_BUG, **dict.fromkeys(FAILURES, State.BUG)}


def deciding(meant: Sequence[Work], newest: Histories) -> Iterator[list[Work]]:
    """Yield what to run next: the ends, then halfway between one that fails and one that passes, until none is left.

    Args:
        meant: all cells in their environments.
        newest: the histories, which have the lines of what was yielded before when the next batch is asked for.
    """
    rows: dict[tuple[CellName, tuple[str, ...]], dict[str, tuple[Target, Cell]]] = {}
    for part in meant:
        for cell in part.cells:
            rows.setdefault((cell.key, part.target.key.extras), {})[part.target.key.torch] = part.target, cell
    searches = {}
    for row, places in rows.items():
        pinned = {pinned_release(cell.case.dependencies) for _, cell in places.values()}
        releases = sorted(places, key=version_key)
        searches[row] = Search(releases, {release: release in pinned for release in releases})
    while True:
        lines = newest.lines()
        for row, search in searches.items():
            for release, (target, cell) in rows[row].items():
                if (record := line_of(lines, target, cell)) is not None:
                    search.states[release] = _STATES.get(Outcome(record["outcome"]), State.UNKNOWN)
        chosen = choose(searches.values(), at_once=2)
        if not chosen:
            # A bug that shows at neither end, nor on the release of the header, is looked for everywhere.
            hidden = [search for search in searches.values() if State.BUG not in search.states.values()]
            if all(search.thorough for search in hidden):
                return
            for search in hidden:
                search.thorough = True
            continue
        work: dict[Key, Work] = {}
        for row, search in searches.items():
            for release in [release for release in chosen if takes_part(search, release)]:
                target, cell = rows[row][release]
                work.setdefault(target.key, Work(target, [])).cells.append(cell)
                search.states[release] = State.UNKNOWN
        yield list(work.values())
