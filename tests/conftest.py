"""Fixtures that several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A corpus in a temporary folder, to be run by the real plugin on a fake torch."""
    return Suite(tmp_path)
