"""Cases that may be one bug: the same symptom, broken and fixed in the same releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pt2bugs.case.model import Case
from pt2bugs.case.words import Verdict
from pt2bugs.results.matrix import CellKey, is_own, public_or_empty
from pt2bugs.results.record import Record

_ANSWERS = (Verdict.XFAIL, Verdict.PASS, Verdict.XPASS)


@dataclass
class Seen:
    """The releases on which a case was seen to fail as documented, and to pass."""

    fails: set[str] = field(default_factory=set)
    passes: set[str] = field(default_factory=set)


def seen_of(corpus: Sequence[Case], lines: Mapping[CellKey, Record]) -> dict[str, Seen]:
    """What was seen of each case that has entries, by its id."""
    by_id = {case.id: case for case in corpus if case.bugs}
    seen = {name: Seen() for name in by_id}
    for key, record in lines.items():
        verdict = Verdict(record["verdict"])
        if verdict in _ANSWERS and key.case in by_id and is_own(record, by_id[key.case]):
            one = seen[key.case]
            (one.fails if verdict is Verdict.XFAIL else one.passes).add(public_or_empty(record["torch"]))
    return seen


def twins_of(case: Case, corpus: Sequence[Case], seen: Mapping[str, Seen]) -> list[Case]:
    """The cases with the symptom of this one that fail on the very same releases.

    None where it fails on every release, which many bugs do, and none that a `same-fix` ties to it already.
    """
    own = seen.get(case.id, Seen())
    if not own.fails or not own.passes - own.fails:
        return []
    tied = _root_of(case)
    found = []
    for other in corpus:
        if other.id not in seen or other.id == case.id or other.symptom != case.symptom or _root_of(other) & tied:
            continue
        one = seen[other.id]
        shared = (one.fails | one.passes) & (own.fails | own.passes)
        has_both = bool(one.fails & shared) and bool(shared - one.fails)
        if has_both and one.fails & shared == own.fails & shared:
            found.append(other)
    return found


def _root_of(case: Case) -> set[str]:
    """The ids that stand for the root of a case: its own, and that of its `same-fix`."""
    return {case.id, case.same_fix} - {""}
