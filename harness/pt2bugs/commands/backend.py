"""`pt2bugs backend NAME`: the traps that a torch.compile backend falls into, its own and inherited."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from packaging.version import Version

from pt2bugs.backends import baseline as base
from pt2bugs.backends.answers import TITLES, Answer, Group, answers_for, by_component, by_demand, counts, of_group
from pt2bugs.backends.baseline import Difference
from pt2bugs.backends.measured import measured_backends
from pt2bugs.backends.references import REFERENCES, ReferenceCells, reference_cells, setup_beside
from pt2bugs.backends.spec import (
    BackendSpec,
    backend_spec,
    known_backends,
    on_its_device,
    require_name,
    special_backends,
)
from pt2bugs.bisect.accepted import Accepted, AcceptedError, current_day, load_accepted
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.model import MAX_TIMEOUT_S, Case
from pt2bugs.case.observation import shortened
from pt2bugs.case.vocabulary import COUNTED, Outcome, number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, row_of, say, warn
from pt2bugs.commands.cost import render_cost
from pt2bugs.commands.machines import run_cells
from pt2bugs.commands.options import (
    CaseOptions,
    OfflineOptions,
    RerunOptions,
    ResultsOptions,
    RunningOptions,
    ShardOptions,
    option,
)
from pt2bugs.commands.selection import (
    on_this_machine,
    open_store,
    package_sources,
    rerun_command,
    results_of,
    run_options,
    select_cases,
    tell_newest,
)
from pt2bugs.envs.environment import Key, choose_python
from pt2bugs.envs.releases import Newest, Release, known_releases, one_release_request, select_releases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.report.annotations import baseline_annotations, baseline_sarif, baseline_summary
from pt2bugs.results.folder import Results, open_results
from pt2bugs.results.history import Histories
from pt2bugs.results.journal import Record
from pt2bugs.results.line import CellKey, version_key
from pt2bugs.run.interpreter import named_interpreter, running_interpreter
from pt2bugs.run.plan import Target, Work, line_of, owed
from pt2bugs.run.plan import plan as cells_in
from pt2bugs.run.shards import DURATIONS, divide, read_durations

EXAMPLES = (
    ("pt2bugs backend NAME --torch 2.13", "the documented traps a backend falls into, and which are its own"),
    ("pt2bugs backend", "the known backends, and what was measured of them"),
)


def _seconds(text: str) -> float:
    """Return a number of seconds, for argparse."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT_S:
        problem = f"{text!r} is no number of seconds greater than zero, and at most a day"
        raise argparse.ArgumentTypeError(problem)
    return seconds


@dataclass(frozen=True, kw_only=True)
class Options(CaseOptions, ResultsOptions, RunningOptions, OfflineOptions, RerunOptions, ShardOptions):
    """Options of `backend`."""

    name: str = option(
        "NAME",
        default="",
        help=f"a torch.compile backend; known: {', '.join(known_backends())}; without one, what was measured of each",
    )
    torch: str | None = option(
        "--torch", metavar="R", help="the torch release; default: the newest that the backend is for"
    )
    python_exe: Path | None = option(
        "--python-exe",
        parse=Path,
        metavar="PATH",
        help="measure the torch and backend of this interpreter",
    )
    baseline: Path | None = option(
        "--baseline", parse=Path, metavar="FILE", help="known failures: exit 1 only for what differs"
    )
    update_baseline: bool = option("--update-baseline", default=False, help="write what was seen to the baseline")
    diff: str = option(
        "--diff",
        default="text",
        choices=("text", "markdown", "annotations", "sarif"),
        help="how differences from the baseline are shown; sarif is for code scanning",
    )
    since_baseline: bool = option(
        "--since-baseline", default=False, help="print only what differs from the baseline, not what is known"
    )
    timeout: float | None = option(
        "--timeout", parse=_seconds, metavar="S", help="no check may take longer, whatever its header says"
    )
    dry_run: bool = option("--dry-run", default=False, help="say what it would cost, run nothing")
    json: bool = option("--json", default=False, help="print the answer as JSON")


