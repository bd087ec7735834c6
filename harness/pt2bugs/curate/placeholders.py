"""Placeholders: lines of a case file that wait for what only a person knows."""

from __future__ import annotations

from pt2bugs.case.model import Problem

PLACEHOLDER = "TO FILL IN"


def placeholders_in(text: str) -> list[Problem]:
    """Return a problem for each line of `text` that holds a placeholder.

    Args:
        text: the text of a case file.

    Returns:
        The problems, each with its line number, in the order of the lines.
    """
    return [
        Problem(number, f"is to be filled in: {line.partition(PLACEHOLDER)[2].strip(' :#')}")
        for number, line in enumerate(text.split("\n"), 1)
        if PLACEHOLDER in line
    ]
