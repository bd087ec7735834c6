"""`pt2bugs triage`: from a failing script to a classified, minimized, documented bug."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import MISSING, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.options import (
    CorpusOptions,
    EnvironmentOptions,
    Group,
    ResultsOptions,
    count,
    folder,
    option,
    positive,
    present,
)
from pt2bugs.commands.selection import interpreter_of, load_corpus, open_environments, releases_for, targets_for
from pt2bugs.engine.client import EngineError
from pt2bugs.envs.in_use import Environments
from pt2bugs.errors import InputError, NothingSelected, Pt2bugsError, first_line
from pt2bugs.files import listed
from pt2bugs.results.folder import results_folder
from pt2bugs.run.interpreter import python_of
from pt2bugs.run.plan import Target
from pt2bugs.triage.program import Program, load_program

if TYPE_CHECKING:
    from pt2bugs.triage.report import Triage
    from pt2bugs.triage.verify import Verification
    from pt2bugs.triage.workflow import Settings

EXAMPLES = (("pt2bugs triage script.py", "which layer fails, since when, the smallest program, the report"),)


_sandbox = partial(option, group=Group("the sandbox (docs/concepts/isolation.md)"))


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions, ResultsOptions, EnvironmentOptions):
    """Options of `triage`; `what` is a script, the id of a case, or with `verify` the folder of a triage.

    `arguments` stand behind ``--``, and are those of the program.
    """

    what: str = option(
        "SCRIPT|CASE|DIR",
        default=MISSING,
        help="a program (its own arguments behind --), a case id, a folder of programs, or a folder to --verify",
    )
    arguments: Sequence[str] = ()
    torch: Sequence[str] = option(
        "--torch",
        default=(),
        metavar="SPEC",
        help="one release to triage on, or several to search: minors, a range; default: the current torch",
    )
    python_exe: Path | None = option(
        "--python-exe", parse=Path, metavar="PATH", help="triage on the torch of this interpreter"
    )
    output: Path | None = option(
        "-o", "--output", parse=folder, metavar="DIR", help="where to write (default: triage-SCRIPT)"
    )
    times: int = option(
        "--times", default=3, parse=count, metavar="N", help="runs of the program as it is (default: 3)"
    )
    minutes: float = option(
        "--minutes", default=15.0, parse=positive, metavar="M", help="for all steps together (default: 15)"
    )
    timeout: float = option(
        "--timeout", default=120.0, parse=positive, metavar="S", help="seconds for one run (default: 120)"
    )
    compare_output: bool = option(
        "--compare-output", default=False, help="an output that the compiler changes is a failure, too"
    )
    drop_unused_imports: bool = option(
        "--drop-unused-imports", default=False, help="leave out imports that are not installed and not used"
    )
    jobs: int = option("--jobs", default=1, parse=count, metavar="N", help="programs of a folder at once (default: 1)")
    network: bool = _sandbox("--network", default=False, help="the program may use the network")
    read: Sequence[Path] = _sandbox(
        "--read", default=(), parse=present, metavar="PATH", help="the program may read this file or folder, too"
    )
    skip: Sequence[str] = option("--skip", default=(), choices=("minimize", "artifacts"), help="leave a step out")
    verify: bool = option(
        "--verify", default=False, help="run what a triage handed over, and its neighbours, on a build with a fix"
    )
    json: bool = option("--json", default=False, help="print the result as JSON; of a folder one line for each program")


def run(options: Options) -> int:
    """Select, measure, render; with ``--verify``, of what a triage handed over. Return the exit code.

    Args:
        options: of the command.
    """
    targets = select_targets(options)
    with open_environments(options) as environments:
        if options.verify:
            return render_verification(options, measure_fix(options, targets, environments))
        if Path(options.what).is_dir():
            return triage_folder(options, targets, environments)
        program = select(options)
        settings = plan(options, program, targets, environments)
        return render(options, measure(program, settings), settings.folder)


def select(options: Options) -> Program:
    """Return the script, or the file of the case of that id.

    Args:
        options: of the command.

    Raises:
        InputError: neither is there, or it is not Python.
    """
    path = Path(options.what)
    if path.suffix == ".py" or path.exists():
        return load_program(path)
    for case in load_corpus(corpus_roots(options.cases)):
        if case.id == options.what:
            return load_program(case.path)
    raise InputError(f"{options.what}: neither a script nor the id of a case; `pt2bugs list` shows those")


def select_targets(options: Options) -> dict[str, Target]:
    """Return the environment of each release, oldest first, or under the empty text an interpreter that exists.

    Args:
        options: of the command.

    Raises:
        InputError: both are named, or a release does not exist.
    """
    if (there := interpreter_of(options.python_exe, options.torch)) is not None:
        return {"": there}
    targets = targets_for(options, sorted(releases_for(options, options.torch)))
    return {target.key.torch: target for target in targets}


def plan(options: Options, program: Program, targets: Mapping[str, Target], environments: Environments) -> Settings:
    """Return how the program is triaged.

    Args:
        options: of the command.
        program: the script.
        targets: by release.
        environments: make and keep them.

    Raises:
        InputError: the folder to write to is a file.
    """
    from pt2bugs.triage.runner import Access
    from pt2bugs.triage.workflow import Settings

    target = options.output or Path(f"triage-{program.name}")
    if target.exists() and not target.is_dir():
        raise InputError(f"-o {target}: is a file; name a folder")
    return Settings(
        folder=target,
        python_of=lambda release: python_of(targets[release], environments),
        cases=corpus_roots(options.cases),
        results=options.results or results_folder(),
        releases=list(targets),
        argv=options.arguments,
        minutes=options.minutes,
        timeout_s=options.timeout,
        times=options.times,
        compare_output=options.compare_output,
        drop_unused_imports=options.drop_unused_imports,
        skip=frozenset(options.skip),
        access=Access(network=options.network, read=tuple(options.read)),
        log=say,
        warn=warn,
    )


def measure(program: Program, settings: Settings) -> Triage:
    """Return the triage of a program; what it writes is in the folder of the settings.

    Args:
        program: the script.
        settings: how it is triaged.

    Raises:
        InputError: the program is none to be triaged, or cannot be run.
    """
    from pt2bugs.triage.workflow import triage

    try:
        return triage(program, settings)
    except EngineError as error:
        raise InputError(f"{program.path.name}: cannot be run: {error}") from None


def render(options: Options, result: Triage, target: Path) -> int:
    """Print the result. Return the exit code.

    Args:
        options: of the command.
        result: of the triage.
        target: the folder that was written.
    """
    from pt2bugs.triage.report import summary

    if options.json:
        print_json(result.as_json())
    else:
        print("\n".join(map(fit, summary(result).splitlines())))
    say(f"written to {target}")
    return exit_code(result)


def exit_code(result: Triage) -> int:
    """Return the exit code of a triage.

    Args:
        result: of the triage.
    """
    from pt2bugs.triage.verdict import exit_status

    if result.reproduction.is_failure:
        return exit_status(result.verdict)
    return UNEXPECTED if result.releases is not None and result.releases.bad else OK


# --- a folder of programs ------------------------------------------------------------------------------


def triage_folder(options: Options, targets: Mapping[str, Target], environments: Environments) -> int:
    """Triage every program of a folder, and print each result as it comes. Return the exit code.

    Args:
        options: of the command.
        targets: by release.
        environments: make and keep them.

    Raises:
        NothingSelected: the folder has no program.
    """
    source = Path(options.what)
    paths = [path for path in listed(source, "") if path.suffix in (".py", ".ipynb") and path.is_file()]
    if not paths:
        raise NothingSelected(f"{source}: has no program (*.py, *.ipynb)")
    target = options.output or Path(f"triage-{source.resolve().name}")
    code = OK
    from pt2bugs.triage.report import summary

    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [
            pool.submit(_triage_of_folder, options, targets, environments, path, target / path.name) for path in paths
        ]
        for done in as_completed(waiting):
            name, result, problem = done.result()
            code = code if result is not None and exit_code(result) == OK else UNEXPECTED
            if options.json:
                print_json({"program": name, **(result.as_json() if result else {"problem": problem})}, line=True)
            else:
                told = summary(result) if result is not None else problem
                print(f"{name}: {told}", flush=True)
    say(f"written to {target}")
    return code


def _triage_of_folder(
    options: Options, targets: Mapping[str, Target], environments: Environments, path: Path, target: Path
) -> tuple[str, Triage | None, str]:
    """Return the name of a program, and the result or why there is none."""
    try:
        program = load_program(path)
        settings = plan(replace(options, output=target), program, targets, environments)
        strict = replace(settings.access, strict=not settings.access.network)
        named = replace(settings, access=strict, log=lambda text: say(f"{path.name}: {text}"))
        return path.name, measure(program, named), ""
    except Pt2bugsError as error:
        return path.name, None, first_line(error)


# --- a build with a fix --------------------------------------------------------------------------------


def measure_fix(options: Options, targets: Mapping[str, Target], environments: Environments) -> Verification:
    """Return what a build makes of the files that a triage handed over, and of their neighbours.

    Args:
        options: of the command.
        targets: the one of the build.
        environments: make and keep it.

    Raises:
        InputError: several builds are named; the folder is not one that a triage wrote, or cannot be run.
    """
    from pt2bugs.triage.verify import verify

    if len(targets) > 1:
        raise InputError("--verify takes one release or one --python-exe")
    (target,) = targets.values()
    python = python_of(target, environments)
    try:
        return verify(
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


def render_verification(options: Options, verification: Verification) -> int:
    """Print what each file says, and what else changed. Return the exit code.

    Args:
        options: of the command.
        verification: of the build.
    """
    if options.json:
        print_json(verification.as_json())
    else:
        for verdict in verification.verdicts:
            print(fit(f"{verdict.name}: {verdict.answer}{f' ({verdict.message})' if verdict.message else ''}"))
        run, missed, changed = verification.neighbours, verification.neighbours_not_run, verification.changed
        print(fit(f"neighbours: {len(changed)} of {run} cells not as documented on torch {verification.torch}"))
        if missed:
            print(f"  {missed} of {missed + run} cells were not run: the budget was spent (--minutes)")
        for cell in changed:
            print(fit(f"  {cell['case']}::{cell['check']}[{cell['backend']}]: {cell['verdict']} ({cell['message']})"))
    return OK if verification.is_fixed else UNEXPECTED
