"""Duplicates: cases of one component and symptom that fail on the same releases, and programs that resemble a case."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pt2bugs.case.model import Case
from pt2bugs.case.operators import calls
from pt2bugs.results.history import History, State


@dataclass
class Sightings:
    """The releases on which some check of a case shows its bug, and those on which some check does not."""

    case: Case
    fails: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)


def sightings_of(rows: Iterable[History]) -> dict[str, Sightings]:
    """Return the sightings of each case that has entries, by its id.

    Args:
        rows: the histories of the corpus.
    """
    sightings: dict[str, Sightings] = {}
    for row in rows:
        case = row.cell.case
        if case.bugs and row.cell.backend in case.backends:
            seen = sightings.setdefault(case.id, Sightings(case))
            seen.fails.update(row.showing(State.BUG))
            seen.passes.update(row.showing(State.NO_BUG))
    return sightings


def possible_duplicates(case: Case, sightings: Mapping[str, Sightings]) -> list[Case]:
    """Return the cases with the component and the symptom of this one that fail on the very same releases.

    There are none where it fails on every release, as many bugs do, and none that a `same-fix` ties to it already.
    Of 21 pairs of the corpus that `same-fix` ties, and that have one symptom and fail on the same releases, 18 have one
    component, too; of the 618 others 159.

    Args:
        case: the case.
        sightings: of the whole corpus.
    """
    own = sightings.get(case.id, Sightings(case))
    if not own.fails or not own.passes - own.fails:
        return []
    duplicates = []
    for seen in sightings.values():
        is_alike = (seen.case.component, seen.case.symptom) == (case.component, case.symptom)
        if not is_alike or is_related(case, seen.case):
            continue
        shared = (seen.fails | seen.passes) & (own.fails | own.passes)
        has_both = bool(seen.fails & shared) and bool(shared - seen.fails)
        if has_both and seen.fails & shared == own.fails & shared:
            duplicates.append(seen.case)
    return duplicates


def is_related(case: Case, other: Case) -> bool:
    """Return whether two cases are one, or have one root by their `same-fix`.

    Args:
        case: a case.
        other: another.
    """
    return bool({case.id, case.same_fix} & {other.id, other.same_fix} - {""})


@dataclass(frozen=True)
class Neighbour:
    """A case that resembles a program, with what of torch both call, rarest first."""

    case: Case
    shared: tuple[str, ...]


def nearest(program: str, component: str, symptom: str, corpus: Sequence[Case], count: int = 3) -> list[Neighbour]:
    """Return the cases nearest to a program that has not been measured: by what it calls, component and symptom.

    A call counts the more the fewer cases have it. All calls weigh as much as component and symptom together.

    Args:
        program: Python that can be parsed.
        component: of the new case; may be empty.
        symptom: of the new case; may be empty.
        corpus: all cases.
        count: of the cases to return.
    """
    called = {case.id: set(calls(case.path.read_text(encoding="utf-8-sig"))) for case in corpus}
    callers = Counter(call for names in called.values() for call in names)
    own = set(calls(program))

    def _weight(names: Iterable[str]) -> float:
        return sum(math.log((len(corpus) + 1) / (callers[name] or 1)) for name in sorted(names))

    def _likeness(case: Case) -> float:
        names = called[case.id]
        overlap = _weight(own & names) / (_weight(own | names) or 1.0)
        return (case.component == component) + (case.symptom == symptom) + 2 * overlap

    return [
        Neighbour(case, tuple(sorted(own & called[case.id], key=lambda name: (callers[name], name))))
        for case in sorted(corpus, key=_likeness, reverse=True)[:count]
    ]
