"""`pt2bugs bisect`: where each check was broken and fixed."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pt2bugs.backends.reach import reproduction
from pt2bugs.bisect.bisection import Bisection, CheckHistory, window
from pt2bugs.bisect.evidence import CONFIDENCE, Evidence
from pt2bugs.bisect.search import State, Transition
from pt2bugs.case.cells import Cell
from pt2bugs.case.words import Verdict
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import cut, print_json, say, warn
from pt2bugs.commands.machines import machines
from pt2bugs.commands.options import (
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    add_results,
    add_run,
    add_selection,
)
from pt2bugs.commands.selection import open_results, select_cases, select_cells
from pt2bugs.commands.targets import one_shape, open_store, package_sources, run_options, targets_for, tell_newest
from pt2bugs.envs.environment import Key
from pt2bugs.envs.extras import EXTRAS
from pt2bugs.envs.releases import Release, ReleaseError, known_releases, minors, parse_request, select_releases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.run.progress import progress_of_cells
from pt2bugs.run.schedule import Target, belongs

COMPARE = "https://github.com/pytorch/pytorch/compare/{}...{}"


EXAMPLES = (
    ("pt2bugs bisect pytorch_172213", "the releases between which it was broken and fixed, and the commits"),
    ("pt2bugs bisect --component inductor --offline", "of every Inductor case, by what the journal has"),
)


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, ResultsOptions, RunningOptions):
    """What the command takes."""

    torch: Sequence[str] = ()
    patches: bool = False
    candidates: bool = False
    thorough: bool = False
    offline: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    add_run(parser)
    parser.add_argument(
        "--torch",
        action="append",
        default=[],
        metavar="RANGE",
        help='the releases: ">=2.4,<2.10", minors (the default), all, nightly:2026-01-01..2026-03-01; '
        "of a range the newest patch of each minor release takes part",
    )
    parser.add_argument("--patches", action="store_true", help="every patch release of the range takes part")
    parser.add_argument("--candidates", action="store_true", help="release candidates take part, too")
    parser.add_argument("--thorough", action="store_true", help="run every release of the range")
    parser.add_argument("--offline", action="store_true", help="answer from the journal alone, run nothing")
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    shape = one_shape(options, options.backend)
    parse_request(options.torch)
    cells = [cell for cell in select_cells(options, cases) if belongs(cell, shape)]
    if not cells:
        wanted = sorted({case.extra for case in cases if case.extra})
        with_extra = f"; they need --extra {' or '.join(wanted)}" if wanted and not shape.key.extras else ""
        raise NothingSelected(f"nothing selected: the selected cases have no check here{with_extra}")
    results = open_results(options, options.backend)
    evidence = Evidence.load(results, corpus, warn, options.python)
    known = _known(options, evidence, cells)
    tell_newest(options.torch, known)
    releases = range_of(options, known)
    bisection = Bisection(cells, _targets(options, releases, evidence), results, evidence, thorough=options.thorough)
    try:
        if not options.offline:
            store = open_store(options)
            with machines(options, evidence.newest.lines()) as new_runner:
                bisection.run(store, run_options(options), progress_of_cells, say, new_runner)
            if bisection.cost.visited:
                results.derive(evidence.newest)
    except KeyboardInterrupt:
        _print(bisection, options)
        raise
    _print(bisection, options)
    return OK if all(_is_expected(history) for history in bisection.histories) else UNEXPECTED


# --- the range ----------------------------------------------------------------------------------------


def _known(options: Options, evidence: Evidence, cells: Sequence[Cell]) -> list[Release]:
    if options.offline:
        return [Release(version, ()) for version in evidence.releases(cells)]
    return known_releases(package_sources(options), warn)


def range_of(options: Options, releases: Sequence[Release]) -> list[Release]:
    """The releases that take part, oldest first.

    Raises:
        ReleaseError: a value of ``--torch`` matches nothing.
        InputError: fewer than two releases: nothing can change.
    """
    chosen: set[Release] = set()
    specs = options.torch or ["all" if options.patches else "minors"]
    for spec, request in zip(specs, parse_request(specs), strict=True):
        found = _matching(spec, request, releases, candidates=options.candidates)
        if spec == "minors" or (isinstance(request, SpecifierSet) and not options.patches):
            found = [*minors(found), *(release for release in found if release.version.is_prerelease)]
        chosen.update(found)
    if len(chosen) < 2:
        asked = " ".join(options.torch) or "minors"
        only = next(iter(chosen))
        hint = "" if options.patches else "; --patches takes every patch release"
        raise InputError(f"--torch {asked}: only torch {only} is in this range, a bisection needs two{hint}")
    return sorted(chosen)


def _matching(spec: str, request: object, releases: Sequence[Release], *, candidates: bool) -> list[Release]:
    """What a word means, release candidates included where asked for."""
    found = select_releases([spec if spec != "minors" else "all"], releases)
    if not candidates or isinstance(request, Version):
        return found
    pool = [release for release in releases if release.version.pre is not None and release.version.dev is None]
    if isinstance(request, SpecifierSet):
        pool = [release for release in pool if request.contains(release.version, prereleases=True)]
    elif not isinstance(request, str):
        return found
    return [*found, *pool]


def _targets(options: Options, releases: Sequence[Release], evidence: Evidence) -> dict[str, Target | str]:
    """The environment of each release, or why there is none."""
    targets: dict[str, Target | str] = {}
    shape = one_shape(options, options.backend)
    extras = shape.key.extras
    for release in releases:
        unmade = [name for name in extras if name in EXTRAS and EXTRAS[name].requirements_for(str(release)) is None]
        if options.offline:
            key = Key(str(release), options.python or evidence.python_of(release), extras)
            targets[str(release)] = replace(shape, key=key)
        elif unmade:
            targets[str(release)] = f"the extra {unmade[0]} is not made for it"
        else:
            try:
                targets[str(release)] = targets_for(options, [release], options.backend)[0]
            except InputError as error:
                targets[str(release)] = str(error)
    if all(isinstance(target, str) for target in targets.values()):
        newest = str(releases[-1])
        raise ReleaseError(f"no release of the range can be used; torch {newest}: {targets[newest]}")
    return targets


# --- the answer ---------------------------------------------------------------------------------------


def _is_expected(history: CheckHistory) -> bool:
    return history.is_decided and not _surprises(history)


def _surprises(history: CheckHistory) -> dict[str, str]:
    """The releases that the header is wrong about, each with what was seen."""
    return {
        release: finding.summary
        for release in history.search.versions
        if (finding := history.findings.get(release)) is not None
        and finding.record["verdict"] in (Verdict.FAIL, Verdict.XPASS)
    }


def _print(bisection: Bisection, options: Options) -> None:
    cost = bisection.cost
    if options.json:
        answers = [answer_of(history, bisection, options) for history in bisection.histories]
        spent = {
            "environments": cost.visited,
            "installed": cost.installed,
            "cells": cost.cells,
            "one_by_one": cost.alone,
            "saved": max(0, cost.alone - len(cost.visited)),
        }
        print_json({"answers": answers, "cost": spent})
    else:
        text = "\n\n".join(text_of(history, bisection, options) for history in bisection.histories)
        for line in text.splitlines():
            # Commands and addresses are there to be copied.
            print(line if "reproduce: " in line or "://" in line else cut(line))
    if cost.visited:
        say(
            f"{cost.cells} cells in {len(cost.visited)} environments, {cost.installed} of them installed now; "
            f"the checks one by one would have asked for {cost.alone} environments: "
            f"{max(0, cost.alone - len(cost.visited))} saved"
        )
    elif not options.offline:
        say("answered by the journal, nothing was run")


def answer_of(history: CheckHistory, bisection: Bisection, options: Options) -> dict[str, Any]:
    """The answer for machines."""
    cell, search = history.cell, history.search
    return {
        "case": cell.case.id,
        "check": cell.check.name,
        "device": cell.device,
        "backend": cell.backend,
        "extras": list(one_shape(options, options.backend).key.extras),
        "decided": history.is_decided,
        "summary": _summary(history),
        "releases": {release: str(search.states[release]) for release in search.versions if release in search.states},
        "cannot_say": history.unusable,
        "surprises": _surprises(history),
        "transitions": [_transition(one, history, options) for one in search.transitions()],
    }


def _transition(one: Transition[str], history: CheckHistory, options: Options) -> dict[str, Any]:
    gits = {side: history.findings[side].record["torch_git"] for side in (one.before, one.after)}
    documented, fits = _documented(one, history)
    return {
        "kind": "introduced" if one.introduced else "fixed",
        "before": one.before,
        "after": one.after,
        "before_git": gits[one.before],
        "after_git": gits[one.after],
        "before_seen": history.findings[one.before].summary,
        "after_seen": history.findings[one.after].summary,
        "compare": COMPARE.format(gits[one.before], gits[one.after]) if all(gits.values()) else "",
        "cannot_say": list(one.between),
        "not_run": list(one.unprobed),
        "confidence": history.confidence(one),
        "sure": history.is_sure(one),
        "documented_fix": documented,
        "fits_header": fits,
        "reproduce": [_reproduce(history.cell, side, options) for side in (one.before, one.after)],
    }


def _documented(one: Transition[str], history: CheckHistory) -> tuple[str, bool]:
    """The fix that the header names, and whether the header has the same transition."""
    expected: Mapping[str, bool] = history.search.expected
    fits = expected.get(one.after) is one.introduced and expected.get(one.before) is not one.introduced
    return ("" if one.introduced else history.cell.case.fix), fits


def _reproduce(cell: Cell, release: str, options: Options) -> str:
    extras = one_shape(options, options.backend).key.extras
    command = reproduction(cell.key, release, extras, options.overrides)
    for option, values in (
        ("--index", [options.index] if options.index else []),
        ("--find-links", options.find_links),
        ("--python", [options.python] if options.python else []),
        ("--cases", [str(path) for path in options.cases]),
    ):
        command += [argument for value in values for argument in (option, value)]
    return shlex.join([*command, "--rerun"])


def _summary(history: CheckHistory) -> str:
    """The answer in one sentence."""
    search = history.search
    decided, transitions = search.decided(), search.transitions()
    if not decided:
        return "cannot decide: no release of the range says anything"
    if transitions:
        return "; ".join(_sentence(one, history) for one in transitions)
    if len(decided) == 1:
        return f"cannot decide: only torch {decided[0]} says something, {search.states[decided[0]]}"
    if history.is_missed:
        return "cannot decide: the check is flaky, and its documented bug was never seen"
    span = f"from torch {decided[0]} to {decided[-1]}"
    unless = "" if len(decided) == len(search.versions) else f", in the {len(decided)} releases run"
    if search.states[decided[0]] is State.BUG:
        return f"always there {span}{unless}: neither introduced nor fixed in this range"
    return f"never there {span}{unless}"


def _sentence(one: Transition[str], history: CheckHistory) -> str:
    if one.unprobed:
        return f"{window(one)}, not narrowed further ({len(one.unprobed)} releases between not run)"
    if history.is_sure(one):
        return window(one)
    return f"cannot decide: perhaps {window(one)}"


def text_of(history: CheckHistory, bisection: Bisection, options: Options) -> str:
    """The answer for people, fit to paste into an issue."""
    cell = history.cell
    lines = [f"{cell.case.id}::{cell.name}  {cell.case.title}", f"  {cell.case.issue}"]
    transitions = history.search.transitions()
    if not transitions:
        lines.append(f"  {_summary(history)}")
    for one in transitions:
        lines += [f"  {line}" for line in _transition_lines(one, history, options)]
    if surprises := _surprises(history):
        told = ", ".join(f"{release} ({_short(summary)})" for release, summary in surprises.items())
        lines.append(f"  the case file expects otherwise in {told}: see {cell.case.path}")
    # Whole stretches often have one reason.
    for reason, group in groupby(history.unusable.items(), key=lambda item: item[1]):
        releases = ", ".join(release for release, _ in group)
        lines.append(f"  cannot say: {releases} ({_short(reason)})")
    return "\n".join(lines)


def _transition_lines(one: Transition[str], history: CheckHistory, options: Options) -> list[str]:
    answer = _transition(one, history, options)
    lines = [_sentence(one, history)]
    for side in ("before", "after"):
        git = f" ({answer[f'{side}_git'][:12]})" if answer[f"{side}_git"] else ""
        state = history.search.states[answer[side]]
        lines.append(f"  torch {answer[side]}{git}: {state}, {_short(answer[f'{side}_seen'])}")
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
        lines.append(f"  {'no fix is documented; this' if not one.introduced else 'this'} {agreement}")
    lines += [f"  reproduce: {command}" for command in answer["reproduce"]]
    return lines


def _short(text: str) -> str:
    first = (text.splitlines() or ["no answer"])[0]
    return first if len(first) <= 160 else f"{first[:157]}..."
