"""Builds of torch that are no release yet: the words ``nightly:2026-01-01..2026-03-01`` and ``next`` of ``--torch``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from packaging.version import Version

PREFIX = "nightly:"
EXAMPLE = "nightly:2026-01-01..2026-03-01"


@dataclass(frozen=True)
class Nightlies:
    """The nightly builds from `first` to `last`, both included. An index may lack any of the days."""

    first: date
    last: date

    @classmethod
    def parse(cls, spec: str) -> Nightlies:
        """The days that a word means; one day alone is ``nightly:2026-01-01``.

        Raises:
            ValueError: a date is none, or the last day is before the first; the message says which.
        """
        first, separator, last = spec.removeprefix(PREFIX).partition("..")
        days = cls(_date(first), _date(last) if separator else _date(first))
        if days.last < days.first:
            raise ValueError(f"{days.last} is before {days.first}")
        return days

    def contains(self, version: Version) -> bool:
        day = day_of(version)
        return day is not None and self.first <= day <= self.last


def upcoming(versions: Iterable[Version]) -> list[Version]:
    """What ``next`` means of these: the newest nightly, and the release candidates of what is not released yet."""
    found = sorted(versions)
    released = [version for version in found if not version.is_prerelease]
    nightlies = [version for version in found if day_of(version) is not None]
    newest = max(nightlies, key=lambda version: (day_of(version), version), default=None)
    last = max(released, default=Version("0"))
    candidates = [version for version in found if version.pre and version.dev is None and version > last]
    return [*candidates, *([newest] if newest is not None and newest > last else [])]


def day_of(version: Version) -> date | None:
    """The day of a nightly build, which is the number of its development release: ``2.11.0.dev20260115``."""
    if version.dev is None:
        return None
    try:
        return datetime.strptime(str(version.dev), "%Y%m%d").date()
    except ValueError:
        return None


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date as 2026-01-31") from None
