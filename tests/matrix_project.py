"""A small corpus, the command line run on it, and the releases of a fake torch that it is for."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pt2bugs.results.journal import read_journal
from suite import case_text

RELEASES = {
    "2.5.0": {},
    "2.5.1": {"old": "wrong"},
    "2.6.0": {"old": "wrong", "ends": "abort"},
    # The canary's own function. A fork leaves the real torch without its pool of threads; a backward pass, that of a
    # canary too, then aborts now and then.
    "2.7.0": {"ends": "raise", "program": "threads"},
    # This release compiles nothing.
    "2.8.0": {"program": "raise"},
}
CHECK = """
import torch

def test_{name}(backend):
    def {name}(x):
        return x.sin()

    x = torch.arange(4)
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))
"""


class Project:
    """A folder with a small corpus, and the command line run in it."""

    def __init__(self, folder: Path, home: Path, index: str) -> None:
        self.folder, self.index = folder, index
        # What pip is set up with on this machine must not take part.
        self.environ = {**os.environ, "PT2BUGS_HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
        for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
            self.environ.pop(name, None)
        old = [{"torch": "<2.6.1", "outcome": "wrong", "error": "AssertionError", "match": "not close"}]
        ends = [
            {"torch": ">=2.6,<2.7", "outcome": "crash", "signal": "SIGABRT"},
            {"torch": ">=2.7", "outcome": "raise", "error": "torch._dynamo.exc.InternalTorchDynamoError"},
        ]
        self.case("old", bugs=old)
        self.case("ends", bugs=ends)

    def case(self, name: str, **settings: Any) -> Path:
        path = self.folder / "cases" / "dynamo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case_text(CHECK.format(name=name), **settings))
        return path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pt2bugs", *arguments]

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    def matrix(self, *specs: str, **environ: str) -> subprocess.CompletedProcess[str]:
        arguments = [argument for spec in specs for argument in ("--torch", spec)]
        return self.run("run", *arguments, "--index", self.index, **environ)

    @property
    def lines(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / "results" / "journal").glob("*.jsonl"))
        return [dict(record) for record in read_journal(files, lambda _: None)]

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "results" / name).open(newline="") as file:
            return list(csv.DictReader(file))
