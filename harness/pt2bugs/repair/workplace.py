"""The folder in which a task is worked on: a copy of the bad release's torch to write to, the program, and a Python.

A write there must not reach the environment that others use. Text is copied. The libraries, nine tenths of the bytes,
are hard links; not to those of the environment, but to a copy of them that is kept for this alone and cannot be written
without changing its mode first.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
from pathlib import Path

from filelock import FileLock

from pt2bugs.envs.environment import Environment
from pt2bugs.errors import InputError
from pt2bugs.repair.tasks import Task

LARGE = 1 << 20
"""Bytes from which on a file that is no text is linked."""
TEXT = (".py", ".h", ".hpp", ".cuh")
"""Endings of files that a patch may change."""
PROGRAM = "program.py"


class WorkplaceError(InputError):
    """A folder that is not as `start` makes it.

    Cause: it is not empty before, or what lies there cannot be a patch of Python and header text.
    Remedy: the message names the file; ``pt2bugs repair start`` makes a new folder.
    """


def start(task: Task, environment: Environment, torch: Path, folder: Path, store: Path, shown: str = "") -> None:
    """Make the folder.

    Args:
        task: what is to be repaired.
        environment: of the bad release.
        torch: its torch folder.
        folder: new or empty.
        store: where the libraries for such folders are kept.
        shown: beside the program: a text, such as a traceback.

    Raises:
        WorkplaceError: the folder has something in it, or cannot be written.
    """
    check_is_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        libraries = _libraries(torch, store / environment.key.folder)

        def copy(source: str, target: str) -> str:
            kept = libraries / Path(source).relative_to(torch)
            if kept.is_file():
                return _link(kept, Path(target))
            return str(shutil.copy2(source, target))

        shutil.copytree(torch, folder / "torch", copy_function=copy)
        (folder / PROGRAM).write_text(task.program, encoding="utf-8")
        if shown:
            (folder / "shown.txt").write_text(shown, encoding="utf-8")
        launcher = folder / "python"
        launcher.write_text(_launcher(environment.python, torch), encoding="utf-8")
        launcher.chmod(0o755)
    except shutil.Error as error:
        raise WorkplaceError(f"{folder}: {error.args[0][0][2]}") from None
    except OSError as error:
        raise WorkplaceError(f"{folder}: {error.strerror or error}") from None


def check_is_empty(folder: Path) -> None:
    """Do nothing if the folder is new or empty.

    Args:
        folder: that is to be made.

    Raises:
        WorkplaceError: it is not.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkplaceError(f"{folder}: is not an empty folder; name a new one")


def _libraries(torch: Path, store: Path) -> Path:
    """Return the folder with a copy of the large files of a torch, made where it is not or was written to."""
    store.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{store}.lock"):
        for path in torch.rglob("*"):
            if path.suffix in TEXT or not path.is_file() or path.is_symlink() or path.stat().st_size < LARGE:
                continue
            kept = store / path.relative_to(torch)
            if kept.exists() and _stamp(kept) == _stamp(path):
                continue
            kept.parent.mkdir(parents=True, exist_ok=True)
            # Removed, not overwritten: folders made before keep what they have.
            kept.unlink(missing_ok=True)
            new = kept.with_name(f"{kept.name}.new")
            shutil.copy2(path, new)
            new.chmod(0o555)
            new.replace(kept)
    return store


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _link(kept: Path, target: Path) -> str:
    try:
        os.link(kept, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK):
            raise
        shutil.copy2(kept, target)
    return str(target)


def _launcher(python: Path, torch: Path) -> str:
    """Return a script that runs Python with the torch beside it; what that needs of other packages is not linked."""
    libraries = sorted(str(path) for path in torch.parent.glob("nvidia/**/lib") if path.is_dir())
    lines = [
        "#!/bin/sh",
        'here=$(cd "$(dirname "$0")" && pwd)',
        'export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"',
    ]
    if libraries:
        joined = shlex.quote(":".join(libraries))
        lines.append(f'export LD_LIBRARY_PATH={joined}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"')
    return "\n".join([*lines, f'exec {shlex.quote(str(python.absolute()))} "$@"', ""])
