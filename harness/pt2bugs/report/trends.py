"""Numbers of documented bugs by release: present, introduced, fixed, and by length of life. Guards are no bugs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pt2bugs.results.history import History, Life, lives_of

MEASURED = 0.9
"""The share of checks that must have been measured on a release, so that its numbers stand beside those of others."""


@dataclass(frozen=True)
class Trends:
    """The lives of all bugs of a corpus over `releases`, in version order."""

    releases: Sequence[str]
    lives: Sequence[Life]
    shares: Mapping[str, float]
    """The share of the rows that each release was measured in, from 0 to 1."""

    @classmethod
    def of(cls, histories: Iterable[History], releases: Sequence[str]) -> Trends:
        """Return the trends of some histories.

        Args:
            histories: rows; those of guards are left out.
            releases: the releases to count, in version order.
        """
        rows = [row for row in histories if not row.cell.case.guard]
        shares = {release: sum(release in row.findings for row in rows) / max(1, len(rows)) for release in releases}
        return cls(releases, lives_of(rows), shares)

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

    def open_in(self, release: str) -> list[Life]:
        """Return the bugs that a release has.

        Args:
            release: a public version.
        """
        return [life for life in self.lives if release in life.open_in]

    def introduced_in(self, release: str) -> list[Life]:
        """Return the bugs that a release introduced.

        Args:
            release: a public version.
        """
        return [life for life in self.lives if release in life.introduced]

    def fixed_in(self, release: str) -> list[Life]:
        """Return the bugs that a release fixed.

        Args:
            release: a public version.
        """
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
        """Return, for each number of releases, how many ended bugs lived so long, and how many open ones do."""
        return [
            (
                number,
                sum(len(life.open_in) == number for life in self.ended),
                sum(len(life.open_in) == number for life in self.still_open),
            )
            for number in range(1, len(self.releases) + 1)
        ]
