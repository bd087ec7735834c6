"""Runs one cell after the other: forks each from itself, watches it to its end, and ends all that it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from pt2bugs.case.observation import OUTPUT_LIMIT
from pt2bugs.engine import linux
from pt2bugs.engine.check import compile_file
from pt2bugs.engine.child import become_cell, body_of, execute_fresh, exit_child
from pt2bugs.engine.folders import CellFolder
from pt2bugs.engine.linux import Descendants, ProcessState
from pt2bugs.engine.messages import Hello, ToSupervisor
from pt2bugs.engine.protocol import (
    EXIT_S,
    GRACE_S,
    HELLO_S,
    MAX_OUTPUT_MIB,
    MAX_PROCESSES,
    START_S,
    ChildExit,
    Limits,
    ReportPipe,
    ReportReader,
    StopReason,
    send,
)
from pt2bugs.engine.sandbox import NETWORK, Sandbox, View, beside, unconfined_without_namespaces
from pt2bugs.engine.warmup import provide

_POLL_S = 0.1
_TAIL_BYTES = 16 * OUTPUT_LIMIT


class Supervisor:
    """Serves one client: a request in, how the cell ended out.

    Args:
        control: the socket of that client.
        folder: of the run.
        bootstrap: the command that starts a fresh interpreter.
        sandbox: of its cells; None: they see what this process sees.
        restricted: whether they take on the restrictions that need no namespace.
    """

    def __init__(
        self,
        control: socket.socket,
        folder: Path,
        name: str,
        descendants: Descendants,
        bootstrap: list[str],
        grace: Mapping[str, float],
        sandbox: Sandbox | None = None,
        *,
        restricted: bool = True,
    ) -> None:
        self._control, self._descendants, self._bootstrap = control, descendants, bootstrap
        self._sandbox, self._restricted = sandbox, restricted
        self._state = ProcessState.now()
        self._grace_s, self._start_s, self._exit_s = grace["grace_s"], grace["start_s"], grace["exit_s"]
        self._folder = CellFolder(sandbox.cells if sandbox else folder, name)
        self._data_bytes = linux.data_bytes()
        self._prepared: tuple[int, ReportPipe, int] | None = None

    def serve(self) -> None:
        """Answer requests until the client is gone."""
        self._folder.renew()
        unconfined = self._sandbox.unconfined if self._sandbox else unconfined_without_namespaces()
        send(self._control, Hello(namespace=self._descendants.namespace, unconfined=unconfined))
        with self._control.makefile("rb") as lines:
            for message in _messages(lines):
                if "provide" in message:
                    provide(message["provide"])
                    self._data_bytes = linux.data_bytes()
                    send(self._control, {})
                    continue
                ended = self._run(dict(message["request"]), Limits(**message["limits"]))
                ended.renew = not self._state.restore()
                send(self._control, ended.as_dict())
                # The client writes its record meanwhile, before it asks for the next cell.
                self._folder.renew()
                with contextlib.suppress(OSError):
                    if self._sandbox is not None:
                        self._sandbox.renew()
                    self._prepare()

    def _prepare(self) -> tuple[int, ReportPipe, int]:
        """Make the folder of the next cell. Return its pipe, where it is read and the cell's side, and its output.

        The output is read by this descriptor: a cell may put a link to a folder of the user in place of its own.

        Raises:
            OSError: one of them cannot be made.
        """
        self._folder.make()
        if self._prepared is None:
            output = os.open(self._folder.output, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            reader, writer = os.pipe()
            self._prepared = (reader, ReportPipe(writer, secrets.token_hex(8)), output)
        return self._prepared

    def _run(self, request: dict[str, Any], limits: Limits) -> ChildExit:
        began = time.monotonic()
        try:
            reader, pipe, output = self._prepare()
            view = self._view(request)
        except OSError as error:
            return ChildExit(stopped=StopReason.SETUP, detail=str(error))
        self._prepared = None
        writer = pipe.fd
        request = {**request, "code": _code_of(request.get("path", ""))}
        body = body_of(request["kind"])
        needed = [request["path"]] if "path" in request else []
        # Text still in the buffers would be written again by every child.
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            pid = os.fork()
        except OSError as error:
            for descriptor in (reader, writer, output):
                os.close(descriptor)
            return ChildExit(stopped=StopReason.SETUP, detail=str(error))
        if pid == 0:
            status, exit_now = 71, os._exit
            try:
                os.close(reader)
                # The file made of it keeps the socket itself from being closed.
                os.close(self._control.fileno())
                pipe.own()
                try:
                    view.enter()
                    become_cell(
                        self._folder.path, output, limits, self._data_bytes, needed,
                        namespace=self._descendants.namespace, restricted=self._restricted,
                    )  # fmt: skip
                except OSError as error:
                    pipe.send("setup", str(error))
                    raise
                if request.get("isolation") == "spawn":
                    execute_fresh({key: request[key] for key in request if key != "code"}, pipe, self._bootstrap)
                body(request, pipe)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                exit_child(status, exit_now)
        os.close(writer)
        try:
            ended = self._watch(pid, ReportReader(reader, pipe.nonce), limits, began, output)
            if not self._descendants.kill_all():
                ended.detail = "a process of this cell could not be ended"
            ended.output_tail += tail_of(output)
        finally:
            os.close(reader)
            os.close(output)
        if self._sandbox is not None:
            try:
                self._sandbox.take_back()
            except OSError as error:
                ended.stopped, ended.detail = StopReason.SETUP, str(error)
        if "setup" in ended.frames:
            ended.stopped, ended.detail = StopReason.SETUP, str(ended.frames["setup"])
        return ended

    def _view(self, request: Mapping[str, Any]) -> View:
        """Return what the cell of a request is to enter.

        Raises:
            OSError: it cannot be made.
        """
        if request.get("strict") and (self._sandbox is None or NETWORK in self._sandbox.unconfined):
            raise OSError("the system does not let its network be taken away")
        if self._sandbox is None:
            return View()
        path = request.get("path")
        own = [beside(path)] if path else []
        return self._sandbox.view(
            [*own, *request.get("read", ())],
            request.get("write", ()),
            request.get("copy", ()),
            network=request.get("network", False),
        )

    def _watch(self, pid: int, report: ReportReader, limits: Limits, began: float, output: int) -> ChildExit:
        """Watch one child to its end; kill it when it is over a limit."""
        watched: list[Any] = [report.fd]
        pidfd = linux.open_pidfd(pid)
        if pidfd is not None:
            watched.append(pidfd)
        ended = ChildExit()
        deadline, reason = began + self._start_s, StopReason.START
        started = reported = False
        next_poll = began + _POLL_S
        try:
            while True:
                pause = min(deadline, next_poll) - time.monotonic()
                ready, _, _ = select.select(watched, [], [], max(0.0, pause if pidfd else min(pause, 0.005)))
                if report.fd in ready:
                    if not report.read():
                        watched.remove(report.fd)
                    if not started and report.has("started"):
                        started = True
                        deadline, reason = time.monotonic() + limits.timeout_s + self._grace_s, StopReason.DEADLINE
                    if not reported and report.has("report"):
                        reported = True
                        deadline, reason = time.monotonic() + self._exit_s, StopReason.EXIT
                        # Decoded now, while the system takes the process's memory apart, it costs no time.
                        report.frames()
                if pidfd is None or pidfd in ready:
                    done, status, usage = os.wait4(pid, os.WNOHANG)
                    if done:
                        break
                now = time.monotonic()
                if now >= next_poll and ended.stopped is None:
                    next_poll = now + _POLL_S
                    ended.output_tail = _shorten(output) or ended.output_tail
                    ended.stopped = self._over_limit(limits)
                if now >= deadline and ended.stopped is None:
                    ended.stopped = reason
                if ended.stopped is not None:
                    os.kill(pid, signal.SIGKILL)
                    next_poll = deadline = now + 3600
        finally:
            if pidfd is not None:
                os.close(pidfd)
        ended.duration_s = time.monotonic() - began
        report.read()
        ended.frames = report.frames()
        ended.cpu_s = usage.ru_utime + usage.ru_stime
        ended.peak_rss_mb = usage.ru_maxrss / 1024
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            ended.signal = -code
        else:
            ended.exit_status = code
        return ended

    def _over_limit(self, limits: Limits) -> StopReason | None:
        members = self._descendants.pids()
        if len(members) > MAX_PROCESSES:
            return StopReason.PROCESSES
        if limits.memory_mib is None:
            return None
        # Pages shared with the supervisor count for each process, and are taken off for each.
        allowed = limits.memory_mib + linux.resident_mib(["self"]) * len(members)
        return StopReason.MEMORY if linux.resident_mib(members) > allowed else None


GRACE = {"grace_s": GRACE_S, "start_s": START_S, "exit_s": EXIT_S, "hello_s": HELLO_S}
"""Seconds a child gets beyond its own, and a supervisor for its hello.

