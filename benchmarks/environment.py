"""The start of an environment: one that is known, against one of which nothing is remembered.

The start is all that a run of one check that does nothing takes: pytest, the imports, the vector-ISA probe and the
canary, a first compile in a child.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from measure import best, row, run, start

from cases import write_cases

IMPORTS = "import torch, torch._dynamo, torch._inductor.compile_fx"


def main() -> None:
    options = start(__doc__, ("--repeat", int, 3, "runs of each"))
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as name:
        cases = write_cases(Path(name), 1)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(cases)]
        homes = [str(Path(name, f"home-{number}")) for number in range(options.repeat)]
        cold = best(run(command, env={"PT2BUGS_HOME": home}) for home in homes)
        warm = best(run(command, env={"PT2BUGS_HOME": homes[0]}) for _ in homes)
    imports = best(run([sys.executable, "-c", IMPORTS]) for _ in homes)
    row(
        "start of a warm environment",
        f"{warm.wall_s:.1f} s (imports alone: {imports.wall_s:.1f} s)",
        f"nothing remembered: {cold.wall_s:.1f} s",
        f"{cold.wall_s / warm.wall_s:.1f}",
    )


if __name__ == "__main__":
    main()
