"""The corpus as a Markdown page: what is in it and how much of it was measured, how long bugs live, every case."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import jinja2

from pt2bugs.bisect.search import Search, State
from pt2bugs.case.model import Case
from pt2bugs.case.words import COMPONENTS, SYMPTOMS
from pt2bugs.report.areas import ENOUGH, cases_by_area
from pt2bugs.report.census import Census, by_area
from pt2bugs.report.history import History
from pt2bugs.results.tables import version_key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ABOUT = "ABOUT.md"
"""Beside the case folders: how the cases were chosen, in words of a person."""
LEFT_OUT = "left_out.toml"
"""Beside the case folders: documented bugs that are no cases, and why. One ``[id]`` table each."""


def corpus_page(cases: Sequence[Case], rows: Sequence[History], roots: Iterable[Path]) -> str:
    """`rows` as made by `pt2bugs.report.history.histories`."""
    roots = list(roots)
    census = Census(cases, rows)
    of_case: dict[str, list[History]] = {}
    for row in rows:
        of_case.setdefault(row.cell.case.id, []).append(row)
    lives = [
        {"case": case, "life": _describe_life(case, of_case.get(case.id, []), census)}
        for case in sorted(cases, key=lambda case: (COMPONENTS.index(case.component), case.id))
    ]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pt2bugs.report"), trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    counts = Counter((case.component, case.symptom) for case in cases)
    return environment.get_template("corpus.md.j2").render(
        rows=lives,
        cases=cases,
        components=[name for name in COMPONENTS if any(case.component == name for case in cases)],
        symptoms=SYMPTOMS,
        counts=counts,
        census=census,
        areas=by_area(cases_by_area(cases), census),
        enough=ENOUGH,
        about=_about(roots),
        left_out=_left_out(roots),
        cell=lambda text: text.replace("|", "\\|").replace("\n", " "),
    )


def _describe_life(case: Case, rows: Sequence[History], census: Census) -> str:
    if case.guard:
        return f"guard: {life(rows)}"
    if not rows:
        devices = [device for device in case.devices if case.id not in census.measured_devices.get(device, ())]
        return f"not measured on {', '.join(devices)}"
    return life(rows)


def _about(roots: Iterable[Path]) -> str:
    paths = (root / ABOUT for root in roots)
    return "\n\n".join(path.read_text(encoding="utf-8").strip() for path in paths if path.is_file())


def life(rows: Iterable[History]) -> str:
    """Where a case's checks begin and cease to show the bug, as measured: ``2.5.1 to 2.9.1: ..., fixed in 2.10.0``."""
    rows = list(rows)
    if not rows:
        return "not measured"
    stretches = {stretch for row in rows for stretch in _stretches(row.search)}
    in_order = sorted(stretches, key=lambda text: (version_key(text.split(" ")[0]), text))
    return "; ".join(in_order) or "passes wherever measured"


def _stretches(search: Search[str]) -> Iterator[str]:
    runs = [(state, list(run)) for state, run in groupby(search.decided(), key=lambda one: search.states[one])]
    for number, (state, run) in enumerate(runs):
        if state is State.BUG:
            born = f"introduced after {runs[number - 1][1][-1]}" if number else "there from the first"
            gone = f"fixed in {runs[number + 1][1][0]}" if number + 1 < len(runs) else "not fixed yet"
            yield f"{run[0]} to {run[-1]}: {born}, {gone}"


def _left_out(roots: Iterable[Path]) -> list[tuple[str, dict[str, str]]]:
    found: dict[str, dict[str, str]] = {}
    for root in roots:
        path = root / LEFT_OUT
        if path.is_file():
            found |= tomllib.loads(path.read_text(encoding="utf-8"))
    return sorted(found.items())
