"""Data for dashboards: one module per format, each a function from the selected results to a whole file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from pt2bugs.case.model import Case
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey

FORMATS = ("csv", "cells", "json", "junit", "hud", "parquet")


@dataclass(frozen=True)
class Selected:
    """The newest line of every selected cell, and the corpus by id."""

    lines: dict[CellKey, Record]
    cases: dict[str, Case]


class ExportError(Exception):
    """A format that cannot be written here.

    Cause: the package it needs is not installed.
    Remedy: the message says which to install.
    """


def render(name: str, selected: Selected) -> bytes:
    """Return the whole file.

    Args:
        name: one of `FORMATS`.
        selected: what to export.

    Raises:
        ExportError: a package that the format needs is missing.
    """
    function: Callable[[Selected], bytes] = import_module(f"pt2bugs.export.{name}").render
    return function(selected)
