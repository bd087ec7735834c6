"""What the commands print: data on stdout, progress and messages on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any


def say(text: str) -> None:
    """Tell the user something, on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    say(f"pt2bugs: warning: {text}")


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()


def is_terminal() -> bool:
    """Whether stdout is read by a person: a terminal, or what ``FORCE_COLOR`` says is to be taken for one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def cut(text: str) -> str:
    """A line cut to the width of the terminal; whole in a pipe."""
    if not sys.stdout.isatty():
        return text
    width = max(20, shutil.get_terminal_size().columns)
    return text if len(text) <= width else f"{text[: width - 1]}…"
