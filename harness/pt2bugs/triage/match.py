"""Which known bugs a failure is: by documented identity, or else by likeness."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from pt2bugs.case.expectation import public
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import MAX_FRAMES, MESSAGE_LIMIT, bounded
from pt2bugs.case.patterns import PatternTimeout, literal_length, search
from pt2bugs.case.words import Outcome
from pt2bugs.triage.ordinary import is_mistake, is_ordinary, own_message
from pt2bugs.triage.signatures import KnownBug, Signature, Signatures, TorchFrame, torch_frames_of
from pt2bugs.triage.traceback_text import Failure, Raised
from pt2bugs.triage.wording import Words, words_of

IDENTITY, SIMILAR = "identity", "similar"
MOST = 5
"""Matches in one answer."""
_LEAST_SCORE = 0.5
_AS_WELL = 0.75
"""Of a similar bug that is told beside a known one."""
_LEAST_WEIGHT = 6.0
"""Of the words that a message must share with a known one to be called similar."""
_TELLING_LITERALS = 20
"""A pattern that fixes so many characters is taken by its word; a shorter one needs a like message as well."""
_ALIKE = 0.7
_OF_A_PART = 0.75
"""What a message that is a part of a known one counts, against the whole."""
_LEAST_PART = 20.0
"""Of the weight of such a part."""
_WRAPPERS = frozenset(
    {"BackendCompilerFailed", "InductorError", "TorchRuntimeError", "InternalTorchDynamoError", "LoweringException"}
)
_OF_A_BACKEND = frozenset({"BackendCompilerFailed", "InductorError", "LoweringException"})
_RAISERS = frozenset(
    {
        "_fn", "__call__", "call_user_compiler", "_call_user_compiler", "_compile", "unimplemented", "unimplemented_v2",
        "unimplemented_with_warning", "grad", "backward", "_engine_run_backward", "_wrapped_call_impl", "_call_impl",
        "forward", "apply", "wrapper", "wrapped", "inner", "get_fake_value", "merge_devices", "validate", "dispatch",
        "__torch_dispatch__", "__torch_function__", "from_real_tensor", "_run_node", "run_node", "produce_guards",
        "compile_wrapper", "_compile_wrapper", "_check", "evaluate_expr", "_evaluate_expr", "format_graph_code",
        "_dispatch_impl", "_cached_dispatch_impl", "handle_torch_function",
    }
)  # fmt: skip
"""Functions of torch that raise for whoever made the mistake: alone they tell nothing."""
_PYTHONS = frozenset({"AttributeError", "IndexError", "KeyError", "TypeError", "ZeroDivisionError"})
"""Mistakes that no function of torch raises on purpose: there a single frame says where torch is wrong."""
_QUOTED = re.compile(r'^[ \t]*File "(?P<file>[^"]+)", line \d+.*\n[ \t]+(?P<code>\S.*)$', re.MULTILINE)
_ANYBODYS = re.compile(
    r"assert|torch\.compile|^import |^from |^def |^return \w+\(\w*\)$|\.backward\(|^@|^with |^class "
)
_LEAST_CODE = 28


@dataclass(frozen=True)
class Match:
    """A case that a failure may be. `kind` is ``identity`` or ``similar``, `why` says in words what fits."""

    known: KnownBug
    kind: str
    score: float
    why: str
    bug: Bug | None = None

    @property
    def case(self) -> Case:
        return self.known.case

    @property
    def is_known(self) -> bool:
        return self.kind == IDENTITY


@dataclass(frozen=True)
class _Clue:
    """One exception of a failure, as it is compared: also those that a wrapper's message quotes."""

    type: str
    message: str
    own: str
    words: Words
    torch_frames: tuple[TorchFrame, ...]
    frames: str
    text: str


