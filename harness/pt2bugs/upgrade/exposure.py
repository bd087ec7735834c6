"""The documented bugs that concern a program: it runs with and without each isolated fix, and the runs are compared."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from pt2bugs.case.failure import Level
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.client import EngineError
from pt2bugs.engine.folders import cache_home
from pt2bugs.errors import InputError
from pt2bugs.isolate import fixes
from pt2bugs.isolate.isolation import MISFITS
from pt2bugs.isolate.patched import CopyError, PatchedTorch, patched_torch
from pt2bugs.isolate.trials import can_swap, executed, swaps_of
from pt2bugs.isolate.units import PatchError, SourceFile, Unit, Wheels
from pt2bugs.results.history import Histories, History, State
from pt2bugs.run.interpreter import Interpreter
from pt2bugs.triage.inside.redirect import NONE
from pt2bugs.upgrade.recorded import Call, Program, Recorded, Recorder, prints_alike

LEVELS = ("bites", "differs", "same", "not-executed", "unknown")
"""Levels, from what concerns the program most to what cannot be said."""
REPEATABLE = {"config": {"torch._inductor.config.fallback_random": True}}
"""Redirection of every run: compiled code draws the random numbers of eager, so that both can be compared."""
EAGER = {"backend": NONE}
EXECUTED = "was executed"
SAME = "the compiler makes the same of the program with and without it"
_FRAME = re.compile(r"torch/(?P<file>\S+\.py):(?P<line>\d+) ")
Isolation = Mapping[str, Any]
"""An isolation as `results/fixes` has it."""


@dataclass(frozen=True)
class Exposed:
    """One documented bug and the program.

    `where` is a place in the program, `what` a sentence, `units` the functions of the fix.
    """

    case: str
    level: str
    where: str = ""
    what: str = ""
    units: tuple[str, ...] = ()
    direction: str = "fixed"

    def as_dict(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "case": self.case,
            "level": self.level,
            "where": self.where,
            "what": self.what,
            "units": list(self.units),
            "direction": self.direction,
        }


@dataclass
class Exposure:
    """The exposure of a program on one release. `covered` are sentences on what ran, and what did not."""

    torch: str
    covered: list[str] = field(default_factory=list)
    bugs: list[Exposed] = field(default_factory=list)
    plain: Recorded | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {"torch": self.torch, "covered": self.covered, "bugs": [bug.as_dict() for bug in self.bugs]}


@dataclass(frozen=True)
class Asked:
    """An isolated fix that is asked about. `wheels` are the release and the one with the fix, made when needed."""

    isolation: Isolation
    wheels: Callable[[], Wheels]

    @property
    def case(self) -> str:
        """The id of its case."""
        return str(self.isolation["case"])

    @property
    def units(self) -> tuple[str, ...]:
        """Its functions, as text."""
        return tuple(f"{unit['file']}: {unit['qualname']}".removesuffix(": ") for unit in self.isolation["units"])

    def is_same(self, other: Asked) -> bool:
        """Return whether both ask about the same change: checks and backends of one case share it.

        Args:
            other: another fix.
        """
        names = ("case", "bad", "good", "units")
        return all(self.isolation[name] == other.isolation[name] for name in names)

    def exposed(self, level: str, what: str = "", where: str = "") -> Exposed:
        """Return an answer.

        Args:
            level: one of `LEVELS`.
            what: a sentence.
            where: a place in the program.
        """
        return Exposed(self.case, level, where, what, self.units, str(self.isolation["direction"]))


@dataclass(frozen=True)
class Known:
    """The statements of the corpus, the journal and the isolated fixes."""

    histories: Histories
    isolations: Sequence[Isolation]

    @classmethod
    def load(cls, histories: Histories, folder: Path) -> Known:
        """Read what is known.

        Args:
            histories: of the corpus.
            folder: of the results.

        Raises:
            InputError: an isolation cannot be read.
        """
        isolated = [
            told
            for told in fixes.load(folder)
            if told["evidence"] in ("patch", "proved") and told["units"] and told["case"] in histories.cases
        ]
        return cls(histories, isolated)

    def bugs_of(self, release: str) -> list[History]:
        """Return the histories of the checks that show their bug on the CPU in a release, a case once.

        Args:
            release: a public version.
        """
        rows = {
            row.cell.case.id: row
            for row in self.histories.rows()
            if row.cell.device == "cpu" and row.is_own and row.state(release) is State.BUG
        }
        return [rows[case] for case in sorted(rows)]


@dataclass(frozen=True)
class _Change:
    """What puts a fix into a release: its units between two releases, with their hunks."""

    fix: Asked
    wheels: Wheels
    selection: Mapping[Unit, frozenset[int] | None]

    @property
    def fits_memory(self) -> bool:
        """True if all of it can be put into loaded modules."""
        return all(can_swap(self.wheels, unit) for unit in self.selection)


class CannotSwapError(Exception):
    """A fix that cannot be put into this release, with the reason."""


class Exposer:
    """Runs a program in one release with and without fixes.

    Args:
        release: the version of torch.
        recorder: the program in that release.
        torch: the torch folder there.
        copy: makes a copy of it whose text can be changed, for fixes that memory cannot take.
        with_text: returns the recorder of a program in such a copy.
        say: told of every step.
    """

    def __init__(
        self,
        release: str,
        recorder: Recorder,
        torch: Path,
        copy: Callable[[], PatchedTorch],
        with_text: Callable[[PatchedTorch], Recorder],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._release, self._recorder, self._torch = release, recorder, torch
        self._copy, self._with_text, self._say = copy, with_text, say
        self._sources: dict[str, SourceFile | None] = {}
        self._eager: Recorded | None = None
        self._unstable: frozenset[str] = frozenset()
        self.ran: frozenset[tuple[str, int]] = frozenset()

    def run(self, asked: Sequence[Asked]) -> Exposure:
        """Return the exposure of the program.

        Args:
            asked: the fixes.

        Raises:
            EngineError: the interpreter does not start.
        """
        trace = self._recorder.scratch / "trace"
        self._say(f"torch {self._release}: running the program without any fix, and noting the functions that it calls")
        traced = self._recorder.record(trace=trace, compare=True, redirect=REPEATABLE)
        self.ran = executed(trace)
        trace.unlink(missing_ok=True)
        result = Exposure(self._release, plain=traced)
        reached = [fix for fix in asked if self._reaches(fix)]
        if reached:
            self._say(
                f"torch {self._release}: running the program without any fix once more, to see what differs by itself"
            )
            plain = self._recorder.record(compare=True, redirect=REPEATABLE)
            if plain.different_in(traced):
                # Tracing may change what the compiler does: two runs without it tell what differs by itself.
                traced, plain = plain, self._recorder.record(compare=True, redirect=REPEATABLE)
            self._unstable = frozenset(plain.different_in(traced))
            result.plain = plain
        result.covered = list(self._covered(result.plain or traced, len(asked), len(reached)))
        result.bugs = [fix.exposed("not-executed") for fix in asked if fix not in reached]
        groups: dict[tuple[int, bool], list[_Change]] = {}
        for fix in reached:
            try:
                wheels = fix.wheels()
                change = _Change(fix, wheels, selected(wheels, fix.isolation))
            except (CannotSwapError, PatchError) as error:
                result.bugs.append(fix.exposed("unknown", str(error)))
            else:
                groups.setdefault((id(wheels), change.fits_memory), []).append(change)
        for together in groups.values():
            result.bugs += self._ask(together, result.plain or traced)
        return result

    def _covered(self, plain: Recorded, asked: int, reached: int) -> Iterable[str]:
        graphs = len(plain.artifacts.get("graphs", ()))
        calls = len(plain.calls)
        yield f"the program ran on the CPU: {plain.ending}" if not plain.passed else "the program ran on the CPU"
        yield f"{graphs} graph{'' if graphs == 1 else 's'} compiled, {calls} of their calls compared with eager"
        if plain.problems:
            yield f"not compared with eager: {plain.problems[0]}" + (
                f" (and {len(plain.problems) - 1} more)" if len(plain.problems) > 1 else ""
            )
        if self._unstable:
            yield f"differs from run to run, and proves nothing: {', '.join(sorted(self._unstable))}"
        yield f"{asked} isolated fixes asked, {reached} of them change a function that ran"

    # --- what ran ------------------------------------------------------------------------------------------

    def _source(self, file: str) -> SourceFile | None:
        if file not in self._sources:
            try:
                self._sources[file] = SourceFile((self._torch / file).read_text(encoding="utf-8"))
            except (OSError, PatchError):
                self._sources[file] = None
        return self._sources[file]

    def _reaches(self, fix: Asked) -> bool:
        """Return whether the program executes what the fix changes; what cannot be traced counts as executed."""
        functions = False
        for unit in fix.isolation["units"]:
            source = self._source(unit["file"])
            item = source.by_key.get((unit["kind"], unit["qualname"], 1)) if source else None
            if unit["kind"] != "function" or item is None:
                continue
            functions = True
            if any(file == unit["file"] and item.start <= line < item.end for file, line in self.ran):
                return True
        return not functions

    def without_fix(self, case: str, frames: Sequence[str]) -> Exposed:
        """Return what can be said of a bug that no fix is isolated for: whether the function that fails ran.

        Args:
            case: its id.
            frames: torch's frames of its failure in this release, the innermost first.
        """
        for frame in frames:
            match = _FRAME.match(frame)
            source = self._source(match["file"]) if match else None
            item = source.item_at(int(match["line"])) if match and source else None
            if match and item is not None and item.key[0] == "function":
                ran = any(file == match["file"] and item.start <= line < item.end for file, line in self.ran)
                word = EXECUTED if ran else "was not executed"
                what = f"no fix is isolated; the function that fails, {match['file']}: {item.key[1]}, {word}"
                return Exposed(case, "unknown", what=what)
        return Exposed(case, "unknown", what="no fix is isolated, and its failure names no function")

    # --- with the fix --------------------------------------------------------------------------------------

    def _ask(self, together: Sequence[_Change], plain: Recorded, must_differ: bool = False) -> Iterator[Exposed]:
        """Yield the answers to fixes, all put in at once: where nothing differs, none of them changes anything.

        Where something differs, they are asked by halves. Few fixes change what the compiler makes of one program, so
        that one run answers most of them.

        Args:
            together: fixes of the same two releases, all put in by memory or all by text.
            plain: the run of the program without any fix.
            must_differ: with these and others something differed, and with the others alone nothing.
        """
        if len(together) == 1:
            yield self._ask_alone(together[0], plain)
            return
        if not must_differ and self._is_same_with(together, plain):
            yield from (change.fix.exposed("same", SAME) for change in together)
            return
        half = len(together) // 2
        first = list(self._ask(together[:half], plain))
        yield from first
        yield from self._ask(together[half:], plain, must_differ=all(bug.level == "same" for bug in first))

    def _is_same_with(self, together: Sequence[_Change], plain: Recorded) -> bool:
        self._say(f"torch {self._release}: with {len(together)} fixes together")
        try:
            return not self._different(plain, self._put_in(together))
        except (CannotSwapError, PatchError, CopyError):
            return False

    def _ask_alone(self, change: _Change, plain: Recorded) -> Exposed:
        self._say(f"torch {self._release}: with the fix of {change.fix.case}")
        try:
            fixed = self._put_in([change])
            differs = self._different(plain, fixed)
            if not differs:
                return change.fix.exposed("same", SAME)
            taken_back = self._different(plain, self._put_in([change], take_back=True))
        except (CannotSwapError, PatchError, CopyError) as error:
            return change.fix.exposed("unknown", str(error))
        if taken_back:
            return change.fix.exposed("unknown", f"taken back, it leaves other {', '.join(taken_back)}")
        eager = self._eager = self._eager or self._recorder.record(redirect=EAGER)
        return judge(change.fix, plain, fixed, eager, differs)

    def _put_in(self, together: Sequence[_Change], take_back: bool = False) -> Recorded:
        """Return the run with changes of the same two releases, or with them put in and taken back."""
        wheels, selection = together[0].wheels, dict[Unit, frozenset[int] | None]()
        for change in together:
            for unit, hunks in change.selection.items():
                before = selection.get(unit, frozenset())
                selection[unit] = None if hunks is None or before is None else before | hunks
        if together[0].fits_memory:
            folder = self._recorder.scratch / "swap"
            folder.mkdir(exist_ok=True)
            swaps, _ = swaps_of(wheels, selection, folder)
            run = self._recorder.record(swap=swaps, swap_back=take_back, compare=True, redirect=REPEATABLE)
            if run.unswapped:
                named = ", ".join(sorted({file for file, _ in run.unswapped}))
                raise CannotSwapError(f"its functions cannot be put into the loaded {named}")
            return run
        copy = self._copy()
        copy.patch({} if take_back else wheels.mixed(selection))
        with contextlib.closing(self._with_text(copy)) as recorder:
            return recorder.record(compare=True, redirect=REPEATABLE)

    def _different(self, plain: Recorded, other: Recorded) -> list[str]:
        return [name for name in plain.different_in(other) if name not in self._unstable]


def selected(wheels: Wheels, isolation: Isolation) -> dict[Unit, frozenset[int] | None]:
    """Return the units of an isolation as they are between two releases, with the hunks that it was minimized to.

    Args:
        wheels: the two releases.
        isolation: of `results/fixes`.

    Raises:
        CannotSwapError: a unit does not differ between the two.
    """
    selection: dict[Unit, frozenset[int] | None] = {}
    for told in isolation["units"]:
        name = (told["qualname"], told["kind"])
        fitting = [unit for unit in wheels.units(told["file"]) if (unit.qualname, unit.kind) == name]
        if not fitting:
            raise CannotSwapError(f"torch/{told['file']}: {told['qualname']} is the same in both releases")
        hunks = told.get("hunks")
        selection[fitting[0]] = frozenset(hunks) if hunks is not None else None
    return selection


def same_text(isolation: Isolation, torch: Path, isolated_in: Path) -> bool:
    """Return whether the units of a fix have the same old text in two releases.

    Args:
        isolation: of `results/fixes`.
        torch: the torch folder of the one.
        isolated_in: that of the release where the fix was isolated.
    """
    for told in isolation["units"]:
        texts = []
        for folder in (torch, isolated_in):
            path = folder / told["file"]
            if not told["file"].endswith(".py"):
                texts.append(path.read_text(encoding="utf-8") if path.is_file() else "")
                continue
            try:
                source = SourceFile(path.read_text(encoding="utf-8"))
            except (OSError, PatchError):
                return False
            item = source.by_key.get((told["kind"], told["qualname"], 1))
            start, end = source.span(item) if item else (1, 1)
            texts.append("".join(source.lines[start - 1 : end - 1]))
        if texts[0] != texts[1]:
            return False
    return True


def judge(fix: Asked, plain: Recorded, fixed: Recorded, eager: Recorded, differs: Sequence[str]) -> Exposed:
    """Return what a fix means for a program that the compiler takes otherwise with it.

    It bites where eager differs from the program as it is, and not from the program with the fix; and where the program
    fails in a way that eager does not, and ends well with the fix. What a graph break takes out of the compiler agrees
    with eager for that reason: where the program has more of them with the fix, the level is `differs`. An exception is
    a program that fails, and a fix that breaks the graph of its own case as well.

    Args:
        fix: the fix.
        plain: the program as it is.
        fixed: the program with the fix.
        eager: the program without the compiler.
        differs: the aspects in which the first two differ.
    """
    if fixed.seen.outcome is Outcome.ERROR:
        return fix.exposed("unknown", f"the program could not be run with the fix: {fixed.seen.message}")
    ends_otherwise = not fixed.fails_like(plain)
    bite = _bite(plain, fixed, eager)
    if bite is not None:
        what, where = bite
        before, breaks = fix.isolation["breaks"][:2]
        if _more(fixed.seen.breaks, plain.seen.breaks) and not (ends_otherwise and _more(breaks, before)):
            what = f"{what}; but the fix breaks the graph, and what is not compiled agrees with eager"
            return fix.exposed("differs", what, where)
        return fix.exposed("bites", what, where)
    if ends_otherwise and not fixed.passed:
        return fix.exposed("unknown", f"with the fix the program fails otherwise: {fixed.ending}")
    return fix.exposed("differs", f"other {', '.join(differs)}", changed_place(plain, fixed))


def _more(breaks: int | None, before: int | None) -> bool:
    return breaks is not None and before is not None and breaks > before


def _bite(plain: Recorded, fixed: Recorded, eager: Recorded) -> tuple[str, str] | None:
    """Return what differs from eager without a fix and does not with it, and where; None if nothing does."""
    with_fix = "with the fix it does not"
    if not fixed.fails_like(plain) and not fixed.passed:
        if plain.passed and eager.failure is not None and not _comes_from_the_exchange(fixed, eager):
            what = f"eager fails ({eager.ending}); compiled it does not, with the fix it does"
            return what, failing_line(eager)
        return None
    # A program that asks the compiler for more than code, as for what it saves, fails without it in its own way.
    if plain.failure is not None and fixed.passed and not eager.fails_like(plain):
        return f"it fails: {plain.ending}; {with_fix}", failing_line(plain)
    mended = mended_calls(plain.calls, fixed.calls)
    if mended:
        call = mended[0]
        more = f", and {len(mended) - 1} more calls" if len(mended) > 1 else ""
        return f"{told(*call.differences[0])}{more}; {with_fix}", call.place
    if plain.passed and fixed.passed and eager.passed and mends_text(plain.stdout, fixed.stdout, eager.stdout):
        pairs = zip(plain.stdout.splitlines(), eager.stdout.splitlines(), strict=False)
        line = next((ours for ours, theirs in pairs if not prints_alike(ours, theirs)), "")
        return f"prints another text than eager ({line.strip()[:80]}); {with_fix}", ""
    return None


def _comes_from_the_exchange(fixed: Recorded, eager: Recorded) -> bool:
    """Return whether a program fails because a function of the fix does not work in this release."""
    failure = fixed.failure
    return failure is None or (failure.error in MISFITS and not failure.same(eager.failure, Level.TYPE))


def mends_text(plain: str, fixed: str, eager: str) -> bool:
    """Return whether what is printed differs from eager's without a fix, and does not with it.

    Args:
        plain: printed by the program as it is.
        fixed: with the fix.
        eager: without the compiler.
    """
    return prints_alike(fixed, eager) and not prints_alike(plain, eager)


def told(what: str, how: str, size: float | None) -> str:
    """Return a difference as part of a sentence.

    Args:
        what: differs.
        how: it differs.
        size: of the largest difference, where it has one.
    """
    much = f" by up to {size:.3g}" if size is not None else ""
    return (how if what == "call" else f"{what}: {'other values than eager' if how == 'values' else how}") + much


def failing_line(recorded: Recorded) -> str:
    """Return the innermost line of the program that its failure went through.

    Args:
        recorded: a run that failed.
    """
    return f"line {recorded.lines[-1]}" if recorded.lines else ""


def mended_calls(plain: Sequence[Call], fixed: Sequence[Call]) -> list[Call]:
    """Return the calls that differ from eager without the fix, and do not with it.

    Where both runs have other calls, only a run in which no call differs any more mends them.

    Args:
        plain: calls of the program as it is.
        fixed: those with the fix.
    """
    wrong = [call for call in plain if call.differences]
    left = {(call.graph, call.number): call for call in fixed}
    if {(call.graph, call.number) for call in plain} == left.keys():
        return [call for call in wrong if not left[call.graph, call.number].differences]
    return wrong if fixed and not any(call.differences for call in fixed) else []


def changed_place(plain: Recorded, fixed: Recorded) -> str:
    """Return the place of the first compared call whose results changed; empty if there is none.

    Args:
        plain: the program as it is.
        fixed: the program with the fix.
    """
    for ours, theirs in zip(plain.calls, fixed.calls, strict=False):
        if ours.digest != theirs.digest:
            return ours.place
    return ""


class Releases(Protocol):
    """Sources of torch folders: installed ones, and those of releases that have a fix."""

    def torch_of(self, release: str) -> Path:
        """Return the torch folder of a release, made if it is not there.

        Args:
            release: a public version.
        """

    def torch_at_hand(self, release: str) -> Path | None:
        """Return it only if it is there.

        Args:
            release: a public version.
        """


def exposure_of(
    program: Program,
    interpreter: Interpreter,
    known: Known,
    releases: Releases,
    say: Callable[[str], None],
    command: Callable[[str], str],
    wanted: Callable[[Isolation], bool] = lambda _: True,
) -> Exposure:
    """Return the exposure of a program on one release.

    Args:
        program: what is run.
        interpreter: with the release.
        known: the fixes, and the bugs that have none.
        releases: has those that have the fixes.
        say: told of every step.
        command: what a user types to ask on another release.
        wanted: which of the fixes are asked about.

    Raises:
        InputError: the release cannot be started, or one with a fix cannot be had.
    """
    release, bugs = interpreter.release, known.bugs_of(interpreter.release)
    wheels_of = cache(partial(_wheels, interpreter, releases))
    names = {row.cell.case.id for row in bugs}
    asked: list[Asked] = []
    elsewhere: list[Exposed] = []
    for isolation in known.isolations:
        fix = Asked(isolation, partial(wheels_of, str(isolation["good"])))
        if not wanted(isolation) or any(fix.is_same(other) for other in asked):
            continue
        if isolation["bad"] == release:
            asked.append(fix)
        elif fix.case in names:
            there = releases.torch_at_hand(str(isolation["bad"]))
            if there is not None and same_text(isolation, interpreter.torch, there):
                asked.append(fix)
            else:
                bad = str(isolation["bad"])
                elsewhere.append(fix.exposed("unknown", f"isolated in torch {bad}: `{command(bad)}` asks there"))
    copies = cache_home() / "isolate"
    try:
        with contextlib.ExitStack() as stack:
            recorder = stack.enter_context(program.recorder(interpreter.exe))
            exposer = Exposer(
                release,
                recorder,
                interpreter.torch,
                copy=lambda: stack.enter_context(
                    patched_torch(interpreter.torch, copies, interpreter.exe.parent.parent.name)
                ),
                with_text=lambda copy: program.recorder(
                    interpreter.exe, keeps_python_path=False, paths=(copy.path,), env={"PT2BUGS_HOME": str(copy.home)}
                ),
                say=say,
            )
            exposure = exposer.run(asked)
            if recorder.removed:
                exposure.covered.append(f"without the variables {', '.join(recorder.removed)}")
            told = {bug.case for bug in (*exposure.bugs, *elsewhere)}
            exposure.bugs += elsewhere
            exposure.bugs += [
                exposer.without_fix(row.cell.case.id, _frames(row, release))
                for row in bugs
                if row.cell.case.id not in told
            ]
    except EngineError as error:
        raise InputError(f"{program.path.name}: cannot be run on torch {release}: {error}") from None
    exposure.bugs.sort(key=lambda bug: (LEVELS.index(bug.level), not bug.units, bug.case))
    return exposure


def _wheels(interpreter: Interpreter, releases: Releases, good: str) -> Wheels:
    return Wheels(interpreter.torch, releases.torch_of(good))


def _frames(row: History, release: str) -> list[str]:
    finding = row.finding(release)
    if finding is None:
        return []
    record = finding.record
    return [frame for frame in (record["frame"], *record.get("frames", ())) if frame]
