"""Known failures: what the headers document and the journal shows, and which of them a traceback is.

A match is an identity (the documented type, pattern, signal and frame fit, and they say enough to be no other failure),
of the structure (a program of the same operators fails in the same way at the same rung), or similar (its words and
frames are like those of a known failure).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from packaging.version import Version

from pt2bugs.case.corpus import brought, find_case_files, load_cases, roots_of
from pt2bugs.case.expectation import expected_bug
from pt2bugs.case.failure import LENGTH, WRAPPERS, documents, normalize
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import MAX_FRAMES, MESSAGE_LIMIT, Observation, bounded, telling_line
from pt2bugs.case.patterns import PatternTimeout, literal_length, search
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import FAILURES, Outcome
from pt2bugs.isolate import fixes
from pt2bugs.match.structure import Structure, traits_of
from pt2bugs.match.tracebacks import Raised, Traceback, find_tracebacks
from pt2bugs.match.wording import (
    Weights,
    Words,
    any_program,
    is_mistake,
    is_ordinary,
    is_ordinary_code,
    own_message,
    words_of,
)
from pt2bugs.results.folder import Results
from pt2bugs.results.history import Histories, Life, lives_of
from pt2bugs.results.journal import Record, Warn, journal_files, read_journal
from pt2bugs.results.line import where_of

IDENTITY, STRUCTURE, SIMILAR = "identity", "structure", "similar"
MOST = 5
"""Matches in one answer."""
_MOST_COMPARED = 60
"""Failures at either end of a text that are compared with the known bugs; those between count as not known."""
_LEAST_SCORE = 0.5
_LEAST_STRUCTURE = 0.35
"""Least share of the weight of what two programs use that both must use to be called alike."""
_LEAST_STRUCTURE_WEIGHT = 9.0
"""Least weight of what both use: about that of two things that hardly another program of the corpus uses."""
_AS_WELL = 0.75
"""Least score of a similar bug that is told beside a known one."""
_LEAST_WEIGHT = 6.0
"""Least weight of the words that a message shares with a known one."""
_TELLING_LITERALS = 20
"""Characters that a pattern must fix to be enough by itself; a shorter one also needs a like message."""
_ALIKE = 0.7
_OF_A_PART = 0.75
"""Factor for the likeness of a message that is a part of a known one."""
_LEAST_PART = 20.0
"""Least weight of such a part."""
_WRAPPERS = WRAPPERS | {"TorchRuntimeError", "InternalTorchDynamoError"}
_PYTHONS = frozenset({"AttributeError", "IndexError", "KeyError", "TypeError", "ZeroDivisionError"})
"""Mistakes that no function of torch raises on purpose: there a single frame says where torch is wrong."""
_QUOTED = re.compile(r'^[ \t]*File "(?P<file>[^"]+)", line \d+.*\n[ \t]+(?P<code>\S.*)$', re.MULTILINE)
_DEFINED = re.compile(r"\bself\.(\w+) *[-+*/|&]?=(?!=)|\b(?:def|class) (\w+)")
_LEAST_CODE = 28
"""Characters of a line of code that can be that of one program alone."""
_COMPARED_OUTPUT = 16_000
"""Characters printed before a failure that documented output is searched in."""


TorchFrame = tuple[str, str]
"""A torch file and a function; lines move from release to release."""

_TORCH_FRAME = re.compile(r"^(?P<file>torch/[^:]+|<[^:]*):\d+ (?P<function>.*)$")
_FAILED = frozenset(str(outcome) for outcome in FAILURES)


def torch_frame_of(frame: str) -> TorchFrame | None:
    """Return a frame that the journal has, without its line; None for a text that is none.

    Args:
        frame: as the journal writes it, ``torch/path.py:LINE function``.
    """
    parts = _TORCH_FRAME.match(frame)
    return (parts["file"], parts["function"].rpartition(".")[2]) if parts else None


def torch_frames_of(frames: Iterable[str]) -> tuple[TorchFrame, ...]:
    """Return the torch frames among some frames, without their lines.

    Args:
        frames: as the journal writes them.
    """
    return tuple(parts for frame in frames if (parts := torch_frame_of(frame)) is not None)


@dataclass(frozen=True)
class Signature:
    """One way a documented bug was seen to fail: `torch_frames` has the innermost first."""

    outcome: Outcome
    error_type: str
    signal: str
    words: Words
    torch_frames: tuple[TorchFrame, ...]
    line: str = field(default="", compare=False)
    """The telling line of its message, normalized; empty for one that every comparison prints."""


@dataclass
class KnownBug:
    """A case with the entries of its header that document the bug, and every signature of each entry.

    `group` names the root: cases with one fix, or that say so, are one bug seen twice.
    """

    case: Case
    group: str
    entries: Sequence[Bug]
    signatures: dict[int, set[Signature]] = field(default_factory=dict)
    """Signatures by the line of their entry."""
    _wide: dict[int, str] = field(default_factory=dict)

    @property
    def all_signatures(self) -> list[Signature]:
        """Every way in which the bug was seen to fail."""
        return [signature for of_entry in self.signatures.values() for signature in of_entry]

    def wide_pattern(self, bug: Bug) -> str:
        """Return the pattern of an entry for a program with other names and sizes than those of the case.

        Args:
            bug: one of the entries that has a pattern.
        """
        if bug.line not in self._wide:
            program = self.case.path.read_text("utf-8", "replace")
            self._wide[bug.line] = any_program(
                bug.match or "", frozenset(attribute or name for attribute, name in _DEFINED.findall(program))
            )
        return self._wide[bug.line]


@dataclass(frozen=True)
class Match:
    """A case that a failure may be. `kind` is ``identity``, ``structure`` or ``similar``, `why` says what fits.

    `may_be_back` if the identity fits that is documented for other releases.
    """

    known: KnownBug
    kind: str
    score: float
    why: str
    bug: Bug | None = None
    may_be_back: bool = False

    @property
    def case(self) -> Case:
        """The case that it is."""
        return self.known.case

    @property
    def is_known(self) -> bool:
        """True if the documented identity fits."""
        return self.kind == IDENTITY


@dataclass(frozen=True)
class Recognized:
    """A traceback of the input and the known bugs that it may be, best first."""

    traceback: Traceback
    matches: Sequence[Match]

    @property
    def is_known(self) -> bool:
        """True if any match is known."""
        return any(match.is_known for match in self.matches)


class KnownBugs:
    """The known bugs of a corpus, with what the journal says of how they fail: read once and asked often.

    Args:
        cases: The corpus.
        records: Lines of the journal; those that show no documented bug say nothing here.
        history: Gives all lines of a case, for where its bug begins and ends.
        isolations: Changes that fixed or broke a check, as `results/fixes` has them.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        records: Iterable[Record] = (),
        history: Callable[[Case], Iterable[Record]] = lambda _: (),
        isolations: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        by_id, roots = {case.id: case for case in cases}, roots_of(cases)
        self.bugs = {
            case.id: KnownBug(case, _name_of_fix(by_id.get(roots[case.id], case)), entries)
            for case in cases
            if (entries := [bug for bug in case.bugs if not bug.blocked])
        }
        self._judged: dict[tuple[str, ...], tuple[Bug, Signature] | None] = {}
        self._entries: dict[tuple[str, ...], Bug | None] = {}
        self._programs: dict[str, str] | None = None
        self._traits: dict[str, dict[str, frozenset[str]]] = {}
        self._is_counted = False
        self._history = history
        self._lives: dict[str, Life] = {}
        self._causes: dict[str, list[str]] = {}
        """The change that fixed each case."""
        for isolation in isolations:
            if isolation["direction"] == "fixed" and (cause := fixes.cause(isolation)):
                self._causes.setdefault(isolation["case"], []).append(cause)
        for record in records:
            self.add(record)

    @classmethod
    def brought(cls) -> KnownBugs:
        """Return the known bugs of the corpus that came with the package.

        Raises:
            Pt2bugsError: it cannot be read.
        """
        return cls.load(Results(brought("results")), [brought("cases")], lambda _: None)

    @classmethod
    def load(cls, results: Results, roots: Sequence[Path], warn: Warn) -> KnownBugs:
        """Return the known bugs of a corpus by the journal of a results folder.

        Args:
            results: The results folder.
            roots: Folders of the corpus.
            warn: Is told of files and lines that cannot be read.

        Raises:
            CaseError: A file of the corpus breaks the contract.
            JournalError: A journal cannot be read.
            FixesError: A file of isolated fixes cannot be read.
        """
        files = journal_files(results.journal_folder, warn)
        if not files:
            warn(
                f"{results.folder}: has no journal; failures are compared with what headers document alone, "
                "not with messages that were seen (--results names another folder)"
            )

        def history(case: Case) -> Iterable[Record]:
            name = f'"{case.id}"'.encode()
            lines = read_journal(files, lambda _: None, lambda line: name in line or _CELL not in line)
            return (record for record in lines if record["case"] == case.id)

        cases = load_cases(list(find_case_files(roots, warn)))
        return cls(cases, read_journal(files, warn, _may_fail), history, fixes.load(results.folder))

    def recognize(self, text: str, torch: str = "") -> list[Recognized]:
        """Return what every failure of a text is; nothing if the text has no failure.

        Args:
            text: What was pasted or logged.
            torch: The release that failed; empty if it is not known.
        """
        matcher = Matcher(self, torch)
        tracebacks = find_tracebacks(text)
        # A log of ten thousand failures: the first are the cause, the last ended the program.
        compared = {id(traceback) for traceback in [*tracebacks[:_MOST_COMPARED], *tracebacks[-_MOST_COMPARED:]]}
        return [
            Recognized(traceback, matcher.match(traceback) if id(traceback) in compared else ())
            for traceback in tracebacks
        ]

    def of_structure(self, structure: Structure, torch: str = "") -> list[Match]:
        """Return the known bugs whose programs fail alike, best first: none of them is known for that alone.

        Args:
            structure: of a failure.
            torch: The release that failed, a public version; empty if it is not known.
        """
        every = self._traits_at(structure.rung)
        weights = Weights([traits] for traits in every.values())
        matches = []
        for id_, known in self.bugs.items():
            if known.case.symptom != structure.symptom or structure.rung not in known.case.backends:
                continue
            bugs = (bug for bug in known.entries if not torch or bug.torch.contains(torch, prereleases=True))
            shared = every[id_] & structure.traits
            score = weights.likeness(every[id_], structure.traits)
            is_alike = score >= _LEAST_STRUCTURE and weights.total(shared) >= _LEAST_STRUCTURE_WEIGHT
            if is_alike and (bug := next(bugs, None)) is not None:
                why = f"{structure.symptom} first with {structure.rung}, in a program of {', '.join(sorted(shared))}"
                matches.append(Match(known, STRUCTURE, round(0.89 * score, 3), why, bug))
        return sorted(matches, key=lambda match: (-match.score, match.case.id))[:MOST]

    def _traits_at(self, rung: str) -> dict[str, frozenset[str]]:
        """Return the traits of each program that count at a rung."""
        if rung not in self._traits:
            programs = {id_: known.case.path.read_text("utf-8", "replace") for id_, known in self.bugs.items()}
            self._traits[rung] = {id_: traits_of(program, rung) for id_, program in programs.items()}
        return self._traits[rung]

    def life(self, case: Case) -> Life:
        """Return where a bug begins and ends: as measured, else by its header.

        Args:
            case: one of the corpus.
        """
        if case.id not in self._lives:
            self._lives[case.id] = _measured(case, self._history(case)) or _documented(case)
        return self._lives[case.id]

    def as_dict(self, match: Match, torch: str = "") -> dict[str, Any]:
        """Return a match as the JSON of `pt2bugs match` has it.

        Args:
            match: One of those that `recognize` gave.
            torch: The release that failed, for the advice; empty if it is not known.
        """
        case, life = match.case, self.life(match.case)
        return {
            "case": case.id,
            "issue": case.issue,
            "title": case.title,
            "kind": match.kind,
            "score": match.score,
            "introduced": life.since,
            "fixed": life.until,
            "fix": case.fix,
            "advice": "; ".join([advice(match, life, torch), *dict.fromkeys(self._causes.get(case.id, []))]),
            "reproduce": f"uv run {case.path.as_posix()}",
        }

    def add(self, record: Record) -> None:
        """Take a line of the journal into account, if it shows a documented bug.

        Args:
            record: a line of the journal.
        """
        documented = self.documented(record)
        if documented is not None:
            bug, signature = documented
            self.bugs[record["case"]].signatures.setdefault(bug.line, set()).add(signature)
            self._is_counted = False

    def documented(self, record: Record) -> tuple[Bug, Signature] | None:
        """Return the entry whose identity a line shows, and its signature; None if it shows no documented bug.

        Lines of an earlier version of the program count too: the failure is the bug's all the same.

        Args:
            record: a line of the journal.
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
        """Return the entry that speaks of the cell of a line, where there is a choice."""
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
            if expected is not None and expected.blocked and documents(expected, seen):
                return None
            first = [expected] if expected is not None else []
            fits = (bug for bug in [*first, *case.bugs] if not bug.blocked and documents(bug, seen))
            bug = next(fits, None)
        except PatternTimeout:
            return None
        if bug is None:
            return None
        torch_frames = torch_frames_of([seen.frame, *seen.frames])
        words = words_of(seen.message)
        line = telling(own_message(seen.message))
        return bug, Signature(seen.outcome, seen.error_type, seen.signal, words, torch_frames, line)

    # --- what is rare ---

    def _count(self) -> None:
        """Weigh words and frames by the number of bugs that have them."""
        if self._is_counted:
            return
        by_group: dict[str, list[Signature]] = {}
        for known in self.bugs.values():
            by_group.setdefault(known.group, []).extend(known.all_signatures)
        self._weights = Weights([signature.words for signature in seen] for seen in by_group.values())
        groups: dict[tuple[TorchFrame, ...], set[str]] = {}
        for group, seen in by_group.items():
            for signature in seen:
                for depth in range(1, len(signature.torch_frames) + 1):
                    groups.setdefault(signature.torch_frames[:depth], set()).add(group)
        self._groups_at: Mapping[tuple[TorchFrame, ...], set[str]] = groups
        self._is_counted = True

    @property
    def weights(self) -> Weights:
        """The weights of the words of all known bugs."""
        self._count()
        return self._weights

    def is_telling(self, torch_frames: tuple[TorchFrame, ...]) -> bool:
        """Return whether these innermost frames are those of one bug alone, as far as the journal knows.

        Args:
            torch_frames: the innermost frames of a failure.
        """
        self._count()
        return len(self._groups_at.get(torch_frames, ())) == 1

    def owners_of(self, code: str) -> list[str]:
        """Return the cases whose program has this line of source.

        Args:
            code: a line of source, as a traceback shows it.
        """
        if self._programs is None:
            self._programs = {
                id_: "\n".join(line.strip() for line in known.case.path.read_text("utf-8", "replace").splitlines())
                for id_, known in self.bugs.items()
            }
        line = f"\n{code.strip()}\n"
        return [id_ for id_, program in self._programs.items() if line in program]


@dataclass(frozen=True)
class _Clue:
    """One exception of a failure, as it is compared: also those that a wrapper's message quotes."""

    type: str
    message: str
    own: str
    words: Words
    line: str
    torch_frames: tuple[TorchFrame, ...]
    frames: str
    text: str