class Matcher:
    """Compares failures with the signatures of the known bugs.

    Args:
        torch: the release that failed, as a public version; empty if it is not known. An entry that does not speak of
            it is similar at most.
    """

    def __init__(self, signatures: Signatures, torch: str = "") -> None:
        self.signatures = signatures
        self.torch = public(torch) if torch else ""

    def match(self, failure: Failure) -> list[Match]:
        """The known bugs that the failure may be, best first."""
        clues = list(_clues(failure))
        own = self._owners(failure)
        found = [
            match
            for known in self.signatures.bugs.values()
            if (match := self._best(known, failure, clues, own)) is not None
        ]
        found.sort(key=lambda match: (match.kind != IDENTITY, -match.score, match.known.id))
        if found and found[0].is_known:
            # Beside what it is, only what it might as well be.
            found = [match for match in found if match.is_known or match.score >= _AS_WELL]
        return found[:MOST]

    def _best(self, known: KnownBug, failure: Failure, clues: Sequence[_Clue], own: set[str]) -> Match | None:
        best: Match | None = None
        for depth, clue in enumerate(clues):
            for bug in known.entries:
                match = self._compare(known, bug, failure, clue, is_own=known.id in own)
                if match:
                    # What ended the program says more than what it came of.
                    match = replace(match, score=round(match.score - 0.01 * min(depth, 4), 3))
                if match and (
                    best is None or (match.kind == IDENTITY, match.score) > (best.kind == IDENTITY, best.score)
                ):
                    best = match
        return best

    def _compare(self, known: KnownBug, bug: Bug, failure: Failure, clue: _Clue, *, is_own: bool) -> Match | None:
        if bool(failure.signal) != (bug.outcome is Outcome.CRASH):
            return None
        signatures = known.signatures.get(bug.line, set())
        likeness, weight = self._likeness(clue, signatures)
        agree, frame_score = self._compare_frames(bug, clue, signatures)
        message_score = max(likeness, _OF_A_PART * self._contained(clue, signatures))
        score = self._score(
            bug, clue, message_score, frame_score, has_message=bool(clue.words) or not _is_silent(signatures)
        )
        try:
            fits = self._fits(bug, failure, clue)
            why = fits and self._why(bug, clue, likeness, agree, is_own=is_own, is_seen=bool(signatures))
        except PatternTimeout:
            return None
        if why:
            applies = not self.torch or bug.torch.contains(self.torch, prereleases=True)
            if applies:
                return Match(known, IDENTITY, round(0.9 + 0.1 * max(score, 1.0 if is_own else 0.0), 3), why, bug)
            reason = f"its documented identity, though not for torch {self.torch}"
            return Match(known, SIMILAR, round(0.89 * max(score, 0.9), 3), reason, bug)
        if is_own and fits:
            return Match(known, SIMILAR, 0.89, "a line of its program", bug)
        if agree and frame_score == 1.0 and clue.type == bug.error:
            weight = max(weight, _LEAST_WEIGHT)
        if score < _LEAST_SCORE or weight < _LEAST_WEIGHT:
            return None
        reason = " and ".join(
            part for part in ("a like message" if likeness else "", "the same torch frames" if agree else "") if part
        )
        if fits and is_refusal(bug):
            reason = "its message, which torch gives for ordinary mistakes too"
        return Match(known, SIMILAR, round(0.89 * score, 3), reason or "a like failure", bug)

    # --- identity ---

    def _fits(self, bug: Bug, failure: Failure, clue: _Clue) -> bool:
        """Whether the documented identity fits, however little it says."""
        return (
            (bug.outcome is not Outcome.TIMEOUT or "timeout" in f"{clue.type} {clue.message[:200]}".lower())
            and (bug.error is None or _type_fits(bug.error, failure, clue.type))
            and (bug.signal is None or bug.signal == failure.signal)
            and (bug.match is None or _is_in(bug.match, clue.message))
            and (bug.frame is None or search(bug.frame, clue.frames))
            and (bug.output is None or search(bug.output, clue.text))
        )

    def _why(self, bug: Bug, clue: _Clue, likeness: float, agree: int, *, is_own: bool, is_seen: bool) -> str:
        """What makes a fitting identity certain; empty if it could be anybody's failure."""
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
        """Whether the pattern is found in the message's own words, and is not one that any failure may have."""
        pattern = bug.match or ""
        if not clue.own or not _is_in(pattern, clue.own) or is_ordinary(pattern):
            return False
        # The words of a wrong result are those of the check that found it, and may be anybody's.
        is_torchs = bug.outcome is not Outcome.WRONG
        return (is_torchs and literal_length(pattern) >= _TELLING_LITERALS) or likeness >= _ALIKE

    # --- likeness ---

    def _likeness(self, clue: _Clue, signatures: set[Signature]) -> tuple[float, float]:
        """How alike the nearest message is, and the weight of the words in common."""
        weights = self.signatures.weights
        best = max(
            (one.words for one in signatures),
            key=lambda words: weights.likeness(clue.words, words),
            default=frozenset(),
        )
        return weights.likeness(clue.words, best), weights.total(clue.words & best)

    def _contained(self, clue: _Clue, signatures: set[Signature]) -> float:
        """How much of the message is in a known one: 1 for its first line. 0 if it is too short to tell."""
        weights = self.signatures.weights
        whole = weights.total(clue.words)
        if whole < _LEAST_PART:
            return 0.0
        return max((weights.total(clue.words & one.words) for one in signatures), default=0.0) / whole

    def _compare_frames(self, bug: Bug, clue: _Clue, signatures: set[Signature]) -> tuple[int, float | None]:
        """How many innermost frames agree with a signature, 0 if they tell nothing; and the part of its frames."""
        told, part = 0, None
        for one in signatures:
            if not one.torch_frames or not clue.torch_frames:
                continue
            depth = next(
                (i for i, (a, b) in enumerate(zip(one.torch_frames, clue.torch_frames, strict=False)) if a != b),
                min(len(one.torch_frames), len(clue.torch_frames)),
            )
            part = max(part or 0.0, depth / min(len(one.torch_frames), MAX_FRAMES))
            common = clue.torch_frames[:depth]
            is_all_helpers = all(function in _RAISERS for _, function in common)
            needed = min(3, len(one.torch_frames))
            if needed == 1 and clue.own and clue.type not in _PYTHONS and not bug.frame:
                # The one function that raises this message, whoever made the mistake, if nobody has documented it.
                continue
            if depth >= needed and not is_all_helpers and self.signatures.is_telling(common):
                told = max(told, depth)
        return told, part

    @staticmethod
    def _score(bug: Bug, clue: _Clue, likeness: float, frame_score: float | None, *, has_message: bool) -> float:
        """From 0 to 1: message, type and frames, as far as there are any to compare."""
        parts = [(0.2, _type_score(bug, clue))]
        if has_message:
            parts.append((0.55, likeness))
        if frame_score is not None:
            parts.append((0.25, frame_score))
        return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)

    # --- the program's own lines ---

    def _owners(self, failure: Failure) -> set[str]:
        """The cases of whose program the failure shows the file, or a line that no other has."""
        shown = [(frame.file, frame.code) for frame in failure.frames]
        shown += [(m["file"], m["code"]) for raised in failure.chain for m in _QUOTED.finditer(raised.message)]
        found = set()
        for file, code in shown:
            stem = PurePath(file.replace("\\", "/")).stem
            if stem in self.signatures.bugs:
                found.add(stem)
            code = code.strip()
            if len(code) >= _LEAST_CODE and not _ANYBODYS.search(code):
                owners = self.signatures.owners_of(code)
                if len(owners) == 1:
                    found.add(owners[0])
        return found


