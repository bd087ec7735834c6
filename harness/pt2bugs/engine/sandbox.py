"""The sandbox of cells: what they see of the file system, how much they may write, and a network of loopback alone.

A supervisor has one, of the code that nobody has read. It stays outside, in the file system of the user: it makes the
namespaces in a helper process, keeps their descriptors, and each cell enters them before it gives up its privileges.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pt2bugs.engine import linux
from pt2bugs.engine.folders import mirror, remove_tree
from pt2bugs.engine.mounts import become_root, bind, mount_layer, mount_memory, mount_terminals, seal
from pt2bugs.engine.restrictions import has_filters

NETWORK, FILES, DISK, KEYS = "network", "files", "disk", "keys"
"""Things that the sandbox keeps a cell from. The journal names those that a machine cannot do as `unconfined`."""

FILES_NAMESPACE = "mnt"
"""The namespace that hides files, as /proc names it."""

READ_VARIABLE, WRITE_VARIABLE = "PT2BUGS_READ", "PT2BUGS_WRITE"
"""Variables that name further paths for cells to read or write, as PATH does: a licence, the cache of a backend."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys", "/nix", "/gnu")
_RESOLVER = "/run/systemd/resolve"
_PROC_SEALED = ("sys", "sysrq-trigger", "irq", "bus", "fs")
"""Parts of /proc by which root changes the machine."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ACCELERATORS = ("nvidia*", "dri", "kfd", "dxg", "accel*", "infiniband", "davinci*", "hisi_hdc", "devmm_svm", "hl*")
_COMPILERS = ("g++", "c++", "clang++", "gcc", "cc", "clang", "nvcc", "ld")
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "CONDA_PREFIX")
_HOME = os.path.expanduser("~")  # noqa: PTH111
"""Home of the user. A cell has another one."""
_IN_MEMORY = ("/tmp", "/dev/shm")
_EVERYBODYS = (*_IN_MEMORY, "/var/tmp")


def named_paths(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the files and folders of a variable that are there.

    Args:
        environ: the variables.
        name: `READ_VARIABLE` or `WRITE_VARIABLE`.
    """
    paths = (os.path.realpath(path) for path in environ.get(name, "").split(os.pathsep) if path)
    return tuple(path for path in paths if os.path.exists(path))  # noqa: PTH110


def environment_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that code of this interpreter needs: its packages, its programs, its compilers.

    Args:
        environ: its variables.
    """
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, str(Path(__file__).resolve().parent.parent)]
    for name in ("PATH", "LD_LIBRARY_PATH", "CPATH", "LIBRARY_PATH", "CPLUS_INCLUDE_PATH"):
        paths += environ.get(name, "").split(os.pathsep)
    paths += [environ.get(name, "") for name in _TOOLKITS]
    for name in (environ.get("CXX", ""), environ.get("CC", ""), *_COMPILERS):
        if compiler := shutil.which(name) if name else None:
            paths.append(str(Path(compiler).resolve().parent.parent))
    # An editable installation, or a link into a cache of packages, lies elsewhere.
    for name, module in list(sys.modules.items()):
        if "." not in name and (file := getattr(module, "__file__", None)):
            whole = hasattr(module, "__path__")
            paths.append(str(Path(file).resolve().parent) if whole else os.path.realpath(file))
    return _needed(path for path in paths if path.startswith("/") and not is_shared(path))


def beside(path: str) -> str:
    """Return what a program needs of its surroundings: its folder, or itself where that folder is everybody's.

    Args:
        path: of the program.
    """
    folder = os.path.dirname(path)  # noqa: PTH120
    return path if is_shared(folder) else folder


def is_shared(path: str) -> bool:
    """Return whether a folder is not one of a program alone: a home, one that has homes in it, a temporary one.

    Args:
        path: of the folder.
    """
    return any(_is_in(place, path) for place in (_HOME, tempfile.gettempdir(), *_EVERYBODYS))


@dataclass
class View:
    """Namespaces for cells, by name as in /proc, as open descriptors."""

    descriptors: Mapping[str, int] = field(default_factory=dict)

    def enter(self) -> None:
        """Enter them for good.

        Raises:
            OSError: the system refuses it.
        """
        for descriptor in self.descriptors.values():
            linux.enter(descriptor)
        self.close()

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self.descriptors.values():
            os.close(descriptor)


@dataclass(frozen=True)
class Surroundings:
    """Files that every cell of an engine meets.

    Args:
        read: files and folders that it reads.
        write: files and folders that it may write.
        learnt: the folder of what the environment has learnt. What a cell writes there it alone sees.
        disk_bytes: that files of a cell may take, its shared memory too; all processors' cells together take no more
            than half of the machine's memory.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    learnt: str = ""
    disk_bytes: int = 8 << 30


