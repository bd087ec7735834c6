"""`pt2bugs exposure`: which documented bugs of a release concern a program of one's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass
from functools import cached_property, partial
from pathlib import Path

from packaging.version import Version

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.options import CorpusOptions, EnvironmentOptions, ResultsOptions, option, positive
from pt2bugs.commands.selection import load_corpus, open_store, package_sources
from pt2bugs.engine.client import EngineError
from pt2bugs.engine.folders import cache_home
from pt2bugs.envs.environment import Environment, Key, choose_python
from pt2bugs.envs.packages import package_word
from pt2bugs.envs.releases import Release, known_releases, one_release
from pt2bugs.errors import InputError
from pt2bugs.isolate import fixes
from pt2bugs.isolate.patched import patched_torch
from pt2bugs.isolate.units import Wheels
from pt2bugs.results.folder import open_results, results_folder
from pt2bugs.results.history import Histories, History, State
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.plan import Target
from pt2bugs.triage.program import load_program
from pt2bugs.upgrade.exposure import EXECUTED, LEVELS, Asked, Exposed, Exposer, Exposure, Isolation, same_text
from pt2bugs.upgrade.recorded import Recorder

EXAMPLES = (
    ("pt2bugs exposure train.py --torch 2.12.1", "which documented bugs of 2.12.1 change what is made of train.py"),
    ("pt2bugs exposure train.py --torch 2.12.1 --with timm --json", "with its packages, as JSON"),
)
MINUTES = 10.0


@dataclass(frozen=True, kw_only=True)
class ProgramOptions(CorpusOptions, ResultsOptions, EnvironmentOptions):
    """A program of one's own and what it needs; `arguments` stand behind ``--``, and are those of the program."""

    script: str = option("SCRIPT", default=MISSING, help="a program (its own arguments behind --)")
    arguments: Sequence[str] = ()
    packages: Sequence[str] = option(
        "--with", default=(), metavar="REQ", help="install this for the program: a requirement, a wheel, a folder"
    )
    requirements: Path | None = option(
        "--requirements", parse=Path, metavar="FILE", help="install what this file lists; torch in it is left out"
    )
    minutes: float = option(
        "--minutes",
        default=MINUTES,
        parse=positive,
        metavar="M",
        help=f"for one run of the program (default: {MINUTES:g})",
    )
    json: bool = option("--json", default=False, help="print the answer as JSON")


@dataclass(frozen=True, kw_only=True)
class Options(ProgramOptions):
    """Options of `exposure`."""

    torch: str | None = option("--torch", metavar="RELEASE", help="the release to ask about (default: the current one)")
    python_exe: Path | None = option("--python-exe", parse=Path, metavar="PATH", help="ask about its torch instead")


def run(options: Options) -> int:
    """Select, measure, render. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: the program is none, or its release cannot be had.
    """
    program = load_program(Path(options.script))
    interpreters = Interpreters(options)
    with contextlib.closing(interpreters):
        python = interpreters.named(options.python_exe) if options.python_exe else interpreters.of(options.torch)
        exposure = measure(options, program.path, python, interpreters, Known.load(options))
    render(options, exposure)
    return UNEXPECTED if any(bug.level == "bites" for bug in exposure.bugs) else OK


# --- select --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interpreter:
    """A Python with torch: `release` is its public version, `exe` the path, `torch` the folder."""

    release: str
    exe: Path

    @property
    def torch(self) -> Path:
        """Its torch folder.

        Raises:
            InputError: it is not beside the interpreter.
        """
        for folder in self.exe.parent.parent.glob("lib*/python3*/site-packages/torch"):
            return folder
        raise InputError(f"{self.exe}: its torch is not in the folder of its environment")


