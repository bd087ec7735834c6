"""Marked lines: what only a person knows, and a case file does not say yet."""

from __future__ import annotations

from pt2bugs.case.model import Problem

MARK = "TO FILL IN"


def marks_in(text: str) -> list[Problem]:
    """The marked lines of a file."""
    return [
        Problem(number, f"is to be filled in: {line.partition(MARK)[2].strip(' :#')}")
        for number, line in enumerate(text.split("\n"), 1)
        if MARK in line
    ]
