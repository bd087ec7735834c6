"""The corpus as a Markdown page: what is in it, where each bug was introduced and fixed, what was left out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
import pandas as pd

from harness.case import COMPONENTS, SYMPTOMS, Case
from harness.matrix import version_key
from harness.outcome import Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEFT_OUT = "left_out.toml"
"""Beside the case folders: documented bugs that are no cases, and why. One ``[id]`` table each."""


def corpus_page(cases: Sequence[Case], cells: pd.DataFrame, roots: Iterable[Path]) -> str:
    """`cells` as made by `harness.matrix.cells_table`."""
    rows = [
        {"case": case, "life": life(cells[cells["case"] == case.id])}
        for case in sorted(cases, key=lambda case: (COMPONENTS.index(case.component), case.id))
    ]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("harness.report"), trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    counts = Counter((case.component, case.symptom) for case in cases)
    return environment.get_template("corpus.md.j2").render(
        rows=rows,
        cases=cases,
        components=[name for name in COMPONENTS if any(case.component == name for case in cases)],
        symptoms=SYMPTOMS,
        counts=counts,
        releases=sorted(set(cells["torch"]) - {""}, key=version_key),
        left_out=_left_out(roots),
        cell=lambda text: text.replace("|", "\\|").replace("\n", " "),
    )


def life(cells: pd.DataFrame) -> str:
    """Where a case's checks begin and cease to show the bug, as measured: ``2.5.1-2.9.1, fixed in 2.10.0``."""
    runs: set[str] = set()
    for _, row in cells.groupby(["check", "device", "backend", "extras"]):
        answers = row[row["verdict"].isin([Verdict.PASS, Verdict.XFAIL])]
        answers = answers.sort_values("torch", key=lambda column: column.map(version_key))
        pairs = list(zip(answers["torch"], answers["verdict"] == Verdict.XFAIL, strict=True))
        runs |= set(_runs(pairs))
    return "; ".join(sorted(runs, key=lambda run: version_key(run.split(" ")[0]))) or "passes wherever measured"


def _runs(answers: list[tuple[str, bool]]) -> Iterable[str]:
    start: str | None = None
    before = ""
    for release, shows in answers:
        if shows and start is None:
            start = release
            born = f"introduced after {before}" if before else "there from the first"
        elif not shows and start is not None:
            yield f"{start} to {before}: {born}, fixed in {release}"
            start = None
        before = release
    if start is not None:
        yield f"{start} to {before}: {born}, not fixed yet"


def _left_out(roots: Iterable[Path]) -> list[tuple[str, dict[str, str]]]:
    found: dict[str, dict[str, str]] = {}
    for root in roots:
        path = root / LEFT_OUT
        if path.is_file():
            found |= tomllib.loads(path.read_text(encoding="utf-8"))
    return sorted(found.items())
