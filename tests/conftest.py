"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from browser import Open, chromium, open_page, write_browsed
from fake_torch import build_wheels, serve_index
from hypothesis import HealthCheck, settings
from matrix_project import RELEASES, Project
from pt2bugs.case import private
from suite import Suite
from triage_bench import Bench

# A shell starts what it runs in the background with Ctrl-C ignored, and every process below inherits that. The runs
# that tests interrupt are to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# How long an example takes says how busy the machine is.
settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests of a module on one worker, also under `-n 2` alone: some follow on what others made."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"
    # xdist gives out the module with most tests first. What takes minutes here are two modules of few tests.
    config.option.loadscopereorder = False


# These run for minutes: whoever begins with them does not end alone.
_LONGEST_FIRST = ("test_run_fault_injection.py", "test_engine_hostile.py")


def pytest_xdist_auto_num_workers() -> int:
    """Let `-n auto` begin one worker more than there are cores: many tests wait for a timeout of what they run."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the modules that run for minutes first; the order of all others stays."""
    items.sort(key=lambda item: item.path.name not in _LONGEST_FIRST)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a process does: no private corpus was read, and no name of one is known."""
    monkeypatch.setattr(private, "_known", {})
    private._read.cache_clear()
    private._file_beside.cache_clear()


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A corpus in a temporary folder, to be run by the real plugin on a fake torch."""
    return Suite(tmp_path)


# --- a matrix over real environments ------------------------------------------------------------------


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index of packages with the releases that the project is for."""
    folder = tmp_path_factory.mktemp("wheels")
    build_wheels(folder, RELEASES)
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments live; shared by the tests of a module, as a user's are by runs."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def project(tmp_path: Path, home: Path, index: str) -> Project:
    return Project(tmp_path, home, index)


# --- the pages in a browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project whose pages are looked at."""
    return write_browsed(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def visit(browser: Any, browsed: Path) -> Iterator[Open]:
    """Opens a page of the site; afterwards the console must be empty."""
    yield partial(open_page, browser, browsed / "site")
    assert browser.get_log("browser") == []


# --- triage -------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    (tmp_path / "cases").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "cache"))
    return Bench(tmp_path, capsys)