They are part of what the client sends, so that tests can have shorter ones.
"""


_code: tuple[tuple[Any, ...], CodeType] | None = None


def _code_of(path: str) -> CodeType | None:
    """Return the code of a case file, compiled here for its cells; None leaves it to the cell to say what is wrong.

    The next cell is mostly of the same file.
    """
    global _code
    try:
        status = os.stat(path)  # noqa: PTH116
        key = (path, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        if _code is None or _code[0] != key:
            _code = (key, compile_file(path))
        return _code[1]
    except Exception:
        return None


def _messages(lines: Any) -> Iterator[ToSupervisor]:
    for line in lines:
        yield json.loads(line)


def _shorten(output: int) -> str:
    """Empty a file that has grown too long, and return its end."""
    with contextlib.suppress(OSError):
        if os.fstat(output).st_size > MAX_OUTPUT_MIB << 20:
            tail = tail_of(output)
            os.ftruncate(output, 0)
            return tail
    return ""


def tail_of(output: int) -> str:
    """Return the end of a file as text.

    Args:
        output: the descriptor of a regular file.

    Raises:
        OSError: it cannot be read.
    """
    # A process may still be writing, and the end of the file never come: read no more than that.
    start = max(0, os.fstat(output).st_size - _TAIL_BYTES)
    return os.pread(output, _TAIL_BYTES, start).decode("utf-8", errors="backslashreplace")
