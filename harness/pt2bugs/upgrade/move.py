"""A program on two releases: what breaks, what is fixed, what changes, and what is not known."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from pt2bugs.case.failure import Failure, Level
from pt2bugs.case.vocabulary import Outcome, number_of
from pt2bugs.match.known import KnownBugs
from pt2bugs.triage.statements import stated
from pt2bugs.upgrade.exposure import Exposed, Exposure, told
from pt2bugs.upgrade.inside.comparison import NOT_EAGER, RAISES
from pt2bugs.upgrade.recorded import Recorded, prints_alike

RUNS = 2
"""Runs of the program on each release before anything is called a change."""
REPLAYS = 3
"""Processes in which the captured graphs are replayed and timed on each release."""
HANGS = 5
"""A program that is stopped hangs if it ended in a fifth of that time on the other release."""
TITLES = {
    "breaks_for_you": "Breaks for you",
    "fixed_for_you": "Fixed for you",
    "changes_for_you": "Changes for you",
    "not_known": "Not known",
}
"""The lists of an answer, and their titles."""
LISTS = tuple(TITLES)
CAVEAT = "No match is not proof: what the program did not execute in these runs was not asked."
"""What an answer does not say."""
Known = Callable[[str, str], tuple[str | None, str]]
"""Returns the documented bug that a failure is on a release, and what to do about it."""


@dataclass(frozen=True)
class Entry:
    """A line of the answer: the documented bug, if it is one; what happens, where in the program, what helps.

    `failure` is the one that it tells of, if it is one.
    """

    what: str
    where: str = ""
    case: str | None = None
    workaround: str = ""
    is_wrong_result: bool = False
    failure: Failure | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {"case": self.case, "what": self.what, "where": self.where, "workaround": self.workaround}

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        helps = f" ({self.workaround})" if self.workaround else ""
        return f"{where}{self.what}{f' [{self.case}]' if self.case else ''}{helps}"


@dataclass(frozen=True)
class Replayed:
    """A captured graph on one release in one process; `problem` says why it was not replayed."""

    graph: str
    differences: tuple[tuple[str, str, float | None], ...] = ()
    eager_s: float | None = None
    compiled_s: float | None = None
    problem: str = ""


@dataclass
class Side:
    """One release: the program's runs, its graphs by digest, and their replays, one mapping for each process.

    `notes` are sentences on what cannot be said there.
    """

    release: str
    runs: list[Recorded] = field(default_factory=list)
    graphs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    replays: list[dict[str, Replayed]] = field(default_factory=list)
    exposure: Exposure | None = None
    problem: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        """True if the program could be run there."""
        return bool(self.runs)

    @property
    def ends_alike(self) -> bool:
        """True if all runs ended alike."""
        return all(run.fails_like(self.runs[0]) for run in self.runs)

    @property
    def speedups(self) -> list[float]:
        """The time of eager by that of compiled code, all replayed graphs together, in each process."""
        ratios = []
        for replay in self.replays:
            timed = [
                (timing.eager_s, timing.compiled_s)
                for timing in replay.values()
                if timing.eager_s and timing.compiled_s
            ]
            if timed:
                ratios.append(sum(eager for eager, _ in timed if eager) / sum(own for _, own in timed if own))
        return ratios

    @property
    def speedup(self) -> float | None:
        """The median of `speedups`; None where nothing was timed."""
        return round(statistics.median(self.speedups), 2) if self.speedups else None

    def numbers(self) -> dict[str, list[float]]:
        """Return the counts of each run that say how the compiler took the program."""
        counted: dict[str, list[float]] = {}
        for run in self.runs:
            for name, value in numbers_of(run).items():
                if value is not None:
                    counted.setdefault(name, []).append(value)
        return counted

    def as_dict(self) -> dict[str, Any]:
        """Return the release as ``--json`` prints it."""
        run = self.runs[0] if self.runs else None
        numbers = numbers_of(run) if run else dict.fromkeys(_NAMES)
        return {
            "torch": self.release,
            "outcome": str(run.seen.outcome) if run else None,
            **{name: numbers[name] for name in _NAMES},
            "speedup": self.speedup,
            "break_reasons": [list(reason) for reason in run.breaks] if run else [],
            "printed": run.stdout if run else "",
            "problem": self.problem,
        }


_NAMES = ("graphs", "breaks", "recompiles", "guards", "kernels", "fallbacks", "peak_memory_mb", "compile_s")


def numbers_of(run: Recorded) -> dict[str, Any]:
    """Return what is counted of a run; None where it was not counted.

    Args:
        run: of a program.
    """
    seen, compiled = run.seen, run.compiled
    guards = [entry["guard_count"] for entry in compiled if entry["guard_count"] is not None]
    seconds = [entry["entire_frame_compile_time_s"] for entry in compiled]
    return {
        "graphs": seen.graphs,
        "breaks": seen.breaks,
        "recompiles": sum(bool(entry["again"]) for entry in compiled),
        "guards": sum(guards) if guards else None,
        "kernels": seen.kernels,
        "fallbacks": seen.fallbacks,
        "peak_memory_mb": round(run.device_mb or seen.peak_rss_mb, 1),
        "compile_s": round(sum(value for value in seconds if value), 2) if seconds else None,
    }


def not_covered(sides: Sequence[Side]) -> str:
    """Return what no run of a program has shown, in a sentence.

    Args:
        sides: the releases in their order.
    """
    parts = [] if any(run.device_mb for side in sides for run in side.runs) else ["GPUs"]
    parts.append("branches that were not taken")
    for side in sides:
        unfixed = sum(not bug.units for bug in side.exposure.bugs) if side.exposure is not None else 0
        if unfixed:
            parts.append(f"{unfixed} documented bugs of torch {side.release} that no fix is isolated for")
    return f"Not covered: {', '.join(parts)}."


def digest_of(graph: Mapping[str, Any]) -> str:
    """Return a name of a captured graph that does not depend on the run.

    Args:
        graph: with its inputs.
    """
    text = json.dumps([graph["graph"]["text"], graph["inputs"], graph["backend"]], sort_keys=True, default=str)
    return hashlib.sha256(re.sub(r"0x[0-9a-f]+", "", text).encode()).hexdigest()[:12]


@dataclass
class Move:
    """A move from one release to another, and its answer."""

    before: Side
    after: Side
    breaks_for_you: list[Entry] = field(default_factory=list)
    fixed_for_you: list[Entry] = field(default_factory=list)
    changes_for_you: list[Entry] = field(default_factory=list)
    not_known: list[Entry] = field(default_factory=list)

    @classmethod
    def of(cls, before: Side, after: Side, known: Known) -> Move:
        """Return the answer to a move.

        Args:
            before: the release to come from.
            after: the release to go to.
            known: recognizes documented bugs.
        """
        move = cls(before, after)
        sentences: dict[str, list[str]] = {}
        for side in (before, after):
            for sentence in (*([side.problem] if side.problem else []), *side.notes):
                sentences.setdefault(sentence, []).append(side.release)
        for sentence, releases in sentences.items():
            move.not_known.append(Entry(f"torch {' and '.join(releases)}: {sentence}"))
        if before.is_there and after.is_there:
            move._compare_endings(known)
            move._compare_runs()
        move._compare_replays(known)
        move._compare_exposures()
        for name in LISTS:
            entries = getattr(move, name)
            entries[:] = sorted(dict.fromkeys(entries), key=lambda entry: not entry.is_wrong_result)
        return move

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return the lists as ``--json`` prints them."""
        return {name: [entry.as_dict() for entry in getattr(self, name)] for name in LISTS}

    # --- the program as it is ------------------------------------------------------------------------------

    def _compare_endings(self, known: Known) -> None:
        before, after = self.before, self.after
        for side in (before, after):
            if not side.ends_alike:
                endings = " and ".join(sorted({run.ending for run in side.runs}))
                self.not_known.append(Entry(f"torch {side.release}: ends otherwise from run to run: {endings}"))
        if not before.ends_alike or not after.ends_alike:
            return
        old, new = before.runs[0], after.runs[0]
        if _is_slow(old, new) or _is_slow(new, old):
            return
        if Outcome.SKIP in (old.seen.outcome, new.seen.outcome):
            # Of a test; nothing is known of what it would have shown.
            if old.seen.outcome is not new.seen.outcome:
                self.changes_for_you.append(Entry(f"ends otherwise: {new.ending} (before: {old.ending})"))
        elif old.succeeded and not new.succeeded:
            self.breaks_for_you.append(_failed(new, after.release, known))
        elif new.succeeded and not old.succeeded:
            self.fixed_for_you.append(_failed(old, before.release, known))
        elif not new.passed and new.fails_like(old, Level.TYPE):
            if reason_of(new) in after.notes:
                return
            what = f"fails on both alike, and was compared up to there: {new.ending}"
            self.not_known.append(Entry(what, _where(new), *known(_text(new), after.release), failure=new.failure))
        elif not new.passed:
            what = f"fails otherwise: {new.ending} (before: {old.ending})"
            self.changes_for_you.append(Entry(what, _where(new), failure=new.failure))

    def _compare_runs(self) -> None:
        before, after = self.before, self.after
        lines = [side.runs[0].stdout.splitlines() for side in (before, after)]
        stable = all(prints_alike(run.stdout, side.runs[0].stdout) for side in (before, after) for run in side.runs)
        if not stable:
            self.not_known.append(Entry("prints another text from run to run, so that it was not compared"))
        elif not prints_alike("\n".join(lines[0]), "\n".join(lines[1])) and all(
            side.runs[0].passed for side in (before, after)
        ):
            self.changes_for_you.append(_other_text(*lines))
        # Of a program that fails on one release alone, the counts only say again where it ended.
        alike = before.runs[0].passed is after.runs[0].passed
        old, new = (before.numbers(), after.numbers()) if alike else ({}, {})
        for name in _NAMES:
            if name in old and name in new and (words := _changed(name, old[name], new[name])):
                self.changes_for_you.append(Entry(words, self._new_break() if name == "breaks" else ""))
        apart = not _overlap(before.speedups, after.speedups)
        if apart and before.speedup and after.speedup and not 0.8 < after.speedup / before.speedup < 1.25:
            words = f"compiled code is {after.speedup:g} times as fast as eager (before: {before.speedup:g})"
            self.changes_for_you.append(Entry(words))

    def _new_break(self) -> str:
        old = Counter((reason, line) for reason, _, line in self.before.runs[0].breaks)
        for reason, file, line in self.after.runs[0].breaks:
            if not old[reason, line]:
                return f"{file.rpartition('/')[2]}:{line} ({reason[:80]})"
        return ""

    # --- its graphs ----------------------------------------------------------------------------------------

    def _compare_replays(self, known: Known) -> None:
        for graph in dict.fromkeys((*self.before.graphs, *self.after.graphs)):
            place = str({**self.after.graphs, **self.before.graphs}[graph]["place"])
            old, new = (
                [replay[graph] for replay in side.replays if graph in replay] for side in (self.before, self.after)
            )
            problems = [(side.release, comparison.problem) for side, some in ((self.before, old), (self.after, new))
                        for comparison in some[:1] if comparison.problem]  # fmt: skip
            if problems:
                what = "; ".join(f"its graph was not replayed on torch {release}: {why}" for release, why in problems)
                self.not_known.append(Entry(what, place))
                continue
            if not old or not new:
                continue
            # A difference counts where every process shows it.
            wrong = [set.intersection(*({(what, how) for what, how, _ in replayed.differences} for replayed in some))
                     for some in (old, new)]  # fmt: skip
            if wrong[1] - wrong[0] and not wrong[0]:
                words = "compiled, its graph differs from eager"
                self.breaks_for_you.append(_differs(wrong[1], new, place, words, known, self.after.release))
            elif wrong[0] and not wrong[1]:
                words = "compiled, its graph differed from eager"
                self.fixed_for_you.append(_differs(wrong[0], old, place, words, known, self.before.release))
            elif wrong[0] and wrong[1]:
                words = "compiled, its graph differs from eager on both"
                self.not_known.append(_differs(wrong[1], new, place, words, known, self.after.release))

    # --- documented bugs -----------------------------------------------------------------------------------

    def _compare_exposures(self) -> None:
        for side, direction, entries in (
            (self.before, "fixed", self.fixed_for_you),
            (self.after, "introduced", self.breaks_for_you),
        ):
            unknown: dict[str, list[Exposed]] = {}
            for bug in side.exposure.bugs if side.exposure is not None else ():
                if bug.direction != direction:
                    continue
                if bug.level == "bites" and bug.case not in {entry.case for entry in entries}:
                    entries.append(_exposed(bug, is_wrong_result=True))
                elif bug.level == "differs":
                    self.changes_for_you.append(_exposed(bug))
                elif bug.level == "unknown" and bug.units:
                    unknown.setdefault(bug.what, []).append(bug)
            for why, bugs in unknown.items():
                cases = ", ".join(bug.case for bug in bugs)
                several = f"{len(bugs)} documented bugs concern it: {why} ({cases})"
                self.not_known.append(Entry(f"whether {several if len(bugs) > 1 else f'{cases} concerns it: {why}'}"))


