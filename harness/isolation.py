"""One cell in one forked child, whatever the child does.

A *zygote* is forked from the pytest process. It imports torch once, and forks a child per cell. Where the
system allows it the zygote is process 1 of its own PID namespace: no child can see, signal or outlive it,
and one ``kill(-1)`` ends everything a cell left behind, sessions of its own included. Elsewhere it is a
child subreaper and walks the process tree. pytest itself never imports torch, so neither a crash at
import nor a child that kills its parent can take the run and its results along.

Between the two stands a *guardian*, which runs nobody's code: when the zygote goes, or pytest does, by
whatever signal, it ends everything below, and removes the folder if pytest no longer can.

The child reports over a pipe of its own; the zygote enforces deadline, memory and process count from
outside, and tells the pytest process how the child ended. No report, no pass.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import fcntl
import gc
import json
import os
import re
import resource
import secrets
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from harness.outcome import OUTPUT_LIMIT

_CLONE_NEWNS, _CLONE_NEWUSER, _CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

_libc = ctypes.CDLL(None, use_errno=True)

GRACE_S = 5.0
"""From the soft timeout, which can still dump the stack, to the end of the child."""
START_S = 180.0
"""For what comes before the check: imports of the case file, or of torch in a fresh interpreter."""
LEAVE_S = 10.0
"""For a child that has reported to be gone."""
MAX_PROCESSES = 512
MAX_FILE_MIB = 1024
MAX_OUTPUT_MIB = 64
"""Of a cell's printed text; beyond that only its end is kept."""
_POLL_S = 0.1
_TAIL_BYTES = 16 * OUTPUT_LIMIT
_FRAME_LIMIT = 4 * 1024 * 1024

_CREDENTIAL = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH|COOKIE|SESSION",
    re.IGNORECASE,
)
_CREDENTIAL_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


class IsolationError(Exception):
    """The zygote could not be started, or went away.

    Cause: torch does not import, the system is out of processes or memory, something killed it.
    Remedy: the message carries its last words; ``python -c 'import torch'`` in that environment shows more.
    """


@dataclass(frozen=True)
class Limits:
    """What a cell may use: seconds for the check, MiB above what the imported torch uses."""

    timeout_s: float
    memory_mib: int | None


@dataclass
class Ending:
    """How a child ended.

    `frames` are the objects it reported, by kind. `stopped` says what cut it off: ``deadline``, ``start``,
    ``memory``, ``processes``, ``leave`` (it had reported, and stayed), ``setup`` (it could not be started),
    ``lost`` (the zygote went away), ``outside`` (it did, and no child could have done that); empty if it
    left by itself.
    """

    frames: dict[str, Any] = field(default_factory=dict)
    stopped: str = ""
    signal: int | None = None
    exit_status: int | None = None
    duration_s: float = 0.0
    peak_rss_mb: float = 0.0
    output_tail: str = ""
    detail: str = ""


class Channel:
    """The child's side of the private report pipe.

    A frame is one line: a nonce, the kind, a JSON object. The nonce keeps bytes that a check writes to
    descriptors it does not own from being read as a report.
    """

    def __init__(self, fd: int, nonce: str) -> None:
        self.fd, self.nonce = fd, nonce
        self._owner = 0

    def own(self) -> None:
        """Let this process alone report: one that the check forks runs on to the end of the cell as well."""
        self._owner = os.getpid()

    def send(self, kind: str, value: Any) -> None:
        if os.getpid() != self._owner:
            return
        data = f"{self.nonce} {kind} {json.dumps(value)}\n".encode()
        while data:
            data = data[os.write(self.fd, data) :]

    def start(self) -> None:
        """Report that the check starts."""
        self.send("started", {})

    def to_env(self) -> str:
        return f"{self.fd}:{self.nonce}"

    @classmethod
    def from_env(cls, text: str) -> Channel:
        fd, nonce = text.split(":")
        channel = cls(int(fd), nonce)
        channel.own()
        return channel


def _parse_frames(data: bytes, nonce: str) -> dict[str, Any]:
    frames: dict[str, Any] = {}
    for line in data.split(b"\n")[:-1]:
        # What a check wrote into the pipe without a newline may stand before a frame.
        _, found, frame = line.partition(nonce.encode() + b" ")
        kind, _, text = frame.partition(b" ")
        if found:
            with contextlib.suppress(ValueError):
                frames[kind.decode()] = json.loads(text)
    return frames