class Interpreters:
    """The interpreters of a program: environments with its packages, made when they are asked for, and kept in use."""

    def __init__(self, options: ProgramOptions) -> None:
        self._options = options
        self._store = open_store(options)
        self._stack = contextlib.ExitStack()
        requirements = read_requirements(options.requirements) if options.requirements else []
        self._installs = tuple(package_word(text) for text in (*options.packages, *requirements))

    @cached_property
    def releases(self) -> list[Release]:
        """The releases that there are."""
        return known_releases(package_sources(self._options), warn)

    def named(self, path: Path) -> Interpreter:
        """Return an interpreter that exists.

        Args:
            path: of the interpreter.

        Raises:
            InputError: packages are to be installed there, or it has no torch.
        """
        return self._existing(named_interpreter(path))

    @property
    def has_packages(self) -> bool:
        """True if the program needs packages of its own."""
        return bool(self._installs)

    def release(self, spec: str) -> str:
        """Return the release that a word means.

        Args:
            spec: the word.

        Raises:
            ReleaseError: it means several, or none.
        """
        return str(one_release(spec, self.releases))

    def of(self, spec: str | None, *, alone: bool = False) -> Interpreter:
        """Return the interpreter of a release with the packages of the program; without one the running Python.

        Args:
            spec: names the release.
            alone: without the packages.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        if spec is None:
            return self._existing(running_interpreter())
        release = one_release(spec, self.releases)
        environment = self._environment(release, () if alone else self._installs)
        return Interpreter(str(release), environment.python)

    def torch_of(self, release: str) -> Path:
        """Return the torch folder of a release, as its wheel has it.

        Args:
            release: a public version.

        Raises:
            EnvironmentFailure: it cannot be had.
        """
        known = next((known for known in self.releases if str(known) == release), None) or Release(Version(release), ())
        environment = self._environment(known, ())
        return Interpreter(release, environment.python).torch

    def torch_at_hand(self, release: str) -> Path | None:
        """Return the torch folder of a release if an environment with it is there.

        Args:
            release: a public version.
        """
        for environment in self._store.environments():
            if environment.key.torch == release:
                return Interpreter(release, environment.python).torch
        return None

    def _existing(self, target: Target) -> Interpreter:
        if self._installs:
            raise InputError("--with installs into an environment of its own: name its release")
        assert target.python is not None
        return Interpreter(target.key.torch, target.python.absolute())

    def _environment(self, release: Release, installs: Sequence[tuple[str, str]]) -> Environment:
        options = self._options
        words = tuple(word for word, _ in installs)
        python = choose_python(release, options.python)
        key = Key(str(release), python, (*options.extra, *words), package_sources(options).name, tuple(installs))
        environment = self._store.create(key, say)
        self._stack.enter_context(self._store.using(environment))
        return environment

    def close(self) -> None:
        """Let the environments go."""
        self._stack.close()


def read_requirements(path: Path) -> list[str]:
    """Return the requirements of a file but torch, whose release is the question.

    Args:
        path: of the file.

    Raises:
        InputError: it cannot be read, or holds options of pip.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--requirements {path}: cannot be read: {error}") from None
    requirements = []
    for number, line in enumerate(lines, 1):
        text = line.partition(" #")[0].strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("-"):
            raise InputError(f"--requirements {path}:{number}: {text}: options of pip are not read; list requirements")
        name = text.replace("[", " ").replace("=", " ").replace("<", " ").replace(">", " ").replace("~", " ").split()[0]
        if name.lower() == "torch":
            say(f"{path}:{number}: {text} is left out: the release of torch is the question")
            continue
        requirements.append(text)
    return requirements


@dataclass(frozen=True)
class Known:
    """What the corpus, the journal and the isolated fixes say."""

    histories: Histories
    isolations: Sequence[Isolation]

    @classmethod
    def load(cls, options: ProgramOptions) -> Known:
        """Read what is known.

        Args:
            options: of the command.

        Raises:
            InputError: a case, a line of the journal or an isolation cannot be read.
        """
        corpus = load_corpus(corpus_roots(options.cases))
        histories = Histories.load(open_results(options.results), corpus, warn, options.python)
        ids = {case.id for case in corpus}
        isolated = [
            told
            for told in fixes.load(options.results or results_folder())
            if told["evidence"] in ("patch", "proved") and told["units"] and told["case"] in ids
        ]
        return cls(histories, isolated)

    def bugs_of(self, release: str) -> list[History]:
        """Return the histories of the checks that show their bug on the CPU in a release, a case once.

        Args:
            release: a public version.
        """
        rows = {
            row.cell.case.id: row
            for row in self.histories.rows()
            if row.cell.device == "cpu" and row.is_own and row.state(release) is State.BUG
        }
        return [rows[case] for case in sorted(rows)]


# --- measure -------------------------------------------------------------------------------------------


