"""A copy of a torch folder made of hard links, in which files can be replaced: never written through a link.

The installed environment stays the same to the byte. A file that is patched gets an inode of its own, and its cached
bytecode and precompiled headers go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from filelock import FileLock, Timeout

from pt2bugs.engine.folders import remove_tree
from pt2bugs.engine.warm_cache import MEMORY
from pt2bugs.errors import InputError

MAX_COPIES = 64


class CopyError(InputError):
    """The copy cannot be made.

    Cause: the disk is full, or the folder of the environments cannot be written.
    Remedy: ``pt2bugs envs gc`` makes room.
    """


class PatchedTorch:
    """A copy of an installed torch. It is made when it is first needed, and holds one patch at a time.

    Args:
        installed: the torch folder of an environment.
        root: a folder on the same file system, for this copy alone. What it learns in `home` may be used again.
    """

    def __init__(self, installed: Path, root: Path) -> None:
        self.installed, self.root = installed, root
        self.home = root / "home"
        self._patched: set[str] = set()
        self._is_made = False

    @property
    def path(self) -> Path:
        """The folder to put in front of `sys.path`."""
        return self.root / "packages"

    def patch(self, texts: Mapping[str, str]) -> None:
        """Have these files other texts, and all others those of the installation.

        Args:
            texts: by file, relative to the torch folder.

        Raises:
            CopyError: the copy cannot be made.
        """
        try:
            if not self._is_made:
                self._make()
            for file in sorted(self._patched - texts.keys()):
                self._replace(file)
                if (self.installed / file).exists():
                    os.link(self.installed / file, self.path / "torch" / file)
            for file, text in texts.items():
                (self.path / "torch" / file).parent.mkdir(parents=True, exist_ok=True)
                self._replace(file)
                (self.path / "torch" / file).write_text(text, encoding="utf-8")
            if any(file.endswith(".h") for file in {*texts, *self._patched}):
                for folder in self.home.glob("warm/*/torchinductor_*/precompiled_headers"):
                    remove_tree(folder)
            self._patched = set(texts)
        except OSError as error:
            raise CopyError(f"{self.root}: {error.strerror or error}") from None

    def remember(self, memory: Path) -> None:
        """Let the copy know what the release has learnt about this machine.

        Args:
            memory: the folder of the release's `WarmCache`; the copy's has the same name.
        """
        file = self.home / "warm" / memory.name / MEMORY
        if (memory / MEMORY).exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(memory / MEMORY, file)

    def _replace(self, file: str) -> None:
        """Take a file away together with its bytecode: what is written next is an inode of its own."""
        path = self.path / "torch" / file
        path.unlink(missing_ok=True)
        for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            cached.unlink()

    def _make(self) -> None:
        remove_tree(self.path)
        self.path.mkdir(parents=True)
        # Shared libraries look for those of other packages beside the torch folder.
        for beside in self.installed.parent.iterdir():
            if beside.name == "nvidia" or (beside / "lib").is_dir():
                (self.path / beside.name).symlink_to(beside)
        with contextlib.suppress(FileNotFoundError):
            (self.path / "torch").unlink()
        try:
            shutil.copytree(self.installed, self.path / "torch", copy_function=os.link, symlinks=True)
        except shutil.Error as error:
            raise CopyError(f"{self.root}: {error.args[0][0][2]}") from None
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise CopyError(f"{self.root} is on another file system than {self.installed}") from None
            raise
        self._is_made = True

    def remove(self) -> None:
        """Remove the copy; what it learnt about the compiler stays."""
        remove_tree(self.path)
        self._patched, self._is_made = set(), False


@contextlib.contextmanager
def patched_torch(installed: Path, home: Path, name: str) -> Iterator[PatchedTorch]:
    """Yield a copy that no other process has, and remove it at the end.

    Args:
        installed: the torch folder.
        home: where the copies are kept.
        name: of the environment.

    Raises:
        CopyError: the folder cannot be written.
    """
    with contextlib.ExitStack() as stack:
        for number in range(1, MAX_COPIES):
            root = home / f"{name}-{number}"
            try:
                root.mkdir(parents=True, exist_ok=True)
                stack.enter_context(FileLock(root / "lock", timeout=0))
            except Timeout:
                continue
            except OSError as error:
                raise CopyError(f"{root}: {error.strerror or error}") from None
            copy = PatchedTorch(installed, root)
            stack.callback(copy.remove)
            yield copy
            return
        raise CopyError(f"{home}: all copies are in use")
