"""The text of a case file: made anew, or with keys of its header set.

tomlkit writes all TOML. Texts are parsed before they are handed over, so that no message or title makes a file that
nothing can read.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tomlkit
from packaging.version import Version
from pt2bugs.case.header import CLOSING, OPENING, find_block
from pt2bugs.case.model import Case, pinned_release
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.script import parse_program
from pt2bugs.errors import InputError
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

ENTRY = "[[tool.pt2bugs.bug]]"
COMPANIONS = ("numpy", "setuptools")
REQUIRES_PYTHON = ">=3.10"
_ORDER = (
    "torch", "packages", "check", "device", "backend", "python", "platform",
    "outcome", "error", "match", "frame", "output", "signal", "blocked",
)  # fmt: skip


def toml_item(value: Any) -> Item:
    """Return a value as an item of a TOML document: a string literal where that saves backslashes, tables inline.

    Args:
        value: a string, a boolean, a number, or a list or mapping of them.
    """
    if isinstance(value, str):
        value = _encodable(value)
        return tomlkit.string(value, literal="\\" in value and "'" not in value and value.isprintable())
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({key: toml_item(inner) for key, inner in value.items()})
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend([toml_item(inner) for inner in value])
        return array
    item: Item = tomlkit.item(value)
    return item


def _encodable(text: str) -> str:
    """Return the text without lone surrogates, which a message may hold and UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()


@dataclass(frozen=True)
class NewHeader:
    """The header of a case that is being made.

    `torch` is the release to pin, empty for none; `settings` and `entries` are the keys of the case and of its bug
    entries; `hints` say what is to be filled in behind the keys that they name.
    """

    torch: str
    settings: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]] = ()
    hints: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the block of comments that holds the header."""
        top = tomlkit.document()
        top["requires-python"] = REQUIRES_PYTHON
        top["dependencies"] = [f"torch=={self.torch}" if self.torch else "torch", *COMPANIONS]
        lines = [line for text in _key_lines(self.settings).as_string().splitlines() for line in self._with_hint(text)]
        parts = [top.as_string(), "\n".join(["[tool.pt2bugs]", *lines, ""])]
        parts += [f"{ENTRY}\n{_key_lines(entry).as_string()}" for entry in self.entries]
        return "\n".join([OPENING, *_commented("\n".join(parts)), CLOSING])

    def _with_hint(self, line: str) -> Iterator[str]:
        """Yield the line of a key with its hint, which goes on in lines below."""
        hint = self.hints.get(line.partition(" = ")[0])
        first, *others = textwrap.wrap(f"{PLACEHOLDER}: {hint}", 90, break_on_hyphens=False) if hint else [""]
        yield f"{line} # {first}" if first else line
        yield from (f"# {words}" for words in others)


def _key_lines(table: Mapping[str, Any]) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    for key, value in table.items():
        document[key] = toml_item(value)
    return document


def _commented(toml: str) -> list[str]:
    return [f"# {line}".rstrip() for line in toml.rstrip("\n").split("\n")]


def case_text(header: NewHeader, doc: Iterable[str], program: str) -> str:
    """Return the text of a new case file.

    Args:
        header: what the header says.
        doc: the lines of the docstring; none where the program has its own.
        program: the text below the docstring.

    Raises:
        InputError: the text would be none that can be read.
    """
    lines = [_encodable(line).replace("\\", "\\\\").replace('"""', "'''") for line in doc]
    docstring = ['"""' + "\n".join(lines) + '\n"""', ""] if lines else []
    text = "\n".join([header.text(), *docstring, program])
    title = str(header.settings.get("title", ""))
    _parse_header(text, title)
    parse_program(text, title)
    return text


def _parse_header(text: str, name: str) -> tomlkit.TOMLDocument:
    block = find_block(text)
    if block is None:
        raise InputError(f"{name}: has no script metadata (PEP 723)")
    try:
        return tomlkit.parse(block.toml)
    except TOMLKitError as error:
        raise InputError(f"{name}: its script metadata is not TOML: {error}") from None


