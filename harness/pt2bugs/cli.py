"""The `pt2bugs` command: parse, call, print.

stdout is data, stderr is progress and messages. Exit 0: all as expected, 1: something is not, 2: bad usage or
input, 3: nothing selected. Only the module of the command asked for is imported, so that `list` starts
without pandas.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import io
import os
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from pt2bugs import __version__
from pt2bugs.commands import NOTHING, OK, USAGE
from pt2bugs.commands.console import columns, on_a_terminal, say
from pt2bugs.commands.options import add_options, file, folder, options_of, present
from pt2bugs.errors import NothingSelected, Pt2bugsError, install_command

COMMANDS = {
    "list": "what the corpus holds",
    "run": "the matrix: run what the journal does not answer yet",
    "plan": "how a selection is divided into shards, for a CI that starts a machine for each",
    "merge": "the results of several machines as one, nothing lost",
    "thin": "the journal without the nightlies between changes",
    "backend": "the traps a torch.compile backend falls into, its own and inherited",
    "bisect": "where each check was broken and fixed",
    "isolate": "which functions' change fixed a check, or broke it, from two wheels",
    "hotfix": "a proved fix as a patch for a wheel that one must stay on",
    "compare": "what a move from one release to another fixes and breaks",
    "upgrade": "what a move to another release breaks, fixes and changes for a program of one's own",
    "exposure": "which documented bugs of a release concern a program of one's own",
    "diff": "what two results folders say differently of the same cells",
    "bench": "how fast compiled code is beside eager, by release",
    "news": "what broke and what was fixed in the releases measured since a day",
    "matrix": "the matrix in the terminal, or as a picture",
    "export": "data for dashboards",
    "dataset": "the corpus and its measurements as tables for research",
    "repair": "a repair benchmark: tasks of proved fixes, and the score of a patch",
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
    "Questions about releases": ("compare", "bisect", "isolate", "hotfix", "news", "matrix", "match"),
    "Measuring": ("run", "bench", "diff", "plan", "merge", "thin", "envs", "doctor"),
    "A program of one's own, a backend": ("upgrade", "exposure", "triage", "backend"),
    "Data and pages": ("list", "export", "dataset", "repair", "report", "corpus"),
    "Writing cases": ("new", "check", "bless"),
}
"""Order of the commands in the overview."""

ASKED = ("compare", "upgrade", "match", "bisect", "triage", "backend", "run", "new")
"""Commands that most users need; the short overview explains these."""

MEASURING = ("run", "bench", "bisect", "compare", "backend")
"""Commands that write the journal while they go."""

PAGED = ("list", "plan", "run", "bench", "backend", "bisect", "compare", "diff", "news", "matrix", "corpus", "match")
"""Commands that print one answer, at the end: on a terminal through a pager where it is longer than the screen."""

SHELLS = ("bash", "zsh", "tcsh", "fish")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        argv: its words; None for those of the process.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    _open_what_is_closed()
    with _guarded_outputs():
        return _run(argv)


def _run(argv: list[str]) -> int:
    with _signals_stop():
        try:
            with on_a_terminal(paged=_is_paged(argv)):
                module, arguments = _parse(argv)
                return int(module.run(options_of(module.Options, arguments)))
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
            say(f"pt2bugs: this needs {error.name}, which is not installed: {install_command(extra)}")
            return USAGE
        except OSError as error:
            # A file that may not be looked at, or a full disk: said by its name, wherever it was met. What is written
            # to an open file has no name.
            if not error.filename and error.errno not in _SHORTAGES:
                raise
            say(f"pt2bugs: {os.fsdecode(error.filename)}: {error.strerror}" if error.filename else f"pt2bugs: {error}")
            return USAGE
        except KeyboardInterrupt:
            kept = "; what had finished is in the journal, the same command goes on from there"
            say(f"pt2bugs: stopped{kept if argv[0] in MEASURING else ''}")
            # Where it interrupted text in `exec`, such as a dataclass's while Dask is imported, CPython takes it for
            # unhandled and kills the process with SIGINT at exit, whatever is returned. The next text resets that.
            exec("")
            return 130


def _is_paged(argv: Sequence[str]) -> bool:
    return "--no-pager" not in argv and (argv[:1] == ["help"] or "--help" in argv or (argv or [""])[0] in PAGED)


class _Output(io.FileIO):
    """An output whose reader may leave early, as `head` does, or whose disk may be full: the rest goes nowhere."""

    def __init__(self, descriptor: int, failures: list[OSError]) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._failures = failures

    def write(self, data: Any) -> int:
        """Write, or drop the text where it can no longer be written, which is a failure unless the reader has gone.

        Args:
            data: the bytes.
        """
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self._failures.append(error)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


def _open_what_is_closed() -> None:
    """Open what of the three standard streams is closed, so that no journal and no child gets its descriptor."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest descriptor that is free: those below are open by now.
            os.open(os.devnull, os.O_RDWR)
            if getattr(sys, name) is None:
                setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False))


