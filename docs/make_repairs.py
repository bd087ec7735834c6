"""Writes the tables of docs/evaluation/repair.md from `benchmarks/repairs.jsonl`: `python docs/make_repairs.py`.

What stands between two comments ``<!-- name -->`` and ``<!-- end -->`` is written anew. A test holds it up to date.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pt2bugs.commands.selection import load_corpus
from pt2bugs.repair.tasks import Task, tasks_of
from pt2bugs.report.markdown import filled, table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation" / "repair.md"
LINES = ROOT / "benchmarks" / "repairs.jsonl"
ON_EVERY_TASK = ("fix", "empty", "suppress-errors", "return-eager")
VERDICTS = ("solved", "no", "around", "broke", "refused")
Scores = Mapping[tuple[str, str], Mapping[str, Any]]
"""The last line of each task and patch."""


def page(text: str) -> str:
    """The page with the tables of the committed lines."""
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    tasks = [task for task in tasks_of(ROOT / "results", load_corpus([ROOT / "cases"])) if task.can_be_scored]
    known = {task.id for task in tasks}
    scores = {(line["task"], line["patch"]): line for line in lines if line["task"] in known}
    return filled(text, lambda name: verdicts(tasks, scores) if name == "verdicts" else patches(scores))


def verdicts(tasks: Sequence[Task], scores: Scores) -> str:
    """A row for each task."""
    lines = []
    for task in tasks:
        told = [scores.get((task.id, name), {}) for name in ON_EVERY_TASK]
        about = (task.id, task.bad, task.backend, task.case.symptom, str(task.twins))
        times = (str(told[0].get(name, "")) for name in ("seconds", "processor_s"))
        lines.append((*about, *(str(score.get("verdict", "")) for score in told), *times))
    head = ("task", "torch", "backend", "symptom", "hidden checks", *ON_EVERY_TASK, "s", "processor s")
    seconds, used = ([float(line[column]) for line in lines if line[column]] for column in (-2, -1))
    total = f"{len(tasks)} tasks; the fix was scored on {len(seconds)}"
    if seconds:
        total += f", in {statistics.median(seconds):.0f} seconds in the median"
    if used:
        total += f". A score took {statistics.median(used):.0f} seconds of the processor in the median of {len(used)}"
    return f"{table(head, lines)}\n\n{total}."


def patches(scores: Scores) -> str:
    """A row for each patch and verdict, with the reason of its first task."""
    lines = []
    others = sorted({patch for _, patch in scores} - set(ON_EVERY_TASK))
    for name in (*ON_EVERY_TASK, *others):
        for verdict in VERDICTS:
            alike = [score for key, score in sorted(scores.items()) if (key[1], score["verdict"]) == (name, verdict)]
            if alike:
                numbers = ", ".join(score["task"].rpartition("_")[2] for score in alike)
                reason = next(iter(alike[0]["reasons"]), "nothing speaks against it")
                lines.append((name, verdict, str(len(alike)), numbers, reason))
    return table(("patch", "verdict", "tasks", "which", "reason on the first"), lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