def run(options: Options) -> int:
    """Select, plan, measure, query, render; without a name, what was measured of each backend. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: options that do not go together.
    """
    if options.update_baseline and options.baseline is None:
        raise InputError("--update-baseline writes a file: name it with --baseline FILE")
    if options.since_baseline and options.baseline is None:
        raise InputError("--since-baseline tells what differs from a file: name it with --baseline FILE")
    if not options.name:
        return render_all(options)
    require_name(options.name)
    known = _read_baseline(options)
    selection = select(options)
    if not selection.cells:
        say(f"shard {options.shard} has no cell: an environment more would take longer than it saves; others have all")
        return OK
    planned = plan(options, selection)
    if options.dry_run:
        return render_cost(options, planned.work, planned.newest.lines(), as_json=options.json)
    failures = measure(options, planned)
    return render(options, planned, query(selection, planned), known, failures)


@dataclass(frozen=True)
class Selected:
    """The backend, its cells, and those of the backends that it is compared with."""

    corpus: Sequence[Case]
    spec: BackendSpec
    cells: Sequence[Cell]
    references: ReferenceCells


@dataclass(frozen=True)
class Planned:
    """The environments of the backend and of its references, and the work that the journal does not answer."""

    results: Results
    newest: Histories
    mine: Target
    plain: Target
    work: list[Work]


def select(options: Options) -> Selected:
    """Return the cells that the backend is measured on.

    Args:
        options: of the command.

    Raises:
        NothingSelected: no check runs on it.
    """
    corpus, cases = select_cases(options)
    spec = backend_spec(options.name, options.overrides)
    if spec.known and spec.known.broken:
        warn(f"{options.name}: is known not to run: {spec.known.broken}")
    cells = [cell for case in cases for cell in cells_of(case, tuple(options.device), (options.name,))]
    cells = on_its_device(cells, {options.name: spec})
    if not cells:
        raise NothingSelected(f"nothing selected: no check of the selected cases runs on the backend {options.name}")
    references = reference_cells(spec, cases, tuple(options.device))
    return _part(options, Selected(corpus, spec, cells, references))


def _part(options: Options, selection: Selected) -> Selected:
    """Return all that is selected, or the shard of it: checks with their references, so that each shard can answer.

    A shard of few cells may be empty.
    """
    if options.shard is None:
        return selection
    durations = read_durations(results_of(options).folder / DURATIONS)
    whole = [Work(Target(Key("", ""), setup=selection.spec.setup), list(selection.cells))]
    shard = divide(whole, options.shard.count, durations.of).shard(options.shard)
    cells = [cell for part in shard for cell in part.cells]
    checks = {cell.key.which_check for cell in cells}
    plain, beside = (
        tuple(cell for cell in group if cell.key.which_check in checks)
        for group in (selection.references.plain, selection.references.beside)
    )
    return replace(selection, cells=cells, references=ReferenceCells(plain, beside))


def plan(options: Options, selection: Selected) -> Planned:
    """Return what is to be run in which environments.

    Args:
        options: of the command.
        selection: the cells.

    Raises:
        InputError: the release is not known, or the options contradict each other.
    """
    spec, references = selection.spec, selection.references
    results = results_of(options, (options.name, *REFERENCES))
    if options.offline and options.python_exe is None:
        options = _of_measured_release(options, results)
        newest = _measured_lines(options, selection, results)
    else:
        newest = results.load(selection.corpus, warn)
    mine, plain = _targets(options, spec, selection.cells, newest.lines())
    if options.offline:
        return Planned(results, newest, mine, plain, [])
    beside = [replace(mine, setup=setup_beside(name, spec)) for name in REFERENCES]
    alone = [replace(plain, setup=special.setup) for special in special_backends(REFERENCES).values()]
    work = cells_in([*selection.cells, *references.plain], [mine, plain, *alone]) + cells_in(references.beside, beside)
    if not options.rerun:
        work = owed(work, newest.lines())
    # What cannot say is told with the answers, each with why.
    work = list(on_this_machine(work, options.device, options.cluster, lambda _: None))
    return Planned(results, newest, mine, plain, work)


