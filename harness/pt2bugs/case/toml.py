"""Reading TOML: the standard library does it since Python 3.11, before that the package which became its module."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOMLDecodeError = tomllib.TOMLDecodeError


def parse_toml(text: str) -> dict[str, Any]:
    """Return the top table of a text.

    Args:
        text: of a file or a header.

    Raises:
        TOMLDecodeError: it is no TOML.
    """
    table: dict[str, Any] = tomllib.loads(text)
    return table
