"""The output of commands: data on stdout, progress and messages on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from typing import Any


def say(text: str) -> None:
    """Tell the user something, on stderr.

    Args:
        text: a line.
    """
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Warn the user, on stderr.

    Args:
        text: a line.
    """
    say(f"pt2bugs: warning: {text}")


def print_json(value: Any) -> None:
    """Print a value as JSON.

    Args:
        value: of plain types.
    """
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()


def is_terminal() -> bool:
    """Return whether stdout is read by a person: a terminal, or what ``FORCE_COLOR`` says is to be taken for one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def fit(text: str, indent: int = 2) -> str:
    """Return a line wrapped to the width of the terminal; whole in a pipe.

    Args:
        text: may begin with blanks.
        indent: of the lines that follow the first.
    """
    if not sys.stdout.isatty():
        return text
    width = max(20, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def print_markdown(text: str) -> None:
    """Print Markdown: as it is in a pipe, to be pasted, and without its markup on a terminal.

    Args:
        text: a page.
    """
    if not is_terminal():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
