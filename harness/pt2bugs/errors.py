"""Everything that the command line explains in one sentence instead of a traceback."""

from __future__ import annotations

import shlex
from pathlib import Path


class Pt2bugsError(Exception):
    """Root of all errors that tell the user what is wrong, where, and what to do.

    The command line catches this class alone: anything else is a bug of pt2bugs and shows its traceback.
    """


class InputError(Pt2bugsError):
    """Bad usage or input: a file, an argument, a setting. Exit code 2."""


class NothingSelected(Pt2bugsError):
    """The selection is empty; the message says which filter emptied it. Exit code 3."""


def install_command(extra: str) -> str:
    """Return the command that adds what an extra brings, for this kind of installation: a clone, or a wheel.

    Args:
        extra: its name.
    """
    clone = Path(__file__).resolve().parent.parent.parent
    if not (clone / "pyproject.toml").is_file():
        return f"pip install 'pt2bugs[{extra}]'"
    place = "." if Path.cwd() == clone else str(clone)
    return f"pip install -e {shlex.quote(f'{place}[{extra}]')}"
