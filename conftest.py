"""Lets `pytest cases/` work in a bare checkout, where the plugin is not installed as an entry point."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

_IS_INSTALLED = any(entry.name == "pt2bugs" for entry in entry_points(group="pytest11"))

if not _IS_INSTALLED:
    sys.path.insert(0, str(Path(__file__).parent / "harness"))
pytest_plugins = [] if _IS_INSTALLED else ["pt2bugs.plugin"]


def pytest_addoption(parser: pytest.Parser) -> None:
    if not _IS_INSTALLED:
        from pt2bugs.plugin import add_short_options

        add_short_options(parser)
