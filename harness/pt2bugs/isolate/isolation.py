"""One isolation: reproduce, trace, search in memory, search in text, minimize, and prove.

A trial is the bad release with some units of the good one. It is green if the check passes and the compiler did as much
as in the good release: a bug that is not met because the graph breaks around it is not fixed.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pt2bugs.case.failure import Level
from pt2bugs.case.vocabulary import Outcome, number_of
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.isolate.inside import Place
from pt2bugs.isolate.search import Answer, find_green, minimize
from pt2bugs.isolate.trials import Check, Judge, PatchedRelease, Release, Run, can_swap, mentions, swaps_of
from pt2bugs.isolate.units import PatchError, Selection, Unit, Wheels, items_met

RUNS = 3
"""Runs of every step of a proof."""
SEVERAL = 10
"""Functions beyond which a fix is called `several`."""
LARGE = 12
"""Trials of large sets, before units are tried alone."""
LEAST_LETTERS = 4
"""Letters of a word that tells what a function is about."""
ONE_FILE = 6
"""Trials of parts of a file that fails otherwise as a whole."""
UNTRIED = 6
"""Files that are tried as text before all that ran is tried in memory."""
HALVES = 4
"""Units that fail otherwise alone, and are tried with each file."""
GROWTHS = 4
"""Times that a set which fails otherwise is given what its failure names."""
KERNEL_HEADERS = ("include/ATen/cpu/vec/", "include/torch/csrc/inductor/cpp_", "include/c10/util/")
"""Beginnings of the headers that Inductor's C++ kernels are compiled with."""
MIN_TEXT_S = 45.0
"""Seconds that must be left for a search to be worth a trial in a process of its own."""


class IsolationError(InputError):
    """A question that cannot be asked.

    Cause: the check does not fail in the one release, or does not pass in the other, or not each time.
    Remedy: ``pt2bugs bisect`` shows where it changes; ``--from`` and ``--to`` name the two releases.
    """


class OutOfTimeError(Exception):
    """The budget of a search is spent."""


@dataclass
class Isolation:
    """A change between two releases that fixed or broke a check, as far as it is known.

    Lists of three are for the bad release, the bad one with the units, and the good one.
    """

    case: str
    check: str
    device: str
    backend: str
    bad: str
    good: str
    direction: str
    evidence: str = "cited"
    label: str = "unknown"
    units: list[Unit] = field(default_factory=list)
    selection: dict[Unit, frozenset[int] | None] = field(default_factory=dict)
    patch: str = ""
    trials: int = 0
    seconds: float = 0.0
    graphs: list[int | None] = field(default_factory=lambda: [None, None, None])
    breaks: list[int | None] = field(default_factory=lambda: [None, None, None])
    red_to_green: list[int] = field(default_factory=lambda: [0, 0])
    stayed_green: list[int] = field(default_factory=lambda: [0, 0])
    pull_request: str = ""
    alternatives: list[list[Unit]] = field(default_factory=list)
    builds: list[str] = field(default_factory=list)
    unrelated: list[str] = field(default_factory=list)
    candidates: list[int] = field(default_factory=lambda: [0, 0])
    reason: str = ""

    @property
    def is_isolated(self) -> bool:
        """True if units were found whose text turns the check green in fresh processes."""
        return self.evidence in ("patch", "proved")

    def as_dict(self) -> dict[str, Any]:
        """Return it as results have it: locations and hashes, no text of PyTorch's sources."""
        return {
            "case": self.case,
            "check": self.check,
            "device": self.device,
            "backend": self.backend,
            "bad": self.bad,
            "good": self.good,
            "direction": self.direction,
            "evidence": self.evidence,
            "label": self.label,
            "units": [{**unit.as_dict(), "hunks": self._hunks(unit)} for unit in self.units],
            "patch_sha256": hashlib.sha256(self.patch.encode()).hexdigest() if self.patch else None,
            "trials": self.trials,
            "seconds": round(self.seconds, 1),
            "graphs": self.graphs,
            "breaks": self.breaks,
            "red_to_green": self.red_to_green,
            "stayed_green": self.stayed_green,
            "pull_request": self.pull_request or None,
            "named_in_pull_request": None,
            "alternatives": [[unit.as_dict() for unit in units] for units in self.alternatives],
            "builds": self.builds,
            "unrelated": self.unrelated,
            "candidates": self.candidates,
            "reason": self.reason,
        }

    def _hunks(self, unit: Unit) -> list[int] | None:
        part = self.selection.get(unit)
        return sorted(part) if part is not None else None

    @property
    def summary(self) -> str:
        """One line."""
        if not self.units:
            return f"not isolated ({self.label}): {self.reason}" if self.reason else f"not isolated ({self.label})"
        named = ", ".join(str(unit) for unit in self.units)
        why = f"; {self.reason}" if self.reason else ""
        return f"{named} ({self.evidence}; {number_of(self.trials, 'trial')}, {self.seconds:.0f} s{why})"


T = TypeVar("T")
Say = Callable[[str], None]
MISFITS = (
    "AttributeError",
    "ImportError",
    "KeyError",
    "ModuleNotFoundError",
    "NameError",
    "TypeError",
    "UnboundLocalError",
)
"""Exceptions of code that meets another release than it was written for."""
_MISFIT = re.compile("|".join(MISFITS))
_FRAME = re.compile(r'File "[^"]*/torch/([^"]+\.py)", line \d+, in (\w+)')
"""A line of a traceback in torch: the file, relative to its folder, and the function."""
_COMPILE_ERROR = "CppCompileError"
_QUOTED = re.compile(r"'([A-Za-z_]\w*)'|([A-Za-z_]\w*) does not exist|argument: '([A-Za-z_]\w*)'")
_CALLED = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (?:takes|missing|got an unexpected)")
"""A call that does not fit the function: its class, if it is a method, and its name."""
_Rank = tuple[bool, bool, float, Unit]
"""Sort key, the least first: whether the failure leaves the file unnamed, whether a trivial program executes it, too,
how far it is from what the check is about, and the unit."""
_NATIVE = re.compile(r"torch\._C\b|torch\._ops\b|_OpNamespace")


