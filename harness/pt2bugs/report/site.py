"""The static site: pages that open from the file system, without a server and without a network.

Texts of cases and failures are data: every template escapes what it prints, and scripts write text only
(that the links of a header are web addresses, its reader has checked). The same results give the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from pt2bugs import __version__
from pt2bugs.bisect.compare import Change, Difference, change_between, health_of, identity_of, seen_in_words
from pt2bugs.bisect.evidence import Finding
from pt2bugs.bisect.search import Transition
from pt2bugs.case.expectation import Where, judge, public
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Verdict
from pt2bugs.files import write_bytes
from pt2bugs.report.history import History, Square
from pt2bugs.report.style import LOOKS, OUTCOME_LETTERS, look_of
from pt2bugs.results.record import Record

MARK = '<meta name="generator" content="pt2bugs">'
"""Every page has it: so a later report knows which pages of an earlier one it may remove."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
QUIET = (Change.STILL, Change.FINE, Change.UNSURE)
"""Changes that are folded away at first."""


@dataclass(frozen=True)
class Site:
    """What the pages show: `cases` in order, and the rows of the matrix."""

    cases: Sequence[Case]
    histories: Sequence[History]

    @cached_property
    def releases(self) -> list[str]:
        """In version order."""
        return list(self.histories[0].releases) if self.histories else []

    @property
    def groups(self) -> list[tuple[str, list[History]]]:
        """The rows by component."""
        rows = sorted(self.histories, key=lambda history: history.cell.case.component)
        return [(name, list(group)) for name, group in groupby(rows, key=lambda history: history.cell.case.component)]

    @property
    def unmeasured(self) -> list[Case]:
        """Cases without a row."""
        measured = {history.cell.case.id for history in self.histories}
        return [case for case in self.cases if case.id not in measured]

    def of_case(self, case: Case) -> list[History]:
        return [history for history in self.histories if history.cell.case.id == case.id]

    def counts(self, release: str | None = None) -> dict[str, int]:
        """Checks by verdict in a release, or cells in all; ``""`` counts those not run. Sums to all there are."""
        releases = self.releases if release is None else [release]
        return dict(
            Counter(
                history.squares[name].record["verdict"] if name in history.squares else ""
                for history in self.histories
                for name in releases
            )
        )

    @cached_property
    def newest_changes(self) -> list[tuple[Change, list[Difference]]]:
        """What the newest release changed against the one before, worst first; every check is in one group."""
        if len(self.releases) < 2:
            return []
        before, after = self.releases[-2:]
        differences = [
            Difference(history.cell, history.finding(before), history.finding(after)) for history in self.histories
        ]
        return [(change, [one for one in differences if one.change is change]) for change in Change]

    @cached_property
    def measured_until(self) -> str:
        """The day of the newest measurement, ISO 8601."""
        return max((square.record["started"] for h in self.histories for square in h.squares.values()), default="")[:10]

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
            words = [first_line(seen_in_words(finding)) for finding in findings]
            checks.append(
                {
                    "name": label(history),
                    "title": history.cell.case.title,
                    "href": f"{case_href(history.cell.case)}#{history.anchor}",
                    "kinds": kinds,
                    "changes": changes,
                    "seen": [texts.setdefault(word, len(texts)) for word in words],
                }
            )
        names = {"names": list(map(str, Change)), "quiet": [str(change) for change in QUIET]}
        return {"releases": self.releases, **names, "checks": checks, "texts": list(texts)}


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


def reason(case: Case, record: Record) -> str:
    """Why a line has its verdict, by today's header; empty where the verdict says it all."""
    if record["verdict"] not in (Verdict.FAIL, Verdict.XPASS) or not record["torch"]:
        return ""
    where = Where(public(record["torch"]), record["python"], record["device"], record["backend"])
    named = replace(case, path=Path(shown_path(case)))
    return judge(named, record["check"], where, Observation.from_dict(record)).reason


def reproduce(history: History, release: str) -> str:
    """The command that runs a cell again."""
    case, _, device, backend = history.cell.key
    extra = "".join(f" --extra {name}" for name in history.extras.split("+") if name)
    return f"pt2bugs run {case} --torch {release} --device {device} --backend {backend}{extra} --rerun"


def commits_between(history: History, transition: Transition[str]) -> str:
    """The address of the commits of PyTorch between both sides; empty if they are not known."""
    before, after = (history.squares[side].record["torch_git"] for side in (transition.before, transition.after))
    if not (_COMMIT.fullmatch(before) and _COMMIT.fullmatch(after)):
        return ""
    return f"https://github.com/pytorch/pytorch/compare/{before}...{after}"


def aria(square: Square | None) -> str:
    """A cell's verdict in words."""
    return square.value.replace(":", " ") if square else "not run"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:200]


def reflowed(text: str) -> str:
    """`text` without the line breaks that were only there because the next word did not fit."""
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    flowed: list[str] = []
    previous = ""
    for line in lines:
        next_word = line.split(maxsplit=1)[0] if line.strip() else ""
        if next_word and not line[0].isspace() and previous and len(previous) + 1 + len(next_word) > width:
            flowed[-1] += f" {line}"
        else:
            flowed.append(line)
        previous = line
    return "\n".join(flowed)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pt2bugs.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "label": label,
        "aria": aria,
        "first_line": first_line,
        "reflowed": reflowed,
    }
    environment.globals |= {
        "mark": MARK,
        "version": __version__,
        "looks": LOOKS,
        "letters": OUTCOME_LETTERS,
        "look_of": look_of,
        "case_href": case_href,
        "shown_path": shown_path,
        "reason": reason,
        "reproduce": reproduce,
        "commits_between": commits_between,
        "quiet": QUIET,
    }
    return environment


def render(site: Site) -> dict[str, str]:
    """Every file of the site by its path from the top."""
    environment = _environment()

    def page(template: str, **values: Any) -> str:
        return environment.get_template(template).render(site=site, **values)

    assert environment.loader is not None
    files = {"style.css": page("style.css.j2")}
    for script in ("matrix.js", "compare.js", "case.js"):
        files[script] = environment.loader.get_source(environment, script)[0]
    for case in site.cases:
        program = case.path.read_text(encoding="utf-8", errors="replace")
        files[f"case/{case.id}.html"] = page("case.html.j2", case=case, histories=site.of_case(case), program=program)
    files["compare.html"] = page("compare.html.j2")
    files["index.html"] = page("index.html.j2")
    return files


def write_site(folder: Path, files: dict[str, str]) -> None:
    """Write the files, each whole, the first page last; pages of cases that are gone are removed.

    Raises:
        OSError: the folder cannot be written.
    """
    for path, text in files.items():
        write_bytes(folder / path, text.encode())
    for page in _pages(folder / "case"):
        if f"case/{page.name}" not in files:
            page.unlink()


def _pages(folder: Path) -> Iterable[Path]:
    """The pages in a folder that a report has written."""
    return [page for page in sorted(folder.glob("*.html")) if MARK.encode() in page.read_bytes()[:1000]]
