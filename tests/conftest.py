"""Fixtures that several test modules share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from suite import Suite

# A shell starts what it runs in the background with Ctrl-C ignored, and every process below inherits that. The runs
# that tests interrupt are to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests of a module on one worker, also under `-n 2` alone: some follow on what others made."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A corpus in a temporary folder, to be run by the real plugin on a fake torch."""
    return Suite(tmp_path)