Prepare = Callable[[Path], dict[str, Any]]
Body = Callable[[dict[str, Any], Channel], None]
Learn = Callable[[Any], None]


class Zygote:
    """Starts the zygote, and asks it to run one child after the other.

    Args:
        prepare: runs once in the zygote; gets its folder, returns facts about the environment.
        body: runs in every child with the request and the channel to report on; may exec.
        learn: runs in the zygote with what `Zygote.learn` was given, for later children to have it.
    """

    def __init__(self, prepare: Prepare, body: Body, learn: Learn = lambda _: None) -> None:
        self._prepare, self._body, self._learn = prepare, body, learn
        self._socket: socket.socket | None = None
        self._pid = 0
        self._scratch: Scratch | None = None
        self.facts: dict[str, Any] = {}

    def start(self) -> dict[str, Any]:
        """Start it if it does not run, and return the facts `prepare` gave.

        Raises:
            IsolationError: `prepare` failed, or the zygote died in it.
        """
        if self._socket is not None:
            return self.facts
        try:
            return self._start()
        except IsolationError as error:
            if not str(error).endswith(_KILLED):
                raise
        # No import sends SIGKILL: somebody else did.
        return self._start()

    def _start(self) -> dict[str, Any]:
        try:
            self._scratch = Scratch.create()
            self._fork()
        except OSError as error:
            self.close()
            raise IsolationError(f"{tempfile.gettempdir()}: no cell can be run there: {error.strerror}") from None
        with self._closed_on_error():
            hello = self._receive(START_S * 2)
        if hello is None or "failed" in hello:
            words = hello["failed"] if hello else self._last_words()
            self.close()
            raise IsolationError(words)
        self.facts, self._namespace = hello["facts"], hello["namespace"]
        return self.facts

    def _fork(self) -> None:
        assert self._scratch is not None
        ours, theirs = socket.socketpair()
        self._socket = ours
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        try:
            with warnings.catch_warnings():
                # A pytest-xdist worker has a thread for its reports. The child has no use for it.
                warnings.simplefilter("ignore", DeprecationWarning)
                self._pid = os.fork()
            if self._pid == 0:
                try:
                    _guard(parent, theirs, self._scratch.path, self._prepare, self._body, self._learn)
                except BaseException as error:
                    with contextlib.suppress(OSError):
                        _send(theirs, {"failed": f"{type(error).__name__}: {error}"})
                finally:
                    os._exit(70)
        finally:
            theirs.close()

    def run(self, request: dict[str, Any], limits: Limits) -> Ending:
        """Run one child. The zygote is started, or started again after a loss, when needed.

        Raises:
            IsolationError: it cannot be started.
        """
        self.start()
        assert self._socket is not None
        began = time.monotonic()
        with self._closed_on_error():
            try:
                self._socket.sendall(json.dumps({"request": request, "limits": asdict(limits)}).encode() + b"\n")
            except OSError:
                reply = None
            else:
                # The zygote keeps the deadline. This one is for a zygote that cannot.
                reply = self._receive(START_S + limits.timeout_s + GRACE_S + LEAVE_S + 60)
        if reply is None:
            words = self._last_words()
            self.close()
            stopped = "outside" if self._namespace else "lost"
            return Ending(stopped=stopped, duration_s=time.monotonic() - began, detail=words)
        if "failed" in reply:
            self.close()
            return Ending(stopped="setup", detail=reply["failed"])
        return Ending(**reply)

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        """An answer that nobody waited for must not be taken for that to the next question."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def learn(self, what: Any) -> None:
        """Have the zygote learn something, so that later children know it. `what` is JSON."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.sendall(json.dumps({"learn": what}).encode() + b"\n")
                self._receive(START_S)

    def close(self) -> None:
        """End the zygote and everything below it, and remove its folder."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._pid:
            pid, self._pid = self._pid, 0
            os.kill(pid, signal.SIGTERM)
            if _wait_for(pid, 2 * LEAVE_S) is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None

    def _receive(self, timeout_s: float) -> dict[str, Any] | None:
        assert self._socket is not None
        deadline = time.monotonic() + timeout_s
        data = b""
        while not data.endswith(b"\n"):
            self._socket.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                chunk = self._socket.recv(1 << 20)
            except (OSError, TimeoutError):
                return None
            if not chunk:
                return None
            data += chunk
        reply: dict[str, Any] = json.loads(data)
        return reply

    def _last_words(self) -> str:
        """Why the zygote is away, in its own words where it left some."""
        assert self._scratch is not None
        status = _wait_for(self._pid, LEAVE_S)
        if status is None:
            return "the process that imports torch does not answer"
        self._pid = 0
        words = _tail(self._scratch.path / "zygote.log").strip()
        if os.WIFSIGNALED(status):
            words = f"{words}\n{_how_it_ended(status)}".strip()
        return f"the process that imports torch went away: {words}"


def _wait_for(pid: int, timeout_s: float) -> int | None:
    """The wait status of this child of ours, which is then reaped; None if it did not end in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if done:
            return status
        time.sleep(0.002)
    return None


