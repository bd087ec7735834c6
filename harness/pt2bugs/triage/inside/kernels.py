"""Compile each text of a kernel once for all runs of a program, inside a child.

Most runs of a triage, and of an exposure, have the C++ compiler compile the same texts. Its output is a function of the
command and the files that it reads, so it is kept; everything that Inductor does is done anew in each run.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WRITTEN = (".so", ".o")
"""Endings of files that a compile writes. Headers are prepared before."""


def share(folder: str) -> None:
    """Have Inductor take the output of a C++ compile that is known, and keep that of one that is not.

    Args:
        folder: for the outputs.
    """
    try:
        builder: Any = importlib.import_module("torch._inductor.cpp_builder")
        compile_: Callable[[str, str], None] = builder.run_compile_cmd
    except (ImportError, AttributeError):  # before torch 2.5
        return

    def run_compile_cmd(cmd_line: str, cwd: str) -> None:
        words = shlex.split(cmd_line)
        at = words.index("-o") + 1 if "-o" in words else 0
        output = Path(cwd, words.pop(at))
        if output.suffix not in _WRITTEN:
            compile_(cmd_line, cwd)
            return
        kept = Path(folder, f"{_digest(words, cwd)}{output.suffix}")
        if kept.exists():
            shutil.copyfile(kept, output)
            return
        compile_(cmd_line, cwd)
        unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
        shutil.copyfile(output, unfinished)
        unfinished.replace(kept)

    builder.run_compile_cmd = run_compile_cmd


def _digest(words: list[str], cwd: str) -> str:
    """Return the digest of a command and of the files that it reads, which are in another folder in each run."""
    digest = hashlib.sha256()
    for word in words:
        path = Path(cwd, word)
        is_read = path.suffix in (".cpp", *_WRITTEN) and path.is_file()
        digest.update(hashlib.sha256(path.read_bytes() if is_read else word.encode()).digest())
    return digest.hexdigest()
