"""Fuzzing of all text that comes from outside: headers, journals, reports of cells, texts for `match` and for `triage`.

    python benchmarks/fuzz.py header journal report match triage --minutes 15

Each target is tried for so long, one after the other. It prints a row for each: what was tried, and how many different
failures there were; each failure is printed with the smallest text that shows it, to be fixed and to become an explicit
example of `tests/test_fuzz.py`. The exit status is 1 if there was any. What is tried and must hold is in
`tests/fuzzing.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from measure import ROOT, log

sys.path.insert(0, str(ROOT / "tests"))

from fuzzing import TARGETS

ROUND = 500
"""Texts before the clock is looked at again, and the seed is the next."""


class Fuzzer:
    """One target: how many texts were tried, and the places of all failures so far."""

    def __init__(self, name: str) -> None:
        self.name, self.tried = name, 0
        self.failures: dict[str, str] = {}
        self._failing, self._value = "", None
        self.seconds = 0.0

    def run(self, minutes: float, first_seed: int) -> None:
        """Try for so long. A place that failed before is passed over."""
        target, number = TARGETS[self.name], first_seed
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as folder:

            @settings(
                max_examples=ROUND, deadline=None, database=None, suppress_health_check=list(HealthCheck),
                phases=[Phase.generate, Phase.shrink], print_blob=False,
            )  # fmt: skip
            @given(target.values)
            def attempt(value: Any) -> None:
                self.tried += 1
                try:
                    target.hold(Path(folder), value)
                except Exception as error:
                    place = _place(error)
                    if place not in self.failures or self._failing == place:
                        self._failing, self._value = place, value
                        raise

            while time.monotonic() - began < 60 * minutes:
                self._failing, self._value = "", None
                try:
                    seed(number)(attempt)()
                except Exception:
                    self.failures[self._failing] = f"{self._value!r:.2000}"
                    log(f"{self.name}: {self._failing}\n{self.failures[self._failing]}")
                    traceback.print_exc()
                number += 1
        self.seconds = time.monotonic() - began


def _place(error: BaseException) -> str:
    """The exception and the innermost line of it that is ours: failures at one place are one."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/pt2bugs/" in frame.filename or frame.filename.endswith("fuzzing.py")]
    innermost = (ours or list(frames))[-1]
    return f"{type(error).__name__} in {Path(innermost.filename).name}:{innermost.lineno} {innermost.name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help="which (default: all)")
    parser.add_argument("--minutes", type=float, default=15, help="for each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another one tries other texts (default: %(default)s)")
    options = parser.parse_args()
    fuzzers = [Fuzzer(name) for name in options.targets]
    print("| target | minutes | texts | different failures |\n| --- | --- | --- | --- |", flush=True)
    for fuzzer in fuzzers:
        fuzzer.run(options.minutes, options.seed)
        print(f"| {fuzzer.name} | {fuzzer.seconds / 60:.0f} | {fuzzer.tried} | {len(fuzzer.failures)} |", flush=True)
    sys.exit(any(fuzzer.failures for fuzzer in fuzzers))


if __name__ == "__main__":
    main()
