"""The environments that a worker process has open. One stays open for a while, so that the next batch finds it warm."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pt2bugs.engine.client import EngineError
from pt2bugs.envs.environment import Key
from pt2bugs.run.measurement import Measuring

IDLE_S = 30.0
"""Seconds after which an engine that no batch uses is ended."""

Opener = Callable[[contextlib.ExitStack], Measuring]
"""Makes the environment and its measuring; what must be given back in the end is put on the stack."""


@dataclass(eq=False)
class _Open:
    """One environment; `users` are the batches that are in it."""

    key: Key
    lock: threading.Lock = field(default_factory=threading.Lock)
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    measuring: Measuring | None = None
    users: int = 0
    used: float = 0.0


class Engines:
    """All open environments of this process, by what makes two of them the same.

    An idle one is ended when another environment is wanted, as a process with torch imported takes memory.
    """

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._open: dict[str, _Open] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def use(self, name: str, key: Key, opener: Opener) -> Iterator[Measuring]:
        """The measuring of the environment, opened if it is not.

        Raises:
            Exception: whatever the opener raises.
        """
        with self._lock:
            one = self._open.setdefault(name, _Open(key))
            one.users += 1
            idle = [other for other in self._open.values() if not other.users]
            self._open = {name: other for name, other in self._open.items() if other.users}
        for other in idle:
            other.held.close()
        try:
            with one.lock:
                if one.measuring is None:
                    with contextlib.ExitStack() as stack:
                        one.measuring = opener(stack)
                        stack.callback(one.measuring.engine.close)
                        one.held = stack.pop_all()
            yield one.measuring
        finally:
            with self._lock:
                one.users -= 1
                one.used = time.monotonic()
                was_stopped = not one.users and one not in self._open.values()
            if was_stopped:
                one.held.close()
            timer = threading.Timer(self._idle_s + 0.1, self._close_idle)
            timer.daemon = True
            timer.start()

    def keys(self) -> list[Key]:
        """The environments that are open."""
        with self._lock:
            return [one.key for one in self._open.values()]

    def stop(self, name: str) -> None:
        """End what runs in an environment, from another thread."""
        with self._lock:
            one = self._open.pop(name, None)
        if one is not None and one.measuring is not None:
            with contextlib.suppress(EngineError):
                one.measuring.engine.stop()
            one.held.close()

    def _close_idle(self) -> None:
        late = time.monotonic() - self._idle_s
        with self._lock:
            idle = {name: one for name, one in self._open.items() if not one.users and one.used <= late}
            for name in idle:
                del self._open[name]
        for one in idle.values():
            one.held.close()
