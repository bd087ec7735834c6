"""Packages that a user names beside torch, with ``--with``: what tells two of them apart, and what uv installs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pt2bugs.errors import InputError

_LEFT_OUT = frozenset({".git", "__pycache__", "build", "dist", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache"})
_PLAIN = re.compile(r"[a-z0-9]+")


def package_word(text: str) -> tuple[str, str]:
    """Return the word that stands for a requirement or a path in keys and journals, and what uv gets for it.

    A path becomes its last part and a digest of what is there: a wheel that was built again is another package.

    Args:
        text: of ``--with``.

    Raises:
        InputError: it is neither a requirement nor a file or folder.
    """
    path = Path(text)
    if path.exists():
        return f"{path.resolve().name}@{_digest_of(path)}", str(path.resolve())
    try:
        return str(Requirement(text)).replace(" ", ""), text
    except InvalidRequirement:
        problem = "is neither a requirement, such as openvino==2026.4.1, nor a wheel or folder that is there"
        raise InputError(f"--with {text}: {problem}") from None


def is_package(text: str, name: str) -> bool:
    """Return whether a requirement or a wheel is of a package.

    Args:
        text: of ``--with``.
        name: of the package.

    Raises:
        InputError: it is neither a requirement nor a file or folder.
    """
    word, _ = package_word(text)
    wheel = word.partition("@")[0]
    own = wheel.partition("-")[0] if wheel.endswith(".whl") else re.split(r"[^\w.-]", word)[0]
    return canonicalize_name(own) == canonicalize_name(name)


def read_requirements(path: Path, say: Callable[[str], None]) -> list[str]:
    """Return the requirements of a file but torch, whose release is the question.

    Args:
        path: of the file.
        say: told that torch is left out.

    Raises:
        InputError: it cannot be read, or holds options of pip.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--requirements {path}: cannot be read: {error}") from None
    requirements = []
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("-"):
            raise InputError(f"--requirements {path}:{number}: {text}: options of pip are not read; list requirements")
        if re.split(r"[^\w.-]", text, maxsplit=1)[0].lower() == "torch":
            say(f"{path}:{number}: {text} is left out: the release of torch is the question")
            continue
        requirements.append(text)
    return requirements


def folder_word(word: str) -> str:
    """Return a word as part of a folder's name.

    Args:
        word: for a package.
    """
    if _PLAIN.fullmatch(word):
        return word
    name = re.split(r"[^A-Za-z0-9_.-]|-\d", word, maxsplit=1)[0][:40]
    return f"{name}-{hashlib.sha256(word.encode()).hexdigest()[:8]}"


def _digest_of(path: Path) -> str:
    digest = hashlib.sha256()
    if path.is_file():
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()[:8]
    for file_ in sorted(path.rglob("*")):
        parts = file_.relative_to(path).parts
        if file_.is_file() and not any(part in _LEFT_OUT or part.endswith(".egg-info") for part in parts):
            stat = file_.stat()
            digest.update(f"{parts} {stat.st_size} {stat.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:8]
