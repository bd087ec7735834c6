"""What the journal says since a day that it did not say before: what broke and what was fixed, release by release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from pt2bugs.bisect.compare import Change, Difference, Health, health_of
from pt2bugs.bisect.evidence import Evidence
from pt2bugs.bisect.search import Transition
from pt2bugs.case.model import Case
from pt2bugs.report.atom import Entry, atom
from pt2bugs.report.history import History
from pt2bugs.report.markdown import inline, link
from pt2bugs.report.site import REPOSITORY, commits_between, label
from pt2bugs.results.matrix import cell_key, public_or_empty
from pt2bugs.results.record import Record
from pt2bugs.results.tables import version_key

CHANGES = (Change.BROKEN, Change.DIFFERENT, Change.FIXED)
"""What is news, worst first."""


@dataclass(frozen=True)
class Step:
    """What a check does in a release, against the release before it that could say."""

    history: History
    before: str
    after: str

    @cached_property
    def difference(self) -> Difference:
        return Difference(self.history.cell, self.history.finding(self.before), self.history.finding(self.after))

    @property
    def change(self) -> Change:
        return self.difference.change

    @property
    def key(self) -> tuple[object, ...]:
        """Names the fact, whichever release before it showed it."""
        return (*self.history.cell.key, self.history.extras, self.after, self.change)

    @property
    def commits(self) -> str:
        """The address of the commits between; empty if they are not known."""
        return commits_between(self.history, Transition(self.before, self.after, self.change is not Change.FIXED))

    def as_dict(self) -> dict[str, Any]:
        releases = {"release_before": self.before, "release_after": self.after}
        return {**self.difference.as_dict(), "extras": self.history.extras, **releases, "commits": self.commits}


@dataclass(frozen=True)
class ReleaseNews:
    """A release measured since the day: `steps` are the changes that are new, `checks` how many have an answer there.

    `is_new` if nothing was measured of it before; `measured` is when its newest line was begun.
    """

    release: str
    is_new: bool
    measured: str
    checks: int
    steps: Sequence[Step]

    def of(self, change: Change) -> list[Step]:
        return [step for step in self.steps if step.change is change]

    @property
    def told(self) -> str:
        """How many checks changed, in words."""
        parts = [f"{len(found)} {change}" for change in CHANGES if (found := self.of(change))]
        return ", ".join(parts) or "no change"

    def as_dict(self) -> dict[str, Any]:
        steps = {str(change).split()[0]: [step.as_dict() for step in self.of(change)] for change in CHANGES}
        return {
            "release": self.release,
            "new": self.is_new,
            "measured": self.measured,
            "checks": self.checks,
            **steps,
        }


class Split:
    """Takes the lines of a journal: all of them as evidence, and apart those begun before a day (UTC, ISO 8601)."""

    def __init__(self, corpus: Iterable[Case], day: str) -> None:
        cases = list(corpus)
        self.day = day
        self.now, self.then = Evidence(cases), Evidence(cases)
        self.since: dict[str, str] = {}
        """Releases measured since the day, with the begin of their newest line."""
        self.before: set[str] = set()
        """Releases measured before it."""
        self.rows_before: set[tuple[str, ...]] = set()
        """Rows of the matrix that were measured before it."""

    def add(self, record: Record) -> None:
        """Take a line into account."""
        self.now.add(record)
        release = public_or_empty(record["torch"])
        if record["started"] < self.day:
            self.then.add(record)
            self.before.add(release)
            self.rows_before.add(cell_key(record)[:5])
        elif release:
            self.since[release] = max(self.since.get(release, ""), record["started"])


def news(split: Split, now: Sequence[History], then: Sequence[History]) -> list[ReleaseNews]:
    """The releases measured since the day, the newest first.

    A change is news if the lines from before the day do not show it. Of a check that was not measured at all before
    the day, only what it does in a new release is.

    Args:
        now, then: the rows of the matrix by all lines, and by those from before the day.
    """
    known = {step.key for history in then for step in _steps(history)}
    steps = [step for history in now for step in _steps(history) if step.key not in known]
    found = []
    for release in sorted(split.since, key=version_key, reverse=True):
        is_new = release not in split.before
        there = [history for history in now if health_of(history.finding(release)) is not Health.UNKNOWN]
        told = [step for step in steps if step.after == release and (is_new or _row(step) in split.rows_before)]
        found.append(ReleaseNews(release, is_new, split.since[release], len(there), told))
    return found


def _row(step: Step) -> tuple[str, ...]:
    return (*step.history.cell.key, step.history.extras)


def _steps(history: History) -> list[Step]:
    """Where a check changes between neighbours among the releases that can say."""
    able = [one for one in history.releases if health_of(history.finding(one)) is not Health.UNKNOWN]
    steps = [Step(history, before, after) for before, after in pairwise(able)]
    return [step for step in steps if step.change in CHANGES]


def markdown(found: Sequence[ReleaseNews], day: str) -> str:
    """The news as a page."""
    lines = [f"# torch releases measured since {day}", ""]
    if not found:
        lines += ["None.", ""]
    for one in found:
        new = ", measured for the first time" if one.is_new else ""
        lines += [f"## torch {inline(one.release)}: {one.told}", ""]
        lines += [f"{one.checks} checks have an answer, the newest of {one.measured[:10]}{new}.", ""]
        for change in CHANGES:
            if steps := one.of(change):
                lines += [f"### {str(change)[0].upper()}{str(change)[1:]}", ""]
                for step in steps:
                    commits = f" ([commits]({step.commits}))" if step.commits else ""
                    case = step.history.cell.case
                    lines += [
                        f"- {link(case)} {inline(case.title)}",
                        f"  `{step.history.cell.name}` against torch {inline(step.before)}: "
                        f"{inline(step.difference.why[:300])}{commits}",
                    ]
                lines += [""]
    return "\n".join(lines)


def feed(found: Sequence[ReleaseNews], name: str) -> str:
    """The news as an Atom feed, an entry for each release that has any; `name` is that of its file."""
    entries = [
        Entry(
            id=f"{REPOSITORY}#news-torch-{one.release}-{one.measured[:10]}",
            title=f"torch {one.release}: {one.told}",
            updated=one.measured,
            href=f"compare.html?a={one.steps[0].before}&b={one.release}",
            summary="\n".join(
                f"{step.change}: {label(step.history)} {step.history.cell.case.title}" for step in one.steps
            ),
        )
        for one in found
        if one.steps
    ]
    return atom("pt2bugs: what broke, what was fixed", f"{REPOSITORY}#news", name, entries)
