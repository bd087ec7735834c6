"""Mends what is mechanical in a case file: text format, pins, the main block, its folder. Facts are left alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case, CaseError
from pt2bugs.case.script_block import CLOSING, OPENING, decode, read_regular
from pt2bugs.case.words import COMPONENTS, Verdict
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record
from pt2bugs.results.tables import version_key

COMPANIONS = ("numpy", "setuptools")


def mend(path: Path, records: Iterable[Record]) -> tuple[Path, list[str]]:
    """Mend a file in place; returns where it is now, and what was done.

    Args:
        records: lines of the journal of this case.

    Raises:
        InputError: it cannot be read, is not UTF-8, or cannot be moved.
    """
    try:
        data = read_regular(path)
        text = decode(data)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be mended: {error}") from None
    done = []
    tidy = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n") + "\n"
    if tidy.encode() != data:
        done.append("line ends, blanks at the ends of lines")
    pinned = _pinned(tidy, records)
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


def _pinned(text: str, records: Iterable[Record]) -> str:
    """The text with a Python and a torch release in its metadata: the newest that the journal has seen fail."""
    lines = text.split("\n")
    if OPENING not in lines or CLOSING not in lines[lines.index(OPENING) :]:
        return text
    start = lines.index(OPENING)
    end = lines.index(CLOSING, start)
    block = lines[start:end]
    if not any(re.match(r"# requires-python\s*=", line) for line in block):
        lines.insert(start + 1, '# requires-python = ">=3.10"')
        end += 1
    failing = {public_or_empty(r["torch"]) for r in records if r["verdict"] in (Verdict.XFAIL, Verdict.FAIL)} - {""}
    newest = max(failing, key=version_key, default="")
    if not newest:
        return "\n".join(lines)
    line = f"# dependencies = [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in (f'torch=={newest}', *COMPANIONS))}]"
    at = next((i for i in range(start, end) if re.match(r"# dependencies\s*=\s*\[", lines[i])), None)
    if at is None:
        lines.insert(start + 2, line)
        return "\n".join(lines)
    # The list may go on over several lines.
    stop = next((i for i in range(at, end) if lines[i].rstrip().endswith("]")), at)
    named = "\n".join(lines[at : stop + 1])
    pin = re.search(r'"torch==(\d+\.\d+\.\d+)"', named)
    if pin is None:
        lines[at : stop + 1] = [line]
    elif pin[1] not in failing:
        lines[at : stop + 1] = re.sub(r'"torch==[^"]*"', f'"torch=={newest}"', named).split("\n")
    return "\n".join(lines)


def _with_main(case: Case, text: str) -> str:
    tree = ast.parse(text)
    if any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body):
        return text
    given = {"device": case.devices[0], "backend": case.backends[0]}
    calls = [f"    {one.name}({', '.join(repr(given[name]) for name in one.parameters)})" for one in case.checks]
    return f'{text}\n\nif __name__ == "__main__":\n' + "\n".join(calls).replace("'", '"') + "\n"


def _place(case: Case) -> Path:
    """Where the file belongs: in the folder of its component, if it is in a corpus or is waiting beside one."""
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