class Sandbox:
    """The sandbox for the cells of one supervisor, which must have namespaces of its own.

    Args:
        disk: the place of what cells write; it is made.
        surroundings: of every cell.
    """

    def __init__(self, disk: Path, surroundings: Surroundings) -> None:
        self._disk, self._around = disk, surroundings
        self._asked: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], bool] | None = None
        self._view = View()
        self._lent: dict[str, Path] = {}
        self._kept: set[str] = set()
        disk.mkdir(exist_ok=True)
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // os.sysconf("SC_NPROCESSORS_ONLN")
        is_bounded = False
        with contextlib.suppress(OSError):
            mount_memory(str(disk), min(surroundings.disk_bytes, memory // 2), 0o700)
            is_bounded = True
        self.renew()
        made = self.view((), network=False).descriptors
        able = {NETWORK: "net" in made, FILES: FILES_NAMESPACE in made, DISK: is_bounded, KEYS: has_filters()}
        self.unconfined = [word for word, is_able in able.items() if not is_able]
        """The words for what the machine cannot do."""

    @property
    def cells(self) -> Path:
        """Return the folder of the folders of cells."""
        return self._disk / "cells"

    @property
    def _writable(self) -> dict[str, str]:
        """Return what a cell may change, and where it lies."""
        shared = {path: path for path in (str(self.cells), *self._around.write)}
        return {**shared, **{path: str(place) for path, place in self._lent.items()}}

    def renew(self) -> None:
        """Remove what a cell has left outside its folder."""
        for name in ("cells", "tmp", "shm", "learnt", "work"):
            folder = self._disk / name
            folder.mkdir(exist_ok=True)
            folder.chmod(stat.S_IRWXU)
        for name in ("tmp", "shm"):
            for left in set(os.listdir(self._disk / name)) - self._kept:  # noqa: PTH208
                remove_tree(self._disk / name / left)
        if os.listdir(self._disk / "learnt"):  # noqa: PTH208
            self._forget_view()
            remove_tree(self._disk / "learnt")
            (self._disk / "learnt").mkdir()

    def view(self, read: Sequence[str], write: Sequence[str] = (), copy: Sequence[str] = (), *, network: bool) -> View:
        """Return the namespaces for a cell: the last ones, unless it needs others.

        The folders that it may change are shown to it as copies. Who reads them afterwards, outside of the sandbox,
        must meet no link that leads elsewhere, no pipe without an end, and no more than a disk takes.

        Args:
            read: files and folders that it reads beside those of every cell.
            write: folders of whose copies `take_back` keeps the files.
            copy: folders of whose copies nothing is kept.
            network: whether it may use the network.

        Raises:
            OSError: the system is out of processes or memory, or a folder does not fit into it.
        """
        asked = (tuple(read), tuple(write), tuple(copy), network)
        if self._asked != asked:
            self._forget_view()
            needed = _needed([*self._around.read, *read, *([_RESOLVER] if network else [])])
            for number, folder in enumerate(dict.fromkeys([*write, *copy])):
                self._lent[folder] = self._disk / "lent" / str(number)
                self._lent[folder].mkdir(parents=True)
            self._view, self._asked = self._make(needed, network=network), asked
        for folder, place in self._lent.items():
            mirror(Path(folder), place)
        return self._view

    def take_back(self) -> None:
        """Keep the files of the folders that the last cell could write.

        Raises:
            OSError: they do not fit onto the disk.
        """
        written = self._asked[1] if self._asked and FILES_NAMESPACE in self._view.descriptors else ()
        for folder in written:
            mirror(self._lent[folder], Path(folder))

    def _forget_view(self) -> None:
        self._view.close()
        self._view, self._asked, self._lent = View(), None, {}
        remove_tree(self._disk / "lent")

    def _make(self, needed: list[str], *, network: bool) -> View:
        own = (*needed, *self._writable, self._around.learnt)
        self._kept = {top.rpartition("/")[2] for path in own if (top := _top_in_memory(path))}
        self.renew()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                # Else its namespaces could not be opened by an ordinary user's process.
                linux.may_be_traced(True)
                os.write(writer, " ".join(self._become(needed, network=network)).encode())
                os.close(writer)
                signal.pause()
            finally:
                os._exit(1)
        os.close(writer)
        with os.fdopen(reader, "rb") as made:
            names = made.read().decode().split()
        try:
            return View({name: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names})
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _become(self, needed: list[str], *, network: bool) -> list[str]:
        """Enter new namespaces, and return the names of those that there are."""
        made = []
        if not network and linux.leave_network():
            made.append("net")
        if linux.leave_messages():
            made.append("ipc")
        with contextlib.suppress(OSError):
            linux.leave_mounts()
            self._show(needed)
            made.append(FILES_NAMESPACE)
        return made

    def _show(self, needed: list[str]) -> None:
        """Become a process that sees nothing but what is needed.

        Raises:
            OSError: the system refuses a step.
        """
        root = str(self._disk / "root")
        os.makedirs(root, exist_ok=True)  # noqa: PTH103
        mount_memory(root)
        for path in _SYSTEM:
            if os.path.islink(path):  # noqa: PTH114
                os.symlink(os.readlink(path), root + path)  # noqa: PTH115, PTH211
            elif os.path.isdir(path):  # noqa: PTH112
                _show_sealed(path, root)
        if os.geteuid() == 0:
            _hide_secrets(f"{root}/etc")
        bind("/proc", f"{root}/proc")
        for name in _PROC_SEALED:
            path = f"{root}/proc/{name}"
            if os.path.exists(path):  # noqa: PTH110
                bind(path, path)
                seal(path)
        _show_devices(root)
        bind(str(self._disk / "shm"), f"{root}/dev/shm")
        bind(str(self._disk / "tmp"), f"{root}/tmp")
        own = [root]
        for path in (*needed, *self._writable, self._around.learnt):
            if (top := _top_in_memory(path)) and top != path:
                # A mount cannot be renamed or removed, what leads to one can.
                own += _mount_once(root + top)
        for path in needed:
            _show_sealed(path, root)
        for path, place in self._writable.items():
            bind(place, root + path)
        if learnt := self._around.learnt:
            try:
                mount_layer(learnt, str(self._disk / "learnt"), str(self._disk / "work"), root + learnt)
            except OSError:
                _show_sealed(learnt, root)
        os.makedirs(f"{root}/var", exist_ok=True)  # noqa: PTH103
        if not os.path.exists(f"{root}/var/tmp"):  # noqa: PTH110
            os.symlink("/tmp", f"{root}/var/tmp")  # noqa: PTH211
        for path in own:
            seal(path, below=False)
        become_root(root)


def probe() -> list[str]:
    """Return what this machine cannot keep a cell from. A child tries: what has entered a namespace cannot leave it."""
    with tempfile.TemporaryDirectory(prefix="pt2bugs-") as folder:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                inner = os.fork() if linux.enter_namespace() else -1
                if inner > 0:
                    os.waitpid(inner, 0)
                elif inner == 0 and linux.mount_own_proc():
                    words = Sandbox(Path(folder) / "disk", Surroundings()).unconfined
                    os.write(writer, f"tried {' '.join(words)}".encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            tried, *words = told.read().decode().split() or [""]
        os.waitpid(pid, 0)
    return words if tried else unconfined_without_namespaces()


def unconfined_without_namespaces() -> list[str]:
    """Return what cells that have no namespaces are not kept from."""
    return [NETWORK, FILES, DISK, *([] if has_filters() else [KEYS])]


def _needed(paths: Iterable[str]) -> list[str]:
    """Return those that are there and lie in no other one nor in a folder of the system; the shortest first."""
    needed: list[str] = []
    for path in sorted({place for given in paths for place in (given, os.path.realpath(given))}, key=len):
        devices = [] if _top_in_memory(path) else ["/dev"]
        if os.path.exists(path) and not any(_is_in(path, place) for place in [*_SYSTEM, "/proc", *devices, *needed]):  # noqa: PTH110
            needed.append(path)
    return needed


def _top_in_memory(path: str) -> str:
    """Return the top of a path where a cell has a folder of its own, as ``/tmp/a`` of ``/tmp/a/b``; empty elsewhere."""
    return next((match[0] for folder in _IN_MEMORY if (match := re.match(f"{folder}/[^/]+", path))), "")


def _is_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _show_sealed(path: str, root: str) -> None:
    bind(path, root + path)
    seal(root + path)


def _mount_once(path: str) -> list[str]:
    if os.path.ismount(path):
        return []
    os.makedirs(path, exist_ok=True)  # noqa: PTH103
    mount_memory(path)
    return [path]


def _show_devices(root: str) -> None:
    """Make a folder of devices that do no harm, accelerators among them."""
    there = [f"/dev/{name}" for name in _DEVICES]
    there += [path for name in _ACCELERATORS for path in glob.glob(f"/dev/{name}")]  # noqa: PTH207
    for path in there:
        if os.path.exists(path):  # noqa: PTH110
            bind(path, root + path)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{root}/dev/{name}")  # noqa: PTH211
    with contextlib.suppress(OSError):
        os.mkdir(f"{root}/dev/pts")  # noqa: PTH102
        mount_terminals(f"{root}/dev/pts")
        os.symlink("pts/ptmx", f"{root}/dev/ptmx")  # noqa: PTH211


def _hide_secrets(folder: str) -> None:
    """Hide files that only root may read: a cell of root is root, without its privileges."""
    for place, folders, files in os.walk(folder):
        for name in [*files, *folders]:
            path = os.path.join(place, name)  # noqa: PTH118
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode) and not mode & stat.S_IROTH:
                bind("/dev/null", path)
            elif stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
                mount_memory(path)
                seal(path)
                folders.remove(name)
