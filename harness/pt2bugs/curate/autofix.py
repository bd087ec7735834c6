"""Fixes what is mechanical in a case file: text format, pins, the main block, its folder. Facts are left alone."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable
from pathlib import Path

from pt2bugs.case.header import decode, parse_case, read_regular
from pt2bugs.case.model import Case, CaseError
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import COMPONENTS, Verdict
from pt2bugs.curate.case_text import with_pin
from pt2bugs.curate.rules import names_a_python
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.results.journal import Record


def autofix(path: Path, records: Iterable[Record]) -> tuple[Path, list[str]]:
    """Fix a file in place, and return where it is now and what was done.

    Args:
        path: the file.
        records: lines of the journal of this case.

    Raises:
        InputError: it cannot be read, is not UTF-8, or cannot be moved.
    """
    try:
        data = read_regular(path)
        text = decode(data)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be fixed: {error}") from None
    done = []
    tidy = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"
    if tidy.encode() != data:
        done.append("line ends, blanks at the ends of lines")
    shown = [record for record in records if record["verdict"] in (Verdict.XFAIL, Verdict.FAIL)]
    with contextlib.suppress(CaseError):
        tidied = _parse(path, tidy)
        shown = [record for record in shown if not names_a_python(tidied, record)]
    failing = {public_or_empty(record["torch"]) for record in shown} - {""}
    pinned = with_pin(tidy, failing, str(path))
    if pinned != tidy:
        done.append("dependencies and requires-python")
    whole = pinned
    try:
        case = _parse(path, pinned)
        whole = _with_main(case, pinned)
        if whole != pinned:
            done.append('a main block (if __name__ == "__main__")')
    except CaseError:
        # What is wrong with it is told by `check`.
        case = None
    if whole.encode() != data:
        write_text(path, whole)
    if case is not None and (place := _place(case)) != path:
        if place.exists():
            raise InputError(f"{path}: belongs to {place}, which is there already")
        place.parent.mkdir(parents=True, exist_ok=True)
        path.rename(place)
        done.append(f"moved to {place}")
        path = place
    return path, done


def _parse(path: Path, text: str) -> Case:
    if path.read_bytes() != text.encode():
        write_text(path, text)
    return parse_case(path)


def _with_main(case: Case, text: str) -> str:
    tree = ast.parse(text)
    if any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body):
        return text
    given = {"device": case.devices[0], "backend": case.backends[0]}
    calls = [f"    {check.name}({', '.join(repr(given[name]) for name in check.parameters)})" for check in case.checks]
    return f'{text}\n\nif __name__ == "__main__":\n' + "\n".join(calls).replace("'", '"') + "\n"


def _place(case: Case) -> Path:
    """Return where the file belongs: in the folder of its component, if it is in a corpus or is waiting beside one."""
    folder = case.path.parent
    if folder.name == case.component:
        return case.path
    if folder.name in COMPONENTS:
        return folder.parent / case.component / case.path.name
    if folder.name == "cases":
        return folder / case.component / case.path.name
    if (folder / "cases").is_dir():
        return folder / "cases" / case.component / case.path.name
    return case.path
