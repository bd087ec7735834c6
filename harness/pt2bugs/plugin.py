"""The pytest plugin: case files become items, and every item is measured as a cell, in a child of an engine.

The same plugin serves `pytest cases/` in the user's environment and private corpora. Collection imports neither torch
nor the case files. Where no case is collected it stands aside. With `--pt2bugs-upgrade` nothing is run here.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from packaging.version import InvalidVersion, Version

from pt2bugs.backends.spec import BackendOverrides, BackendSpec, on_its_device, special_backends
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.corpus import Selection, add_unique, brought, is_case_file
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import CaseError
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Verdict, number_of
from pt2bugs.engine.client import Engine, EngineSettings, Worker
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.envs.extras import installed_extras, installed_packages
from pt2bugs.errors import InputError
from pt2bugs.results.journal import JournalError, JournalWriter, Record
from pt2bugs.run.measurement import (
    Measurement,
    MeasureOptions,
    Measuring,
    OtherTorchError,
    default_jobs,
    new_run_id,
)

# --- options ------------------------------------------------------------------------------------------


def _positive(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1_000_000:
        raise ValueError(text)
    return number


def _version(text: str) -> str:
    try:
        return str(Version(text))
    except InvalidVersion as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("device", {"action": "append", "help": "device to run the cases on (default: cpu)"}),
    ("backend", {"action": "append", "help": "torch.compile backend (default: the header's)"}),
    ("import", {"action": "append", "metavar": "MODULE", "help": "module whose import registers the backend"}),
    ("on", {"metavar": "DEVICE", "help": "the device that the backend compiles for, which replaces the CPU"}),
    ("journal", {"type": Path, "help": "append one JSON line per cell to this file"}),
    ("jobs", {"type": _positive, "metavar": "N", "help": "cells at once, reported in order (default: the cores)"}),
    ("repeat", {"type": _positive, "metavar": "N", "help": "run each cell N times in new children"}),
    (
        "confirm",
        {"type": _positive, "metavar": "N", "help": "run a cell up to N times if its verdict is not the expected one"},
    ),
    ("component", {"action": "append", "help": "only cases of this component"}),
    ("symptom", {"action": "append", "help": "only cases with this symptom"}),
    ("label", {"action": "append", "help": "only cases with this label"}),
    ("threads", {"type": _positive, "metavar": "N", "help": "threads of torch in each cell"}),
    ("expect-torch", {"type": _version, "metavar": "VERSION", "help": "refuse to run on any other torch release"}),
    ("run-id", {"help": "name of the run in the journal (default: a new one)"}),
)


_MOVE_OPTIONS: dict[str, dict[str, Any]] = {
    "--pt2bugs-upgrade": {
        "nargs": 2,
        "metavar": ("A", "B"),
        "help": "run this suite on two torch releases (or two Pythons), and say which tests a move changes",
    },
    "--pt2bugs-with": {
        "action": "append",
        "default": [],
        "metavar": "REQ",
        "help": "with --pt2bugs-upgrade: install this for the suite: a requirement, a wheel, a folder",
    },
    "--pt2bugs-requirements": {"type": Path, "metavar": "FILE", "help": "the same for what this file lists"},
    "--pt2bugs-minutes": {"type": float, "default": 10.0, "metavar": "M", "help": "for one run of it (default: 10)"},
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--pt2bugs-device`` and the like; they always exist.

    Args:
        parser: of pytest.
    """
    group = parser.getgroup("pt2bugs", "PyTorch 2 compiler bugs")
    for name, settings in _OPTIONS:
        group.addoption(f"--pt2bugs-{name}", dest=_destination(name), **settings)
    help_text = "name the known PyTorch bugs among the failures of this suite; changes no result"
    group.addoption("--pt2bugs-match", action="store_true", help=help_text)
    for name, settings in _MOVE_OPTIONS.items():
        group.addoption(name, dest=_destination(name.removeprefix("--pt2bugs-")), **settings)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, object, object]:
    """Add the short names, after every conftest.py has had its own options.

    Args:
        parser: of pytest.
    """
    result = yield
    add_short_options(parser)
    return result


