"""The `pt2bugs` command: parse, call, print.

stdout is data, stderr is progress and talk. Exit 0: all as expected, 1: something is not, 2: bad usage or
input, 3: nothing selected. Only the module of the command asked for is imported, so that `list` starts
without pandas.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import fields
from types import ModuleType
from typing import Any

from pt2bugs import __version__
from pt2bugs.commands import NOTHING, OK, USAGE
from pt2bugs.commands.console import say
from pt2bugs.errors import NothingSelected, Pt2bugsError

COMMANDS = {
    "list": "what the corpus holds",
    "run": "the matrix: run what the journal does not answer yet",
    "backend": "the traps a torch.compile backend falls into, its own and inherited",
    "bisect": "where each check was broken and fixed",
    "compare": "what a move from one release to another fixes and breaks",
    "matrix": "the matrix in the terminal, or as a picture",
    "export": "data for dashboards",
    "report": "a static page that opens from the file system",
    "corpus": "the corpus as a Markdown page: introduced, fixed, left out",
    "match": "is this traceback a known bug, and which release fixes it",
    "new": "a case file from an issue and a script",
    "triage": "from a failing script to a classified, minimized, documented bug",
    "check": "is this a good case: header, program, identity, releases",
    "bless": "rewrite the bug entries of headers from the journal",
    "envs": "the environments, their size, and a disk budget",
}
"""Name of the module in `pt2bugs.commands`, and its help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    with _signals_stop():
        try:
            module, arguments = _parse(argv)
            return int(module.run(_options_of(module, arguments)))
        except NothingSelected as error:
            say(f"pt2bugs: {error}")
            return NOTHING
        except Pt2bugsError as error:
            say(f"pt2bugs: {error}")
            return USAGE
        except ModuleNotFoundError as error:
            extra = next((extra for extra, modules in _EXTRAS.items() if error.name in modules), None)
            if extra is None:
                raise
            say(f"pt2bugs: this needs {error.name}, which is not installed: pip install 'pt2bugs[{extra}]'")
            return USAGE
        except KeyboardInterrupt:
            say("pt2bugs: stopped; what had finished is in the journal, the same command goes on from there")
            return 130
        except BrokenPipeError:
            # The reader of our output (head, less) has what it wanted.
            sys.stderr.close()
            return OK


_EXTRAS = {
    "run": ("torch", "uv", "pypi_simple", "requests", "filelock", "pytest"),
    "parquet": ("pyarrow",),
    "cluster": ("distributed", "dask"),
}
"""What a plain install does not bring, by the extra that does."""


@contextlib.contextmanager
def _signals_stop() -> Iterator[None]:
    """Take SIGTERM and SIGHUP for Ctrl-C: what runs is ended, folders are removed, and the user is told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def _options_of(module: ModuleType, arguments: argparse.Namespace) -> Any:
    """The values of the command line as the command takes them."""
    return module.Options(**{field.name: getattr(arguments, field.name) for field in fields(module.Options)})


def _parse(argv: Sequence[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module of the command asked for, and its arguments."""
    parser = argparse.ArgumentParser(
        prog="pt2bugs",
        description="Documented PyTorch 2 compiler bugs, measured per torch release and device.",
        epilog="Exit codes: 0 all as expected, 1 something is not, 2 bad usage or input, 3 nothing selected.",
    )
    parser.add_argument("--version", action="version", version=f"pt2bugs {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    asked = argv[0] if argv else ""
    for name, help_ in COMMANDS.items():
        sub = commands.add_parser(name, help=help_, description=help_[0].upper() + help_[1:] + ".")
        if name == asked:
            module = importlib.import_module(f"pt2bugs.commands.{name}")
            module.add_arguments(sub)
            return module, _parse_command(sub, argv[1:])
    parser.parse_args(argv)
    raise SystemExit("argparse ends the process where no command was named")


def _parse_command(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """As `parse_args`, but cases may stand anywhere: argparse takes those before the first option only."""
    if parser.get_default("arguments") is not None and "--" in argv:
        # What stands behind belongs to the program that the command runs.
        at = argv.index("--")
        parser.set_defaults(arguments=list(argv[at + 1 :]))
        argv = argv[:at]
    arguments, rest = parser.parse_known_args(argv)
    if rest and (not hasattr(arguments, "patterns") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.patterns = [*arguments.patterns, *rest]
    return arguments


if __name__ == "__main__":
    sys.exit(main())
