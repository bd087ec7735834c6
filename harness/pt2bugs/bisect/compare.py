"""The change of each check by a move from one release to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from functools import cached_property
from typing import Any

from pt2bugs.bisect.accepted import Accepted, current_day, find_accepted
from pt2bugs.case.cells import Cell
from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import FAILURES, Verdict
from pt2bugs.results.history import CONFIDENCE, Finding, State, clean_confidence


class Change(str, Enum):
    """The fate of a check, worst first."""

    BROKEN = "broken"
    DIFFERENT = "different failure"
    STILL = "still there"
    UNSURE = "cannot say"
    FIXED = "fixed"
    FINE = "passes in both"

    __str__ = str.__str__


class Health(str, Enum):
    """The behaviour of a check on a release.

    Finer than `State`: a failure that is not the documented one says nothing about the bug, but matters to who
    upgrades.
    """

    GOOD = "good"
    BUG = "bug"
    OTHER = "other"
    UNKNOWN = "unknown"


def health_of(finding: Finding | None) -> Health:
    """Return what a release does with a check, by the journal; unknown where it has no answer.

    Args:
        finding: of the release.
    """
    if finding is None:
        return Health.UNKNOWN
    if finding.state is not State.UNKNOWN:
        return Health.BUG if finding.state is State.BUG else Health.GOOD
    return Health.OTHER if finding.record["verdict"] == Verdict.FAIL else Health.UNKNOWN


@dataclass(frozen=True, eq=False)
class Difference:
    """One check in both releases. A finding is None where the journal has no answer."""

    cell: Cell
    before: Finding | None
    after: Finding | None

    @cached_property
    def change(self) -> Change:
        """The fate of the check."""
        return change_between(self.before, self.after)

    @property
    def why(self) -> str:
        """One line that says why."""
        if self.change is Change.UNSURE:
            if (confidence := flaky_confidence(self.before, self.after)) is not None:
                sides = f"{describe_finding(self.before)} -> {describe_finding(self.after)}"
                return f"flaky, and {confidence:.0%} sure only: {sides}"
            unknown = [
                f"{side} {describe_finding(finding)}"
                for side, finding in (("before:", self.before), ("after:", self.after))
                if health_of(finding) is Health.UNKNOWN
            ]
            return "; ".join(unknown)
        if self.change is Change.STILL:
            return describe_finding(self.after)
        return f"{describe_finding(self.before)} -> {describe_finding(self.after)}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as `compare --json` has it."""
        return {
            "case": self.cell.case.id,
            "check": self.cell.check.name,
            "device": self.cell.device,
            "backend": self.cell.backend,
            "issue": self.cell.case.issue,
            "title": self.cell.case.title,
            "component": self.cell.case.component,
            "symptom": self.cell.case.symptom,
            "change": str(self.change),
            "why": self.why,
            "before": _facts(self.before),
            "after": _facts(self.after),
        }


UNSURE_SHARE = 0.05
"""Greatest share of unsure checks, of those that either release has. Above it a comparison answers nothing."""


