"""The pytest plugin: case files become items, and every item runs as a cell in a child of its own.

The same plugin serves `pytest cases/` in the user's environment, each environment of the matrix, and
private corpora. Collection imports neither torch nor the case files.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import platform
import signal
import sys
import sysconfig
import threading
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pytest
from packaging.version import InvalidVersion, Version

from harness import warmup
from harness.case import CaseError, Selection, add_unique, is_case_file, parse_case
from harness.cell import render, run_cell
from harness.expectation import Judgement, Where, is_available, judge, public
from harness.extras import installed_extras
from harness.files import write_text
from harness.isolation import (
    CHANNEL_VARIABLE,
    DIE_WITH_PARENT,
    GRACE_S,
    LEAVE_S,
    MAX_PROCESSES,
    START_S,
    Channel,
    Ending,
    IsolationError,
    Limits,
    Zygote,
    die_with_parent,
    exec_cell,
    leave,
)
from harness.journal import JournalError, JournalWriter, Record, new_record
from harness.outcome import CALM, MESSAGE_LIMIT, OUTPUT_LIMIT, Observation, Outcome, Verdict, bounded
from harness.places import Places
from harness.plan import Cell, cells_of

CLAIM = "cell "
"""How the names of the files begin by which processes that share cells claim them; the text is who did."""
_signal_names = {number.value: number.name for number in signal.Signals}


# --- options ------------------------------------------------------------------------------------------


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pt2bugs", "PyTorch 2 compiler bugs")
    option = group.addoption
    option("--device", action="append", default=[], help="device to run the cases on (default: cpu)")
    option("--backend", action="append", default=[], help="torch.compile backend (default: the header's)")
    option("--journal", type=Path, help="append one JSON line per cell to this file")
    option("--repeat", type=_positive, default=1, metavar="N", help="run each cell N times in new children")
    option(
        "--confirm",
        type=_positive,
        default=1,
        metavar="N",
        help="run a cell up to N times if its verdict is not the expected one",
    )
    option("--component", action="append", default=[], help="only cases of this component")
    option("--symptom", action="append", default=[], help="only cases with this symptom")
    option("--label", action="append", default=[], help="only cases with this label")
    option("--threads", type=_positive, default=1, metavar="N", help="threads of torch in each cell")
    option("--expect-torch", type=_version, metavar="VERSION", help="refuse to run on any other torch release")
    option("--run-id", help="name of the run in the journal (default: a new one)")
    option(
        "--share",
        type=Path,
        metavar="FOLDER",
        help="share the cells with other processes that are given this empty folder: each is run by the first there",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_cases] = {}
    if parent := os.environ.pop(DIE_WITH_PARENT, ""):
        die_with_parent()
        if os.getppid() != int(parent):
            # It was gone before we could ask to be told.
            raise pytest.exit.Exception("the run that started this process is gone", returncode=2)


def pytest_sessionstart(session: pytest.Session) -> None:
    # Registered late on purpose: the plugin registered last is asked first, before pytest-forked.
    session.config.pluginmanager.register(CellRunner(session), "pt2bugs-runner")


_cases: pytest.StashKey[dict[str, Any]] = pytest.StashKey()


# --- collection ---------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collected = yield
    # A case file named on the command line would be taken for a test module as well.
    return [CaseFile.from_parent(parent, path=file_path)] if is_case_file(file_path) else collected


class CaseFile(pytest.File):
    """A case file; its items are the cells that the options ask for."""

    def collect(self) -> Iterator[CellItem]:
        option = self.config.option
        try:
            case = parse_case(self.path)
            add_unique(self.config.stash[_cases], case)
        except CaseError as error:
            raise self.CollectError(str(error)) from None
        selection = Selection((), tuple(option.component), tuple(option.symptom), tuple(option.label))
        if not selection.matches(case):
            return
        for cell in cells_of(case, tuple(option.device), tuple(option.backend)):
            item: CellItem = CellItem.from_parent(self, name=cell.name, cell=cell)
            yield item


class CellItem(pytest.Item):
    """One check on one device with one backend."""

    def __init__(self, *, cell: Cell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        self.seen: Observation | None = None
        self.channel: Channel | None = None
        # pytest-timeout's timer then runs around the check alone, in the child, and dumps its stacks.
        self.add_marker(pytest.mark.timeout(cell.case.timeout, method="signal", func_only=True))

    def runtest(self) -> None:
        """Run the check in this process, which is the child."""
        channel = self.channel
        assert channel is not None, "a cell runs in a child only"

        self.seen, error = run_cell(self.cell, self.config.option.threads, channel.start)
        if error is not None:
            raise CheckFailed(render(error))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return render(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.cell.check.line - 1, self.name


class CheckFailed(Exception):
    """A check failed; carries the traceback as text. Nothing but the plugin raises or handles it."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases = config.stash[_cases].values()
    if cases and config.option.backend and not any(isinstance(item, CellItem) for item in items):
        named = {backend for case in cases for backend in case.backends}
        asked = " ".join(f"--backend {backend}" for backend in config.option.backend)
        raise pytest.UsageError(f"{asked}: no selected check runs there; headers name {', '.join(sorted(named))}")


