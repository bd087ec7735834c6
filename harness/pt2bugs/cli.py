"""The `pt2bugs` command: parse, call, print.

stdout is data, stderr is progress and messages. Exit 0: all as expected, 1: something is not, 2: bad usage or
input, 3: nothing selected. Only the module of the command asked for is imported, so that `list` starts
without pandas.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import shutil
import signal
import sys
import textwrap
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
    "plan": "how a selection is divided into shards, for a CI that starts a machine for each",
    "merge": "the results of several machines as one, nothing lost",
    "backend": "the traps a torch.compile backend falls into, its own and inherited",
    "bisect": "where each check was broken and fixed",
    "compare": "what a move from one release to another fixes and breaks",
    "diff": "what two results folders say differently of the same cells",
    "news": "what broke and what was fixed in the releases measured since a day",
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
    "doctor": "whether this machine can run the suite, and what to do where not",
}
"""Name of the module in `pt2bugs.commands`, and its help."""

GROUPS = {
    "Questions about releases": ("compare", "bisect", "news", "matrix", "match"),
    "Measuring": ("run", "diff", "plan", "merge", "envs", "doctor"),
    "A failing program, a backend": ("triage", "backend"),
    "Data and pages": ("list", "export", "report", "corpus"),
    "Writing cases": ("new", "check", "bless"),
}
"""How the overview orders the commands."""

MEASURING = ("run", "bisect", "compare", "backend")
"""Commands that write the journal while they go."""

SHELLS = ("bash", "zsh", "tcsh")


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
            kept = "; what had finished is in the journal, the same command goes on from there"
            say(f"pt2bugs: stopped{kept if argv[0] in MEASURING else ''}")
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
    parser = argparse.ArgumentParser(prog="pt2bugs", usage="pt2bugs COMMAND ...", add_help=False)
    asked = argv[0] if argv else ""
    if asked in ("-h", "--help", ""):
        print(overview(shutil.get_terminal_size().columns), file=sys.stdout if asked else sys.stderr)
        raise SystemExit(OK if asked else USAGE)
    if asked == "--version":
        print(f"pt2bugs {__version__}")
        raise SystemExit(OK)
    if asked == "--print-completion":
        _print_completion(parser, argv[1:])
        raise SystemExit(OK)
    if asked not in COMMANDS:
        close = difflib.get_close_matches(asked, COMMANDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        parser.error(f"no command {asked!r}{hint} `pt2bugs --help` lists all")
    sub, module = command_parser(asked)
    return module, _parse_command(sub, argv[1:])


def command_parser(name: str) -> tuple[argparse.ArgumentParser, ModuleType]:
    """The parser of a command, and its module."""
    module = importlib.import_module(f"pt2bugs.commands.{name}")
    help_ = COMMANDS[name]
    width = shutil.get_terminal_size().columns - 2
    parser = argparse.ArgumentParser(
        prog=f"pt2bugs {name}",
        description=textwrap.fill(help_[0].upper() + help_[1:] + ".", width),
        epilog=_examples(module, width),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    return parser, module


def _examples(module: ModuleType, width: int) -> str:
    """The examples of a command: pairs of a command line, which is never broken, and what it is for."""
    pairs: Sequence[tuple[str, str]] = getattr(module, "EXAMPLES", ())
    indent = " " * 6
    lines = [
        line
        for command, why in pairs
        for line in (f"  {command}", *textwrap.wrap(why, width, initial_indent=indent, subsequent_indent=indent))
    ]
    return "\n".join(["examples:", *lines]) if lines else ""


def overview(width: int) -> str:
    """Every command by what it is for, within so many columns."""
    known = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "More": tuple(name for name in COMMANDS if name not in known)}
    lines = ["usage: pt2bugs COMMAND ...", ""]
    lines += textwrap.wrap("Documented PyTorch 2 compiler bugs, measured per torch release and device.", width)
    for title, names in groups.items():
        there = [name for name in names if name in COMMANDS]
        lines += ["", f"{title}:"] if there else []
        for name in there:
            lines += textwrap.wrap(COMMANDS[name], width, initial_indent=f"  {name:8}  ", subsequent_indent=" " * 12)
    lines += ["", *textwrap.wrap("pt2bugs COMMAND --help has the options and examples of a command.", width)]
    shells = f"pt2bugs --print-completion {'|'.join(SHELLS)} prints what makes a shell complete commands and case ids."
    codes = "Exit codes: 0 all as expected, 1 something is not, 2 bad usage or input, 3 nothing selected."
    return "\n".join([*lines, *textwrap.wrap(shells, width), *textwrap.wrap(codes, width)])


_CASES = {
    "bash": '_pt2bugs_cases() { compgen -W "$(pt2bugs list 2>/dev/null | cut -d " " -f 1)" -- "$1"; }',
    "zsh": '_pt2bugs_cases() { compadd -- $(pt2bugs list 2>/dev/null | cut -d " " -f 1); }',
}
"""Completes case ids: a function of the shell."""


def _print_completion(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print the script with which a shell completes `pt2bugs`."""
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        parser.error(f"--print-completion takes one of {', '.join(SHELLS)}")
    try:
        import shtab
    except ImportError:
        parser.error("completion is made by shtab: pip install shtab")
    (shell,) = arguments
    commands = parser.add_subparsers()
    for name, help_ in COMMANDS.items():
        sub = commands.add_parser(name, help=help_)
        importlib.import_module(f"pt2bugs.commands.{name}").add_arguments(sub)
        for action in sub._actions:
            if action.dest == "patterns" and shell in _CASES:
                action.complete = {shell: "_pt2bugs_cases"}  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell, preamble=_CASES))  # type: ignore[arg-type]  # a dict by shell is taken, too


def _parse_command(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """As `parse_args`, but cases may stand anywhere: argparse takes those before the first option only."""
    if parser.get_default("arguments") is not None and "--" in argv:
        # What stands behind belongs to the program that the command runs.
        at = argv.index("--")
        parser.set_defaults(arguments=list(argv[at + 1 :]))
        argv = argv[:at]
    arguments, rest = parser.parse_known_args(argv)
    if rest and (not hasattr(arguments, "patterns") or any(argument.startswith("-") for argument in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.patterns = [*arguments.patterns, *rest]
    return arguments


if __name__ == "__main__":
    sys.exit(main())
