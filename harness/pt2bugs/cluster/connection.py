"""`--cluster`: the connection to a scheduler. `local:N` starts a scheduler and workers here, and ends them after."""

from __future__ import annotations

import atexit
import contextlib
import logging
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from pt2bugs.engine.folders import RunFolder
from pt2bugs.errors import InputError, first_line

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

CONNECT_S = 30.0
LOOPBACK = "127.0.0.1"
MAX_LOCAL = 1000
MAX_STARTS = 3


class ClusterError(InputError):
    """A cluster that cannot be reached, has gone, or has no worker for the work.

    Cause: a wrong address, certificates that do not fit, a scheduler that was ended, no worker.
    Remedy: the message says which; what had come back is in the journal, and the same command goes on from there.
    """


@contextlib.contextmanager
def connected(where: str, log: Callable[[str], None]) -> Iterator[Client]:
    """Connect to the scheduler that ``--cluster`` names.

    Args:
        where: the address of a scheduler, its file, or ``local:N``.
        log: is told where a scheduler lets anybody in, and the address of its dashboard.

    Raises:
        ClusterError: there is none, or it does not answer.
    """
    from distributed import Client

    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        if where.startswith("local:"):
            cluster = stack.enter_context(_local(_number_of_workers(where)))
            client = Client(cluster, set_as_default=False, name="pt2bugs")
        else:
            client = _remote(where)
            if not client.scheduler.address.startswith("tls://"):
                why = "a program that reaches its port can run code on its workers (docs/guides/scale.md)"
                log(f"{where}: without TLS, so {why}")
            with contextlib.suppress(KeyError, AttributeError, ValueError):
                log(f"dashboard: {client.dashboard_link}")
        try:
            yield client
        finally:
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):
                client.close(timeout=5)


def _number_of_workers(where: str) -> int:
    number = where.removeprefix("local:")
    if not re.fullmatch(r"[1-9]\d{0,3}", number) or int(number) > MAX_LOCAL:
        raise ClusterError(f"--cluster {where}: local:N takes a number of workers from 1 to {MAX_LOCAL}")
    return int(number)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging: this package reports lost workers and connections itself."""
    import distributed  # noqa: F401  # its loggers get levels of their own with its import

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in ("distributed", *names)}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _remote(where: str) -> Client:
    from distributed import Client

    if Path(where).is_file():
        scheduler = {"scheduler_file": where}
    elif re.fullmatch(r"(\w+://)?[^\s/]+:\d+", where):
        scheduler = {"address": where}
    else:
        why = "is no address such as tcp://host:8786, no scheduler file that is there, and not local:N"
        raise ClusterError(f"--cluster {where}: {why}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions of other packages are no matter here
            return Client(**scheduler, timeout=CONNECT_S, set_as_default=False, name="pt2bugs")
    except OSError as error:
        why = f"no scheduler answers there within {CONNECT_S:g} s; `dask scheduler` starts one ({first_line(error)})"
        raise ClusterError(f"--cluster {where}: {why}") from None
    except (TypeError, RuntimeError, ValueError, KeyError, ImportError) as error:
        why = "see Dask's settings distributed.comm.tls if it is about certificates"
        raise ClusterError(f"--cluster {where}: cannot be connected to: {first_line(error)}; {why}") from None


@contextlib.contextmanager
def _local(count: int) -> Iterator[LocalCluster]:
    """Start a scheduler and workers on loopback. Only who has their certificate, made for them, can connect."""
    with contextlib.ExitStack() as stack:
        folder = RunFolder.create("cluster")
        with _interrupted_after():
            cluster = _started(count, str(stack.enter_context(folder)))
            stack.callback(cluster.close)
        yield cluster


@contextlib.contextmanager
def _interrupted_after() -> Iterator[None]:
    """Hold back what interrupts until the block has ended; a second signal does not wait.

    Dask cannot be stopped while its workers start: its thread goes on, fails at workers that end, and prints that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = False

    def restore() -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)

    def hold(_number: int, _frame: FrameType | None) -> None:
        nonlocal held
        held = True
        restore()

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in handlers:
        signal.signal(number, hold)
    try:
        yield
    finally:
        restore()
    if held:
        raise KeyboardInterrupt


def _started(count: int, folder: str) -> LocalCluster:
    import cryptography  # noqa: F401  # which `temporary` needs; without it, the command line names the extra
    import dask
    from distributed import LocalCluster
    from distributed.deploy.spec import close_clusters
    from distributed.security import Security
    from distributed.utils import LoopRunner

    # Its servers for HTTP would answer anybody on this machine.
    silent: dict[str, list[str]] = {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker", "nanny")}
    runner = LoopRunner()
    # The first process that multiprocessing spawns starts its tracker, which would let SIGINT through again.
    resource_tracker.ensure_running()
    # Dask's thread and the workers that it starts inherit this: Ctrl-C is for the driver alone, which ends the workers.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for start in range(MAX_STARTS):
        try:
            # Else the scheduler has a folder of its own, which stays, and which every user of the machine shares.
            folders = {"temporary-directory": folder}
            with dask.config.set({"distributed.scheduler.active-memory-manager.start": False, **silent, **folders}):
                return LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host=LOOPBACK,
                    security=Security.temporary(),
                    dashboard_address=f"{LOOPBACK}:0",
                    worker_dashboard_address=f"{LOOPBACK}:0",
                    scheduler_kwargs={"dashboard": False},
                    memory_limit=0,  # limits are the cells', not the workers'
                    silence_logs=logging.CRITICAL + 1,
                    preload=["pt2bugs.cluster.worker"],
                    loop=runner.loop,
                )
        except KeyboardInterrupt:
            # At exit Dask would close what has not started, and fail at it; the workers end with this process.
            atexit.unregister(close_clusters)
            raise
        except (RuntimeError, TimeoutError, OSError) as error:
            # A worker that is lost before it has joined takes all down; later ones are started again by Dask.
            if start == MAX_STARTS - 1:
                why = f"the workers ended while they started, {MAX_STARTS} times: {first_line(error)}"
                raise ClusterError(f"--cluster local:{count}: {why}") from None
    raise AssertionError
