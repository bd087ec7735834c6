"""A bisection over environments: many checks at once, the journal first, every environment at most once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pt2bugs.bisect.search import Search, choose, cost_alone, takes_part
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import cannot_say_here, expects_bug
from pt2bugs.case.vocabulary import Verdict, number_of
from pt2bugs.envs.environment import Key
from pt2bugs.envs.store import Store
from pt2bugs.results.folder import Results
from pt2bugs.results.history import (
    CONFIDENCE,
    FLAKY_REPEATS,
    Finding,
    Histories,
    State,
    Transition,
    clean_confidence,
    sighting_rate,
)
from pt2bugs.run.plan import RunOptions, Target, Work

CONFIRMATIONS = 3
"""Number of times that it returns to a release for more clean runs."""
MAX_RUNS = 60
"""Most clean runs. A bug that would need more is too rare to be decided."""


@dataclass
class BisectedCheck:
    """One check on one device and backend over the releases of the range, or the versions of a package.

    `search` has the releases that may say something; `unusable` the others, each with the reason, among them
    those that were probed and could not say. `known` is what the journal answered from the start; `targets` and
    `axis` are those of its `Bisection`.
    """

    cell: Cell
    search: Search[str]
    findings: dict[str, Finding] = field(default_factory=dict)
    unusable: dict[str, str] = field(default_factory=dict)
    known: dict[str, State] = field(default_factory=dict)
    targets: Mapping[str, Target | str] = field(default_factory=dict)
    axis: str = "torch"

    @property
    def is_flaky(self) -> bool:
        """True if the case says so, or repeats disagreed in some release."""
        return self.cell.case.flaky or any(finding.is_flaky for finding in self.findings.values())

    def confidence(self, transition: Transition[str]) -> float | None:
        """Return how sure it is that the clean side of a transition has no bug; None if the check is not flaky.

        Args:
            transition: of the search.
        """
        return clean_confidence(self._buggy, self.findings[clean_side(transition)]) if self.is_flaky else None

    @property
    def _buggy(self) -> list[Finding]:
        return [finding for finding in self.findings.values() if finding.state is State.BUG]

    def clean_runs_owed(self, transition: Transition[str]) -> int:
        """Return how many more runs the clean side needs until a transition can be trusted; 0 if no more help.

        Args:
            transition: of the search.
        """
        confidence = self.confidence(transition)
        if confidence is None or confidence >= CONFIDENCE:
            return 0
        needed = math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - sighting_rate(self._buggy)))
        return needed - self.findings[clean_side(transition)].runs if needed <= MAX_RUNS else 0

    def is_sure(self, transition: Transition[str]) -> bool:
        """Return whether a transition is certain: nothing unprobed inside it, and enough clean runs of a flaky check.

        Args:
            transition: of the search.
        """
        confidence = self.confidence(transition)
        return not transition.unprobed and (confidence is None or confidence >= CONFIDENCE)

    @property
    def is_missed(self) -> bool:
        """True if the check is flaky and its documented bug was never seen: it may have been missed by chance."""
        documented = any(self.search.expected.get(release) for release in self.search.decided())
        return self.is_flaky and documented and not self._buggy

    @property
    def is_decided(self) -> bool:
        """True if the range is answered: something could be said, and every transition is sure."""
        return (
            bool(self.search.decided())
            and not self.is_missed
            and not self.search.questions()
            and all(self.is_sure(transition) for transition in self.search.transitions())
        )

    @property
    def surprises(self) -> dict[str, str]:
        """The releases that the header is wrong about, each with what was seen."""
        return {
            release: finding.summary
            for release in self.search.versions
            if (finding := self.findings.get(release)) is not None
            and finding.record["verdict"] in (Verdict.FAIL, Verdict.XPASS)
        }

    @property
    def summary(self) -> str:
        """The answer in a sentence."""
        decided, transitions = self.search.decided(), self.search.transitions()
        if not decided:
            return "cannot decide: no release of the range says anything"
        if transitions:
            return "; ".join(map(self.sentence, transitions))
        if len(decided) == 1:
            return f"cannot decide: only {self.axis} {decided[0]} says something, {self.search.states[decided[0]]}"
        if self.is_missed:
            return "cannot decide: the check is flaky, and its documented bug was never seen"
        span = f"from {self.axis} {decided[0]} to {decided[-1]}"
        is_all = len(decided) == len(self.search.versions)
        unless = "" if is_all else f", in the {number_of(len(decided), 'release')} run"
        if self.search.states[decided[0]] is State.BUG:
            return f"always there {span}{unless}: neither introduced nor fixed in this range"
        return f"never there {span}{unless}"

    def sentence(self, transition: Transition[str]) -> str:
        """Return a transition in words, with what is not sure about it.

        Args:
            transition: of the search.
        """
        if transition.unprobed:
            between = f"{number_of(len(transition.unprobed), 'release')} between not run"
            return f"{window(transition, self.axis)}, not narrowed further ({between})"
        told = window(transition, self.axis)
        return told if self.is_sure(transition) else f"cannot decide: perhaps {told}"


def clean_side(transition: Transition[str]) -> str:
    """Return the release beside a transition that does not have the bug.

    Args:
        transition: of a search.
    """
    return transition.before if transition.introduced else transition.after


@dataclass
class Cost:
    """The work of a bisection: `visited` releases, of them `installed` anew; `cells` run.

    `alone` is how many environments the checks one by one would have asked for.
    """

    visited: list[str] = field(default_factory=list)
    installed: int = 0
    cells: int = 0
    alone: int = 0


class Bisection:
    """Answers where each check changes.

    Args:
        cells: the checks.
        targets: the environment of each release of the range, oldest first, or of each version of a package in one
            release; a text instead of one says why there is none.
        results: where what is run is recorded.
        journal: what it says.
        thorough: run every release.
        axis: of what these are the releases or versions.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        targets: Mapping[str, Target | str],
        results: Results,
        journal: Histories,
        *,
        thorough: bool = False,
        axis: str = "torch",
    ) -> None:
        self.targets, self.results, self.journal, self.thorough = targets, results, journal, thorough
        self.axis = axis
        self.cost = Cost()
        self._failures: dict[str, str] = {}
        self._confirmed: Counter[str] = Counter()
        self.histories = [self._history(cell) for cell in cells]
        self._take_over()
        for history in self.histories:
            history.known = dict(history.search.states)

    def _history(self, cell: Cell) -> BisectedCheck:
        unusable, expected = {}, {}
        for release, target in self.targets.items():
            if isinstance(target, str):
                unusable[release] = target
                continue
            environment = (target.key.torch, target.key.python, target.key.extras)
            expected[release] = expects_bug(cell, *environment)
            # What the header rules out costs no environment; a thorough search trusts it in nothing.
            if not self.thorough and (reason := cannot_say_here(cell, *environment)):
                unusable[release] = reason
        search = Search(list(self.targets), expected, self.thorough)
        return BisectedCheck(cell, search, unusable=unusable, targets=self.targets, axis=self.axis)

    def _take_over(self) -> None:
        """Take over what the journal says now."""
        for history in self.histories:
            states = history.search.states
            keys = {r: Key(r, "") if isinstance(target, str) else target.key for r, target in self.targets.items()}
            rows = {extras: self.journal.of(history.cell, extras) for extras in {key.extras for key in keys.values()}}
            for release, key in keys.items():
                finding = rows[key.extras].finding(key.torch)
                tried = release in states or release in self._failures
                if finding is not None and (tried or finding.suffices):
                    history.findings[release] = finding
                    states[release] = finding.state
                elif tried:
                    states[release] = State.UNKNOWN
                if states.get(release) is State.UNKNOWN:
                    history.unusable[release] = finding.summary if finding else self._failures.get(release, "")
                elif release in states:
                    history.unusable.pop(release, None)
            history.unusable = {r: history.unusable[r] for r in self.targets if r in history.unusable}
            history.search.versions = [
                release for release in self.targets if release in states or release not in history.unusable
            ]

    def batches(
        self, store: Store, options: RunOptions, log: Callable[[str], None]
    ) -> Iterator[tuple[list[Work], RunOptions]]:
        """Yield what to run next and how, until nothing is open that running could answer.

        Args:
            store: of the environments.
            options: of the run.
            log: told of each round.
        """
        while chosen := choose((history.search for history in self.histories), at_once=2) or self._unsure():
            log(self._describe_round(chosen))
            yield from self._probe(chosen, store, options)

    def finish(self) -> None:
        """Take over what was run, also by a search that was stopped, and count what was saved."""
        self._take_over()
        self.cost.alone = sum(cost_alone(history.search, history.known) for history in self.histories)

    def _unsure(self) -> list[str]:
        """Return a release at the clean side of a flaky check's transition that needs more runs, if there is one."""
        for history in self.histories:
            for transition in history.search.transitions():
                side = clean_side(transition)
                usable = side not in self._failures and isinstance(self.targets[side], Target)
                if usable and history.clean_runs_owed(transition) and self._confirmed[side] < CONFIRMATIONS:
                    self._confirmed[side] += 1
                    return [side]
        return []

    def _probe(
        self, chosen: Sequence[str], store: Store, options: RunOptions
    ) -> Iterator[tuple[list[Work], RunOptions]]:
        # By the number of repeats: flaky checks need some, and more on the clean side of a transition.
        batches: dict[int, list[Work]] = {}
        probed: list[tuple[BisectedCheck, str]] = []
        release_of: dict[Key, str] = {}
        for release in chosen:
            target = self.targets[release]
            if not isinstance(target, Target):
                raise TypeError(f"{self.axis} {release} has no environment and takes no part: {target}")
            release_of[target.key] = release
            owed: dict[int, list[Cell]] = {}
            for history in self.histories:
                if repeats := self._repeats(history, release, options.repeat):
                    owed.setdefault(repeats, []).append(history.cell)
                    probed.append((history, release))
            for repeats, cells in owed.items():
                batches.setdefault(repeats, []).append(Work(target, cells))
            if release not in self.cost.visited:
                self.cost.visited.append(release)
                self.cost.installed += target.python is None and store.find(target.key) is None
            self.cost.cells += sum(len(cells) for cells in owed.values())
        for repeats, work in sorted(batches.items()):
            yield work, replace(options, repeat=repeats)
            for part in work:
                if part.failure:
                    self._failures[release_of[part.target.key]] = part.failure
        for history, release in probed:
            history.search.states.setdefault(release, State.UNKNOWN)
        self._take_over()

    def _repeats(self, history: BisectedCheck, release: str, repeat: int) -> int:
        """Return how often to run a check in a release that was chosen; 0 for not at all."""
        if takes_part(history.search, release):
            return max(repeat, FLAKY_REPEATS) if history.is_flaky else repeat
        owed = [
            history.clean_runs_owed(transition)
            for transition in history.search.transitions()
            if clean_side(transition) == release
        ]
        return max([0, *owed]) if not history.search.questions() else 0

    def _describe_round(self, chosen: Sequence[str]) -> str:
        open_ = [history for history in self.histories if history.search.questions()]
        if not open_:
            return f"more runs of flaky checks on their clean side: {self.axis} {chosen[0]}"
        lines = [f"{len(open_)} of {len(self.histories)} checks open, next: {self.axis} {' and '.join(chosen)}"]
        if len(self.histories) <= 4:
            for history in open_:
                for transition in history.search.transitions():
                    if transition.unprobed:
                        left = len(transition.unprobed)
                        between = f"{left} release{'s' * (left != 1)} between"
                        lines.append(f"  {history.cell.key}: {window(transition, self.axis)}, {between}")
        return "\n".join(lines)


def window(transition: Transition[str], axis: str) -> str:
    """Return a transition in words: ``fixed between torch 2.9.1 and 2.10.0``.

    Args:
        transition: of a search.
        axis: of what the search has releases.
    """
    word = "introduced" if transition.introduced else "fixed"
    return f"{word} between {axis} {transition.before} and {transition.after}"
