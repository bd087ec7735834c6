"""`pt2bugs backend NAME`: the traps that a torch.compile backend falls into, its own and inherited."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from packaging.version import Version

from pt2bugs.backends import baseline as base
from pt2bugs.backends.baseline import Difference
from pt2bugs.backends.known import REFERENCES, known_backends
from pt2bugs.backends.measured import measured_backends
from pt2bugs.backends.reach import Reach, on_its_device, reach_of, reproduction
from pt2bugs.backends.references import compared_with, setup_beside
from pt2bugs.backends.report import (
    TITLES,
    Answer,
    Group,
    answer_for,
    by_component,
    by_demand,
    counts,
    of_group,
    reference_lines,
)
from pt2bugs.bisect.accepted import Accepted, AcceptedError, load_accepted
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.words import Outcome
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.asked import on_this_machine
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.machines import machines
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import open_results, select_cases
from pt2bugs.commands.targets import open_store, package_sources, run_options
from pt2bugs.envs.environment import Key, choose_python
from pt2bugs.envs.releases import Release, known_releases, select_releases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.matrix import CellKey
from pt2bugs.results.record import Record
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.schedule import Target, line_of, missing

_DIFFS = ("text", "markdown", "annotations")


EXAMPLES = (
    ("pt2bugs backend NAME --torch 2.13", "the documented traps a backend falls into, and which are its own"),
    ("pt2bugs backend", "the known backends, and what was measured of them"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    name: str = ""
    torch: str | None = None
    python_exe: Path | None = None
    offline: bool = False
    rerun: bool = False
    baseline: Path | None = None
    update_baseline: bool = False
    diff: str = "text"
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(known_backends())
    help_text = f"a torch.compile backend; known: {names}; without one, what was measured of each"
    parser.add_argument("name", metavar="NAME", nargs="?", default="", help=help_text)
    add_selection(parser, backend=False)
    add_results(parser)
    add_run(parser)
    parser.add_argument("--torch", metavar="R", help="the torch release; default: the newest that the backend is for")
    parser.add_argument(
        "--python-exe",
        type=Path,
        metavar="PATH",
        help="measure the torch and the backend that this interpreter has",
    )
    parser.add_argument("--offline", action="store_true", help="answer from the journal alone, run nothing")
    parser.add_argument("--rerun", action="store_true", help="run also what the journal answers")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="known failures: exit 1 only for what differs")
    parser.add_argument("--update-baseline", action="store_true", help="write what was seen to the baseline")
    parser.add_argument("--diff", choices=_DIFFS, default="text", help="how differences from the baseline are shown")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(options: Options) -> int:
    if options.update_baseline and options.baseline is None:
        raise InputError("--update-baseline writes a file: name it with --baseline FILE")
    if not options.name:
        return _show_all(options)
    known = _read_baseline(options)
    answers, mine, failures = _measure(options)
    records = {one.cell.key: one.record for one in answers if one.record and one.group is not Group.NOT_CLAIMED}
    found = None if known is None else base.differences(known, records, _today())
    if options.json:
        _print_json(answers, found, options, mine)
    elif known is None or options.diff == "text":
        _print(answers, options, mine)
    for failure in failures:
        say(failure)
    if found is None:
        is_bad = any(one.group is Group.ONLY_YOURS for one in answers)
    else:
        _show_differences(found, options, answers, len(records))
        is_bad = bool(found)
    if known is not None and options.baseline is not None and options.update_baseline:
        base.write_baseline(options.baseline, base.updated(known, records))
        say(f"{options.baseline}: written")
        is_bad = False
    return UNEXPECTED if is_bad or failures or not _has_answer(answers) else OK


def _measure(options: Options) -> tuple[list[Answer], Target, list[str]]:
    """The answer for each cell, the target of the backend, and which environments could not answer."""
    corpus, cases = select_cases(options)
    reach = reach_of(options.name, options.overrides)
    if reach.known and reach.known.broken:
        warn(f"{options.name}: is known not to run: {reach.known.broken}")
    cells = [cell for case in cases for cell in cells_of(case, tuple(options.device), (options.name,))]
    cells = on_its_device(cells, {options.name: reach})
    compared = compared_with(reach, cases, tuple(options.device))
    if not cells:
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on the backend {options.name}")
    results = open_results(options, (options.name, *REFERENCES))
    newest = results.load(corpus, warn)
    lines = newest.lines()
    mine, plain = _targets(options, reach, cells, lines)
    beside = [replace(mine, setup=setup_beside(name, reach)) for name in REFERENCES]
    failures = []
    if not options.offline:
        work = missing([mine, plain], [*cells, *compared.plain], lines, rerun=options.rerun)
        work += missing(beside, compared.beside, lines, rerun=options.rerun)
        # What cannot say is told with the answers, each with why.
        work = list(on_this_machine(work, options.device, options.cluster, lambda _: None))
        say(f"{mine}: {sum(len(one.cells) for one in work)} cells to run")
        with machines(options, lines) as new_runner, progress_of_cells() as progress:
            store = open_store(options)
            new_runner(results, store, run_options(options), progress, newest.add).run(work)
        if work:
            results.derive(newest)
        failures = [f"{one.target}: {one.failure}" for one in work if one.failure]
        lines = newest.lines()
    beside_it = [
        *(line_of(lines, plain, cell) for cell in compared.plain),
        *(line_of(lines, mine, cell) for cell in compared.beside),
    ]
    others = reference_lines(record for record in beside_it if record and record["verdict"] != "error")
    answers = [
        answer_for(
            cell,
            line_of(lines, mine, cell),
            others.get((cell.case.id, cell.check.name), {}),
            reach.setup.not_claimed,
        )
        for cell in cells
    ]
    return answers, mine, failures


def _has_answer(answers: Iterable[Answer]) -> bool:
    """Whether the backend answered at all. If its canary failed, it did not."""
    return any(one.group not in (Group.CANNOT_SAY, Group.NOT_CLAIMED) for one in answers)


# --- where it is measured -----------------------------------------------------------------------------


def _targets(
    options: Options, reach: Reach, cells: Sequence[Cell], lines: dict[CellKey, Record]
) -> tuple[Target, Target]:
    """The target of the backend, and that of the backends it is compared with: the same torch without its packages."""
    others = frozenset({reach.name})
    if options.python_exe is not None or (
        not options.offline and options.torch is None and reach.known is None and not options.packages
    ):
        if options.torch or options.packages:
            raise InputError("--python-exe names an interpreter that has torch and the backend: leave out the rest")
        if options.python_exe and options.results is None:
            problem = "is no release; name a folder for its results, with --results"
            raise InputError(f"--python-exe {options.python_exe}: {problem}")
        there = named_interpreter(options.python_exe) if options.python_exe else running_interpreter()
        without = replace(there, key=replace(there.key, extras=()), others=others)
        return replace(there, setup=reach.setup), without
    release = _offline_release(options, reach, cells, lines) if options.offline else _release(options, reach)
    index = package_sources(options).name
    key = Key(str(release), _python_for(options, release, lines), reach.extras, index, reach.installs)
    return Target(key, setup=reach.setup), Target(replace(key, extras=(), installs=()), others=others)


def _python_for(options: Options, release: Release, lines: dict[CellKey, Record]) -> str:
    if release.pythons:
        return choose_python(release, options.python)
    there = {key.python for key in lines if key.torch == str(release) and key.backend == options.name}
    return options.python or max(there, key=Version, default="")


def _release(options: Options, reach: Reach) -> Release:
    releases = known_releases(package_sources(options), warn)
    if options.torch:
        chosen = select_releases([options.torch], releases)[-1]
        if not reach.supports(str(chosen)) and reach.known:
            raise InputError(
                f"{options.name}: is for torch {reach.known.torch}, not {chosen}; --with names other packages"
            )
        return chosen
    fitting = [one for one in releases if reach.supports(str(one)) and not one.version.is_prerelease]
    if not fitting:
        raise InputError(f"{options.name}: the package index has no torch release that it is for")
    return fitting[-1]


def _offline_release(options: Options, reach: Reach, cells: Sequence[Cell], lines: dict[CellKey, Record]) -> Release:
    wanted, extras = {cell.key for cell in cells}, "+".join(reach.extras)
    there = {Version(key.torch) for key in lines if key[:4] in wanted and key.extras == extras and key.torch}
    if options.torch:
        there = {version for version in there if str(version) == options.torch}
    if not there:
        where = f" on torch {options.torch}" if options.torch else ""
        raise InputError(f"{options.name}: the journal has no line of it{where}; without --offline it is run")
    return Release(max(there), ())


# --- the answer ---------------------------------------------------------------------------------------


def _reproduce(cell: Cell, target: Target, options: Options) -> str:
    """The command that runs the cell again."""
    torch = target.key.torch if target.python is None else None
    extras = () if target.python else target.key.extras
    command = reproduction(cell.key, torch, extras, options.overrides)
    if options.python_exe:
        command += ["--python-exe", str(options.python_exe), "--results", str(options.results or "results")]
    for option, values in (
        ("--index", [options.index] if options.index else []),
        ("--find-links", options.find_links),
        ("--python", [options.python] if options.python else []),
        ("--cases", options.cases),
    ):
        command += [argument for value in values for argument in (option, str(value))]
    return shlex.join([*command, "--rerun"])


def _show_all(options: Options) -> int:
    """What was measured of each backend, in the newest torch that it was measured in."""
    if options.torch or options.baseline or options.packages or options.python_exe:
        raise InputError("name the backend that the options are about: pt2bugs backend NAME")
    corpus, cases = select_cases(options)
    measured = {one.name: one for one in measured_backends(open_results(options), corpus, cases, warn)}
    names = [*known_backends(), *(name for name in measured if name not in known_backends())]
    rows: list[dict[str, Any]] = []
    for name in names:
        one, known = measured.get(name), known_backends().get(name)
        if one:
            numbers = {"cells": len(one.answers), **one.counts}
            rows.append({"backend": name, "torch": one.torch, "packages": list(one.extras), **numbers})
        elif known and name not in REFERENCES:
            why = f"does not run: {known.broken}" if known.broken else f"not measured: {known.about}"
            rows.append({"backend": name, "torch": "", "about": why})
    if options.json:
        print_json(rows)
        return OK
    width = max(len(name) for name in names)
    heads = ["cells", *(str(group) for group in Group)]
    print(f"{'backend':{width}}  {'torch':8}{'  '.join(heads)}")
    for row in rows:
        columns = "  ".join(f"{row[head]:{len(head)}}" for head in heads) if "cells" in row else f"-  {row['about']}"
        print(f"{row['backend']:{width}}  {row['torch']:8}{columns}")
    return OK


def _print_json(
    answers: Sequence[Answer], differences: Sequence[Difference] | None, options: Options, target: Target
) -> None:
    torch = target.build or target.key.torch
    answer: dict[str, Any] = {"torch": torch, "backend": options.name, "packages": list(target.key.extras)}
    answer["cells"] = [one.as_dict(_reproduce(one.cell, target, options)) for one in answers]
    answer |= {"groups": counts(answers), "components": by_component(answers), "demands": by_demand(answers)}
    if differences is not None:
        answer["differences"] = [one.as_dict() for one in differences]
    print_json(answer)


def _print(answers: Sequence[Answer], options: Options, target: Target) -> None:
    with_ = f" with {', '.join(target.key.extras)}" if target.key.extras else ""
    print(f"{options.name} on torch {target.build or target.key.torch}{with_}: {len(answers)} cells")
    for group, title in TITLES.items():
        found = of_group(answers, group)
        if not found:
            continue
        shared = sum(one.is_inductors_too for one in found)
        at_the_end = f", of which inductor fails the same in the last {shared}" if shared else ""
        print(f"\n{title} ({len(found)}{at_the_end})")
        if group is Group.PASSES:
            continue
        if group is Group.NOT_CLAIMED:
            for one in found:
                print(f"  {one.name}  {one.why}")
            continue
        # An environment that is broken says the same of every cell.
        said: dict[str, list[Answer]] = {}
        for one in found:
            said.setdefault(one.why, []).append(one)
        for why, alike in said.items():
            if group is Group.CANNOT_SAY and len(alike) > 1:
                print(f"  {len(alike)} cells: {why[:400]}")
                continue
            for one in alike:
                print(f"  {one.name}  {one.cell.case.title}")
                print(f"    issue:     {one.cell.case.issue}")
                print(f"    seen:      {why[:300]}")
                print(f"    reproduce: {_reproduce(one.cell, target, options)}")
    for what, table in (("component", by_component(answers)), ("demand", by_demand(answers))):
        if table:
            width = max(len(what), *map(len, table))
            heads = [str(group) for group in Group]
            print(f"\n{what:{width}}  {'  '.join(heads)}")
            for word, row in table.items():
                print(f"{word:{width}}  {'  '.join(f'{row[head]:{len(head)}}' for head in heads)}")


# --- the baseline -------------------------------------------------------------------------------------


def _read_baseline(options: Options) -> list[Accepted] | None:
    if options.baseline is None:
        return None
    if not options.baseline.exists():
        if options.update_baseline:
            return []
        raise AcceptedError(f"--baseline {options.baseline}: there is no such file; --update-baseline writes it")
    return load_accepted(options.baseline)


def _show_differences(found: Sequence[Difference], options: Options, answers: Sequence[Answer], cells: int) -> None:
    """Print what differs from the baseline in the form asked for, and say how much it is."""
    name, text = options.baseline, ""
    if options.diff == "markdown":
        issues = {one.cell.case.id: one.cell.case.issue for one in answers}
        text = base.as_markdown(found, issues) if found else f"Nothing differs from `{name}`."
    elif options.diff == "annotations":
        locations = {
            (one.cell.case.id, one.cell.check.name): (one.cell.case.path.as_posix(), one.cell.check.line)
            for one in answers
        }
        text = base.as_annotations(found, locations)
    elif found:
        text = f"\nagainst {name} ({len(found)})\n{base.as_text(found)}"
    if text and not options.json:
        print(text)
    say(f"{name}: {len(found)} of {cells} cells differ" if found else f"{name}: nothing differs")
    broken = sum(one.record is None or one.record["outcome"] == Outcome.ERROR for one in answers)
    if broken:
        say(f"{name}: {broken} cells could not be measured, and are neither new nor gone")


def _today() -> date:
    return datetime.now(timezone.utc).date()
