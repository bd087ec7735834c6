"""Writes docs/reference/commands.md from the help of the commands: `python docs/make_commands.py`.

A test holds it up to date.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pt2bugs.cli import COMMANDS, GROUPS, command_parser

PAGE = Path(__file__).with_name("reference") / "commands.md"


def page() -> str:
    """The whole page."""
    lines = ["# Commands", "", "Generated from the help of each command by `python docs/make_commands.py`.", ""]
    lines += ["stdout is data, stderr is progress and messages. Exit codes: 0 all as expected, 1 something is not, 2"]
    lines += [
        "bad usage or input, 3 nothing selected. `pt2bugs --print-completion bash` prints what completes commands,",
        "case ids and releases. On a terminal answers have colours and links (none with `NO_COLOR`), and long ones go",
        "through `PAGER` (none with `--no-pager`).",
        "",
    ]
    known = [name for names in GROUPS.values() for name in names if name in COMMANDS]
    for name in [*known, *(name for name in COMMANDS if name not in known)]:
        lines += [*_command(name), ""]
    return "\n".join(lines).rstrip() + "\n"


def _command(name: str) -> list[str]:
    parser, module = command_parser(name)
    lines = [f"## {name}", "", " ".join((parser.description or "").split())]
    examples = getattr(module, "EXAMPLES", ())
    if examples:
        lines += ["", "```sh", *(part for command, why in examples for part in (f"# {why}", command)), "```"]
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.dest != "help"]
        if actions:
            lines += ["", f"| {group.title} | |", "| --- | --- |"]
            lines += [f"| {_name(action)} | {_cell(str(action.help or '').replace('%%', '%'))} |" for action in actions]
    return lines


def _name(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else "|".join(map(str, action.choices or ()))
    if not action.option_strings:
        return f"`{_cell(value or action.dest)}`"
    takes = action.nargs != 0
    return ", ".join(
        f"`{option} {_cell(value)}`" if takes and value else f"`{option}`" for option in action.option_strings
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
