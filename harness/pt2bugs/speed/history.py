"""Where a bench became slower from one release to the next: queries over the journal of speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pt2bugs.bisect.search import Search, bisect
from pt2bugs.results.history import State
from pt2bugs.speed.journal import SpeedLine, Speeds

SLOWER = 1.3
"""A release is slower if each of its processes took so many times as long, beside eager, as each of the other's."""


@dataclass(frozen=True)
class Slower:
    """A bench whose compiled code takes longer beside eager in a release than in the one before it that can say."""

    before: SpeedLine
    after: SpeedLine

    @property
    def factor(self) -> float:
        """How many times as long, by the medians."""
        assert self.before.ratio is not None and self.after.ratio is not None, "both were timed"
        return self.after.ratio / self.before.ratio

    @property
    def seconds(self) -> float:
        """How many times as many seconds a compiled call takes: where it is less, eager became faster."""
        return min(self.after.compiled_s) / min(self.before.compiled_s)

    @property
    def changed_counts(self) -> dict[str, tuple[int | None, int | None]]:
        """The counts that differ, with both numbers. Where none does, the cost is in what is compiled in, or native."""
        names = sorted(self.before.counts.keys() & self.after.counts.keys())
        both = {name: (self.before.counts[name], self.after.counts[name]) for name in names}
        return {name: (old, new) for name, (old, new) in both.items() if old != new}

    def as_dict(self) -> dict[str, Any]:
        """Return it for machines."""
        return {
            **self.after.key._asdict(),
            "release_before": self.before.release,
            "release_after": self.after.release,
            "factor": round(self.factor, 2),
            "ratios_before": [round(ratio, 3) for ratio in self.before.ratios],
            "ratios_after": [round(ratio, 3) for ratio in self.after.ratios],
            "compiled_seconds_factor": round(self.seconds, 2),
            "counts": {name: list(both) for name, both in self.changed_counts.items()},
        }


def is_slower(before: SpeedLine | None, after: SpeedLine | None) -> bool | None:
    """Return whether a bench is slower in a release than in another; None where one of them has no times.

    Args:
        before: in the one release.
        after: in the other.
    """
    if before is None or after is None or not before.ratios or not after.ratios:
        return None
    return min(after.ratios) >= SLOWER * max(before.ratios)


def slower_steps(speeds: Speeds, since: str = "") -> Iterator[Slower]:
    """Yield where benches became slower between neighbours among the measured releases that can say.

    Args:
        speeds: of the journal.
        since: a moment in UTC, ISO 8601; the newer line was begun then or later.
    """
    for lines in speeds.values():
        able = [line for line in lines.values() if line.ratios]
        for before, after in pairwise(able):
            if is_slower(before, after) and after.started >= since:
                yield Slower(before, after)


def in_words(steps: Sequence[Slower]) -> Iterator[str]:
    """Yield what became slower in words, the most first.

    Args:
        steps: from `slower_steps`.
    """
    for step in sorted(steps, key=lambda step: -step.factor):
        yield (
            f"{step.after.case} {step.after.bench}: torch {step.after.release} takes {step.factor:.1f} times as long "
            f"beside eager as {step.before.release} ({step.before.spread}, then {step.after.spread}; "
            f"a compiled call {step.seconds:.1f} times{', as eager became faster' if step.seconds < SLOWER else ''})"
        )
        if step.changed_counts:
            counts = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in step.changed_counts.items())
            yield f"  {counts}"


def search(releases: Sequence[str], line_of: Callable[[str], SpeedLine | None]) -> Search[str]:
    """Find the release in which a bench became slower than in the first.

    Args:
        releases: oldest first.
        line_of: measures in a release, or knows; asked only for those that decide.
    """
    first = line_of(releases[0])

    def probe(release: str) -> State:
        slower = is_slower(first, line_of(release))
        return State.UNKNOWN if slower is None else State.BUG if slower else State.NO_BUG

    return bisect(releases, probe)
