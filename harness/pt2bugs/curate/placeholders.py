"""Placeholders: lines of a case file that wait for what only a person knows."""

from __future__ import annotations

import re
from itertools import takewhile

from pt2bugs.case.model import Problem

PLACEHOLDER = "TO FILL IN"
_KEY = re.compile(rf'^# ([a-z-]+) = "" +# {PLACEHOLDER}')


def placeholders_in(text: str) -> list[Problem]:
    """Return a problem for each line of `text` that holds a placeholder; that of a key names it.

    Args:
        text: the text of a case file.

    Returns:
        The problems, each with its line number, in the order of the lines.
    """
    lines = text.split("\n")
    problems = []
    for number, line in enumerate(lines, 1):
        if PLACEHOLDER in line:
            hint = line.partition(PLACEHOLDER)[2].strip(" :#")
            key = _KEY.match(line)
            if key:
                # The hint behind a key goes on in comments below it.
                rest = takewhile(lambda below: below.startswith("# # "), lines[number:])
                hint = " ".join([hint, *(below.removeprefix("# # ") for below in rest)])
            problems.append(Problem(number, f"{f'{key[1]} ' if key else ''}is to be filled in: {hint}"))
    return problems
