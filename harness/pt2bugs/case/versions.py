"""What a version says: whether it is one, its public part, the day of a nightly."""

from __future__ import annotations

from datetime import date, datetime
from functools import lru_cache

from packaging.version import InvalidVersion, Version


@lru_cache(maxsize=4096)
def public(version: str) -> str:
    """Return the public part of a version: ``2.13.0`` for ``2.13.0+cpu``.

    Args:
        version: of PEP 440.
    """
    return Version(version).public


@lru_cache(maxsize=4096)
def public_or_empty(version: str) -> str:
    """Return the public part of a version; empty for a text that is none.

    Args:
        version: of torch.
    """
    try:
        return public(version)
    except InvalidVersion:
        return ""


@lru_cache(maxsize=4096)
def is_version(text: str) -> bool:
    """Return whether a text is a version.

    Args:
        text: any.
    """
    try:
        return bool(Version(text))
    except (InvalidVersion, ValueError):
        return False


def day_of(version: Version) -> date | None:
    """Return the day of a nightly build, which is the number of its development release: ``2.11.0.dev20260115``.

    Args:
        version: of torch.
    """
    if version.dev is None:
        return None
    try:
        return datetime.strptime(str(version.dev), "%Y%m%d").date()
    except ValueError:
        return None
