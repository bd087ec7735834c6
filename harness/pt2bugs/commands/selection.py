"""The way from options to work: cases, cells, the environments they run in, and what the results say of them.

select_cases(options) -> select_cells(options, cases) -> plan_of(options, selection) -> `run.plan`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from pt2bugs.case.corpus import Selection, corpus_roots, is_case_file, load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.selectors import cases_named, is_path
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import (
    BackendOptions,
    CaseOptions,
    EnvironmentOptions,
    LinesOptions,
    MatrixOptions,
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    ShardOptions,
    ShownOptions,
)
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.folder import open_results, results_folder

if TYPE_CHECKING:
    from pt2bugs.backends.spec import BackendSpec
    from pt2bugs.case.cells import Cell
    from pt2bugs.engine.backend import BackendSetup
    from pt2bugs.envs.in_use import Environments
    from pt2bugs.envs.releases import Release
    from pt2bugs.envs.sources import Sources
    from pt2bugs.envs.store import Store
    from pt2bugs.results.folder import Results
    from pt2bugs.results.history import Histories, History
    from pt2bugs.results.journal import Record
    from pt2bugs.results.line import CellKey
    from pt2bugs.run.plan import RunOptions, Target, Work
    from pt2bugs.run.shards import Division, Durations


def select_cases(options: CaseOptions) -> tuple[list[Case], list[Case]]:
    """Return the whole corpus, and what of it the options select (devices and backends left aside).

    A case that is selected by ``id::check`` has only the checks asked for. A file that is named on the command line
    belongs to the corpus, wherever it is.

    Args:
        options: of the command.

    Raises:
        CaseError: a file of the corpus breaks the contract.
        InputError: a word of the command line names no case, or a file that is none.
        NothingSelected: the filters together leave nothing.
    """
    corpus = load_corpus([*corpus_roots(options.cases), *_files_named(options.patterns)])
    chosen = _selected_by_words(options.patterns, corpus) if options.patterns else corpus
    for name, selection in {
        "--component": Selection(components=tuple(options.component)),
        "--symptom": Selection(symptoms=tuple(options.symptom)),
        "--label": Selection(labels=tuple(options.label)),
    }.items():
        before = chosen
        chosen = [case for case in chosen if selection.matches(case)]
        if before and not chosen:
            raise NothingSelected(f"nothing selected: {name} leaves none of {number_of(len(before), 'case')}")
    if not chosen:
        raise NothingSelected("nothing selected: the corpus is empty")
    return corpus, chosen


def load_corpus(roots: Sequence[Path]) -> list[Case]:
    """Return every case under some files and folders, sorted by id.

    Args:
        roots: files and folders.

    Raises:
        CaseError: a file breaks the contract.
    """
    return load_cases(roots, warn)


def _files_named(words: Sequence[str]) -> list[Path]:
    """Return the files and folders among the words of the command line."""
    paths = []
    for word in filter(is_path, words):
        path = Path(word.partition("::")[0])
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        if not path.is_dir() and not is_case_file(path, warn):
            problem = "has no '# /// script' header with [tool.pt2bugs]"
            raise InputError(f"{path}: {problem}; `pt2bugs new ID --from {path}` makes a case of it")
        paths.append(path)
    return paths


def _selected_by_words(words: Sequence[str], corpus: Sequence[Case]) -> list[Case]:
    """Return each case that a word names once, with every check that was asked for."""
    merged: dict[str, Case] = {}
    for word in words:
        for case in cases_named(word, corpus):
            checks = {check.name: check for check in (*merged.get(case.id, case).checks, *case.checks)}
            merged[case.id] = replace(case, checks=tuple(sorted(checks.values(), key=lambda check: check.line)))
    return [merged[id_] for id_ in sorted(merged)]


def cases_on(options: SelectionOptions, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that have a cell on the devices and backends asked for, as `select_cells` has it.

    Args:
        options: of the command.
        cases: to choose from.

    Raises:
        NothingSelected: none has.
    """
    from pt2bugs.case.cells import cells_of

    # A case that is not for the CPU has its cells on its own device, as everywhere.
    there = [
        case for case in cases if any(cells_of(case, tuple(options.device) or case.devices, tuple(options.backend)))
    ]
    if not there:
        raise _nothing_on(options)
    return there