@dataclass(frozen=True)
class Comparison:
    """The changes of all checks between releases `before` and `after`.

    `entries` are accepted failures, each until its end date; `today` decides which have ended.
    """

    before: str
    after: str
    differences: Sequence[Difference]
    entries: Sequence[Accepted] = ()
    today: date = field(default_factory=current_day)
    torch: str = ""

    @property
    def title(self) -> str:
        """The move in words."""
        move = f"{self.before} -> {self.after}"
        return f"{move} on torch {self.torch}" if self.torch else f"torch {move}"

    @cached_property
    def _covered(self) -> dict[Difference, Accepted]:
        """The entry of each broken check that has one, ended or not."""
        covered = {}
        for difference in self.differences:
            if difference.change is Change.BROKEN and difference.after is not None:
                entry = find_accepted(self.entries, difference.cell.key, difference.after.record)
                if entry is not None:
                    covered[difference] = entry
        return covered

    @property
    def accepted(self) -> dict[Difference, Accepted]:
        """Broken checks that are accepted today."""
        return {difference: entry for difference, entry in self._covered.items() if not entry.has_ended(self.today)}

    @property
    def ended(self) -> dict[Difference, Accepted]:
        """Broken checks that were accepted, until a day that has passed."""
        return {difference: entry for difference, entry in self._covered.items() if entry.has_ended(self.today)}

    @property
    def needless(self) -> list[Accepted]:
        """Entries about checks that were compared, which cover no failure of them in the release to go to."""
        there = [difference for difference in self.differences if difference.after is not None]
        return [
            entry
            for entry in self.entries
            if any(entry.speaks_of(difference.cell.key, self.torch or self.after) for difference in there)
            and not any(
                difference.after and entry.covers(difference.cell.key, difference.after.record) for difference in there
            )
        ]

    def of(self, change: Change) -> list[Difference]:
        """Return the checks with a change, without accepted ones. Wrong results come first: no other tool reports them.

        Args:
            change: which one.
        """
        differences = [
            difference
            for difference in self.differences
            if difference.change is change and difference not in self.accepted
        ]
        return sorted(differences, key=lambda difference: difference.cell.case.symptom != "wrong-result")

    def groups(self, *, everything: bool) -> Iterator[tuple[str, Sequence[Difference]]]:
        """Yield the checks of each change, worst first, with its title.

        Args:
            everything: also those that pass in both.
        """
        for change in Change:
            differences = self.of(change)
            if differences and (change is not Change.FINE or everything):
                yield str(change), differences
            if change is Change.BROKEN and self.accepted:
                yield "broken but accepted", list(self.accepted)

    @property
    def unsure(self) -> tuple[int, int]:
        """The number of checks that it cannot answer, and the number that either release has."""
        there = [
            difference
            for difference in self.differences
            if difference.before is not None or difference.after is not None
        ]
        return sum(difference.change is Change.UNSURE for difference in there), len(there)

    @property
    def is_unanswered(self) -> bool:
        """True if too many checks are unsure for the comparison to mean much."""
        unsure, there = self.unsure
        return unsure > UNSURE_SHARE * there or not there

    @property
    def counts(self) -> str:
        """The number of checks by change, on one line, worst first."""
        parts = [f"{n} {change}" for change in Change if (n := len(self.of(change)))]
        if self.accepted:
            parts.insert(1 if self.of(Change.BROKEN) else 0, f"{len(self.accepted)} broken but accepted")
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as `compare --json` prints it."""
        counts = {str(change): len(self.of(change)) for change in Change}
        changes = []
        for difference in self.differences:
            entry = self.accepted.get(difference)
            until = entry.until.isoformat() if entry and entry.until else None
            accepted = {"reason": entry.reason, "until": until} if entry else None
            changes.append({**difference.as_dict(), "accepted": accepted})
        summary = {"checks": len(changes), **counts, "accepted": len(self.accepted)}
        return {"from": self.before, "to": self.after, "summary": summary, "changes": changes}


def by_case(differences: Sequence[Difference]) -> list[tuple[Case, list[Difference]]]:
    """Return differences by their case, in the order of the first of each.

    Args:
        differences: of a comparison.
    """
    groups: dict[str, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(difference.cell.case.id, []).append(difference)
    return [(group[0].cell.case, group) for group in groups.values()]


def change_between(before: Finding | None, after: Finding | None) -> Change:
    """Return what becomes of a check.

    Args:
        before: what the release to come from showed.
        after: what the release to go to showed.
    """
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
    # Neither is the documented bug in both: the same only if they look the same.
    return Change.STILL if old is new and _fails_the_same(before, after) else Change.DIFFERENT


def flaky_confidence(before: Finding | None, after: Finding | None) -> float | None:
    """Return how sure it is that a flaky check with the bug on one side is clean on the other; None for all else.

    Args:
        before: what the release to come from showed.
        after: what the release to go to showed.
    """
    bug, clean = (before, after) if health_of(before) is Health.BUG else (after, before)
    if bug is None or clean is None or not (bug.is_flaky or clean.is_flaky):
        return None
    if health_of(bug) is not Health.BUG or health_of(clean) is not Health.GOOD:
        return None
    return clean_confidence([bug], clean)


def _fails_the_same(before: Finding | None, after: Finding | None) -> bool:
    # TYPE: messages are rewritten and functions move from release to release.
    failure = Failure.of(before.record) if before else None
    return failure is not None and after is not None and failure.same(Failure.of(after.record), Level.TYPE)


def describe_finding(finding: Finding | None) -> str:
    """Return on one line the documented bug, another failure, or why there is no answer.

    Args:
        finding: of a release.
    """
    if finding is None:
        return "not in the journal"
    if finding.state is State.NO_BUG:
        return "passes"
    seen = Observation.from_dict(finding.record)
    if finding.state is State.BUG:
        return finding.summary
    if finding.record["verdict"] == Verdict.FLAKY:
        return "repeats disagree"
    kind = "blocked by another limitation" if finding.record["verdict"] == Verdict.SKIP else "another failure"
    return f"{kind}: {finding.summary}" if seen.outcome in FAILURES else finding.summary


def _facts(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    names = ("torch", "torch_git", "python", "outcome", "verdict", "error_type", "message", "signal")
    facts: dict[str, Any] = dict(finding.record)
    return {"state": str(finding.state), **{name: facts[name] for name in names}}
