"""Options of commands. A field of a dataclass declares an option once; its argparse argument is made from the field."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pt2bugs.case.vocabulary import COMPONENTS, DEMANDS, SYMPTOMS, Verdict
from pt2bugs.envs.releases import FORMS
from pt2bugs.envs.size import parse_size

if TYPE_CHECKING:
    from pt2bugs.backends.spec import BackendOverrides
    from pt2bugs.run.shards import ShardName


# --- declaring -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A titled group of the help."""

    title: str
    about: str | None = None


@dataclass(frozen=True)
class Declaration:
    """The argparse argument of a field. Of the options of a class that are `exclusive`, at most one may be given."""

    names: tuple[str, ...]
    group: Group | None
    exclusive: bool
    settings: dict[str, Any]


def option(
    *names: str,
    help: str,
    default: Any = None,
    group: Group | None = None,
    exclusive: bool = False,
    parse: Callable[[str], Any] | None = None,
    **settings: Any,
) -> Any:
    """Declare the option of a field.

    The default decides how it is given: False makes a switch, a tuple an option whose values add up. A name without a
    dash makes a positional argument, shown by that name.

    Args:
        names: of the option, or of the positional argument.
        help: what it does. A percent sign stands for itself.
        default: MISSING makes it required.
        group: where the help has it; None for the command's own.
        exclusive: given instead of the other exclusive ones of the class.
        parse: makes the value from its text, and raises `argparse.ArgumentTypeError`.
        settings: further ones of `add_argument`.
    """
    settings["help"] = help.replace("%", "%%")
    if parse is not None:
        settings["type"] = parse
    if names[0].startswith("-"):
        if default is False:
            settings["action"] = "store_true"
        elif default == ():
            settings["action"] = "append"
        if default is MISSING:
            settings["required"] = True
    else:
        settings["metavar"] = names[0]
        names = ()
        if default is not MISSING:
            settings.setdefault("nargs", "*" if default == () else "?")
    return field(default=default, metadata={"declaration": Declaration(names, group, exclusive, settings)})


def add_options(parser: argparse.ArgumentParser, options: type) -> None:
    """Add the arguments of all options that a dataclass and its bases declare, its own first.

    Args:
        parser: gets them.
        options: the dataclass.
    """
    groups: dict[Group | None, argparse._ActionsContainer] = {None: parser}
    instead: argparse._ActionsContainer | None = None
    for entry, declared in _declared(options):
        if declared.group not in groups and declared.group is not None:
            groups[declared.group] = parser.add_argument_group(declared.group.title, declared.group.about)
        place = groups[declared.group]
        if declared.exclusive:
            place = instead = instead or place.add_mutually_exclusive_group()
        settings = dict(declared.settings)
        if entry.default is not MISSING and settings.get("action") != "store_true":
            settings["default"] = list(entry.default) if entry.default == () else entry.default
        if declared.names:
            place.add_argument(*declared.names, dest=entry.name, **settings)
        else:
            place.add_argument(entry.name, **settings)


def options_of(options: type, arguments: argparse.Namespace) -> Any:
    """Return the options that parsed arguments mean; fields without an argument keep their default.

    Args:
        options: the dataclass.
        arguments: as the parser made them.
    """
    names = [entry.name for entry in fields(options)]
    return options(**{name: vars(arguments)[name] for name in names if name in arguments})


def _declared(options: type) -> Iterator[tuple[Field[Any], Declaration]]:
    """Yield the declared fields: those of the class itself, then those of its bases in their order."""
    known = {entry.name: entry for entry in fields(options)}
    bases = (entry.name for base in options.__bases__ if is_dataclass(base) for entry in fields(base))
    for name in dict.fromkeys((*inspect.get_annotations(options), *bases)):
        if name in known and "declaration" in known[name].metadata:
            yield known[name], known[name].metadata["declaration"]


# --- values --------------------------------------------------------------------------------------------


def folder(text: str) -> Path:
    """Return a path, for argparse; an empty text would mean the current folder.

    Args:
        text: of the command line.
    """
    return _path(text, "folder")


def file(text: str) -> Path:
    """Return a path, for argparse; an empty text would mean the current folder.

    Args:
        text: of the command line.
    """
    return _path(text, "file")


def present(text: str) -> Path:
    """Return the absolute path of a file or folder that is there, for argparse.

    Args:
        text: of the command line.

    Raises:
        ArgumentTypeError: there is none.
    """
    path = _path(text, "file or folder")
    if not path.exists():
        raise argparse.ArgumentTypeError(f"{path}: there is no such file or folder")
    return path.resolve()


