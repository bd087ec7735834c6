"""What the commands share: the selection, the results folder, environments, printing."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pt2bugs.case.corpus import Selection, load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.words import COMPONENTS, SYMPTOMS
from pt2bugs.errors import InputError, NothingSelected

if TYPE_CHECKING:
    from pt2bugs.case.cells import Cell
    from pt2bugs.envs.releases import Release
    from pt2bugs.envs.sources import Sources
    from pt2bugs.report.history import History
    from pt2bugs.results.matrix import CellKey, Results
    from pt2bugs.results.record import Record
    from pt2bugs.run.schedule import RunOptions, Target


def say(text: str) -> None:
    """Talk to the user, on stderr."""
    print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    say(f"pt2bugs: warning: {text}")


def print_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1, ensure_ascii=False)
    print()


# --- arguments ----------------------------------------------------------------------------------------


def add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument("patterns", nargs="*", default=[], metavar="CASE", help="case ids or globs (default: all)")
    group.add_argument("--component", action="append", default=[], choices=COMPONENTS, metavar="NAME")
    group.add_argument("--symptom", action="append", default=[], choices=SYMPTOMS, metavar="NAME")
    group.add_argument("--label", action="append", default=[], metavar="NAME")
    group.add_argument("--device", action="append", default=[], metavar="NAME")
    group.add_argument("--backend", action="append", default=[], metavar="NAME")
    group.add_argument("--cases", action="append", default=[], type=Path, metavar="DIR", help="another corpus")


def add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results",
        type=folder,
        metavar="DIR",
        help="folder of the journal and tables (default: ./results)",
    )


def add_environments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("environments")
    group.add_argument("--python", metavar="3.N", help="Python of the environments (default: the running one)")
    group.add_argument("--index", metavar="URL", help="another package index, for nightlies or CPU builds")
    group.add_argument("--find-links", action="append", default=[], metavar="DIR", help="as in uv and pip")
    group.add_argument("--extra", action="append", default=[], metavar="NAME", help="an extra, as turbine")


def add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("running")
    group.add_argument("--jobs", type=count, metavar="N", help="pytest processes at once (default: the cores)")
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


def folder(text: str) -> Path:
    """A path, for argparse; an empty text would mean the current folder."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("names no folder")
    return Path(text)


