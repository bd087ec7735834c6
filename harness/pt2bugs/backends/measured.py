"""Answers about the backends that no header names, from the results alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from packaging.version import Version

from pt2bugs.backends.answers import Answer, Group, answers_for, by_component, by_demand, counts, of_group
from pt2bugs.backends.references import REFERENCES, reference_cells
from pt2bugs.backends.spec import KnownBackend, backend_spec, known_backends, on_its_device
from pt2bugs.case.cells import NOT_CLAIMED, cells_of
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.envs.extras import known_extras
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record, Warn
from pt2bugs.results.line import CellKey, is_own, version_key


@dataclass(frozen=True)
class MeasuredBackend:
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

    @property
    def packages(self) -> list[str]:
        """What was installed beside torch: of an extra, the packages that it pins."""
        known, packages = known_extras(), list[str]()
        for name in self.extras:
            pinned = known[name].requirements_for(self.torch) if name in known else None
            packages += pinned or [name]
        return packages

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of cells of each group."""
        return counts(self.answers)

    @property
    def tables(self) -> list[tuple[str, dict[str, dict[str, int]]]]:
        """The counts by component and by demand."""
        return [("component", by_component(self.answers)), ("demand", by_demand(self.answers))]

    def of_group(self, group: Group) -> list[Answer]:
        """Return the answers of a group, as `answers.of_group` orders them.

        Args:
            group: the group.
        """
        return of_group(self.answers, group)

    @property
    def day(self) -> str:
        """The day of the newest of its lines, ISO 8601."""
        return max((answer.record["started"] for answer in self.answers if answer.record), default="")[:10]


def measured_backends(
    results: Results, corpus: Sequence[Case], cases: Sequence[Case], warn: Warn
) -> list[MeasuredBackend]:
    """Return the backends that have a results folder of their own, but `REFERENCES`, with answers for some cases.

    Args:
        results: the results folder.
        corpus: all cases; they decide which lines are the corpus's own.
        cases: the cases that answers are asked for.
        warn: takes warnings about the journal.

    Raises:
        JournalError: a journal cannot be read.
    """
    folders = results.backend_folders()
    if not folders:
        return []
    corpus, known = list(corpus), {case.id: case for case in corpus}
    # The lines of the corpus and of the references are read for each backend again.
    warn_once = cache(warn)
    measured = []
    for folder in folders:
        results_of_it = Results(results.folder / "backends" / folder)
        # A backend is answered for on the newest release that it has lines of: what is older is not even read.
        for release in results_of_it.releases():
            own = results_of_it.load(corpus, warn_once, among=release.__eq__).lines()
            foreign = (key for key, record in own.items() if key.torch and not is_own(record, known.get(key.case)))
            names = sorted({key.backend for key in foreign} - set(REFERENCES))

            def reference_lines(torch: str) -> Mapping[CellKey, Record]:
                of_torch = Results(results.folder, REFERENCES).load(corpus, warn_once, among=torch.__eq__)
                return of_torch.lines()

            of_release = [backend for name in names if (backend := _measured(name, own, reference_lines, cases))]
            # Journals without a release in their name are always read; they may have an older one.
            of_release = [backend for backend in of_release if version_key(backend.torch) >= version_key(release)]
            if of_release:
                measured += of_release
                break
    return sorted(measured, key=lambda backend: backend.name)


def _measured(
    name: str,
    own: Mapping[CellKey, Record],
    reference_lines: Callable[[str], Mapping[CellKey, Record]],
    cases: Sequence[Case],
) -> MeasuredBackend | None:
    spec = backend_spec(name)
    cells = on_its_device((cell for case in cases for cell in cells_of(case, (), (name,))), {name: spec})
    cell_keys = {cell.key for cell in cells}
    environments = Counter(key.environment for key in own if key.cell in cell_keys and key.torch)
    if not environments:
        return None
    # The newest torch; of several environments of it the one with most answers.
    newest = max(environments, key=lambda place: (Version(place.torch), environments[place], place))
    lines = {**reference_lines(newest.torch), **own}
    there = {cell.key: lines.get(CellKey(*cell.key, *newest)) for cell in cells}
    records = [record for record in there.values() if record]
    beside = reference_cells(spec, cases)
    references = [
        *(lines.get(CellKey(*cell.key, *newest._replace(extras=""))) for cell in beside.plain),
        *(lines.get(CellKey(*cell.key, *newest)) for cell in beside.beside),
    ]
    not_claimed = {*spec.setup.not_claimed, *(demand for record in records for demand in _not_claimed(record))}
    answers = answers_for(cells, lambda cell: there[cell.key], references, sorted(not_claimed))
    extras = tuple(records[0]["extras"])
    return MeasuredBackend(name, newest.torch, records[0]["torch"], newest.python, extras, answers)


def _not_claimed(record: Record) -> list[str]:
    """Return the demands that the backend did not claim to meet when the line was written."""
    if record["outcome"] != Outcome.SKIP or not record["message"].startswith(NOT_CLAIMED):
        return []
    return record["message"].removeprefix(NOT_CLAIMED).split(", ")
