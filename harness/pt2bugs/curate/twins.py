"""Cases that may be one bug: the same symptom, broken and fixed in the same releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pt2bugs.case.model import Case
from pt2bugs.case.words import Verdict
from pt2bugs.results.matrix import CellKey, is_own, public_or_empty
from pt2bugs.results.record import Record


def twins_of(case: Case, corpus: Sequence[Case], lines: Mapping[CellKey, Record]) -> list[Case]:
    """The cases with the symptom of this one that fail on the very same releases.

    None where it fails on every release, which many bugs do, and none that a `same-fix` ties to it already.
    """
    alike = {other.id: other for other in corpus if other.symptom == case.symptom and other.bugs}
    failing: dict[str, set[str]] = {}
    passing: dict[str, set[str]] = {}
    kinds = {Verdict.XFAIL: failing, Verdict.PASS: passing, Verdict.XPASS: passing}
    for key, record in lines.items():
        kind = kinds.get(Verdict(record["verdict"]))
        if kind is not None and key.case in alike and is_own(record, alike[key.case]):
            kind.setdefault(key.case, set()).add(public_or_empty(record["torch"]))
    own_fails, own_passes = failing.get(case.id, set()), passing.get(case.id, set())
    if not own_fails or not own_passes - own_fails:
        return []
    tied = _root_of(case)
    found = []
    for name, other in alike.items():
        fails = failing.get(name, set())
        shared = (fails | passing.get(name, set())) & (own_fails | own_passes)
        has_both = bool(fails & shared) and bool(shared - fails)
        if name != case.id and has_both and fails & shared == own_fails & shared and not _root_of(other) & tied:
            found.append(other)
    return found


def _root_of(case: Case) -> set[str]:
    """The ids that stand for the root of a case: its own, and that of its `same-fix`."""
    return {case.id, case.same_fix} - {""}
