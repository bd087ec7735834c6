"""Time and memory of what reads a journal of many releases, devices and backends.

`benchmarks/tables.py` asks for all lines of one device; here most lines are of what a command is not asked about.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from generated import releases, write_corpus, write_journal
from measure import log, row, run, start

DEVICES = ("cpu", "cuda")


def main() -> None:
    options = start(
        __doc__,
        ("--lines", int, 945_000, "journal lines"),
        ("--cases", int, 1_000, "cases of the generated corpus"),
        ("--releases", int, 60, "torch releases"),
        ("--backends", int, 11, "backends that no header names"),
        ("--folder", str, "", "where corpus and journal are, or are written to be used again"),
        ("--only", str, "", "the command to run"),
    )
    backends = [f"vendor{number}" for number in range(options.backends)]
    torch = releases(options.releases)
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as temporary:
        name = options.folder or temporary
        corpus, results = Path(name, "cases"), Path(name, "results")
        if not corpus.exists():
            log("writing the journal")
            write_corpus(corpus, options.cases)
            places = [*DEVICES, *(f"{DEVICES[0]}-{backend}" for backend in backends)]
            write_journal(results, corpus, options.lines, torch, places)
        files = [*results.glob("journal/*.jsonl"), *results.glob("backends/*/journal/*.jsonl")]
        lines = sum(file.read_bytes().count(b"\n") for file in files)
        size = sum(file.stat().st_size for file in files) / 1e6
        for command in (
            ("compare", torch[-2], torch[-1], "--offline"),
            ("backend", backends[0], "--offline"),
            ("backend", backends[0], "--offline", "--torch", torch[0]),
            ("matrix",),
            ("export", "--format", "csv"),
            ("export", "--format", "cells", "--backend", backends[0]),
            ("report", "-o", str(Path(temporary, "site"))),
        ):
            if options.only not in ("", command[0]):
                continue
            shown = " ".join(command).replace(temporary, "DIR")
            log(shown)
            where = ("--cases", str(corpus), "--results", str(results))
            # 1: a comparison in which something is broken, a backend with failures of its own.
            cost = run([sys.executable, "-m", "pt2bugs", *command, *where], accept=(0, 1))
            row(
                f"`{shown}`",
                f"{cost.cpu_s:.1f} s of processor, {cost.peak_mib:.0f} MiB",
                f"of {lines:,} lines in {len(files)} files, {size:.0f} MB",
                "",
                "1,000 MiB",
            )


if __name__ == "__main__":
    main()
