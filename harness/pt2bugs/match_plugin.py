"""`pytest --pt2bugs-match`: names the known PyTorch bugs among the failures of anybody's test suite.

It changes no result. Nothing is read before the first failure.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from pt2bugs.envs.extras import installed_torch
from pt2bugs.errors import Pt2bugsError

if TYPE_CHECKING:
    from pt2bugs.match.known import KnownBugs

TITLE = "pt2bugs"


class Recognizer:
    """Appends "known PyTorch bug: ..." to the reports of the failures that it recognizes."""

    def __init__(self) -> None:
        self._known: KnownBugs | None = None
        self._problem = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Name the known bug in the report of a test that failed.

        Args:
            call: of the test.
        """
        report = yield
        if report.failed and call.excinfo is not None:
            self._tell(report, call.excinfo.value)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Name the known bug in the report of a file that cannot be collected."""
        report = yield
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            self._tell(report, call.excinfo.value)
        return report

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why failures were not compared, if they were not.

        Args:
            terminalreporter: writes it.
        """
        if self._problem:
            terminalreporter.write_line(f"pt2bugs: failures were not compared with the known bugs: {self._problem}")

    def _tell(self, report: pytest.TestReport | pytest.CollectReport, error: BaseException) -> None:
        known = self._describe_matches("".join(traceback.format_exception(type(error), error, error.__traceback__)))
        if not known:
            return
        add_section = getattr(report.longrepr, "addsection", None)
        if add_section is not None:
            add_section(TITLE, known)
        else:
            report.longrepr = f"{report.longrepr}\n{known}"

    def _describe_matches(self, text: str) -> str:
        """Return the known bugs that a failure may be, as text; empty if there is none."""
        if self._problem:
            return ""
        try:
            known = self._known = self._known or _load()
        except Pt2bugsError as problem:
            self._problem = str(problem)
            return ""
        torch = installed_torch()
        said = []
        for recognized in known.recognize(text, torch):
            for match in recognized.matches:
                if match.is_known:
                    told = known.as_dict(match, torch)
                    said.append(
                        f"known PyTorch bug: {told['case']}: {told['title']}\n{told['issue']}\n{told['advice']}"
                    )
        return "\n".join(dict.fromkeys(said))


def _load() -> KnownBugs:
    """Return the known bugs. Imported here, so that a suite that passes pays nothing.

    Raises:
        Pt2bugsError: the corpus cannot be read.
    """
    from pt2bugs.match.known import KnownBugs

    return KnownBugs.brought()