def select_cells(options: SelectionOptions, cases: Sequence[Case]) -> list[Cell]:
    """Return the cells of cases on the devices and backends asked for.

    Args:
        options: of the command.
        cases: the selected ones.

    Raises:
        NothingSelected: no check of them runs there.
    """
    from pt2bugs.backends.spec import BackendOverrides, on_its_device, special_backends
    from pt2bugs.case.cells import cells_of

    devices, backends = tuple(options.device), tuple(options.backend)
    overrides = options.overrides if isinstance(options, BackendOptions) else BackendOverrides()
    specs = special_backends(backends, overrides)
    cells = on_its_device((cell for case in cases for cell in cells_of(case, devices, backends)), specs)
    if not cells:
        raise _nothing_on(options)
    return cells


def _nothing_on(options: SelectionOptions) -> NothingSelected:
    where = [*(f"--device {name}" for name in options.device), *(f"--backend {name}" for name in options.backend)]
    return NothingSelected(f"nothing selected: no check of the selected cases runs on {' '.join(where)}")


# --- results -------------------------------------------------------------------------------------------


def load_histories(cases: Sequence[Path], results: Path | None, python: str | None = None) -> Histories:
    """Return what the journal says of a corpus, whose cases they know.

    Args:
        cases: the value of ``--cases``.
        results: the value of ``--results``.
        python: the only Python that counts.

    Raises:
        CaseError: a file breaks the contract.
        JournalError: a journal cannot be read.
    """
    return open_results(results).load(load_corpus(corpus_roots(cases)), warn, python)


def results_of(options: CaseOptions, backends: Sequence[str] = ()) -> Results:
    """Return the results folder named, else the one of the corpus that is read.

    Another corpus, or a file from elsewhere, has its results here: they do not belong to the installed ones.

    Args:
        options: with `ShardOptions`, what is run is written to their `lines` as well.
        backends: whose own folders are read, too.
    """
    named = options.results if isinstance(options, ResultsOptions) else None
    if named is None and (options.cases or any(map(is_path, options.patterns))):
        named = Path("results")
    return open_results(named, backends, options.lines if isinstance(options, ShardOptions) else None)


@dataclass(frozen=True)
class SelectedResults:
    """The selected cases of a corpus, with the selected lines of a results folder; `histories` know all lines."""

    corpus: Sequence[Case]
    cases: Sequence[Case]
    results: Results
    histories: Histories
    lines: dict[CellKey, Record]

    @property
    def rows(self) -> list[History]:
        """A history for each row of the matrix that has a selected line."""
        return self.histories.rows(self.lines)

    def own_lines(self, case: Case) -> list[Record]:
        """Return the selected lines of a case that are kept with the corpus's own.

        Args:
            case: a selected one.
        """
        from pt2bugs.results.line import is_own

        return [record for key, record in self.lines.items() if key.case == case.id and is_own(record, case)]

    def nothing_to(self, verb: str) -> NothingSelected:
        """Return the error of a command that has no line to show.

        Args:
            verb: of the command, as `report`.
        """
        return NothingSelected(f"nothing to {verb}: {self.results.folder} has no results of the selected cases")


def select_results(options: LinesOptions, *, everywhere: bool = False) -> SelectedResults:
    """Return the selected cases with their lines. Warn of cases that were edited since they were measured.

    Args:
        options: of the command.
        everywhere: with the lines of all devices and backends; those asked for select the cases alone.

    Raises:
        CaseError: a file of the corpus breaks the contract.
        NothingSelected: the filters leave no case.
        JournalError: a journal cannot be read.
        ReleaseError: a release asked for has no line.
    """
    corpus, cases = select_cases(options)
    if everywhere:
        cases, options = cases_on(options, cases), replace(options, device=(), backend=())
    return load_results(options, corpus, cases)


def load_results(options: LinesOptions, corpus: Sequence[Case], cases: Sequence[Case]) -> SelectedResults:
    """Return the lines of cases that are selected already, as `select_results` does.

    Args:
        options: of the command.
        corpus: all cases.
        cases: the selected ones.
    """

    results = results_of(options, options.backend)
    histories = results.load(corpus, warn)
    ids = {case.id for case in cases}
    if stale := sorted(key for key in histories.stale if key.case in ids):
        warn(
            f"edited since they were measured, so that lines are left out: {_some(key.case for key in stale)}; "
            f"measure again with: {'; '.join(_again(stale))}"
        )
    return SelectedResults(corpus, cases, results, histories, select_lines(options, histories.lines(), cases))