def _exposed(bug: Exposed, *, is_wrong_result: bool = False) -> Entry:
    return Entry(bug.what, bug.where, bug.case, is_wrong_result=is_wrong_result)


def _differs(
    shown: set[tuple[str, str]], replayed: Sequence[Replayed], place: str, words: str, known: Known, release: str
) -> Entry:
    what, how = min(shown)
    sizes = [size for some in replayed for *difference, size in some.differences if difference == [what, how]]
    size = max((size for size in sizes if size is not None), default=None)
    raised = how.removeprefix(RAISES).removesuffix(NOT_EAGER) if how.startswith(RAISES) else ""
    case, helps = known(raised, release) if raised else (None, "")
    return Entry(f"{words}: {told(what, how, size)}", place, case, helps, is_wrong_result=not raised)


def _failed(run: Recorded, release: str, known: Known) -> Entry:
    is_wrong = run.seen.outcome is Outcome.WRONG
    what = f"fails on torch {release}: {run.ending}"
    return Entry(what, _where(run), *known(_text(run), release), is_wrong, run.failure)


def recognizer(load: Callable[[], KnownBugs]) -> Known:
    """Return what recognizes documented bugs; they are read when a failure is asked about.

    Args:
        load: reads them.
    """
    bugs: list[KnownBugs] = []

    def known(text: str, release: str) -> tuple[str | None, str]:
        if not bugs:
            bugs.append(load())
        for recognized in bugs[0].recognize(text, release):
            for match in recognized.matches:
                if match.is_known:
                    return match.case.id, str(bugs[0].as_dict(match, release)["advice"])
        return None, ""

    return known


