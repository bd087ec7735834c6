"""What a backend falls into: what of its failures is its own, and what comes from the layers above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from pt2bugs.backends.known import REFERENCES
from pt2bugs.case.cells import NOT_CLAIMED, Cell, unclaimed
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.results.failure import failure_of, is_same
from pt2bugs.results.record import Record


class Group(str, Enum):
    """What a cell says about the backend, in the order in which a report has them."""

    ONLY_YOURS = "only-yours"  # it fails, and passes on the layers above
    INHERITED = "inherited"  # it fails the same from eager or aot_eager on
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
    """The answer for one cell. `record` is None where nothing is known; `others` are the lines of `REFERENCES`."""

    cell: Cell
    group: Group
    record: Record | None
    why: str
    others: Mapping[str, Record] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.cell.case.id}::{self.cell.name}"

    @property
    def is_inductors_too(self) -> bool:
        """Whether inductor fails the same here, so that a backend that builds on it has the failure from there."""
        inductor = self.others.get("inductor")
        if self.group is not Group.ONLY_YOURS or self.record is None or inductor is None:
            return False
        return is_same(self.record, inductor, self.cell.case.bugs)

    @property
    def demands(self) -> tuple[str, ...]:
        return self.cell.case.demands.get(self.cell.check.name, ())

    def as_dict(self, reproduce: str) -> dict[str, Any]:
        """The answer for machines."""
        case, record = self.cell.case, self.record
        return {
            "case": case.id,
            "check": self.cell.check.name,
            "device": self.cell.device,
            "group": str(self.group),
            "outcome": record["outcome"] if record else "",
            "error_type": record["error_type"] if record else "",
            "message": record["message"] if record else "",
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


def answer_for(cell: Cell, record: Record | None, others: Mapping[str, Record], not_claimed: Sequence[str]) -> Answer:
    """What a cell says about its backend.

    Args:
        record: its line; None if there is none.
        others: the lines of the same check on `REFERENCES`, as far as there are any.
        not_claimed: what the backend does not claim to do.
    """
    group, why = _judge(cell, record, others, not_claimed)
    return Answer(cell, group, record, why, others)


def _judge(
    cell: Cell, record: Record | None, others: Mapping[str, Record], not_claimed: Sequence[str]
) -> tuple[Group, str]:
    if why := unclaimed(cell, not_claimed):
        return Group.NOT_CLAIMED, why.removeprefix(NOT_CLAIMED)
    if record is None:
        return Group.CANNOT_SAY, "it was not run"
    seen = Observation.from_dict(record).summary
    if record["verdict"] == Verdict.FLAKY:
        return Group.CANNOT_SAY, seen
    failing = {name: other for name, other in others.items() if failure_of(other)}
    if record["outcome"] == Outcome.PASS:
        return (Group.NOT_YOURS, _describe(others["inductor"])) if "inductor" in failing else (Group.PASSES, "")
    if failure_of(record) is None:
        return Group.CANNOT_SAY, seen
    if not others and cell.backend in cell.case.backends:
        return Group.ONLY_YOURS, seen
    for name in ("eager", "aot_eager"):
        if name not in failing:
            continue
        if is_same(record, failing[name], cell.case.bugs):
            return Group.INHERITED, f"{seen} (so does {name})"
        return Group.CANNOT_SAY, f"{seen} ({name} fails too, in another way: {_describe(failing[name])})"
    above = others.get("aot_eager")
    if above is None or above["outcome"] != Outcome.PASS or above["verdict"] == Verdict.FLAKY:
        return Group.CANNOT_SAY, f"{seen} (aot_eager has no answer: {_describe(above) if above else 'it was not run'})"
    return Group.ONLY_YOURS, f"{seen}{_beside(failing.get('inductor'))}"


def _describe(record: Record) -> str:
    return Observation.from_dict(record).summary


def _beside(inductor: Record | None) -> str:
    return f" (inductor fails too: {_describe(inductor)})" if inductor else ""


def of_group(answers: Iterable[Answer], group: Group) -> list[Answer]:
    """The answers of a group, in their order, but those that inductor shares come last."""
    return sorted((one for one in answers if one.group is group), key=lambda one: one.is_inductors_too)


def counts(answers: Iterable[Answer]) -> dict[str, int]:
    """How many answers each group has."""
    found = Counter(answer.group for answer in answers)
    return {str(group): found[group] for group in Group}


def by_component(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """The counts of each component, by its name."""
    return _by(answers, lambda answer: (answer.cell.case.component,))


def by_demand(answers: Iterable[Answer]) -> dict[str, dict[str, int]]:
    """The counts of each demand; a check with several counts for each."""
    return _by(answers, lambda answer: answer.demands)


def _by(answers: Iterable[Answer], keys_of: Callable[[Answer], Iterable[str]]) -> dict[str, dict[str, int]]:
    found: dict[str, list[Answer]] = {}
    for answer in answers:
        for key in keys_of(answer):
            found.setdefault(key, []).append(answer)
    return {key: counts(found[key]) for key in sorted(found)}


def reference_lines(lines: Iterable[Record]) -> dict[tuple[str, str], dict[str, Record]]:
    """The lines of `REFERENCES` by case and check."""
    found: dict[tuple[str, str], dict[str, Record]] = {}
    for line in lines:
        if line["backend"] in REFERENCES:
            found.setdefault((line["case"], line["check"]), {})[line["backend"]] = line
    return found
