"""Messages between the processes of the engine, the limits of a cell, and the end of its process.

Everything is JSON on one line; `messages` has the shapes. Between the client and the others it goes over a socket; a
cell reports over a pipe of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from pt2bugs.engine.messages import CellLimits

GRACE_S = 5.0
"""Seconds from the soft timeout, which can still dump the stack, to the end of the child."""
START_S = 180.0
"""Seconds for what comes before the check: imports of the case file, or of torch in a fresh interpreter."""
HELLO_S = 20.0
"""Seconds for the zygote to fork a supervisor, and for its hello. Neither imports anything: both take milliseconds."""
EXIT_S = 10.0
"""Seconds for a child that has reported to be gone."""
MAX_PROCESSES = 512
MAX_FILE_MIB = 1024
MAX_OUTPUT_MIB = 64
"""MiB of a cell's printed text; beyond that only its end is kept."""
_FRAME_LIMIT = 4 * 1024 * 1024
_CHUNK, _MAX_CHUNKS = 1 << 16, 64


class StopReason(str, Enum):
    """Reasons for which a child was stopped, or could not run."""

    DEADLINE = "deadline"  # the check took longer than its timeout and the grace
    START = "start"  # the check did not start
    MEMORY = "memory"
    PROCESSES = "processes"
    EXIT = "exit"  # it had reported, and its process stayed
    SETUP = "setup"  # it could not be started
    LOST = "lost"  # its supervisor went away
    OUTSIDE = "outside"  # its supervisor went away although no child could reach it

    __str__ = str.__str__


@dataclass(frozen=True)
class Limits:
    """Limits of a cell: seconds for the check, MiB above what the imported torch uses; None: no limit."""

    timeout_s: float
    memory_mib: int | None

    def as_dict(self) -> CellLimits:
        """Return them as they travel."""
        return {"timeout_s": self.timeout_s, "memory_mib": self.memory_mib}


@dataclass
class ChildExit:
    """End of a child.

    `frames` are the objects it reported, by kind. `stopped` says what cut it off; None if it left by itself.
    `cpu_s` are processor seconds, with those of its processes that ended before it.
    `renew`: the supervisor is not as it was and must be replaced.
    """

    frames: dict[str, Any] = field(default_factory=dict)
    stopped: StopReason | None = None
    signal: int | None = None
    exit_status: int | None = None
    duration_s: float = 0.0
    peak_rss_mb: float = 0.0
    output_tail: str = ""
    detail: str = ""
    renew: bool = False
    cpu_s: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "stopped": str(self.stopped) if self.stopped else None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ChildExit:
        """Return the end that a supervisor reports.

        Args:
            data: as `as_dict` made it.
        """
        return cls(**{**data, "stopped": StopReason(data["stopped"]) if data["stopped"] else None})


class ReportPipe:
    """The child's side of the private pipe on which it reports.

    A frame is one line: a nonce, the kind, a JSON object. The nonce keeps bytes that a check writes to
    descriptors it does not own from being read as a report. What it needs is bound before the check can change it.
    """

    def __init__(self, fd: int, nonce: str) -> None:
        self.fd, self.nonce = fd, nonce
        self._owner = 0
        self._getpid, self._write, self._encode = os.getpid, os.write, json.JSONEncoder().encode
        self._started = f"{nonce} started {{}}\n".encode()
        self._set_blocking, self._would_block = os.set_blocking, BlockingIOError

    def own(self) -> None:
        """Let this process alone report: one that the check forks runs on to the end of the cell as well."""
        self._owner = self._getpid()

    def send(self, kind: str, value: Any) -> None:
        """Report a frame; a process that does not own the pipe reports nothing.

        Args:
            kind: of the frame.
            value: what JSON can say.
        """
        if self._getpid() != self._owner:
            return
        data = f"{self.nonce} {kind} {self._encode(value)}\n".encode()
        while data:
            try:
                data = data[self._write(self.fd, data) :]
            except self._would_block:
                # The check has changed descriptors that are not its own.
                self._set_blocking(self.fd, True)

    def start(self) -> None:
        """Report that the check starts."""
        if self._getpid() == self._owner:
            self._write(self.fd, self._started)


class ReportReader:
    """The supervisor's side: collects what was written and finds the frames in it."""

    def __init__(self, fd: int, nonce: str) -> None:
        self.fd, self._nonce = fd, nonce.encode()
        self._data = bytearray()
        self._is_full = False
        self._frames: dict[str, Any] | None = None
        os.set_blocking(fd, False)

    def read(self) -> bool:
        """Take what is there; False at the end of the pipe.

        At most as much as a pipe can hold: a process that writes without end must not keep the supervisor here, which
        has deadlines to watch.
        """
        for _ in range(_MAX_CHUNKS):
            try:
                chunk = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            if not self._is_full:
                self._frames = None
                self._data += chunk
                if len(self._data) > _FRAME_LIMIT:
                    self._drop_junk()
        return True

    def _drop_junk(self) -> None:
        """Keep the frames alone, so that a check that floods the pipe does not keep its own report out."""
        *lines, last = self._data.split(b"\n")
        frames = [line[line.index(self._nonce) :] for line in lines if self._nonce in line]
        begun = last.find(self._nonce)
        # The end of what is no frame yet may be the beginning of a nonce.
        frames.append(last[begun if begun >= 0 else -len(self._nonce) :])
        self._data = bytearray(b"\n".join(frames))
        self._is_full = len(self._data) > _FRAME_LIMIT // 2

    def has(self, kind: str) -> bool:
        """Return whether a frame of that kind has begun.

        Args:
            kind: of the frame.
        """
        return self._nonce + b" " + kind.encode() + b" " in self._data

    def frames(self) -> dict[str, Any]:
        """Return what has been reported, by kind; decoded once for what was read."""
        if self._frames is not None:
            return self._frames
        frames = self._frames = {}
        for line in self._data.split(b"\n")[:-1]:
            # What a check wrote into the pipe without a newline may stand before a frame.
            _, is_ours, frame = line.partition(self._nonce + b" ")
            kind, _, text = frame.partition(b" ")
            if is_ours:
                # A check that knows the nonce may write anything, nested as deep as it likes.
                with contextlib.suppress(ValueError, RecursionError):
                    frames[kind.decode("ascii", "replace")] = json.loads(text)
        return frames


def send(to: socket.socket, message: Mapping[str, object]) -> None:
    """Send a message.

    Args:
        to: a connected socket.
        message: what JSON can say.

    Raises:
        OSError: the other side is gone.
    """
    to.sendall(json.dumps(message).encode() + b"\n")


def receive(source: socket.socket, timeout_s: float | None, is_alive: Callable[[], bool] = lambda: True) -> Any:
    """Return one message, of which the caller knows the shape.

    It is None when the other side is gone, is not `is_alive` any more, or does not answer in time.

    Each message is answered before the next is sent, so nothing follows its newline.

    Args:
        source: a connected socket.
        timeout_s: seconds to wait; None waits for ever.
        is_alive: asked every second.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    data = bytearray()
    while not data.endswith(b"\n"):
        left = 1.0 if deadline is None else deadline - time.monotonic()
        source.settimeout(max(0.01, min(1.0, left)))
        try:
            chunk = source.recv(1 << 20)
        except TimeoutError:
            if not is_alive() or (deadline is not None and time.monotonic() >= deadline):
                return None
            continue
        except OSError:
            return None
        if not chunk:
            return None
        data += chunk
    return json.loads(data)