def count(text: str) -> int:
    """A whole number from 1 up, for argparse."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10,000")
    return int(text)


# --- what they mean -----------------------------------------------------------------------------------


def corpus_roots(asked: Sequence[Path]) -> list[Path]:
    """The folders of the corpus: those asked for, else `cases` here, else the installed one.

    Raises:
        InputError: one asked for does not exist.
    """
    for path in asked:
        if not path.exists():
            raise InputError(f"--cases {path}: there is no such file or folder")
    if asked:
        return list(asked)
    here = Path("cases")
    if here.is_dir():
        return [here]
    package = Path(__file__).resolve().parent.parent
    installed = package / "_corpus" / "cases"
    return [installed if installed.is_dir() else package.parent.parent / "cases"]


def select_cases(arguments: argparse.Namespace) -> tuple[list[Case], list[Case]]:
    """The whole corpus, and what of it the arguments select (devices and backends left aside).

    Raises:
        CaseError: a file of the corpus breaks the contract.
        InputError: a pattern matches no case id.
        NothingSelected: the filters together leave nothing.
    """
    corpus = load_cases(corpus_roots(arguments.cases), warn)
    for pattern in arguments.patterns:
        if not any(Selection((pattern,)).matches(case) for case in corpus):
            close = difflib.get_close_matches(pattern, [case.id for case in corpus], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(f"no case {pattern!r}{hint}; `pt2bugs list` shows all")
    chosen = corpus
    for name, selection in {
        "CASE": Selection(patterns=tuple(arguments.patterns)),
        "--component": Selection(components=tuple(arguments.component)),
        "--symptom": Selection(symptoms=tuple(arguments.symptom)),
        "--label": Selection(labels=tuple(arguments.label)),
    }.items():
        before = chosen
        chosen = [case for case in chosen if selection.matches(case)]
        if before and not chosen:
            raise NothingSelected(f"nothing selected: {name} leaves none of {len(before)} cases")
    if not chosen:
        raise NothingSelected("nothing selected: the corpus is empty")
    return corpus, chosen


def select_cells(arguments: argparse.Namespace, cases: Sequence[Case]) -> list[Cell]:
    """The cells of the selected cases on the devices and backends asked for.

    Raises:
        NothingSelected: no selected check runs there.
    """
    from pt2bugs.case.cells import cells_of

    devices, backends = tuple(arguments.device), tuple(arguments.backend)
    cells = [cell for case in cases for cell in cells_of(case, devices, backends)]
    if not cells:
        words = " ".join([*(f"--device {d}" for d in devices), *(f"--backend {b}" for b in backends)])
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on {words}")
    return cells


def results_folder() -> Path:
    """The folder of results here; where there is none, and the wheel brought one, that is read instead."""
    here = Path("results")
    installed = Path(__file__).resolve().parent.parent / "_corpus" / "results"
    return here if here.is_dir() or not installed.is_dir() else installed


def open_results(arguments: argparse.Namespace) -> Results:
    from pt2bugs.results.matrix import Results

    return Results(arguments.results or results_folder())


def load_lines(
    arguments: argparse.Namespace, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> dict[CellKey, Record]:
    """The lines that the results folder has of these cases of the corpus, on the devices and backends asked for.

    Raises:
        JournalError: a journal cannot be read.
    """
    return select_lines(arguments, open_results(arguments).load(corpus, warn).lines(), cases)


def select_lines(
    arguments: argparse.Namespace, lines: Mapping[CellKey, Record], cases: Sequence[Case]
) -> dict[CellKey, Record]:
    """Those of these cases, on the devices and backends asked for."""
    names = {case.id for case in cases}
    return {
        key: record
        for key, record in lines.items()
        if key.case in names
        and (not arguments.device or key.device in arguments.device)
        and (not arguments.backend or key.backend in arguments.backend)
    }


def load_histories(
    arguments: argparse.Namespace, corpus: Sequence[Case], cases: Sequence[Case], warn: Callable[[str], None]
) -> list[History]:
    """The rows of the matrix of these cases of the corpus, with what each release says.

    Raises:
        JournalError: a journal cannot be read.
    """
    from pt2bugs.bisect.evidence import Evidence
    from pt2bugs.report.history import histories

    evidence = Evidence.load(open_results(arguments), corpus, warn)
    return histories(select_lines(arguments, evidence.newest.lines(), cases), evidence)


def run_options(arguments: argparse.Namespace) -> RunOptions:
    from pt2bugs.run.schedule import RunOptions, default_jobs

    return RunOptions(
        jobs=arguments.jobs or default_jobs(arguments.threads),
        repeat=arguments.repeat,
        confirm=arguments.confirm,
        threads=arguments.threads,
    )


def package_sources(arguments: argparse.Namespace) -> Sources:
    from pt2bugs.envs.sources import sources

    return sources(arguments.index, arguments.find_links)


def targets_for(arguments: argparse.Namespace, releases: Sequence[Release]) -> list[Target]:
    """The environments of these releases, as ``--python``, ``--index`` and ``--extra`` shape them.

    Raises:
        InputError: an unknown extra.
        EnvironmentFailure: no wheel for the Python asked for.
    """
    from pt2bugs.envs.environment import Key, choose_python
    from pt2bugs.run.schedule import Target

    extras = known_extras(arguments.extra)
    index = package_sources(arguments).index or ""
    return [Target(Key(str(r), choose_python(r, arguments.python), extras, index)) for r in releases]


def known_extras(names: Sequence[str]) -> tuple[str, ...]:
    """The extras, sorted.

    Raises:
        InputError: one is unknown.
    """
    from pt2bugs.envs.extras import EXTRAS

    for name in names:
        if name not in EXTRAS:
            raise InputError(f"--extra {name}: unknown; there is {', '.join(sorted(EXTRAS))}")
    return tuple(sorted(set(names)))


def releases_for(arguments: argparse.Namespace, words: Sequence[str]) -> list[Release]:
    """The releases that the values of ``--torch`` mean.

    Raises:
        ReleaseError: a value does not parse or matches nothing, or the index cannot be asked.
    """
    from pt2bugs.envs.releases import known_releases, parse_request, select_releases

    parse_request(words)
    return select_releases(words, known_releases(package_sources(arguments), warn))
