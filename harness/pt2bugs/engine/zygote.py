"""Imports torch and the compiler once, and forks a supervisor for each client that asks for one.

Must stay fit to fork: no threads, no parallel operator, no accelerator, no compiled kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

from pt2bugs.engine import linux
from pt2bugs.engine.check import freeze, remember_originals
from pt2bugs.engine.child import BODIES, body_of, prepare_cells
from pt2bugs.engine.counts import COUNTS
from pt2bugs.engine.linux import Descendants, ProcessState
from pt2bugs.engine.messages import Nothing, Open, Opened, Settings, Started, ToZygote
from pt2bugs.engine.observe import in_one_line
from pt2bugs.engine.protocol import MAX_FILE_MIB, send
from pt2bugs.engine.sandbox import (
    READ_VARIABLE,
    WRITE_VARIABLE,
    Sandbox,
    Surroundings,
    environment_folders,
    named_paths,
)
from pt2bugs.engine.supervisor import Supervisor
from pt2bugs.engine.warmup import prepare, provide

_POLL_S = 0.5


def serve(control: socket.socket, folder: Path, bootstrap: list[str], *, namespace: bool) -> None:
    """Prepare what every cell needs, say so, and answer requests until the client is gone.

    Args:
        control: the connection to the client.
        folder: of the run.
        bootstrap: the command that starts a fresh interpreter.
        namespace: whether this process is in a PID namespace of its own.
    """
    requests = _Requests(control)
    settings = requests.first()
    if settings is None:
        return
    try:
        warnings: list[str] = []
        facts = prepare(settings, folder, warnings.append)
        for kind in BODIES:
            body_of(kind)
    except BaseException as error:
        traceback.print_exc()
        send(control, Started(failed=in_one_line(error)))
        return
    around, file_bytes = None, MAX_FILE_MIB << 20
    if settings.get("confined", True):
        around = Surroundings(
            (*environment_folders(os.environ), *named_paths(os.environ, READ_VARIABLE)),
            named_paths(os.environ, WRITE_VARIABLE),
            facts.memory,
        )
    else:
        # A program of the user's own may write a checkpoint, and must not fill the disk with what it prints.
        disk = os.statvfs(folder)
        file_bytes = max(file_bytes, disk.f_bavail * disk.f_frsize // 2)
    COUNTS.watch()
    remember_originals()
    prepare_cells(file_bytes)
    freeze()
    state = ProcessState.now()
    send(control, Started(facts=facts.as_dict(), warnings=warnings))
    supervisors: dict[int, int] = {}
    names: dict[str, int] = {}
    while True:
        message, fds = requests.next(list(supervisors.values()))
        _reap_and_kill_orphans(supervisors, namespace=namespace)
        if message is None:
            return
        if "provide" in message:
            provide(message["provide"])
            freeze()
            send(control, {})
        elif "open" in message:
            client = socket.socket(fileno=fds[0])
            if (hung := names.get(message["instead_of"], 0)) in supervisors:
                # The client has waited for its hello in vain.
                os.kill(hung, signal.SIGKILL)
            try:
                if not state.restore():
                    raise OSError("a check has changed the limits of this process")  # noqa: TRY301
                pid = linux.fork_into_namespace() if namespace else os.fork()
            except OSError as error:
                client.close()
                send(control, Opened(failed=str(error)))
                continue
            if pid == 0:
                for pidfd in supervisors.values():
                    os.close(pidfd)
                control.close()
                _become_supervisor(client, folder, message, bootstrap, around, namespace=namespace)
            client.close()
            supervisors[pid] = watched if (watched := linux.open_pidfd(pid)) is not None else -1
            names = {name: known for name, known in names.items() if known in supervisors} | {message["open"]: pid}
            send(control, {})


def _become_supervisor(
    client: socket.socket,
    folder: Path,
    message: Open,
    bootstrap: list[str],
    around: Surroundings | None,
    *,
    namespace: bool,
) -> NoReturn:
    status = 72
    try:
        linux.die_with_parent()
        # The handlers are for cells, and a cell may send such signals to its parent. Together they overflow the stack
        # of their handlers, for which the system ends the process.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        if namespace:
            descendants = Descendants(namespace=True, own_proc=linux.mount_own_proc())
        else:
            linux.adopt_orphans()
            descendants = Descendants(namespace=False)
        linux.may_be_traced(False)
        linux.limit_privileges()
        sandbox = Sandbox(folder / "disk", around) if around and descendants.own_proc else None
        Supervisor(
            client,
            folder,
            message["open"],
            descendants,
            bootstrap,
            message["grace"],
            sandbox,
            restricted=around is not None,
        ).serve()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _reap_and_kill_orphans(supervisors: dict[int, int], *, namespace: bool) -> None:
    """Reap what has ended. Without a namespace a supervisor that was killed leaves its cell's processes to us."""
    _reap(supervisors)
    deadline = time.monotonic() + _POLL_S
    while not namespace:
        orphans = [int(pid) for pid in linux.children("self") if int(pid) not in supervisors]
        for orphan in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
        # On a busy machine one may take seconds to end. The client must not wait for that; we look again soon.
        if not orphans or time.monotonic() > deadline:
            return
        # Their children are children of this process next.
        time.sleep(0.001)
        _reap(supervisors)


def _reap(supervisors: dict[int, int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return
            if os.WIFSTOPPED(status):
                # A check has stopped its parent. Nobody would ever wake it.
                os.kill(pid, signal.SIGKILL)
                continue
            if (pidfd := supervisors.pop(pid, -1)) >= 0:
                os.close(pidfd)


class _Requests:
    """Reads messages, and the descriptors that came with them, from the client."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        control.setblocking(True)

    def first(self) -> Settings | None:
        """Return the settings, however late a busy client sends them; None when it is gone."""
        message: Any = {}
        while message == {}:
            message, _ = self.next([])
        settings: Settings | None = message
        return settings

    def next(self, pidfds: list[int]) -> tuple[ToZygote | None, list[int]]:
        """Return the next message; None when the client is gone.

        It is empty when a process of `pidfds` has ended, and from time to time, so that a stopped process is noticed.

        Args:
            pidfds: descriptors of the supervisors.
        """
        data, fds = b"", list[int]()
        watched = [fd for fd in pidfds if fd >= 0]
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([self._control.fileno(), *watched], [], [], None if data else _POLL_S)
            if self._control.fileno() not in ready:
                return Nothing(), []
            chunk, received, _, _ = socket.recv_fds(self._control, 1 << 16, 4)
            if not chunk:
                return None, []
            data += chunk
            fds += received
            watched = []
        message: ToZygote = json.loads(data)
        return message, fds