@contextlib.contextmanager
def _guarded_outputs() -> Iterator[None]:
    """Let a command run to its end also when its reader leaves, has no UTF-8, or its output cannot be written.

    Raises:
        SystemExit: the answer could not be written, so that the exit code must not be that of the answer. Messages
            that cannot be written change no answer.
    """
    failures: list[OSError] = []
    try:
        with contextlib.ExitStack() as stack:
            for stream, redirect, failed in (
                (sys.stdout, contextlib.redirect_stdout, failures),
                (sys.stderr, contextlib.redirect_stderr, []),
            ):
                if output := _guarded(stream, failed):
                    stack.callback(output.flush)
                    stack.enter_context(redirect(output))
            yield
    except SystemExit:
        if not failures:
            raise
    if failures:
        say(f"pt2bugs: the output cannot be written: {failures[0].strerror}")
        raise SystemExit(USAGE)


def _guarded(stream: Any, failures: list[OSError]) -> io.TextIOWrapper | None:
    """Return a stream to write to in place of another; None if that is a stand-in without a descriptor."""
    if not isinstance(stream, io.TextIOWrapper):
        return None
    stream.reconfigure(errors="backslashreplace")
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return None
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(descriptor, failures)),
        stream.encoding,
        stream.errors,
        line_buffering=bool(stream.line_buffering),
        write_through=stream.write_through,
    )


