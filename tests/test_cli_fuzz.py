"""Any command line at all: never a traceback, exit codes 0 to 3 alone, nothing written where nobody asked for it.

The commands run in this process, in a folder with a small corpus, on a machine that has no network and starts no
interpreter: a command line that asks for a run gets as far as that. The examples are the same in every run; set
PT2BUGS_FUZZ to a number for as many others.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pt2bugs.cli import COMMANDS, SHELLS, command_parser, main
from pt2bugs.engine.client import Engine
from seeded import write_case, write_journal

EXAMPLES = int(os.environ.get("PT2BUGS_FUZZ", "0"))
HANG_S = 60
"""A command that takes longer hangs: nothing here takes a second."""

ARGUMENTS = (
    "", " ", "-", "--", "-1", "0", "1", "2", "99999999999999999999", "9" * 5000, "1e999", "nan", "*", "[", "**/*",
    "::", "::test_it", "pytorch_1", "pytorch_*", "pytorch_2::test_it", "pytorch_3::nothing", "#1",
    "https://example.org/issues/1", "2.9.1", "2.9", "latest", "minors", "all", ">=2.6,<2.10", ">=2.6,<", "==",
    "2.9.1+cpu", "2.0", "cpu", "cuda", "meta", "cuda:99", "inductor", "eager", "nothing", "0/0", "1/2", "3/2",
    "local:2", "local:x", "60G", "-60G", "1e400G", "a=b", "=", "csv", "json", "..", "\x1b[31mred", "a\nb", "a\rb",
    "a\tb", "\u202eabc", "\udc80", "\u0000", "\xe9", "\U0001f525", "%s%n", "{0}", "$(id)", "x" * 300, "x" * 5000,
)  # fmt: skip
"""Values of options, and cases."""
PATHS = (
    "cases", "results", "results/journal", "results/journal/pytorch_1.jsonl", "cases/dynamo/pytorch_1.py", "out",
    "new/out", "file", "file/below", "folder", "pipe", "loop", "nowhere", "binary", "empty.py", "script.py",
    "trace.txt", "locked",
)  # fmt: skip
"""Paths in the folder of the command, of every kind."""


class Sandbox:
    """The folder that the commands run in, and one beside it that no command has business with."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.elsewhere = root, root / "here", root / "elsewhere"
        self.elsewhere.mkdir()
        (self.elsewhere / "precious").write_text("precious")
        self.folder.mkdir()
        for name, letters in (("pytorch_1", "B"), ("pytorch_2", "."), ("pytorch_3", "F")):
            path = write_case(self.folder, name)
            write_journal(self.folder, path, {"2.9.1": letters, "2.10.0": ".", "2.11.0": "."})
        for name, text in (
            ("file", "text"),
            ("empty.py", ""),
            ("script.py", "import torch\n"),
            ("trace.txt", 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x\n'),
        ):
            (self.folder / name).write_text(text)
        (self.folder / "binary").write_bytes(bytes(range(256)) * 20)
        (self.folder / "folder").mkdir()
        (self.folder / "locked").mkdir(mode=0)
        os.mkfifo(self.folder / "pipe")
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "nowhere").symlink_to("missing")
        self.started: list[Sequence[str]] = []

    def outside(self) -> set[str]:
        """What is not in the folder of the commands."""
        kept = {"here", "home", "tmp"}
        beside = {entry.name for entry in self.root.iterdir() if entry.name not in kept}
        return beside | {f"{path.name}: {path.read_text()}" for path in self.elsewhere.iterdir()}


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    made = Sandbox(tmp_path)
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    for name, value in {"HOME": "home", "PT2BUGS_HOME": "home/pt2bugs", "TMPDIR": "tmp"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(made.folder)

    def no_network(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "no network here")

    def no_engine(engine: Engine, _: Path) -> None:
        made.started.append([str(engine.settings.python)])
        raise OSError(8, "no interpreter here", str(engine.settings.python))

    class Popen(subprocess.Popen[Any]):
        def __init__(self, args: Sequence[str], *more: Any, **options: Any) -> None:
            if args[0] != sys.executable:
                raise FileNotFoundError(2, "No such file or directory", args[0])
            super().__init__(args, *more, **options)

    monkeypatch.setattr("socket.getaddrinfo", no_network)
    monkeypatch.setattr(Engine, "_spawn", no_engine)
    monkeypatch.setattr("subprocess.Popen", Popen)
    yield made
    (made.folder / "locked").chmod(0o700)


def options_of(name: str) -> list[str]:
    actions = command_parser(name)[0]._actions
    return [
        option for action in actions for option in action.option_strings if not isinstance(action, argparse._HelpAction)
    ]


OPTIONS = {name: options_of(name) for name in COMMANDS}
CHOICES = {
    option: [str(choice) for choice in action.choices]
    for name in COMMANDS
    for action in command_parser(name)[0]._actions
    if action.choices
    for option in action.option_strings
}
VALUES = st.sampled_from(ARGUMENTS) | st.sampled_from(PATHS) | st.text(max_size=6)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A verb, and options that it has or has not, with values of every kind."""
    other = ("", "-h", "--version", "lst", "\x1b[31m", "--print-completion")
    verb = draw(st.sampled_from((*sorted(COMMANDS), *other)))
    arguments = [verb]
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.integers(0, 9))
        if kind < 6 and OPTIONS.get(verb):
            option = draw(st.sampled_from(OPTIONS[verb]))
            value = draw(st.sampled_from(CHOICES[option]) | VALUES) if option in CHOICES else draw(VALUES)
            arguments += draw(st.sampled_from(([option, value], [f"{option}={value}"], [option])))
        elif kind == 6:
            arguments.append(
                draw(st.sampled_from(sorted({option for options in OPTIONS.values() for option in options})))
            )
        else:
            arguments.append(draw(VALUES | st.sampled_from(SHELLS)))
    return arguments


@contextlib.contextmanager
def no_hang(arguments: Sequence[str]) -> Iterator[None]:
    def expired(*_: object) -> None:
        raise AssertionError(f"it hangs: {arguments}")

    former = signal.signal(signal.SIGALRM, expired)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)


def run(arguments: list[str]) -> tuple[int, str, str]:
    """The exit code, what is on stdout, and on stderr."""
    printed_bytes, told_bytes = io.BytesIO(), io.BytesIO()
    out, err = (
        io.TextIOWrapper(stream, "utf-8", "backslashreplace", write_through=True)
        for stream in (printed_bytes, told_bytes)
    )
    former, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(b"Traceback\nValueError: x\n"))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), no_hang(arguments):
            try:
                code: Any = main(arguments)
            except SystemExit as left:
                code = left.code
    finally:
        sys.stdin = former
    printed, told = (stream.decode() for stream in (printed_bytes.getvalue(), told_bytes.getvalue()))
    return code, printed, told


@settings(
    max_examples=EXAMPLES or 120,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(command_lines())
def test_any_command_line(sandbox: Sandbox, arguments: list[str]) -> None:
    before = sandbox.outside()
    code, printed, told = run(arguments)
    note(f"{arguments}\n{printed[-500:]}\n{told[-2000:]}")
    assert code in (0, 1, 2, 3)
    assert "Traceback (most recent call last)" not in told
    assert code != 2 or told.strip(), "bad usage says why"
    assert "\x1b" not in told + printed
    assert sandbox.outside() == before
