"""What the pages show: counts, groups, stretches of equal results, comparisons. `render` makes files of it."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pt2bugs.backends.measured import Measured
from pt2bugs.backends.reach import reproduction
from pt2bugs.backends.report import Answer
from pt2bugs.bisect.compare import (
    Change,
    Comparison,
    Difference,
    change_between,
    describe_finding,
    health_of,
    identity_of,
)
from pt2bugs.bisect.evidence import Finding
from pt2bugs.bisect.search import Transition
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, judge, public
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation, telling_line
from pt2bugs.case.words import Verdict
from pt2bugs.report.history import History, MatrixCell
from pt2bugs.report.trends import Trends
from pt2bugs.results.matrix import backend_folder, mixed_builds
from pt2bugs.results.record import Record
from pt2bugs.results.tables import version_key

REPOSITORY = "https://github.com/pt2bugs/pt2bugs"
_COMMIT = re.compile(r"[0-9a-f]{40}")
QUIET = (Change.STILL, Change.FINE, Change.UNSURE)
"""Changes that are folded away at first."""


@dataclass(frozen=True)
class Site:
    """What the pages show: `cases` in order, the rows of the matrix, and the backends that no header names."""

    cases: Sequence[Case]
    histories: Sequence[History]
    backends: Sequence[Measured] = ()

    @cached_property
    def releases(self) -> list[str]:
        """In version order."""
        return list(self.histories[0].releases) if self.histories else []

    @cached_property
    def newest_first(self) -> list[str]:
        return self.releases[::-1]

    @cached_property
    def bugs(self) -> list[Case]:
        """The documented bugs; those of devices that were never measured are not counted among them."""
        return [case for case in self.cases if not case.guard and not case.unmeasured]

    @cached_property
    def guards(self) -> list[Case]:
        """Cases that are expected to pass everywhere: no bugs, counted apart and shown last."""
        return [case for case in self.cases if case.guard]

    @cached_property
    def trends(self) -> Trends:
        return Trends.of(self.histories, self.releases)

    @cached_property
    def builds(self) -> dict[str, str]:
        """The local part of each release's version, as ``+cpu``; empty for plain builds."""
        found: dict[str, set[str]] = {}
        for history in self.histories:
            for release, matrix_cell in history.matrix_cells.items():
                _, plus, local = matrix_cell.record["torch"].partition("+")
                found.setdefault(release, set()).add(plus + local)
        return {release: " ".join(sorted(found[release])) for release in self.releases}

    @property
    def mixed_builds(self) -> str:
        """One sentence if builds of different kinds stand side by side, else empty."""
        return mixed_builds({release: build.split() or [""] for release, build in self.builds.items()})

    @property
    def groups(self) -> list[tuple[str, list[History]]]:
        """The rows by component, guards in a group of their own at the end."""

        def name_of(history: History) -> str:
            return "" if history.cell.case.guard else history.cell.case.component

        rows = sorted(self.histories, key=lambda one: (name_of(one) == "", name_of(one)))
        return [(name, list(group)) for name, group in groupby(rows, key=name_of)]

    @cached_property
    def components(self) -> list[str]:
        """Every component that has a case, by name."""
        return sorted({case.component for case in self.cases})

    def of_component(self, name: str) -> Site:
        """The part of one component; its releases are those of the whole."""
        return Site(
            [case for case in self.cases if case.component == name],
            [history for history in self.histories if history.cell.case.component == name],
        )

    @property
    def unmeasured(self) -> list[Case]:
        """Cases without a row."""
        measured = {history.cell.case.id for history in self.histories}
        return [case for case in self.cases if case.id not in measured]

    @cached_property
    def measured_devices(self) -> set[str]:
        """The devices on which any check has an answer; a check that was skipped has none."""
        records = (matrix_cell.record for history in self.histories for matrix_cell in history.matrix_cells.values())
        return {record["device"] for record in records if record["verdict"] not in (Verdict.SKIP, Verdict.ERROR)}

    @property
    def unmeasured_devices(self) -> list[str]:
        """Devices that headers name, and that nothing was measured on."""
        return sorted({device for case in self.cases for device in case.devices} - self.measured_devices)

    def device_text(self, case: Case) -> str:
        """The devices that the header of a case names, and which of them nothing was measured on."""
        absent = self.unmeasured_devices
        return ", ".join(f"{device} (not measured)" if device in absent else device for device in case.devices)

    @property
    def backend_rows(self) -> list[tuple[str, list[BackendRow]]]:
        """The checks that any of the backends has a cell for, by component, with what each backend says."""
        found: dict[tuple[str, str, str], BackendRow] = {}
        for backend in self.backends:
            for answer in backend.answers:
                case, check = answer.cell.case, answer.cell.check.name
                row = found.setdefault((case.component, case.id, check), BackendRow(case, check, {}))
                row.answers[backend.name] = answer
        rows = [found[key] for key in sorted(found)]
        return [(name, list(group)) for name, group in groupby(rows, key=lambda row: row.case.component)]

    def of_case(self, case: Case) -> list[History]:
        return [history for history in self.histories if history.cell.case.id == case.id]

    def counts(self, release: str | None = None) -> dict[str, int]:
        """Checks by verdict in a release, or cells in all; ``""`` counts those not run. Sums to all there are."""
        releases = self.releases if release is None else [release]
        return dict(
            Counter(
                history.matrix_cells[name].record["verdict"] if name in history.matrix_cells else ""
                for history in self.histories
                for name in releases
            )
        )

    @cached_property
    def compared(self) -> str:
        """The newest earlier release that the newest one can be compared with; the last one if there is none."""
        newest, *earlier = self.newest_first or [""]
        for release in earlier:
            if not Comparison(release, newest, self.changes_between(release, newest)).is_unanswered:
                return release
        return earlier[0] if earlier else ""

    @cached_property
    def newest_changes(self) -> list[tuple[Change, list[Difference]]]:
        """What the newest release changed against `compared`, worst first; every check is in one group."""
        if not self.compared:
            return []
        differences = self.changes_between(self.compared, self.releases[-1])
        return [(change, [one for one in differences if one.change is change]) for change in Change]

    def changes_between(self, before: str, after: str) -> list[Difference]:
        """What a move does to every check."""
        return [Difference(history.cell, history.finding(before), history.finding(after)) for history in self.histories]

    @cached_property
    def measured_until(self) -> str:
        """The day of the newest measurement, ISO 8601."""
        return max(
            (matrix_cell.record["started"] for h in self.histories for matrix_cell in h.matrix_cells.values()),
            default="",
        )[:10]

    def search_texts(self) -> list[str]:
        """For each row in the order of the page, what a search for words of a failure finds it by."""
        return [search_text(history) for _, group in self.groups for history in group]

    def comparison(self) -> dict[str, Any]:
        """What the page that compares needs, so that it decides nothing itself.

        Per check: `kinds`, what a release does with it as a number, and `changes[before][after]` between these
        numbers, an index into the names of the changes. `seen` is an index into `texts`.
        """
        texts: dict[str, int] = {}
        checks = []
        for history in self.histories:
            findings = [history.finding(release) for release in self.releases]
            kinds, changes = _changes(findings)
            descriptions = [telling_line(describe_finding(finding))[:200] for finding in findings]
            checks.append(
                {
                    "name": label(history),
                    "title": history.cell.case.title,
                    "href": f"{case_href(history.cell.case)}#{history.anchor}",
                    "kinds": kinds,
                    "changes": changes,
                    "seen": [texts.setdefault(description, len(texts)) for description in descriptions],
                }
            )
        names = {"names": list(map(str, Change)), "quiet": [str(change) for change in QUIET]}
        return {"releases": self.releases, **names, "checks": checks, "texts": list(texts)}


