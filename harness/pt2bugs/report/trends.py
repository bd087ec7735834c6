"""How many documented bugs each release has, introduced and fixed, and how long bugs live. Guards are no bugs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from pt2bugs.bisect.search import State
from pt2bugs.case.model import Case
from pt2bugs.report.history import History

MEASURED = 0.9
"""The share of checks that must have been measured on a release, so that its numbers stand beside those of others."""


@dataclass(frozen=True)
class Life:
    """One documented bug over the releases, all its checks together.

    It is open in a release in which a check shows it. `introduced` and `fixed` are the releases that a check changed
    in; a bug that comes back has several of each.
    """

    case: Case
    open_in: Sequence[str]
    introduced: Sequence[str]
    fixed: Sequence[str]
    is_open: bool

    @property
    def summary(self) -> str:
        """One line: where it was seen."""
        if not self.open_in:
            return "not seen in these releases"
        count = len(self.open_in)
        span = self.open_in[0] if count == 1 else f"{self.open_in[0]} to {self.open_in[-1]}"
        end = "still open" if self.is_open else f"fixed in {self.fixed[-1]}" if self.fixed else "not seen since"
        return f"{span} ({count} release{'s' if count > 1 else ''}), {end}"


@dataclass(frozen=True)
class Trends:
    """The lives of all bugs of a corpus over `releases`, in version order."""

    releases: Sequence[str]
    lives: Sequence[Life]
    shares: Mapping[str, float]
    """Of each release: in how many of the rows it was measured, from 0 to 1."""

    @classmethod
    def of(cls, histories: Iterable[History], releases: Sequence[str]) -> Trends:
        """The lives of the cases of these rows."""
        rows = sorted((one for one in histories if not one.cell.case.guard), key=lambda one: one.cell.case.id)
        groups = [list(group) for _, group in groupby(rows, key=lambda one: one.cell.case.id)]
        shares = {release: sum(release in row.matrix_cells for row in rows) / max(1, len(rows)) for release in releases}
        return cls(releases, [_life(group, releases) for group in groups], shares)

    @property
    def partial(self) -> list[str]:
        """Releases with too few measurements for their numbers to stand beside those of the others."""
        return [release for release in self.releases if self.shares[release] < MEASURED]

    @cached_property
    def components(self) -> list[str]:
        """Components that have a bug, those with most first."""
        counts: dict[str, int] = {}
        for life in self.lives:
            counts[life.case.component] = counts.get(life.case.component, 0) + 1
        return sorted(counts, key=lambda name: (-counts[name], name))

    def of_component(self, name: str) -> Trends:
        return Trends(self.releases, [life for life in self.lives if life.case.component == name], self.shares)

    def open_in(self, release: str) -> list[Life]:
        """The bugs that a release has."""
        return [life for life in self.lives if release in life.open_in]

    def introduced_in(self, release: str) -> list[Life]:
        return [life for life in self.lives if release in life.introduced]

    def fixed_in(self, release: str) -> list[Life]:
        return [life for life in self.lives if release in life.fixed]

    @property
    def ended(self) -> list[Life]:
        """Bugs that were seen and are gone from the newest release that can say."""
        return [life for life in self.lives if life.open_in and not life.is_open]

    @property
    def still_open(self) -> list[Life]:
        """Bugs that the newest release that can say has, the longest-lived first."""
        return sorted(
            (life for life in self.lives if life.is_open), key=lambda life: (-len(life.open_in), life.case.id)
        )

    def lengths(self) -> list[tuple[int, int, int]]:
        """For each number of releases: how many bugs that ended lived so long, and how many that are open do."""
        return [
            (
                number,
                sum(len(life.open_in) == number for life in self.ended),
                sum(len(life.open_in) == number for life in self.still_open),
            )
            for number in range(1, len(self.releases) + 1)
        ]


def _life(rows: Sequence[History], releases: Sequence[str]) -> Life:
    order = {release: number for number, release in enumerate(releases)}
    states = [row.search.states for row in rows]
    seen = [release for release in releases if any(one.get(release) is State.BUG for one in states)]
    changes = {(one.after, one.introduced) for row in rows for one in row.transitions}
    last = [decided[-1] for row in rows if (decided := row.search.decided())]
    newest = max(last, key=lambda release: order[release], default="")
    return Life(
        rows[0].cell.case,
        seen,
        sorted((release for release, introduced in changes if introduced), key=order.__getitem__),
        sorted((release for release, introduced in changes if not introduced), key=order.__getitem__),
        bool(newest) and newest in seen,
    )
