"""Writes the tables of docs/evaluation/speed.md from `results/perf`: `python docs/make_speed.py`.

What stands between two comments ``<!-- name -->`` and ``<!-- end -->`` is written anew. A test holds it up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pt2bugs.commands.bench import rows
from pt2bugs.commands.selection import load_corpus
from pt2bugs.report.markdown import filled, table
from pt2bugs.speed import journal
from pt2bugs.speed.history import slower_steps
from pt2bugs.speed.journal import Speeds
from pt2bugs.speed.measurement import program_hashes

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation" / "speed.md"


def page(text: str) -> str:
    """The page with the tables of the committed results."""
    programs = program_hashes(load_corpus([ROOT / "cases"]))
    speeds = journal.read(ROOT / "results", programs, sys.exit)
    parts = {"ratios": ratios, "slower": slower}
    return filled(text, lambda name: parts[name](speeds))


def ratios(speeds: Speeds) -> str:
    """A row for each bench, a column for each release."""
    releases, lines = rows(speeds)
    return table(["bench", *releases], lines)


def slower(speeds: Speeds) -> str:
    """A row for each bench that became slower, the most first."""
    steps = sorted(slower_steps(speeds), key=lambda step: -step.factor)
    lines = [
        (
            f"{step.after.case} {step.after.bench}",
            f"{step.before.release} to {step.after.release}",
            f"{step.factor:.1f}",
            f"{step.seconds:.1f}",
            ", ".join(f"{name} {old} to {new}" for name, (old, new) in step.changed_counts.items()) or "-",
        )
        for step in steps
    ]
    return (
        table(["bench", "releases", "beside eager", "compiled call", "counts that changed"], lines)
        if lines
        else "None."
    )


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