def _path(text: str, what: str) -> Path:
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"names no {what}")
    return Path(text)


def size(text: str) -> int:
    """Return the bytes of a size with its unit, for argparse.

    Args:
        text: as ``60G``.

    Raises:
        argparse.ArgumentTypeError: not a size.
    """
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def positive(text: str) -> float:
    """Parse a number above 0.

    Args:
        text: of the command line.

    Raises:
        argparse.ArgumentTypeError: not a number above 0.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def count(text: str) -> int:
    """Return a whole number from 1 up, for argparse.

    Args:
        text: its digits.

    Raises:
        argparse.ArgumentTypeError: not a whole number from 1 to 10,000.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10,000")
    return int(text)


def shard_name(text: str) -> ShardName:
    """Return a shard, for argparse.

    Args:
        text: of the command line, as ``2/10``.

    Raises:
        argparse.ArgumentTypeError: not a shard.
    """
    from pt2bugs.run.shards import ShardName

    try:
        return ShardName.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# --- what several commands share -----------------------------------------------------------------------

_selection = partial(option, group=Group("selection", "values of one option add up, options narrow"))


@dataclass(frozen=True, kw_only=True)
class CaseOptions:
    """A selection of cases. Empty fields select everything; `cases` are folders of another corpus."""

    patterns: Sequence[str] = _selection(
        "CASE", default=(), help="ids or globs, an issue's number or address, files; ::check after any (default: all)"
    )
    component: Sequence[str] = _selection(
        "--component",
        default=(),
        choices=COMPONENTS,
        metavar="NAME",
        help=f"cases of this layer of the compiler: {', '.join(COMPONENTS)}",
    )
    symptom: Sequence[str] = _selection(
        "--symptom",
        default=(),
        choices=SYMPTOMS,
        metavar="NAME",
        help=f"cases that show this way: {', '.join(SYMPTOMS)}",
    )
    label: Sequence[str] = _selection("--label", default=(), metavar="NAME", help="cases with this label")
    device: Sequence[str] = _selection(
        "--device", default=(), metavar="NAME", help="checks on this device, as cuda (default: cpu)"
    )
    cases: Sequence[Path] = _selection(
        "--cases", default=(), parse=Path, metavar="DIR", help="another corpus (default: ./cases)"
    )


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(CaseOptions):
    """A selection of cells. `backend` is absent where a command is about one backend, which it names itself."""

    backend: Sequence[str] = _selection(
        "--backend",
        default=(),
        metavar="NAME",
        help="the cells on that torch.compile backend; default: those the headers name",
    )


_folders = partial(option, group=Group("corpus and results"), metavar="DIR")


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """The corpus alone; empty for the one here, or else the one that is installed."""

    cases: Sequence[Path] = _folders("--cases", default=(), parse=Path, help="another corpus (default: ./cases)")


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """The folder of the journal and the tables; None: the one here, or else the one that is installed."""

    results: Path | None = _folders(
        "--results",
        parse=folder,
        help="folder of the journal and the tables (default: ./results, else the one that was installed)",
    )


@dataclass(frozen=True, kw_only=True)
class LinesOptions(SelectionOptions, ResultsOptions):
    """A selection of lines of a results folder."""


_lines = partial(option, group=Group("lines of the results"), default=())


@dataclass(frozen=True, kw_only=True)
class ShownOptions(LinesOptions):
    """A selection of these lines by release and verdict. Empty fields select everything.

    Where a class `keeps_rows`, a verdict selects the checks that have it in some release, with all their releases.
    """

    keeps_rows: ClassVar[bool] = True

    torch: Sequence[str] = _lines(
        "--torch",
        metavar="SPEC",
        help='of these releases: 2.9.1, 2.9 (its newest patch), latest, minors, ">=2.6,<2.10"',
    )
    verdict: Sequence[str] = _lines(
        "--verdict",
        choices=[str(verdict) for verdict in Verdict],
        metavar="WORD",
        help=f"checks that have this verdict in one of the releases: {', '.join(Verdict)}",
    )


_environment = partial(option, group=Group("environments"))


