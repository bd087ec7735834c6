"""The cells that decide where a check changes, among all cells that a run means; the rest need not be run.

`Bisection` searches for a documented bug. Here a case may be new and have no entries: any failure counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

from pt2bugs.bisect.search import Search, choose, takes_part
from pt2bugs.case.cells import Cell, CellName
from pt2bugs.case.model import pinned_release
from pt2bugs.case.observation import NOT_IMPORTED
from pt2bugs.case.vocabulary import FAILURES, Outcome
from pt2bugs.envs.environment import Key
from pt2bugs.results.history import Histories, State
from pt2bugs.results.journal import Record
from pt2bugs.results.line import version_key
from pt2bugs.run.plan import Target, Work, is_answered, line_of

_STATES = {Outcome.PASS: State.NO_BUG, **dict.fromkeys(FAILURES, State.BUG)}


def deciding(
    meant: Sequence[Work], newest: Histories, identity: Callable[[Cell, Record], Hashable]
) -> Iterator[list[Work]]:
    """Yield what to run next: the ends, then halfway between two that answer differently, until none is left.

    Of a case file that a release cannot import no more is run until its header says so, in `requires-torch`: what is
    below that release cannot answer either.

    Args:
        meant: all cells in their environments.
        newest: the histories, which have the lines of what was yielded before when the next batch is asked for.
        identity: what tells a failure of a cell from another; also where it changes is searched.
    """
    rows: dict[tuple[CellName, tuple[str, ...]], dict[str, tuple[Target, Cell]]] = {}
    for part in meant:
        for cell in part.cells:
            rows.setdefault((cell.key, part.target.key.extras), {})[part.target.key.torch] = part.target, cell
    searches: dict[tuple[CellName, tuple[str, ...]], Search[str]] = {}
    for row, places in rows.items():
        pinned = {pinned_release(cell.case.dependencies) for _, cell in places.values()}
        releases = sorted(places, key=version_key)
        searches[row] = Search(releases, {release: release in pinned for release in releases})
    while True:
        lines = newest.lines()
        open_: dict[tuple[CellName, tuple[str, ...]], list[Search[str]]] = {}
        for row, search in list(searches.items()):
            failures: dict[str, Hashable] = {}
            for release, (target, cell) in rows[row].items():
                if (record := line_of(lines, target, cell)) is not None:
                    if record["message"].startswith(NOT_IMPORTED):
                        del searches[row]
                        break
                    if release not in search.states and not is_answered(lines, target, cell):
                        continue  # an error of an earlier run is tried again
                    search.states[release] = _STATES.get(Outcome(record["outcome"]), State.UNKNOWN)
                    if search.states[release] is State.BUG:
                        failures[release] = identity(cell, record)
            else:
                open_[row] = [search, *_between_failures(search, failures)]
        chosen = choose([search for of_row in open_.values() for search in of_row], at_once=2)
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
            for release in [release for release in chosen if any(takes_part(part, release) for part in open_[row])]:
                target, cell = rows[row][release]
                work.setdefault(target.key, Work(target, [])).cells.append(cell)
                search.states[release] = State.UNKNOWN
        yield list(work.values())


def _between_failures(search: Search[str], failures: Mapping[str, Hashable]) -> Iterator[Search[str]]:
    """Yield a search for each two neighbours that fail in different ways: for the release where the way changes."""
    for before, after in pairwise(search.decided()):
        if before in failures and after in failures and failures[before] != failures[after]:
            within = search.versions[search.versions.index(before) : search.versions.index(after) + 1]
            states = {release: State.UNKNOWN for release in within if release in search.states}
            yield Search(within, states=states | {before: State.NO_BUG, after: State.BUG})