def _some(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " ".join(distinct[:5]) + (f" and {len(distinct) - 5} more" if len(distinct) > 5 else "")


def _again(stale: Sequence[CellKey]) -> Iterator[str]:
    """Yield the commands that measure cells again, one for each Python and what was beside torch."""
    from pt2bugs.backends.spec import beside_torch

    environments: dict[tuple[str, str], list[CellKey]] = {}
    for key in stale:
        arguments = ["", *beside_torch(key.backend, key.extras.split("+"))] if key.extras else []
        environments.setdefault((key.python, " ".join(arguments)), []).append(key)
    for (python, beside), keys in sorted(environments.items(), key=lambda item: (Version(item[0][0]), item[0][1])):
        releases = sorted({key.torch for key in keys}, key=Version)
        names = dict.fromkeys(key.case for key in keys)
        yield f"pt2bugs run {' '.join(names)} --torch {' '.join(releases)} --python {python}{beside}"


def select_lines(
    options: LinesOptions, lines: Mapping[CellKey, Record], cases: Sequence[Case]
) -> dict[CellKey, Record]:
    """Return the lines of these cases, on the devices and backends, and with the releases and verdicts asked for.

    Args:
        options: of the command.
        lines: the newest line of each cell.
        cases: the selected ones.

    Raises:
        ReleaseError: a release asked for has no line.
    """
    from pt2bugs.backends.spec import known_backends

    checks = {(case.id, check.name) for case in cases for check in case.checks}
    # The device of a backend replaces the CPU in its cells.
    own = {name: known.setup.device for name, known in known_backends().items() if known.setup.device}
    devices = set(options.device)
    if "cpu" in devices:
        devices |= {own[name] for name in options.backend if name in own}
    shown = options if isinstance(options, ShownOptions) else ShownOptions()
    releases = _releases_among(shown.torch, lines) if shown.torch else None
    selected = {
        key: record
        for key, record in lines.items()
        if (key.case, key.check) in checks
        and (not options.device or key.device in devices)
        and (not options.backend or key.backend in options.backend)
        and (releases is None or key.torch in releases)
    }
    if not shown.verdict:
        return selected
    meant = {key for key, record in selected.items() if record["verdict"] in shown.verdict}
    rows = {key.row for key in meant} if shown.keeps_rows else set()
    return {key: record for key, record in selected.items() if key in meant or key.row in rows}


def _releases_among(specs: Sequence[str], lines: Mapping[CellKey, Record]) -> set[str]:
    """Return the public versions that the values of ``--torch`` mean, of those that the results have."""
    from packaging.version import Version

    from pt2bugs.envs.releases import Release, select_releases

    there = [Release(Version(version), ()) for version in sorted({key.torch for key in lines if key.torch})]
    tell_newest(specs, there)
    return {str(release) for release in select_releases(specs, there, "--torch ")}


# --- environments --------------------------------------------------------------------------------------


def run_options(options: RunningOptions) -> RunOptions:
    """Return how cells are run.

    Args:
        options: of the command.
    """
    from pt2bugs.run.measurement import default_jobs
    from pt2bugs.run.plan import RunOptions

    return RunOptions(
        jobs=options.jobs or default_jobs(options.threads),
        repeat=options.repeat,
        confirm=options.confirm,
        threads=options.threads,
    )


def package_sources(options: EnvironmentOptions) -> Sources:
    """Return where packages come from.

    Args:
        options: of the command.
    """
    from pt2bugs.envs.sources import sources

    return sources(options.index, options.find_links, options.torch_backend)


def open_store(options: EnvironmentOptions) -> Store:
    """Return the environments, with the sources and the budget asked for.

    Args:
        options: of the command.
    """
    from pt2bugs.envs.store import Store

    return Store(package_sources(options), budget=options.budget)


def releases_for(options: EnvironmentOptions, specs: Sequence[str]) -> list[Release]:
    """Return the releases that the values of ``--torch`` mean.

    Args:
        options: of the command.
        specs: the values.

    Raises:
        ReleaseError: a value does not parse or matches nothing, or the index cannot be asked.
    """
    from pt2bugs.envs.releases import known_releases, parse_request, select_releases

    parse_request(specs)
    known = known_releases(package_sources(options), warn)
    tell_newest(specs, known)
    return select_releases(specs, known)


def tell_newest(specs: Sequence[str], releases: Sequence[Release]) -> None:
    """Say which release is meant by a word that leaves it open: ``2.13`` or ``latest``.

    Args:
        specs: values of ``--torch``.
        releases: those that there are.
    """
    from pt2bugs.envs.releases import Newest, parse_request

    for spec, request in zip(specs, parse_request(specs), strict=True):
        if isinstance(request, Newest) and (newest := request.of(releases)):
            say(f"{spec} is torch {newest[0]}")


@dataclass(frozen=True)
class EnvironmentSpec:
    """The common part of the environments of some backends: of one that needs its own, or of all but `others`."""

    extras: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    backend: BackendSpec | None = None

    @property
    def setup(self) -> BackendSetup | None:
        """The setup that registers the backend."""
        return self.backend.setup if self.backend else None

    def target(self, release: Release, python: str | None, index: str) -> Target:
        """Return the environment of a release.

        Args:
            release: of torch.
            python: a minor version; None for the one that fits.
            index: name of the package index.

        Raises:
            EnvironmentFailure: no wheel for the Python asked for.
        """
        from pt2bugs.envs.environment import Key, choose_python
        from pt2bugs.run.plan import Target

        installs = self.backend.installs if self.backend else ()
        key = Key(str(release), choose_python(release, python), self.extras, index, installs)
        return Target(key, setup=self.setup, others=self.others)


def environment_specs(options: EnvironmentOptions, backends: Sequence[str]) -> list[EnvironmentSpec]:
    """Return the kinds of environments that these backends, or without any the headers', need.

    Args:
        options: of the command.
        backends: asked for.

    Raises:
        InputError: an unknown extra, or packages without the one backend that they are for.
    """
    from pt2bugs.backends.spec import special_backends
    from pt2bugs.envs.extras import known_extras

    for name in options.extra:
        if name not in known_extras():
            raise InputError(f"--extra {name}: unknown; there is {', '.join(sorted(known_extras()))}")
    extras = tuple(sorted(set(options.extra)))
    own = options if isinstance(options, BackendOptions) else BackendOptions()
    special = special_backends(backends, own.overrides)
    others = frozenset(special)
    specs = [EnvironmentSpec(extras, others)] if not backends or set(backends) - others else []
    for backend in special.values():
        specs.append(EnvironmentSpec(tuple(dict.fromkeys((*extras, *backend.extras))), backend=backend))
    return specs


def targets_for(options: EnvironmentOptions, releases: Sequence[Release], backends: Sequence[str] = ()) -> list[Target]:
    """Return the environments of releases, as ``--python``, ``--index``, ``--extra`` and ``--with`` shape them.

    A backend asked for that needs packages, modules or settings has environments of its own, in the releases it is for.

    Args:
        options: of the command.
        releases: of torch.
        backends: asked for.

    Raises:
        InputError: an unknown extra; a backend that is for none of the releases.
        EnvironmentFailure: no wheel for the Python asked for.
    """
    index = package_sources(options).name
    targets = []
    for spec in environment_specs(options, backends):
        backend = spec.backend
        fitting = [release for release in releases if backend is None or backend.supports(str(release))]
        if backend and backend.known and not fitting:
            names = ", ".join(map(str, releases))
            problem = f"is for torch {backend.known.torch}, not for {names}; --with names other packages"
            raise InputError(f"--backend {backend.name}: {problem}")
        if not fitting:
            raise InputError("there is no release to run")
        targets += [spec.target(release, options.python, index) for release in fitting]
    return targets


def open_environments(options: EnvironmentOptions) -> Environments:
    """Return the environments of releases, as ``--python``, ``--index`` and ``--extra`` shape them.

    Args:
        options: of the command.

    Raises:
        InputError: an unknown extra.
    """
    from pt2bugs.envs.in_use import Environments

    extras = environment_specs(options, ())[0].extras
    return Environments(open_store(options), say, warn, options.python, extras)


def interpreter_of(python_exe: Path | None, torch: object) -> Target | None:
    """Return the interpreter that exists: the one named, or the running one; None where releases are named.

    Args:
        python_exe: the value of ``--python-exe``.
        torch: the value of ``--torch``.

    Raises:
        InputError: both are given.
        EnvironmentFailure: the interpreter does not start, or has no torch.
    """
    from pt2bugs.run.interpreter import named_interpreter, running_interpreter

    if python_exe and torch:
        raise InputError("--python-exe names one interpreter; leave --torch out")
    if python_exe:
        return named_interpreter(python_exe)
    return None if torch else running_interpreter()


def in_interpreter(options: BackendOptions, target: Target, backends: Sequence[str]) -> list[Target]:
    """Return the targets in an interpreter that exists; what a backend needs must be installed there.

    Args:
        options: of the command.
        target: the interpreter.
        backends: asked for.

    Raises:
        InputError: packages to install are named.
    """
    if options.packages:
        raise InputError("--with installs into an environment of its own: name its release with --torch")
    return [replace(target, setup=spec.setup, others=spec.others) for spec in environment_specs(options, backends)]


def without_release(options: BackendOptions, backends: Sequence[str]) -> Target:
    """Return a target without a release, for commands that compare releases of one kind of environment.

    Args:
        options: of the command.
        backends: asked for.

    Raises:
        InputError: the backends need environments of several kinds.
    """
    from pt2bugs.envs.environment import Key
    from pt2bugs.run.plan import Target

    specs = environment_specs(options, backends)
    if len(specs) != 1:
        raise InputError(f"--backend {' --backend '.join(backends)}: these need different environments; name one")
    return Target(Key("", "", specs[0].extras), setup=specs[0].setup, others=specs[0].others)


def rerun_command(
    options: RunningOptions, corpus: Sequence[Path], cell: Cell, torch: str | None, extras: Sequence[str]
) -> list[str]:
    """Return the arguments of the command that runs a cell again, whatever the journal answers.

    Args:
        options: of the command that ran it.
        corpus: the folders of ``--cases``.
        cell: the cell.
        torch: the release; None for the torch that is there.
        extras: of its environment.
    """
    from pt2bugs.backends.spec import reproduction

    command = reproduction(cell.key, torch, extras, options.overrides)
    for name, values in (
        ("--index", [options.index] if options.index else []),
        ("--find-links", options.find_links),
        ("--python", [options.python] if options.python else []),
        ("--cases", list(map(str, corpus))),
    ):
        command += [argument for value in values for argument in (name, value)]
    return [*command, "--rerun"]


# --- the plan of a matrix ------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixPlan:
    """The corpus, the selected cases, and all work that is meant, whatever the journal answers."""

    corpus: Sequence[Case]
    cases: Sequence[Case]
    work: Sequence[Work]

    def divided(self, options: MatrixOptions, shards: int) -> Division:
        """Return the shards of it.

        Args:
            options: of the command.
            shards: how many.

        Raises:
            InputError: the file of durations is damaged.
        """
        from pt2bugs.run.shards import divide

        return divide(self.work, shards, durations_for(options).of)


def plan_matrix(options: MatrixOptions) -> MatrixPlan:
    """Return the cells in their environments that the selection and the releases of a command line mean.

    Args:
        options: of the command.

    Raises:
        InputError: bad usage; a case file that breaks the contract; releases that do not exist.
        NothingSelected: the filters leave nothing.
    """
    from pt2bugs.run.plan import plan

    corpus, cases = select_cases(options)
    cells = select_cells(options, cases)
    return MatrixPlan(corpus, cases, plan(cells, _matrix_targets(options)))


def on_this_machine(
    work: Sequence[Work], device: Sequence[str], cluster: str | None, log: Callable[[str], None] = say
) -> Sequence[Work]:
    """Return the work without the cells on devices that are not here, where none were asked for.

    It comes after the division into shards, which is the same on all machines.

    Args:
        work: cells by environment.
        device: the option of the command.
        cluster: the option of the command. Workers of a cluster may have what this machine has not.
        log: told how many cells are left out.
    """
    from pt2bugs.run.plan import without_absent_devices

    if device or cluster:
        return work
    left, messages = without_absent_devices(work)
    for message in messages:
        log(message)
    return left


def durations_file(options: MatrixOptions) -> Path:
    """Return the file named, else that of the results asked for, else that of the results here, or installed ones.

    Args:
        options: of the command.
    """
    from pt2bugs.run.shards import DURATIONS

    if options.durations is not None:
        return options.durations
    own = options.results / DURATIONS if options.results is not None else None
    return own if own is not None and own.exists() else results_folder() / DURATIONS


def durations_for(options: MatrixOptions) -> Durations:
    """Return the committed durations.

    Args:
        options: of the command.

    Raises:
        InputError: a file that was named is not there, or the file is damaged.
    """
    from pt2bugs.run.shards import read_durations

    path = durations_file(options)
    if options.durations is not None and not path.exists():
        raise InputError(f"--durations {path}: there is no such file")
    return read_durations(path)


def _matrix_targets(options: MatrixOptions) -> list[Target]:
    if options.python_exe and options.results is None and not options.torch:
        problem = "name a folder for its results, with --results"
        raise InputError(f"--python-exe {options.python_exe}: is no release; {problem}")
    if (there := interpreter_of(options.python_exe, options.torch)) is not None:
        return in_interpreter(options, there, options.backend)
    return targets_for(options, releases_for(options, options.torch), options.backend)
