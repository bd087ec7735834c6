"""What the harness adds to a cell, against a bare fork, exit and wait of the same parent.

The cells are checks that do nothing. Before each, the zygote forks a child that only exits: both are measured in
turn, by a parent of the same size on the same machine at the same time.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from measure import ROOT, row, run, start
from pt2bugs.run.runner import HUGE_PAGES

CASE = '''\
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch"]
# [tool.pt2bugs]
# issue = "https://example.org/issues/NUMBER"
# title = "Nothing"
# component = "inductor"
# symptom = "crash"
# compiles = false
# ///
"""Nothing."""


def test_nothing():
    pass
'''


def write_cases(folder: Path, count: int) -> Path:
    """A folder of case files, each with one check that does nothing, on Inductor."""
    cases = folder / "cases"
    cases.mkdir()
    for number in range(count):
        (cases / f"nothing_{number:04}.py").write_text(CASE.replace("NUMBER", str(number)))
    return cases


def main() -> None:
    options = start(__doc__, ("--cells", int, 200, "cells"))
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        cases = write_cases(Path(name), options.cells)
        journal, forks = Path(name, "journal.jsonl"), Path(name, "forks")
        # As `pt2bugs run` starts its processes. Huge pages make forks cheaper, the bare ones too.
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider"]
        command += ["-p", "pytest_timeout", "-p", "harness.plugin", "-p", "bare_fork"]
        env = {
            "PT2BUGS_BARE_FORKS": str(forks),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT)]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "GLIBC_TUNABLES": HUGE_PAGES,
        }
        run([*command, str(cases), "--journal", str(journal)], env=env)
        records = [json.loads(line) for line in journal.read_bytes().splitlines()]
        # The canary had a fork too, before the first cell.
        bare = [float(text) for text in forks.read_text().split()][-len(records) :]
    assert [record["outcome"] for record in records] == ["pass"] * options.cells
    starts = [datetime.fromisoformat(record["started"].replace("Z", "+00:00")).timestamp() for record in records]
    spans = zip(starts, starts[1:], bare, records, strict=False)
    # From one start to the next, less the bare fork in between and the body.
    cells = [after - before - fork - record["duration_s"] for before, after, fork, record in spans]
    ours, theirs = statistics.median(cells), statistics.median(bare)
    # Of neighbours: the machine's own ups and downs last longer than a pair.
    ratio = statistics.median(cell / fork for cell, fork in zip(cells, bare, strict=False))
    row(
        f"overhead of a cell, median of {options.cells}",
        f"{1000 * ours:.1f} ms",
        f"fork, exit, wait of the same parent: {1000 * theirs:.1f} ms",
        f"1 / {ratio:.2f}",
        "1 / 1.5",
    )


if __name__ == "__main__":
    main()
