"""Random kills over every kind of process, and whether anything comes of it.

``matrix``: `pt2bugs run` over three releases of a fake torch, again and again from an empty folder on, while random
processes of it get SIGKILL: the run itself, the installs, and of an engine the guardian, process 1 of its namespace,
the zygote, the supervisors and the cells. When a round has had its kills, the matrix is run to its end. Then its table
must be that of a matrix which nobody fired at, every cell must have been measured once, no line that had been written
may be gone, and no process, folder or half an environment may be left. ``cluster``: the same, and the workers of
`--cluster local:2` are killed, too.

``isolate``, ``upgrade``: these commands are asked while their processes are killed. A run that is not killed itself
must answer as one that nobody fired at, or say what stopped it.

It prints a row for each kind of process. The exit status is 1 if anything was not as it must be.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, log
from pt2bugs.engine.warm_cache import cpu_name

sys.path.insert(0, str(ROOT / "tests"))

from fake_torch import build_wheels, serve_index
from fire import RELEASES, Gun, Matrix, Question, asked_under_fire, under_fire
from suite import case_text
from test_isolate_command import BUG, FIXED
from test_isolate_isolation import CHECK, OLD

WORKERS = {"worker": 20}
CHANGING = ("seconds", "trials", "compile_s", "peak_memory_mb", "speedup", "peak_rss_mb", "duration_s")
"""Keys of answers whose values are measured anew in each run."""
QUESTIONS = {
    "isolate": ["isolate", "row", "--from", "2.90.0", "--to", "2.91.0", "--json"],
    "upgrade": ["upgrade", "rows.py", "--from", "2.90.0", "--to", "2.91.0", "--json"],
}


def main() -> None:
    targets = {"matrix": _matrix, "cluster": _cluster, "isolate": _question, "upgrade": _question}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", choices=targets, default="matrix", help="(default: %(default)s)")
    parser.add_argument("--kills", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--round", type=int, default=100, help="kills for each matrix (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=3, help="case files of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one kills in another order (default: %(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=600, help="end sooner when they are over (default: %(default)s)"
    )
    options = parser.parse_args()
    options.ends = time.monotonic() + 60 * options.minutes
    log(f"{cpu_name()}; Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as folder:
        hits, what, problems = targets[options.target](options, Path(folder))
    print("| process | kills |\n| --- | --- |")
    for role in [*Gun.WEIGHTS, *WORKERS]:
        if hits[role]:
            print(f"| {role} | {hits[role]} |")
    print(f"| all, over {what} | {hits.total()} |")
    print(f"| differences from an undisturbed run | {len(problems)} |")
    sys.exit(1 if problems else 0)


Told = tuple[Counter[str], str, list[str]]
"""Kills by kind of process, what was run, and what was not as it must be."""


def _matrix(options: argparse.Namespace, folder: Path) -> Told:
    return _matrices(options, folder, lambda place, index: Matrix(place, index, options.copies), Gun(options.seed))


def _cluster(options: argparse.Namespace, folder: Path) -> Told:
    gun = Gun(options.seed, WORKERS)
    return _matrices(options, folder, lambda place, index: Matrix(place, index, options.copies, workers=2), gun)


def _matrices(options: argparse.Namespace, folder: Path, make: Callable[[Path, str], Matrix], gun: Gun) -> Told:
    problems: list[str] = []
    with contextlib.ExitStack() as stack:
        index = stack.enter_context(serve_index(build_wheels(folder / "wheels", RELEASES), folder / "index"))
        began = time.monotonic()
        undisturbed = Matrix(folder / "undisturbed", index, options.copies)
        undisturbed.finish()
        log(f"undisturbed: {undisturbed.size} cells in {time.monotonic() - began:.0f} s")
        rounds = 0
        while gun.hits.total() < options.kills and time.monotonic() < options.ends:
            rounds += 1
            disturbed = make(folder / f"round-{rounds}", index)
            under_fire(disturbed, gun, min(options.round, options.kills - gun.hits.total()), log)
            before = disturbed.records()
            disturbed.finish()
            differences = disturbed.differences(undisturbed, before)
            seconds = time.monotonic() - began
            log(f"round {rounds}: {gun.hits.total()} kills, {len(differences)} differences, {seconds:.0f} s")
            for problem in differences:
                log(f"  {problem}")
            problems += differences
    return gun.hits, f"{rounds} matrices of {undisturbed.size} cells", problems


def _question(options: argparse.Namespace, folder: Path) -> Told:
    files = {"2.90.0": {"lowering.py": OLD}, "2.91.0": {"lowering.py": FIXED}}
    gun = Gun(options.seed)
    (folder / "cases").mkdir()
    (folder / "cases" / "row.py").write_text(case_text(CHECK, bugs=[BUG]))
    (folder / "rows.py").write_text(f"{CHECK}\n\ntest_row('cpu', 'inductor')\n")
    wheels = build_wheels(folder / "wheels", {release: {} for release in files}, files)
    with serve_index(wheels, folder / "index") as index:
        question = Question(folder, [*QUESTIONS[options.target], "--index", index], CHANGING)
        expected = question.answer(question.start())
        log(f"undisturbed: {json.dumps(expected)}")
        answers = asked_under_fire(question, expected, gun, options.kills, log, options.ends)
        problems = [f"{answers['another']} answers differ"] if answers["another"] else []
        if question.answer(question.start()) != expected:
            problems.append("what it answers when the fire has ended differs")
        problems += question.leftovers()
    for problem in problems:
        log(f"  {problem}")
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(answers.items()))
    return gun.hits, f"{answers.total()} answers ({told})", problems


if __name__ == "__main__":
    main()
