"""Collecting and listing: `pt2bugs list`, and what `pytest --collect-only` imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from generated import write_corpus
from measure import ROOT, best, row, run, start
from pt2bugs.case.corpus import find_case_files

COLLECT_AS_PROGRAMS = "-p no:pt2bugs"
"""The alternative: pytest without the plugin, which imports every file, and torch with the first."""

TOMLLIB = """
import pathlib, re, sys
try:
    import tomllib
except ImportError:
    import tomli as tomllib
block = re.compile(r"(?m)^# /// script$\\s(?P<content>(^#(| .*)$\\s)+)^# ///$")
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    content = block.search(path.read_text(encoding="utf-8"))["content"]
    text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in content.splitlines(keepends=True))
    about = tomllib.loads(text)["tool"]["pt2bugs"]
    print(path.stem, about["component"], about["symptom"], about["title"])
"""
"""The alternative: the reader of PEP 723 and a print. It checks no header, and reads no program."""

MODULES = """
import contextlib, io, sys, pytest
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main(["cases", "--collect-only", "-q", "-p", "no:cacheprovider"])
print(sum(name.partition(".")[0] == "torch" for name in sys.modules))
"""


def main() -> None:
    options = start(__doc__, ("--cases", int, 5_000, "cases of the generated corpus"), ("--repeat", int, 5, "runs"))
    listing = [sys.executable, "-m", "pt2bugs", "list"]
    torch = best(run([sys.executable, "-c", "import torch"]) for _ in range(2))
    corpus = sum(1 for _ in find_case_files([ROOT / "cases"]))
    cost = best(run(listing) for _ in range(options.repeat))
    ratio = f"{torch.wall_s / cost.wall_s:.0f}"
    row(
        f"`pt2bugs list`, {corpus} cases",
        f"{cost.wall_s:.2f} s",
        f"`import torch`: {torch.wall_s:.1f} s",
        ratio,
        "1 s",
    )
    with tempfile.TemporaryDirectory(prefix="pt2bugs-benchmark-") as folder:
        generated = Path(folder, "cases")
        write_corpus(generated, options.cases)
        listed = [*listing, "--cases", str(generated)]
        plain = best(run([sys.executable, "-c", TOMLLIB, str(generated)]) for _ in range(options.repeat))
        cost = best(run(listed) for _ in range(options.repeat))
    row(
        f"`pt2bugs list`, {options.cases} generated cases",
        f"{cost.wall_s:.2f} s",
        f"a loop over their headers with `tomllib`: {plain.wall_s:.2f} s",
        f"{plain.wall_s / cost.wall_s:.1f}",
        "",
    )
    collect = [sys.executable, "-m", "pytest", "cases", "--collect-only", "-q", "-p", "no:cacheprovider"]
    ours = best(run(collect) for _ in range(options.repeat))
    files = ["-o", "python_files=*.py", *COLLECT_AS_PROGRAMS.split()]
    # A file whose imports this environment lacks is an error of collection there.
    theirs = run([*collect, *files], accept=(0, 1, 2), env={"PYTEST_ADDOPTS": "--continue-on-collection-errors"})
    done = subprocess.run([sys.executable, "-c", MODULES], cwd=ROOT, capture_output=True, text=True, check=True)
    row(
        f"`pytest cases/ --collect-only`; modules of torch imported: {done.stdout.strip()}",
        f"{ours.wall_s:.2f} s",
        f"pytest without the plugin: {theirs.wall_s:.1f} s",
        f"{theirs.wall_s / ours.wall_s:.1f}",
        "0 modules",
    )


if __name__ == "__main__":
    main()
