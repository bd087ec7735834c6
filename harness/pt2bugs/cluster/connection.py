"""`--cluster`: the scheduler that is meant, and the connection to it. `local:N` starts one here and ends it after."""

from __future__ import annotations

import contextlib
import logging
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

CONNECT_S = 30.0
LOOPBACK = "127.0.0.1"
MAX_LOCAL = 1000
MAX_STARTS = 3


class ClusterError(InputError):
    """A cluster that cannot be reached, has gone, or has nobody for the work.

    Cause: a wrong address, certificates that do not fit, a scheduler that was ended, no worker.
    Remedy: the message says which; what had come back is in the journal, and the same command goes on from there.
    """


def local_workers(where: str) -> int:
    """How many workers ``local:N`` asks for; 0 for anything else.

    Raises:
        ClusterError: N is no number of workers.
    """
    if not where.startswith("local:"):
        return 0
    number = where.removeprefix("local:")
    if not re.fullmatch(r"[1-9]\d{0,3}", number) or int(number) > MAX_LOCAL:
        raise ClusterError(f"--cluster {where}: local:N takes a number of workers from 1 to {MAX_LOCAL}")
    return int(number)


@contextlib.contextmanager
def connected(where: str) -> Iterator[Client]:
    """A client of the scheduler that ``--cluster`` names.

    Raises:
        ClusterError: there is none, or it does not answer.
    """
    count = local_workers(where)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_quiet())
        if count:
            yield stack.enter_context(_local(count))
            return
        yield stack.enter_context(_remote(where))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging: what is to be said of lost workers and connections, we say."""
    import distributed  # noqa: F401  # its loggers have levels of their own once it is there

    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    levels = {name: logging.getLogger(name).level for name in ("distributed", *names)}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def _remote(where: str) -> Iterator[Client]:
    from distributed import Client

    if Path(where).is_file():
        named = {"scheduler_file": where}
    elif re.fullmatch(r"(\w+://)?[^\s/]+:\d+", where):
        named = {"address": where}
    else:
        why = "is no address such as tcp://host:8786, no scheduler file that is there, and not local:N"
        raise ClusterError(f"--cluster {where}: {why}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions of other packages are no matter here
            client = Client(**named, timeout=CONNECT_S, set_as_default=False, name="pt2bugs")
    except OSError as error:
        why = f"no scheduler answers there within {CONNECT_S:g} s; `dask scheduler` starts one ({_first_line(error)})"
        raise ClusterError(f"--cluster {where}: {why}") from None
    except (TypeError, RuntimeError, ValueError, KeyError, ImportError) as error:
        why = "see Dask's settings distributed.comm.tls if it is about certificates"
        raise ClusterError(f"--cluster {where}: cannot be connected to: {_first_line(error)}; {why}") from None
    try:
        yield client
    finally:
        _close(client)


@contextlib.contextmanager
def _local(count: int) -> Iterator[Client]:
    """A scheduler and workers on the loopback interface alone.

    Raises:
        ClusterError: the workers do not start.
    """
    from distributed import Client

    with tempfile.TemporaryDirectory(prefix="pt2bugs-cluster-", ignore_cleanup_errors=True) as folder:
        cluster = _started(count, folder)
        try:
            client = Client(cluster, set_as_default=False, name="pt2bugs")
            try:
                yield client
            finally:
                _close(client)
        finally:
            cluster.close()


def _started(count: int, folder: str) -> LocalCluster:
    import dask
    from distributed import LocalCluster

    starts = 0
    while True:
        starts += 1
        try:
            with dask.config.set({"distributed.scheduler.active-memory-manager.start": False}):
                return LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    host=LOOPBACK,
                    dashboard_address=f"{LOOPBACK}:0",
                    worker_dashboard_address=f"{LOOPBACK}:0",
                    memory_limit=0,  # limits are the cells', not the workers'
                    local_directory=folder,
                    silence_logs=logging.CRITICAL + 1,
                    preload=["pt2bugs.cluster.local_worker"],
                )
        except (RuntimeError, TimeoutError, OSError) as error:
            # A worker that is lost before it has joined takes all down; later ones are started again by Dask.
            if starts == MAX_STARTS:
                why = f"the workers ended while they started, {starts} times: {_first_line(error)}"
                raise ClusterError(f"--cluster local:{count}: {why}") from None


def _close(client: Client) -> None:
    with contextlib.suppress(OSError, TimeoutError, RuntimeError):
        client.close(timeout=5)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