def _is_slow(done: Recorded, stopped: Recorded) -> bool:
    """Return whether a run was stopped where another took so long that this shows no hang."""
    is_over = stopped.seen.outcome is Outcome.TIMEOUT and done.seen.outcome is not Outcome.TIMEOUT
    return is_over and done.seconds * HANGS > stopped.seconds


def _text(run: Recorded) -> str:
    return run.text or f"{run.seen.output_tail}\n{run.seen.error_type}: {run.seen.message}"


def _where(run: Recorded) -> str:
    return f"line {run.lines[-1]}" if run.lines else ""


_MEANING = {
    "graphs": "graphs",
    "breaks": "graph breaks",
    "recompiles": "recompilations",
    "guards": "guards",
    "kernels": "kernels",
    "fallbacks": "operators left to eager's kernels",
    "peak_memory_mb": "MB of peak memory",
    "compile_s": "seconds of compilation",
}


def _overlap(old: Sequence[float], new: Sequence[float]) -> bool:
    """Return whether the values of two releases cannot be told apart: some of the one lie among those of the other."""
    return not old or not new or (max(old) >= min(new) and max(new) >= min(old))


def _other_text(before: Sequence[str], after: Sequence[str]) -> Entry:
    """Return a line on two texts that differ; lines that one only has beside the other's are no wrong result."""
    for verb, fewer, more in (("prints", before, after), ("no longer prints", after, before)):
        if extra := _extra_lines(fewer, more):
            others = f", and {number_of(len(extra) - 1, 'more line')}" if len(extra) > 1 else ""
            return Entry(f"{verb} {extra[0].strip()[:80]!r}{others}")
    old, new = next(pair for pair in zip_longest(before, after, fillvalue="") if not prints_alike(*pair))
    what = f"prints another text: {new.strip()[:80]!r} (before: {old.strip()[:80]!r})"
    return Entry(what, is_wrong_result=True)