def measure(options: Options, planned: Planned) -> list[str]:
    """Run the work into the journal. Return which environments could not answer.

    Args:
        options: of the command.
        planned: the work.
    """
    if options.offline:
        return []
    say(f"{planned.mine}: {number_of(sum(len(part.cells) for part in planned.work), 'cell')} to run ({COUNTED})")
    if planned.work:
        how = replace(run_options(options), timeout_cap_s=options.timeout or float("inf"))
        run_cells(options, open_store(options), planned.results, planned.newest, [(planned.work, how)])
        planned.results.derive(planned.newest)
    return [f"{part.target}: {part.failure}" for part in planned.work if part.failure]


def query(selection: Selected, planned: Planned) -> list[Answer]:
    """Return the answer for each cell of the backend.

    Args:
        selection: the cells.
        planned: where they were measured.
    """
    lines, references = planned.newest.lines(), selection.references
    reference_lines = [
        *(line_of(lines, planned.plain, cell) for cell in references.plain),
        *(line_of(lines, planned.mine, cell) for cell in references.beside),
    ]
    not_claimed = selection.spec.setup.not_claimed
    return answers_for(selection.cells, lambda cell: line_of(lines, planned.mine, cell), reference_lines, not_claimed)


def render(
    options: Options,
    planned: Planned,
    answers: Sequence[Answer],
    known: Sequence[Accepted] | None,
    failures: Sequence[str],
) -> int:
    """Print the answers, and what differs from the baseline. Return the exit code.

    Args:
        options: of the command.
        planned: where the cells were measured.
        answers: for each cell.
        known: the entries of the baseline; None without one.
        failures: environments that could not answer.
    """
    records = {
        answer.cell.key: answer.record for answer in answers if answer.record and answer.group is not Group.NOT_CLAIMED
    }
    differences = None if known is None else base.differences(list(known), records, current_day())
    if options.since_baseline and differences is not None:
        differing = {difference.cell for difference in differences}
        shown = [answer for answer in answers if answer.cell.key in differing]
    else:
        shown = list(answers)
    if options.json:
        _print_json(answers, shown, differences, options, planned.mine)
    elif not options.since_baseline and (known is None or options.diff == "text"):
        _print(answers, options, planned.mine)
    for failure in failures:
        say(failure)
    if differences is None:
        is_bad = any(answer.group is Group.ONLY_YOURS for answer in answers)
    else:
        _show_differences(differences, options, answers, len(records))
        if options.since_baseline and options.diff == "text" and not options.json:
            for answer in shown:
                print(f"reproduce {answer.name}: {_reproduce(answer, planned.mine, options)}")
        is_bad = bool(differences)
    if known is not None and options.baseline is not None and options.update_baseline:
        base.write_baseline(options.baseline, base.updated(list(known), records))
        say(f"{options.baseline}: written")
        is_bad = False
    # If its canary failed, the backend did not answer at all.
    has_answer = any(answer.group not in (Group.CANNOT_SAY, Group.NOT_CLAIMED) for answer in answers)
    return UNEXPECTED if is_bad or failures or not has_answer else OK


# --- where it is measured -----------------------------------------------------------------------------