def add_short_options(parser: pytest.Parser) -> None:
    """Add ``--device`` and the like, where no other plugin has an option of that name.

    Args:
        parser: of pytest.
    """
    group = parser.getgroup("pt2bugs", "PyTorch 2 compiler bugs")
    for name, settings in _OPTIONS:
        with contextlib.suppress(ValueError, argparse.ArgumentError):
            group.addoption(f"--{name}", dest=_destination(name), **settings)


def _destination(name: str) -> str:
    return f"pt2bugs_{name.replace('-', '_')}"


def _option(config: pytest.Config, name: str, default: Any) -> Any:
    value = getattr(config.option, _destination(name), None)
    return default if value is None else value


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the session; ``--pt2bugs-match`` registers its own plugin.

    Args:
        config: of pytest.
    """
    config.stash[_cases] = {}
    config.stash[_warnings] = []
    if config.option.pyargs:
        # The package of a clone does not hold the cases.
        config.args = [str(brought("cases")) if argument == "pt2bugs" else argument for argument in config.args]
    if config.getoption("pt2bugs_match"):
        from pt2bugs.match_plugin import Recognizer

        config.pluginmanager.register(Recognizer(), "pt2bugs-match")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Run the suite on two releases instead, where ``--pt2bugs-upgrade`` names them.

    Args:
        config: of pytest.
    """
    words = config.getoption("pt2bugs_upgrade")
    if not words or config.option.help or config.option.version:
        return None
    from pt2bugs.upgrade.suite import Suite, move_suite

    called = config.invocation_params
    suite = Suite(
        called.dir,
        _without_own(called.args),
        tuple(config.getoption("pt2bugs_with")),
        config.getoption("pt2bugs_requirements"),
        config.getoption("pt2bugs_minutes"),
    )
    return move_suite(suite, words, pytest.__version__)


def _without_own(arguments: Sequence[str]) -> list[str]:
    """Return pytest's arguments without those of a move."""
    kept: list[str] = []
    skipped = 0
    for argument in map(str, arguments):
        name, equals, _ = argument.partition("=")
        if skipped:
            skipped -= 1
        elif name in _MOVE_OPTIONS:
            skipped = 0 if equals else _MOVE_OPTIONS[name].get("nargs", 1)
        else:
            kept.append(argument)
    return kept


def pytest_sessionstart(session: pytest.Session) -> None:
    """Register what runs cells.

    Args:
        session: of pytest.
    """
    # Registered late on purpose: the plugin registered last is asked first, before pytest-forked.
    session.config.pluginmanager.register(CellRunner(session), "pt2bugs-runner")


_cases: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
_warnings: pytest.StashKey[list[str]] = pytest.StashKey()


