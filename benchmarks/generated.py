"""A corpus and a journal of any size, made from the cases of this repository."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import cycle, islice
from pathlib import Path

from measure import ROOT
from pt2bugs.case.cells import Cell
from pt2bugs.case.corpus import find_case_files, load_cases
from pt2bugs.case.expectation import Where, expected_bug
from pt2bugs.case.model import Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.results.journal import Record, new_record

LINE_LENGTH = 890
"""Characters of a line: the mean over the first eight releases of this repository's journal."""


def write_corpus(folder: Path, count: int) -> None:
    """`count` case files: those of this repository over and over, under new ids."""
    for number, source in enumerate(islice(cycle(find_case_files([ROOT / "cases"])), count)):
        path = folder / source.parent.name / f"generated_{number:05}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())


def releases(count: int) -> list[str]:
    """Made-up torch releases, three patch releases to each minor one."""
    return [f"2.{number // 3}.{number % 3}" for number in range(count)]


def write_journal(results: Path, corpus: Path, lines: int, torch: list[str], places: Sequence[str] = ()) -> int:
    """About `lines` journal lines: every check in every release, again and again. Returns the number of cells.

    `places` are the devices and backends, as ``cuda`` or ``cpu-openvino``: without a backend that of the header, whose
    lines are the corpus's own. Empty for the first device of each header.
    """
    checks = [(case, check.name) for case in load_cases([corpus]) for check in case.checks]
    cells = len(checks) * len(torch) * max(1, len(places))
    runs = max(1, lines // cells)
    for place in places or ("",):
        device, _, backend = place.partition("-")
        folder = results / "backends" / backend / "journal" if backend else results / "journal"
        folder.mkdir(parents=True, exist_ok=True)
        for release in torch:
            with (folder / f"torch-{release}-py3.11.jsonl").open("a") as file:
                rows = [_record(case, check, release, device, backend) for case, check in checks]
                for run in range(runs):
                    started = f"2026-01-01T{run // 60:02}:{run % 60:02}:00.000Z"
                    file.writelines(_lines(rows, started))
    return cells


def _lines(rows: list[Record], started: str) -> Iterator[str]:
    for record in rows:
        record["started"] = started
        yield json.dumps(record) + "\n"


FACTS = EnvironmentFacts(
    torch_git="0123456789012345678901234567890123456789",
    python="3.11.7",
    platform="Linux-6.1.0-x86_64-with-glibc2.36",
    device_name="a processor",
    cpu_capability="AVX2",
)


def _record(case: Case, check: str, torch: str, device: str, backend: str) -> Record:
    cell = Cell(case, case.check(check), device or case.devices[0], backend or case.backends[0])
    bug = expected_bug(case, check, Where(torch, FACTS.python, cell.device, cell.backend))
    seen = Observation(Outcome.PASS, exit_status=0, graphs=1, duration_s=0.4321, peak_rss_mb=512.3)
    if bug:
        seen.outcome, seen.error_type, seen.message = bug.outcome, bug.error or "", bug.match or ""
        seen.signal = bug.signal or ""
    record = new_record(
        cell, seen, Verdict.XFAIL if bug else Verdict.PASS, replace(FACTS, torch=f"{torch}+cpu"),
        run_id="20260101T000000Z-00000000", started=datetime(2026, 1, 1, tzinfo=timezone.utc), extras=(),
    )  # fmt: skip
    missing = LINE_LENGTH - len(json.dumps(record))
    # A failure says much, a pass nothing.
    record["message"] += " what it said" * (3 * max(0, missing) // 13) if bug else ""
    return record
