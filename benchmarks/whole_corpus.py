"""This suite on the installed torch, against each case as a program of its own, and pytest-forked on the same files.

All three run the same sample of cases, spread over the corpus. A program calls the checks of one file in turn and
stops at the first that fails, as a reader of the issue would see it; pytest-forked has the parent import torch once,
by the first file, and forks a child per check. Programs cost nothing but their own time, so that with `--programs N`
a part of the sample, spread over it as evenly, stands for all of them: their time is scaled up, and the row says so.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from measure import ROOT, Cost, log, row, run, start
from pt2bugs.case.corpus import Selection, load_cases
from pt2bugs.case.expectation import is_available
from pt2bugs.case.model import Case
from pt2bugs.case.versions import public

PROGRAM = """
import importlib.util, inspect, sys
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["program"] = module
spec.loader.exec_module(module)
values = {"device": "cpu", "backend": sys.argv[2]}
for name in sys.argv[3:]:
    check = getattr(module, name)
    check(**{key: values[key] for key in inspect.signature(check).parameters})
"""

CONFTEST = """
import pytest

@pytest.fixture
def device():
    return "cpu"

@pytest.fixture
def backend():
    return "inductor"
"""

ANY_STATUS = range(-64, 256)
"""A program with a bug in it may leave as it likes."""


def candidates() -> list[Case]:
    """Cases for this torch and the CPU, those of a component together. A hang would cost all three its timeout alike,
    and the programs more: none of those."""
    from importlib import metadata

    torch = public(metadata.version("torch"))
    cases = [
        case
        for case in load_cases([ROOT / "cases"])
        if "cpu" in case.devices and not case.extra and not case.env and case.symptom != "hang"
        if is_available(case, torch)
    ]
    return sorted(cases, key=lambda case: (case.component, case.id))


def spread(cases: list[Case], count: int) -> list[Case]:
    """So many of them, at equal distances."""
    count = min(count, len(cases))
    return [cases[number * len(cases) // count] for number in range(count)]


def programs(cases: list[Case], folder: Path) -> dict[str, Cost]:
    """By id. Each case as its own program, with a new Inductor cache: nobody has seen the bug before."""
    costs = {}
    for number, case in enumerate(cases):
        names = [check.name for check in case.checks]
        command = [sys.executable, "-c", PROGRAM, str(case.path), case.backends[0], *names]
        costs[case.id] = run(command, ANY_STATUS, _caches(folder / f"program-{number}"))
        log(f"{case.id} as a program: {costs[case.id].wall_s:.1f} s")
    return costs


def forked(cases: list[Case], folder: Path) -> Cost:
    """pytest-forked over copies of the files, which pytest takes for ordinary test modules."""
    copies = folder / "forked"
    copies.mkdir()
    (copies / "conftest.py").write_text(CONFTEST)
    for case in cases:
        (copies / f"test_{case.id}.py").write_bytes(case.path.read_bytes())
    command = [sys.executable, "-m", "pytest", "-q", "--forked", "-p", "no:cacheprovider", "-p", "no:pt2bugs"]
    return run([*command, "-c", os.devnull, str(copies)], ANY_STATUS, _caches(folder / "forked-cache"))


def suite(cases: list[Case], folder: Path, jobs: int) -> Cost:
    """`pt2bugs run` on the torch installed here."""
    command = [sys.executable, "-m", "pt2bugs", "run", *(case.id for case in cases)]
    return run([*command, "--results", str(folder / f"results-{jobs}"), "--jobs", str(jobs)], (0, 1))


def _caches(folder: Path) -> dict[str, str]:
    folder.mkdir()
    names = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TMPDIR")
    return dict.fromkeys(names, str(folder))


def main() -> None:
    options = start(
        __doc__,
        ("--sample", int, 12, "cases at most"),
        ("--only", str, "", "patterns of case ids, with spaces between: of these alone"),
        ("--programs", int, 0, "so many of them as programs, for all; and the suite with --jobs alone"),
        ("--part", str, "", "patterns of case ids, with spaces between: a further row for these"),
        ("--against", str, "programs forked", "alternatives"),
        ("--jobs", int, len(os.sched_getaffinity(0)), "jobs of the second row"),
    )
    only = Selection(tuple(options.only.split()))
    cases = spread([case for case in candidates() if only.matches(case)], options.sample)
    alone_cases = spread(cases, options.programs or len(cases))
    part = [case for case in cases if Selection(tuple(options.part.split())).matches(case)] if options.part else []
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        folder = Path(name)
        log("the suite, once to have the environment warm")
        suite(cases[:1], folder / "warm", 1)
        all_jobs = (options.jobs,) if options.programs else (1, options.jobs)
        seconds = {jobs: suite(cases, folder, jobs).wall_s for jobs in all_jobs}
        of_part = {jobs: suite(part, folder / "part", jobs) for jobs in all_jobs if part}
        if "forked" in options.against.split() and 1 in seconds:
            _compare(cases, 1, seconds[1], "pytest-forked, one process", forked(cases, folder).wall_s)
        if "programs" in options.against.split():
            label = "each file as a program"
            alone = programs([*alone_cases, *(case for case in part if case not in alone_cases)], folder)
            total = _total(alone, alone_cases) * len(cases) / len(alone_cases)
            whole = label + (f", by {len(alone_cases)} of them" if options.programs else "")
            for jobs, ours_s in seconds.items():
                _compare(cases, jobs, ours_s, whole, total, "20 for the whole corpus" if jobs == options.jobs else "")
            for jobs, cost in of_part.items():
                # With the jobs that `pt2bugs run` takes by itself.
                aim = "8 for the founding set" if jobs == options.jobs else ""
                _compare(part, jobs, cost.wall_s, label, _total(alone, part), aim)


def _total(costs: dict[str, Cost], cases: list[Case]) -> float:
    return sum(costs[case.id].wall_s for case in cases)


def _compare(cases: list[Case], jobs: int, ours_s: float, alternative: str, theirs_s: float, aim: str = "") -> None:
    checks = sum(len(case.checks) for case in cases)
    what = f"{len(cases)} cases, {checks} checks, {jobs} job{'s' if jobs > 1 else ''}"
    row(what, f"{ours_s:.0f} s", f"{alternative}: {theirs_s:.0f} s", f"{theirs_s / ours_s:.1f}", aim)


if __name__ == "__main__":
    main()
