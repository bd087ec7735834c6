"""A corpus in a temporary folder, run by the real plugin in a real pytest process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pt2bugs
from fake_torch import write_torch

Record = dict[str, Any]
HARNESS = str(Path(pt2bugs.__file__).parent.parent)
"""Where the pt2bugs of the tests is: its runs are to use it too, not the one that is installed."""

_HEADER = """\
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0"]
#
# [tool.pt2bugs]
{lines}
# ///
"""
_COMPILES = """
import torch

def {name}(x):
    return x.sin() * 2

def test_a():
    x = torch.ones(3)
    assert torch.compile({name})(x).sum() == {name}(x).sum(), "not equal"
"""


def case_text(body: str, *, bugs: Sequence[dict[str, Any]] = (), **settings: Any) -> str:
    """A case file. `settings` are header keys (``requires_torch`` for ``requires-torch``)."""
    table = {
        "issue": "https://example.org/issues/1",
        "title": "A title",
        "component": "dynamo",
        "symptom": "crash",
        **{key.replace("_", "-"): value for key, value in settings.items()},
    }
    lines = [f"{key} = {_toml(value)}" for key, value in table.items()]
    for bug in bugs:
        lines += ["[[tool.pt2bugs.bug]]", *(f"{key} = {_toml(value)}" for key, value in bug.items())]
    return _HEADER.format(lines="\n".join(f"# {line}" for line in lines)) + textwrap.dedent(body)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def compiles(name: str) -> str:
    """The body of a case that compiles a function of that name."""
    return _COMPILES.format(name=name)


@dataclass
class Done:
    """How a pytest run over the corpus ended. `output` is stdout and stderr together."""

    status: int
    output: str
    records: list[Record]

    def record(self, case: str, check: str | None = None) -> Record:
        """The one journal line of that case, or of one check of it."""
        (record,) = (r for r in self.records if r["case"] == case and check in (None, r["check"]))
        return record

    def outcomes(self) -> dict[str, str]:
        return {f"{r['case']}::{r['check']}": r["outcome"] for r in self.records}

    def verdicts(self) -> dict[str, str]:
        return {f"{r['case']}::{r['check']}": r["verdict"] for r in self.records}


class Suite:
    """A corpus of its own, with a temporary folder, a home and a journal of its own.

    It runs on a fake torch unless `real_torch` is asked for. Every process of a run carries a mark in its
    environment, so that those left behind can be found.
    """

    def __init__(self, folder: Path, *, real_torch: bool = False) -> None:
        self.folder = folder
        self.cases = folder / "cases"
        self.journal = folder / "journal.jsonl"
        self.temporary = folder / "tmp"
        self.home = folder / "home"
        self.mark = uuid.uuid4().hex
        for made in (self.cases, self.temporary, self.home):
            made.mkdir()
        self.real_torch = real_torch
        self.torch = write_torch(folder / "torch")

    def case(self, name: str, body: str, *, bugs: Sequence[dict[str, Any]] = (), **settings: Any) -> Path:
        path = self.cases / f"{name}.py"
        path.write_text(case_text(body, bugs=bugs, **settings), encoding="utf-8", errors="surrogateescape")
        return path

    def environ(self, **env: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PT2BUGS_"))}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join([*([] if self.real_torch else [str(self.torch)]), HARNESS]),
            "TMPDIR": str(self.temporary),
            "HOME": str(self.home),
            # What is learnt about an environment; on the real torch worth keeping between tests.
            **({} if self.real_torch else {"PT2BUGS_HOME": str(self.home / "cache")}),
            "SUITE_MARK": self.mark,
            **env,
        }

    def command(self, *options: str, journal: bool = True) -> list[str]:
        command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(self.folder)]
        command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-q", str(self.cases)]
        return [*command, *(["--journal", str(self.journal)] if journal else []), *options]

    def start(self, *options: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*options), cwd=self.folder, env=self.environ(**env),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip

    def run(self, *options: str, **env: str) -> Done:
        return self.finish(self.start(*options, **env))

    def finish(self, process: subprocess.Popen[str], timeout_s: float = 240) -> Done:
        output, _ = process.communicate(timeout=timeout_s)
        return Done(process.returncode, output, self.records())

    def records(self) -> list[Record]:
        if not self.journal.exists():
            return []
        return [json.loads(line) for line in self.journal.read_bytes().splitlines()]

    def survivors(self) -> list[str]:
        """Command lines of processes of this suite that still run."""
        return [_read(Path(f"/proc/{pid}/cmdline")).replace("\0", " ") for pid in self.processes()]

    def processes(self) -> list[int]:
        mark = f"SUITE_MARK={self.mark}"
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if mark in _read(path / "environ")]


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes().decode(errors="replace")
    return ""


def children(pid: int) -> list[int]:
    """The living children of a process."""
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(path).split()]


def parent_of(pid: int) -> int:
    """The process that started it, or has it now; 0 if it has gone."""
    stat = _read(Path(f"/proc/{pid}/stat"))
    return int(stat.rpartition(")")[2].split()[1]) if stat else 0


def wait_until(condition: Callable[[], Any], timeout_s: float = 60) -> Any:
    """The first true value of `condition`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return value
