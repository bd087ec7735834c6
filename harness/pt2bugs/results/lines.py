"""A journal line as one object: msgspec decodes it and checks the type of every value in one step.

That takes half the time of a dict whose values are looked at one by one, which counts where a journal has a million
lines of which a tenth are asked for.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast, get_type_hints

import msgspec
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.results.record import FULL, KEYS, OPTIONAL_KEYS, RUN_KEYS, Record

_KINDS: dict[str, Any] = {
    **get_type_hints(Record),
    "schema": Literal[1, 2],
    "outcome": Literal[tuple(map(str, Outcome))],
    "verdict": Literal[tuple(map(str, Verdict))],
    "repeat": Annotated[int, msgspec.Meta(ge=1)],
}
_ALL = (*KEYS, *OPTIONAL_KEYS)


def _struct(name: str, optional: tuple[str, ...]) -> Any:
    fields: list[Any] = [
        (key, _KINDS[key] | msgspec.UnsetType, msgspec.UNSET) if key in optional else (key, _KINDS[key]) for key in _ALL
    ]
    # Lines hold no cycles, so the collector need not look at them.
    return msgspec.defstruct(name, fields, gc=False, kw_only=True)


Line: Any = _struct("Line", OPTIONAL_KEYS)
"""A line with the keys of a `Record` as attributes. One that it does not have is `msgspec.UNSET`."""
_ShortLine = _struct("ShortLine", tuple({*OPTIONAL_KEYS, *RUN_KEYS}))
"""A line of schema 2, which may leave out what the line of its run says."""
decode, decode_short = msgspec.json.Decoder(Line).decode, msgspec.json.Decoder(_ShortLine).decode
HEADS = (b'{"schema": 1,', b'{"schema":1,')
"""How a line begins that has all keys."""
NO_LINE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding a text raises that is no line, or has a value of a wrong type."""


def complete(line: Any, facts: dict[str, Any]) -> bool:
    """Give a line of schema 2 the facts of its run that it does not have itself; False if one is still missing."""
    for key in RUN_KEYS:
        if getattr(line, key) is msgspec.UNSET:
            if key in facts:
                setattr(line, key, facts[key])
            elif key in KEYS:
                return False
    line.schema = FULL
    return True


def record_of(line: Any) -> Record:
    """The line as a dict."""
    values = msgspec.structs.asdict(line)
    for key in OPTIONAL_KEYS:
        if values[key] is msgspec.UNSET:
            del values[key]
    return cast(Record, values)


def problem_of(value: dict[str, Any]) -> str:
    """What makes an object no record, in a sentence; empty for one that is."""
    try:
        msgspec.convert(value, Line)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        return f"{place.rstrip('`')}: {problem}" if place else problem
    return ""
