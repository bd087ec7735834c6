"""The first process of an engine. It runs no code of torch or of a case, and ends everything below when the zygote or
the client goes.

The client keeps the other end of a pipe, the lifeline, open for as long as it lives.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

from pt2bugs.engine import linux, zygote
from pt2bugs.engine.folders import remove_tree
from pt2bugs.engine.linux import Descendants

CLOSED = b"closed"
"""Written to the lifeline by a client that ends the engine; without it the client has died."""
_ZYGOTE_PID = 30_000
"""Number of the zygote in its namespace, where the system lets us choose. No cell has the same number in its own."""
_POLL_S = 0.5
"""Seconds between two looks at whether the client is still the parent: a forked copy of it may hold the lifeline."""


class _Stopped(BaseException):
    """A signal asked the guardian to end."""


def main(arguments: list[str]) -> NoReturn:
    """Become the guardian.

    Args:
        arguments: descriptors of the control socket and the lifeline, the run's folder, the client's process number,
            then the command that starts a fresh interpreter.
    """
    control = socket.socket(fileno=int(arguments[0]))
    lifeline, folder, client = int(arguments[1]), Path(arguments[2]), int(arguments[3])
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    namespace = linux.enter_namespace()
    if not namespace:
        linux.adopt_orphans()
    try:
        pid = os.fork()
        if pid == 0:
            os.close(lifeline)
            _become_zygote(control, folder, arguments[4:], namespace=namespace)
        control.close()
        has_died = _wait(pid, lifeline, client)
    except _Stopped:
        has_died = False
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if namespace:
        # Process 1 is gone only when its whole namespace is.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    else:
        Descendants(namespace=False).kill_all()
    if has_died or os.getppid() != client:
        remove_tree(folder)
    os._exit(0)


def _stop(*_: object) -> None:
    raise _Stopped


def _become_zygote(control: socket.socket, folder: Path, bootstrap: list[str], *, namespace: bool) -> NoReturn:
    status = 70
    try:
        linux.die_with_parent()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if namespace:
            linux.mount_own_proc()
            linux.next_pid(_ZYGOTE_PID)
            _be_process_one(control)
            linux.die_with_parent()
        else:
            linux.adopt_orphans()
        zygote.serve(control, folder, bootstrap, namespace=namespace)
        status = 0
    finally:
        os._exit(status)


def _be_process_one(control: socket.socket) -> None:
    """Stay as process 1 of the namespace, and return in a child of it, which is to be the zygote.

    A library that remembers its process number to see that it was forked must find another one in the supervisors,
    which are process 1 of their own namespaces.
    """
    pid = os.fork()
    if pid == 0:
        return
    control.close()
    while True:
        done, status = os.waitpid(-1, os.WUNTRACED)
        if done == pid:
            _say_how_it_ended(status)
            os._exit(0)


def _say_how_it_ended(status: int) -> None:
    print("it was stopped" if os.WIFSTOPPED(status) else how_it_ended(status), file=sys.stderr, flush=True)


def _wait(pid: int, lifeline: int, client: int) -> bool:
    """Wait until the zygote or the client is gone. True if the client died, False if it closed the engine."""
    pidfd = linux.open_pidfd(pid)
    watched = [lifeline] if pidfd is None else [lifeline, pidfd]
    while True:
        ready, _, _ = select.select(watched, [], [], _POLL_S if pidfd is not None else 0.02)
        done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if done:
            if status != 0:
                _say_how_it_ended(status)
                return False
            # A client that dies closes the control socket, at which the zygote ends, a moment before the lifeline.
            ready, _, _ = select.select([lifeline], [], [], _POLL_S)
            return bool(ready) and os.read(lifeline, len(CLOSED)) != CLOSED
        if lifeline in ready:
            return os.read(lifeline, len(CLOSED)) != CLOSED
        if os.getppid() != client:
            return True


def how_it_ended(status: int) -> str:
    """Return a wait status in words.

    Args:
        status: as `os.waitpid` tells it.
    """
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"it left with status {code}"
    # Real-time signals have no name.
    return f"it died by {signal.Signals(-code).name if -code in set(signal.Signals) else -code}"
