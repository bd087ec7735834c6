"""A new case file: complete but for what only a person knows, which stands in marked lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pt2bugs.case.script_block import decode, find_block, read_regular
from pt2bugs.case.words import COMPONENTS, SYMPTOMS
from pt2bugs.curate.header_edit import toml_string
from pt2bugs.curate.marks import MARK
from pt2bugs.curate.script_check import Draft, draft_of
from pt2bugs.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ID = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_ISSUE = re.compile(
    r"https://github\.com/(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?:issues|pull)/(?P<number>\d+)/?(?:#.*)?"
)
_NOT_TOLD = ("issue", "title", "component", "symptom")


@dataclass(frozen=True)
class Name:
    """The id of a new case, and the address of its issue; empty where the id does not tell it."""

    id: str
    issue: str


def name_of(word: str) -> Name:
    """The id and the issue that a number, an address or an id means.

    Raises:
        InputError: it is none of them.
    """
    if word.isascii() and word.removeprefix("#").isdigit():
        word = word.removeprefix("#")
        return Name(f"pytorch_{word}", f"https://github.com/pytorch/pytorch/issues/{word}")
    if found := _ISSUE.fullmatch(word):
        repo = re.sub(r"\W", "_", found["repo"].lower())
        address = f"https://github.com/{found['owner']}/{found['repo']}/issues/{found['number']}"
        return Name(f"{repo}_{found['number']}", address)
    if _ID.fullmatch(word):
        number = word.removeprefix("pytorch_")
        is_pytorch = number != word and number.isdigit()
        return Name(word, f"https://github.com/pytorch/pytorch/issues/{number}" if is_pytorch else "")
    raise InputError(f"{word}: not an issue's number, its address, or an id such as inductor_shift_by_width")


@dataclass(frozen=True)
class Script:
    """What a new case is made of: a draft, or a program that has its checks already; and what a header told.

    `torch` is the release that the header pins; empty if it pins none.
    """

    draft: Draft | None
    program: str = ""
    told: Mapping[str, Any] = ()  # type: ignore[assignment]
    entries: Sequence[Mapping[str, Any]] = ()
    torch: str = ""


def read_script(path: Path) -> Script:
    """The script of a file, or the case that `pt2bugs triage` left in a folder.

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
        return Script(draft_of(text, str(file)))
    try:
        header = tomllib.loads(block.toml)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: its script metadata is not TOML: {error}") from None
    table = header.get("tool", {}).get("pt2bugs", {})
    pins = (re.fullmatch(r"torch==([\d.]+)", str(one)) for one in header.get("dependencies", ()))
    torch = next((pin[1] for pin in pins if pin), "")
    if re.search(r"^def test_", block.program, re.MULTILINE):
        return Script(None, block.program.strip("\n") + "\n", table, table.get("bug", ()), torch)
    return Script(draft_of(block.program, str(file)), told=table, torch=torch)


def case_text(name: Name, script: Script, settings: Mapping[str, str], torch: str) -> str:
    """The text of a case file.

    Args:
        settings: `title`, `component`, `symptom`, as far as a person has told them.
        torch: the release to pin where the script pins none, until a run has shown which is the newest with the bug;
            empty if none is known.
    """
    draft, told = script.draft, dict(script.told)
    told |= {key: value for key, value in settings.items() if value}
    known = str(told.get("issue", ""))
    told["issue"] = name.issue or (known if _ISSUE.fullmatch(known) else "")
    if draft is not None:
        told.setdefault("title", draft.doc.split("\n")[0].rstrip("."))
        told.setdefault("devices", list(draft.devices))
        told.setdefault("backends", list(draft.backends))
        if not draft.compiles:
            told["compiles"] = False
    pinned = script.torch or torch
    pin = f"torch=={pinned}" if pinned else "torch"
    header = ['requires-python = ">=3.10"', f'dependencies = ["{pin}", "numpy", "setuptools"]', "", "[tool.pt2bugs]"]
    hints = {
        "issue": "the address of the issue",
        "title": "the bug in one line",
        "component": " ".join(COMPONENTS),
        "symptom": " ".join(SYMPTOMS),
    }
    for key in _NOT_TOLD:
        value = str(told.pop(key, "") or "")
        header.append(f"{key} = {toml_string(value)}" + ("" if value else f"  # {MARK}: {hints[key]}"))
    told.pop("bug", None)
    header += [f"{key} = {_toml(value)}" for key, value in told.items() if value != ["inductor"]]
    for entry in script.entries:
        header += ["", "[[tool.pt2bugs.bug]]", *(f"{key} = {_toml(value)}" for key, value in entry.items())]
    block = "\n".join(["# /// script", *(f"# {line}".rstrip() for line in header), "# ///"])
    if draft is None:
        return f"{block}\n{script.program}"
    check = f"test_{name.id.removeprefix('pytorch_')}" if not name.id.startswith("pytorch_") else "test_issue"
    return f"{block}\n{_doc(draft, name)}\n\n{draft.program(check)}"


def _doc(draft: Draft, name: Name) -> str:
    said = " ".join(draft.doc.split()).replace("\\", "\\\\").replace('"""', "'''")
    lines = _wrapped(said) if said else []
    lines += [
        f"{MARK}: why it happens, in the field's terms",
        f"{MARK}: what correct behaviour is",
        f"Source: issue {name.issue.rpartition('/')[2]}." if name.issue else f"Source: {MARK}: where it is documented",
    ]
    return '"""' + "\n".join(lines) + '\n"""'


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 110)[:6]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return str(value)


def empty_script() -> Script:
    """A case of which only the issue is known."""
    draft = Draft(
        imports=["import torch"],
        body=[
            f"# {MARK}: the smallest program that has the bug, and eager's answer as the oracle",
            "compiled = torch.compile(lambda x: x + 1, backend=backend)",
            "x = torch.ones(3, device=device)",
            "torch.testing.assert_close(compiled(x), x + 1)",
        ],
        parameters=("device", "backend"),
    )
    return Script(draft)