def _targets(
    options: Options, spec: BackendSpec, cells: Sequence[Cell], lines: dict[CellKey, Record]
) -> tuple[Target, Target]:
    """Return the targets of the backend and of its references: the same torch, without its packages."""
    others = frozenset({spec.name, *special_backends(REFERENCES)})
    if options.python_exe is not None or (
        not options.offline and options.torch is None and spec.known is None and not options.packages
    ):
        if options.torch or options.packages:
            raise InputError("--python-exe names an interpreter that has torch and the backend: leave out the rest")
        if options.python_exe and options.results is None:
            problem = "is no release; name a folder for its results, with --results"
            raise InputError(f"--python-exe {options.python_exe}: {problem}")
        there = named_interpreter(options.python_exe) if options.python_exe else running_interpreter()
        without = replace(there, key=replace(there.key, extras=()), others=others)
        return replace(there, setup=spec.setup), without
    release = _offline_release(options, spec, cells, lines) if options.offline else _release(options, spec)
    index = package_sources(options).name
    key = Key(str(release), _python_for(options, release, lines), spec.extras, index, spec.installs)
    return Target(key, setup=spec.setup), Target(replace(key, extras=(), installs=()), others=others)


def _of_measured_release(options: Options, results: Results) -> Options:
    """Return the options with the release that is meant: ``2.13`` is the newest patch with a journal, or nothing."""
    request = one_release_request(options.torch) if options.torch else None
    if isinstance(request, Newest):
        there = [Release(Version(torch), ()) for torch in results.releases() if torch]
        tell_newest([str(options.torch)], there)
        return replace(options, torch=str(next(iter(request.of(there)), options.torch)))
    return options


def _measured_lines(options: Options, selection: Selected, results: Results) -> Histories:
    """Return what the journals of one release say: that asked for, else the newest with a line of the backend."""
    newest = Histories(selection.corpus)
    for torch in [options.torch] if options.torch else results.releases():
        newest = results.load(selection.corpus, warn, among=torch.__eq__)
        there = _measured_releases(selection.spec, selection.cells, newest.lines())
        # Journals without a release in their name are always read; they may have an older one.
        if any(version_key(release) >= version_key(torch) for release in there):
            break
    return newest


def _measured_releases(spec: BackendSpec, cells: Sequence[Cell], lines: Mapping[CellKey, Record]) -> set[str]:
    """Return the releases with a line of any of the backend's cells beside its packages."""
    wanted, extras = {cell.key for cell in cells}, "+".join(spec.extras)
    return {key.torch for key in lines if key.cell in wanted and key.extras == extras and key.torch}


def _python_for(options: Options, release: Release, lines: dict[CellKey, Record]) -> str:
    if release.pythons:
        return choose_python(release, options.python)
    there = {key.python for key in lines if key.torch == str(release) and key.backend == options.name}
    return options.python or max(there, key=Version, default="")


def _release(options: Options, spec: BackendSpec) -> Release:
    releases = known_releases(package_sources(options), warn)
    if options.torch:
        chosen = select_releases([options.torch], releases)[-1]
        if not spec.supports(str(chosen)) and spec.known:
            raise InputError(
                f"{options.name}: is for torch {spec.known.torch}, not {chosen}; --with names other packages"
            )
        return chosen
    fitting = [release for release in releases if spec.supports(str(release)) and not release.version.is_prerelease]
    if not fitting:
        raise InputError(f"{options.name}: the package index has no torch release that it is for")
    return fitting[-1]


def _offline_release(
    options: Options, spec: BackendSpec, cells: Sequence[Cell], lines: dict[CellKey, Record]
) -> Release:
    there = set(map(Version, _measured_releases(spec, cells, lines)))
    if options.torch:
        there = {version for version in there if str(version) == options.torch}
    if not there:
        where = f" on torch {options.torch}" if options.torch else ""
        if beside := sorted({key.extras for key in lines if key.backend == options.name and key.extras}):
            asked = " ".join(spec.extras) or "torch alone"
            where += f" with {asked}, but with {', '.join(beside)} (--with names these)"
        raise InputError(f"{options.name}: the journal has no line of it{where}; without --offline it is run")
    return Release(max(there), ())