@dataclass(frozen=True)
class BackendRow:
    """A check, and what the backends say of it, by their names."""

    case: Case
    check: str
    answers: dict[str, Answer]


def backend_href(backend: Measured) -> str:
    """The page of a backend, from the top of the site."""
    return f"backend/{quote(backend_folder(backend.name))}.html"


def answer_anchor(answer: Answer) -> str:
    """Names the answer within the page of its backend."""
    return re.sub(r"[^\w.+-]", "_", f"{answer.cell.case.id}-{answer.cell.check.name}-{answer.cell.device}")


def backend_command(backend: Measured) -> str:
    """The command that measures a backend again."""
    known = backend.known
    own = [] if known and set(backend.extras) <= {known.extra, *known.packages} else backend.extras
    packages = [word for extra in own for word in ("--with", extra.partition("@")[0])]
    return shlex.join(["pt2bugs", "backend", backend.name, "--torch", backend.torch, *packages])


def _changes(findings: Sequence[Finding | None]) -> tuple[list[int], list[list[int]]]:
    """Numbers for findings that compare alike, and the change between each two of these numbers."""
    kinds: dict[Hashable, int] = {}
    examples: list[Finding | None] = []
    numbers = []
    for finding in findings:
        kind = finding and (health_of(finding), identity_of(finding), finding.is_flaky, finding.runs, finding.sightings)
        if kind not in kinds:
            kinds[kind] = len(examples)
            examples.append(finding)
        numbers.append(kinds[kind])
    order = list(Change)
    return numbers, [[order.index(change_between(a, b)) for b in examples] for a in examples]


