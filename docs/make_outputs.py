"""Writes what the commands shown in the pages print, from the committed results: `python docs/make_outputs.py`.

A block of ``console`` that shows a command and its output gets that output anew: what goes to stdout, the first lines
of it, cut at the width of a page. A test holds it up to date.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

from pt2bugs.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/evaluation/backends.md")
WIDTH, LINES = 118, 14
_BLOCK = re.compile(r"(```console\n\$ (pt2bugs [^\n]*)\n)(.+?)(```)", re.DOTALL)


def page(text: str) -> str:
    """The page with the outputs of today. The current folder must be that of the repository."""
    return _BLOCK.sub(lambda match: f"{match[1]}{shown(_output(match[2]))}{match[4]}", text)


def shown(output: str) -> str:
    """Return what a page shows of an output."""
    lines = [line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..." for line in output.rstrip().splitlines()]
    left_out = [f"... {len(lines) - LINES} more lines"] if len(lines) > LINES + 1 else []
    return "".join(f"{line}\n" for line in [*(lines[:LINES] if left_out else lines), *left_out])


def _output(command: str) -> str:
    caught = io.StringIO()
    with contextlib.redirect_stdout(caught), contextlib.redirect_stderr(io.StringIO()):
        main(shlex.split(command)[1:])
    return caught.getvalue()


if __name__ == "__main__":
    for name in PAGES:
        path = ROOT / name
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
