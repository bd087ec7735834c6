"""A map over several processes, for what Python does at one core's pace."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_processes(
    function: Callable[[Item], Result], items: Sequence[Item], *, worth: bool, chunksize: int = 1
) -> Iterator[Result]:
    """The results in the order of the items, each as soon as it and those before it are there.

    Args:
        function: of a module, so that another process can call it; what it raises is raised here.
        worth: whether there is enough to do to pay for starting processes; without, all is done here.
        chunksize: items that are handed out at once.
    """
    cores = len(os.sched_getaffinity(0))
    if not worth or cores == 1 or len(items) < 2:
        yield from map(function, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Ctrl-C is for us alone to hear.
    ignore = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(min(cores, 8), get_context("fork"), signal.signal, ignore) as pool:
        yield from pool.map(function, items, chunksize=chunksize)
