"""The search for the places where a check changes, over an ordered list of versions, for many checks at once.

Nothing here runs anything or knows what a release is. A probe says one of three things about a version; the
search says which versions would help, and what is known so far.

- The oldest and the newest version are probed first. Between two neighbours that say different things the
  middle is next, for every such pair: one transition or many, each is narrowed.
- A version that cannot say is stepped over. In the end every version between the two sides of a
  transition has been probed, so that no window is wider than it must be.
- Where two neighbours say the same nothing is looked for, unless something is expected there: each stretch
  over which the expectation is constant is probed at least once. `thorough` probes everything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Generic, TypeVar

from pt2bugs.results.history import State, Transition, transitions_of

V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True)
class Question(Generic[V]):
    """Something open, and how much each version would help: 1 for the best, 0 for no help."""

    weights: Mapping[V, float]


def budget(count: int) -> int:
    """Return how many probes find one transition among some versions: both ends, then halving.

    Args:
        count: of versions.
    """
    return (count - 1).bit_length() + 2


@dataclass
class Search(Generic[V]):
    """One check over `versions`, oldest first. `states` has what was probed, and may start with what is known.

    `expected` says for a version whether the bug is documented there: a hint where to look, never an answer.
    """

    versions: Sequence[V]
    expected: Mapping[V, bool] = field(default_factory=dict)
    thorough: bool = False
    states: dict[V, State] = field(default_factory=dict)

    def questions(self) -> list[Question[V]]:
        """Return what is open. Answers to two of them do not depend on each other. Empty: the search is over."""
        if self.thorough:
            return [Question({version: 1.0}) for version in self._unprobed(range(len(self.versions)))]
        # The ends come first, then what lies between different answers, and last what the expectation adds.
        return self._ends() or self._gaps() or self._stretches()

    def transitions(self) -> list[Transition[V]]:
        """Return every change between two decided neighbours, oldest first."""
        return transitions_of(self.versions, self.states)

    def decided(self) -> list[V]:
        """Return the versions that say something, oldest first."""
        return [self.versions[index] for index in self._decided()]

    def _decided(self) -> list[int]:
        states = (self.states.get(version, State.UNKNOWN) for version in self.versions)
        return [index for index, state in enumerate(states) if state is not State.UNKNOWN]

    def _unprobed(self, indices: Iterable[int]) -> list[V]:
        return [version for index in indices if (version := self.versions[index]) not in self.states]

    def _probed(self, indices: Iterable[int]) -> list[int]:
        return [index for index in indices if self.versions[index] in self.states]

    def _ends(self) -> list[Question[V]]:
        return [Question({version: 1.0}) for version in self._unprobed(_ends_of(len(self.versions)))]

    def _gaps(self) -> list[Question[V]]:
        decided = self._decided()
        if not decided:
            return self._anywhere(range(len(self.versions)))
        questions = []
        for transition_low, transition_high in pairwise(decided):
            if self.states[self.versions[transition_low]] is not self.states[self.versions[transition_high]]:
                questions += self._window(transition_low, transition_high)
        # Outside the decided ones: where the stretch that cannot say begins.
        if below := self._probed(range(decided[0])):
            questions += self._between(below[-1], decided[0])
        if above := self._probed(range(decided[-1] + 1, len(self.versions))):
            questions += self._between(decided[-1], above[0])
        return questions

    def _between(self, low: int, high: int) -> list[Question[V]]:
        return self._near((low + high) / 2, range(low + 1, high))

    def _window(self, low: int, high: int) -> list[Question[V]]:
        """Return the version between two sides of a transition: near the middle, away from what cannot say."""
        unknown = self._probed(range(low + 1, high))
        if not unknown:
            return self._between(low, high)
        below, above = (low, unknown[0]), (unknown[-1], high)
        if len(unknown) == 1:  # most often a single broken version: the one beside it is as good
            question = self._near(unknown[0], [*range(low + 1, unknown[0]), *range(unknown[0] + 1, high)])
        else:  # a whole stretch: halve what is left on the wider side of it
            wide, narrow = sorted((below, above), key=lambda side: side[0] - side[1])
            question = self._between(*wide) or self._between(*narrow)
        return question or self._near((low + high) / 2, range(unknown[0], unknown[-1]))

    def _anywhere(self, indices: Sequence[int]) -> list[Question[V]]:
        """Return the middle of the widest part not probed, as long as a search may cost."""
        if len(self._probed(indices)) >= budget(len(indices)):
            return []
        parts = groupby(indices, key=lambda index: self.versions[index] in self.states)
        unprobed = [list(part) for probed, part in parts if not probed]
        if not unprobed:
            return []
        widest = max(unprobed, key=len)
        return self._near((widest[0] + widest[-1]) / 2, widest)

    def _stretches(self) -> list[Question[V]]:
        questions = []
        decided = set(self._decided())
        for _, group in groupby(range(len(self.versions)), key=lambda i: self.expected.get(self.versions[i], False)):
            if decided.isdisjoint(stretch := list(group)):
                questions += self._anywhere(stretch)
        return questions

    def _near(self, center: float, indices: Iterable[int]) -> list[Question[V]]:
        """Return one question, best answered by the version nearest to `center`; none if all are probed."""
        open_ = [index for index in indices if self.versions[index] not in self.states]
        if not open_:
            return []
        best = min(open_, key=lambda index: abs(index - center))
        reach = max(abs(index - best) for index in open_) + 1
        return [Question({self.versions[index]: 1 - abs(index - best) / reach for index in open_})]


def _ends_of(count: int) -> list[int]:
    return sorted({0, count - 1}) if count else []


def choose(searches: Iterable[Search[V]], at_once: int = 1) -> list[V]:
    """Return the versions to probe next: those that help most with the open questions of all searches.

    Args:
        searches: that may be open.
        at_once: how many versions at most. A second one is chosen for the questions that the first leaves alone, so
            that it is needed whatever the first says and can be made ready meanwhile.
    """
    questions = [question for search in searches for question in search.questions()]
    chosen: list[V] = []
    while questions and len(chosen) < at_once:
        helps: dict[V, float] = {}
        for question in questions:
            for version, weight in question.weights.items():
                helps[version] = helps.get(version, 0.0) + weight
        best = max(helps, key=lambda version: round(helps[version], 9))
        chosen.append(best)
        questions = [question for question in questions if best not in question.weights]
    return chosen


def takes_part(search: Search[V], version: V) -> bool:
    """Return whether to probe a version for a search once it has been chosen.

    A search that is still open takes every version that comes its way: making one ready costs far more than
    one probe, and coming back to it later would cost that again.

    Args:
        search: one of several.
        version: that was chosen.
    """
    return version in search.versions and version not in search.states and bool(search.questions())


def bisect(
    versions: Sequence[V],
    probe: Callable[[V], State],
    *,
    known: Mapping[V, State] | None = None,
    expected: Mapping[V, bool] | None = None,
    thorough: bool = False,
) -> Search[V]:
    """Find every transition of one check.

    Args:
        versions: in order, oldest first.
        probe: what a version says; asked at most once for each, and not for those `known`.
        known: what is known already. Where it shows several transitions each is narrowed.
        expected: where the bug is documented, a hint.
        thorough: probe every version.
    """
    search = Search(versions, expected or {}, thorough, dict(known or {}))
    while chosen := choose([search]):
        for version in chosen:
            search.states[version] = probe(version)
    return search


def cost_alone(search: Search[V], known: Mapping[V, State]) -> int:
    """Return how many versions a search would have asked for by itself.

    A version that was not probed lies between neighbours that agree, and counts as agreeing with them.

    Args:
        search: that is over.
        known: what it started from.
    """
    assumed: dict[V, State] = {}
    state = State.UNKNOWN
    for version in [*reversed(search.versions), *search.versions]:
        state = search.states.get(version, state)
        assumed[version] = state
    alone = bisect(
        search.versions, assumed.__getitem__, known=known, expected=search.expected, thorough=search.thorough
    )
    return len(alone.states) - len(known)
