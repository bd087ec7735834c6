"""The search: every claim it makes is true of all versions, and it asks little."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pt2bugs.bisect.search import Search, bisect, budget, choose, cost_alone, takes_part
from pt2bugs.case.cells import cells_of
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.expectation import cannot_say_here, expects_bug
from pt2bugs.results.history import State

BUG, NO_BUG, UNKNOWN = State.BUG, State.NO_BUG, State.UNKNOWN
LETTERS = {"B": BUG, ".": NO_BUG, "?": UNKNOWN}

any_truth = st.lists(st.sampled_from(list(State)), min_size=1, max_size=40)
decided_truth = st.lists(st.sampled_from([BUG, NO_BUG]), min_size=1, max_size=40)


def truth_of(text: str) -> list[State]:
    return [LETTERS[letter] for letter in text]


class Counting:
    """A probe over a known truth that keeps what it was asked."""

    def __init__(self, truth: Sequence[State]) -> None:
        self.truth, self.asked = truth, list[int]()

    def __call__(self, version: int) -> State:
        self.asked.append(version)
        return self.truth[version]


def transitions_in(truth: Sequence[State]) -> list[tuple[int, int, bool]]:
    """Brute force: the changes between neighbours among those that say something."""
    decided = [(index, state) for index, state in enumerate(truth) if state is not UNKNOWN]
    return [(a, b, after is BUG) for (a, before), (b, after) in pairwise(decided) if before is not after]


def found_by(search: Search[int]) -> list[tuple[int, int, bool]]:
    return [(change.before, change.after, change.introduced) for change in search.transitions()]


@given(any_truth)
def test_no_version_is_probed_twice_and_the_end_is_reached(truth: list[State]) -> None:
    probe = Counting(truth)
    search = bisect(range(len(truth)), probe)
    assert len(probe.asked) == len(set(probe.asked))
    assert search.questions() == []
    assert search.states == {version: truth[version] for version in probe.asked}


@given(any_truth)
def test_every_window_is_true_and_as_narrow_as_can_be(truth: list[State]) -> None:
    search = bisect(range(len(truth)), Counting(truth))
    # Between the two sides every version was probed and cannot say, so a window is a change of the truth.
    assert set(found_by(search)) <= set(transitions_in(truth))
    for transition in search.transitions():
        assert transition.unprobed == ()
        assert transition.between == tuple(range(transition.before + 1, transition.after))


@given(any_truth)
def test_thorough_finds_exactly_the_transitions_of_the_whole_matrix(truth: list[State]) -> None:
    probe = Counting(truth)
    assert found_by(bisect(range(len(truth)), probe, thorough=True)) == transitions_in(truth)
    assert len(probe.asked) == len(truth)


@given(st.integers(2, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.booleans())
def test_one_transition_costs_no_more_than_both_ends_and_halving(shape: tuple[int, int], fixed: bool) -> None:
    count, at = shape
    first, second = (BUG, NO_BUG) if fixed else (NO_BUG, BUG)
    truth = [first] * at + [second] * (count - at)
    probe = Counting(truth)
    assert found_by(bisect(range(count), probe)) == transitions_in(truth)
    assert len(probe.asked) <= budget(count)


def test_the_budget_is_the_promised_one() -> None:
    import math

    assert [budget(count) for count in range(2, 500)] == [math.ceil(math.log2(n)) + 2 for n in range(2, 500)]


@given(decided_truth, st.data())
def test_a_documented_range_is_found_whatever_surrounds_it(truth: list[State], data: st.DataObject) -> None:
    """With the truth documented, every transition is found, however many there are."""
    documented = {version: state is BUG for version, state in enumerate(truth)}
    assert found_by(bisect(range(len(truth)), Counting(truth), expected=documented)) == transitions_in(truth)


@given(st.integers(2, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_a_wrong_hint_costs_no_correctness_and_keeps_the_budget(shape: tuple[int, int, int]) -> None:
    count, at, documented = shape
    truth = [BUG] * at + [NO_BUG] * (count - at)
    probe = Counting(truth)
    hint = {version: version < documented for version in range(count)}
    assert found_by(bisect(range(count), probe, expected=hint)) == transitions_in(truth)
    assert len(probe.asked) <= budget(count)


@given(any_truth, st.data())
def test_what_is_known_is_not_asked_and_every_change_it_shows_is_narrowed(
    truth: list[State], data: st.DataObject
) -> None:
    versions = range(len(truth))
    known = {version: truth[version] for version in data.draw(st.sets(st.sampled_from(versions)))}
    probe = Counting(truth)
    search = bisect(versions, probe, known=known)
    assert not set(probe.asked) & set(known)
    shown = transitions_in([known.get(version, UNKNOWN) for version in versions])
    for before, after, introduced in shown:
        inside = [change for change in found_by(search) if before <= change[0] and change[1] <= after]
        assert len(inside) % 2 == 1
        assert inside[0][2] is introduced


@given(
    st.integers(4, 200).flatmap(
        lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n - 2), st.integers(0, n // 2))
    )
)
def test_a_stretch_that_cannot_say_is_stepped_over(shape: tuple[int, int, int, int]) -> None:
    count, at, hole, length = shape
    truth = [BUG] * at + [NO_BUG] * (count - at)
    hole_end = min(hole + length, count - 1)
    truth[hole:hole_end] = [UNKNOWN] * (hole_end - hole)
    probe = Counting(truth)
    search = bisect(range(count), probe)
    assert found_by(search) == transitions_in(truth)
    # A hole inside the final window must be probed whole; any other costs a few steps to get out of.
    inside = sum(len(change.between) for change in search.transitions())
    assert len(probe.asked) <= 3 * budget(count) + inside


@pytest.mark.parametrize(
    ("text", "windows", "probes"),
    [
        ("................", [], 2),
        ("BBBBBBBBBBBBBBBB", [], 2),
        ("BBBBBB..........", [(5, 6, False)], 6),
        ("..BB", [(1, 2, True)], 4),
        ("BB????..", [(1, 6, False)], 8),
        ("????BBBBBB......", [(9, 10, False)], 9),
        ("BBBBBB?..........", [(5, 7, False)], 7),
        ("B", [], 1),
        ("B.", [(0, 1, False)], 2),
    ],
)
def test_by_example(text: str, windows: list[tuple[int, int, bool]], probes: int) -> None:
    probe = Counting(truth_of(text))
    assert found_by(bisect(range(len(text)), probe)) == windows
    assert len(probe.asked) <= probes


def test_where_nothing_can_say_it_gives_up_early_but_thorough_does_not() -> None:
    truth = [UNKNOWN] * 16
    probe = Counting(truth)
    search = bisect(range(16), probe)
    assert search.decided() == []
    assert len(probe.asked) == budget(16)
    assert len(bisect(range(16), Counting(truth), thorough=True).states) == 16


def test_a_bug_of_the_middle_is_missed_without_a_hint_and_found_with_one() -> None:
    truth = truth_of("....BBBB........")
    assert found_by(bisect(range(16), Counting(truth))) == []
    hint = {version: 5 <= version < 9 for version in range(16)}
    assert found_by(bisect(range(16), Counting(truth), expected=hint)) == [(3, 4, True), (7, 8, False)]


@given(st.lists(st.lists(st.sampled_from(list(State)), min_size=12, max_size=12), min_size=1, max_size=8))
def test_many_checks_together_find_what_each_finds_alone_in_no_more_versions(truths: list[list[State]]) -> None:
    searches = [Search(range(12)) for _ in truths]
    visited: list[int] = []
    while chosen := choose(searches, at_once=2):
        for version in chosen:
            visited.append(version)
            for search, truth in zip(searches, truths, strict=True):
                if takes_part(search, version):
                    search.states[version] = truth[version]
    assert len(visited) == len(set(visited)), "an environment is asked for twice"
    assert len(visited) <= sum(len(search.states) for search in searches)
    for search, truth in zip(searches, truths, strict=True):
        assert set(found_by(search)) <= set(transitions_in(truth))
        assert all(not change.unprobed for change in search.transitions())


@given(any_truth, st.data())
def test_the_cost_of_a_check_alone_is_what_it_costs_alone(truth: list[State], data: st.DataObject) -> None:
    versions = range(len(truth))
    known = {version: truth[version] for version in data.draw(st.sets(st.sampled_from(versions)))}
    probe = Counting(truth)
    search = bisect(versions, probe, known=known)
    assert cost_alone(search, known) == len(probe.asked)


def test_the_version_that_answers_most_questions_is_next() -> None:
    low = Search(range(9), states={0: BUG, 8: NO_BUG})
    other = Search(range(9), states={0: BUG, 4: BUG, 8: NO_BUG})
    # Alone they would take 4 and 6; three against one decide.
    assert choose([low]) == [4]
    assert choose([other]) == [6]
    assert choose([low, other, other, other]) == [6]


def test_a_second_choice_is_needed_whatever_the_first_says() -> None:
    assert choose([Search(range(16))], at_once=2) == [0, 15]
    assert len(choose([Search(range(16), states={0: BUG, 15: NO_BUG})], at_once=2)) == 1


MINORS = [f"2.{minor}.0" for minor in range(16)]


def test_every_documented_case_is_found_within_its_budget() -> None:
    """Releases that behave as the headers of the corpus say, asked from nothing, one check at a time."""
    corpus = load_cases([Path(__file__).resolve().parent.parent / "cases"])
    cells = [cell for case in corpus for cell in cells_of(case)]
    assert cells
    changing = 0
    for cell in cells:
        usable = [release for release in MINORS if not cannot_say_here(cell, release, "3.11")]
        documented = {release: expects_bug(cell, release, "3.11") for release in usable}
        truth = {release: BUG if is_there else NO_BUG for release, is_there in documented.items()}
        search = bisect(usable, truth.__getitem__, expected=documented)
        changes = [
            (usable.index(change.before), usable.index(change.after), change.introduced)
            for change in search.transitions()
        ]
        assert changes == transitions_in([truth[release] for release in usable]), cell.case.id
        assert len(changes) != 1 or len(search.states) <= budget(len(MINORS)), cell.case.id
        changing += bool(changes)
    assert changing, "some documented bug has an end"
