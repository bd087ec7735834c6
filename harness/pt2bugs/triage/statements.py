"""Sentences of torch and of programs that decide a step of a triage, each with its source: `statements.toml`."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pt2bugs.case.toml import parse_toml


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