def _how_it_ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"it left with status {code}"
    # Real-time signals have no name.
    return f"it died by {signal.Signals(-code).name if -code in set(signal.Signals) else -code}"


_KILLED = _how_it_ended(signal.SIGKILL)


class Scratch:
    """A temporary folder that outlives no run: the next run removes what a killed one left."""

    PREFIX = "pt2bugs-cells-"

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock

    @classmethod
    def create(cls) -> Scratch:
        """Make one.

        Raises:
            OSError: the temporary folder is full, or not writable.
        """
        base = Path(tempfile.gettempdir())
        for old in base.glob(f"{cls.PREFIX}*"):
            with contextlib.suppress(OSError):
                if cls._is_abandoned(old):
                    _remove_tree(old)
        path = Path(tempfile.mkdtemp(prefix=cls.PREFIX))
        try:
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            _remove_tree(path)
            raise
        return cls(path, lock)

    @staticmethod
    def _is_abandoned(path: Path) -> bool:
        found = path.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
            return False
        # Another run may just have made its folder, and not locked it yet.
        if time.time() - found.st_mtime < 10:
            return False
        try:
            lock = os.open(path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
        return True

    def remove(self) -> None:
        _remove_tree(self.path)
        os.close(self._lock)


# --- in the guardian and the zygote -------------------------------------------------------------------


def _guard(parent: int, control: socket.socket, folder: Path, prepare: Prepare, body: Body, learn: Learn) -> None:
    """Become the guardian: fork the zygote, and end everything when it goes or when pytest does."""
    awaited = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    os.setsid()
    _detach(folder / "zygote.log", keep=control.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    namespace = _own_namespace()
    if not namespace:
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    die_with_parent(signal.SIGTERM)
    zygote = os.fork()
    if zygote == 0:
        die_with_parent()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, awaited)
        if namespace:
            reaper = Reaper(namespace=True, private_proc=_mount_proc())
        else:
            _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            reaper = Reaper(namespace=False)
        _serve(control, folder, prepare, body, learn, reaper)
        os._exit(0)
    control.close()
    # Without this a parent that was gone before prctl would never be missed.
    while os.getppid() == parent and signal.sigwait(awaited) == signal.SIGCHLD:
        done, status = os.waitpid(zygote, os.WNOHANG | os.WUNTRACED)
        if done and not os.WIFSTOPPED(status):
            print(_how_it_ended(status), file=sys.stderr, flush=True)
            break
        if done:
            print("it was stopped", file=sys.stderr, flush=True)
            break
    with contextlib.suppress(ProcessLookupError):
        os.kill(zygote, signal.SIGKILL)
    if namespace:
        # Process 1 is gone only when its whole namespace is.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(zygote, 0)
    else:
        Reaper(namespace=False).kill_all()
    if os.getppid() != parent:
        _remove_tree(folder)
    os._exit(0)


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Have the system send this process a signal when the thread that started it ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, how, 0, 0, 0)


def _own_namespace() -> bool:
    """Whether children from now on live in a new PID namespace. Without root this takes a user namespace."""
    if os.environ.get("PT2BUGS_NO_NAMESPACE"):
        return False
    if _libc.unshare(_CLONE_NEWPID | _CLONE_NEWNS) == 0:
        return True
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNS) != 0:
        return False
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def _mount_proc() -> bool:
    """Give the namespace its own /proc, so that a process finds itself there under its own number."""
    if _libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    return bool(_libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None) == 0)