class Matcher:
    """Compares tracebacks with the signatures of the known bugs.

    Args:
        known: The known bugs.
        torch: The release that failed, as a public version; empty if it is not known. An entry that does not speak of
            it is similar at most.
    """

    def __init__(self, known: KnownBugs, torch: str = "") -> None:
        self.known = known
        self.torch = public(torch) if torch else ""
        self._answers: dict[tuple[tuple[Raised, ...], str, str], list[Match]] = {}

    def match(self, traceback: Traceback) -> list[Match]:
        """Return the known bugs that a traceback may be, best first.

        Args:
            traceback: of the text.
        """
        key = (traceback.chain, traceback.signal, traceback.before[-_COMPARED_OUTPUT:])
        if key not in self._answers:
            self._answers[key] = self._matches(traceback)
        return self._answers[key]

    def _matches(self, traceback: Traceback) -> list[Match]:
        clues = list(_clues(traceback))
        own = self._owners(traceback)
        matches = [
            match
            for known in self.known.bugs.values()
            if (match := self._best(known, traceback, clues, own)) is not None
        ]
        matches.sort(key=lambda match: (match.kind != IDENTITY, -match.score, match.case.id))
        if matches and matches[0].is_known:
            # Drop matches whose score is far below the best.
            matches = [match for match in matches if match.is_known or match.score >= _AS_WELL]
        # A bug that is fixed on this release may be back if its identity fits, but anything else is more likely.
        matches = [match for match in matches[: 2 * MOST] if match.may_be_back or not self._is_fixed(match.case)]
        return sorted(matches, key=lambda match: match.may_be_back)[:MOST]

    def _is_fixed(self, case: Case) -> bool:
        until = self.known.life(case).until if self.torch else ""
        return bool(until) and Version(self.torch) >= Version(until)

    def _best(self, known: KnownBug, traceback: Traceback, clues: Sequence[_Clue], own: set[str]) -> Match | None:
        best: Match | None = None
        for depth, clue in enumerate(clues):
            for bug in known.entries:
                match = self._compare(known, bug, traceback, clue, is_own=known.case.id in own)
                if match:
                    # What ended the program says more than what it came of.
                    match = replace(match, score=round(match.score - 0.01 * min(depth, 4), 3))
                if match and (
                    best is None or (match.kind == IDENTITY, match.score) > (best.kind == IDENTITY, best.score)
                ):
                    best = match
        return best

    def _compare(self, known: KnownBug, bug: Bug, traceback: Traceback, clue: _Clue, *, is_own: bool) -> Match | None:
        if bool(traceback.signal) != (bug.outcome is Outcome.CRASH):
            return None
        signatures = known.signatures.get(bug.line, set())
        likeness, weight = self._likeness(clue, signatures)
        agree, frame_score = self._compare_frames(bug, clue, signatures)
        message_score = max(likeness, _OF_A_PART * self._contained(clue, signatures))
        score = self._score(
            bug, clue, message_score, frame_score, has_message=bool(clue.words) or not _is_silent(signatures)
        )
        try:
            fits = self._fits(known, bug, traceback, clue)
            why = fits and self._why(bug, clue, likeness, agree, is_own=is_own, is_seen=bool(signatures))
        except PatternTimeout:
            return None
        if why:
            applies = not self.torch or bug.torch.contains(self.torch, prereleases=True)
            if applies:
                return Match(known, IDENTITY, round(0.9 + 0.1 * max(score, 1.0 if is_own else 0.0), 3), why, bug)
            reason = f"its documented identity, though not for torch {self.torch}"
            return Match(known, SIMILAR, round(0.89 * max(score, 0.9), 3), reason, bug, may_be_back=True)
        if is_own and fits:
            return Match(known, SIMILAR, 0.89, "a line of its program", bug)
        if agree and frame_score == 1.0 and clue.type == bug.error:
            weight = max(weight, _LEAST_WEIGHT)
        if self._has_its_line(known, bug, clue, signatures, fits=bool(fits)):
            score, weight = max(score, _LEAST_SCORE), _LEAST_WEIGHT
        if score < _LEAST_SCORE or weight < _LEAST_WEIGHT:
            return None
        reason = " and ".join(
            part for part in ("a like message" if likeness else "", "the same torch frames" if agree else "") if part
        )
        if fits and is_refusal(bug):
            reason = "its message, which torch gives for ordinary mistakes too"
        return Match(known, SIMILAR, round(0.89 * score, 3), reason or "a like failure", bug)

    # --- identity ---

    def _fits(self, known: KnownBug, bug: Bug, traceback: Traceback, clue: _Clue) -> bool:
        """Return whether the documented identity fits, however little it says.

        Names and numbers of the case's program may be others here: they are those of the program that failed.
        """
        return (
            (bug.outcome is not Outcome.TIMEOUT or "timeout" in f"{clue.type} {clue.message[:200]}".lower())
            and (bug.error is None or _type_fits(bug.error, traceback, clue.type))
            and (bug.signal is None or bug.signal == traceback.signal)
            and (bug.match is None or _is_in(bug.match, clue.message) or _is_in(known.wide_pattern(bug), clue.message))
            and (bug.frame is None or search(bug.frame, clue.frames))
            and (bug.output is None or search(bug.output, clue.text))
        )

    def _why(self, bug: Bug, clue: _Clue, likeness: float, agree: int, *, is_own: bool, is_seen: bool) -> str:
        """Return what makes a fitting identity certain; empty if it could be anybody's failure."""
        what = bug.error or bug.signal or str(bug.outcome)
        if is_own:
            return f"{what} from a line of its program"
        if bug.outcome in (Outcome.TIMEOUT, Outcome.OOM):
            # Where a program was when its time or memory ran out differs from run to run.
            return ""
        if bug.match and self._says_enough(bug, clue, likeness):
            return f"{what} matching {bug.match!r}"
        if bug.output and not is_ordinary(bug.output):
            return bug.identity
        # A documented frame may be a whole folder. The journal knows which frames are those of this bug alone.
        if is_refusal(bug):
            return ""
        return f"{what} from its torch frames" if agree or (bug.frame and not is_seen) else ""

    @staticmethod
    def _says_enough(bug: Bug, clue: _Clue, likeness: float) -> bool:
        """Return whether the pattern is in the message's own words, and is not one that any failure may have."""
        pattern = bug.match or ""
        if not clue.own or not _is_in(pattern, clue.own) or is_ordinary(pattern):
            return False
        # The words of a wrong result are those of the check that found it, and may be anybody's.
        is_torchs = bug.outcome is not Outcome.WRONG
        return (is_torchs and literal_length(pattern) >= _TELLING_LITERALS) or likeness >= _ALIKE

    @staticmethod
    def _has_its_line(known: KnownBug, bug: Bug, clue: _Clue, signatures: set[Signature], *, fits: bool) -> bool:
        """Return whether the telling line is a documented one, or fits a pattern that says enough."""
        if clue.line and any(clue.line == signature.line for signature in signatures):
            return True
        pattern = bug.match or ""
        says_enough = fits and literal_length(pattern) >= _TELLING_LITERALS and not is_ordinary(pattern)
        return says_enough and _is_in(known.wide_pattern(bug), clue.own)

    # --- likeness ---

    def _likeness(self, clue: _Clue, signatures: set[Signature]) -> tuple[float, float]:
        """Return how alike the nearest message is, and the weight of the words in common."""
        weights = self.known.weights
        best = max(
            (signature.words for signature in signatures),
            key=lambda words: weights.likeness(clue.words, words),
            default=frozenset(),
        )
        return weights.likeness(clue.words, best), weights.total(clue.words & best)

    def _contained(self, clue: _Clue, signatures: set[Signature]) -> float:
        """Return how much of the message is in a known one: 1 for its first line. 0 if it is too short to tell."""
        weights = self.known.weights
        whole = weights.total(clue.words)
        if whole < _LEAST_PART:
            return 0.0
        return max((weights.total(clue.words & known.words) for known in signatures), default=0.0) / whole

    def _compare_frames(self, bug: Bug, clue: _Clue, signatures: set[Signature]) -> tuple[int, float | None]:
        """Return how many innermost frames agree with a signature (0: they say nothing), and the part of its frames."""
        told, part = 0, None
        for signature in signatures:
            if not signature.torch_frames or not clue.torch_frames:
                continue
            depth = next(
                (i for i, (a, b) in enumerate(zip(signature.torch_frames, clue.torch_frames, strict=False)) if a != b),
                min(len(signature.torch_frames), len(clue.torch_frames)),
            )
            part = max(part or 0.0, depth / min(len(signature.torch_frames), MAX_FRAMES))
            common = clue.torch_frames[:depth]
            needed = min(3, len(signature.torch_frames))
            if needed == 1 and clue.own and clue.type not in _PYTHONS and not bug.frame:
                # The one function that raises this message for every mistake of that kind, documented or not.
                continue
            if depth >= needed and self.known.is_telling(common):
                told = max(told, depth)
        return told, part

    @staticmethod
    def _score(bug: Bug, clue: _Clue, likeness: float, frame_score: float | None, *, has_message: bool) -> float:
        """Return a score from 0 to 1: message, type and frames, as far as there are any to compare."""
        parts = [(0.2, _type_score(bug, clue))]
        if has_message:
            parts.append((0.55, likeness))
        if frame_score is not None:
            parts.append((0.25, frame_score))
        return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)

    # --- the program's own lines ---

    def _owners(self, traceback: Traceback) -> set[str]:
        """Return the cases of whose program the traceback shows the file, or a line that no other has."""
        shown = [(frame.file, frame.code) for frame in traceback.frames]
        shown += [(m["file"], m["code"]) for raised in traceback.chain for m in _QUOTED.finditer(raised.message)]
        cases = set()
        for file, code in shown:
            stem = PurePath(file.replace("\\", "/")).stem
            if stem in self.known.bugs:
                cases.add(stem)
            code = code.strip()
            if len(code) >= _LEAST_CODE and not is_ordinary_code(code):
                owners = self.known.owners_of(code)
                if len(owners) == 1:
                    cases.add(owners[0])
        return cases


