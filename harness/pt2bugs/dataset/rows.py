"""The rows of the tables, as queries over histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pt2bugs.case.corpus import roots_of
from pt2bugs.case.model import Case
from pt2bugs.case.operators import operators
from pt2bugs.case.toml import parse_toml
from pt2bugs.isolate import fixes
from pt2bugs.results.history import History, Life, State, seen_state
from pt2bugs.results.journal import Record
from pt2bugs.results.line import cell_key, version_key

Row = dict[str, Any]
Isolation = Mapping[str, Any]


def release_days() -> dict[str, date]:
    """Return the day on which each known release was published."""
    return dict(parse_toml((files("pt2bugs.dataset") / "releases.toml").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Bug:
    """A distinct bug: the cases of one root, the one that stands for them first, with their rows and isolations."""

    cases: Sequence[Case]
    rows: Sequence[History]
    isolations: Sequence[Isolation]

    @property
    def id(self) -> str:
        """The id of the case that stands for all."""
        return self.cases[0].id

    @cached_property
    def _telling(self) -> Sequence[History]:
        """The rows that tell its life: those of torch alone, where there are such."""
        return [row for row in self.rows if row.is_own] or self.rows

    @cached_property
    def life(self) -> Life | None:
        """Its life; None if no release can say."""
        return Life.of(self._telling) if any(row.decided for row in self._telling) else None

    @cached_property
    def isolation(self) -> Isolation | None:
        """The isolation of its fix that has the strongest evidence."""
        fixed = [isolation for isolation in self.isolations if isolation["direction"] == "fixed"]
        return max(fixed, key=lambda isolation: fixes.EVIDENCE.index(isolation["evidence"]), default=None)

    @property
    def units(self) -> list[str]:
        """The units of that isolation."""
        units = (self.isolation or {}).get("units") or ()
        return [f"{unit['file']}: {unit['qualname']}".removesuffix(": ") for unit in units]

    @cached_property
    def ties(self) -> set[str]:
        """The facts that two bugs must not share if they are to stand on two sides of a split."""
        tried = self.isolation is not None and self.isolation["evidence"] in ("patch", "proved")
        return {
            *(f"issue {case.issue}" for case in self.cases if case.issue),
            *(f"fix {case.fix}" for case in self.cases if case.fix),
            *([f"units {sorted(self.units)}"] if tried and self.units else []),
        }

    @property
    def seen(self) -> Record | None:
        """The line of the newest release that shows it."""
        if self.life is None or not self.life.open_in:
            return None
        last = self.life.open_in[-1]
        return next(row.findings[last].record for row in self._telling if row.state(last) is State.BUG)


def bugs_of(cases: Iterable[Case], corpus: Iterable[Case], rows: Iterable[History], results: Path) -> list[Bug]:
    """Return the distinct bugs of some cases, by id. Guards are none.

    Args:
        cases: the selected ones.
        corpus: all cases, which say what shares a root.
        rows: their histories.
        results: the folder that may have isolations.

    Raises:
        FixesError: an isolation cannot be read.
    """
    roots = roots_of(corpus)
    of_case: dict[str, list[History]] = defaultdict(list)
    for row in rows:
        of_case[row.cell.case.id].append(row)
    of_root: dict[str, list[Case]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: (case.id != roots[case.id], case.id)):
        if not case.guard:
            of_root[roots[case.id]].append(case)
    bugs = [
        Bug(
            members,
            [row for case in members for row in of_case[case.id]],
            [isolation for case in members for isolation in fixes.of_case(results, case.id)],
        )
        for members in of_root.values()
    ]
    return sorted(bugs, key=lambda bug: bug.id)


def groups_of(bugs: Sequence[Bug]) -> dict[str, str]:
    """Return by bug the least id of all that it is tied to, over any number of steps.

    Args:
        bugs: all of them.
    """
    group = {bug.id: bug.id for bug in bugs}
    of_tie: dict[str, list[str]] = defaultdict(list)
    for bug in bugs:
        for tie in sorted(bug.ties):
            of_tie[tie].append(bug.id)
    for tied in of_tie.values():
        joined = {group[id_] for id_ in tied}
        group = {id_: min(joined) if name in joined else name for id_, name in group.items()}
    return group


@dataclass(frozen=True)
class Tables:
    """The rows of `bugs` and `cells`."""

    bugs: Sequence[Bug]
    rows: Sequence[History]
    days: Mapping[str, date] = field(default_factory=release_days)

    @cached_property
    def bug_rows(self) -> list[Row]:
        """One row for each bug."""
        groups = groups_of(self.bugs)
        return [self._bug_row(bug, groups[bug.id]) for bug in self.bugs]

    def _bug_row(self, bug: Bug, group: str) -> Row:
        first, life, isolation = bug.cases[0], bug.life, bug.isolation or {}
        was_seen = life is not None and bool(life.open_in)
        fixed_in = life.until if life is not None else ""
        first_failing = life.open_in[0] if life is not None and was_seen else None
        last_failing = life.open_in[-1] if life is not None and was_seen else None
        row = {
            "bug": bug.id,
            "group": group,
            "cases": [case.id for case in bug.cases],
            "issue": first.issue,
            "issues": _distinct(case.issue for case in bug.cases),
            "title": first.title,
            "kind": first.kind,
            "component": first.component,
            "symptom": first.symptom,
            "labels": sorted({label for case in bug.cases for label in case.labels}),
            "devices": _distinct(device for case in bug.cases for device in case.devices),
            "backends": _distinct(backend for case in bug.cases for backend in case.backends),
            "operators": sorted({name for case in bug.cases for name in operators(_text(case))}),
            "flaky": any(row.is_flaky for row in bug.rows) or any(case.flaky for case in bug.cases),
            "first_failing": first_failing,
            "first_failing_on": self._day(first_failing),
            "last_failing": last_failing,
            "last_failing_on": self._day(last_failing),
            "left_censored": not life.since if life is not None and was_seen else None,
            "introduced_after": _introduced_after(life) if life is not None else None,
            "alive": life.is_open if life is not None else None,
            "fixed_in": fixed_in,
            "fixed_on": self._day(fixed_in),
            "intervals": [str(interval) for interval in life.intervals] if life is not None else [],
            "fix": next((case.fix for case in bug.cases if case.fix), None),
            "isolated_evidence": isolation.get("evidence"),
            "isolated_label": isolation.get("label"),
            "isolated_units": bug.units,
            "isolated_bad": isolation.get("bad"),
            "isolated_good": isolation.get("good"),
            "upstream": first.upstream,
            "upstream_seen": first.upstream_seen.isoformat() if first.upstream_seen else None,
            "reported_on": first.reported_on,
            "found_beside": first.found_beside,
            "program": program_path(first),
            "identity": _distinct(entry.identity for case in bug.cases for entry in case.bugs if not entry.blocked),
        }
        seen: Mapping[str, Any] = bug.seen or {}
        for name in ("outcome", "error_type", "message", "frame", "signal"):
            row[f"seen_{name}"] = seen.get(name)
        return {name: None if value == "" else value for name, value in row.items()}

    def _day(self, release: str | None) -> str | None:
        """Return the day on which a release was published."""
        day = self.days.get(release or "")
        return day.isoformat() if day else None

    @cached_property
    def cell_rows(self) -> list[Row]:
        """One row for each cell, guards included."""
        bug_of = {case.id: bug.id for bug in self.bugs for case in bug.cases}
        return [
            _cell_row(row, record, state, bug_of.get(row.cell.case.id))
            for row in self.rows
            for finding in row.findings.values()
            for record, state in (
                (finding.record, finding.state),
                *((other, seen_state(row.cell.case, other)) for other in finding.others),
            )
        ]


def program_path(case: Case) -> str:
    """Return where the data set has the program of a case.

    Args:
        case: which one.
    """
    return f"programs/{case.id}.py"


def _text(case: Case) -> str:
    return case.path.read_text(encoding="utf-8-sig")


def _distinct(values: Iterable[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _introduced_after(life: Life) -> str | None:
    """Return the last release before the bug; of several checks that came with it, the earliest such release."""
    before = [i.introduced_after for i in life.intervals if i.first == life.since and i.introduced_after]
    return min(before, key=version_key, default=None)


def _cell_row(row: History, record: Record, state: State, bug: str | None) -> Row:
    key = cell_key(record)
    values: Mapping[str, Any] = record
    return {
        "case": key.case,
        "bug": bug,
        "check": key.check,
        "device": key.device,
        "backend": key.backend,
        "extras": key.extras,
        "torch": key.torch,
        "torch_git": values["torch_git"] or None,
        "python": key.python,
        "platform": values["platform"] or None,
        "cpu_capability": values["cpu_capability"] or None,
        "outcome": values["outcome"],
        "verdict": values["verdict"],
        "state": str(state),
        **{name: values[name] or None for name in ("error_type", "message", "frame", "signal")},
        **{name: values[name] for name in ("graphs", "breaks", "kernels", "fallbacks")},
    }
