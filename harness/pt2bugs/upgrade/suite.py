"""`pytest --pt2bugs-upgrade A B`: a user's test suite on two releases, and what a move changes for its tests.

Each test is a small program: `move` says what a move changes for it. Tests that change alike are one group.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pt2bugs.case.failure import Level
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome, number_of
from pt2bugs.engine.client import EngineError
from pt2bugs.envs.environment import EnvironmentFailure
from pt2bugs.envs.in_use import Environments
from pt2bugs.envs.packages import read_requirements
from pt2bugs.envs.sources import sources
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError, Pt2bugsError, last_line
from pt2bugs.match.known import KnownBugs
from pt2bugs.run.interpreter import Interpreter, Interpreters, named_interpreter
from pt2bugs.run.measurement import observe_exit
from pt2bugs.upgrade.inside.suite import FUNCTION
from pt2bugs.upgrade.move import CAVEAT, LISTS, RUNS, TITLES, Entry, Known, Move, Side, recognizer
from pt2bugs.upgrade.recorded import Recorded, Recorder, entries_of

Say = Callable[[str], None]
SHOWN = 5
"""Tests of a group that are named."""
_NOT_RUN = {3: "pytest failed itself", 4: "pytest does not take its arguments"}
"""Exit statuses of pytest with which no test ran."""
SAMENESS = (
    "Tests are grouped by failure: outcome, exception and message (MESSAGE), as all of a group fail on one release; "
    "the two releases are compared by outcome and exception (TYPE), as messages are rewritten between them."
)


@dataclass(frozen=True)
class Suite:
    """A suite as the user starts it: the folder, pytest's arguments, and what is installed for it.

    `listed` is a file with further requirements; `minutes` are for one run of the suite.
    """

    folder: Path
    arguments: Sequence[str]
    requirements: Sequence[str] = ()
    listed: Path | None = None
    minutes: float = 10.0


@dataclass
class SuiteRuns:
    """A suite on one release: the runs of each test by its name, and those of `files` and classes, by theirs.

    `problem` says why nothing ran.
    """

    release: str
    runs: dict[str, list[Recorded]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    problem: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def tests(self) -> set[str]:
        """The names of the tests, without those of files and classes."""
        return self.runs.keys() - self.files

    def failed_above(self, test: str) -> bool:
        """Return whether the file of a test could not be collected.

        Args:
            test: its name.
        """
        return any(not self.runs[name][0].passed and test.startswith(f"{name}::") for name in self.files)


@dataclass(frozen=True)
class Group:
    """Tests for which a move changes the same."""

    entry: Entry
    tests: Sequence[str]


@dataclass
class Answer:
    """What a move changes for a suite: groups by the lists of `move`, those with most tests first."""

    before: SuiteRuns
    after: SuiteRuns
    groups: dict[str, list[Group]]


# --- running -------------------------------------------------------------------------------------------


class SuiteRunner:
    """Runs a suite in the interpreter of a release.

    Args:
        suite: what is run.
        recorder: of the interpreter.
        say: told of every step.
    """

    def __init__(self, suite: Suite, recorder: Recorder, say: Say) -> None:
        self._suite, self._recorder, self._say = suite, recorder, say

    def run(self, tested: SuiteRuns, only: Sequence[str] = ()) -> None:
        """Run the tests once. One that takes its process along is not run again, and the rest runs in a new one.

        Args:
            tested: takes what they showed.
            only: names of tests; empty for all.

        Raises:
            EngineError: the interpreter does not start.
        """
        done: list[str] = []
        left_s = 60 * self._suite.minutes
        number = 2 if only else 1
        while left_s > 0:
            self._say(f"torch {tested.release}: the tests, run {number} of {RUNS}" + (", the rest" if done else ""))
            limit_s = left_s
            ended, path = self._recorder.call(
                FUNCTION,
                limit_s,
                folder=str(self._suite.folder),
                arguments=list(self._suite.arguments),
                only=list(only),
                done=done,
            )
            began = None
            for entry in entries_of(path):
                if entry["kind"] == "began":
                    began = entry["test"]
                    continue
                self._add(tested, number, entry["test"], Observation.from_dict(entry["observation"]), entry["text"])
                if entry["kind"] == "collected":
                    tested.files.add(entry["test"])
                else:
                    began = None
                    done.append(entry["test"])
            path.unlink(missing_ok=True)
            left_s -= ended.duration_s
            seen, text = observe_exit(ended, limit_s, 0)
            seen.present(self._recorder.hide)
            status = (ended.frames.get("report") or {}).get("status")
            if status is not None or began is None:
                if status is None and done:
                    tested.notes.append(f"pytest ended between two tests: {seen.summary}")
                elif status is None or status in _NOT_RUN:
                    tested.problem = _why(seen, text, status)
                return
            if seen.outcome is Outcome.TIMEOUT:
                tested.notes.append(
                    f"stopped when its time was up (--pt2bugs-minutes), in {began}; the rest did not run"
                )
                return
            self._add(tested, number, began, seen, seen.output_tail)
            done.append(began)

    def _add(self, tested: SuiteRuns, number: int, test: str, seen: Observation, text: str) -> None:
        seen.present(self._recorder.hide)
        runs = tested.runs.setdefault(test, [])
        # A file has an entry in each process that collects it.
        if len(runs) < number:
            runs.append(Recorded(seen, text))


def _why(seen: Observation, text: str, status: int | None) -> str:
    """Return why pytest ran nothing."""
    if status in _NOT_RUN:
        told = [line for line in seen.output_tail.splitlines() if line.strip()]
        error = next((line for line in reversed(told) if "error" in line.lower()), told[-1] if told else "")
        return f"{_NOT_RUN[status]}: {error.strip()[:300]}; install its plugins with --pt2bugs-with"
    return f"pytest did not start: {(seen.summary or text).strip()[:300]}"


def move_suite(suite: Suite, words: Sequence[str], pytest_version: str) -> int:
    """Run a suite on two releases, print what the move changes, and return the exit code.

    Args:
        suite: what is run.
        words: two releases, or the paths of two Pythons.
        pytest_version: of the user's pytest.
    """
    try:
        before, after = run_on_both(suite, words, pytest_version, _say)
        answer = compare_suites(before, after, recognizer(KnownBugs.brought))
    except Pt2bugsError as error:
        _say(f"pt2bugs: {error}")
        return 2
    except KeyboardInterrupt:
        _say("pt2bugs: interrupted")
        return 2
    if not answer.before.tests | answer.after.tests:
        _say("pt2bugs: no test was collected on either release")
        return 5
    for line in lines(answer):
        print(line)
    return 1 if answer.groups["breaks_for_you"] else 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run_on_both(suite: Suite, words: Sequence[str], pytest_version: str, say: Say) -> list[SuiteRuns]:
    """Run a suite on two releases: all tests once, and those that change a second time.

    Args:
        suite: what is run.
        words: two releases, or the paths of two Pythons.
        pytest_version: of the user's pytest.
        say: told of every step.

    Raises:
        InputError: nothing could be run on a release.
    """
    with contextlib.ExitStack() as stack:
        listed = read_requirements(suite.listed, say) if suite.listed is not None else []
        packages = [f"pytest=={pytest_version}", *suite.requirements, *listed]
        environments = stack.enter_context(Environments(Store(sources()), say, say))
        interpreters = Interpreters(environments, packages)
        # What a word does not mean is said before anything runs.
        there = [_interpreter_of(interpreters, word) for word in words]
        both = [SuiteRuns(interpreter.release) for interpreter in there]
        runners = []
        for tested, interpreter in zip(both, there, strict=True):
            recorder = stack.enter_context(Recorder(interpreter.exe, suite.folder))
            try:
                recorder.start()
                if recorder.removed:
                    say(f"torch {tested.release}: without the variables {', '.join(recorder.removed)}")
                runners.append(SuiteRunner(suite, recorder, say))
                runners[-1].run(tested)
            except EngineError as error:
                tested.problem = last_line(error)
            if tested.problem:
                raise InputError(f"torch {tested.release}: nothing could be run there: {tested.problem}")
        before, after = both
        changed = sorted(
            test
            for test in before.runs.keys() & after.runs.keys()
            if not before.runs[test][0].fails_like(after.runs[test][0], Level.TYPE)
            or Move.of(_side(before, test), _side(after, test), lambda *_: (None, "")).changes_for_you
        )
        for tested, runner in zip(both, runners, strict=True):
            if changed:
                runner.run(tested, changed)
    return both


def _interpreter_of(interpreters: Interpreters, word: str) -> Interpreter:
    try:
        return Interpreter.existing(named_interpreter(Path(word))) if "/" in word else interpreters.of(word)
    except EnvironmentFailure as error:
        raise InputError(f"torch {word}: nothing could be run there: {last_line(error)}") from None


def _side(tested: SuiteRuns, test: str) -> Side:
    return Side(tested.release, tested.runs[test])


# --- answering -----------------------------------------------------------------------------------------


def compare_suites(before: SuiteRuns, after: SuiteRuns, known: Known) -> Answer:
    """Return what a move changes for a suite.

    Args:
        before: the suite on the release to come from.
        after: that on the release to go to.
        known: recognizes documented bugs.
    """
    gathered: dict[tuple[str, str], tuple[Entry, list[str]]] = {}

    def gather(name: str, entry: Entry, test: str) -> None:
        failure = entry.failure.fingerprint(Level.MESSAGE) if entry.failure is not None else entry.what
        gathered.setdefault((name, failure), (replace(entry, where=""), []))[1].append(test)

    for tested in (before, after):
        for note in tested.notes:
            gather("not_known", Entry(f"torch {tested.release}: {note}"), "")
    for test in sorted(before.runs.keys() | after.runs.keys()):
        sides = [side for side in (before, after) if test in side.runs]
        if len(sides) == 1:
            (there,) = sides
            other = after if there is before else before
            if test in there.tests and not other.failed_above(test):
                gather("not_known", Entry(f"ran on torch {there.release} alone"), test)
            continue
        move = Move.of(_side(before, test), _side(after, test), known)
        is_measured = min(len(before.runs[test]), len(after.runs[test])) == RUNS
        for name in LISTS:
            for entry in getattr(move, name):
                if name == "not_known" or is_measured:
                    gather(name, entry, test)
                else:
                    gather("not_known", Entry("changed, and time was up before it ran a second time"), test)
    groups: dict[str, list[Group]] = {name: [] for name in LISTS}
    for (name, _), (entry, tests) in gathered.items():
        groups[name].append(Group(entry, [test for test in tests if test]))
    for some in groups.values():
        some.sort(key=lambda group: (not group.entry.is_wrong_result, -len(group.tests)))
    return Answer(before, after, groups)


def lines(answer: Answer) -> Iterator[str]:
    """Yield the answer as text.

    Args:
        answer: to a move.
    """
    before, after = answer.before, answer.after
    both = before.tests & after.tests
    yield f"torch {before.release} -> {after.release}: {_tests(both)} on both"
    for name, title in TITLES.items():
        groups = answer.groups[name]
        yield f"{title}: {_tests(test for group in groups for test in group.tests) if groups else 'nothing'}"
        for group in groups:
            yield f"  {_tests(group.tests)}: {group.entry}" if group.tests else f"  {group.entry}"
            yield from (f"    {test}" for test in group.tests[:SHOWN])
            if len(group.tests) > SHOWN:
                yield f"    and {len(group.tests) - SHOWN} more"
    yield SAMENESS
    yield CAVEAT


def _tests(names: Iterable[str]) -> str:
    return number_of(len(set(names)), "test")
