"""The search among units: pure, three-valued, and sparing with trials.

A trial of a set says `GREEN` (the bug is gone, and nothing else is worse), `RED` (the same failure as ever), or
`OTHER` (another failure, which says nothing about what is in the set).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from enum import Enum
from math import inf
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


class Answer(str, Enum):
    """Answer of a trial."""

    GREEN = "green"
    RED = "red"
    OTHER = "other"

    __str__ = str.__str__


Trial = Callable[[tuple[T, ...]], Answer]


def find_green(
    elements: Sequence[T],
    trial: Trial[T],
    blame: Callable[[tuple[T, ...]], Collection[T]] = lambda _: (),
    limit: float = inf,
) -> tuple[T, ...]:
    """Return a set of elements that is green; empty if none was found.

    A set that is red is left: what it holds does not fix the bug. Of one that fails otherwise those at fault are put
    aside, to be tried last; where nobody is to blame it is halved.

    Args:
        elements: the likeliest first.
        trial: asked once for each set.
        blame: asked after a set failed otherwise; returns those of its elements that are at fault.
        limit: trials after which it gives up.
    """
    todo = [tuple(elements)] if elements else []
    trials = 0
    while todo and trials < limit:
        tried = todo.pop(0)
        answer = trial(tried)
        trials += 1
        if answer is Answer.GREEN:
            return tried
        if answer is Answer.OTHER and len(tried) > 1:
            blamed = set(blame(tried))
            rest = tuple(element for element in tried if element not in blamed)
            if blamed and rest:
                todo = [rest, *todo, tuple(element for element in tried if element in blamed)]
            else:
                middle = (len(tried) + 1) // 2
                todo += [tried[:middle], tried[middle:]]
    return ()


def minimize(elements: Sequence[T], trial: Trial[T]) -> tuple[T, ...]:
    """Return a part of a green set that is green, of which no element can be left out (ddmin, Zeller 2002).

    Args:
        elements: a green set.
        trial: asked at most once for each set; `OTHER` counts as not green.
    """
    known: dict[frozenset[int], bool] = {}
    left = list(range(len(elements)))

    def is_green(chosen: Sequence[int]) -> bool:
        key = frozenset(chosen)
        if key not in known:
            known[key] = trial(tuple(elements[index] for index in sorted(key))) is Answer.GREEN
        return known[key]

    parts = 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        chunks = [left[start : start + size] for start in range(0, len(left), size)]
        smaller = next((chunk for chunk in chunks if is_green(chunk)), None)
        if smaller is not None:
            left, parts = smaller, 2
            continue
        rests = [[index for index in left if index not in chunk] for chunk in chunks] if len(chunks) > 2 else []
        smaller = next((rest for rest in rests if is_green(rest)), None)
        if smaller is not None:
            left, parts = smaller, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(len(left), 2 * parts)
    return tuple(elements[index] for index in left)