# --- running ------------------------------------------------------------------------------------------


@dataclass
class _Canary:
    """What the canary of a device and backend said: healthy, absent or broken, with its words."""

    outcome: Outcome
    words: str = ""
    device_name: str = ""


class CellRunner:
    """Runs items as cells: the zygote's client in the pytest process, the body in a child."""

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self.config = session.config
        self.option = session.config.option
        self.zygote = Zygote(self._prepare, self._body, warmup.provide)
        self.run_id = self.option.run_id or new_run_id()
        self.extras = installed_extras()
        self.places = Places()
        self.broken = ""
        self.canaries: dict[tuple[str, str], _Canary] = {}
        self.journal: JournalWriter | None = None
        self.verdicts: dict[Verdict, int] = {}
        # Of workers (pytest-xdist) the one process that collects their reports writes.
        self.is_writer = not hasattr(session.config, "workerinput")
        if self.option.journal is not None and self.is_writer:
            try:
                self.journal = JournalWriter(self.option.journal)
            except JournalError as error:
                raise pytest.UsageError(f"--journal {error}") from None

    # In the pytest process.

    @cached_property
    def _numbers(self) -> dict[pytest.Item, int]:
        """Where in the session each item is: the zygote has the same ones."""
        return {item: number for number, item in enumerate(self.session.items)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not isinstance(item, CellItem):
            return None
        if channel := os.environ.get(CHANNEL_VARIABLE):
            # pytest has let it write to a copy of stderr that is not the cell's output.
            faulthandler.enable()
            self._run_here(item, Channel.from_env(channel))
            return True
        if not self._claim(item):
            return True
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._run_item(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
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
        self.zygote.close()
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.verdicts:
            return
        counts = ", ".join(f"{n} {verdict}" for verdict in Verdict if (n := self.verdicts.get(verdict, 0)))
        facts = self.zygote.facts
        where = f"torch {facts['torch']}, Python {facts['python']}, {facts['cpu_capability']}: " if facts else ""
        terminalreporter.write_sep("-", "pt2bugs")
        terminalreporter.write_line(f"{where}{sum(self.verdicts.values())} cells: {counts}")

    def _claim(self, item: CellItem) -> bool:
        """Whether the cell is this process's to run: of several only one can make its file."""
        share: Path | None = self.option.share
        if share is None:
            return True
        try:
            with (share / f"{CLAIM}{item.cell.case.id} {item.name}").open("x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return False
        except OSError as error:
            raise pytest.exit.Exception(f"--share {share}: {error.strerror}", returncode=2) from None
        return True

    def _run_item(self, item: CellItem) -> Iterator[pytest.TestReport]:
        """Run the cell as often as asked, yielding a report per repeat; the last one has the verdict."""
        seen: list[tuple[Observation, Judgement, str]] = []
        wanted = self.option.repeat
        while len(seen) < wanted:
            started = datetime.now(timezone.utc)
            observation, text = self._run_once(item)
            observation.message = self.places.hide(observation.message, item.path)
            observation.output_tail = self.places.hide(observation.output_tail, item.path)
            judgement = judge(item.cell.case, item.cell.check.name, self._where(item.cell), observation)
            seen.append((observation, judgement, text))
            if len(seen) == 1 and judgement.verdict not in {*CALM, Verdict.ERROR}:
                wanted = max(wanted, self.option.confirm)
            final = len(seen) == wanted
            if final and wanted > 1:
                observation, judgement = _weigh(seen)
            record = self._record(item.cell, observation, judgement, started, len(seen), wanted)
            yield self._report(item, observation, judgement, text, record, final=final)
        # Reporters write the properties of a test when it is torn down.
        yield self._teardown_report(item, judgement.verdict)

    def _run_once(self, item: CellItem) -> tuple[Observation, str]:
        """What one child showed, and its failure as text."""
        case, cell = item.cell.case, item.cell
        if case.extra and case.extra not in self.extras:
            words = f"needs the extra {case.extra!r}: pt2bugs run {case.id} --extra {case.extra}"
            return Observation(Outcome.SKIP, message=words), ""
        if self.broken:
            return Observation(Outcome.ERROR, message=self.broken), ""
        try:
            facts = self.zygote.start()
        except IsolationError as error:
            self.broken = f"the environment is broken: {error}"
            return Observation(Outcome.ERROR, message=self.broken), ""
        self._refuse_other_torch(facts["torch"])
        if not is_available(case, public(facts["torch"])):
            words = f"needs torch {case.requires_torch}"
            return Observation(Outcome.SKIP, message=words), ""
        canary = self._canary(cell.device, cell.backend)
        if canary.outcome is not Outcome.PASS:
            return Observation(canary.outcome, message=canary.words), ""
        memory = case.memory if cell.device == "cpu" else None
        try:
            ending = self._run_child({"item": self._numbers[item]}, Limits(case.timeout, memory))
        except IsolationError as error:
            return Observation(Outcome.ERROR, message=str(error)), ""
        return observe_ending(ending, case.timeout, case.memory)

    def _run_child(self, request: dict[str, Any], limits: Limits) -> Ending:
        """Run one child; once more if it may have been killed from outside.

        No compiler sends SIGKILL. An administrator, or a system out of memory, does; a check that kills
        itself will do so again.
        """
        ending = self.zygote.run(request, limits)
        killed = ending.signal == signal.SIGKILL and not ending.stopped
        return self.zygote.run(request, limits) if killed or ending.stopped in ("lost", "outside") else ending

    def _refuse_other_torch(self, imported: str) -> None:
        asked = self.option.expect_torch
        if asked and Version(public(imported)) != asked:
            words = f"asked for torch {asked}, but this environment imports torch {imported}; nothing was run"
            raise pytest.exit.Exception(words, returncode=2)

    def _canary(self, device: str, backend: str) -> _Canary:
        known = self.canaries.get((device, backend))
        if known is None:
            known = self.canaries[device, backend] = self._run_canary(device, backend)
        return known

    def _run_canary(self, device: str, backend: str) -> _Canary:
        """Run it, unless another process has found it healthy."""
        share: Path | None = self.option.share
        told = share / f"canary {device} {backend}" if share else None
        if told and told.exists():
            report = json.loads(told.read_text())
            self.zygote.learn(report["needs"])
            return _Canary(Outcome.PASS, device_name=report["device_name"])
        facts = self.zygote.facts
        known = warmup.is_known(facts, device, backend)
        try:
            ending = self._run_child({"canary": [device, backend], "train": not known}, Limits(START_S, None))
        except IsolationError as error:
            return _Canary(Outcome.ERROR, f"canary: {error}")
        report = ending.frames.get("report")
        if report is None:
            seen, _ = observe_ending(ending, START_S, 0)
            return _Canary(Outcome.ERROR, f"canary on {device} with {backend}: {seen.summary}")
        if "absent" in report:
            return _Canary(Outcome.SKIP, report["absent"])
        if "failed" in report:
            return _Canary(Outcome.ERROR, f"canary on {device} with {backend}: {report['failed']}")
        self.zygote.learn(report["needs"])
        if not known:
            warmup.remember(facts, device, backend, report["needs"])
        if told:
            write_text(told, json.dumps(report))
        return _Canary(Outcome.PASS, device_name=report["device_name"])

    def _where(self, cell: Cell) -> Where:
        facts = self.zygote.facts
        torch = public(facts["torch"]) if facts else "0"
        return Where(torch, facts.get("python", "0"), cell.device, cell.backend)

    def _record(
        self,
        cell: Cell,
        seen: Observation,
        judgement: Judgement,
        started: datetime,
        repeat: int,
        repeats: int,
    ) -> Record:
        known = self.zygote.facts
        canary = self.canaries.get((cell.device, cell.backend))
        facts = {
            # Where torch did not even import, the line still says which environment is broken.
            "torch": str(self.option.expect_torch or ""),
            "python": platform.python_version(),
            "platform": platform.platform(),
            **known,
            "device_name": canary.device_name if canary else "",
        }
        return new_record(
            cell, seen, judgement.verdict, facts,
            run_id=self.run_id, started=started, extras=self.extras, repeat=repeat, repeats=repeats,
        )  # fmt: skip

    def _report(
        self,
        item: CellItem,
        seen: Observation,
        judgement: Judgement,
        text: str,
        record: Record,
        *,
        final: bool,
    ) -> pytest.TestReport:
        """The report pytest shows. A repeat that is not the last one is recorded, and shown as nothing."""
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
            parts = [f"{verdict}: {reason}", text.strip(), _output_section(seen)]
            outcome, longrepr = "failed", "\n\n".join(part for part in parts if part)
        if not final:
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
        report.pt2bugs = record  # type: ignore[attr-defined]
        report.pt2bugs_final = final  # type: ignore[attr-defined]
        return report

    def _properties(self, item: CellItem, verdict: Verdict) -> list[tuple[str, object]]:
        return [
            ("case", item.cell.case.id),
            ("torch", self.zygote.facts.get("torch", "")),
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

    # In the zygote.

    def _prepare(self, folder: Path) -> dict[str, Any]:
        manager = self.config.pluginmanager
        # Their files and descriptors belong to the pytest process, or they keep for it what a cell is to print.
        for name in (
            "capturemanager",
            "terminalreporter",
            "logging-plugin",
            "faulthandler",
            "unraisableexception",
            "threadexception",
        ):
            if (plugin := manager.get_plugin(name)) is not None:
                manager.unregister(plugin)
        sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__
        # pytest-timeout prints the stacks through it, in the children.
        manager.register(pytest.TerminalReporter(self.config, sys.stderr), "terminalreporter")
        cells = [item.cell for item in self.session.items if isinstance(item, CellItem)]
        targets = sorted({(cell.device, cell.backend) for cell in cells})
        return warmup.prepare(self.option.threads, targets, folder)

    # In a child.

    def _body(self, request: dict[str, Any], channel: Channel) -> None:
        if "canary" in request:
            device, backend = request["canary"]
            try:
                channel.start()
                channel.send("report", warmup.canary(device, backend, train=request["train"]))
            except BaseException as error:
                channel.send("report", {"failed": _words(error)})
            return
        item = self.session.items[request["item"]]
        assert isinstance(item, CellItem)
        if item.cell.case.isolation == "spawn":
            exec_cell(self._command(item), channel, {**_python_path(), **item.cell.case.env})
        self._run_here(item, channel)

    def _command(self, item: CellItem) -> list[str]:
        """A fresh interpreter that runs this one item, without other plugins and a project's settings."""
        cell = item.cell
        return [
            sys.executable,
            *("-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(item.path.parent), "--noconftest"),
            *("--capture=no", "-p", "no:cacheprovider", "-p", "pytest_timeout", "-p", "harness.plugin"),
            *("--threads", str(self.option.threads), "--device", cell.device, "--backend", cell.backend),
            f"{item.path}::{item.name}",
        ]

    def _run_here(self, item: CellItem, channel: Channel) -> None:
        """Be the child: run the item by pytest's own call hooks, and report."""
        # It dumps the stacks even while C code holds the interpreter lock and no Python handler can run.
        faulthandler.dump_traceback_later(item.cell.case.timeout + GRACE_S / 2)
        item.channel = channel
        text = self._run_hooks(item)
        seen = item.seen
        if seen is None:
            # The timer or a plugin cut in before the check could be observed.
            outcome = Outcome.TIMEOUT if "Timeout" in text else Outcome.ERROR
            seen = Observation(outcome, message=bounded(text, MESSAGE_LIMIT))
        channel.send("report", {"observation": seen.as_dict(), "text": text})
        leave(0)

    def _run_hooks(self, item: CellItem) -> str:
        """Setup and call, as pytest's `runtestprotocol` has them; returns the failure as text.

        A report is made of a failure only, and nothing is torn down: the process ends.
        """
        hook = item.ihook
        call = pytest.CallInfo.from_call(lambda: hook.pytest_runtest_setup(item=item), when="setup")
        if call.excinfo is None:
            call = pytest.CallInfo.from_call(lambda: hook.pytest_runtest_call(item=item), when="call")
        if call.excinfo is None:
            return ""
        report = hook.pytest_runtest_makereport(item=item, call=call)
        data = hook.pytest_report_to_serializable(config=self.config, report=report)
        return str(data.get("longrepr") or "")


def _words(error: BaseException) -> str:
    """The error on one line, its innermost cause included: wrappers hide which package is missing."""
    cause = error
    while (inner := cause.__cause__ or cause.__context__) is not None and inner is not cause:
        cause = inner
    own = " ".join(str(error).split())[:600]
    words = f"{type(error).__name__}: {own}"
    if cause is not error and (root := " ".join(str(cause).split())[:300]) not in own:
        words += f" (caused by {type(cause).__name__}: {root})"
    return bounded(words, MESSAGE_LIMIT)


def _python_path() -> dict[str, str]:
    """Let a fresh interpreter find this package, and load no plugin that was not named."""
    here = str(Path(__file__).resolve().parent.parent)
    path = os.environ.get("PYTHONPATH", "")
    if here not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        path = f"{here}{os.pathsep}{path}" if path else here
    return {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}


def _output_section(seen: Observation) -> str:
    return f"--- output of the cell (end) ---\n{seen.output_tail.strip()}" if seen.output_tail.strip() else ""


def _weigh(seen: list[tuple[Observation, Judgement, str]]) -> tuple[Observation, Judgement]:
    """The verdict on all repeats together: what they agree on, or flaky with n/k.

    An error of the environment among them is no disagreement; it spoils the series.
    """
    observation, judgement, _ = seen[-1]
    for spoilt, error, _ in seen:
        if error.verdict is Verdict.ERROR:
            return spoilt, error
    if len({(one.verdict, other.outcome) for other, one, _ in seen}) == 1:
        return observation, judgement
    kinds = [str(one.outcome) if one.outcome is not Outcome.CRASH else f"crash {one.signal}" for one, _, _ in seen]
    counts = ", ".join(f"{kind} {kinds.count(kind)}/{len(kinds)}" for kind in dict.fromkeys(kinds))
    reason = f"repeats disagree: {counts}"
    observation.message = bounded(f"{reason}\n{observation.message}".strip(), MESSAGE_LIMIT)
    return observation, Judgement(Verdict.FLAKY, reason, judgement.bug)


def observe_ending(ending: Ending, timeout_s: float, memory_mib: int) -> tuple[Observation, str]:
    """What a child's end means: its report if it made one and left in peace, else how it was ended."""
    report = ending.frames.get("report")
    clean = ending.signal is None and ending.exit_status == 0 and not ending.stopped
    if report is not None and clean and "observation" in report:
        seen = Observation.from_dict(report["observation"])
        text = report["text"]
    else:
        seen, text = _observe_death(ending, timeout_s, memory_mib), ""
        seen.duration_s = ending.duration_s
        seen.signal = _signal_names.get(ending.signal or 0, str(ending.signal or ""))
    seen.exit_status = ending.exit_status
    seen.peak_rss_mb = ending.peak_rss_mb
    seen.output_tail = bounded(ending.output_tail[-OUTPUT_LIMIT:], OUTPUT_LIMIT)
    return seen, text


def _observe_death(ending: Ending, timeout_s: float, memory_mib: int) -> Observation:
    if ending.stopped == "setup":
        return Observation(Outcome.ERROR, message=f"the cell could not be set up: {ending.detail}")
    if ending.stopped == "outside":
        return Observation(Outcome.ERROR, message=f"ended from outside: {ending.detail}")
    if ending.stopped == "lost":
        words = f"the check took the process that supervises it along: {ending.detail}"
        return Observation(Outcome.CRASH, message=words)
    outcome, words = _how_it_ended(ending, timeout_s, memory_mib)
    if "started" not in ending.frames:
        return Observation(Outcome.ERROR, message=f"the check had not started: {words}")
    return Observation(outcome, message=words)


def _how_it_ended(ending: Ending, timeout_s: float, memory_mib: int) -> tuple[Outcome, str]:
    if ending.stopped == "deadline":
        return Outcome.TIMEOUT, f"still running {GRACE_S:g} s after its timeout of {timeout_s:g} s; killed"
    if ending.stopped == "leave":
        return Outcome.TIMEOUT, f"the check had ended, but its process was still there {LEAVE_S:g} s later; killed"
    if ending.stopped == "start":
        return Outcome.TIMEOUT, f"nothing happened for {START_S:g} s; killed"
    if ending.stopped == "memory":
        return Outcome.OOM, f"over its limit of {memory_mib} MiB; killed"
    if ending.stopped == "processes":
        return Outcome.CRASH, f"more than {MAX_PROCESSES} processes; killed"
    if ending.signal is not None:
        name = _signal_names.get(ending.signal, str(ending.signal))
        if "bad_alloc" in ending.output_tail:
            return Outcome.OOM, f"died by {name} after std::bad_alloc"
        return Outcome.CRASH, f"died by {name}"
    return Outcome.CRASH, f"left with status {ending.exit_status} without reporting"


def new_run_id() -> str:
    """A name for a run: sortable by time, unique."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