# --- the answer ---------------------------------------------------------------------------------------


def _reproduce(answer: Answer, target: Target, options: Options) -> str:
    """Return the command that runs the cell again; of an inherited failure on the layer of torch that has it."""
    torch = target.key.torch if target.python is None else None
    above = answer.others[answer.layer] if answer.layer else None
    # On the backend's own device a layer runs in the backend's environment alone.
    if above is not None and not above["extras"] and not target.python:
        cell = replace(answer.cell, device=above["device"], backend=answer.layer)
        alone = replace(options, packages=(), imports=(), not_claimed=(), on="")
        command = rerun_command(alone, options.cases, cell, torch, ())
    else:
        extras = () if target.python else target.key.extras
        command = rerun_command(options, options.cases, answer.cell, torch, extras)
    if options.python_exe:
        command += ["--python-exe", str(options.python_exe), "--results", str(options.results or "results")]
    return shlex.join(command)


def render_all(options: Options) -> int:
    """Print what was measured of each backend, in the newest torch that it was measured in. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: options that are about one backend.
    """
    if options.torch or options.baseline or options.packages or options.python_exe:
        raise InputError("name the backend that the options are about: pt2bugs backend NAME")
    corpus, cases = select_cases(options)
    measured = {
        backend.name: backend for backend in measured_backends(open_results(options.results), corpus, cases, warn)
    }
    names = [*known_backends(), *(name for name in measured if name not in known_backends())]
    rows: list[dict[str, Any]] = []
    for name in names:
        backend, known = measured.get(name), known_backends().get(name)
        if backend:
            numbers = {"cells": len(backend.answers), **backend.counts}
            rows.append({"backend": name, "torch": backend.torch, "packages": list(backend.extras), **numbers})
        elif known and name not in REFERENCES:
            why = f"does not run: {known.broken}" if known.broken else f"not measured: {known.about}"
            rows.append({"backend": name, "torch": "", "about": why})
    if options.json:
        print_json(rows)
        return OK
    width = max((len(row["backend"]) for row in rows), default=0)
    heads = ["cells", *(str(group) for group in Group)]
    _print_heads(f"{'backend':{width}}  {'torch':8}", heads)
    for row in rows:
        text = f"{row['backend']:{width}}  {row['torch']:8}"
        print(text + _numbers(row, heads) if "cells" in row else fit(f"{text}-  {row['about']}", width + 2))
    say(f"{sum('cells' in row for row in rows)} of {len(rows)} backends are measured ({COUNTED})")
    return OK


def _print_heads(first: str, heads: Sequence[str]) -> None:
    """Print the head of a table: the words of a group stand below each other, so that the table fits a terminal."""
    parts = {head: head.split("-") for head in heads}
    for row in range(2):
        words = ((["", *parts[head]][-2:][row]).rjust(_width(head)) for head in heads)
        print(f"{first if row else '':{len(first)}}{' '.join(words)}".rstrip())


def _numbers(row: Mapping[str, int], heads: Sequence[str]) -> str:
    return " ".join(f"{row[head]:{_width(head)}}" for head in heads)


def _width(head: str) -> int:
    return max(map(len, head.split("-")))


def _print_json(
    answers: Sequence[Answer],
    shown: Sequence[Answer],
    differences: Sequence[Difference] | None,
    options: Options,
    target: Target,
) -> None:
    torch = target.build or target.key.torch
    printed: dict[str, Any] = {"torch": torch, "backend": options.name, "packages": list(target.key.extras)}
    printed["cells"] = [answer.as_dict(_reproduce(answer, target, options)) for answer in shown]
    printed |= {"groups": counts(answers), "components": by_component(answers), "demands": by_demand(answers)}
    if differences is not None:
        printed["differences"] = [difference.as_dict() for difference in differences]
    print_json(printed)


