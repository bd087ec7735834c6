"""Two jobs against one: `pt2bugs run` over the same cases in the same warm environment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from measure import log, row, start
from whole_corpus import candidates, spread, suite


def main() -> None:
    options = start(__doc__, ("--sample", int, 1_000, "cases at most"), ("--jobs", int, 2, "jobs"))
    cases = spread(candidates(), options.sample)
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        folder = Path(name)
        log("once to have the environment warm")
        suite(cases[:1], folder / "warm", 1)
        alone, many = suite(cases, folder, 1), suite(cases, folder, options.jobs)
    row(
        f"{len(cases)} cases, {options.jobs} jobs on {len(os.sched_getaffinity(0))} cores",
        f"{many.wall_s:.0f} s",
        f"1 job: {alone.wall_s:.0f} s",
        f"{alone.wall_s / many.wall_s:.2f}",
        "1.9",
    )


if __name__ == "__main__":
    main()
