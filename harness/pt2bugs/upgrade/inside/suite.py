"""Run a test suite and write down how each test ends, inside a child of the engine."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any

from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.check import seed
from pt2bugs.engine.counts import COUNTS, Counts
from pt2bugs.engine.messages import CallRequest
from pt2bugs.engine.observe import observe_exception, render, type_name
from pt2bugs.upgrade.inside.recording import Record

FUNCTION = "pt2bugs.upgrade.inside.suite:run"
"""The function that a request of kind ``call`` names."""
ALWAYS = ("-p", "no:cacheprovider", "-p", "no:pt2bugs", "--continue-on-collection-errors", "--maxfail=0")
"""Behind the user's own arguments: nothing is written beside the tests, and all of them run."""


class SuiteRequest(CallRequest):
    """A suite.

    Attributes:
        folder: In which pytest was started.
        arguments: Of pytest.
        only: Tests that are run; empty for all.
        done: Tests that are left out, as they ran before.
        record: The file that takes the record.
    """

    device: str
    threads: int
    folder: str
    arguments: Sequence[str]
    only: Sequence[str]
    done: Sequence[str]
    record: str


def run(request: SuiteRequest) -> dict[str, Any]:
    """Run the tests, and return pytest's exit status; what each of them showed goes to the record.

    Args:
        request: The suite.
    """
    import pytest

    seed(request["device"], request["threads"])
    os.chdir(request["folder"])
    sys.path.insert(0, request["folder"])
    arguments = [*request["arguments"], *ALWAYS]
    if importlib.util.find_spec("xdist") is not None:
        # Workers of pytest-xdist would be processes whose tests are not seen here.
        arguments += ["-n", "0"]
    sys.argv = ["pytest", *arguments]
    COUNTS.watch()
    watcher = Watcher(Record(request["record"]), frozenset(request["only"]), frozenset(request["done"]))
    return {"status": int(pytest.main(arguments, plugins=[watcher]))}


class Watcher:
    """A plugin of pytest that writes down each test when it begins and when it has ended.

    Args:
        record: takes it.
        only: tests that are run; empty for all.
        done: tests that are left out.
    """

    def __init__(self, record: Record, only: Collection[str], done: Collection[str]) -> None:
        self._record, self._only, self._done = record, only, done
        self._raised: dict[str, tuple[Observation, str]] = {}
        self._skipped = self._failed = ""
        self._before = Counts(0)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out what is not asked for.

        Args:
            items: that were collected.
        """
        items[:] = [
            item for item in items if item.nodeid not in self._done and (not self._only or item.nodeid in self._only)
        ]

    def pytest_collectreport(self, report: Any) -> None:
        """Write down a file that cannot be collected, or can.

        Args:
            report: of a file or a folder.
        """
        if report.nodeid and not report.skipped:
            self._end("collected", report.nodeid, failed=str(report.longrepr) if report.failed else "")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write down that a test begins.

        Args:
            nodeid: of the test.
        """
        self._skipped = self._failed = ""
        self._before = COUNTS.now()
        self._record.add("began", test=nodeid)

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        """Keep the exception of a test, or of a file that cannot be collected.

        Args:
            node: the test or the file.
            call: with the exception.
        """
        error = call.excinfo.value
        if type_name(type(error)).endswith(".CollectError") and error.__cause__ is not None:
            # It quotes the traceback of what the import raised.
            error = error.__cause__
        seen = observe_exception(error, str(getattr(node, "path", "")))
        self._raised.setdefault(node.nodeid, (seen, render(error)))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep how a phase of a test ended.

        Args:
            report: of the phase.
        """
        if report.skipped:
            self._skipped = str(getattr(report, "wasxfail", "") or "skipped")
        elif report.failed:
            # A test that passes although it must not raises no exception.
            self._failed = self._failed or str(report.longrepr) or "failed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write down how a test ended.

        Args:
            nodeid: of the test.
        """
        self._end("ended", nodeid, failed=self._failed, skipped=self._skipped, counts=COUNTS.now().since(self._before))

    def _end(self, kind: str, name: str, *, failed: str = "", skipped: str = "", counts: Counts | None = None) -> None:
        seen, text = Observation(Outcome.SKIP if skipped else Outcome.PASS, message=skipped), ""
        if failed:
            seen, text = self._raised.get(name) or (Observation(Outcome.RAISE, "Failed", failed), "")
        if counts is not None:
            seen.graphs, seen.breaks, seen.kernels, seen.fallbacks = counts
        self._record.add(kind, test=name, observation=seen.as_dict(), text=text)
