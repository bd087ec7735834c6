"""The patch in a folder: Python and header text that differs from the wheel. All else is refused."""

from __future__ import annotations

import ast
import difflib
import hashlib
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pt2bugs.repair.workplace import TEXT, WorkplaceError

_COUNTERS = re.compile(
    r"\bcounters\b|\bgraph_break_reasons\b|\bgenerated_kernel_count\b|\bir_nodes_pre_fusion\b|\bcompilation_metrics\b"
    r"|\bsetprofile\b|\bsettrace\b|\baddaudithook\b|\beval_with_key\b"
)
_LOOKS = re.compile(
    r"pt2bugs|program\.py|\bsys\.argv\b|\b_getframe\b|\bcurrentframe\b|\binspect\.stack\b|\bextract_stack\b"
    r"|\b__main__\b|\bos\.environ\b|\bos\.getenv\b|\bco_filename\b|\bgethostname\b|\bgetpid\b"
)
_MIN_NAME = 4
MAX_BYTES = 8 << 20
"""Bytes of a file of a patch. The longest of torch has two million."""


@dataclass(frozen=True)
class Patch:
    """Texts by file, relative to the torch folder; `before` has those of the wheel, where the file is not new."""

    texts: Mapping[str, str]
    before: Mapping[str, str]

    @property
    def sha256(self) -> str:
        """A hash of the texts."""
        parts = "".join(f"{file}\0{text}\0" for file, text in sorted(self.texts.items()))
        return hashlib.sha256(parts.encode()).hexdigest()

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        """The lines that are new (``+``) or gone (``-``), by file, without comments."""
        changed = {}
        for file, text in self.texts.items():
            old = _code(file, self.before.get(file, ""))
            new = _code(file, text)
            compared = difflib.unified_diff(old, new, lineterm="", n=0)
            changed[file] = [line for line in compared if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        return {file: lines for file, lines in changed.items() if lines}

    def signs_of_going_around(self, program: str, task: str) -> Iterator[str]:
        """Yield what in the text itself is no repair: it counts for itself, or looks for the program.

        Args:
            program: its text.
            task: its id.
        """
        names = {
            node.name
            for node in ast.walk(ast.parse(program))
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and len(node.name) >= _MIN_NAME
        }
        names |= {task, task.rpartition("_")[2]}
        for file, lines in self.lines.items():
            if file.startswith("testing/"):
                yield f"{file}: torch.testing is what checks compare with"
            for line in lines:
                if match := _COUNTERS.search(line):
                    yield f"{file}: touches {match[0]}, which counts what the compiler does"
                # What is gone looks at nothing any more.
                if (match := _LOOKS.search(line)) and line.startswith("+"):
                    yield f"{file}: looks at {match[0]}, which is not the compiler's to ask"
                if (match := re.search(r"""["'](\w+)["']""", line)) and match[1] in names:
                    yield f"{file}: names {match[1]} of the program"


def read_patch(folder: Path, torch: Path) -> Patch:
    """Return the patch of a folder against the wheel.

    Args:
        folder: as `start` made it.
        torch: the torch folder of the bad release.

    Raises:
        WorkplaceError: it has no torch of that release, or more than Python and header text was changed.
    """
    copy = folder / "torch"
    version = Path("version.py")
    if not (copy / version).is_file():
        raise WorkplaceError(f"{folder}: has no torch; `pt2bugs repair start` makes it")
    if (copy / version).read_bytes() != (torch / version).read_bytes():
        raise WorkplaceError(f"{folder}: its torch/version.py is another than that of the release of this task")
    texts: dict[str, str] = {}
    before: dict[str, str] = {}
    for name in sorted(_files(torch) - _files(copy)):
        raise WorkplaceError(f"{copy / name}: is gone; a patch may change text, not delete files")
    for name in sorted(_files(copy)):
        path, original = copy / name, torch / name
        if not name.isprintable():
            raise WorkplaceError(f"{str(path)!r}: a patch has no file of such a name")
        if path.is_symlink() and not original.is_symlink():
            raise WorkplaceError(f"{path}: is a link; a patch is text of its own")
        if path.suffix not in TEXT:
            if not _same(path, original):
                raise WorkplaceError(f"{path}: a patch is of {', '.join(TEXT)} files alone")
            continue
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            raise WorkplaceError(f"{path}: is no file of at most {MAX_BYTES >> 20} MiB")
        data = path.read_bytes()
        if original.is_file():
            if path.stat().st_nlink > 1 and path.stat().st_ino == original.stat().st_ino:
                raise WorkplaceError(f"{path}: is a hard link to the environment; a patch is text of its own")
            old = original.read_bytes()
            if data == old:
                continue
            before[name] = old.decode("utf-8", errors="replace")
        try:
            texts[name] = data.decode("utf-8")
        except UnicodeDecodeError:
            raise WorkplaceError(f"{path}: is no text") from None
        if "\0" in texts[name]:
            raise WorkplaceError(f"{path}: is no text")
    return Patch(texts, before)


def _files(folder: Path) -> set[str]:
    """Return the files of a torch folder, links to folders included; what Python caches is nobody's patch."""
    names = set()
    todo = [folder]
    while todo:
        for path in todo.pop().iterdir():
            if path.name == "__pycache__" and not path.is_symlink():
                continue
            if path.is_dir() and not path.is_symlink():
                todo.append(path)
            else:
                names.add(path.relative_to(folder).as_posix())
    return names


def _same(path: Path, original: Path) -> bool:
    if not original.is_file() or not path.is_file() or path.stat().st_size != original.stat().st_size:
        return False
    # A copy keeps the time of its original, and any write changes it. Nothing but text is taken from the folder.
    return path.stat().st_mtime_ns == original.stat().st_mtime_ns or path.read_bytes() == original.read_bytes()


def _code(file: str, text: str) -> list[str]:
    """Return the lines of a text, those of Python without comments."""
    if not file.endswith(".py"):
        return text.splitlines()
    lines = text.splitlines()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    except (tokenize.TokenError, SyntaxError):
        pass
    return [line.rstrip() for line in lines if line.strip()]