def telling(message: str) -> str:
    """Return the telling line of a message, normalized; empty if it has none.

    Args:
        message: without the lines of a comparison.
    """
    return normalize(telling_line(message))[:LENGTH]


def is_refusal(bug: Bug) -> bool:
    """Return whether torch says this on purpose of a mistake; where a backend raised it, the program was correct.

    Args:
        bug: an entry of a header.
    """
    name = (bug.error or "").rpartition(".")[2]
    return name not in WRAPPERS and (name == "UserError" or bool(bug.match and is_mistake(bug.match)))


def _is_in(pattern: str, message: str) -> bool:
    """Return whether a message has the pattern; blanks at the ends of lines (``AssertionError: ``) may be lost."""
    return search(pattern, message) or (":\n" in message and search(pattern, message.replace(":\n", ": \n")))


def _is_silent(signatures: set[Signature]) -> bool:
    return any(not signature.words for signature in signatures)


def _clues(traceback: Traceback) -> Iterator[_Clue]:
    text = f"{traceback.before[-_COMPARED_OUTPUT:]}\n{traceback.text[:_COMPARED_OUTPUT]}"
    for raised in traceback.chain:
        frames = [place for frame in raised.frames if (place := frame.place)]
        for type_, message in _with_causes(raised, traceback.signal):
            yield _Clue(
                type_,
                bounded(message, MESSAGE_LIMIT),
                own_message(message),
                words_of(message),
                telling(own_message(message)),
                torch_frames_of(frames),
                "\n".join(frames[:MAX_FRAMES]),
                text,
            )


