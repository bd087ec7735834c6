"""The options that several commands share, as values, and how the command line makes them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pt2bugs.case.words import COMPONENTS, DEMANDS, SYMPTOMS, Verdict
from pt2bugs.envs.size import parse_size

if TYPE_CHECKING:
    from pt2bugs.backends.reach import BackendOverrides


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Which cases are meant. Empty fields select everything; `cases` are folders of another corpus."""

    patterns: Sequence[str] = ()
    component: Sequence[str] = ()
    symptom: Sequence[str] = ()
    label: Sequence[str] = ()
    device: Sequence[str] = ()
    backend: Sequence[str] = ()
    cases: Sequence[Path] = ()


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """The folder of the journal and the tables; None: the one here, or else the one that is installed."""

    results: Path | None = None


@dataclass(frozen=True, kw_only=True)
class EnvironmentOptions:
    """How environments are made; `python` is a minor version.

    `torch_backend` is uv's word for the build of torch, `budget` the bytes that all environments may take together
    (None: half of the disk).
    """

    python: str | None = None
    index: str | None = None
    find_links: Sequence[str] = ()
    extra: Sequence[str] = ()
    torch_backend: str | None = None
    budget: int | None = None


@dataclass(frozen=True, kw_only=True)
class BackendOptions(EnvironmentOptions):
    """How a backend is reached: packages to install, modules to import, what it does not claim to do, its device."""

    packages: Sequence[str] = ()
    imports: Sequence[str] = ()
    not_claimed: Sequence[str] = ()
    on: str = ""

    @property
    def overrides(self) -> BackendOverrides:
        """The same for the room that knows backends."""
        from pt2bugs.backends.reach import BackendOverrides

        return BackendOverrides(tuple(self.packages), tuple(self.imports), tuple(self.not_claimed), self.on)


@dataclass(frozen=True, kw_only=True)
class RunningOptions(BackendOptions):
    """How cells are run; `jobs` None: as many at once as there are cores, `cluster`: on its workers instead of here."""

    jobs: int | None = None
    cluster: str | None = None
    repeat: int = 1
    confirm: int = 1
    threads: int = 1


def add_selection(parser: argparse.ArgumentParser, *, backend: bool = True) -> None:
    """The selection; without `backend` where the command is about one backend, which it names itself."""
    group = parser.add_argument_group("selection", "values of one option add up, options narrow")
    group.add_argument(
        "patterns",
        nargs="*",
        default=[],
        metavar="CASE",
        help="ids or globs, an issue's number or address, files; ::check after any (default: all)",
    )
    group.add_argument(
        "--component",
        action="append",
        default=[],
        choices=COMPONENTS,
        metavar="NAME",
        help=f"cases of this layer of the compiler: {', '.join(COMPONENTS)}",
    )
    group.add_argument(
        "--symptom",
        action="append",
        default=[],
        choices=SYMPTOMS,
        metavar="NAME",
        help=f"cases that show this way: {', '.join(SYMPTOMS)}",
    )
    group.add_argument("--label", action="append", default=[], metavar="NAME", help="cases with this label")
    group.add_argument(
        "--device", action="append", default=[], metavar="NAME", help="checks on this device, as cuda (default: cpu)"
    )
    if backend:
        group.add_argument(
            "--backend",
            action="append",
            default=[],
            metavar="NAME",
            help="the cells on that torch.compile backend; default: those the headers name",
        )
    else:
        parser.set_defaults(backend=[])
    group.add_argument(
        "--cases", action="append", default=[], type=Path, metavar="DIR", help="another corpus (default: ./cases)"
    )


def add_lines(parser: argparse.ArgumentParser, verdict: str) -> None:
    """Which lines of the results: for commands that show them. `verdict` says what its option does there."""
    add_selection(parser)
    add_results(parser)
    group = parser.add_argument_group("lines of the results")
    group.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="SPEC",
        help='of these releases: 2.9.1, 2.9 (its newest patch), latest, minors, ">=2.6,<2.10"',
    )
    group.add_argument(
        "--verdict",
        action="append",
        default=[],
        choices=[str(verdict) for verdict in Verdict],
        metavar="WORD",
        help=f"{verdict}: {', '.join(Verdict)}",
    )


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results",
        type=folder,
        metavar="DIR",
        help="folder of the journal and the tables (default: ./results, else the one that was installed)",
    )


def add_environments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("environments")
    group.add_argument("--python", metavar="3.N", help="Python of the environments (default: the running one)")
    group.add_argument("--index", metavar="URL", help="another package index, for nightlies or CPU builds")
    group.add_argument("--find-links", action="append", default=[], metavar="DIR", help="as in uv and pip")
    group.add_argument("--extra", action="append", default=[], metavar="NAME", help="an extra, as turbine")
    group.add_argument(
        "--torch-backend",
        metavar="BUILD",
        help="uv's choice of the build of torch, from PyTorch's own indexes: cpu (a sixth of the size), cu126, auto",
    )
    group.add_argument(
        "--budget",
        type=size,
        metavar="SIZE",
        help="what all environments may take together, such as 60G (default: half of the disk); "
        "the least recently used make room",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running")
    group.add_argument("--jobs", type=count, metavar="N", help="cells at once (default: the cores)")
    group.add_argument(
        "--cluster",
        metavar="WHERE",
        help="run on the workers of a Dask cluster: its address (tcp://host:8786), a scheduler file, or local:N, "
        "which starts N workers here (docs/scale.md)",
    )
    group.add_argument("--repeat", type=count, default=1, metavar="N", help="run each cell N times")
    group.add_argument(
        "--confirm",
        type=count,
        default=1,
        metavar="N",
        help="run a cell up to N times if its verdict is unexpected",
    )
    group.add_argument("--threads", type=count, default=1, metavar="N", help="threads of torch in a cell")
    add_environments(parser)
    add_backend(parser)


def add_backend(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a backend of your own (docs/backends.md)")
    group.add_argument(
        "--with",
        dest="packages",
        action="append",
        default=[],
        metavar="REQ",
        help="install this for the backend: a requirement, a wheel, a folder",
    )
    group.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="MODULE", help="whose import registers it"
    )
    group.add_argument(
        "--not-claimed",
        action="append",
        default=[],
        choices=DEMANDS,
        metavar="WORD",
        help=f"what it does not claim to do: {', '.join(DEMANDS)}",
    )
    group.add_argument(
        "--on", default="", metavar="DEVICE", help="the device it compiles for, which replaces the CPU in its cells"
    )


def folder(text: str) -> Path:
    """A path, for argparse; an empty text would mean the current folder."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("names no folder")
    return Path(text)


def file(text: str) -> Path:
    """A path, for argparse; an empty text would mean the current folder."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("names no file")
    return Path(text)


def size(text: str) -> int:
    """Bytes of a size with its unit, for argparse."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """A whole number from 1 up, for argparse."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10,000")
    return int(text)
