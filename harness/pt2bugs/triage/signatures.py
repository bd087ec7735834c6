"""The signatures of the known bugs: one per distinct failure that the journal has of a case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pt2bugs.case.expectation import expected_bug, has_identity
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.patterns import PatternTimeout
from pt2bugs.case.words import FAILURES, Outcome
from pt2bugs.results.matrix import where_of
from pt2bugs.results.record import Record
from pt2bugs.triage.wording import Weights, Words, words_of

TorchFrame = tuple[str, str]
"""A torch file and a function; lines move from release to release."""

_TORCH_FRAME = re.compile(r"^(?P<file>torch/[^:]+|<[^:]*):\d+ (?P<function>.*)$")
_FAILED = frozenset(str(outcome) for outcome in FAILURES)


def torch_frame_of(frame: str) -> TorchFrame | None:
    """A frame that the journal has, without its line; None for a text that is none."""
    found = _TORCH_FRAME.match(frame)
    return (found["file"], found["function"].rpartition(".")[2]) if found else None


def torch_frames_of(frames: Iterable[str]) -> tuple[TorchFrame, ...]:
    return tuple(found for frame in frames if (found := torch_frame_of(frame)) is not None)


@dataclass(frozen=True)
class Signature:
    """One way a documented bug was seen to fail: `torch_frames` has the innermost first."""

    outcome: Outcome
    error_type: str
    signal: str
    words: Words
    torch_frames: tuple[TorchFrame, ...]


@dataclass
class KnownBug:
    """A case with the entries of its header that document the bug, and every signature of each entry.

    `group` names the root: cases with one fix, or that say so, are one bug seen twice.
    """

    id: str
    path: Path
    group: str
    entries: Sequence[Bug]
    signatures: dict[int, set[Signature]] = field(default_factory=dict)
    """By the line of the entry."""
    parsed: Case | None = None

    @property
    def case(self) -> Case:
        """The case; its header is parsed when it is first asked for.

        Raises:
            CaseError: the file has changed, and breaks the contract now.
        """
        if self.parsed is None:
            self.parsed = parse_case(self.path)
        return self.parsed

    @property
    def all_signatures(self) -> list[Signature]:
        return [signature for found in self.signatures.values() for signature in found]


class Signatures:
    """The known bugs of a corpus, with what the journal says of how they fail.

    Args:
        records: lines of the journal; those that show no documented bug say nothing here.
    """

    def __init__(self, cases: Sequence[Case], records: Iterable[Record] = ()) -> None:
        by_id = {case.id: case for case in cases}
        self.bugs = {
            case.id: KnownBug(case.id, case.path, _group(case, by_id), entries, parsed=case)
            for case in cases
            if (entries := [bug for bug in case.bugs if not bug.blocked])
        }
        self._judged: dict[tuple[str, ...], tuple[Bug, Signature] | None] = {}
        self._entries: dict[tuple[str, ...], Bug | None] = {}
        self._programs: dict[str, str] | None = None
        self._is_counted = False
        for record in records:
            self.add(record)

    @classmethod
    def restored(cls, bugs: Iterable[KnownBug]) -> Signatures:
        """Those that were worked out before."""
        signatures = cls(())
        signatures.bugs = {known.id: known for known in bugs}
        return signatures

    def __getstate__(self) -> dict[str, Any]:
        """What is kept for the next command: all but what only further lines of the journal would need."""
        self._count()
        return {**self.__dict__, "_judged": {}, "_entries": {}, "_programs": None}

    def add(self, record: Record) -> None:
        """Take a line of the journal into account, if it shows a documented bug."""
        found = self.documented(record)
        if found is not None:
            bug, signature = found
            self.bugs[record["case"]].signatures.setdefault(bug.line, set()).add(signature)
            self._is_counted = False

    def documented(self, record: Record) -> tuple[Bug, Signature] | None:
        """The entry whose identity a line shows, and its signature; None if it shows no documented bug.

        Lines of an earlier version of the program count too: the failure is the bug's all the same.
        """
        if record["outcome"] not in _FAILED or (known := self.bugs.get(record["case"])) is None:
            return None
        expected = self._expected(known.case, record)
        frames = record.get("frames", [])
        key = (
            record["case"], record["outcome"], record["error_type"], record["signal"], record["message"],
            record["frame"], "\n".join(frames), str(expected.line if expected else 0),
            record["output_tail"] if any(bug.output for bug in known.case.bugs) else "",
        )  # fmt: skip
        if key not in self._judged:
            self._judged[key] = self._judge(known.case, record, expected)
        return self._judged[key]

    def _expected(self, case: Case, record: Record) -> Bug | None:
        """The entry that speaks of the cell of a line, where there is a choice."""
        if len(case.bugs) == 1:
            return None
        key = tuple(record[part] for part in ("case", "check", "torch", "python", "device", "backend"))
        if key not in self._entries:
            self._entries[key] = expected_bug(case, record["check"], where_of(record))
        return self._entries[key]

    @staticmethod
    def _judge(case: Case, record: Record, expected: Bug | None) -> tuple[Bug, Signature] | None:
        seen = Observation.from_dict(record)
        try:
            if expected is not None and expected.blocked and has_identity(expected, seen):
                return None
            first = [expected] if expected is not None else []
            fits = (bug for bug in [*first, *case.bugs] if not bug.blocked and has_identity(bug, seen))
            bug = next(fits, None)
        except PatternTimeout:
            return None
        if bug is None:
            return None
        torch_frames = torch_frames_of([seen.frame, *seen.frames])
        words = words_of(seen.message)
        return bug, Signature(seen.outcome, seen.error_type, seen.signal, words, torch_frames)

    # --- what is rare ---

    def _count(self) -> None:
        """Weigh words and frames by the number of bugs that have them."""
        if self._is_counted:
            return
        by_group: dict[str, list[Signature]] = {}
        for known in self.bugs.values():
            by_group.setdefault(known.group, []).extend(known.all_signatures)
        self._weights = Weights([signature.words for signature in found] for found in by_group.values())
        groups: dict[tuple[TorchFrame, ...], set[str]] = {}
        for group, found in by_group.items():
            for signature in found:
                for depth in range(1, len(signature.torch_frames) + 1):
                    groups.setdefault(signature.torch_frames[:depth], set()).add(group)
        self._groups_at: Mapping[tuple[TorchFrame, ...], set[str]] = groups
        self._is_counted = True

    @property
    def weights(self) -> Weights:
        self._count()
        return self._weights

    def is_telling(self, torch_frames: tuple[TorchFrame, ...]) -> bool:
        """Whether these innermost frames are those of one bug alone, as far as the journal knows."""
        self._count()
        return len(self._groups_at.get(torch_frames, ())) == 1

    def owners_of(self, code: str) -> list[str]:
        """The cases whose program has this line of source."""
        if self._programs is None:
            self._programs = {
                id_: "\n".join(line.strip() for line in known.path.read_text("utf-8", "replace").splitlines())
                for id_, known in self.bugs.items()
            }
        line = f"\n{code.strip()}\n"
        return [id_ for id_, program in self._programs.items() if line in program]


def _group(case: Case, by_id: Mapping[str, Case]) -> str:
    met = {case.id}
    while case.same_fix in by_id and case.same_fix not in met:
        case = by_id[case.same_fix]
        met.add(case.id)
    return case.fix or case.issue or case.id
