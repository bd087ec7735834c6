"""The numbers, groups and comparisons that the pages show. `render` makes files of them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pt2bugs.backends.answers import Answer
from pt2bugs.backends.measured import MeasuredBackend
from pt2bugs.backends.spec import reproduction
from pt2bugs.bisect.compare import (
    Change,
    Comparison,
    Difference,
    change_between,
    describe_finding,
    health_of,
)
from pt2bugs.case.cells import Cell, CheckName
from pt2bugs.case.expectation import Where, judge
from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation, shortened, telling_line
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.isolate import fixes
from pt2bugs.report.trends import Trends
from pt2bugs.results.folder import backend_folder
from pt2bugs.results.history import Finding, History, Transition, appearance, in_version_order
from pt2bugs.results.journal import Record
from pt2bugs.results.line import mixed_builds

_COMMIT = re.compile(r"[0-9a-f]{40}")
_ISSUE = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
QUIET = (Change.STILL, Change.FINE, Change.UNSURE)
"""Changes that are folded away at first."""


@dataclass(frozen=True)
class Site:
    """The contents of the pages: the cases in order, their histories, and the backends that no header names.

    `isolations` are the changes that fixed or broke a check, as `results/fixes` has them.
    """

    cases: Sequence[Case]
    histories: Sequence[History]
    backends: Sequence[MeasuredBackend] = ()
    isolations: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def releases(self) -> list[str]:
        """The releases that were measured, in version order."""
        return in_version_order({release for history in self.histories for release in history.findings})

    @cached_property
    def newest_first(self) -> list[str]:
        """The releases, the newest first."""
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
    def checks(self) -> set[CheckName]:
        """The checks that have a row; one that runs on several backends has several."""
        return {history.cell.key.which_check for history in self.histories}

    @cached_property
    def trends(self) -> Trends:
        """The numbers of bugs over the releases."""
        return Trends.of(self.histories, self.releases)

    @cached_property
    def builds(self) -> dict[str, str]:
        """The local part of each release's version, as ``+cpu``; empty for plain builds."""
        builds: dict[str, set[str]] = {}
        for history in self.histories:
            for release, finding in history.findings.items():
                _, plus, local = finding.record["torch"].partition("+")
                builds.setdefault(release, set()).add(plus + local)
        return {release: " ".join(sorted(builds[release])) for release in self.releases}

    @property
    def mixed_builds(self) -> str:
        """One sentence if builds of different kinds stand side by side, else empty."""
        return mixed_builds({release: build.split() or [""] for release, build in self.builds.items()})

    @property
    def groups(self) -> list[tuple[str, list[History]]]:
        """The rows by component, guards in a group of their own at the end."""

        def name_of(history: History) -> str:
            return "" if history.cell.case.guard else history.cell.case.component

        rows = sorted(self.histories, key=lambda history: (name_of(history) == "", name_of(history)))
        return [(name, list(group)) for name, group in groupby(rows, key=name_of)]

    @cached_property
    def components(self) -> list[str]:
        """Every component that has a case, by name."""
        return sorted({case.component for case in self.cases})

    def of_component(self, name: str) -> Site:
        """Return the part of one component.

        Args:
            name: the component.
        """
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
        records = (finding.record for history in self.histories for finding in history.findings.values())
        return {record["device"] for record in records if record["verdict"] not in (Verdict.SKIP, Verdict.ERROR)}

    @property
    def unmeasured_devices(self) -> list[str]:
        """Devices that headers name and that were never measured."""
        return sorted({device for case in self.cases for device in case.devices} - self.measured_devices)

    def device_text(self, case: Case) -> str:
        """Return the devices that the header of a case names, and which of them were never measured.

        Args:
            case: the case.
        """
        absent = self.unmeasured_devices
        return ", ".join(f"{device} (not measured)" if device in absent else device for device in case.devices)

    @property
    def backend_rows(self) -> list[tuple[str, list[BackendRow]]]:
        """The checks that any backend has a cell for, by component, with the answer of each backend."""
        by_check: dict[tuple[str, str, str], BackendRow] = {}
        for backend in self.backends:
            for answer in backend.answers:
                case, check = answer.cell.case, answer.cell.check.name
                row = by_check.setdefault((case.component, case.id, check), BackendRow(case, check, {}))
                row.answers[backend.name] = answer
        rows = [by_check[key] for key in sorted(by_check)]
        return [(name, list(group)) for name, group in groupby(rows, key=lambda row: row.case.component)]

    @cached_property
    def _by_case(self) -> dict[str, list[History]]:
        by_case: dict[str, list[History]] = {}
        for history in self.histories:
            by_case.setdefault(history.cell.case.id, []).append(history)
        return by_case

    def of_case(self, case: Case) -> list[History]:
        """Return the histories of a case.

        Args:
            case: the case.
        """
        return self._by_case.get(case.id, [])

    def causes(self, case: Case) -> list[str]:
        """Return the changes that are known to have fixed or broken a check of a case, each as a sentence.

        Args:
            case: the case.
        """
        of_case = (isolation for isolation in self.isolations if isolation["case"] == case.id)
        return list(dict.fromkeys(cause for isolation in of_case if (cause := fixes.cause(isolation))))

    @cached_property
    def named_causes(self) -> list[tuple[Case, Mapping[str, Any]]]:
        """The isolations that name what was changed, the strongest evidence first."""
        return [pair for pair in self.isolated if fixes.cause(pair[1])]

    @cached_property
    def without_cause(self) -> list[tuple[Case, Mapping[str, Any]]]:
        """The isolations that name nothing."""
        return [pair for pair in self.isolated if not fixes.cause(pair[1])]

    @cached_property
    def isolated(self) -> list[tuple[Case, Mapping[str, Any]]]:
        """The isolations with their cases, the strongest evidence first."""
        cases = {case.id: case for case in self.cases}
        pairs = [(cases[each["case"]], each) for each in self.isolations if each["case"] in cases]
        return sorted(pairs, key=lambda pair: (-fixes.EVIDENCE.index(pair[1]["evidence"]), pair[0].id))

    def counts(self, release: str | None = None) -> dict[str, int]:
        """Return the number of checks by verdict; ``""`` counts those that were not run.

        Args:
            release: the release; None counts the cells of all releases.
        """
        releases = self.releases if release is None else [release]
        return dict(
            Counter(
                history.findings[name].verdict if name in history.findings else ""
                for history in self.histories
                for name in releases
            )
        )

    @cached_property
    def compared(self) -> str:
        """The newest earlier release that the newest one can be compared with; the last one if there is none."""
        newest, *earlier = self.newest_first or [""]
        for release in earlier:
            if not self.compare(release, newest).is_unanswered:
                return release
        return earlier[0] if earlier else ""

    @cached_property
    def newest_changes(self) -> list[tuple[Change, list[Difference]]]:
        """The checks by their change from `compared` to the newest release, worst first, without empty groups."""
        if not self.compared:
            return []
        comparison = self.compare(self.compared, self.releases[-1])
        return [(change, differences) for change in Change if (differences := comparison.of(change))]

    def compare(self, before: str, after: str) -> Comparison:
        """Return what a move does to every check, as `pt2bugs compare` does.

        Args:
            before: the release to move from.
            after: the release to move to.
        """
        rows = self.compared_rows
        return Comparison(
            before, after, [Difference(row.cell, row.finding(before), row.finding(after)) for row in rows]
        )

    @cached_property
    def compared_rows(self) -> list[History]:
        """The rows about torch alone; all rows where the selection has none of these, as with `--backend openvino`."""
        return [row for row in self.histories if row.is_own] or list(self.histories)

    @cached_property
    def measured_until(self) -> str:
        """The day of the newest measurement, ISO 8601."""
        return max(
            (finding.record["started"] for h in self.histories for finding in h.findings.values()),
            default="",
        )[:10]

    def search_texts(self) -> list[str]:
        """Return the texts that a search looks into, a row each, in the order of the page."""
        return [search_text(history) for _, group in self.groups for history in group]

    def comparison(self) -> dict[str, Any]:
        """Return the data of the page that compares any two releases, which decides nothing itself.

        Returns:
            Per check `kinds`, a number for the finding of each release, and `changes[before][after]` between these
            numbers, an index into the names of the changes. `seen` is an index into `texts`.
        """
        texts: dict[str, int] = {}
        checks = []
        for history in self.compared_rows:
            findings = [history.finding(release) for release in self.releases]
            kinds, changes = _changes(findings)
            descriptions = [shortened(telling_line(describe_finding(finding)), 200) for finding in findings]
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
    """A check, and the answers of the backends by their names."""

    case: Case
    check: str
    answers: dict[str, Answer]


