"""Sentences of torch and of programs that decide a step of a triage, each with its source: `statements.toml`."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pt2bugs.case.toml import parse_toml

_HINT = re.compile(r"^\s*Hint: (?P<hint>.+)$", re.MULTILINE)


@lru_cache(maxsize=1)
def statements() -> dict[str, list[dict[str, str]]]:
    """Return all statements by their kind, each with `match`, a pattern, and `source`."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    kinds: dict[str, list[dict[str, str]]] = parse_toml(text)
    return kinds


def stated(kind: str, text: str) -> str:
    """Return the source of the first statement that a text has; empty if it has none.

    Args:
        kind: of the statement, such as ``refused``: a table of `statements.toml`.
        text: a message of an exception, its type, or an assertion.
    """
    return next((entry["source"] for entry in statements()[kind] if re.search(entry["match"], text)), "")


def rewrites(text: str) -> tuple[str, ...]:
    """Return the hints of a graph break that suggest a rewrite of the program, each once.

    Args:
        text: a message of Dynamo, or its log.
    """
    hints = dict.fromkeys(hint["hint"].strip() for hint in _HINT.finditer(text))
    return tuple(hint for hint in hints if not stated("no-rewrite", hint))