_INNER = re.compile(
    r"(?:^|\n)\s*(?:[\w.]+ raised:? |backend='[^'\n]*' raised:\s*)?"
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failed|Unsupported)|(?:[a-z_]\w*\.)+Unsupported): ?"
)


def _with_causes(raised: Raised, signal: str) -> Iterator[tuple[str, str]]:
    """Yield the exception, and those that its message quotes at its head, as wrappers do."""
    message = f"died by {signal}\n{raised.message}" if signal else raised.message
    yield raised.type, message
    rest = message
    for _ in range(4):
        inner = _INNER.match(rest) or (_INNER.search(rest) if rest.startswith(("backend=", "compiler_fn")) else None)
        if inner is None or inner.start() > 200:
            return
        rest = rest[inner.end() :]
        yield inner["type"], rest


def _same_type(documented: str, printed: str) -> bool:
    documented = documented.removeprefix("builtins.")
    return documented == printed or ("." not in printed and documented.rpartition(".")[2] == printed)


_COMPILER = ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/", "torch/_subclasses/")


def _type_fits(documented: str, traceback: Traceback, printed: str) -> bool:
    """Return whether the type is the documented one, or what that wraps, where the text was cut off before it."""
    if not printed or _same_type(documented, printed):
        return bool(printed)
    types = {raised.type.rpartition(".")[2] for raised in traceback.chain}
    return (
        documented.rpartition(".")[2] in _WRAPPERS
        and not types & _WRAPPERS
        and any(frame.place.startswith(_COMPILER) for frame in traceback.frames)
    )