def backend_href(backend: MeasuredBackend) -> str:
    """Return the address of the page of a backend, from the top of the site.

    Args:
        backend: a measured backend.
    """
    return f"backend/{quote(backend_folder(backend.name))}.html"


def answer_anchor(answer: Answer) -> str:
    """Return the name of an answer within the page of its backend.

    Args:
        answer: of a backend.
    """
    return re.sub(r"[^\w.+-]", "_", f"{answer.cell.case.id}-{answer.cell.check.name}-{answer.cell.device}")


def backend_command(backend: MeasuredBackend) -> str:
    """Return the command that measures a backend again.

    Args:
        backend: a measured backend.
    """
    known = backend.known
    own = [] if known and set(backend.extras) <= {known.extra, *known.packages} else backend.extras
    packages = [word for extra in own for word in ("--with", extra.partition("@")[0])]
    return shlex.join(["pt2bugs", "backend", backend.name, "--torch", backend.torch, *packages])


def _changes(findings: Sequence[Finding | None]) -> tuple[list[int], list[list[int]]]:
    """Return a number for each finding, equal for those that compare alike, and the change between each two numbers."""
    kinds: dict[Hashable, int] = {}
    examples: list[Finding | None] = []
    numbers = []
    for finding in findings:
        # TYPE, as `change_between` compares.
        failure = Failure.of(finding.record) if finding else None
        kind = finding and (
            health_of(finding),
            failure and failure.fingerprint(Level.TYPE),
            finding.is_flaky,
            finding.runs,
            finding.sightings,
        )
        if kind not in kinds:
            kinds[kind] = len(examples)
            examples.append(finding)
        numbers.append(kinds[kind])
    order = list(Change)
    return numbers, [[order.index(change_between(a, b)) for b in examples] for a in examples]