def is_refusal(bug: Bug) -> bool:
    """Whether torch says this on purpose to whoever made a mistake; to a backend, a correct program led."""
    name = (bug.error or "").rpartition(".")[2]
    return name not in _OF_A_BACKEND and (name == "UserError" or bool(bug.match and is_mistake(bug.match)))


def _is_in(pattern: str, message: str) -> bool:
    """Whether a message has the pattern; blanks at the ends of lines (``AssertionError: ``) are lost on the way."""
    return search(pattern, message) or (":\n" in message and search(pattern, message.replace(":\n", ": \n")))


def _is_silent(signatures: set[Signature]) -> bool:
    return any(not one.words for one in signatures)


def _clues(failure: Failure) -> Iterator[_Clue]:
    text = f"{failure.before}\n{failure.text}"
    for raised in failure.chain:
        frames = [place for frame in raised.frames if (place := frame.place)]
        for type_, message in _with_causes(raised, failure.signal):
            yield _Clue(
                type_,
                bounded(message, MESSAGE_LIMIT),
                own_message(message),
                words_of(message),
                torch_frames_of(frames),
                "\n".join(frames[:MAX_FRAMES]),
                text,
            )


_INNER = re.compile(
    r"(?:^|\n)\s*(?:[\w.]+ raised:? |backend='[^'\n]*' raised:\s*)?"
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failed|Unsupported)|(?:[a-z_]\w*\.)+Unsupported): ?"
)


def _with_causes(raised: Raised, signal: str) -> Iterator[tuple[str, str]]:
    """The exception, and those that its message quotes at its head, as wrappers do."""
    message = f"died by {signal}\n{raised.message}" if signal else raised.message
    yield raised.type, message
    rest = message
    for _ in range(4):
        found = _INNER.match(rest) or (_INNER.search(rest) if rest.startswith(("backend=", "compiler_fn")) else None)
        if found is None or found.start() > 200:
            return
        rest = rest[found.end() :]
        yield found["type"], rest


def _same_type(documented: str, printed: str) -> bool:
    documented = documented.removeprefix("builtins.")
    return documented == printed or ("." not in printed and documented.rpartition(".")[2] == printed)


_COMPILER = ("torch/_dynamo/", "torch/_inductor/", "torch/_functorch/", "torch/_subclasses/")


def _type_fits(documented: str, failure: Failure, printed: str) -> bool:
    """Whether the type is the documented one, or what that would wrap, had the text not been cut off before it."""
    if not printed or _same_type(documented, printed):
        return bool(printed)
    types = {raised.type.rpartition(".")[2] for raised in failure.chain}
    return (
        documented.rpartition(".")[2] in _WRAPPERS
        and not types & _WRAPPERS
        and any(frame.place.startswith(_COMPILER) for frame in failure.frames)
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
