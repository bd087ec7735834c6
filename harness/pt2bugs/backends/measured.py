"""What the results have of the backends that no header names: of each an answer per cell, without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.version import Version

from pt2bugs.backends.known import REFERENCES, KnownBackend, known_backends
from pt2bugs.backends.reach import on_its_device, reach_of
from pt2bugs.backends.references import compared_with
from pt2bugs.backends.report import (
    Answer,
    Group,
    answer_for,
    by_component,
    by_demand,
    counts,
    of_group,
    reference_lines,
)
from pt2bugs.case.cells import NOT_CLAIMED, cells_of
from pt2bugs.case.model import Case
from pt2bugs.case.words import Outcome
from pt2bugs.results.journal import Warn
from pt2bugs.results.matrix import CellKey, Results, is_own
from pt2bugs.results.record import Record


@dataclass(frozen=True)
class Measured:
    """A backend on the newest torch that it was measured with.

    `torch` is the public version, `build` the one that was imported, `extras` what was installed beside it.
    """

    name: str
    torch: str
    build: str
    python: str
    extras: tuple[str, ...]
    answers: Sequence[Answer]

    @property
    def known(self) -> KnownBackend | None:
        """Its entry in `known.toml`, if it has one."""
        return known_backends().get(self.name)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many cells each group has."""
        return counts(self.answers)

    @property
    def tables(self) -> list[tuple[str, dict[str, dict[str, int]]]]:
        """The counts by component and by demand."""
        return [("component", by_component(self.answers)), ("demand", by_demand(self.answers))]

    def of_group(self, group: Group) -> list[Answer]:
        """The answers of a group, those that inductor shares at the end."""
        return of_group(self.answers, group)

    @property
    def day(self) -> str:
        """The day of the newest of its lines, ISO 8601."""
        return max((one.record["started"] for one in self.answers if one.record), default="")[:10]


def measured_backends(results: Results, corpus: Sequence[Case], cases: Sequence[Case], warn: Warn) -> list[Measured]:
    """The backends that have a results folder of their own, `REFERENCES` left aside, with answers for `cases`.

    Raises:
        JournalError: a journal cannot be read.
    """
    folders = results.backend_folders()
    if not folders:
        return []
    lines = Results(results.folder, folders).load(corpus, warn).lines()
    known = {case.id: case for case in corpus}
    foreign = (key for key, record in lines.items() if key.torch and not is_own(record, known.get(key.case)))
    names = sorted({key.backend for key in foreign} - set(REFERENCES))
    found = [_measured(name, lines, cases) for name in names]
    return [one for one in found if one is not None]


def _measured(name: str, lines: Mapping[CellKey, Record], cases: Sequence[Case]) -> Measured | None:
    reach = reach_of(name)
    cells = on_its_device((cell for case in cases for cell in cells_of(case, (), (name,))), {name: reach})
    cell_keys = {cell.key for cell in cells}
    environments = Counter(key[4:] for key in lines if key[:4] in cell_keys and key.torch)
    if not environments:
        return None
    # The newest torch; of several environments of it the one with most answers.
    extras, torch, python = max(environments, key=lambda one: (Version(one[1]), environments[one], one))
    there = {cell.key: lines.get(CellKey(*cell.key, extras, torch, python)) for cell in cells}
    compared = compared_with(reach, cases)
    references = [
        *(lines.get(CellKey(*cell.key, "", torch, python)) for cell in compared.plain),
        *(lines.get(CellKey(*cell.key, extras, torch, python)) for cell in compared.beside),
    ]
    others = reference_lines(record for record in references if record and record["verdict"] != "error")
    records = [record for record in there.values() if record]
    not_claimed = {*reach.setup.not_claimed, *(word for record in records for word in _not_claimed(record))}
    answers = [answer_for(cell, there[cell.key], others.get(cell.key[:2], {}), sorted(not_claimed)) for cell in cells]
    return Measured(name, torch, records[0]["torch"], python, tuple(records[0]["extras"]), answers)


def _not_claimed(record: Record) -> list[str]:
    """What the backend did not claim to do when the line was written."""
    if record["outcome"] != Outcome.SKIP or not record["message"].startswith(NOT_CLAIMED):
        return []
    return record["message"].removeprefix(NOT_CLAIMED).split(", ")
