"""The corpus as a Markdown page: its numbers, the areas that it covers, how long bugs live, and every case."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from pt2bugs.case.cells import cells_of
from pt2bugs.case.corpus import roots_of
from pt2bugs.case.header import decode, find_block
from pt2bugs.case.model import Case
from pt2bugs.case.private import private_components
from pt2bugs.case.toml import parse_toml
from pt2bugs.case.vocabulary import COMPONENTS, KINDS, SYMPTOMS, UPSTREAM, Outcome, Verdict
from pt2bugs.report.markdown import link
from pt2bugs.report.templates import markdown_templates
from pt2bugs.report.trends import Trends
from pt2bugs.results.history import History, Life, State, in_version_order
from pt2bugs.results.line import version_key

ABOUT = "ABOUT.md"
"""File beside the case folders: how the cases were chosen, written by a person."""
LEFT_OUT = "left_out.toml"
"""File beside the case folders: documented bugs that are no cases, and why. One ``[id]`` table each."""


def corpus_page(cases: Sequence[Case], rows: Sequence[History], roots: Iterable[Path]) -> str:
    """Return the page.

    Args:
        cases: the corpus.
        rows: its histories.
        roots: the folders of the corpus, which may hold `ABOUT` and `LEFT_OUT`.
    """
    roots = list(roots)
    components = (*COMPONENTS, *private_components())
    census = Census(cases, rows)
    of_case: dict[str, list[History]] = {}
    for row in rows:
        of_case.setdefault(row.cell.case.id, []).append(row)
    lives = [
        {"case": case, "life": _describe_life(case, of_case.get(case.id, []), census)}
        for case in sorted(cases, key=lambda case: (components.index(case.component), case.id))
    ]
    counts = Counter((case.component, case.symptom) for case in census.counted)
    waiting = {area.name: len(of_area) for area, of_area in cases_by_area(census.waiting)}
    return (
        markdown_templates()
        .get_template("corpus.md.j2")
        .render(
            rows=lives,
            cases=cases,
            components=[name for name in components if any(case.component == name for case in census.counted)],
            symptoms=SYMPTOMS,
            counts=counts,
            census=census,
            areas=[
                (
                    area,
                    len(of_area),
                    sum(case.id in census.seen_failing for case in of_area),
                    waiting[area.name],
                )
                for area, of_area in cases_by_area(census.counted)
            ],
            enough=ENOUGH,
            about=_about(roots),
            left_out=_left_out(roots),
            link=link,
        )
    )


def _describe_life(case: Case, rows: Sequence[History], census: Census) -> str:
    if case.guard:
        return f"guard: {Life.of(rows).sentence if rows else 'not measured'}"
    if not rows:
        devices = [device for device in case.devices if case.id not in census.measured_devices.get(device, ())]
        return f"not measured on {', '.join(devices)}"
    return Life.of(rows).sentence


def _about(roots: Iterable[Path]) -> str:
    paths = (root / ABOUT for root in roots)
    return "\n\n".join(path.read_text(encoding="utf-8").strip() for path in paths if path.is_file())


def _left_out(roots: Iterable[Path]) -> list[tuple[str, dict[str, str]]]:
    paths = [path for root in roots if (path := root / LEFT_OUT).is_file()]
    cases = {id_: facts for path in paths for id_, facts in parse_toml(path.read_text(encoding="utf-8")).items()}
    return sorted(cases.items())


# --- numbers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Census:
    """Numbers of a corpus by its cases and their histories."""

    cases: Sequence[Case]
    rows: Sequence[History]

    @cached_property
    def releases(self) -> list[str]:
        """The releases that were measured, in version order."""
        return in_version_order({release for row in self.rows for release in row.findings})

    @cached_property
    def cells_by_release(self) -> list[tuple[str, int, int]]:
        """The cells of each release that gave an answer on the CPU, and those that were skipped."""
        answers: Counter[str] = Counter()
        skips: Counter[str] = Counter()
        for row in self.rows:
            for release, finding in row.findings.items():
                if row.cell.device == "cpu" and finding.verdict != Verdict.ERROR:
                    (skips if finding.verdict == Verdict.SKIP else answers)[release] += 1
        return [(release, answers[release], skips[release]) for release in self.releases]

    @cached_property
    def cpu_cells(self) -> tuple[int, int]:
        """The number of cells that each release has on the CPU, and that of those that need an extra's packages."""
        extras = [bool(case.extra) for case in self.cases for cell in cells_of(case, ("cpu",)) if cell.device == "cpu"]
        return extras.count(False), extras.count(True)

    @cached_property
    def machines(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """The values of each fact that differs between the lines of the CPU, the most frequent first."""
        records = [f.record for row in self.rows if row.cell.device == "cpu" for f in row.findings.values()]
        facts = ("device_name", "cpu_capability", "python", "harness")
        return [(fact, Counter(str(r.get(fact) or "not said") for r in records).most_common()) for fact in facts]

    @cached_property
    def guards(self) -> list[Case]:
        """Cases that are expected to pass everywhere."""
        return [case for case in self.cases if case.guard]

    @cached_property
    def gpu_cases(self) -> list[Case]:
        """Cases that make no sense on the CPU."""
        return [case for case in self.cases if "cpu" not in case.devices]

    @cached_property
    def waiting(self) -> list[Case]:
        """Cases for accelerators alone that no accelerator has measured yet."""
        measured = {id_ for ids in self.measured_devices.values() for id_ in ids}
        return [case for case in self.gpu_cases if case.id not in measured]

    @cached_property
    def counted(self) -> list[Case]:
        """The cases that the numbers are of: all but those that wait for an accelerator."""
        waiting = {case.id for case in self.waiting}
        return [case for case in self.cases if case.id not in waiting]

    @cached_property
    def kinds(self) -> list[tuple[str, int, int, list[int]]]:
        """For each kind, guards aside: the cases, those seen failing, and those whose issue has each state upstream."""
        groups = {kind: [case for case in self.counted if case.kind == kind and not case.guard] for kind in KINDS}
        return [
            (
                kind,
                len(group),
                sum(case.id in self.seen_failing for case in group),
                [sum(case.upstream == state for case in group) for state in UPSTREAM],
            )
            for kind, group in groups.items()
            if group
        ]

    @cached_property
    def also_cuda(self) -> list[Case]:
        """Cases for the CPU that run on CUDA, too."""
        return [case for case in self.cases if {"cpu", "cuda"} <= set(case.devices)]

    @cached_property
    def measured_devices(self) -> dict[str, set[str]]:
        """Ids of the cases that were measured on each device."""
        devices: dict[str, set[str]] = {}
        for row in self.rows:
            if any(finding.verdict != Verdict.ERROR for finding in row.findings.values()):
                devices.setdefault(row.cell.device, set()).add(row.cell.case.id)
        return devices

    @cached_property
    def seen_failing(self) -> set[str]:
        """Ids of the cases, guards aside, that a release was seen to fail as documented."""
        return {row.cell.case.id for row in self.rows if not row.cell.case.guard and State.BUG in row.states.values()}

    @cached_property
    def distinct_bugs(self) -> int:
        """Bugs of kind `bug` seen failing: cases that name each other as `same-fix` are one."""
        roots = roots_of(self.cases)
        return len({roots[case.id] for case in self.cases if case.kind == "bug" and case.id in self.seen_failing})

    @cached_property
    def same_fixes(self) -> list[Case]:
        """Cases that have their root in common with another one."""
        return [case for case in self.cases if case.same_fix]

    @cached_property
    def unseen(self) -> list[Case]:
        """Cases for the CPU that are no guards and were not seen failing yet."""
        left = (case for case in self.cases if not case.guard and "cpu" in case.devices)
        return [case for case in left if case.id not in self.seen_failing]

    @cached_property
    def without_fix(self) -> list[Case]:
        """Cases that were seen failing, do not fail any more, and name no fix."""
        return [life.case for life in self.trends.ended if not life.case.fix]

    @cached_property
    def outcomes(self) -> list[tuple[str, int]]:
        """The outcomes that entries document, the most frequent first; a case may have several."""
        ways = Counter(way for case in self.cases for way in {str(b.outcome) for b in case.bugs if not b.blocked})
        return ways.most_common()

    @cached_property
    def trends(self) -> Trends:
        """The lives of the bugs on the CPU."""
        return Trends.of([row for row in self.rows if row.cell.device == "cpu"], self.releases)

    @cached_property
    def lives(self) -> dict[str, object]:
        """Counts of bugs by their lives, and the median of the minor releases that had a bug which is gone."""
        lives = [life for life in self.trends.lives if life.open_in]
        first = self.releases[0] if self.releases else ""
        gone = [life for life in lives if not life.is_open]
        spans = [len({_minor(release) for release in life.open_in}) for life in gone]
        return {
            "seen": len(lives),
            "open": len(lives) - len(gone),
            "gone": len(gone),
            "from_first": sum(not life.introduced for life in lives),
            "censored": Counter(self._why_censored(life) for life in lives if not life.introduced),
            "came": sum(bool(life.introduced) for life in lives),
            "came_back": sum(len(life.introduced) > 1 or len(life.fixed) > 1 for life in lives),
            "median": f"{statistics.median(spans):g}" if spans else "",
            "spans": sorted(Counter(spans).items()),
            "first": first,
        }

    def _why_censored(self, life: Life) -> str:
        """Return why no release before the first one that shows a bug can say whether it has it, too.

        ``hidden``: another failure keeps a check from its bug there. ``absent``: an API that it needs does not exist
        there. ``oldest``: there is no older release.
        """
        first = version_key(life.open_in[0])
        before = [
            finding.record["outcome"]
            for row in self.rows
            if row.cell.case.id == life.case.id
            for release, finding in row.findings.items()
            if version_key(release) < first and finding.verdict == Verdict.SKIP
        ]
        return "hidden" if set(before) - {Outcome.SKIP} else "absent" if before else "oldest"


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


# --- areas ------------------------------------------------------------------------------------------

ENOUGH = 3
"""Cases that cover an area; the page names areas with fewer."""


@dataclass(frozen=True)
class Area:
    """An area of the compiler; `areas.toml` says which cases belong to it."""

    name: str
    labels: Sequence[str] = ()
    components: Sequence[str] = ()
    symptoms: Sequence[str] = ()
    uses: str = ""
    also_uses: str = ""

    def has(self, case: Case, program: str) -> bool:
        """Return whether a case belongs to the area.

        Args:
            case: the case.
            program: its file without the header and the docstring.
        """
        return (
            bool(set(self.labels) & set(case.labels))
            or case.component in self.components
            or case.symptom in self.symptoms
            or bool(self.uses and re.search(self.uses, program) and re.search(self.also_uses, program))
        )


@lru_cache
def known_areas() -> list[Area]:
    """Return all areas, in the order of `areas.toml`."""
    tables = parse_toml(Path(__file__).with_name("areas.toml").read_text(encoding="utf-8"))["area"]
    return [Area(**{key.replace("-", "_"): value for key, value in table.items()}) for table in tables]


def cases_by_area(cases: Sequence[Case]) -> list[tuple[Area, list[Case]]]:
    """Return the cases of each area; a case may be of several, or of none.

    Args:
        cases: the corpus.
    """
    programs = {case.id: _program_of(case) for case in cases}
    return [(area, [case for case in cases if area.has(case, programs[case.id])]) for area in known_areas()]


def _program_of(case: Case) -> str:
    text = decode(case.path.read_bytes())
    block = find_block(text)
    program = block.program if block else text
    return re.sub(r'\A\s*(""".*?"""|\'\'\'.*?\'\'\')', "", program, flags=re.DOTALL)
