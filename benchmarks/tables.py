"""Time and memory of `pt2bugs export` and `pt2bugs matrix` over a large journal."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from generated import releases, write_corpus, write_journal
from measure import log, row, run, start

PARSE_ONLY = """
import json, sys
from pathlib import Path
for path in Path(sys.argv[1]).glob("*.jsonl"):
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)
"""
"""The alternative: nothing but the standard library's JSON parser over every line."""


def main() -> None:
    options = start(
        __doc__,
        ("--lines", int, 1_000_000, "journal lines"),
        ("--cases", int, 2_500, "cases of the generated corpus"),
        ("--releases", int, 24, "torch releases"),
        ("--repeat", int, 3, "runs of each, in turn"),
    )
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        corpus, results = Path(name, "cases"), Path(name, "results")
        log("writing the journal")
        write_corpus(corpus, options.cases)
        cells = write_journal(results, corpus, options.lines, releases(options.releases))
        parse = (sys.executable, "-c", PARSE_ONLY, str(results / "journal"))
        for command in (
            ("export", "--format", "csv"),
            ("export", "--format", "cells"),
            ("export", "--format", "json"),
            ("matrix",),
        ):
            log(" ".join(command))
            where = ("--cases", str(corpus), "--results", str(results))
            # In turn: a machine that others use is not equally fast all the time.
            pairs = [
                (run(parse), run([sys.executable, "-m", "pt2bugs", *command, *where])) for _ in range(options.repeat)
            ]
            alone, cost = (min(costs, key=lambda cost: cost.cpu_s) for costs in zip(*pairs, strict=True))
            row(
                f"`{' '.join(command)}`, {options.lines:,} lines, {cells:,} cells",
                f"{cost.cpu_s:.1f} s of processor, {cost.peak_mib:.0f} MiB",
                f"`json.loads` of every line: {alone.cpu_s:.1f} s",
                f"{alone.cpu_s / cost.cpu_s:.2f}",
                "1, 1 GB",
            )


if __name__ == "__main__":
    main()