# --- collection ---------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect a case file, and by nothing else.

    Args:
        file_path: of any file.
        parent: its folder.
    """
    collected = yield
    # A case file named on the command line would be taken for a test module as well.
    is_case = is_case_file(file_path, parent.config.stash[_warnings].append)
    return [CaseFile.from_parent(parent, path=file_path)] if is_case else collected


class CaseFile(pytest.File):
    """A case file; its items are the cells that the options ask for."""

    def collect(self) -> Iterator[CellItem]:
        """Yield the cells that the options select.

        Raises:
            CollectError: the file breaks the contract.
        """
        config = self.config
        try:
            case = parse_case(self.path)
            add_unique(config.stash[_cases], case)
        except CaseError as error:
            raise self.CollectError(str(error)) from None
        filters = (tuple(_option(config, name, ())) for name in ("component", "symptom", "label"))
        if not Selection((), *filters).matches(case):
            return
        places = (tuple(_option(config, name, ())) for name in ("device", "backend"))
        for cell in on_its_device(cells_of(case, *places), _special_backends(config)):
            item: CellItem = CellItem.from_parent(self, name=cell.name, cell=cell)
            yield item


def _special_backends(config: pytest.Config) -> dict[str, BackendSpec]:
    """Return the specs of the selected backends that torch does not find by their name alone."""
    try:
        overrides = BackendOverrides(imports=tuple(_option(config, "import", ())), device=_option(config, "on", ""))
        return special_backends(_option(config, "backend", ()), overrides)
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


class CellItem(pytest.Item):
    """A check on one device with one backend."""

    def __init__(self, *, cell: Cell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        if _has_pytest_timeout(self.config):
            # The engine keeps the time. Without this pytest-timeout would count what is not the check's.
            self.add_marker(pytest.mark.timeout(cell.case.timeout, method="signal", func_only=True))

    def runtest(self) -> None:
        raise RuntimeError("a cell runs in a child of the engine only")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.cell.check.line - 1, self.name


def _has_pytest_timeout(config: pytest.Config) -> bool:
    return any(config.pluginmanager.hasplugin(name) for name in ("timeout", "pytest_timeout"))


def _timeout_cap(config: pytest.Config) -> float:
    """Return the seconds of ``--timeout`` of pytest-timeout: they cap cells as they cap tests."""
    if not _has_pytest_timeout(config):
        return float("inf")
    value = config.getoption("timeout", None) or os.environ.get("PYTEST_TIMEOUT") or config.getini("timeout")
    try:
        seconds = float(value or 0)
    except ValueError:
        seconds = 0.0
    return seconds if seconds > 0 else float("inf")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse a backend on which no collected case has a cell.

    Args:
        config: of pytest.
        items: that were collected.

    Raises:
        UsageError: there is no such cell.
    """
    cases = config.stash[_cases].values()
    backends = _option(config, "backend", ())
    if cases and backends and not any(isinstance(item, CellItem) for item in items):
        named = {backend for case in cases for backend in case.backends}
        given = " ".join(f"--backend {backend}" for backend in backends)
        raise pytest.UsageError(f"{given}: no selected check runs there; headers name {', '.join(sorted(named))}")