def _print(answers: Sequence[Answer], options: Options, target: Target) -> None:
    with_ = f" with {', '.join(target.key.extras)}" if target.key.extras else ""
    print(f"{options.name} on torch {target.build or target.key.torch}{with_}: {number_of(len(answers), 'cell')}")
    for group, title in TITLES.items():
        of_this = of_group(answers, group)
        if not of_this:
            continue
        shared = sum(answer.is_inductors_too for answer in of_this)
        at_the_end = f", of which inductor fails the same in the last {shared}" if shared else ""
        print(f"\n{title} ({len(of_this)}{at_the_end})")
        if group is Group.PASSES:
            continue
        if group is Group.NOT_CLAIMED:
            for answer in of_this:
                print(row_of(f"  {answer.name}", answer.why))
            continue
        # An environment that is broken says the same of every cell.
        times = Counter(answer.why for answer in of_this) if group is Group.CANNOT_SAY else Counter[str]()
        told: set[str] = set()
        for (_, frame), part in groupby(of_this, key=lambda answer: (answer.is_inductors_too, answer.frame)):
            alike = list(part)
            if frame and len(alike) > 1 and group is Group.ONLY_YOURS:
                print(fit(f"  {number_of(len(alike), 'cell')} end in {frame}:"))
            for answer in alike:
                if times[answer.why] > 1:
                    if answer.why not in told:
                        print(fit(f"  {number_of(times[answer.why], 'cell')}: {shortened(answer.why, 400)}"))
                    told.add(answer.why)
                    continue
                print(row_of(f"  {answer.name}", answer.cell.case.title))
                print(f"    issue:     {answer.cell.case.issue}")
                if answer.frame:
                    print(fit(f"    in:        {answer.frame}", 15))
                print(fit(f"    seen:      {shortened(' '.join(answer.why.split()), 300)}", 15))
                print(f"    reproduce: {_reproduce(answer, target, options)}")
    for what, table in (("component", by_component(answers)), ("demand", by_demand(answers))):
        if table:
            width = max(len(what), *map(len, table))
            heads = [str(group) for group in Group]
            print()
            _print_heads(f"{what:{width}}  ", heads)
            for word, row in table.items():
                print(f"{word:{width}}  {_numbers(row, heads)}")
    cases = len({answer.cell.case.id for answer in answers})
    say(f"{number_of(len(answers), 'cell')} of {number_of(cases, 'case')} ({COUNTED})")


# --- the baseline -------------------------------------------------------------------------------------


def _read_baseline(options: Options) -> list[Accepted] | None:
    if options.baseline is None:
        return None
    if not options.baseline.exists():
        if options.update_baseline:
            return []
        raise AcceptedError(f"--baseline {options.baseline}: there is no such file; --update-baseline writes it")
    return load_accepted(options.baseline)


def _show_differences(
    differences: Sequence[Difference], options: Options, answers: Sequence[Answer], cells: int
) -> None:
    """Print what differs from the baseline in the form asked for, and say how much it is."""
    name, text = options.baseline, ""
    cases = {answer.cell.case.id: answer.cell.case for answer in answers}
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    if options.diff == "markdown":
        text = baseline_summary(differences, cases) if differences else f"Nothing differs from `{name}`."
    elif options.diff == "annotations":
        text = baseline_annotations(differences, cases, root)
    elif options.diff == "sarif" and name is not None:
        text = json.dumps(baseline_sarif(differences, cases, name, root), indent=2)
    elif differences:
        text = f"\nagainst {name} ({len(differences)})\n{base.as_text(differences)}"
    if text and not options.json:
        print(text)
    say(f"{name}: {len(differences)} of {cells} cells differ" if differences else f"{name}: nothing differs")
    broken = sum(answer.record is None or answer.record["outcome"] == Outcome.ERROR for answer in answers)
    if broken:
        say(f"{name}: {number_of(broken, 'cell')} could not be measured, and are neither new nor gone")