# --- bug entries --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EntryText:
    """A bug entry to be written: the number of the old entry that it continues, if any, and keys to set (None removes).

    `comment` stands below the heading, in place of comments that waited for somebody.
    """

    old: int | None
    keys: Mapping[str, str | Mapping[str, str] | None]
    comment: str = ""


def with_entries(case: Case, text: str, entries: Sequence[EntryText], kept: Iterable[int]) -> str:
    """Return the file's text with these bug entries in place of the old ones.

    Args:
        case: the case that the text is of.
        text: the text of the file.
        entries: the entries in their order.
        kept: numbers of further old entries that stay as they are, behind the others.

    Raises:
        InputError: the text would be none that can be read.
    """
    lines = text.split("\n")
    start = lines.index(OPENING)
    end = lines.index(CLOSING, start)
    heads = [index for index in range(start, end) if lines[index].startswith(f"# {ENTRY}")]
    body = lines[start : heads[0] if heads else end]
    while body and body[-1].rstrip() == "#":
        body.pop()
    old = [
        [line[2:] for line in lines[head + 1 : stop] if line.rstrip() != "#"]
        for head, stop in zip(heads, [*heads[1:], end], strict=False)
    ]
    blocks = []
    continued: set[int] = set()
    for entry in entries:
        known = [f"# {line}" for line in entry.comment.split("\n") if line]
        if entry.old is not None:
            # The comments of an entry that is repeated stand at its first place.
            is_repeated = entry.old in continued
            known += [
                line for line in old[entry.old] if not line.startswith("#") or not (is_repeated or PLACEHOLDER in line)
            ]
            continued.add(entry.old)
        blocks.append(_with_keys("\n".join([*known, ""]), entry.keys))
    blocks += ["\n".join(old[number]) for number in kept]
    header = [line for block in blocks for line in ("#", f"# {ENTRY}", *_commented(block))]
    new = "\n".join([*lines[:start], *body, *header, *lines[end:]])
    _parse_header(new, str(case.path))
    return new


def _with_keys(toml: str, keys: Mapping[str, str | Mapping[str, str] | None]) -> str:
    """Return the text of an entry with keys set, each new one at its usual place."""
    document = tomlkit.parse(toml)
    for key, value in keys.items():
        if not value:
            document.pop(key, None)
        elif key in document:
            if document[key] != value:
                document[key] = toml_item(value)
        else:
            later = set(_ORDER[_ORDER.index(key) + 1 :])
            ordered = tomlkit.document()
            is_placed = False
            for known, item in document.body:
                if not is_placed and known is not None and known.key in later:
                    ordered.append(key, toml_item(value))
                    is_placed = True
                ordered.append(known, item)
            if not is_placed:
                ordered.append(key, toml_item(value))
            document = ordered
    return document.as_string()


# --- dependencies -------------------------------------------------------------------------------------


def with_pin(text: str, failing: Iterable[str], name: str) -> str:
    """Return a file's text with `requires-python` and the newest of the failing releases in its dependencies.

    Args:
        text: the text of the file; without a header it is returned as it is.
        failing: the releases that were seen to fail; without any the dependencies stay.
        name: the name of the file, for messages.

    Raises:
        InputError: its header is not TOML.
    """
    block = find_block(text)
    if block is None:
        return text
    document = _parse_header(text, name)
    toml = block.toml
    newest = max(failing, key=Version, default="")
    dependencies = document.get("dependencies")
    if newest and not isinstance(dependencies, list):
        toml = tomlkit.dumps({"dependencies": [f"torch=={newest}", *COMPANIONS]}) + toml
    elif newest and isinstance(dependencies, list):
        number = next((i for i, name in enumerate(dependencies) if re.fullmatch(r"torch\s*([=<>!~].*)?", name)), None)
        if number is None:
            dependencies.insert(0, f"torch=={newest}")
        elif pinned_release([dependencies[number]]) != newest:
            dependencies[number] = f"torch=={newest}"
        toml = document.as_string()
    if "requires-python" not in document:
        toml = tomlkit.dumps({"requires-python": REQUIRES_PYTHON}) + toml
    lines = text.split("\n")
    closing = block.first_line - 1 + block.toml.count("\n")
    return "\n".join([*lines[: block.first_line - 1], *_commented(toml), *lines[closing:]])
