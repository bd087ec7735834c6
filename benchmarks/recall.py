"""The recall of a fuzzer or checker, measured against the corpus: which documented bugs, and how often the same one.

python benchmarks/recall.py --torch 2.13.0 --finds DIR                                what lies there already
python benchmarks/recall.py --torch 2.13.0 --finds DIR --minutes 60 -- COMMAND ...    what the command writes there

A find is a file below DIR whose text has a failure of torch: a traceback, a log. NNSmith, from its repository, as its
release on the package index knows TorchScript alone, makes DIR itself:

    nnsmith.fuzz fuzz.time=1h fuzz.root=DIR model.type=torch backend.type=pt2

PyTorch's own fuzzer is in its repository, not in its wheel: `tools/experimental/torchfuzz/fuzzer.py`; what it prints of
each seed goes into a file of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT
from pt2bugs.case.corpus import corpus_roots
from pt2bugs.isolate import fixes
from pt2bugs.match.known import KnownBugs, Recognized
from pt2bugs.results.folder import open_results

MAX_BYTES = 4 << 20


@dataclass(frozen=True)
class Find:
    """A failure that a file has, with what it is."""

    path: Path
    recognized: Recognized

    @property
    def failure(self) -> tuple[str, str, str]:
        """Type, message without numbers and quoted names, innermost frame: what duplicates share."""
        chain = self.recognized.traceback.chain
        raised = chain[-1] if chain else None
        if raised is None:
            return self.recognized.traceback.signal, "", ""
        message = next((line.strip() for line in raised.message.splitlines() if line.strip()), "")
        places = (re.sub(r":\d+ ", " ", frame.place) for frame in raised.frames if frame.place)
        return raised.type, re.sub(r"0x[0-9a-f]+|\d+|'[^']*'", "N", message)[:200], next(places, "")

    @property
    def case(self) -> str:
        """The bug that it is known to be; empty if it is none."""
        return next((match.case.id for match in self.recognized.matches if match.is_known), "")


def finds_in(folder: Path, known: KnownBugs, torch: str) -> Iterator[Find]:
    """Yield the failures of all files below a folder, one of each file: what ended the program."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size <= MAX_BYTES:
            recognized = known.recognize(path.read_bytes().decode("utf-8", "replace"), torch)
            if recognized:
                yield Find(path, recognized[-1])


def named_by_units(finds: Sequence[Find], results: Path) -> Counter[str]:
    """Count by case the finds that pass through a function which an isolation names."""
    named: Counter[str] = Counter()
    for isolation in fixes.load(results):
        places = {(f"torch/{unit['file']}", unit["qualname"].rpartition(".")[2]) for unit in isolation["units"]}
        for find in finds:
            frames = (re.match(r"(\S+):\d+ (.+)", frame.place) for frame in find.recognized.traceback.frames)
            if places & {(frame[1], frame[2].rpartition(".")[2]) for frame in frames if frame}:
                named[isolation["case"]] += 1
    return named


def report(finds: Sequence[Find], known: KnownBugs, torch: str, results: Path) -> dict[str, object]:
    """Return how many finds there are, how many distinct, which bugs they are, of how many that the release has."""
    distinct = Counter(find.failure for find in finds)
    cases = Counter(find.case for find in finds if find.case)
    there = [bug.case.id for bug in known.bugs.values() if torch in known.life(bug.case).open_in]
    return {
        "torch": torch,
        "finds": len(finds),
        "distinct": len(distinct),
        "duplicates": len(finds) - len(distinct),
        "known": dict(cases.most_common()),
        "not_known": sum(not find.case for find in finds),
        "through_isolated_units": dict(named_by_units(finds, results).most_common()),
        "recall": [len(cases.keys() & set(there)), len(there)],
        "most_frequent": [[count, *failure] for failure, count in distinct.most_common(5)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", required=True, help="the release that is tested")
    parser.add_argument("--finds", type=Path, required=True, help="folder of its finds")
    parser.add_argument("--minutes", type=float, default=60, help="for the command (default: 60)")
    parser.add_argument("command", nargs="*", help="what writes finds there")
    options = parser.parse_args()
    began = time.monotonic()
    if options.command:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(options.command, timeout=60 * options.minutes, check=False)
    known = KnownBugs.load(open_results(ROOT / "results"), corpus_roots([ROOT / "cases"]), print)
    finds = list(finds_in(options.finds, known, options.torch))
    answer = report(finds, known, options.torch, ROOT / "results")
    print(json.dumps({**answer, "minutes": round((time.monotonic() - began) / 60, 1)}, indent=1))


if __name__ == "__main__":
    main()