# --- running ------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Say once that there is no torch, instead of an error for every cell.

    Args:
        session: of pytest.

    Raises:
        pytest.exit.Exception: there is none.
    """
    has_cells = any(isinstance(item, CellItem) for item in session.items)
    if has_cells and not session.config.option.collectonly and importlib.util.find_spec("torch") is None:
        message = f"no torch in {sys.executable}: install it there; `pt2bugs run --torch 2.13.0` installs its own"
        raise pytest.exit.Exception(message, returncode=2)


class CellPool:
    """The cells of a session, measured ahead of pytest by several jobs; each has a supervisor of its own.

    They are begun in the order in which pytest comes to them, so that it waits for none that has not begun. One job
    measures each cell when pytest asks for it, and none ahead.

    Args:
        measuring: of the environment.
        items: of the session that are still to be run, in their order.
        jobs: cells at once.
    """

    def __init__(self, measuring: Measuring, items: Iterable[CellItem], jobs: int) -> None:
        self.measuring = measuring
        self._thread = threading.local()
        self._workers: list[Worker] = []
        self._pool = ThreadPoolExecutor(jobs, "cell")
        self._ahead: dict[CellItem, Future[Sequence[Measurement]]] = {}
        if jobs > 1:
            self._ahead = {item: self._pool.submit(self._measure_all, item.cell) for item in items}
        self._futures = list(self._ahead.values())

    def measure(self, item: CellItem) -> Iterator[Measurement]:
        """Yield every run of a cell.

        Args:
            item: of the session; one that is asked for again is measured again.

        Raises:
            OtherTorchError: the environment imports another torch than asked for.
        """
        future = self._ahead.pop(item, None)
        yield from future.result() if future else self.measuring.measure(item.cell, self._worker())

    def _measure_all(self, cell: Cell) -> Sequence[Measurement]:
        return list(self.measuring.measure(cell, self._worker()))

    def _worker(self) -> Worker:
        """Return the worker of this thread."""
        if not hasattr(self._thread, "worker"):
            self._thread.worker = self.measuring.engine.open()
            self._workers.append(self._thread.worker)
        worker: Worker = self._thread.worker
        return worker

    def close(self) -> None:
        """End the engine, and the cells in it whose answers are not waited for any more."""
        if not all(future.done() for future in self._futures):
            self.measuring.engine.stop()
        self._pool.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()
        self.measuring.engine.close()


class CellRunner:
    """Runner of a session's items: it measures them, shows what was seen, and writes the journal."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.pool: CellPool | None = None
        self.journal: JournalWriter | None = None
        self.verdicts: dict[Verdict, int] = {}
        self.is_rehearsal = any(self.config.getoption(name, False) for name in ("setuponly", "setupplan"))
        """Cells have no fixtures to set up, so of a rehearsal nothing is left."""
        # Of workers (pytest-xdist) the one process that collects their reports writes.
        self.is_writer = not hasattr(session.config, "workerinput")
        path: Path | None = self._option("journal", None)
        if path is not None and self.is_writer:
            try:
                self.journal = JournalWriter(path)
            except JournalError as error:
                raise pytest.UsageError(f"--journal {error}") from None

    def _option(self, name: str, default: Any) -> Any:
        return _option(self.config, name, default)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Run the item if it is a cell. Return None for any other.

        Args:
            item: of the session.
        """
        if not isinstance(item, CellItem):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if self.is_rehearsal:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        for report in self._run_item(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the journal line of a cell, and count its verdict.

        Args:
            report: of any item; with xdist, from a worker.

        Raises:
            Exit: the journal cannot be written.
        """
        record: Record | None = getattr(report, "pt2bugs", None)
        if record is None or not self.is_writer:
            return
        if self.journal is not None:
            try:
                self.journal.append(record)
            except JournalError as error:
                self.session.shouldstop = f"--journal {error}"
                raise pytest.exit.Exception(f"--journal {error}", returncode=2) from None
        if getattr(report, "pt2bugs_final", False):
            verdict = Verdict(record["verdict"])
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1

    def pytest_sessionfinish(self) -> None:
        """End the engine, and close the journal."""
        if self.pool is not None:
            self.pool.close()
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the warnings, and how many cells have which verdict.

        Args:
            terminalreporter: writes it.
        """
        warnings = self.config.stash[_warnings]
        if self.is_rehearsal and any(isinstance(item, CellItem) for item in self.session.items):
            warnings.append("no cell was run: --setup-only and --setup-plan ask for none")
        if self.verdicts and self.config.getoption("reruns", None):
            warnings.append("--reruns does nothing for cells; --repeat and --confirm run them again")
        if not self.verdicts and not warnings:
            return
        terminalreporter.write_sep("-", "pt2bugs")
        for text in warnings:
            terminalreporter.write_line(f"warning: {text}")
        if not self.verdicts:
            return
        counts = ", ".join(f"{n} {verdict}" for verdict in Verdict if (n := self.verdicts.get(verdict, 0)))
        facts = self.pool.measuring.facts if self.pool is not None else EnvironmentFacts()
        where = f"torch {facts.torch}, Python {facts.python}, {facts.cpu_capability}: " if facts.torch else ""
        if self.pool is not None and (removed := self.pool.measuring.engine.removed):
            terminalreporter.write_line(
                f"kept from the cells, as they change what a compiler does: {', '.join(removed)}"
            )
        terminalreporter.write_line(f"{where}{number_of(sum(self.verdicts.values()), 'cell')}: {counts}")

    def _new_pool(self, first: CellItem) -> CellPool:
        """Return the pool of this item and those that follow it in the session."""
        items = [item for item in self.session.items if isinstance(item, CellItem)]
        threads = self._option("threads", 1)
        setups = {name: spec.setup for name, spec in _special_backends(self.config).items()}
        settings = EngineSettings(
            threads=threads,
            targets=tuple(sorted({(item.cell.device, item.cell.backend) for item in items})),
            imports=tuple(dict.fromkeys(name for setup in setups.values() for name in setup.imports)),
            env={name: value for setup in setups.values() for name, value in setup.env.items()},
        )
        options = MeasureOptions(
            run_id=self._option("run-id", "") or new_run_id(),
            threads=threads,
            repeat=self._option("repeat", 1),
            confirm=self._option("confirm", 1),
            timeout_cap_s=_timeout_cap(self.config),
            torch=self._option("expect-torch", ""),
            extras=(*installed_extras(), *installed_packages(item.cell.case for item in items)),
            setups=setups,
        )
        measuring = Measuring(Engine(settings, self.config.stash[_warnings].append), options)
        # A worker of pytest-xdist is one of several jobs, and learns one by one which items are its own.
        jobs = self._option("jobs", default_jobs(threads)) if self.is_writer else 1
        return CellPool(measuring, items[items.index(first) :], min(jobs, len(items)))

    def _run_item(self, item: CellItem) -> Iterator[pytest.TestReport]:
        """Yield a report for every run of the cell; the last one has the verdict."""
        verdict = Verdict.ERROR
        if self.pool is None:
            self.pool = self._new_pool(item)
        try:
            for measurement in self.pool.measure(item):
                verdict = measurement.judgement.verdict
                yield self._report(item, measurement)
        except OtherTorchError as error:
            raise pytest.exit.Exception(str(error), returncode=2) from None
        # Reporters write the properties of a test when it is torn down.
        yield self._teardown_report(item, verdict)

    def _report(self, item: CellItem, measurement: Measurement) -> pytest.TestReport:
        """Return the report pytest shows. A repeat that is not the last one is recorded, and shown as nothing."""
        judgement, seen = measurement.judgement, measurement.observation
        verdict, reason = judgement.verdict, judgement.reason
        outcome = "passed"
        when: Literal["setup", "call"] = "call"
        wasxfail: str | None = None
        longrepr: str | tuple[str, int, str] | None = None
        if verdict is Verdict.XFAIL or (verdict is Verdict.FLAKY and item.cell.case.flaky):
            outcome, wasxfail = "skipped", reason
        elif verdict is Verdict.SKIP:
            outcome, longrepr = "skipped", (str(item.path), item.cell.check.line, f"Skipped: {reason}")
        elif verdict is Verdict.ERROR:
            outcome, longrepr, when = "failed", f"error: {reason}\n{seen.output_tail}".strip(), "setup"
        elif verdict is not Verdict.PASS:
            parts = [f"{verdict}: {reason}", measurement.text.strip(), _output_section(seen)]
            outcome, longrepr = "failed", "\n\n".join(part for part in parts if part)
        if not measurement.final:
            outcome, longrepr, when, wasxfail = "passed", None, "setup", None
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords=dict.fromkeys(item.keywords, 1),
            outcome=outcome,  # type: ignore[arg-type]
            longrepr=longrepr,
            when=when,
            duration=seen.duration_s,
            user_properties=self._properties(item, verdict),
        )
        if wasxfail is not None:
            report.wasxfail = wasxfail
        # Extra attributes travel with the report, from a pytest-xdist worker to the process that writes.
        report.pt2bugs = dict(measurement.record)  # type: ignore[attr-defined]
        report.pt2bugs_final = measurement.final  # type: ignore[attr-defined]
        return report

    def _properties(self, item: CellItem, verdict: Verdict) -> list[tuple[str, object]]:
        facts = self.pool.measuring.facts if self.pool is not None else EnvironmentFacts()
        return [
            ("case", item.cell.case.id),
            ("torch", facts.torch),
            ("device", item.cell.device),
            ("backend", item.cell.backend),
            ("verdict", str(verdict)),
        ]

    def _teardown_report(self, item: CellItem, verdict: Verdict) -> pytest.TestReport:
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords=dict.fromkeys(item.keywords, 1),
            outcome="passed",
            longrepr=None,
            when="teardown",
            user_properties=self._properties(item, verdict),
        )


def _output_section(seen: Observation) -> str:
    return f"--- output of the cell (end) ---\n{seen.output_tail.strip()}" if seen.output_tail.strip() else ""
