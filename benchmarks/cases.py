"""Case files whose checks do nothing."""

from __future__ import annotations

from pathlib import Path

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
