"""The engine as its users see it: start it in any interpreter, and open workers that run cells.

An `Engine` is one process of that interpreter with torch imported, below a guardian. Its workers are independent of
each other, and each may be used by one thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pt2bugs.engine.environment import EnvironmentFacts, Removed, cell_environment
from pt2bugs.engine.folders import RunFolder
from pt2bugs.engine.guardian import CLOSED
from pt2bugs.engine.messages import CellRequest, Hello, Needs, Open, Opened, Provide, Run, Settings, Started
from pt2bugs.engine.protocol import EXIT_S, START_S, ChildExit, Limits, StopReason, receive, send
from pt2bugs.engine.supervisor import GRACE, tail_of
from pt2bugs.errors import Pt2bugsError

MAX_KILLS = 5
"""Number of kills from outside during the import of torch after which an environment counts as broken."""

_BOOTSTRAP = """
import sys
if sys.version_info < (3, 10):
    sys.exit("pt2bugs needs Python 3.10 or newer in an environment, this is %d.%d" % sys.version_info[:2])
if sys.path and sys.path[0] == "":
    del sys.path[0]
import importlib, importlib.util
folder, entry = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("pt2bugs", folder + "/__init__.py", submodule_search_locations=[folder])
sys.modules["pt2bugs"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
importlib.import_module("pt2bugs.engine." + entry).main(sys.argv[3:])
"""


class EngineError(Pt2bugsError):
    """The engine cannot be started.

    Cause: the interpreter does not start, torch does not import, the system is out of processes or memory.
    Remedy: the message carries its last words; ``python -c 'import torch'`` in that environment shows more.
    """


@dataclass(frozen=True)
class EngineSettings:
    """Settings with which an engine is started.

    Args:
        python: the interpreter.
        threads: of torch in each cell.
        targets: devices and backends that will be asked for; known ones start faster.
        imports: modules to import after torch, which register backends.
        distributions: names of packages whose versions are to be in the facts.
        keeps_python_path: whether PYTHONPATH reaches the interpreter: it does where that is the user's own.
        env: variables to be set beside.
        paths: folders in front of `sys.path`, in the zygote, its children and the Pythons that these start: a torch
            there is imported instead of the installed one. It goes through PYTHONPATH.
        offline: whether the import of torch, too, is kept from the network; a warning says where that cannot be.
        confined: whether cells are in a sandbox: see `sandbox.Sandbox`.
        grace: seconds a child gets beyond its own: `grace_s`, `start_s`, `exit_s`; and a new supervisor: `hello_s`.
    """

    python: Path = field(default_factory=lambda: Path(sys.executable))
    threads: int = 1
    targets: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    keeps_python_path: bool = True
    env: Mapping[str, str] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    offline: bool = False
    confined: bool = True
    grace: Mapping[str, float] = field(default_factory=lambda: dict(GRACE))


class Engine:
    """One interpreter with torch imported, which forks the cells.

    Args:
        warn: gets a sentence for whatever is wrong and does no harm; on stderr by default.
    """

    def __init__(self, settings: EngineSettings, warn: Callable[[str], None] | None = None) -> None:
        self.settings = settings
        self._warn = warn or _warn_on_stderr
        self.facts = EnvironmentFacts()
        self.removed: Removed = ()
        """Variables that are kept from the cells."""
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lifeline = -1
        self._folder: RunFolder | None = None
        self._opened = 0
        self._kills = 0
        self._is_over = False

    def start(self) -> EnvironmentFacts:
        """Start it if it does not run, and return the facts of its environment.

        Raises:
            EngineError: it cannot be started.
        """
        with self._lock:
            while not self._is_running():
                if self._is_over:
                    raise EngineError("the run was stopped")
                self.close()
                try:
                    self._start()
                except _KilledError as error:
                    # No import sends SIGKILL: somebody else did.
                    self._kills += 1
                    if self._kills >= MAX_KILLS:
                        raise EngineError(str(error)) from None
            return self.facts

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        try:
            self._folder = RunFolder.create()
            self._spawn(self._folder.path)
        except OSError as error:
            self.close()
            raise EngineError(_cannot_start(self.settings.python, error)) from None
        hello: Started | None = None
        with self._closed_on_error():
            if self._control is not None:
                with contextlib.suppress(OSError):
                    settings: Settings = {
                        "threads": self.settings.threads,
                        "targets": self.settings.targets,
                        "imports": self.settings.imports,
                        "distributions": self.settings.distributions,
                        "offline": self.settings.offline,
                        "confined": self.settings.confined,
                    }
                    send(self._control, settings)
                    hello = receive(self._control, 2 * START_S, self._is_running)
        if hello is None or "failed" in hello:
            reason = hello["failed"] if hello else self._why_it_died()
            self.close()
            raise (_KilledError if reason.endswith("it died by SIGKILL") else EngineError)(reason)
        for text in hello["warnings"]:
            self._warn(text)
        facts = EnvironmentFacts.from_dict(hello["facts"])
        # As of an installed package, a file of such a folder is named without it.
        own = {f"{path.absolute()}/": "" for path in self.settings.paths}
        self.facts = replace(facts, paths={**facts.paths, **own})

    def _spawn(self, folder: Path) -> None:
        environ, self.removed = cell_environment(
            os.environ,
            threads=self.settings.threads,
            keeps_python_path=self.settings.keeps_python_path,
            extra=self.settings.env,
        )
        if self.settings.paths:
            path = [str(folder.absolute()) for folder in self.settings.paths]
            environ["PYTHONPATH"] = os.pathsep.join([*path, *filter(None, [environ.get("PYTHONPATH")])])
        ours, theirs = socket.socketpair()
        reader, writer = os.pipe()
        # Not resolved: the link of a virtual environment says which one it is.
        python = str(self.settings.python.absolute())
        bootstrap = [python, "-c", _BOOTSTRAP, str(Path(__file__).resolve().parent.parent)]
        arguments = [str(theirs.fileno()), str(reader), str(folder), str(os.getpid()), *bootstrap]
        try:
            with (folder / "zygote.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*bootstrap, "guardian", *arguments],
                    cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=(theirs.fileno(), reader), start_new_session=True,
                )  # fmt: skip
            self._control, self._lifeline = ours, writer
        except OSError:
            ours.close()
            os.close(writer)
            raise
        finally:
            theirs.close()
            os.close(reader)

    def open(self) -> Worker:
        """Return a worker. The engine is started if it does not run.

        Raises:
            EngineError: it cannot be started.
        """
        return Worker(self)

    def connect(self) -> tuple[socket.socket, bool]:
        """Return a socket to a new supervisor, and whether that has a namespace of its own.

        Raises:
            EngineError: the engine cannot be started.
        """
        reason, instead_of = "the process that imports torch does not answer", ""
        # A supervisor that dies or hangs before its hello is replaced, then the whole engine. Where the machine is too
        # busy for a hello in time, the last one gets all the time there is.
        hello_s = self.settings.grace["hello_s"]
        reply: Opened | None
        for attempt, patience_s in enumerate((hello_s, hello_s, START_S)):
            with self._lock:
                self.start()
                ours, theirs = socket.socketpair()
                name = f"cell-{self._opened}"
                message: Open = {"open": name, "instead_of": instead_of, "grace": dict(self.settings.grace)}
                self._opened += 1
                process = self._process
                try:
                    if self._control is None:
                        raise EngineError("the engine is closed")  # noqa: TRY301
                    data = _encode(message)
                    # A descriptor travels with the first byte.
                    sent = socket.send_fds(self._control, [data], [theirs.fileno()])
                    self._control.sendall(data[sent:])
                    reply = receive(self._control, patience_s, self._is_running)
                except OSError:
                    reply = None
                except BaseException:
                    ours.close()
                    self.close()
                    raise
                finally:
                    theirs.close()
            try:
                hello: Hello | None = receive(ours, patience_s, self._is_running) if reply == {} else None
            except BaseException:
                ours.close()
                raise
            if hello is not None:
                with self._lock:
                    self.facts = replace(self.facts, unconfined=tuple(hello["unconfined"]))
                return ours, bool(hello["namespace"])
            ours.close()
            with self._lock:
                if self._process is not process:
                    # Another thread has replaced the engine meanwhile.
                    instead_of = ""
                    continue
                if reply == {} and attempt == 0 and not self._has_hung_up():
                    instead_of = name
                    continue
                reason, instead_of = (reply.get("failed") if reply else "") or self._why_it_died(), ""
                self.close()
        raise EngineError(reason)

    def _has_hung_up(self) -> bool:
        """Return whether the zygote is gone: its end of the connection is closed."""
        if self._control is None or not self._is_running():
            return True
        poll = select.poll()
        poll.register(self._control, 0)  # its end is told unasked
        return bool(poll.poll(0))

    def provide(self, needs: Needs) -> None:
        """Have workers opened from now on find these modules imported.

        Args:
            needs: of a compile, as the canary found them.
        """
        with self._lock:
            if self._control is not None:
                with contextlib.suppress(OSError):
                    send(self._control, Provide(provide=needs))
                    if receive(self._control, START_S, self._is_running) is None:
                        self.close()

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """Close the connection when a request is interrupted: its late reply would be taken for the next one's."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """End the engine for good: another thread that waits for a cell gets no answer, and cannot start it again."""
        self._is_over = True
        with contextlib.suppress(OSError, AttributeError):
            self._process.terminate()  # type: ignore[union-attr]
        self.close()

    def close(self) -> None:
        """End the engine and everything below it, and remove its folder. Open workers lose their connection."""
        with self._lock:
            if self._lifeline >= 0:
                with contextlib.suppress(OSError):
                    os.write(self._lifeline, CLOSED)
                os.close(self._lifeline)
                self._lifeline = -1
            if self._process is not None:
                try:
                    self._process.wait(2 * EXIT_S)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
                self._process = None
            if self._control is not None:
                self._control.close()
                self._control = None
            if self._folder is not None:
                self._folder.remove()
                self._folder = None

    @property
    def has_folder(self) -> bool:
        """Return whether the folder of the run is still there."""
        return self._folder is not None and self._folder.path.is_dir()

    def _why_it_died(self) -> str:
        """Return why the engine is away, in its own words where it left some."""
        if self._process is None or self._folder is None:
            return "the process that imports torch is away"
        try:
            # If the zygote is gone, its guardian exits soon after. If it still runs, there is nothing to wait for.
            status = self._process.wait(EXIT_S if self._has_hung_up() else 0)
        except subprocess.TimeoutExpired:
            return "the process that imports torch does not answer"
        output = ""
        with contextlib.suppress(OSError), (self._folder.path / "zygote.log").open("rb") as log:
            output = tail_of(log.fileno()).strip()
        if status != 0:
            ending = f"it died by {signal.Signals(-status).name}" if status < 0 else f"it left with status {status}"
            output = f"{output}\n{ending}".strip()
        return f"the process that imports torch went away: {output}"


class Worker:
    """Runs cells one after the other, each in a child of its own supervisor."""

    def __init__(self, engine: Engine) -> None:
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
            limits: of the child.

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
        grace = self._engine.settings.grace
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
        """Have later cells of this worker find these modules imported; once for each target.

        Args:
            target: device and backend that need them.
            needs: the modules.
        """
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


class _KilledError(EngineError):
    """The engine was killed while it started."""


def _warn_on_stderr(text: str) -> None:
    print(f"pt2bugs: warning: {text}", file=sys.stderr)


def _encode(message: Open) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _cannot_start(python: Path, error: OSError) -> str:
    if str(error.filename) == str(python.absolute()):
        return f"{python}: the interpreter cannot be started: {error.strerror}"
    return f"{tempfile.gettempdir()}: no cell can be run there: {error.strerror}"
