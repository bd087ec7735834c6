"""The corpus as a Markdown page: what is in it, where each bug was introduced and fixed, what was left out."""

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
from pt2bugs.report.history import History
from pt2bugs.results.tables import version_key

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEFT_OUT = "left_out.toml"
"""Beside the case folders: documented bugs that are no cases, and why. One ``[id]`` table each."""


def corpus_page(cases: Sequence[Case], rows: Sequence[History], roots: Iterable[Path]) -> str:
    """`rows` as made by `pt2bugs.report.history.histories`."""
    lives = [
        {"case": case, "life": life([row for row in rows if row.cell.case.id == case.id])}
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
        releases=sorted({release for row in rows for release in row.releases}, key=version_key),
        left_out=_left_out(roots),
        cell=lambda text: text.replace("|", "\\|").replace("\n", " "),
    )


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