def _extra_lines(fewer: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the lines that a text has beside all those of another, in their order; none if it lacks one of them."""
    extra, left = [], list(fewer)
    for line in more:
        if left and prints_alike(line, left[0]):
            left.pop(0)
        else:
            extra.append(line)
    return [] if left else extra


def _changed(name: str, old: Sequence[float], new: Sequence[float]) -> str:
    """Return a change in words; empty if it is none, or less than what the runs of one release differ by."""
    if _overlap(old, new):
        return ""
    if name in ("peak_memory_mb", "compile_s"):
        low, high = sorted((statistics.median(old), statistics.median(new)))
        least = 100 if name == "peak_memory_mb" else 5
        if high < (1.1 if name == "peak_memory_mb" else 1.5) * low or high - low < least:
            return ""
    was, now = (f"{round(statistics.median(some), 0 if name == 'peak_memory_mb' else 1):g}" for some in (old, new))
    return f"{now} {_MEANING[name]} (before: {was})"


def prevented(run: Recorded) -> str:
    """Return why a run says nothing of the program, which its environment did not let begin; empty if it does.

    Args:
        run: of the program.
    """
    if run.seen.outcome is Outcome.ERROR:
        return f"the program could not be run: {run.ending}"
    if stated("not-loaded", run.seen.message):
        why = "a package of the program is built for another build of torch: install both from one index"
        return f"{why} ({run.seen.message.splitlines()[0]})"
    return ""


def reason_of(run: Recorded) -> str:
    """Return why a program could not show all of itself, in a sentence; empty if it did, or has a failure of its own.

    Args:
        run: of the program.
    """
    seen = run.seen
    if seen.outcome is Outcome.TIMEOUT:
        return "the program was stopped when its time was up (--minutes); what it had compiled is compared"
    if stated("no-accelerator", seen.message):
        return "the program needs a GPU, and this machine has none: run it where one is; what it did before is compared"
    if seen.error_type.endswith("EOFError"):
        return "the program asks for input, and none is given: pass it as arguments, behind --"
    if seen.error_type.endswith(("ModuleNotFoundError", "ImportError")) and "torch" not in seen.message:
        return f"the program lacks a package: {seen.message.splitlines()[0]}; install it with --with"
    return ""


def notes_of(run: Recorded) -> Iterator[str]:
    """Yield a sentence for each reason for which little can be said of a program on a release.

    Args:
        run: of the program.
    """
    if reason := reason_of(run):
        yield reason
    if not run.seen.graphs and run.passed:
        yield "the program compiled nothing; only its ending and what it prints are compared"
    elif run.uncaptured:
        yield f"{len(run.uncaptured)} graphs are not replayed: {run.uncaptured[0]}"