class Isolator:
    """Answers one question: which units of `good` turn the check green in `bad`.

    Args:
        result: the question; what becomes known is written there at once, so that an interrupt keeps it.
        check: what is run.
        bad: the release in which it fails.
        good: the release in which it passes.
        wheels: their torch folders.
        budget_s: seconds for finding a set, and again for minimizing it; a proof may take longer.
        neighbours: checks that pass in the bad release, and must go on to do so.
        neighbours_s: seconds for finding out which of them execute a changed unit, and for running those.
        jobs: runs at once, where several are made of one thing.
        say: told of every step.
    """

    def __init__(
        self,
        result: Isolation,
        check: Check,
        bad: Release,
        good: Release,
        wheels: Wheels,
        *,
        budget_s: float,
        neighbours: Sequence[Check] = (),
        neighbours_s: float = 30.0,
        jobs: int = 1,
        say: Say = lambda _: None,
    ) -> None:
        self.result, self.check, self.bad, self.good, self.wheels = result, check, bad, good, wheels
        self.neighbours, self._neighbours_s, self._jobs, self._say = neighbours, neighbours_s, jobs, say
        self._began = time.monotonic()
        self._budget_s, self._deadline = budget_s, self._began + budget_s
        self._unswappable: set[Unit] = set()
        self._swapped: dict[frozenset[tuple[Unit, frozenset[int] | None]], Run] = {}
        self._files: frozenset[str] = frozenset()
        self._by_text = False
        self._hopeless: set[Unit] = set(wheels.beyond_binary)

    def run(self, is_documented: Callable[[Run], bool] = lambda _: True) -> Isolation:
        """Isolate, and prove what was isolated.

        Args:
            is_documented: whether a failure is the one that is meant.

        Returns:
            `result`, with what became known.

        Raises:
            IsolationError: there is nothing to isolate.
            EngineError: an environment is broken.
            CopyError: a copy of torch cannot be made.
        """
        try:
            self._reproduce(is_documented)
            self._trace()
            self._extend()
            with self._tracing_neighbours():
                selection = self._search()
                if selection:
                    selection = self._minimize_hunks(selection)
            if selection:
                self._prove(selection)
        except OutOfTimeError:
            self.result.reason = self.result.reason or "the time was up"
        except KeyboardInterrupt:
            self.result.reason = "stopped"
            raise
        finally:
            self._tick()
        return self.result

    def prove(self, units: Iterable[Mapping[str, Any]], is_documented: Callable[[Run], bool]) -> Isolation:
        """Prove units that are known from elsewhere, without a search.

        Args:
            units: as results have them; of those without `hunks` everything is taken.
            is_documented: whether a failure is the one that is meant.

        Returns:
            `result`, with what became known.

        Raises:
            IsolationError: there is nothing to prove, or a unit does not differ between the two releases.
            EngineError: an environment is broken.
            CopyError: a copy of torch cannot be made.
        """
        self._reproduce(is_documented)
        self._trace()
        selection: dict[Unit, frozenset[int] | None] = {}
        for told in units:
            fitting = [
                u for u in self.wheels.units(told["file"]) if (u.qualname, u.kind) == (told["qualname"], told["kind"])
            ]
            if not fitting:
                raise IsolationError(f"torch/{told['file']}: {told['qualname']} is the same in both releases")
            hunks = told.get("hunks")
            selection[fitting[0]] = frozenset(hunks) if hunks is not None else None
        self._prove(selection)
        self._tick()
        return self.result

    def _tick(self) -> None:
        self.result.seconds = time.monotonic() - self._began

    def _extend(self) -> None:
        """Give the next part of the search, finding or minimizing, the whole budget."""
        self._deadline = time.monotonic() + self._budget_s

    def _left(self) -> float:
        return self._deadline - time.monotonic()

    def _at_once(self, *calls: Callable[[], T]) -> list[T]:
        """Call functions side by side, as many at once as there are jobs, and return what each of them returns."""
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                return [call.result() for call in [pool.submit(call) for call in calls]]
            except BaseException:
                # Leaving the pool waits for the runs that have begun, and a check may have minutes left: end them.
                pool.shutdown(wait=False, cancel_futures=True)
                for release in (self.bad, self.good):
                    release.stop()
                raise

    # --- the question ------------------------------------------------------------------------------------

    def _reproduce(self, is_documented: Callable[[Run], bool]) -> None:
        result = self.result
        sides = partial(self.bad.run, self.check), partial(self.good.run, self.check)
        bad, good = zip(*(self._at_once(*sides) for _ in range(2)), strict=True)
        for run in bad:
            if run.failure is None:
                raise IsolationError(f"{result.check} does not fail with torch {result.bad}: {run.seen.summary}")
            if not is_documented(run):
                raise IsolationError(f"{result.check} fails otherwise with torch {result.bad}: {run.seen.summary}")
        for run in good:
            if not run.passed:
                raise IsolationError(f"{result.check} does not pass with torch {result.good}: {run.seen.summary}")
        # Values may differ from run to run where memory is read that nothing was written to.
        if bad[0].failure is None or not bad[0].failure.same(bad[1].failure, Level.MESSAGE):
            raise IsolationError(f"{result.check} is flaky with torch {result.bad}")
        self.judge = Judge(bad[0], good[0])
        result.graphs = [bad[0].seen.graphs, None, good[0].seen.graphs]
        result.breaks = [bad[0].counts.get("breaks"), None, good[0].counts.get("breaks")]
        result.builds = [self.bad.build, self.good.build]
        self._say(f"torch {result.bad}: {bad[0].seen.summary}; torch {result.good}: passes")
        if not self._same_builds:
            self._say(f"{self._other_builds}: nothing can be proved")

    @property
    def _same_builds(self) -> bool:
        """Return whether both builds are of one kind. The version of CUDA tells kinds apart on a GPU alone."""
        builds = self.result.builds
        if self.result.device == "cpu":
            builds = [build.rstrip("0123456789.") for build in builds]
        return builds[0] == builds[1]

    @property
    def _other_builds(self) -> str:
        bad, good = (build or "none" for build in self.result.builds)
        return f"the builds differ: {bad} and {good}"

    # --- what ran ----------------------------------------------------------------------------------------

    def _trace(self) -> None:
        bad, good = self._at_once(*(partial(side.run, self.check, trace=True) for side in (self.bad, self.good)))
        if bad.failure is None or not bad.failure.same(self.judge.bad.failure, Level.MESSAGE):
            self._say("traced, the check fails otherwise; the trace is used all the same")
        in_bad, in_good = bad.executed, good.executed
        trivial_bad, trivial_good = self._at_once(partial(self._trivial, self.bad), partial(self._trivial, self.good))
        self._files = frozenset(file for file, _ in in_bad | in_good if self.wheels.pair(file))
        ran: set[Unit] = set()
        first: set[Unit] = set()
        in_both: set[Unit] = set()
        for file in self._files:
            pair = self.wheels.pair(file)
            if pair is None:
                continue
            by_key = {unit.key: unit for unit in pair.units}
            for lines, trivial, side in ((in_bad, trivial_bad, pair.bad), (in_good, trivial_good, pair.good)):
                for met, line in lines:
                    item = side.item_at(line) if met == file else None
                    unit = by_key.get(item.key) if item is not None else None
                    if unit is None or unit.change == "removed":
                        continue
                    if side is pair.good and unit in ran and unit.change == "changed":
                        in_both.add(unit)
                    ran.add(unit)
                    # What is new the good release alone executes. What was changed and only it gets to comes after
                    # the failure.
                    if (side is pair.bad or unit.change == "added") and (met, line) not in trivial:
                        first.add(unit)
        self._ran, self._first, self._in_both = ran, first, in_both
        named = set(re.findall(r"torch/([^\s:]+\.py)", self.judge.bad.seen.all_frames + self.judge.bad.text))
        rarity = _rarities(ran, self.check.path.read_text(encoding="utf-8") + self.judge.bad.seen.message)
        self._rank = {unit: (unit.file not in named, unit not in first, -rarity[unit], unit) for unit in ran}
        self.result.candidates = [len(ran), len(first)]
        if ran:
            self.result.evidence = "executed"
        self._say(
            f"{len(self._files)} changed files, {len(ran)} changed functions ran, {len(first)} of them for this check"
        )

    def _trivial(self, release: Release) -> frozenset[Place]:
        """Return what a trivial program of the same backend executes in a release."""
        program = release.scratch / "trivial.py"
        write_text(program, _TRIVIAL)
        arguments = {"device": self.check.device, "backend": self.check.backend}
        check = Check(program, "test", arguments, self.check.device, self.check.backend, 60, None)
        return release.executed_by(check)

    # --- trials ------------------------------------------------------------------------------------------

    def _composed(self, units: Iterable[Unit]) -> frozenset[Unit]:
        return self.wheels.with_needs(units, self._files)

    def _swap(self, selection: Selection) -> Answer:
        """Try a selection in memory."""
        self._check_time(0)
        chosen = {unit: part for unit, part in selection.items() if unit not in self._unswappable}
        folder = self.bad.scratch / "swap"
        folder.mkdir(exist_ok=True)
        try:
            swaps, lines = swaps_of(self.wheels, chosen, folder)
        except PatchError:
            return Answer.OTHER
        if not swaps:
            return Answer.OTHER
        # Files and what runs for this check alone are asked for again among all that ran.
        key = frozenset(chosen.items())
        if key in self._swapped:
            self._last, self._applied = self._swapped[key], frozenset(chosen)
            return self.judge.answer(self._last)
        self.result.trials += 1
        run = self._swapped[key] = self.bad.run(self.check, swap=swaps)
        left = {unit for unit, line in lines.items() if (unit.file, line) in run.unswapped}
        self._unswappable |= left
        self._last, self._applied = run, frozenset(chosen)
        answer = self.judge.answer(run)
        self._tell("in memory", chosen, answer, run)
        return answer

    def _swap_back(self, selection: Selection) -> Answer:
        """Try the good release with the old code of a selection in memory; green if it fails as the bad one does."""
        self._check_time(0)
        mirrored = self.wheels.mirrored
        taken = {unit.mirrored: part for unit, part in selection.items()}
        needed = (unit for unit in sorted(mirrored.with_needs(taken, self._files)) if can_swap(mirrored, unit))
        folder = self.good.scratch / "swap"
        folder.mkdir(exist_ok=True)
        try:
            swaps, _ = swaps_of(mirrored, {**dict.fromkeys(needed), **taken}, folder)
        except PatchError:
            return Answer.OTHER
        self.result.trials += 1
        run = self.good.run(self.check, swap=swaps)
        answer = Answer.RED if run.passed else Answer.OTHER
        if run.failure is not None and run.failure.same(self.judge.bad.failure, Level.MESSAGE):
            answer = Answer.GREEN
        self._tell(f"taken back in torch {self.result.good}", selection, answer, run)
        self._last = run
        return answer

    def _text(self, selection: Selection) -> Answer:
        """Try a selection as text, in a fresh process."""
        self._check_time(MIN_TEXT_S)
        try:
            texts = self.wheels.mixed(selection)
        except PatchError:
            return Answer.OTHER
        return self._text_of(texts, selection)

    def _text_of(self, texts: Mapping[str, str], units: Iterable[Unit]) -> Answer:
        self.result.trials += 1
        run = self.bad.patched(texts, self.check).run(self.check)
        self._last, self._applied = run, frozenset(units)
        answer = self.judge.answer(run)
        self._tell("as text", units, answer, run)
        return answer

    def _check_time(self, needed: float) -> None:
        self._tick()
        if self._left() < needed:
            raise OutOfTimeError

    def _tell(self, how: str, selection: Iterable[Unit], answer: Answer, run: Run) -> None:
        units = list(selection)
        files = number_of(len({unit.file for unit in units}), "file")
        which = str(units[0]) if len(units) == 1 else f"{len(units)} units of {files}"
        why = f": {run.seen.summary[:150]}" if answer is Answer.OTHER else ""
        if run.passed and answer is Answer.OTHER:
            worse = run.worse_than(self.judge.good).items()
            why = ": passes, but " + ", ".join(f"{name} {mine}, not {theirs}" for name, (mine, theirs) in worse)
        self._say(f"trial {self.result.trials}, {how}: {which}: {answer}{why}")

    # --- the search --------------------------------------------------------------------------------------

    def _search(self) -> dict[Unit, frozenset[int] | None]:
        """Search what runs for this check alone, from both releases, in memory; then the rest, and text."""
        if selection := self._search_backwards(self._in_both & self._first):
            return selection
        alone = _by_file(self._in_memory(self._first))
        units, unclear = self._green_file(alone, self._swap_units)
        if not units:
            if self._is_native():
                return {}
            if selection := self._search_backwards(self._in_both - self._first):
                return selection
            units = self._green_parts(alone, self._swap_units) or self._green_alone(alone, unclear, self._swap_units)
        if not units and (units := self._search_headers() or self._search_untried()):
            return dict.fromkeys(sorted(units))
        if not units:
            everything = _by_file(self._in_memory(self._ran))
            units, _ = self._green_file(everything, self._swap_units)
            units = units or self._green_parts(everything, self._swap_units)
        return dict.fromkeys(sorted(self._minimal_swap(units) if units else self._search_text()))

    def _minimal_swap(self, units: Iterable[Unit]) -> tuple[Unit, ...]:
        """Return the units of a set, green in memory, that are needed."""
        self._found_in_memory(units)
        needed = self._minimal(self._swappable(units), self._swap_units)
        self.result.units = sorted(needed)
        self._look_for_another(needed)
        return needed

    def _search_backwards(self, units: Iterable[Unit]) -> dict[Unit, frozenset[int] | None]:
        """Look among units for what breaks the good release as the bad one is broken, and return what is needed of it.

        Old code finds in the newer release most of what it names, so that large sets run, and say of all that they
        hold that it is not to blame. New code in the older one often does not run.
        """

        def trial(chosen: tuple[Unit, ...]) -> Answer:
            return self._swap_back(dict.fromkeys(chosen))

        met = find_green(self._in_memory(units), trial, self._blamed_back, limit=LARGE)
        return self._brought(self._needed_hunks(dict.fromkeys(minimize(met, trial)), self._swap_back)) if met else {}

    def _brought(self, breaking: Selection) -> dict[Unit, frozenset[int] | None]:
        """Return what is needed of a selection that breaks the good release; empty if the bad one lacks more for it."""
        if self._swap(breaking) is Answer.GREEN:
            self._found_in_memory(breaking)
            needed = self._needed_hunks(breaking, self._swap)
            self._look_for_another(list(needed))
            return needed
        chosen, refused = set(breaking), set[Unit]()
        self._by_text = not all(can_swap(self.wheels, unit) for unit in chosen)
        for _ in range(GROWTHS):
            answer = (self._text_units if self._by_text else self._swap_units)(tuple(sorted(chosen)))
            if answer is Answer.GREEN:
                units = self._minimal_text(tuple(sorted(chosen))) if self._by_text else self._minimal_swap(chosen)
                return dict.fromkeys(sorted(units))
            if answer is Answer.OTHER and (blamed := self._blamed(tuple(chosen)) - breaking.keys()):
                chosen -= blamed
                refused |= blamed
                continue
            further = self._named_by_failure() - chosen - refused if answer is Answer.OTHER else set()
            if not further and answer is Answer.OTHER:
                # What runs with it in the same files may hand over what it expects.
                files = {unit.file for unit in chosen}
                further = {unit for unit in self._ran if unit.file in files} - chosen - refused
            untaken = not self._by_text and bool(self._composed(chosen) - self._applied)
            if not further and not untaken:
                break
            chosen |= further
            # What memory cannot take may be what is lacking.
            self._by_text = self._by_text or untaken or not all(can_swap(self.wheels, unit) for unit in further)
        self._by_text = False
        return {}

    def _found_in_memory(self, units: Iterable[Unit]) -> None:
        """Note a set that is green in memory, and give what makes it small the whole budget."""
        self._by_text = False
        self.result.evidence, self.result.units = "swap", sorted(units)
        self.result.label, self.result.reason = "unknown", ""
        self._extend()

    def _named_by_failure(self) -> set[Unit]:
        """Return what the traceback of the last trial goes through, and the headers if C++ did not compile."""
        seen, text = self._last.seen, self._last.text
        frames = set(_FRAME.findall(text))
        named = {
            unit
            for file, name in frames
            for unit in self.wheels.units(file)
            if unit in self._ran and unit.qualname.rpartition(".")[2] == name
        }
        return {*named, *self._kernel_headers} if _COMPILE_ERROR in f"{seen.error_type} {seen.message}" else named

    @property
    def _kernel_headers(self) -> list[Unit]:
        files = (file for file in self.wheels.changed_headers if file.startswith(KERNEL_HEADERS))
        return [unit for file in files for unit in self.wheels.units(file)]

    def _search_headers(self) -> tuple[Unit, ...]:
        """Try as text the headers of kernels, where Inductor compiles C++."""
        headers = self._kernel_headers
        compiles = self.check.backend == "inductor" and self.check.device == "cpu"
        if not compiles or not headers or self._text_units(tuple(headers)) is not Answer.GREEN:
            return ()
        self._by_text = True
        return self._minimal_text(tuple(headers))

    def _in_memory(self, units: Iterable[Unit]) -> list[Unit]:
        return [unit for unit in sorted(units, key=self._rank.__getitem__) if can_swap(self.wheels, unit)]

    def _swap_units(self, units: tuple[Unit, ...]) -> Answer:
        chosen = self._swappable(units)
        return self._swap(dict.fromkeys(chosen)) if chosen else Answer.OTHER

    def _swappable(self, units: Iterable[Unit]) -> list[Unit]:
        """Return what a trial in memory takes: with what units need, without those that cannot work in this release."""
        composed = self._composed(unit for unit in units if not self._hopeless & self._composed([unit]))
        return sorted(u for u in composed if can_swap(self.wheels, u) and u not in self._unswappable)

    def _text_units(self, units: tuple[Unit, ...]) -> Answer:
        chosen = self._composed(unit for unit in units if not self._hopeless & self._composed([unit]))
        return self._text(dict.fromkeys(sorted(chosen))) if chosen else Answer.OTHER

    def _green_alone(
        self,
        files: Mapping[str, Sequence[Unit]],
        unclear: Iterable[Unit],
        trial: Callable[[tuple[Unit, ...]], Answer],
    ) -> tuple[Unit, ...]:
        """Try units of files that fail otherwise one by one, the likeliest first; then halves of a fix with files."""
        further: list[Unit] = []
        for unit in sorted(unclear, key=lambda unit: self._rank.get(unit, (True, True, 0.0, unit))):
            answer = trial((unit,))
            if answer is Answer.GREEN:
                return (unit,)
            if answer is Answer.OTHER and self._gets_further:
                further.append(unit)
        # Half of a fix often fails otherwise, later: the other half is looked for file by file.
        for unit in further[:HALVES]:
            for units in files.values():
                if unit not in units and trial((unit, *units)) is Answer.GREEN:
                    return (unit, *units)
        return ()

    @property
    def _gets_further(self) -> bool:
        """True if the last trial ended with a failure of its own, and not since it lacks a name."""
        seen = self._last.seen
        failed = seen.outcome in (Outcome.RAISE, Outcome.WRONG)
        return failed and not _MISFIT.search(f"{seen.error_type}: {seen.message}")

    def _green_parts(
        self, files: Mapping[str, Sequence[Unit]], trial: Callable[[tuple[Unit, ...]], Answer]
    ) -> tuple[Unit, ...]:
        """Try all together, then what runs of it; return the files that are needed of what is green."""
        green = find_green([unit for units in files.values() for unit in units], trial, self._blamed, limit=LARGE)
        parts = {file: [unit for unit in green if unit.file == file] for file in files}
        needed = minimize(
            [file for file, units in parts.items() if units],
            lambda chosen: trial(tuple(unit for file in chosen for unit in parts[file])),
        )
        return tuple(unit for file in needed for unit in parts[file])

    def _green_file(
        self, files: Mapping[str, Sequence[Unit]], trial: Callable[[tuple[Unit, ...]], Answer]
    ) -> tuple[tuple[Unit, ...], list[Unit]]:
        """Return the first set of units of one file that is green, and the units of files that fail otherwise."""
        unclear: list[Unit] = []
        answers: list[Answer] = []

        def noted(chosen: tuple[Unit, ...]) -> Answer:
            answers.append(trial(chosen))
            return answers[-1]

        for units in files.values():
            answers.clear()
            if green := find_green(units, noted, self._blamed, limit=ONE_FILE):
                return green, []
            # What fails otherwise may do so because of one of several.
            unclear += units if answers[0] is Answer.OTHER else []
        return (), unclear

    def _blamed(self, tried: tuple[Unit, ...]) -> set[Unit]:
        """Return those that bring a name which the last failure says is missing, and those that need them."""
        guilty = self._bringing(self._applied, self.wheels)
        # What the binary lacks, or what cannot be put into loaded modules, will be missing the next time, too.
        if _NATIVE.search(self._last.seen.message):
            self.wheels.beyond_binary |= guilty
            self._hopeless |= guilty
        elif not self._by_text:
            self._hopeless |= guilty
        return {unit for unit in tried if guilty & self._composed([unit])}

    def _blamed_back(self, tried: tuple[Unit, ...]) -> set[Unit]:
        """Return those whose old code asks for a name that the good release does not have any more."""
        guilty = self._bringing((unit.mirrored for unit in tried), self.wheels.mirrored)
        return {unit.mirrored for unit in guilty}

    def _bringing(self, units: Iterable[Unit], wheels: Wheels) -> set[Unit]:
        """Return the units that bring a name which the last failure says is missing, or a call that does not fit."""
        seen = self._last.seen
        if seen.outcome is Outcome.PASS or not _MISFIT.search(f"{seen.error_type}: {seen.message}"):
            return set()
        words = {word for groups in _QUOTED.findall(seen.message) for word in groups if word}
        attribute = "has no attribute" in seen.message or "does not exist" in seen.message
        called = {owner if name == "__init__" else name for owner, name in _CALLED.findall(seen.message)}
        return {
            unit
            for unit in units
            if any(wheels.brings(unit, word, attribute=attribute) for word in words)
            or any(wheels.calls(unit, name) for name in called)
        }

    def _minimal(self, units: Sequence[Unit], trial: Callable[[tuple[Unit, ...]], Answer]) -> tuple[Unit, ...]:
        """Return the units of a green set that are needed; without what they refer to nothing is added any more."""
        exact = self._swap if trial == self._swap_units else self._text

        def noted(answer: Answer, chosen: Iterable[Unit]) -> Answer:
            # Should the time be up, the smallest set so far is the answer.
            if answer is Answer.GREEN:
                self.result.units = sorted(chosen)
            return answer

        by_need = minimize(units, lambda chosen: noted(trial(chosen), chosen))
        everything = sorted(self._swappable(by_need) if exact == self._swap else self._composed(by_need))
        return minimize(everything, lambda chosen: noted(exact(dict.fromkeys(chosen)), chosen))

    def _look_for_another(self, units: Sequence[Unit]) -> None:
        """Look once whether what else runs for this check alone fixes the bug as well."""
        rest = tuple(
            unit
            for unit in sorted(self._first, key=self._rank.__getitem__)
            if can_swap(self.wheels, unit) and not set(units) & self._composed([unit])
        )
        if rest and self._left() > 0 and self._swap_units(rest) is Answer.GREEN:
            with contextlib.suppress(OutOfTimeError):
                self.result.alternatives.append(sorted(self._minimal(self._swappable(rest), self._swap_units)))

    def _is_native(self) -> bool:
        """Try all changed Python and headers at once, and say so if that leaves the bug."""
        # That a release does not import with the Python of another is so for every check: it is tried once.
        known = self.bad.traces / f"with-all-of-{self.good.environment.build}"
        if known.exists():
            self._full = Answer.OTHER
        else:
            self._check_time(MIN_TEXT_S)
            # Files as a whole: mixtures of both releases' units may import each other in a circle.
            files = (*self.wheels.changed_python, *self.wheels.new_python, *self.wheels.changed_headers)
            texts = {file: (self.wheels.good / file).read_text(encoding="utf-8") for file in files}
            self._full = self._text_of(texts, [Unit(file, "", "file", "changed") for file in files])
            if not self._last.counts and _MISFIT.search(self._last.seen.message):
                write_text(known, self._last.seen.message)
        if self._full is Answer.OTHER:
            self.result.label, self.result.reason = "mixed", "all changed Python and headers together do not run"
        elif self._full is Answer.RED:
            self.result.label = "native"
            self.result.reason = "with all changed Python and headers the bug is still there"
        return self._full is Answer.RED

    def _search_untried(self) -> tuple[Unit, ...]:
        """Try as text the likeliest files in which something ran for this check alone that memory cannot take."""
        untried = {unit.file for unit in self._first if not self._was_tried(unit)}
        likeliest = [file for file in self._ranked_files() if file in untried][:UNTRIED]
        in_memory, self._hopeless = self._hopeless, set(self.wheels.beyond_binary)
        self._by_text = True
        green, _ = self._green_file({file: self.wheels.units(file) for file in likeliest}, self._text_units)
        if green:
            return self._minimal_text(green)
        self._by_text, self._hopeless = False, in_memory | self.wheels.beyond_binary
        return ()

    def _was_tried(self, unit: Unit) -> bool:
        return can_swap(self.wheels, unit) and unit not in self._unswappable

    def _search_text(self) -> tuple[Unit, ...]:
        """Search what cannot be swapped: statements, tables, classes, decorators, headers."""
        self._by_text, self._hopeless = True, set(self.wheels.beyond_binary)
        units: tuple[Unit, ...] = ()
        loaded = [unit for file in self._ranked_files() for unit in self.wheels.units(file)]
        for elements in [loaded, self._everything()] if self._full is Answer.GREEN else [loaded]:
            files = _by_file(elements)
            units = units or self._green_file(files, self._text_units)[0] or self._green_parts(files, self._text_units)
        if not units:
            self.result.reason = self.result.reason or "no set of changed units turned it green"
            return ()
        return self._minimal_text(units)

    def _minimal_text(self, units: tuple[Unit, ...]) -> tuple[Unit, ...]:
        self.result.label, self.result.reason = "unknown", ""
        self.result.evidence, self.result.units = "patch", sorted(units)
        self._extend()
        return self._minimal(units, self._text_units)

    def _everything(self) -> list[Unit]:
        files = (*self.wheels.changed_python, *self.wheels.new_python, *self.wheels.changed_headers)
        return [unit for file in files for unit in self.wheels.units(file)]

    def _ranked_files(self) -> list[str]:
        """Return the files that are loaded, those first in which something ran that could not be tried in memory."""
        best: dict[str, tuple[bool, _Rank]] = {}
        for unit, rank in self._rank.items():
            was_tried = self._was_tried(unit)
            best[unit.file] = min((was_tried, rank), best.get(unit.file, (was_tried, rank)))
        rest = sorted(self._files - best.keys())
        return [*sorted(best, key=best.__getitem__), *rest]

    # --- hunks -------------------------------------------------------------------------------------------

    def _minimize_hunks(self, selection: dict[Unit, frozenset[int] | None]) -> dict[Unit, frozenset[int] | None]:
        """Leave out of the changed units what the check does not need."""
        self.result.units = sorted(selection)
        try:
            return self._needed_hunks(selection, self._text if self._by_text else self._swap)
        except OutOfTimeError:
            return selection

    def _needed_hunks(
        self, selection: Selection, trial: Callable[[Selection], Answer]
    ) -> dict[Unit, frozenset[int] | None]:
        """Return a green selection with the hunks alone that a trial needs."""
        parts: list[tuple[Unit, int]] = []
        for unit, part in selection.items():
            pair = self.wheels.pair(unit.file)
            if pair is not None and unit.change == "changed":
                parts += [(unit, index) for index in sorted(part or range(len(pair.hunks(unit))))]
        whole = [unit for unit in selection if unit not in {unit for unit, _ in parts}]

        def chosen(some: Iterable[tuple[Unit, int]]) -> dict[Unit, frozenset[int] | None]:
            hunks: dict[Unit, set[int]] = {}
            for unit, index in some:
                hunks.setdefault(unit, set()).add(index)
            return {**dict.fromkeys(whole), **{unit: frozenset(indices) for unit, indices in hunks.items()}}

        return chosen(minimize(parts, lambda some: trial(chosen(some)))) if len(parts) > 1 else dict(selection)

    # --- the proof ---------------------------------------------------------------------------------------

    def _prove(self, selection: dict[Unit, frozenset[int] | None]) -> None:
        """Repeat it as text in fresh processes: sufficient, minimal, necessary, and nothing else turned red."""
        whole: dict[Unit, frozenset[int] | None] = dict.fromkeys(selection)
        for taken in [selection, whole] if whole != selection else [selection]:
            runs = self._patched_runs(self.bad, self.wheels.mixed(taken))
            if all(self.judge.answer(run) is Answer.GREEN for run in runs):
                self._take(taken, runs)
                break
        else:
            seen = next(run.seen.summary for run in runs if self.judge.answer(run) is not Answer.GREEN)
            self.result.reason = f"as text, in fresh processes, it is not green: {seen}"
            return
        taken, green, unsteady = self._leave_out(taken, runs[0])
        problems = [*unsteady, *filter(None, self._problems(taken, green))]
        if not problems:
            # This takes minutes, and what is no proof for another reason stays none.
            red = self._neighbours(taken, self.bad.patched(self.wheels.mixed(taken), self.check))
            problems = [red] if red else []
        self.result.reason = "; ".join(problems)
        if not problems:
            self.result.evidence = "proved"

    def _take(self, selection: dict[Unit, frozenset[int] | None], runs: Sequence[Run]) -> None:
        """Note what was shown as text."""
        result = self.result
        result.red_to_green = [sum(run.passed for run in runs), len(runs)]
        result.evidence, result.units, result.selection = "patch", sorted(selection), selection
        result.patch = patch_of(self.wheels, selection)
        result.graphs[1], result.breaks[1] = runs[0].seen.graphs, runs[0].counts.get("breaks")
        headers = any(unit.kind == "header" for unit in selection)
        result.label = "several" if len(selection) > SEVERAL else "header" if headers else "python"
        result.reason = "the proof was not finished"
        self._say(f"as text: green in {len(runs)} of {len(runs)} runs")

    def _patched_runs(self, release: Release, texts: Mapping[str, str]) -> list[Run]:
        self.result.trials += 1
        patched = release.patched(texts, self.check)
        return self._at_once(*[partial(patched.run, self.check)] * RUNS)

    def _leave_out(
        self, selection: dict[Unit, frozenset[int] | None], green: Run
    ) -> tuple[dict[Unit, frozenset[int] | None], Run, list[str]]:
        """Leave out the units that a patch of text does not need.

        Trials in memory may need more units: they keep the values that a module computed when it was imported.

        Returns:
            The units that are left, one run with them, and a sentence for each unit without which some runs are green.
        """
        unsteady: list[str] = []
        for unit in sorted(selection):
            rest = {other: part for other, part in selection.items() if other != unit}
            if not rest:
                break
            with contextlib.suppress(PatchError):
                runs = self._patched_runs(self.bad, self.wheels.mixed(rest))
                passed = sum(self.judge.answer(run) is Answer.GREEN for run in runs)
                if passed == len(runs):
                    self._take(rest, runs)
                    smaller, run, more = self._leave_out(rest, runs[0])
                    return smaller, run, [*unsteady, *more]
                if passed:
                    unsteady.append(f"it is green without {unit} in {passed} of {len(runs)} runs")
        return selection, green, unsteady

    def _problems(self, selection: dict[Unit, frozenset[int] | None], green: Run) -> Iterator[str]:
        """Yield why it is no proof; empty texts where a step holds."""
        result = self.result
        lacking = self.wheels.lacking(selection)
        if lacking:
            # The check does not get there; another program would.
            yield f"it uses names that torch {result.bad} lacks: {', '.join(lacking)}"
        yield self._necessary(selection, self.judge.unrelated(green))
        if result.alternatives:
            yield "another set of units fixes it, too"
        if not self._same_builds:
            yield self._other_builds
        yield self._other_defaults(selection, green)
        if not green.counts:
            yield "what Dynamo did could not be counted"

    def _other_defaults(self, selection: Selection, green: Run) -> str:
        """Name defaults of the configuration that the units change without being their statements."""
        before, after = self.judge.bad.defaults, green.defaults
        own = {f"{unit.file}: {unit.qualname}" for unit in selection}
        changed = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
        changed = [name for name in changed if name not in own]
        return f"it changes the default of {', '.join(changed)}" if changed else ""

    def _necessary(self, selection: Selection, unrelated: Mapping[str, tuple[int, int]]) -> str:
        """Take the units back in the good release: the same failure must be there again.

        Counts in which the bad release is worse for other reasons must stay there what they are without the units.
        """
        mirrored = self.wheels.mirrored
        taken = {unit.mirrored: part for unit, part in selection.items() if unit.change != "added"}
        if not taken:
            # Something new cannot be replaced, only removed.
            taken = {unit.mirrored: part for unit, part in selection.items()}
        reason = ""
        whole: dict[Unit, frozenset[int] | None] = dict.fromkeys(taken)
        for back in [taken, whole] if taken != whole else [taken]:
            needed = mirrored.with_needs(back, self._files)
            try:
                texts = mirrored.mixed({**dict.fromkeys(sorted(needed)), **back})
            except PatchError as error:
                reason = f"the units cannot be taken back: {error}"
                continue
            runs = self._patched_runs(self.good, texts)
            failure = self.judge.bad.failure
            # The same program on the same machine: where it fails must agree, and wrong values, too.
            if all(run.failure is not None and run.failure.same(failure, Level.FRAME) for run in runs):
                self._say(
                    f"taken back in torch {self.result.good}: the same failure in {len(runs)} of {len(runs)} runs"
                )
                for name, (mine, theirs) in unrelated.items():
                    if any(run.counts.get(name) != theirs for run in runs):
                        return f"{name} {mine}, not {theirs}"
                    self.result.unrelated.append(f"{name} {mine}, not {theirs}, with and without the units")
                return ""
            other = next(run for run in runs if run.failure is None or not run.failure.same(failure, Level.FRAME))
            reason = (
                f"taken back in torch {self.result.good}, the check still passes: other changes there fix it as well"
                if other.passed
                else f"taken back in torch {self.result.good}, it fails otherwise: {other.seen.summary}"
            )
        self._say(reason)
        return reason

    def _neighbours(self, selection: Selection, patched: PatchedRelease) -> str:
        """Run checks that pass in the bad release and execute a changed unit there in the patched copy, too."""
        # What is new is reached by way of what was changed; statements may concern everybody.
        changed = {(unit.file, unit.key) for unit in selection if unit.kind == "function" and unit.change == "changed"}
        always = any(unit.kind != "import" and (unit.file, unit.key) not in changed for unit in selection)
        always = always and not changed
        deadline = time.monotonic() + self._neighbours_s

        pairs = [pair for file in {unit.file for unit in selection} if (pair := self.wheels.pair(file))]

        def both(check: Check) -> tuple[Run, Run] | None:
            """Run a check that meets a unit with the patch and without; None if it does not, or the time is up."""
            ran = self.bad.executed_by(check) if time.monotonic() < deadline else None
            meets = ran and (always or items_met(ran, pairs) & changed)
            # To trace it may have taken long, and to run it would take as long again, twice.
            return (patched.run(check), self.bad.run(check)) if meets and time.monotonic() < deadline else None

        words = set[str]().union(*map(_words, selection))
        likeliest = sorted(self.neighbours, key=lambda check: -mentions(check, words))
        stayed = asked = 0
        problem = ""
        for check, runs in zip(likeliest, self._at_once(*(partial(both, check) for check in likeliest)), strict=True):
            # If it does not pass without the patch, where it did a moment ago, it is flaky, or the machine is too busy
            # for its time limit.
            if runs is None or not runs[1].passed:
                continue
            run, before = runs
            asked += 1
            worse = run.worse_than(before) if run.passed else {}
            if run.passed and not worse:
                stayed += 1
            elif not problem:
                problem = f"another check turned red: {check.path.stem}: {run.seen.summary} {worse or ''}".strip()
        self.result.stayed_green = [stayed, asked]
        self._say(f"{stayed} of {asked} checks that execute a changed function stay green")
        return problem

    @contextlib.contextmanager
    def _tracing_neighbours(self) -> Iterator[None]:
        """Trace neighbours beside a search, which makes one run at a time and leaves the other cores idle."""
        over = threading.Event()

        def trace() -> None:
            for check in self.neighbours:
                if over.is_set():
                    break
                self.bad.executed_by(check)

        pool = ThreadPoolExecutor(1)
        try:
            if self._jobs > 1:
                pool.submit(trace)
            yield
        finally:
            # The run that has begun goes on beside what comes next.
            over.set()
            pool.shutdown(wait=False)


