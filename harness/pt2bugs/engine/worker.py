"""Runs cells one after the other, each in a child of a supervisor that the engine gives.

The workers of one engine are independent of each other, and each may be used by one thread.
"""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Mapping
from typing import Protocol

from pt2bugs.engine.messages import CellRequest, Needs, Provide, Run
from pt2bugs.engine.protocol import START_S, ChildExit, Limits, StopReason, receive, send


class Supervisors(Protocol):
    """What a worker needs of its engine, which opens workers and so stands above them."""

    @property
    def grace(self) -> Mapping[str, float]:
        """As in `EngineSettings`."""

    @property
    def has_folder(self) -> bool:
        """Whether the folder of the run is still there."""

    def connect(self) -> tuple[socket.socket, bool]:
        """A socket to a new supervisor, and whether that has a namespace of its own."""

    def close(self) -> None:
        """End the engine; it is started again when it is asked for a supervisor."""


class Worker:
    """Runs cells one after the other, each in a child of its own supervisor."""

    def __init__(self, engine: Supervisors) -> None:
        self._engine = engine
        self._socket: socket.socket | None = None
        self._has_namespace = False
        self._provided: set[str] = set()

    def run(self, request: CellRequest, limits: Limits) -> ChildExit:
        """Run one child; once more if that may have been ended from outside.

        No compiler sends SIGKILL, but an administrator or a system out of memory does. A check that kills itself
        does so again in the second run. A cell is also run once more if an earlier check removed the run's folder.

        Args:
            request: its `kind` is one of `child.BODIES`.

        Raises:
            EngineError: the engine cannot be started.
        """
        ended = self._run(request, limits)
        killed = ended.signal == signal.SIGKILL and ended.stopped is None
        if ended.stopped is StopReason.SETUP and not self._engine.has_folder:
            self._engine.close()
            self.close()
            return self._run(request, limits)
        if killed or ended.stopped in (StopReason.LOST, StopReason.OUTSIDE):
            return self._run(request, limits)
        return ended

    def _run(self, request: CellRequest, limits: Limits) -> ChildExit:
        if self._socket is None:
            self._socket, self._has_namespace = self._engine.connect()
            self._provided.clear()
        began = time.monotonic()
        grace = self._engine.grace
        try:
            try:
                send(self._socket, Run(request=request, limits=limits.as_dict()))
                # The supervisor keeps the deadline. This longer one ends the wait for a supervisor that hangs.
                patience = grace["start_s"] + limits.timeout_s + grace["grace_s"] + grace["exit_s"] + 60
                reply = receive(self._socket, patience)
            except OSError:
                reply = None
        except BaseException:
            self.close()
            raise
        if reply is None:
            stopped = StopReason.OUTSIDE if self._has_namespace else StopReason.LOST
            self.close()
            return ChildExit(stopped=stopped, duration_s=time.monotonic() - began, detail="its supervisor went away")
        ended = ChildExit.from_dict(reply)
        if ended.renew:
            self.close()
        return ended

    def provide(self, target: str, needs: Needs) -> None:
        """Have later cells of this worker find these modules imported; once for each target."""
        if self._socket is None or target in self._provided:
            return
        self._provided.add(target)
        try:
            send(self._socket, Provide(provide=needs))
            answered = receive(self._socket, START_S) is not None
        except OSError:
            answered = False
        if not answered:
            self.close()

    def close(self) -> None:
        """End the supervisor, by closing its connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
