"""The process of a cell: it sets itself up, runs what the request names, reports, and ends without exit handlers."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from pt2bugs.engine.check import catch_alarms
from pt2bugs.engine.linux import die_with_parent, drop_privileges, may_be_traced
from pt2bugs.engine.protocol import MAX_FILE_MIB, MAX_PROCESSES, Limits, ReportPipe
from pt2bugs.engine.restrictions import restrict

BODIES = {
    "check": "pt2bugs.engine.check:run_check",
    "canary": "pt2bugs.engine.canary:run_canary",
    "call": "pt2bugs.engine.call:run_call",
}
"""Functions that a request may ask a cell to run, by its `kind`."""


def body_of(kind: str) -> Callable[[Any, ReportPipe], None]:
    """Return the function for a kind of request; imported before the fork, so that no cell does.

    Args:
        kind: the `kind` of a request.
    """
    module, _, name = BODIES[kind].partition(":")
    function: Callable[[Any, ReportPipe], None] = getattr(import_module(module), name)
    return function


def prepare_cells(file_bytes: int = MAX_FILE_MIB << 20) -> None:
    """Set in this process what every cell forked from it is to have: what is inherited costs a cell nothing.

    Args:
        file_bytes: that a file of theirs may have.
    """
    # Whatever imports have changed; a child has to set back only what the zygote itself needs otherwise.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    catch_alarms()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, file_bytes)


def become_cell(
    folder: str,
    output: int,
    limits: Limits,
    data_bytes: int,
    needed: Sequence[str] = (),
    *,
    namespace: bool,
    restricted: bool,
) -> None:
    """Give this process a session, an output file and limits of its own.

    Args:
        folder: of the cell; it works in `work` there.
        output: the descriptor of the file that takes what it prints; it is closed.
        limits: of which the memory is set here.
        data_bytes: what the process holds already.
        needed: files that it must be able to read.
        namespace: whether it is in a PID namespace, which ends with its process 1.
        restricted: whether it takes on the restrictions of `restrict`.

    Raises:
        OSError: the folder is not there, or full.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    may_be_traced(True)
    if not namespace:
        die_with_parent()
    os.setsid()
    try:  # noqa: SIM105
        # Should memory run out, the system takes the cell, and not a process with results.
        _write("/proc/self/oom_score_adj", b"1000")
    except OSError:
        pass
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(f"{folder}/work")
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    drop_privileges((sys.prefix, __file__, *needed))
    if restricted:
        restrict()
    _limit(resource.RLIMIT_NPROC, 4 * MAX_PROCESSES)
    if limits.memory_mib is not None:
        # Twice over: the supervisor sees resident memory only now and then, this one holds at once.
        _limit(resource.RLIMIT_DATA, data_bytes + (limits.memory_mib << 20))


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:  # noqa: SIM105
        resource.setrlimit(which, (value, value))
    except (OSError, ValueError):
        pass


def exit_child(status: int, exit_now: Callable[[int], NoReturn] = os._exit) -> NoReturn:
    """End this process without running the exit handlers that a check may have left.

    Args:
        status: its exit status.
        exit_now: bound before a check could replace it.
    """
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        pass
    exit_now(status)


def execute_fresh(request: Mapping[str, Any], pipe: ReportPipe, bootstrap: list[str]) -> NoReturn:
    """Replace this process by a fresh interpreter that runs the request and reports on the same pipe.

    Args:
        request: what the cell runs.
        pipe: takes the report.
        bootstrap: the command that starts `main` of a module of this room there.
    """
    os.set_inheritable(pipe.fd, True)
    environ = {**os.environ, **request.get("env", {}), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [*bootstrap, "child", str(pipe.fd), pipe.nonce, json.dumps(request)]
    os.execve(argv[0], argv, environ)


def main(arguments: list[str]) -> None:
    """In the fresh interpreter: run the request of the command line.

    Args:
        arguments: of the command line.
    """
    fd, nonce, text = arguments
    pipe = ReportPipe(int(fd), nonce)
    pipe.own()
    faulthandler.enable()
    prepare_cells()
    request = json.loads(text)
    body_of(request["kind"])(request, pipe)
    exit_child(0)
