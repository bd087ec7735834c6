"""`pt2bugs bisect`: where each check was broken and fixed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from pt2bugs.backends.spec import backend_spec
from pt2bugs.bisect.bisection import BisectedCheck, Bisection
from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import apart_from
from pt2bugs.case.model import Case
from pt2bugs.case.observation import shortened
from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.machines import run_cells
from pt2bugs.commands.options import OfflineOptions, ResultsOptions, RunningOptions, SelectionOptions, option
from pt2bugs.commands.selection import (
    open_store,
    package_sources,
    rerun_command,
    results_of,
    run_options,
    select_cases,
    select_cells,
    targets_for,
    tell_newest,
    without_release,
)
from pt2bugs.envs.environment import Key
from pt2bugs.envs.extras import known_extras
from pt2bugs.envs.packages import is_package
from pt2bugs.envs.releases import (
    Release,
    ReleaseError,
    known_releases,
    one_release,
    package_versions,
    parse_request,
    range_of,
)
from pt2bugs.errors import InputError, NothingSelected, install_command
from pt2bugs.isolate import fixes
from pt2bugs.results.folder import results_folder
from pt2bugs.results.history import CONFIDENCE, Histories, Transition
from pt2bugs.run.plan import Target, belongs

COMPARE = "https://github.com/pytorch/pytorch/compare/{}...{}"


EXAMPLES = (
    ("pt2bugs bisect pytorch_172213", "the releases between which it was broken and fixed, and the commits"),
    ("pt2bugs bisect --component inductor --offline", "of every Inductor case, by what the journal has"),
    (
        'pt2bugs bisect --backend mine --package "mine>=1.0" --torch 2.13.0',
        "the versions of a backend between which each of its bugs came and went",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions, OfflineOptions):
    """Options of `bisect`."""

    torch: Sequence[str] = option(
        "--torch",
        default=(),
        metavar="RANGE",
        help='the releases: ">=2.4,<2.10", minors (the default), all, nightly:2026-01-01..2026-03-01; '
        "of a range the newest patch of each minor release takes part",
    )
    package: str = option(
        "--package",
        default="",
        metavar="REQ",
        help='search the versions of this package on one release of torch (default: the newest): "mine>=1.0"',
    )
    patches: bool = option("--patches", default=False, help="every patch release of the range takes part")
    candidates: bool = option("--candidates", default=False, help="release candidates take part, too")
    thorough: bool = option("--thorough", default=False, help="run every release of the range")
    json: bool = option("--json", default=False, help="print the answers as JSON")


def run(options: Options) -> int:
    """Select, plan, measure, render. Return the exit code.

    Args:
        options: of the command.
    """
    selected = select(options)
    try:
        bisection = plan(options, *selected)
    except ModuleNotFoundError:
        say(f"answered by the journal alone; what runs releases is not installed: {install_command('envs')}")
        options = replace(options, offline=True)
        bisection = plan(options, *selected)
    try:
        measure(options, bisection)
    except KeyboardInterrupt:
        render(options, bisection)
        raise
    return render(options, bisection)


def select(options: Options) -> tuple[list[Case], list[Cell]]:
    """Return the corpus, and the cells to bisect.

    Args:
        options: of the command.

    Raises:
        InputError: an option is wrong.
        NothingSelected: no cell is left.
    """
    corpus, cases = select_cases(options)
    place = without_release(options, options.backend)
    parse_request(options.torch)
    if options.package:
        _requirement(options.package)
        if len(options.torch) > 1 or len(options.backend) != 1:
            problem = "its versions are searched with one --backend, on one --torch"
            raise InputError(f"--package {options.package}: {problem}")
    cells = [cell for cell in select_cells(options, cases) if belongs(cell, place)]
    if not cells:
        wanted = sorted({case.extra for case in cases if case.extra})
        with_extra = f"; they need --extra {' or '.join(wanted)}" if wanted and not place.key.extras else ""
        raise NothingSelected(f"nothing selected: the selected cases have no check here{with_extra}")
    return corpus, cells


def plan(options: Options, corpus: Sequence[Case], cells: Sequence[Cell]) -> Bisection:
    """Return the search over the releases of the range, with what the journal says of them.

    Args:
        options: of the command.
        corpus: all cases.
        cells: the selected ones.

    Raises:
        ReleaseError: no release can be used, or the package index cannot be asked.
        InputError: the range has fewer than two releases.
    """
    results = results_of(options, options.backend)
    histories = results.load(corpus, warn, options.python)
    if options.offline:
        known = [Release(version, ()) for version in histories.releases(cells)]
    else:
        known = known_releases(package_sources(options), warn)
    tell_newest(options.torch, known)
    if options.package:
        requirement = _requirement(options.package)
        release = one_release(options.torch[0] if options.torch else "latest", known)
        versions = (
            histories.versions(requirement.name, cells, str(release))
            if options.offline
            else package_versions(requirement.name, package_sources(options))
        )
        targets = _package_targets(options, requirement, release, versions, histories)
        return Bisection(cells, targets, results, histories, thorough=options.thorough, axis=requirement.name)
    releases = range_of(options.torch, known, patches=options.patches, candidates=options.candidates)
    targets = _targets(options, releases, histories)
    return Bisection(cells, targets, results, histories, thorough=options.thorough)


def measure(options: Options, bisection: Bisection) -> None:
    """Run the releases that decide, until every check is decided.

    Args:
        options: of the command.
        bisection: the search, which takes what is measured.
    """
    if options.offline:
        return
    store = open_store(options)
    try:
        batches = bisection.batches(store, run_options(options), say)
        run_cells(options, store, bisection.results, bisection.journal, batches)
    finally:
        bisection.finish()
    if bisection.cost.visited:
        bisection.results.derive(bisection.journal)


# --- the environments ----------------------------------------------------------------------------------------


def _targets(options: Options, releases: Sequence[Release], histories: Histories) -> dict[str, Target | str]:
    """Return the environment of each release, or why there is none."""
    targets = {str(release): _target(options, release, histories) for release in releases}
    if all(isinstance(target, str) for target in targets.values()):
        newest = str(releases[-1])
        raise ReleaseError(f"no release of the range can be used; torch {newest}: {targets[newest]}")
    return targets


def _target(options: Options, release: Release, histories: Histories) -> Target | str:
    """Return the environment of a release, or why there is none."""
    place = without_release(options, options.backend)
    extras, known = place.key.extras, known_extras()
    unmade = [name for name in extras if name in known and known[name].requirements_for(str(release)) is None]
    if options.offline:
        return replace(place, key=Key(str(release), options.python or histories.python_of(release), extras))
    if unmade:
        return f"the extra {unmade[0]} is not made for it"
    try:
        return targets_for(options, [release], options.backend)[0]
    except InputError as error:
        return str(error)


# --- the versions of a package -------------------------------------------------------------------------


def _requirement(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement:
        raise InputError(f'--package {text}: is no requirement, such as "mine>=1.0,<2"') from None


def _package_targets(
    options: Options, requirement: Requirement, release: Release, versions: Sequence[Version], histories: Histories
) -> dict[str, Target | str]:
    """Return the environment of each version of a package that takes part, oldest first, or why there is none."""
    name = requirement.name
    chosen = list(requirement.specifier.filter(versions))
    if len(chosen) < 2:
        there = f"{versions[0]} to {versions[-1]}" if versions else "none"
        where = f"the journal has on torch {release}" if options.offline else "there is"
        raise InputError(f"--package {requirement}: a bisection needs two versions of {name}; {where} {there}")
    targets = {
        str(version): _target(_with_version(options, name, str(version)), release, histories) for version in chosen
    }
    if all(isinstance(target, str) for target in targets.values()):
        raise ReleaseError(f"no version of {name} can be used; {name} {chosen[-1]}: {targets[str(chosen[-1])]}")
    return targets


def _with_version(options: Options, name: str, version: str) -> Options:
    """Return the options with a version of a package: in place of the one that `--with` or the backend names."""
    named = options.packages or [text for _, text in backend_spec(options.backend[0]).installs]
    pin = f"{name}=={version}"
    packages = [pin if is_package(text, name) else text for text in named]
    return replace(options, packages=packages if pin in packages else [*packages, pin])


# --- the answer ---------------------------------------------------------------------------------------


def render(options: Options, bisection: Bisection) -> int:
    """Print the answer for each check. Return the exit code.

    Args:
        options: of the command.
        bisection: the search.
    """
    cost = bisection.cost
    saved = max(0, cost.alone - len(cost.visited))
    if options.json:
        spent = {
            "environments": cost.visited,
            "installed": cost.installed,
            "cells": cost.cells,
            "one_by_one": cost.alone,
            "saved": saved,
        }
        print_json({"answers": [answer_of(history, options) for history in bisection.histories], "cost": spent})
    else:
        text = "\n\n".join(text_of(history, options) for history in bisection.histories)
        for line in text.splitlines():
            # Commands and addresses are there to be copied.
            print(line if "reproduce: " in line else fit(line))
    if cost.visited:
        say(
            f"{number_of(cost.cells, 'cell')} in {number_of(len(cost.visited), 'environment')}, {cost.installed} of "
            f"them installed now; the checks one by one would have asked for {number_of(cost.alone, 'environment')}: "
            f"{saved} saved ({COUNTED})"
        )
    elif not options.offline:
        say("answered by the journal, nothing was run")
    is_expected = all(history.is_decided and not history.surprises for history in bisection.histories)
    return OK if is_expected else UNEXPECTED


def answer_of(history: BisectedCheck, options: Options) -> dict[str, Any]:
    """Return the answer for machines.

    Args:
        history: of a check.
        options: of the command, for the commands that reproduce it.
    """
    cell, search = history.cell, history.search
    return {
        "case": cell.case.id,
        "check": cell.check.name,
        "device": cell.device,
        "backend": cell.backend,
        "extras": list(apart_from(without_release(options, options.backend).key.extras, history.axis)[1]),
        "decided": history.is_decided,
        "summary": history.summary,
        "releases": {release: str(search.states[release]) for release in search.versions if release in search.states},
        "cannot_say": history.unusable,
        "surprises": history.surprises,
        "transitions": [_transition(transition, history, options) for transition in search.transitions()],
    }


def _transition(transition: Transition[str], history: BisectedCheck, options: Options) -> dict[str, Any]:
    gits = {side: history.findings[side].record["torch_git"] for side in (transition.before, transition.after)}
    documented, fits = _documented(transition, history)
    return {
        "kind": "introduced" if transition.introduced else "fixed",
        "before": transition.before,
        "after": transition.after,
        "before_git": gits[transition.before],
        "after_git": gits[transition.after],
        "before_seen": history.findings[transition.before].summary,
        "after_seen": history.findings[transition.after].summary,
        "compare": COMPARE.format(*gits.values()) if all(gits.values()) and history.axis == "torch" else "",
        "cannot_say": list(transition.between),
        "not_run": list(transition.unprobed),
        "confidence": history.confidence(transition),
        "sure": history.is_sure(transition),
        "documented_fix": documented,
        "fits_header": fits,
        "isolated": _isolated(transition, history.cell, options) if history.axis == "torch" else "",
        "reproduce": [_reproduce(history, side, options) for side in (transition.before, transition.after)],
    }


def _documented(transition: Transition[str], history: BisectedCheck) -> tuple[str, bool]:
    """Return the fix that the header names, and whether the header has the same transition."""
    expected: Mapping[str, bool] = history.search.expected
    fits = (
        expected.get(transition.after) is transition.introduced
        and expected.get(transition.before) is not transition.introduced
    )
    return ("" if transition.introduced else history.cell.case.fix), fits


def _isolated(transition: Transition[str], cell: Cell, options: Options) -> str:
    """Return what `isolate` found out about a transition, as half a sentence; empty if nothing."""
    direction = "introduced" if transition.introduced else "fixed"
    for fix in fixes.of_case(options.results or results_folder(), cell.case.id):
        releases = {fix["bad"], fix["good"]}
        if (fix["check"], fix["direction"], releases) == (
            cell.check.name,
            direction,
            {transition.before, transition.after},
        ):
            return fixes.sentence(fix)
    return ""


def _reproduce(history: BisectedCheck, side: str, options: Options) -> str:
    target = history.targets[side]
    if history.axis != "torch":
        options = _with_version(options, history.axis, side)
    if not isinstance(target, Target):
        raise TypeError(f"{history.axis} {side} has no environment, and said nothing")
    return shlex.join(rerun_command(options, options.cases, history.cell, target.key.torch, target.key.extras))


def text_of(history: BisectedCheck, options: Options) -> str:
    """Return the answer for people, fit to paste into an issue.

    Args:
        history: of a check.
        options: of the command, for the commands that reproduce it.
    """
    cell = history.cell
    lines = [f"{cell.key}  {cell.case.title}", f"  {cell.case.issue}"]
    transitions = history.search.transitions()
    if not transitions:
        lines.append(f"  {history.summary}")
    for transition in transitions:
        lines += [f"  {line}" for line in _transition_lines(transition, history, options)]
    if surprises := history.surprises:
        told = ", ".join(f"{release} ({_short(summary)})" for release, summary in surprises.items())
        lines.append(f"  the case file expects otherwise in {told}: see {cell.case.path}")
    # Whole stretches often have the same reason.
    for reason, group in groupby(history.unusable.items(), key=lambda item: item[1]):
        releases = ", ".join(release for release, _ in group)
        lines.append(f"  cannot say: {releases} ({_short(reason)})")
    return "\n".join(lines)


def _transition_lines(transition: Transition[str], history: BisectedCheck, options: Options) -> list[str]:
    answer = _transition(transition, history, options)
    lines = [history.sentence(transition)]
    for side in ("before", "after"):
        git = f" ({answer[f'{side}_git'][:12]})" if answer[f"{side}_git"] and history.axis == "torch" else ""
        state = history.search.states[answer[side]]
        lines.append(f"  {history.axis} {answer[side]}{git}: {state}, {_short(answer[f'{side}_seen'])}")
    if answer["confidence"] is not None:
        enough = "" if answer["sure"] else f", less than the {CONFIDENCE:.0%} it takes"
        lines.append(f"  flaky; confidence that the clean side is clean: {answer['confidence']:.1%}{enough}")
    if answer["cannot_say"]:
        lines.append(f"  between them cannot say: {', '.join(answer['cannot_say'])}")
    if answer["compare"]:
        lines.append(f"  source: {answer['compare']}")
    agreement = "fits what the case file says" if answer["fits_header"] else "does not fit what the case file says"
    if answer["documented_fix"]:
        lines.append(f"  documented fix: {answer['documented_fix']} ({agreement})")
    else:
        lines.append(f"  {'no fix is documented; this' if not transition.introduced else 'this'} {agreement}")
    if answer["isolated"]:
        direction = " --introduced" if transition.introduced else ""
        lines.append(f"  {answer['kind']} {answer['isolated']}: `pt2bugs isolate {history.cell.case.id}{direction}`")
    lines += [f"  reproduce: {command}" for command in answer["reproduce"]]
    return lines


def _short(text: str) -> str:
    first = (text.splitlines() or ["no answer"])[0]
    return shortened(first, 200)
