"""A new case file: complete but for what only a person knows, which stands in placeholders."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import black
from pt2bugs.case.header import decode, find_block, read_regular
from pt2bugs.case.model import pinned_release
from pt2bugs.case.toml import TOMLDecodeError, parse_toml
from pt2bugs.case.vocabulary import COMPONENTS, SYMPTOMS
from pt2bugs.curate.case_text import NewHeader, case_text
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.script import CheckSource, script_to_check
from pt2bugs.errors import InputError

LINE_LENGTH = 120
"""Greatest length of a line in programs of the corpus."""
_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_ISSUE = re.compile(
    r"https://github\.com/(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?:issues|pull)/(?P<number>\d+)/?(?:#.*)?"
)
_HINTS = {
    "issue": "the address of the issue",
    "title": "the bug in one line",
    "component": " ".join(COMPONENTS),
    "symptom": " ".join(SYMPTOMS),
}


@dataclass(frozen=True)
class Name:
    """The id of a new case, and the address of its issue; empty where the id does not tell it."""

    id: str
    issue: str


def name_of(word: str) -> Name:
    """Return the id and the issue that a number, an address or an id means.

    Args:
        word: the word of a command line.

    Raises:
        InputError: it is none of them.
    """
    if word.isascii() and word.removeprefix("#").isdigit():
        word = word.removeprefix("#")
        return Name(f"pytorch_{word}", f"https://github.com/pytorch/pytorch/issues/{word}")
    if match := _ISSUE.fullmatch(word):
        repo = re.sub(r"\W", "_", match["repo"].lower())
        address = f"https://github.com/{match['owner']}/{match['repo']}/issues/{match['number']}"
        return Name(f"{repo}_{match['number']}", address)
    if _ID.fullmatch(word):
        number = word.removeprefix("pytorch_")
        is_pytorch = number != word and number.isdigit()
        return Name(word, f"https://github.com/pytorch/pytorch/issues/{number}" if is_pytorch else "")
    raise InputError(f"{word}: not an issue's number, its address, or an id such as inductor_shift_by_width")


@dataclass(frozen=True)
class Script:
    """The source of a new case: a check made of a script, or a program that has its checks already.

    `settings` and `entries` are what a header of the source says, `torch` the release that it pins; empty for none.
    """

    check: CheckSource | None
    program: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    entries: Sequence[Mapping[str, Any]] = ()
    torch: str = ""


def read_script(path: Path) -> Script:
    """Return the script of a file, or the case that `pt2bugs triage` left in a folder.

    Args:
        path: the file or the folder.

    Raises:
        InputError: it cannot be read or is not Python.
    """
    file = path / "case.py" if path.is_dir() else path
    try:
        text = decode(read_regular(file))
    except UnicodeDecodeError:
        raise InputError(f"{file}: is not UTF-8; save it as that") from None
    except OSError as error:
        hint = "; `pt2bugs triage SCRIPT -o DIR` leaves one" if path.is_dir() else ""
        raise InputError(f"{file}: cannot be read: {error.strerror or error}{hint}") from None
    block = find_block(text)
    if block is None:
        return Script(script_to_check(text, str(file)))
    try:
        header = parse_toml(block.toml)
    except TOMLDecodeError as error:
        raise InputError(f"{file}: its script metadata is not TOML: {error}") from None
    table = dict(header.get("tool", {}).get("pt2bugs", {}))
    entries = table.pop("bug", ())
    torch = pinned_release(map(str, header.get("dependencies", ())))
    if re.search(r"^def test_", block.program, re.MULTILINE):
        return Script(None, block.program.strip("\n") + "\n", table, entries, torch)
    return Script(script_to_check(block.program, str(file)), settings=table, torch=torch)


def empty_script() -> Script:
    """Return the source of a case of which only the issue is known."""
    body = [
        f"# {PLACEHOLDER}: the smallest program that has the bug, and eager's answer as the oracle",
        "compiled = torch.compile(lambda x: x + 1, backend=backend)",
        "x = torch.ones(3, device=device)",
        "torch.testing.assert_close(compiled(x), x + 1)",
    ]
    return Script(CheckSource("import torch", "\n".join(body), parameters=("device", "backend")))


def new_case_text(name: Name, script: Script, settings: Mapping[str, str], torch: str) -> str:
    """Return the text of a case file.

    Args:
        name: the id and the issue of the case.
        script: what it is made of.
        settings: `title`, `component`, `symptom`, as far as a person has told them.
        torch: the release to pin where the script pins none, until a run has shown which is the newest with the bug;
            empty if none is known.

    Raises:
        InputError: the text would be none that can be read.
    """
    check = script.check
    told = dict(script.settings) | {key: value for key, value in settings.items() if value}
    known = str(told.get("issue", ""))
    told["issue"] = name.issue or (known if _ISSUE.fullmatch(known) else "")
    if check is not None:
        told.setdefault("title", check.doc.split("\n")[0].rstrip("."))
        told.setdefault("devices", list(check.devices))
        told.setdefault("backends", list(check.backends))
        if not check.compiles:
            told["compiles"] = False
    table = {key: str(told.pop(key, "") or "") for key in _HINTS}
    table |= {key: value for key, value in told.items() if value != ["inductor"]}
    hints = {key: hint for key, hint in _HINTS.items() if not table[key]}
    header = NewHeader(script.torch or torch, table, script.entries, hints)
    if check is None:
        return case_text(header, (), script.program)
    function = f"test_{name.id}" if not name.id.startswith("pytorch_") else "test_issue"
    program = black.format_str(check.program(function), mode=black.Mode(line_length=LINE_LENGTH))
    return case_text(header, _doc(check, name), program)


def _doc(check: CheckSource, name: Name) -> list[str]:
    number = name.issue.rpartition("/")[2]
    return [
        *textwrap.wrap(" ".join(check.doc.split()), 110)[:6],
        f"{PLACEHOLDER}: why it happens, in the field's terms",
        f"{PLACEHOLDER}: what correct behaviour is",
        f"Source: issue {number}." if number else f"Source: {PLACEHOLDER}: where it is documented",
    ]