def _by_file(units: Iterable[Unit]) -> dict[str, list[Unit]]:
    """Group units by file, in their order."""
    files: dict[str, list[Unit]] = {}
    for unit in units:
        files.setdefault(unit.file, []).append(unit)
    return files


def _words(unit: Unit) -> set[str]:
    """Return the words of a unit's name, of at least `LEAST_LETTERS`, in lower case."""
    parts = re.findall(r"[A-Z]?[a-z]+", unit.qualname)
    return {part.lower() for part in parts if len(part) >= LEAST_LETTERS}


def _rarities(units: Iterable[Unit], text: str) -> dict[Unit, float]:
    """Rate units by the rarest word of their names that stands in a text: what the check is about comes first."""
    words = {unit: _words(unit) for unit in units}
    common = Counter(word for own in words.values() for word in own)
    told = set(re.findall(r"[a-z]+", text.lower()))
    return {unit: max((1 / common[word] for word in own & told), default=0.0) for unit, own in words.items()}


_TRIVIAL = """
import torch


def test(device, backend):
    torch.compile(lambda x: x.sin() + 1, backend=backend)(torch.ones(4, device=device))
"""


def patch_of(wheels: Wheels, selection: Selection) -> str:
    """Return a selection as a unified diff of the bad release's torch folder.

    Args:
        wheels: the two releases.
        selection: units of the good one.

    Raises:
        PatchError: they give no text that can be parsed.
    """
    parts = []
    for file, text in wheels.mixed(selection).items():
        old = wheels.bad / file
        before = old.read_text(encoding="utf-8").splitlines(keepends=True) if old.exists() else []
        name = f"torch/{file}"
        diff = difflib.unified_diff(
            before, text.splitlines(keepends=True), f"a/{name}" if before else "/dev/null", f"b/{name}"
        )
        parts += [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff]
    return "".join(parts)
