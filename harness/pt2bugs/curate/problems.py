"""Everything that is wrong with the text of a case file, at once: what breaks the contract, what is not filled in, what
makes it no good case. Nothing is run."""

from __future__ import annotations

import re
from pathlib import Path

from pt2bugs.case.header import parse_case
from pt2bugs.case.model import CaseError, Problem
from pt2bugs.case.script_block import decode, read_regular
from pt2bugs.curate.invented import identity_problem
from pt2bugs.curate.marks import MARK, marks_in
from pt2bugs.curate.review import NO_ENTRY, check_header, check_imports, check_size


def problems_of(path: Path) -> list[Problem]:
    """The problems of a file by line; none if its text is that of a good case, or of one that is to be measured.

    A file that cannot be read is a problem too.
    """
    try:
        text = decode(read_regular(path))
    except (OSError, UnicodeDecodeError) as error:
        return [Problem(None, f"cannot be read: {error}")]
    found = marks_in(text)
    marked = {problem.line for problem in found}
    try:
        case = parse_case(path)
    except CaseError as error:
        found += [one for one in error.problems if one.line not in marked and not _is_marked(one, text)]
    else:
        found += [
            Problem(bug.line, f"identity: {reason}") for bug in case.bugs if (reason := identity_problem(case, bug))
        ]
        for finding in (check_header(case), check_imports(case), check_size(case)):
            if finding.holds is False:
                # An entry is written by `bless` from measurements: no edit of the text is waited for.
                told = [reason for reason in finding.message.split("; ") if reason != NO_ENTRY]
                found += [Problem(None, f"{finding.rule}: {reason}") for reason in told]
    return sorted(found, key=lambda problem: (problem.line or 0, problem.text))


def _is_marked(problem: Problem, text: str) -> bool:
    """Whether a missing key is one that a marked line asks for."""
    key = re.search(r"needs '([\w-]+)'$", problem.text)
    return key is not None and re.search(rf'^# {key[1]} = ""  # {MARK}', text, re.MULTILINE) is not None


def shown(path: Path, problem: Problem) -> str:
    """A problem on one line, which an editor can jump to."""
    return f"{path}{f':{problem.line}' if problem.line else ''}: {problem.text}"
