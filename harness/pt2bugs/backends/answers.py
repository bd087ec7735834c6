"""The answer of each cell about its backend: the failure is its own, or comes from the layers above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pt2bugs.backends.references import LAYERS, REFERENCES
from pt2bugs.case.cells import NOT_CLAIMED, Cell, CheckName, unclaimed
from pt2bugs.case.failure import Failure, Level, show_one_bug
from pt2bugs.case.observation import Observation
from pt2bugs.case.stack_dump import frame_outside_torch
from pt2bugs.case.vocabulary import Outcome, Verdict
from pt2bugs.results.journal import Record


class Group(str, Enum):
    """The groups of answers, in the order of a report."""

    ONLY_YOURS = "only-yours"  # it fails, and passes on the layers above
    INHERITED = "inherited"  # it fails the same on one of the layers above
    NOT_YOURS = "not-yours"  # inductor fails, this backend passes
    NOT_CLAIMED = "not-claimed"
    CANNOT_SAY = "cannot-say"
    PASSES = "passes"

    __str__ = str.__str__


TITLES = {
    Group.ONLY_YOURS: "only yours: fails here, passes on eager and aot_eager",
    Group.INHERITED: "from the layers above: fails the same without your backend",
    Group.NOT_YOURS: "not yours: inductor fails, your backend passes",
    Group.NOT_CLAIMED: "not claimed: the check demands what the backend does not claim to do",
    Group.CANNOT_SAY: "cannot say",
    Group.PASSES: "passes, as inductor does",
}


@dataclass(frozen=True)
class Answer:
    """The answer of one cell. `record` is None where nothing is known; `others` are the lines of `REFERENCES`."""

    cell: Cell
    group: Group
    record: Record | None
    why: str
    others: Mapping[str, Record] = field(default_factory=dict)
    layer: str = ""
    """The layer above the backend that fails the same; empty where the failure is not inherited."""

    @property
    def name(self) -> str:
        return str(self.cell.key)

    @property
    def frame(self) -> str:
        """The innermost frame outside torch; empty where none is known."""
        if self.record is None:
            return ""
        return self.record.get("outside") or frame_outside_torch(self.record["output_tail"], self.record["case"])

    @property
    def is_inductors_too(self) -> bool:
        """True if inductor fails the same, so that a backend that builds on it has the failure from there."""
        inductor = self.others.get("inductor")
        if self.group is not Group.ONLY_YOURS or self.record is None or inductor is None:
            return False
        return _fails_the_same(self.cell, self.record, inductor)

    @property
    def demands(self) -> tuple[str, ...]:
        return self.cell.case.demands.get(self.cell.check.name, ())

    def as_dict(self, reproduce: str) -> dict[str, Any]:
        """Return the answer for machines.

        Args:
            reproduce: the command that runs the cell again.
        """
        case, record = self.cell.case, self.record
        return {
            "case": case.id,
            "check": self.cell.check.name,
            "device": self.cell.device,
            "group": str(self.group),
            "outcome": record["outcome"] if record else "",
            "error_type": record["error_type"] if record else "",
            "message": record["message"] if record else "",
            "frame": self.frame,
            "why": self.why,
            "others": {name: other["outcome"] for name, other in self.others.items()},
            "inductor_fails_the_same": self.is_inductors_too,
            "issue": case.issue,
            "title": case.title,
            "component": case.component,
            "symptom": case.symptom,
            "demands": list(self.demands),
            "reproduce": reproduce,
        }


def answers_for(
    cells: Iterable[Cell],
    record_of: Callable[[Cell], Record | None],
    references: Iterable[Record | None],
    not_claimed: Sequence[str],
) -> list[Answer]:
    """Return the answer of each cell.

    Args:
        cells: the cells of the backend.
        record_of: finds the line of a cell.
        references: the lines of the same checks on `REFERENCES`; errors do not count.
        not_claimed: the demands that the backend does not claim to meet.
    """
    others: dict[CheckName, dict[str, Record]] = {}
    for record in references:
        if record is not None and record["verdict"] != Verdict.ERROR and record["backend"] in REFERENCES:
            others.setdefault(CheckName(record["case"], record["check"]), {})[record["backend"]] = record
    return [answer_for(cell, record_of(cell), others.get(cell.key.which_check, {}), not_claimed) for cell in cells]


def answer_for(cell: Cell, record: Record | None, others: Mapping[str, Record], not_claimed: Sequence[str]) -> Answer:
    """Return what one cell says about its backend.

    Args:
        cell: the cell.
        record: its line; None if there is none.
        others: the lines of the same check on `REFERENCES`, as far as there are any.
        not_claimed: the demands that the backend does not claim to meet.
    """
    group, why, layer = _judge(cell, record, others, not_claimed)
    return Answer(cell, group, record, why, others, layer)


def _judge(
    cell: Cell, record: Record | None, others: Mapping[str, Record], not_claimed: Sequence[str]
) -> tuple[Group, str, str]:
    if why := unclaimed(cell, not_claimed):
        return Group.NOT_CLAIMED, why.removeprefix(NOT_CLAIMED), ""
    if record is None:
        return Group.CANNOT_SAY, "it was not run", ""
    seen = _summary(record)
    if record["verdict"] == Verdict.FLAKY:
        return Group.CANNOT_SAY, seen, ""
    failing = {name: other for name, other in others.items() if Failure.of(other)}
    if record["outcome"] == Outcome.PASS:
        return (Group.NOT_YOURS, _summary(others["inductor"]), "") if "inductor" in failing else (Group.PASSES, "", "")
    if Failure.of(record) is None:
        return Group.CANNOT_SAY, seen, ""
    if not others and cell.backend in cell.case.backends:
        return Group.ONLY_YOURS, seen, ""
    for name in LAYERS:
        if name in failing and _fails_the_same(cell, record, failing[name]):
            return Group.INHERITED, f"{seen} (so does {name})", name
    # Of the other layers a backend need not have anything: their failures say nothing about one that fails otherwise.
    for name in ("eager", "aot_eager"):
        if name in failing:
            return Group.CANNOT_SAY, f"{seen} ({name} fails too, in another way: {_summary(failing[name])})", ""
    above = others.get("aot_eager")
    if above is None or above["outcome"] != Outcome.PASS or above["verdict"] == Verdict.FLAKY:
        why = _summary(above) if above else "it was not run"
        return Group.CANNOT_SAY, f"{seen} (aot_eager has no answer: {why})", ""
    too = f" (inductor fails too: {_summary(failing['inductor'])})" if "inductor" in failing else ""
    return Group.ONLY_YOURS, f"{seen}{too}", ""


def _fails_the_same(cell: Cell, record: Record, other: Record) -> bool:
    # MESSAGE: frames and numbers depend on the backend.
    failure, reference = Failure.of(record), Failure.of(other)
    if failure is None or reference is None:
        return False
    seen, elsewhere = Observation.from_dict(record), Observation.from_dict(other)
    return failure.same(reference, Level.MESSAGE) or show_one_bug(seen, elsewhere, cell.case.bugs)


def _summary(record: Record) -> str:
    return Observation.from_dict(record).summary


def of_group(answers: Iterable[Answer], group: Group) -> list[Answer]:
    """Return the answers of a group. Those of one frame, or of one failure, stand together; inductor's come last.

    Args:
        answers: all answers.
        group: one of the groups.
    """
    chosen = [answer for answer in answers if answer.group is group]
    place: dict[str, int] = {}
    for number, answer in enumerate(chosen):
        place.setdefault(answer.frame or answer.why, number)
    return sorted(chosen, key=lambda answer: (answer.is_inductors_too, place[answer.frame or answer.why]))


def counts(answers: Iterable[Answer]) -> dict[str, int]:
    """Return how many answers each group has.

    Args:
        answers: for each cell.
    """
    number = Counter(answer.group for answer in answers)
    return {str(group): number[group] for group in Group}


def by_component(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """Return the counts of each component, by its name.

    Args:
        answers: for each cell.
    """
    return _by(answers, lambda answer: (answer.cell.case.component,))


def by_demand(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """Return the counts of each demand, by its name; a check with several demands counts for each.

    Args:
        answers: for each cell.
    """
    return _by(answers, lambda answer: answer.demands)


def _by(answers: Iterable[Answer], keys_of: Callable[[Answer], Iterable[str]]) -> dict[str, dict[str, int]]:
    parts: dict[str, list[Answer]] = {}
    for answer in answers:
        for key in keys_of(answer):
            parts.setdefault(key, []).append(answer)
    return {key: counts(parts[key]) for key in sorted(parts)}