def label(history: History) -> str:
    """A row's name."""
    extras = f" +{history.extras}" if history.extras else ""
    return f"{history.cell.case.id}::{history.cell.name}{extras}"


def case_href(case: Case) -> str:
    """The page of a case, from the top of the site."""
    return f"case/{quote(case.id)}.html"


def shown_path(case: Case) -> str:
    """The file as a reader of the repository would name it; no path of this machine."""
    return case.path.name if case.path.is_absolute() else case.path.as_posix()


def source_href(case: Case) -> str:
    """The address of the file in the repository; empty for a case of another corpus."""
    path = case.path.as_posix()
    return "" if case.path.is_absolute() or not path.startswith("cases/") else f"{REPOSITORY}/blob/main/{quote(path)}"


def reason(case: Case, record: Record) -> str:
    """Why a line has its verdict, by today's header; empty where the verdict says it all."""
    if record["verdict"] not in (Verdict.FAIL, Verdict.XPASS) or not record["torch"]:
        return ""
    where = Where(public(record["torch"]), record["python"], record["device"], record["backend"])
    named = replace(case, path=Path(shown_path(case)))
    return judge(named, record["check"], where, Observation.from_dict(record)).reason


def reproduce(history: History, release: str) -> str:
    """The command that runs a cell again."""
    return reproduce_cell(history.cell, release, history.matrix_cells[release].record["extras"])


def reproduce_cell(cell: Cell, release: str, extras: Iterable[str]) -> str:
    """The command that runs a cell of an environment with these extras again."""
    return shlex.join([*reproduction(cell.key, release, extras), "--rerun"])


def commits_between(history: History, transition: Transition[str]) -> str:
    """The address of the commits of PyTorch between both sides; empty if they are not known."""
    before, after = (history.matrix_cells[side].record["torch_git"] for side in (transition.before, transition.after))
    if not (_COMMIT.fullmatch(before) and _COMMIT.fullmatch(after)):
        return ""
    return f"https://github.com/pytorch/pytorch/compare/{before}...{after}"


def aria(matrix_cell: MatrixCell | None) -> str:
    """A cell's verdict in words."""
    return matrix_cell.value.replace(":", " ") if matrix_cell else "not run"


def search_text(history: History) -> str:
    """What a search for words of a failure finds the row by, in lower case."""
    records = [matrix_cell.record for matrix_cell in history.matrix_cells.values()]
    parts = [
        text
        for record in records
        for text in (record["error_type"], record["signal"], telling_line(record["message"])[:300], record["frame"])
    ]
    return " ".join(dict.fromkeys(text.lower() for text in parts if text))


@dataclass(frozen=True)
class Stretch:
    """Neighbouring releases, the newest first, in which a check did the same. `lines` are all their results."""

    releases: Sequence[str]
    lines: Sequence[tuple[str, Record]]

    @property
    def shown(self) -> Record:
        """The result of the newest release."""
        return self.lines[0][1]

    @property
    def span(self) -> str:
        first, last = self.releases[-1], self.releases[0]
        return last if first == last else f"{first} to {last}"


def stretches(history: History) -> list[Stretch]:
    """The results of a row, the newest first; equal neighbours are one stretch."""
    found: list[Stretch] = []
    for release in sorted(history.matrix_cells, key=version_key, reverse=True):
        matrix_cell = history.matrix_cells[release]
        lines = [(release, record) for record in (matrix_cell.record, *matrix_cell.others)]
        if found and len(lines) == 1 and len(found[-1].lines) == len(found[-1].releases):
            before = found[-1]
            if _comparable(history, before.shown) == _comparable(history, matrix_cell.record):
                found[-1] = Stretch([*before.releases, release], [*before.lines, *lines])
                continue
        found.append(Stretch([release], lines))
    return found


def _comparable(history: History, record: Record) -> tuple[str, ...]:
    """What makes two results the same to a reader; addresses and counts in a message do not."""
    line = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "0", telling_line(record["message"]))
    return record["verdict"], record["outcome"], record["error_type"], record["signal"], line


def reflowed(text: str) -> str:
    """`text` with the lines of a paragraph joined; blank lines, indented lines and list items stay."""
    flowed: list[str] = []
    joins = False
    for line in text.splitlines():
        is_prose = bool(line.strip()) and not line[0].isspace() and not re.match(r"([-*+]|\d+[.)])\s", line)
        if is_prose and joins:
            flowed[-1] += f" {line.strip()}"
        else:
            flowed.append(line.rstrip())
        joins = bool(line.strip()) and not line[0].isspace()
    return "\n".join(flowed)