def measure(
    options: ProgramOptions,
    program: Path,
    interpreter: Interpreter,
    interpreters: Interpreters,
    known: Known,
    wanted: Callable[[Isolation], bool] = lambda _: True,
) -> Exposure:
    """Return the exposure of a program on one release.

    Args:
        options: of the command.
        program: the file.
        interpreter: with the release.
        interpreters: make the releases that have the fixes.
        known: the fixes, and the bugs that have none.
        wanted: which of the fixes are asked about.

    Raises:
        InputError: the release cannot be started, or one with a fix cannot be had.
    """
    release, bugs = interpreter.release, known.bugs_of(interpreter.release)
    names = {row.cell.case.id for row in bugs}
    asked: list[Asked] = []
    elsewhere: list[Exposed] = []
    for isolation in known.isolations:
        fix = Asked(isolation, partial(_wheels, interpreter, interpreters, str(isolation["good"])))
        if not wanted(isolation) or any(fix.is_same(other) for other in asked):
            continue
        if isolation["bad"] == release:
            asked.append(fix)
        elif fix.case in names:
            there = interpreters.torch_at_hand(str(isolation["bad"]))
            if there is not None and same_text(isolation, interpreter.torch, there):
                asked.append(fix)
            else:
                command = f"pt2bugs exposure {options.script} --torch {isolation['bad']}"
                elsewhere.append(
                    fix.exposed("unknown", f"isolated in torch {isolation['bad']}: `{command}` asks there")
                )
    try:
        with contextlib.ExitStack() as stack:
            recorder = stack.enter_context(
                Recorder(interpreter.exe, program, options.arguments, timeout_s=60 * options.minutes)
            )
            exposer = Exposer(
                recorder,
                interpreter.torch,
                copy=lambda: stack.enter_context(
                    patched_torch(interpreter.torch, cache_home() / "isolate", interpreter.exe.parent.parent.name)
                ),
                with_text=lambda copy: Recorder(
                    interpreter.exe, program, options.arguments, 60 * options.minutes,
                    keeps_python_path=False, paths=(copy.path,), env={"PT2BUGS_HOME": str(copy.home)},
                ),
                say=say,
            )  # fmt: skip
            exposure = exposer.run(release, asked)
            if recorder.removed:
                exposure.covered.append(f"without the variables {', '.join(recorder.removed)}")
            told = {bug.case for bug in (*exposure.bugs, *elsewhere)}
            exposure.bugs += elsewhere
            exposure.bugs += [
                exposer.without_fix(row.cell.case.id, _frames(row, release))
                for row in bugs
                if row.cell.case.id not in told
            ]
    except EngineError as error:
        raise InputError(f"{program.name}: cannot be run on torch {release}: {error}") from None
    exposure.bugs.sort(key=lambda bug: (LEVELS.index(bug.level), not bug.units, bug.case))
    return exposure


def _wheels(interpreter: Interpreter, interpreters: Interpreters, good: str) -> Wheels:
    return Wheels(interpreter.torch, interpreters.torch_of(good))


def _frames(row: History, release: str) -> list[str]:
    finding = row.finding(release)
    if finding is None:
        return []
    record = finding.record
    return [frame for frame in (record["frame"], *record.get("frames", ())) if frame]


# --- render --------------------------------------------------------------------------------------------


def render(options: Options, exposure: Exposure) -> None:
    """Print the answer.

    Args:
        options: of the command.
        exposure: of the program.
    """
    if options.json:
        print_json(exposure.as_dict())
        return
    for line in lines(exposure):
        print(fit(line))


def lines(exposure: Exposure) -> Iterator[str]:
    """Yield the answer as text: what concerns the program first, and what is not known in numbers.

    Args:
        exposure: of the program.
    """
    yield f"torch {exposure.torch}: {'; '.join(exposure.covered)}"
    for bug in exposure.bugs:
        if bug.level in ("bites", "differs") or (bug.level == "unknown" and bug.units):
            where = f" at {bug.where}" if bug.where else ""
            yield f"{bug.level:8}  {bug.case}{where}: {bug.what} (fix: {', '.join(bug.units[:2])})"
    for level in ("same", "not-executed"):
        cases = sorted({bug.case for bug in exposure.bugs if bug.level == level})
        if cases:
            yield f"{level}: {', '.join(cases)}"
    unknown = [bug for bug in exposure.bugs if bug.level == "unknown" and not bug.units]
    ran = sum(bug.what.endswith(EXECUTED) for bug in unknown)
    if unknown:
        yield (
            f"unknown: {len(unknown)} documented bugs of torch {exposure.torch} that no fix is isolated for; "
            f"the function that fails was executed for {ran} of them (--json names them)"
        )
    yield "No match is not proof: what the program did not execute in this run was not asked."
