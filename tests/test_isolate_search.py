"""The three-valued search among units."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from pt2bugs.isolate.search import Answer, find_green, minimize

Trial = Callable[[tuple[int, ...]], Answer]


def needs(*wanted: int) -> Trial:
    return lambda some: Answer.GREEN if set(wanted) <= set(some) else Answer.RED


@given(st.sets(st.integers(0, 40), min_size=1, max_size=5))
def test_what_is_left_is_needed_and_suffices(wanted: set[int]) -> None:
    assert set(minimize(range(41), needs(*wanted))) == wanted


def test_another_failure_does_not_count_as_green() -> None:
    def trial(some: tuple[int, ...]) -> Answer:
        if 3 in some and 4 not in some:
            return Answer.OTHER
        return needs(3)(some)

    assert minimize(range(8), trial) == (3, 4)


def test_a_set_that_fails_otherwise_is_halved_and_a_red_one_is_left() -> None:
    asked = []

    def trial(some: tuple[int, ...]) -> Answer:
        asked.append(some)
        if 7 in some:
            return Answer.OTHER
        return needs(2)(some)

    assert find_green(range(8), trial) == (0, 1, 2, 3)
    assert asked == [tuple(range(8)), (0, 1, 2, 3)]
    assert find_green([4, 5, 6], trial) == ()
    assert asked[-1] == (4, 5, 6)


def test_nothing_to_search() -> None:
    assert find_green([], needs(1)) == ()
    assert minimize([], needs(1)) == ()


def test_those_at_fault_are_put_aside() -> None:
    asked = []

    def trial(some: tuple[int, ...]) -> Answer:
        asked.append(some)
        return Answer.OTHER if 5 in some and len(some) > 1 else needs(2)(some)

    assert find_green(range(8), trial, lambda _: {5}) == (0, 1, 2, 3, 4, 6, 7)
    assert find_green([4, 5, 6], trial, lambda _: {5}) == ()
    assert asked[-2:] == [(4, 6), (5,)]
