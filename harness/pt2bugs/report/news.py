"""News: the changes that the journal shows since a day and did not show before, release by release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from pt2bugs.bisect.compare import Change, Difference, Health, health_of
from pt2bugs.case.model import Case
from pt2bugs.case.observation import shortened
from pt2bugs.case.versions import public_or_empty
from pt2bugs.report.atom import Entry, atom
from pt2bugs.report.markdown import case_link, code, escape, link
from pt2bugs.report.site import commits_between, label
from pt2bugs.results.history import Histories, History, Transition
from pt2bugs.results.journal import Record
from pt2bugs.results.line import cell_key, version_key

CHANGES = (Change.BROKEN, Change.DIFFERENT, Change.FIXED)
"""Changes that are news, worst first."""


@dataclass(frozen=True)
class Step:
    """A check in a release, against the release before it that can say."""

    history: History
    before: str
    after: str

    @cached_property
    def difference(self) -> Difference:
        """The findings of both releases."""
        return Difference(self.history.cell, self.history.finding(self.before), self.history.finding(self.after))

    @property
    def change(self) -> Change:
        """The fate of the check between them."""
        return self.difference.change

    @property
    def key(self) -> tuple[object, ...]:
        """The same for the same change in the same release, whichever release it is held against."""
        return (*self.history.cell.key, self.history.extras, self.after, self.change)

    @property
    def commits(self) -> str:
        """The address of the commits between; empty if they are not known."""
        return commits_between(self.history, Transition(self.before, self.after, self.change is not Change.FIXED))

    def as_dict(self) -> dict[str, Any]:
        """Return the step for machines."""
        releases = {"release_before": self.before, "release_after": self.after}
        return {**self.difference.as_dict(), "extras": self.history.extras, **releases, "commits": self.commits}


@dataclass(frozen=True)
class ReleaseNews:
    """A release measured since the day: `steps` are its new changes, `checks` the number of checks with an answer.

    `is_new` if nothing was measured of it before; `measured` is when its newest line was begun.
    """

    release: str
    is_new: bool
    measured: str
    checks: int
    steps: Sequence[Step]

    def of(self, change: Change) -> list[Step]:
        """Return the steps with a change.

        Args:
            change: one of `CHANGES`.
        """
        return [step for step in self.steps if step.change is change]

    @property
    def told(self) -> str:
        """The numbers of checks that changed, in words."""
        parts = [f"{len(steps)} {change}" for change in CHANGES if (steps := self.of(change))]
        return ", ".join(parts) or "no change"

    def as_dict(self) -> dict[str, Any]:
        """Return the news of the release for machines."""
        steps = {str(change).split()[0]: [step.as_dict() for step in self.of(change)] for change in CHANGES}
        return {
            "release": self.release,
            "new": self.is_new,
            "measured": self.measured,
            "checks": self.checks,
            **steps,
        }


class Split:
    """The lines of a journal, all of them, and apart those begun before a day.

    Args:
        corpus: the cases.
        day: a moment in UTC, ISO 8601.
    """

    def __init__(self, corpus: Iterable[Case], day: str) -> None:
        cases = list(corpus)
        self.day = day
        self.now, self.then = Histories(cases), Histories(cases)
        self.since: dict[str, str] = {}
        """Releases measured since the day, with the begin of their newest line."""
        self.before: set[str] = set()
        """Releases measured before it."""
        self.rows_before: set[tuple[str, ...]] = set()
        """Rows of the matrix that were measured before it."""

    def add(self, record: Record) -> None:
        """Take a line into account.

        Args:
            record: a line of the journal.
        """
        self.now.add(record)
        release = public_or_empty(record["torch"])
        if record["started"] < self.day:
            self.then.add(record)
            self.before.add(release)
            self.rows_before.add(cell_key(record)[:5])
        elif release:
            self.since[release] = max(self.since.get(release, ""), record["started"])


def news(split: Split, now: Sequence[History], then: Sequence[History]) -> list[ReleaseNews]:
    """Return the releases measured since the day, the newest first.

    A change is news if the lines from before the day do not show it. If a check was never measured before the day, only
    its change in a new release is news.

    Args:
        split: the lines.
        now: the rows of the matrix by all lines.
        then: the rows by the lines from before the day.
    """
    known = {step.key for history in then for step in _steps(history)}
    steps = [step for history in now for step in _steps(history) if step.key not in known]
    releases = []
    for release in sorted(split.since, key=version_key, reverse=True):
        is_new = release not in split.before
        there = [history for history in now if health_of(history.finding(release)) is not Health.UNKNOWN]
        told = [step for step in steps if step.after == release and (is_new or _row(step) in split.rows_before)]
        releases.append(ReleaseNews(release, is_new, split.since[release], len(there), told))
    return releases


def _row(step: Step) -> tuple[str, ...]:
    return (*step.history.cell.key, step.history.extras)


def _steps(history: History) -> list[Step]:
    """Return the changes of a check between neighbours among the releases that can say."""
    able = [name for name in history.releases if health_of(history.finding(name)) is not Health.UNKNOWN]
    steps = [Step(history, before, after) for before, after in pairwise(able)]
    return [step for step in steps if step.change in CHANGES]


def markdown(releases: Sequence[ReleaseNews], day: str) -> str:
    """Return the news as a page in Markdown.

    Args:
        releases: from `news`.
        day: the day, as asked for.
    """
    lines = [f"# torch releases measured since {day}", ""]
    if not releases:
        lines += ["None.", ""]
    for release in releases:
        new = ", measured for the first time" if release.is_new else ""
        lines += [f"## torch {escape(release.release)}: {release.told}", ""]
        lines += [f"{release.checks} checks have an answer, the newest of {release.measured[:10]}{new}.", ""]
        for change in CHANGES:
            if steps := release.of(change):
                lines += [f"### {str(change)[0].upper()}{str(change)[1:]}", ""]
                for step in steps:
                    commits = f" ({link('commits', step.commits)})" if step.commits else ""
                    case = step.history.cell.case
                    lines += [
                        f"- {case_link(case)} {escape(case.title)}",
                        f"  {code(step.history.cell.name)} against torch {escape(step.before)}: "
                        f"{escape(shortened(step.difference.why, 300))}{commits}",
                    ]
                lines += [""]
    return "\n".join(lines)


def feed(releases: Sequence[ReleaseNews], name: str) -> str:
    """Return the news as an Atom feed, with an entry for each release that has any.

    Args:
        releases: from `news`.
        name: the name of its file.
    """
    entries = [
        Entry(
            id=f"urn:pt2bugs:news-torch-{release.release}-{release.measured[:10]}",
            title=f"torch {release.release}: {release.told}",
            updated=release.measured,
            href=f"compare.html?a={release.steps[0].before}&b={release.release}",
            summary="\n".join(
                f"{step.change}: {label(step.history)} {step.history.cell.case.title}" for step in release.steps
            ),
        )
        for release in releases
        if release.steps
    ]
    return atom("pt2bugs: what broke, what was fixed", "urn:pt2bugs:news", name, entries)
