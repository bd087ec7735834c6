"""What a move from one release to another changes for a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pt2bugs.bisect.evidence import CONFIDENCE, Finding, clean_confidence
from pt2bugs.bisect.search import State
from pt2bugs.case.cells import Cell
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import FAILURES, Verdict


class Change(str, Enum):
    """What becomes of a check, worst first."""

    BROKEN = "broken"
    DIFFERENT = "different failure"
    STILL = "still there"
    UNSURE = "cannot say"
    FIXED = "fixed"
    FINE = "passes in both"

    __str__ = str.__str__


class Health(str, Enum):
    """What a release does with a check. Finer than `State`: a failure that is not the documented one says
    nothing about the bug, but matters to who upgrades."""

    GOOD = "good"
    BUG = "bug"
    OTHER = "other"
    UNKNOWN = "unknown"


def health_of(finding: Finding | None) -> Health:
    """What a release does with a check, by the journal; unknown where it has no answer."""
    if finding is None:
        return Health.UNKNOWN
    if finding.state is not State.UNKNOWN:
        return Health.BUG if finding.state is State.BUG else Health.GOOD
    return Health.OTHER if finding.record["verdict"] == Verdict.FAIL else Health.UNKNOWN


@dataclass(frozen=True)
class Difference:
    """One check in both releases. A finding is None where the journal has no answer."""

    cell: Cell
    before: Finding | None
    after: Finding | None

    @property
    def change(self) -> Change:
        return change_between(self.before, self.after)

    @property
    def why(self) -> str:
        """One line that says why."""
        if self.change is Change.UNSURE:
            if (confidence := flaky_confidence(self.before, self.after)) is not None:
                sides = f"{seen_in_words(self.before)} -> {seen_in_words(self.after)}"
                return f"flaky, and {confidence:.0%} sure only: {sides}"
            unknown = [
                f"{side} {seen_in_words(finding)}"
                for side, finding in (("before:", self.before), ("after:", self.after))
                if health_of(finding) is Health.UNKNOWN
            ]
            return "; ".join(unknown)
        if self.change is Change.STILL:
            return seen_in_words(self.after)
        return f"{seen_in_words(self.before)} -> {seen_in_words(self.after)}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "case": self.cell.case.id,
            "check": self.cell.check.name,
            "device": self.cell.device,
            "backend": self.cell.backend,
            "issue": self.cell.case.issue,
            "change": str(self.change),
            "why": self.why,
            "before": _facts(self.before),
            "after": _facts(self.after),
        }


def change_between(before: Finding | None, after: Finding | None) -> Change:
    """What becomes of a check, by what it does in both releases."""
    old, new = health_of(before), health_of(after)
    if Health.UNKNOWN in (old, new):
        return Change.UNSURE
    confidence = flaky_confidence(before, after)
    if confidence is not None and confidence < CONFIDENCE:
        return Change.UNSURE
    if new is Health.GOOD:
        return Change.FINE if old is Health.GOOD else Change.FIXED
    if old is Health.GOOD:
        return Change.BROKEN
    if old is Health.BUG and new is Health.BUG:
        return Change.STILL
    assert before is not None
    assert after is not None
    # Neither is the documented bug in both: the same only if they look the same.
    return Change.STILL if old is new and identity_of(before) == identity_of(after) else Change.DIFFERENT


def flaky_confidence(before: Finding | None, after: Finding | None) -> float | None:
    """How sure it is that a flaky check with the bug on one side is clean on the other; None for all else."""
    bug, clean = (before, after) if health_of(before) is Health.BUG else (after, before)
    if bug is None or clean is None or not (bug.is_flaky or clean.is_flaky):
        return None
    if health_of(bug) is not Health.BUG or health_of(clean) is not Health.GOOD:
        return None
    return clean_confidence([bug], clean)


def identity_of(finding: Finding) -> tuple[str, str, str]:
    return finding.record["outcome"], finding.record["error_type"], finding.record["signal"]


def seen_in_words(finding: Finding | None) -> str:
    """One line: the documented bug, another failure, or why there is no answer."""
    if finding is None:
        return "not in the journal"
    if finding.state is State.NO_BUG:
        return "passes"
    seen = Observation.from_dict(finding.record)
    if finding.state is State.BUG:
        return finding.words
    if finding.record["verdict"] == Verdict.FLAKY:
        return "repeats disagree"
    kind = "blocked by another limitation" if finding.record["verdict"] == Verdict.SKIP else "another failure"
    return f"{kind}: {finding.words}" if seen.outcome in FAILURES else finding.words


def _facts(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    names = ("torch", "torch_git", "python", "outcome", "verdict", "error_type", "message", "signal")
    facts: dict[str, Any] = dict(finding.record)
    return {"state": str(finding.state), **{name: facts[name] for name in names}}
