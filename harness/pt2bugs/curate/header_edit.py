"""The text of a header: entries are set and removed, everything else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pt2bugs.case.model import Bug, Case
from pt2bugs.curate.bless import ENTRY, NEW_IDENTITY, Entry, FailureIdentity, Row, Seen, covers


def rewrite(case: Case, text: str, entries: Sequence[Entry], measured: dict[Row, Seen]) -> str:
    """The file's text with these entries in place of the old ones.

    An old entry that speaks only of rows or releases which were not measured (another device, say) stays as
    it is.
    """
    lines = text.splitlines(keepends=True)
    start = next(index for index, line in enumerate(lines) if line.rstrip() == "# /// script")
    end = next(index for index, line in enumerate(lines) if index > start and line.rstrip() == "# ///")
    heads = [index for index in range(start, end) if lines[index].startswith(f"# {ENTRY}")]
    first = heads[0] if heads else end
    body = lines[start:first]
    while body and body[-1].rstrip() == "#":
        body.pop()
    old = [
        _Segment([line for line in lines[head:stop] if line.rstrip() != "#"])
        for head, stop in zip(heads, [*heads[1:], end], strict=False)
    ]
    segments: list[_Segment] = []
    written: set[int] = set()
    for entry in entries:
        known = entry.identity.known
        segment = old[known].copy() if known is not None else _Segment.of(entry.identity)
        if known in written:
            segment.drop_comments()
        if known is not None:
            written.add(known)
        for key, value in (
            ("torch", entry.torch),
            ("check", entry.check),
            ("device", entry.device),
            ("backend", entry.backend),
        ):
            segment.set(key, value)
        segments.append(segment)
    for index, bug in enumerate(case.bugs):
        if index not in written and not any(_speaks_of(bug, row, seen) for row, seen in measured.items()):
            segments.append(old[index])
    block = [line for segment in segments for line in ("#\n", *segment.lines)]
    return "".join([*lines[:start], *body, *block, *lines[end:]])


def _speaks_of(bug: Bug, row: Row, seen: Seen) -> bool:
    return covers(bug, row) and any(bug.torch.contains(release, prereleases=True) for release in seen.identities)


_ORDER = (
    "torch", "check", "device", "backend", "python", "platform",
    "outcome", "error", "match", "frame", "output", "signal", "blocked",
)  # fmt: skip


class _Segment:
    """The lines of one entry."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    @classmethod
    def of(cls, identity: FailureIdentity) -> _Segment:
        segment = cls([f"# {ENTRY}\n", f"# {NEW_IDENTITY}\n"])
        for key, value in (
            ("outcome", str(identity.outcome)),
            ("error", identity.error),
            ("match", identity.match),
            ("signal", identity.signal),
        ):
            if value:
                segment.set(key, value)
        return segment

    def copy(self) -> _Segment:
        return _Segment(list(self.lines))

    def drop_comments(self) -> None:
        self.lines = [line for line in self.lines if not line.startswith("# #")]

    def set(self, key: str, value: str | None) -> None:
        """Set a key to a string, at its usual place if it is new; None or empty removes it."""
        at = next((i for i, line in enumerate(self.lines) if re.match(rf"# {key}\s*=", line)), None)
        if not value:
            if at is not None:
                del self.lines[at]
            return
        line = f"# {key} = {toml_string(value)}\n"
        if at is not None:
            if self._value(at) != value:
                self.lines[at] = line
            return
        later = _ORDER[_ORDER.index(key) + 1 :]
        place = next(
            (i for i, one in enumerate(self.lines) if any(re.match(rf"# {name}\s*=", one) for name in later)),
            len(self.lines),
        )
        self.lines.insert(place, line)

    def _value(self, at: int) -> str:
        found = re.match(r"# [\w-]+\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", self.lines[at])
        return (found[1] or found[2] or "") if found else ""


def toml_string(value: str) -> str:
    """`value` as a TOML string; a literal one where that saves backslashes."""
    if "\\" in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)
