"""Cases that may be one bug: the same symptom, broken and fixed in the same releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.results.journal import Record
from pt2bugs.results.matrix import CellKey, is_own, public_or_empty

_ANSWERS = (Verdict.XFAIL, Verdict.PASS, Verdict.XPASS)


@dataclass
class Sightings:
    """The releases on which a case was seen to fail as documented, and to pass."""

    fails: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)


def sightings_of(corpus: Sequence[Case], lines: Mapping[CellKey, Record]) -> dict[str, Sightings]:
    """Return what was seen of each case that has entries, by its id.

    Args:
        corpus: the cases.
        lines: the newest lines of the journal.
    """
    cases = {case.id: case for case in corpus if case.bugs}
    sightings = {name: Sightings() for name in cases}
    for key, record in lines.items():
        verdict = Verdict(record["verdict"])
        if verdict in _ANSWERS and key.case in cases and is_own(record, cases[key.case]):
            seen = sightings[key.case]
            (seen.fails if verdict is Verdict.XFAIL else seen.passes).add(public_or_empty(record["torch"]))
    return sightings


def possible_duplicates(case: Case, corpus: Sequence[Case], sightings: Mapping[str, Sightings]) -> list[Case]:
    """Return the cases with the symptom of this one that fail on the very same releases.

    There are none where it fails on every release, as many bugs do, and none that a `same-fix` ties to it already.

    Args:
        case: the case.
        corpus: all cases.
        sightings: what was seen of them.
    """
    own = sightings.get(case.id, Sightings())
    if not own.fails or not own.passes - own.fails:
        return []
    duplicates = []
    for other in corpus:
        if other.id not in sightings or other.symptom != case.symptom or is_related(case, other):
            continue
        seen = sightings[other.id]
        shared = (seen.fails | seen.passes) & (own.fails | own.passes)
        has_both = bool(seen.fails & shared) and bool(shared - seen.fails)
        if has_both and seen.fails & shared == own.fails & shared:
            duplicates.append(other)
    return duplicates


def is_related(case: Case, other: Case) -> bool:
    """Return whether two cases are one, or have one root by their `same-fix`.

    Args:
        case: a case.
        other: another.
    """
    return bool({case.id, case.same_fix} & {other.id, other.same_fix} - {""})
