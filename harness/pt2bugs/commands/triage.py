"""`pt2bugs triage`: from a failing script to a classified, minimized, documented bug."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.corpus import load_cases
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import EnvironmentOptions, ResultsOptions, add_environments, add_results, count, folder
from pt2bugs.commands.selection import corpus_roots, results_folder
from pt2bugs.commands.targets import open_store, releases_for, targets_for
from pt2bugs.engine.client import EngineError
from pt2bugs.errors import InputError
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.schedule import Target
from pt2bugs.triage.program import Program, load_program

STEPS = ("minimize", "artifacts")


EXAMPLES = (("pt2bugs triage script.py", "which layer fails, since when, the smallest program, the report"),)


@dataclass(frozen=True, kw_only=True)
class Options(EnvironmentOptions, ResultsOptions):
    """What the command takes; `what` is a script, the id of a case, or with `verify` the folder of a triage."""

    what: str
    arguments: Sequence[str] = ()
    torch: Sequence[str] = ()
    python_exe: Path | None = None
    output: Path | None = None
    cases: Sequence[Path] = ()
    times: int = 3
    minutes: float = 15.0
    timeout: float = 120.0
    compare_output: bool = False
    drop_unused_imports: bool = False
    skip: Sequence[str] = ()
    verify: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="SCRIPT|CASE|DIR", help="a program, a case id, or a folder to --verify")
    parser.set_defaults(arguments=[])
    parser.epilog = "What stands behind -- are the arguments of the program."
    parser.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="SPEC",
        help="one release to triage on, or several to search: minors, a range; default: the current torch",
    )
    parser.add_argument("--python-exe", type=Path, metavar="PATH", help="triage on the torch of this interpreter")
    parser.add_argument("-o", "--output", type=folder, metavar="DIR", help="where to write (default: triage-SCRIPT)")
    parser.add_argument("--cases", action="append", default=[], type=Path, metavar="DIR", help="another corpus")
    parser.add_argument("--times", type=count, default=3, metavar="N", help="runs of the program as it is (default: 3)")
    parser.add_argument(
        "--minutes", type=_positive, default=15.0, metavar="M", help="for all steps together (default: 15)"
    )
    parser.add_argument(
        "--timeout", type=_positive, default=120.0, metavar="S", help="seconds for one run (default: 120)"
    )
    parser.add_argument(
        "--compare-output", action="store_true", help="printing another text than without the compiler is a failure"
    )
    parser.add_argument(
        "--drop-unused-imports", action="store_true", help="leave out imports that are not installed and not used"
    )
    parser.add_argument("--skip", action="append", default=[], choices=STEPS, help="leave a step out")
    parser.add_argument(
        "--verify", action="store_true", help="run what a triage handed over, and its neighbours, on a build with a fix"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_results(parser)
    add_environments(parser)


def run(options: Options) -> int:
    if options.python_exe and options.torch:
        raise InputError("--python-exe names one interpreter; leave --torch out")
    interpreters = _Interpreters(options)
    return _verify(options, interpreters) if options.verify else _triage(options, interpreters)


def _triage(options: Options, interpreters: _Interpreters) -> int:
    from pt2bugs.triage.report import summary
    from pt2bugs.triage.workflow import Settings, triage

    program = _program(options)
    target = options.output or Path(f"triage-{program.name}")
    if target.exists() and not target.is_dir():
        raise InputError(f"-o {target}: is a file; name a folder")
    settings = Settings(
        folder=target,
        python_of=interpreters.python_of,
        cases=corpus_roots(options.cases),
        results=options.results or results_folder(),
        releases=interpreters.releases,
        argv=options.arguments,
        minutes=options.minutes,
        timeout_s=options.timeout,
        times=options.times,
        compare_output=options.compare_output,
        drop_unused_imports=options.drop_unused_imports,
        skip=frozenset(options.skip),
        log=say,
        warn=warn,
    )
    try:
        result = triage(program, settings)
    except EngineError as error:
        raise InputError(f"{program.path.name}: cannot be run: {error}") from None
    if options.json:
        print_json(result.as_json())
    else:
        print(summary(result))
    say(f"written to {target}")
    failed = result.found.is_failure or (result.releases is not None and bool(result.releases.bad))
    return UNEXPECTED if failed else OK


def _verify(options: Options, interpreters: _Interpreters) -> int:
    from pt2bugs.triage.verify import verify

    if len(interpreters.releases) > 1:
        raise InputError("--verify takes one release or one --python-exe")
    python = interpreters.python_of(interpreters.releases[0])
    try:
        found = verify(
            Path(options.what),
            python,
            corpus_roots(options.cases),
            say,
            minutes=options.minutes,
            timeout_s=options.timeout,
            argv=options.arguments,
        )
    except EngineError as error:
        raise InputError(f"{options.what}: cannot be verified: {error}") from None
    if options.json:
        print_json(found.as_json())
    else:
        for one in found.verdicts:
            print(f"{one.name}: {one.answer}{f' ({one.message})' if one.message else ''}")
        print(f"neighbours: {len(found.changed)} of {found.neighbours} cells not as documented on torch {found.torch}")
        for changed in found.changed:
            name = f"{changed['case']}::{changed['check']}[{changed['backend']}]"
            print(f"  {name}: {changed['verdict']} ({changed['message']})")
    return OK if found.is_fixed else UNEXPECTED


def _program(options: Options) -> Program:
    """The script, or the file of the case of that id.

    Raises:
        InputError: neither is there, or it is not Python.
    """
    path = Path(options.what)
    if path.suffix == ".py" or path.exists():
        return load_program(path)
    for case in load_cases(corpus_roots(options.cases), warn):
        if case.id == options.what:
            return load_program(case.path)
    raise InputError(f"{options.what}: neither a script nor the id of a case; `pt2bugs list` shows those")


class _Interpreters:
    """The interpreters that the options name: environments made from releases, or one that exists."""

    def __init__(self, options: Options) -> None:
        self._options = options
        if options.python_exe is not None:
            self._targets = {"": named_interpreter(options.python_exe)}
        elif not options.torch:
            self._targets = {"": running_interpreter()}
        else:
            releases = sorted(releases_for(options, options.torch))
            targets = targets_for(options, releases)
            self._targets = {target.key.torch: target for target in targets}
        self.releases: list[str] = list(self._targets)

    def python_of(self, release: str) -> Path:
        """The interpreter of one of them.

        Raises:
            EnvironmentFailure: its environment cannot be made.
        """
        target: Target = self._targets[release]
        if target.python is not None:
            return target.python.absolute()
        return open_store(self._options).create(target.key, say).python


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value
