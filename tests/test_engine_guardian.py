"""What the guardian takes the end of its zygote, and of its client, for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from pt2bugs.engine import guardian


def _ended(status: int) -> int:
    """The number of a child that has left with a status."""
    if (pid := os.fork()) == 0:
        os._exit(status)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


def _close_the_engine(lifeline: int) -> None:
    os.write(lifeline, guardian.CLOSED)
    os.close(lifeline)


@pytest.mark.parametrize(
    ("status", "later", "has_died"),
    [
        (0, os.close, True),
        (0, _close_the_engine, False),
        (0, lambda _: None, False),
        (70, lambda _: None, False),
    ],
    ids=["the client dies", "it closes the engine", "it lives", "the zygote fails"],
)
def test_a_zygote_that_ends_before_its_client_does(
    status: int, later: Callable[[int], object], *, has_died: bool
) -> None:
    """A dying process closes its files one by one: the zygote may have ended before the lifeline is closed."""
    ours, theirs = os.pipe()
    timer = threading.Timer(0.1, later, [theirs])
    timer.start()
    assert guardian._wait(_ended(status), ours, os.getppid()) is has_died
    timer.join()
    os.close(ours)