@dataclass(frozen=True, kw_only=True)
class EnvironmentOptions:
    """The making of environments; `python` is a minor version.

    `torch_backend` is uv's word for the build of torch, `budget` the bytes that all environments may take together
    (None: half of the disk).
    """

    python: str | None = _environment(
        "--python", metavar="3.N", help="Python of the environments (default: the running one)"
    )
    index: str | None = _environment(
        "--index", metavar="URL", help="another package index, for nightlies or CPU builds"
    )
    find_links: Sequence[str] = _environment("--find-links", default=(), metavar="DIR", help="as in uv and pip")
    extra: Sequence[str] = _environment("--extra", default=(), metavar="NAME", help="an extra, as turbine")
    torch_backend: str | None = _environment(
        "--torch-backend",
        metavar="BUILD",
        help="uv's choice of the build of torch, from PyTorch's own indexes: cpu (a sixth of the size), cu126, auto",
    )
    budget: int | None = _environment(
        "--budget",
        parse=size,
        metavar="SIZE",
        help="what all environments may take together, such as 60G (default: half of the disk); "
        "the least recently used make room",
    )


_own_backend = partial(option, group=Group("a backend of your own (docs/guides/backends.md)"), default=())


@dataclass(frozen=True, kw_only=True)
class BackendOptions(EnvironmentOptions):
    """The way to a backend: packages to install, modules to import, what it does not claim to do, its device."""

    packages: Sequence[str] = _own_backend(
        "--with", metavar="REQ", help="install this for the backend: a requirement, a wheel, a folder"
    )
    imports: Sequence[str] = _own_backend("--import", metavar="MODULE", help="whose import registers it")
    not_claimed: Sequence[str] = _own_backend(
        "--not-claimed",
        choices=DEMANDS,
        metavar="WORD",
        help=f"what it does not claim to do: {', '.join(DEMANDS)}",
    )
    on: str = _own_backend(
        "--on", default="", metavar="DEVICE", help="the device it compiles for, which replaces the CPU in its cells"
    )

    @property
    def overrides(self) -> BackendOverrides:
        """The same for the room that knows backends."""
        from pt2bugs.backends.spec import BackendOverrides

        return BackendOverrides(tuple(self.packages), tuple(self.imports), tuple(self.not_claimed), self.on)


_running = partial(option, group=Group("running"), parse=count, metavar="N")


@dataclass(frozen=True, kw_only=True)
class RunningOptions(BackendOptions):
    """The running of cells; `jobs` None: as many at once as there are cores; `cluster`: on its workers, not here."""

    jobs: int | None = _running("--jobs", help="cells at once (default: the cores)")
    cluster: str | None = _running(
        "--cluster",
        parse=None,
        metavar="WHERE",
        help="run on the workers of a Dask cluster: its address (tcp://host:8786), a scheduler file, or local:N, "
        "which starts N workers here (docs/guides/scale.md)",
    )
    repeat: int = _running("--repeat", default=1, help="run each cell N times")
    confirm: int = _running("--confirm", default=1, help="run a cell up to N times if its verdict is unexpected")
    threads: int = _running("--threads", default=1, help="threads of torch in a cell")


_ci = partial(option, group=Group("on a CI (docs/guides/ci.md)"))


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """A part of what is selected, and what is handed over of it."""

    shard: ShardName | None = _ci(
        "--shard",
        parse=shard_name,
        metavar="K/N",
        help="the K-th of N parts of the selection; the parts are the same on every machine",
    )
    lines: Path | None = _ci(
        "--lines",
        parse=folder,
        metavar="DIR",
        help="write what this run measures to that folder, too, without what the results had before: "
        "what a shard hands over to `merge`",
    )


@dataclass(frozen=True, kw_only=True)
class RerunOptions:
    """The option to run cells that the journal answers."""

    rerun: bool = option("--rerun", default=False, help="run also what the journal answers")


@dataclass(frozen=True, kw_only=True)
class OfflineOptions:
    """The option to answer by the journal alone."""

    offline: bool = option("--offline", default=False, help="answer from the journal alone, run nothing")


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Words that a case is about."""

    text: Sequence[str] = option(
        "--text", default=(), metavar="WORDS", help="only cases whose header or explanation has these words"
    )


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(SelectionOptions, ResultsOptions, RunningOptions, RerunOptions):
    """A selection of cells in environments."""

    torch: Sequence[str] = option(
        "--torch",
        default=(),
        metavar="SPEC",
        help=f"the releases, each written as {FORMS}; default: the torch of this Python",
    )
    python_exe: Path | None = option(
        "--python-exe",
        parse=Path,
        metavar="PATH",
        help="measure the torch of this interpreter, which needs nothing else; asks for --results",
    )
    durations: Path | None = option(
        "--durations",
        parse=Path,
        metavar="FILE",
        help="seconds of each check, by which shards are divided (default: durations.csv in the folder of results)",
    )


MINUTES = 10.0
"""Minutes for one run of a program of one's own."""


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
