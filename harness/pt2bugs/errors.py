"""The errors that the command line explains in one sentence instead of a traceback."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path


class Pt2bugsError(Exception):
    """Root of all errors that tell the user what is wrong, where, and what to do.

    The command line catches this class alone: anything else is a bug of pt2bugs and shows its traceback.
    """


class InputError(Pt2bugsError):
    """Bad usage or input: a file, an argument, a setting. Exit code 2."""


class NothingSelected(Pt2bugsError):
    """The selection is empty; the message says which filter emptied it. Exit code 3."""


def _installer() -> str:
    """Return the beginning of a command that installs into this environment: tools of uv and pipx have no pip."""
    environment = Path(sys.prefix)
    if (environment / "uv-receipt.toml").is_file():
        return "uv tool install --force"
    return "pipx install --force" if (environment / "pipx_metadata.json").is_file() else "pip install"


def _origin() -> str:
    """Return where pt2bugs was installed from, as a requirement has it; empty where an index has the name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        direct = distribution("pt2bugs").read_text("direct_url.json")  # PEP 610
    except PackageNotFoundError:
        return ""
    return f" @ {json.loads(direct)['url']}" if direct else ""


def install_command(extra: str) -> str:
    """Return the command that adds what an extra brings, for this kind of installation: a clone, or a wheel.

    Args:
        extra: its name.
    """
    clone = Path(__file__).resolve().parent.parent.parent
    if not (clone / "pyproject.toml").is_file():
        return f"{_installer()} {shlex.quote(f'pt2bugs[{extra}]{_origin()}')}"
    place = "." if Path.cwd() == clone else str(clone)
    return f"pip install -e {shlex.quote(f'{place}[{extra}]')}"


def last_line(error: BaseException) -> str:
    """Return the last line of what an error says, which names the cause where another program's output is told.

    Args:
        error: of any class.
    """
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), "")


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says; of one without a word its type.

    Args:
        error: of any class.
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