_SHORTAGES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors of the system that say what the machine lacks."""

_EXTRAS = {
    "envs": ("uv", "pypi_simple", "requests"),
    "run": ("torch", "pytest"),
    "parquet": ("pyarrow",),
    "cluster": ("distributed", "dask", "cryptography"),
}
"""Modules that a plain installation lacks, with the extra that brings each."""


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


def _parse(argv: Sequence[str]) -> tuple[ModuleType, argparse.Namespace]:
    """Return the module of the command asked for, and its arguments."""
    parser = argparse.ArgumentParser(prog="pt2bugs", usage="pt2bugs COMMAND ...", add_help=False)
    command, *rest = argv or [""]
    if command == "help" and rest:
        if more := [word for word in rest[1:] if word != "--no-pager"]:
            _refuse("pt2bugs help", f"takes one command, and no {' '.join(more)}")
        command, rest = rest[0], ["--help"]
    if command in ("-h", "--help", "help", ""):
        about = overview if command in ("--help", "help") else short_overview
        print(about(columns()), file=sys.stdout if command else sys.stderr)
        raise SystemExit(OK if command else USAGE)
    if command in ("-V", "--version"):
        print(f"pt2bugs {__version__}")
        raise SystemExit(OK)
    if command == "--print-completion":
        _print_completion(parser, rest)
        raise SystemExit(OK)
    if command not in COMMANDS:
        kind, words = ("option", _OWN) if command.startswith("-") else ("command", tuple(COMMANDS))
        _refuse("pt2bugs", f"no {kind} {command!r}{_suggestion(command, words) or ';'} `pt2bugs --help` lists all")
    sub, module = command_parser(command)
    return module, _parse_command(sub, module.Options, rest)


_OWN = ("-h", "--help", "-V", "--version", "--print-completion")
"""Options of `pt2bugs` itself."""


def _refuse(prog: str, problem: str) -> NoReturn:
    say(f"{prog}: {problem}")
    raise SystemExit(USAGE)


def _suggestion(word: str, words: Iterable[str]) -> str:
    """Return a hint at the word that was probably meant; empty if none is near."""
    # The dashes that all options share make none of them near.
    bare = {known.lstrip("-"): known for known in words}
    close = difflib.get_close_matches(word.lstrip("-"), list(bare), n=1)
    return f"; did you mean {bare[close[0]]}?" if close else ""


class Parser(argparse.ArgumentParser):
    """The parser of a command. Its usage is a line, ``-h`` a screen, ``--help`` everything."""

    def __init__(self, name: str, about: str, options: type, examples: Sequence[tuple[str, str]]) -> None:
        super().__init__(
            prog=f"pt2bugs {name}",
            description=about,
            epilog=_examples(examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=False,
        )
        self.examples = examples
        add_options(self, options)
        self.add_argument("-h", dest="help", action=_Brief, nargs=0, help="show the options of this command alone")
        self.add_argument("--help", action="help", help="show all options, in groups")
        if name in PAGED:
            self.add_argument(
                "--no-pager", action="store_true", help="print a long answer on the terminal as it is (or: PAGER=cat)"
            )
        taken = [action for action in self._actions if action.required or not action.option_strings]
        words = [
            f"{action.option_strings[0]} {action.metavar or action.dest.upper()}"
            if action.option_strings
            else self._get_formatter()._format_args(action, str(action.metavar))
            for action in sorted(taken, key=lambda action: not action.option_strings)
        ]
        # "usage: " stands before it.
        width = columns() - 7
        self.usage = textwrap.fill(" ".join([self.prog, *words, "[OPTION]"]), width, subsequent_indent=" " * 9)

    def format_brief(self) -> str:
        """Return what fits a screen: the command's own options, a line for each, and its examples."""
        width = columns() - 2
        own = [*self._positionals._group_actions, *self._optionals._group_actions]
        names = {action: self._name_of(action) for action in own if action.dest not in ("help", "no_pager")}
        indent = 4 + max(map(len, names.values()), default=0)
        if width - indent < 24:  # a narrow terminal has them below
            gap, room = f"\n{' ' * 6}", width - 6
        else:
            gap, room = "", width - indent
        lines = [f"  {name:{0 if gap else indent - 2}}{gap}{_clause(action, room)}" for action, name in names.items()]
        groups = [str(group.title).partition(" (")[0] for group in self._action_groups[2:] if group._group_actions]
        more = "--help explains every option" + (f", also those of: {', '.join(groups)}" if groups else "")
        parts = [f"usage: {self.usage}\n\n{self.description}", "\n".join(lines)]
        examples = [f"  {command}" for command, _ in self.examples[: max(1, 16 - len(lines) - len(groups) // 2)]]
        parts += ["\n".join(["examples:", *examples]), textwrap.fill(more, width, break_on_hyphens=False)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _name_of(self, action: argparse.Action) -> str:
        """Return what is typed for an option, with its value."""
        if not action.option_strings:
            return str(action.metavar)
        words = "|".join(map(str, action.choices or ())) or action.dest.upper()
        value = action.metavar or (words if len(words) < 16 else "WORD")
        value = value if isinstance(value, str) else " ".join(value)
        name = next(name for name in action.option_strings if name.startswith("--"))
        return name + (f" {value}" if action.nargs != 0 else "")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and how the command is used.

        Args:
            message: what is wrong.

        Raises:
            SystemExit: always.
        """
        self.print_usage(sys.stderr)
        _refuse(self.prog, message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        words = list(map(str, action.choices or ()))
        if words and value not in words:
            hint = _suggestion(str(value), words) or f" (choose from {', '.join(words)})"
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}")


class _Brief(argparse.Action):
    """Prints the short help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.format_brief(), end="")
        raise SystemExit(OK)


def command_parser(name: str) -> tuple[Parser, ModuleType]:
    """Return the parser of a command, and its module.

    Args:
        name: of the command.
    """
    module = importlib.import_module(f"pt2bugs.commands.{name}")
    help_ = COMMANDS[name]
    about = textwrap.fill(help_[0].upper() + help_[1:] + ".", columns() - 2)
    return Parser(name, about, module.Options, getattr(module, "EXAMPLES", ())), module


def _examples(examples: Sequence[tuple[str, str]]) -> str:
    """Return examples as the whole help has them: a command line, which is never broken, and what it is for."""
    width, indent = columns() - 2, " " * 6
    lines = [
        line
        for command, why in examples
        for line in (f"  {command}", *textwrap.wrap(why, width, initial_indent=indent, subsequent_indent=indent))
    ]
    return "\n".join(["examples:", *lines]) if lines else ""


def _clause(action: argparse.Action, width: int) -> str:
    """Return as much of an explanation as fits a line: its first clauses, or else the words that can be given."""
    text = (action.help or "").replace("%%", "%")
    ends = [match.start() for match in re.finditer(r"; | \(|, |$", text)]
    clauses = [text[:end] for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    # A list that is cut says so.
    cut = [f"{part}, ..." if ": " in part and text[len(part) :].startswith((", ", " (")) else part for part in clauses]
    fitting = [clause for clause in cut if len(clause) <= width]
    words = ", ".join(map(str, action.choices or ()))
    if words and action.metavar is None and len(words) + len(clauses[0]) + 2 <= width:
        return f"{clauses[0]}: {words}"
    return fitting[-1] if fitting else textwrap.shorten(text, width, placeholder="...")


def short_overview(width: int) -> str:
    """Return what fits a screen: the commands that are asked for most, and the names of all.

    Args:
        width: columns of the terminal.
    """
    lines = [*_opening(width), "", *_explained(ASKED, width), "", "All commands:"]
    for title, names in GROUPS.items():
        lines += textwrap.wrap(f"{title}: {', '.join(names)}", width, initial_indent="  ", subsequent_indent="    ")
    more = "pt2bugs COMMAND -h is a screen about a command; pt2bugs --help explains all of them."
    return "\n".join([*lines, "", *textwrap.wrap(more, width)])


def _opening(width: int) -> list[str]:
    about = "Documented PyTorch 2 compiler bugs, measured per torch release and device."
    return ["usage: pt2bugs COMMAND ...", "", *textwrap.wrap(about, width)]


def _explained(names: Iterable[str], width: int) -> Iterator[str]:
    for name in names:
        yield from textwrap.wrap(
            COMMANDS[name], width, initial_indent=f"  {name:8}  ", subsequent_indent=" " * 12, break_on_hyphens=False
        )


def overview(width: int) -> str:
    """Return every command by what it is for.

    Args:
        width: columns of the terminal.
    """
    lines = _opening(width)
    for title, names in GROUPS.items():
        lines += ["", f"{title}:", *_explained(names, width)]
    lines += ["", *textwrap.wrap("pt2bugs COMMAND --help has the options and examples of a command.", width)]
    shells = f"pt2bugs --print-completion {'|'.join(SHELLS)} makes a shell complete commands, case ids and releases."
    codes = "Exit codes: 0 all as expected, 1 something is not, 2 bad usage or input, 3 nothing selected."
    return "\n".join([*lines, *textwrap.wrap(shells, width), *textwrap.wrap(codes, width)])


_WORDS = {
    "cases": "pt2bugs list 2>/dev/null | cut -d ' ' -f 1",
    "releases": "pt2bugs list --releases 2>/dev/null; echo latest minors all",
}
"""Commands by which a shell completes words that only the corpus and its results know."""
_FUNCTIONS = {"bash": 'compgen -W "$({words})" -- "$1"', "zsh": "compadd -- $({words})"}
_PATHS = (Path, file, folder, present)


def _words_of(action: argparse.Action) -> str:
    """Return which of these words an argument takes, or that it takes files; empty for none."""
    if action.dest in ("torch", "before", "after") or action.metavar == "RELEASE":
        return "releases"
    # A requirement may be a wheel or a folder.
    if action.type in _PATHS or any(word in str(action.metavar) for word in ("FILE", "SCRIPT", "DIR", "REQ")):
        return "files"
    return "cases" if action.metavar == "CASE" else ""


def _print_completion(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Print the script with which a shell completes `pt2bugs`."""
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        _refuse("pt2bugs", f"--print-completion takes one of {', '.join(SHELLS)}")
    (shell,) = arguments
    if shell == "fish":
        print("\n".join(_fish()))
        return
    import shtab

    parser.add_argument(*_OWN[2:4], action="store_true", help="the version")
    parser.add_argument("--print-completion", choices=SHELLS, help="the script with which a shell completes this")
    commands = parser.add_subparsers()
    commands.add_parser("help", help="all options of a command").add_argument("command", choices=list(COMMANDS))
    for name, about in COMMANDS.items():
        whole, _ = command_parser(name)
        for action in whole._actions:
            words = _words_of(action)
            if words == "files":
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            elif words and shell in _FUNCTIONS:
                action.complete = {shell: f"_pt2bugs_{words}"}  # type: ignore[attr-defined]
        commands.add_parser(name, help=about, parents=[whole], add_help=False)
    functions = {
        name: "\n".join(f"_pt2bugs_{kind}() {{ {text.format(words=words)}; }}" for kind, words in _WORDS.items())
        for name, text in _FUNCTIONS.items()
    }
    print(shtab.complete(parser, shell, preamble=functions))  # type: ignore[arg-type]  # a dict by shell is taken, too


def _fish() -> Iterator[str]:
    """Yield the lines of a completion script for fish, which shtab does not write."""

    def quoted(text: str) -> str:
        """Return a text as fish reads it between single quotes."""
        return "'{}'".format(text.replace("\\", "\\\\").replace("'", "\\'"))

    def named(option: str) -> str:
        """Return an option as fish is told of it."""
        return f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"

    yield "complete -c pt2bugs -f"
    for option in _OWN:
        takes = f" -x -a {quoted(' '.join(SHELLS))}" if option == "--print-completion" else ""
        yield f"complete -c pt2bugs -n __fish_use_subcommand {named(option)}{takes}"
    yield "complete -c pt2bugs -n __fish_use_subcommand -a help -d 'all options of a command'"
    yield f"complete -c pt2bugs -n '__fish_seen_subcommand_from help' -a {quoted(' '.join(COMMANDS))}"
    for name, about in COMMANDS.items():
        yield f"complete -c pt2bugs -n __fish_use_subcommand -a {name} -d {quoted(about)}"
        parser, _ = command_parser(name)
        seen = quoted(f"__fish_seen_subcommand_from {name}")
        for action in parser._actions:
            words = " ".join(map(named, action.option_strings))
            choices = f" -a {quoted(' '.join(map(str, action.choices)))}" if action.choices else ""
            if (kind := _words_of(action)) in _WORDS:
                choices = f" -k -a {quoted(f'({_WORDS[kind]})')}"
            files = " -F" if kind == "files" else ""
            takes = (" -r" if files else " -x") if words and action.nargs != 0 else ""
            if words or choices or files:
                yield f"complete -c pt2bugs -n {seen}{words and f' {words}'}{takes}{files}{choices}"


def _parse_command(parser: Parser, options: type, argv: Sequence[str]) -> argparse.Namespace:
    """Parse as `parse_args` does, but cases may stand anywhere: argparse takes those before the first option only."""
    behind: Sequence[str] = ()
    if "arguments" in {option.name for option in fields(options)} and "--" in argv:
        at = argv.index("--")
        argv, behind = argv[:at], argv[at + 1 :]
    arguments, rest = parser.parse_known_args(argv)
    arguments.arguments = tuple(behind)
    wrong = [argument for argument in rest if argument.startswith("-") or not hasattr(arguments, "patterns")]
    if wrong:
        names = [name for action in parser._actions for name in action.option_strings]
        hint = _suggestion(wrong[0].partition("=")[0], names)
        parser.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
    if rest:
        arguments.patterns = [*arguments.patterns, *rest]
    return arguments