@dataclass(frozen=True)
class Reaper:
    """Knows, counts and ends every process below the zygote."""

    namespace: bool
    private_proc: bool = False

    def members(self) -> list[str]:
        """Process numbers, as /proc shows them, of all processes below the zygote."""
        if self.private_proc:
            return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]  # noqa: PTH208
        found: list[str] = []
        todo = [os.readlink("/proc/self")]  # noqa: PTH115
        while todo:
            # A process is listed as a child of the thread that forked it.
            children = _read_all(f"/proc/{todo.pop()}/task", "children").split()
            found += children
            todo += children
        return found

    def kill_all(self) -> bool:
        """End every process below the zygote, and wait for them. False if some would not go."""
        deadline = time.monotonic() + LEAVE_S
        while True:
            if self.namespace:
                assert os.getpid() == 1
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for pid in self.members():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)

    def resident_mib(self, members: list[str]) -> float:
        """Memory that the processes hold between them, in MiB; shared pages count once, as the zygote's."""
        pages = 0
        for pid in members:
            fields = _read(f"/proc/{pid}/statm").split()
            if len(fields) > 2:
                pages += int(fields[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _read_all(folder: str, name: str) -> str:
    """The texts of all files ``folder/*/name``."""
    try:
        return " ".join(_read(f"{folder}/{entry}/{name}") for entry in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def _serve(control: socket.socket, folder: Path, prepare: Prepare, body: Body, learn: Learn, reaper: Reaper) -> None:
    try:
        facts = prepare(folder)
    except BaseException as error:
        words = "".join(traceback.format_exception_only(type(error), error)).strip()
        traceback.print_exc()
        _send(control, {"failed": words})
        return
    # Whatever imports have changed; a child has to set back only what the zygote itself needs otherwise.
    for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    _freeze()
    _send(control, {"facts": facts, "namespace": reaper.namespace})
    home = Home(folder)
    home.renew()
    with control.makefile("rb") as requests:
        for line in requests:
            message = json.loads(line)
            if "learn" in message:
                learn(message["learn"])
                _freeze()
                _send(control, {})
            else:
                limits = Limits(**message["limits"])
                _send(control, vars(_run_child(control, home, message["request"], limits, body, reaper)))
                # While pytest reports; the next child starts after it.
                home.renew()


def _send(control: socket.socket, value: dict[str, Any]) -> None:
    control.sendall(json.dumps(value).encode() + b"\n")


def _freeze() -> None:
    """Take what is there now out of the garbage collector's sight.

    In a child it would otherwise write to every object of every module, and so have each page copied: more
    than half of the time of a first compile. What a check makes is collected as ever.
    """
    gc.collect()
    gc.freeze()


def _detach(log: Path, keep: int) -> None:
    """No terminal, no descriptors and no credentials from here on."""
    for fd, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        (2, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, keep)
    os.closerange(keep + 1, limit)
    _reopen_streams()
    faulthandler.enable()
    for name, value in list(os.environ.items()):
        if _CREDENTIAL.search(name) or _CREDENTIAL_IN_URL.search(value):
            del os.environ[name]


def _reopen_streams() -> None:
    """Text streams over descriptors 1 and 2, whatever pytest had put in their place.

    Children inherit them, and only put a file of their own behind the descriptors.
    """
    for fd, name, buffering in ((1, "stdout", -1), (2, "stderr", 1)):
        stream = open(fd, "w", buffering, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115


class Home:
    """The folder of a cell, with what in the environment points there: one after the other, of one name.

    Ready before the cell is forked, so that a child has nothing to do for it.
    """

    FOLDERS = ("home", "tmp", "work")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_ready = False
        self._name("cell-0")

    def _name(self, name: str) -> None:
        self.path = f"{self._folder}/{name}"
        # The caches are made by those who use them.
        for variable, folder in (
            ("HOME", "home"),
            ("TMPDIR", "tmp"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("TORCHINDUCTOR_CACHE_DIR", "inductor"),
            ("TRITON_CACHE_DIR", "triton"),
        ):
            os.environ[variable] = f"{self.path}/{folder}"

    def make(self) -> None:
        """Make it if it is not there.

        Raises:
            OSError: it cannot be made.
        """
        if self._is_ready:
            return
        if os.path.lexists(self.path):
            # A check has left something there that cannot be removed.
            self._name(f"cell-{secrets.token_hex(8)}")
        try:
            for folder in ("", *self.FOLDERS):
                os.mkdir(f"{self.path}/{folder}", stat.S_IRWXU)  # noqa: PTH102
        except OSError:
            _remove_tree(Path(self.path))
            raise
        self._is_ready = True

    def renew(self) -> None:
        """Have another one for the next cell: this one, if it was left as it was found."""
        with contextlib.suppress(OSError):
            if self._is_untouched():
                os.truncate(f"{self.path}/output", 0)
                return
        self._is_ready = False
        _remove_tree(Path(self.path))
        with contextlib.suppress(OSError):
            self.make()

    def _is_untouched(self) -> bool:
        output = os.lstat(f"{self.path}/output")
        return (
            stat.S_ISREG(output.st_mode)
            and output.st_nlink == 1
            and _private_folder(self.path) == sorted((*self.FOLDERS, "output"))
            and all(_private_folder(f"{self.path}/{folder}") == [] for folder in self.FOLDERS)
        )


def _private_folder(path: str) -> list[str] | None:
    """What is in a folder; None if it is not one of ours alone."""
    if os.lstat(path).st_mode != stat.S_IFDIR | stat.S_IRWXU:
        return None
    return sorted(os.listdir(path))  # noqa: PTH208


def _run_child(
    control: socket.socket,
    home: Home,
    request: dict[str, Any],
    limits: Limits,
    body: Body,
    reaper: Reaper,
) -> Ending:
    began = time.monotonic()
    try:
        home.make()
        reader, writer = os.pipe()
    except OSError as error:
        return Ending(stopped="setup", detail=str(error))
    channel = Channel(writer, secrets.token_hex(8))
    baseline = _data_bytes()
    # What an import printed would come out of every child again.
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        pid = os.fork()
    except OSError as error:
        os.close(reader)
        os.close(writer)
        return Ending(stopped="setup", detail=str(error))
    if pid == 0:
        status = 71
        try:
            os.close(reader)
            os.close(control.fileno())
            channel.own()
            try:
                _become_cell(home.path, limits, baseline, namespace=reaper.namespace)
            except OSError as error:
                channel.send("setup", str(error))
                raise
            body(request, channel)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            leave(status)
    os.close(writer)
    try:
        ending = _supervise(pid, reader, channel.nonce, limits, reaper, began, Path(home.path, "output"))
        if not reaper.kill_all():
            ending.detail = "a process of this cell could not be ended"
    finally:
        os.close(reader)
    if "setup" in ending.frames:
        ending.stopped, ending.detail = "setup", ending.frames["setup"]
    ending.output_tail += _tail(Path(home.path, "output"))
    return ending


def leave(status: int) -> NoReturn:
    """End this process without what a check may have left to be done at exit."""
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _data_bytes() -> int:
    match = re.search(r"VmData:\s+(\d+) kB", _read("/proc/self/status"))
    return int(match[1]) * 1024 if match else 0


def _supervise(pid: int, reader: int, nonce: str, limits: Limits, reaper: Reaper, began: float, output: Path) -> Ending:
    """Watch one child to its end; kill it when it is over a limit."""
    os.set_blocking(reader, False)
    watch = [reader]
    pidfd = None
    with contextlib.suppress(OSError, AttributeError):
        pidfd = os.pidfd_open(pid)
        watch.append(pidfd)
    ending = Ending()
    data = b""
    base_mib = reaper.resident_mib(["self"])
    deadline, why = began + START_S, "start"
    started = reported = False
    next_poll = began + _POLL_S
    try:
        while True:
            pause = min(deadline, next_poll) - time.monotonic()
            ready, _, _ = select.select(watch, [], [], max(0.0, pause if pidfd else min(pause, 0.005)))
            if reader in ready:
                chunk = _read_some(reader)
                if chunk is None:
                    watch.remove(reader)
                elif len(data) < _FRAME_LIMIT:
                    data += chunk
                    if not started and f"{nonce} started".encode() in data:
                        started = True
                        deadline, why = time.monotonic() + limits.timeout_s + GRACE_S, "deadline"
                    if not reported and f"{nonce} report".encode() in data and data.endswith(b"\n"):
                        reported = True
                        deadline, why = time.monotonic() + LEAVE_S, "leave"
            if pidfd is None or pidfd in ready:
                done, status, usage = os.wait4(pid, os.WNOHANG)
                if done:
                    break
            now = time.monotonic()
            if now >= next_poll and not ending.stopped:
                next_poll = now + _POLL_S
                ending.output_tail = _shorten(output) or ending.output_tail
                members = reaper.members()
                if len(members) > MAX_PROCESSES:
                    ending.stopped = "processes"
                elif limits.memory_mib is not None and (
                    reaper.resident_mib(members) > limits.memory_mib + base_mib * len(members)
                ):
                    ending.stopped = "memory"
            if now >= deadline and not ending.stopped:
                ending.stopped = why
            if ending.stopped:
                os.kill(pid, signal.SIGKILL)
                next_poll = deadline = now + 3600
    finally:
        if pidfd is not None:
            os.close(pidfd)
    ending.duration_s = time.monotonic() - began
    while (chunk := _read_some(reader)) and len(data) < _FRAME_LIMIT:
        data += chunk
    ending.frames = _parse_frames(data, nonce)
    ending.peak_rss_mb = usage.ru_maxrss / 1024
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        ending.signal = -code
    else:
        ending.exit_status = code
    return ending


def _read_some(fd: int) -> bytes | None:
    """What the pipe holds; empty if nothing yet, None at its end."""
    try:
        return os.read(fd, 1 << 16) or None
    except BlockingIOError:
        return b""


# --- in the child -------------------------------------------------------------------------------------


def _become_cell(home: str, limits: Limits, baseline: int, *, namespace: bool) -> None:
    """A session, an output file and limits of its own.

    Whatever is touched here is a page copied in every cell, so it is done with plain strings.
    """
    if not namespace:
        die_with_parent()
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        # Should memory run out, the system takes the cell, and not a process with results.
        _write("/proc/self/oom_score_adj", b"1000")
    output = os.open(f"{home}/output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(f"{home}/work")
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, MAX_FILE_MIB << 20)
    _limit(resource.RLIMIT_NPROC, 4 * MAX_PROCESSES)
    if limits.memory_mib is not None:
        # Twice over: the supervisor sees resident memory only now and then, this one holds at once.
        _limit(resource.RLIMIT_DATA, baseline + (limits.memory_mib << 20))


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
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(which, (value, value))


def exec_cell(argv: list[str], channel: Channel, env: dict[str, str]) -> NoReturn:
    """Replace the child by a fresh interpreter that reports on the same channel."""
    os.set_inheritable(channel.fd, True)
    own = {CHANNEL_VARIABLE: channel.to_env(), "PYTHONDONTWRITEBYTECODE": "1"}
    os.execve(argv[0], argv, {**os.environ, **env, **own})


CHANNEL_VARIABLE = "PT2BUGS_CHANNEL"
DIE_WITH_PARENT = "PT2BUGS_DIE_WITH_PARENT"
"""Set by `pt2bugs run` to its number for its pytest processes: killed with -9, it takes them along."""


# --- files --------------------------------------------------------------------------------------------


def _shorten(output: Path) -> str:
    """Empty a file that has grown too long, and return its end."""
    with contextlib.suppress(OSError):
        if output.stat().st_size > MAX_OUTPUT_MIB << 20:
            tail = _tail(output)
            os.truncate(output, 0)
            return tail
    return ""


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode("utf-8", errors="backslashreplace")
    except OSError:
        return ""


def _walk_folders(path: Path) -> Iterator[Path]:
    yield path
    with contextlib.suppress(OSError):
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                yield from _walk_folders(Path(entry.path))


def _remove_tree(path: Path) -> None:
    """Remove a folder, also where a check took away its own permissions, or put something else in its place."""
    shutil.rmtree(path, ignore_errors=True)
    if path.is_symlink() or path.is_file():
        with contextlib.suppress(OSError):
            path.unlink()
    elif path.exists():
        for folder in _walk_folders(path):
            with contextlib.suppress(OSError):
                folder.chmod(stat.S_IRWXU)
        shutil.rmtree(path, ignore_errors=True)