def _type_score(bug: Bug, clue: _Clue) -> float:
    if bug.error is None:
        return 1.0
    if not clue.type:
        return 0.0
    if _same_type(bug.error, clue.type):
        return 1.0
    names = {bug.error.rpartition(".")[2], clue.type.rpartition(".")[2]}
    return 0.5 if names & _WRAPPERS else 0.0


_CELL = b'"outcome": '
_PASSED = tuple(f'"outcome": "{outcome}"'.encode() for outcome in Outcome if outcome not in FAILURES)


def _may_fail(line: bytes) -> bool:
    """Return whether a line of the journal can be one of a failure. Within a text its quotes would be escaped."""
    return not any(passed in line for passed in _PASSED)


def advice(match: Match, life: Life, torch: str = "") -> str:
    """Return what to do, in a sentence or two; what fits comes first, which tells several matches apart.

    Args:
        match: the case that the failure may be.
        life: where its bug begins and ends.
        torch: the release that failed; empty if it is not known.
    """
    parts = [f"fits: {match.why}"]
    if "by-design" in match.case.labels:
        parts.append("torch means it so: see the issue")
    elif not match.is_known:
        parts.append("similar only: compare it with the reproducer")
    elif life.until and torch and Version(torch) >= Version(life.until):
        parts.append(f"fixed in torch {life.until}, and you are on {torch}: it may be back, see `pt2bugs bisect`")
    elif life.until:
        here = f"you are on {torch}: " if torch else ""
        parts.append(f"{here}upgrade to torch {life.until} or newer")
    elif life.newest:
        parts.append(f"not fixed up to torch {life.newest}, the newest measured: see the issue")
    else:
        parts.append("no release is known that fixes it: see the issue")
    if not life.until and life.since and "by-design" not in match.case.labels:
        parts.append(f"releases before {life.since} do not have it")
    return "; ".join(parts)


def _measured(case: Case, records: Iterable[Record]) -> Life | None:
    """Return the releases that the journal has; None if none of them showed the bug."""
    histories = Histories([case])
    for record in records:
        histories.add(record)
    rows = histories.rows()
    if not any(row.intervals for row in rows):
        return None
    (life,) = lives_of(rows)
    return life


def _documented(case: Case) -> Life:
    """Return the releases that the entries of the header name."""
    entries = [str(bug.torch) for bug in case.bugs if not bug.blocked]
    lows = [re.search(r">=?\s*([\d.]+)", text) for text in entries]
    highs = [re.search(r"<\s*([\d.]+)", text) for text in entries]
    introduced = min((low[1] for low in lows if low), key=Version) if all(lows) and lows else ""
    fixed = max((high[1] for high in highs if high), key=Version) if all(highs) and highs else ""
    return Life(case, since=introduced, until=fixed)


def _name_of_fix(case: Case) -> str:
    return case.fix or case.issue or case.id