def label(history: History) -> str:
    """Return the name of a row.

    Args:
        history: the row.
    """
    extras = f" +{history.extras}" if history.extras else ""
    return f"{history.cell.key}{extras}"


def case_href(case: Case) -> str:
    """Return the address of the page of a case, from the top of the site.

    Args:
        case: any case.
    """
    return f"case/{quote(case.id)}.html"


def shown_path(case: Case) -> str:
    """Return the path of a case as in its corpus; no path of this machine.

    Args:
        case: any case.
    """
    return case.path.name if case.path.is_absolute() else case.path.as_posix()


def short_address(address: str) -> str:
    """Return an address as a reader names it: ``#163640`` for an issue of PyTorch, ``owner/name#1`` for others.

    Args:
        address: any address; one that is no issue or pull request stays as it is.
    """
    match = _ISSUE.fullmatch(address)
    return f"{match[1].removeprefix('pytorch/pytorch')}#{match[2]}" if match else address


def reason(case: Case, record: Record) -> str:
    """Return why a line has its verdict, by today's header; empty where the verdict says it all.

    Args:
        case: the case of the line.
        record: a line of the journal.
    """
    if record["verdict"] not in (Verdict.FAIL, Verdict.XPASS) or not record["torch"]:
        return ""
    where = Where(public(record["torch"]), record["python"], record["device"], record["backend"])
    named = replace(case, path=Path(shown_path(case)))
    return judge(named, record["check"], where, Observation.from_dict(record)).reason


def reproduce(history: History, release: str) -> str:
    """Return the command that runs a cell again.

    Args:
        history: the row.
        release: one that was measured.
    """
    return reproduce_cell(history.cell, release, history.findings[release].record["extras"])


def reproduce_cell(cell: Cell, release: str, extras: Iterable[str]) -> str:
    """Return the command that runs a cell again in an environment with some extras.

    Args:
        cell: the cell.
        release: a public version.
        extras: what was installed beside torch.
    """
    return shlex.join([*reproduction(cell.key, release, extras), "--rerun"])


def commits_between(history: History, transition: Transition[str]) -> str:
    """Return the address of PyTorch's commits between both sides; empty if they are not known.

    Args:
        history: the row.
        transition: one of its transitions.
    """
    before, after = (history.findings[side].record["torch_git"] for side in (transition.before, transition.after))
    if not (_COMMIT.fullmatch(before) and _COMMIT.fullmatch(after)):
        return ""
    return f"https://github.com/pytorch/pytorch/compare/{before}...{after}"


def aria(finding: Finding | None) -> str:
    """Return the verdict of a cell in words.

    Args:
        finding: of a release; None if it was not measured.
    """
    return finding.value.replace(":", " ") if finding else "not run"


def search_text(history: History) -> str:
    """Return the text that a search looks into, in lower case: the explanation of the case and all failures.

    Args:
        history: the row.
    """
    records = [finding.record for finding in history.findings.values()]
    parts = [history.cell.case.doc]
    parts += [
        text
        for record in records
        for text in (record["error_type"], record["signal"], telling_line(record["message"])[:300], record["frame"])
    ]
    return " ".join(dict.fromkeys(text.lower() for text in parts if text))


@dataclass(frozen=True)
class Stretch:
    """Neighbouring releases, the newest first, with the same result. `lines` are all their results."""

    releases: Sequence[str]
    lines: Sequence[tuple[str, Record]]

    @property
    def shown(self) -> Record:
        """The result of the newest release."""
        return self.lines[0][1]

    @property
    def span(self) -> str:
        """The releases in words."""
        first, last = self.releases[-1], self.releases[0]
        return last if first == last else f"{first} to {last}"


def stretches(history: History) -> list[Stretch]:
    """Return the results of a row, the newest first; equal neighbours are one stretch.

    Args:
        history: the row.
    """
    runs: list[Stretch] = []
    for release in reversed(history.releases):
        finding = history.findings[release]
        lines = [(release, record) for record in (finding.record, *finding.others)]
        if runs and len(lines) == 1 and len(runs[-1].lines) == len(runs[-1].releases):
            newer = runs[-1]
            if appearance(newer.shown) == appearance(finding.record):
                runs[-1] = Stretch([*newer.releases, release], [*newer.lines, *lines])
                continue
        runs.append(Stretch([release], lines))
    return runs


def reflowed(text: str) -> str:
    """Return text with the lines of a paragraph joined; blank lines, indented lines and list items stay.

    Args:
        text: of a docstring.
    """
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
