"""Random kills over every kind of process of a run, and whether anything comes of it.

A matrix of three releases of a fake torch is run again and again, from an empty folder on, while random processes of it
get SIGKILL: the run itself, the installs, and of an engine the guardian, process 1 of its namespace, the zygote, the
supervisors and the cells. When a round has had its kills, the matrix is run to its end. Then its table must be that of
a matrix which nobody fired at, every cell must have been measured once, no line that had been written may be gone, and
no process, folder or half an environment may be left.

It prints a row for each kind of process. The exit status is 1 if anything was not as it must be.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from measure import ROOT, log
from pt2bugs.engine.warm_cache import cpu_name

sys.path.insert(0, str(ROOT / "tests"))

from fake_torch import build_wheels, serve_index
from fire import RELEASES, Gun, Matrix, under_fire


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many (default: %(default)s)")
    parser.add_argument("--round", type=int, default=100, help="kills for each matrix (default: %(default)s)")
    parser.add_argument("--copies", type=int, default=3, help="case files of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one kills in another order (default: %(default)s)")
    options = parser.parse_args()
    log(f"{cpu_name()}; Python {sys.version.split()[0]}")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-")))
        wheels = build_wheels(folder / "wheels", RELEASES)
        (folder / "index").mkdir()
        index = stack.enter_context(serve_index(wheels, folder / "index"))
        began = time.monotonic()
        undisturbed = Matrix(folder / "undisturbed", index, options.copies)
        undisturbed.finish()
        log(f"undisturbed: {undisturbed.size} cells in {time.monotonic() - began:.0f} s")
        gun = Gun(options.seed)
        problems: list[str] = []
        rounds = 0
        while gun.hits.total() < options.kills:
            rounds += 1
            disturbed = Matrix(folder / f"round-{rounds}", index, options.copies)
            under_fire(disturbed, gun, min(options.round, options.kills - gun.hits.total()), log)
            before = disturbed.records()
            disturbed.finish()
            differences = disturbed.differences(undisturbed, before)
            seconds = time.monotonic() - began
            log(f"round {rounds}: {gun.hits.total()} kills, {len(differences)} differences, {seconds:.0f} s")
            for problem in differences:
                log(f"  {problem}")
            problems += differences
        _print_table(gun.hits, rounds, undisturbed.size, len(problems))
    sys.exit(1 if problems else 0)


def _print_table(hits: Counter[str], rounds: int, size: int, problems: int) -> None:
    print("| process | kills |\n| --- | --- |")
    for role in Gun.WEIGHTS:
        print(f"| {role} | {hits[role]} |")
    print(f"| all, over {rounds} matrices of {size} cells | {hits.total()} |")
    print(f"| differences from an undisturbed run | {problems} |")


if __name__ == "__main__":
    main()
