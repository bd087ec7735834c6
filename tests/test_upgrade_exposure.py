"""Exposure of a program on fake torches: each level, what is unstable, and what cannot be put in."""

from __future__ import annotations

import sys
import venv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_torch import write_torch
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.isolate.patched import PatchedTorch
from pt2bugs.isolate.units import Wheels
from pt2bugs.upgrade.exposure import Asked, Exposer, Exposure, judge, mended_calls, same_text
from pt2bugs.upgrade.recorded import Call, Recorded, Recorder, comparable, prints_alike
from test_isolate_isolation import OLD, new

PROGRAM = """
import torch
from torch import lowering


def lookup(row):
    return row


compiled = torch.compile(lookup)
print("row -3:", "refused" if compiled is lookup else lowering.embedding(-3))
"""
CLAMP = ("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99")


def isolation(case: str, *names: str, kind: str = "function", **further: Any) -> dict[str, Any]:
    units = [{"file": "lowering.py", "qualname": name, "kind": kind, "hunks": None} for name in names]
    question = {"check": "test_row", "device": "cpu", "backend": "inductor", "bad": "2.90.0", "good": "2.91.0"}
    return {
        "case": case,
        **question,
        "direction": "fixed",
        "evidence": "proved",
        "units": units,
        "breaks": [0, 0, 0],
        **further,
    }


class Releases:
    """Fake releases, each in a virtual environment of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    def make(self, version: str, text: str) -> Path:
        venv.create(self.folder / version, symlinks=True)
        packages = self.folder / version / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
        write_torch(packages / "site-packages", version, files={"lowering.py": text})
        return packages / "site-packages" / "torch"

    def expose(self, program: str, asked: Mapping[str, tuple[str, dict[str, Any]]], old: str = OLD) -> Exposure:
        """Ask about fixes, each by the text of the release that has it; those of one text are asked together."""
        script = self.folder / "program.py"
        script.write_text(program)
        bad = self.make("2.90.0", old)
        wheels: dict[str, Wheels] = {}
        fixes = []
        for case, (text, told) in asked.items():
            if text not in wheels:
                wheels[text] = Wheels(bad, self.make(f"2.91.0-{case}", text))
            fixes.append(Asked({**told, "case": case}, lambda text=text: wheels[text]))  # type: ignore[misc]
        python = self.folder / "2.90.0" / "bin" / "python"
        copy = PatchedTorch(bad, self.folder / "copy")
        with Recorder(python, script, timeout_s=20) as recorder:
            exposer = Exposer(
                "2.90.0",
                recorder,
                bad,
                lambda: copy,
                lambda copy: Recorder(python, script, timeout_s=20, keeps_python_path=False, paths=(copy.path,)),
                self.said.append,
            )
            return exposer.run(fixes)


def test_every_level_in_one_program(tmp_path: Path) -> None:
    raises = new(("    row = clamp(row)", "    row = clamp(missing)"))
    limit = new(('LIMIT = {"lowest": -9}', 'LIMIT = {"lowest": 0}'))
    unused = OLD.replace("def is_valid", "def idle():\n    return 1\n\n\ndef is_valid")
    exposure = Releases(tmp_path).expose(
        PROGRAM,
        {
            "bitten": (new(CLAMP), isolation("", "clamp")),
            "harmless": (new(), isolation("", "decoy")),
            "broken": (raises, isolation("", "embedding")),
            "by_text": (limit, isolation("", "LIMIT", kind="statement")),
            "gone": (unused, isolation("", "clamp")),
        },
    )
    levels = {bug.case: (bug.level, bug.what) for bug in exposure.bugs}
    assert levels["bitten"] == (
        "bites",
        "prints another text than eager (row -3: loaded); with the fix it does not",
    ), levels
    assert levels["harmless"][0] == "same"
    assert levels["broken"][0] == "unknown"
    assert "with the fix the program fails otherwise: raise NameError" in levels["broken"][1]
    assert levels["by_text"][0] == "bites", "what memory cannot take is tried as text"
    assert levels["gone"] == ("unknown", "torch/lowering.py: clamp is the same in both releases")
    assert "the program ran on the CPU" in exposure.covered[0]


def test_what_is_not_executed_is_not_tried(tmp_path: Path) -> None:
    idle = OLD.replace("def decoy(row):", "def idle():\n    return 0\n\n\ndef decoy(row):")
    releases = Releases(tmp_path)
    exposure = releases.expose(
        PROGRAM.replace("lowering.embedding(-3)", "lowering.decoy(-3)"),
        {"away": (new(CLAMP), isolation("", "clamp")), "added": (idle, isolation("", "idle"))},
    )
    levels = {bug.case: bug.level for bug in exposure.bugs}
    assert levels == {"away": "not-executed", "added": "same"}, "of what is new nothing can have run: it is tried"


HELPERS = [f"helper_{number}" for number in range(6)]


def with_helpers(text: str, result: str) -> str:
    functions = "\n\n\n".join(f"def {name}(row):\n    return {result}" for name in HELPERS)
    calls = "\n    ".join(f"CALLS.append({name}(row))" for name in HELPERS)
    return text.replace("def embedding", f"{functions}\n\n\ndef embedding").replace("CALLS.append(decoy(row))", calls)


def test_fixes_that_change_nothing_are_asked_by_one_run(tmp_path: Path) -> None:
    releases = Releases(tmp_path)
    good = with_helpers(OLD, "row + 0")
    asked = {name: (good, isolation("", name)) for name in HELPERS}
    exposure = releases.expose(PROGRAM, asked, with_helpers(OLD, "row"))
    assert {bug.case: bug.level for bug in exposure.bugs} == dict.fromkeys(HELPERS, "same")
    assert [line for line in releases.said if " with " in line] == ["torch 2.90.0: with 6 fixes together"]


@pytest.mark.parametrize("place", [0, 3, 6])
def test_the_one_fix_of_many_that_bites(tmp_path: Path, place: int) -> None:
    releases = Releases(tmp_path)
    good = with_helpers(OLD.replace(*CLAMP), "row + 0")
    names = [*HELPERS[:place], "clamp", *HELPERS[place:]]
    exposure = releases.expose(PROGRAM, {name: (good, isolation("", name)) for name in names}, with_helpers(OLD, "row"))
    levels = {bug.case: bug.level for bug in exposure.bugs}
    assert levels == dict.fromkeys(HELPERS, "same") | {"clamp": "bites"}
    assert sum(" with " in line for line in releases.said) < len(names), releases.said


def test_fixes_that_cannot_be_put_in_together_are_asked_alone(tmp_path: Path) -> None:
    good = new(CLAMP)
    broken = isolation("", "clamp", "no_such_function")
    exposure = Releases(tmp_path).expose(
        PROGRAM,
        {"bitten": (good, isolation("", "clamp")), "broken": (good, broken), "also": (good, isolation("", "decoy"))},
    )
    levels = {bug.case: bug.level for bug in exposure.bugs}
    assert levels == {"bitten": "bites", "broken": "unknown", "also": "same"}


def run(
    outcome: Outcome = Outcome.PASS,
    message: str = "",
    stdout: str = "",
    calls: tuple[Call, ...] = (),
    error: str = "RuntimeError",
    breaks: int = 0,
) -> Recorded:
    error = error if outcome is Outcome.RAISE else ""
    return Recorded(Observation(outcome, error, message, breaks=breaks), stdout=stdout, calls=calls)


def call(number: int, *differences: tuple[str, str, float | None]) -> Call:
    return Call(1, number, "train.py:3 forward", differences, str(differences))


WRONG = call(1, ("output 0", "strides (4, 1), not (1, 2)", None))
FIX = Asked(isolation("row", "clamp"), lambda: Wheels(Path(), Path()))


@pytest.mark.parametrize(
    ("plain", "fixed", "eager", "level"),
    [
        (run(calls=(WRONG,)), run(calls=(call(1),)), run(), "bites"),
        (run(calls=(WRONG,)), run(calls=(WRONG,)), run(), "differs"),
        (run(calls=(call(1),)), run(calls=(WRONG,)), run(), "differs"),
        (run(Outcome.RAISE, "internal"), run(), run(), "bites"),
        (run(Outcome.RAISE, "internal"), run(), run(Outcome.RAISE, "internal"), "differs"),
        (
            run(Outcome.RAISE, "internal"),
            run(),
            run(Outcome.RAISE, "nothing was captured", error="IndexError"),
            "bites",
        ),
        (run(Outcome.RAISE, "internal"), run(Outcome.RAISE, "other"), run(), "unknown"),
        (run(), run(Outcome.RAISE, "other"), run(), "unknown"),
        (run(), run(Outcome.RAISE, "out of range"), run(Outcome.RAISE, "index out of range"), "bites"),
        (run(), run(Outcome.RAISE, "no such name", error="NameError"), run(Outcome.RAISE, "out of range"), "unknown"),
        (run(stdout="loss 0.5"), run(stdout="loss 0.75"), run(stdout="loss 0.7501"), "bites"),
        (run(stdout="loss 0.75"), run(stdout="loss 0.5"), run(stdout="loss 0.7501"), "differs"),
    ],
)
def test_levels(plain: Recorded, fixed: Recorded, eager: Recorded, level: str) -> None:
    assert judge(FIX, plain, fixed, eager, ["printed text"]).level == level


@pytest.mark.parametrize(
    ("plain", "fixed", "eager", "level"),
    [
        (run(calls=(WRONG,)), run(calls=(call(1),), breaks=1), run(), ("differs", "differs")),
        (run(stdout="loss 0.5"), run(stdout="loss 0.75", breaks=1), run(stdout="loss 0.7501"), ("differs", "differs")),
        (run(Outcome.RAISE, "internal"), run(breaks=1), run(), ("differs", "bites")),
        (run(calls=(WRONG,), breaks=1), run(calls=(call(1),), breaks=1), run(), ("bites", "bites")),
    ],
)
def test_what_a_graph_break_mends(plain: Recorded, fixed: Recorded, eager: Recorded, level: tuple[str, str]) -> None:
    breaking = replace(FIX, isolation={**FIX.isolation, "breaks": [0, 1, 1]})
    assert (judge(FIX, plain, fixed, eager, []).level, judge(breaking, plain, fixed, eager, []).level) == level


def test_the_line_at_which_eager_refuses_what_compiled_code_takes() -> None:
    refused = replace(run(Outcome.RAISE, "index out of range", error="IndexError"), lines=(12, 30))
    told = judge(FIX, run(), run(Outcome.RAISE, "out of bounds"), refused, ["outcome"])
    assert (told.level, told.where) == ("bites", "line 30")


def test_calls_of_other_graphs_are_mended_only_together() -> None:
    second = call(2, ("output 0", "values", 0.5))
    assert mended_calls([WRONG, second], [call(1), second]) == [WRONG]
    assert mended_calls([WRONG], [call(1), second]) == []
    assert mended_calls([WRONG], [call(1), call(2)]) == [WRONG]
    assert mended_calls([WRONG], []) == []


def test_the_old_text_of_units_in_two_releases(tmp_path: Path) -> None:
    releases = Releases(tmp_path)
    here, there = releases.make("2.89.0", OLD + "\nLATER = 1\n"), releases.make("2.90.0", OLD)
    assert same_text(isolation("row", "clamp"), here, there)
    (here / "lowering.py").write_text(new(CLAMP))
    assert not same_text(isolation("row", "clamp"), here, there)
    assert same_text(isolation("row", "is_valid"), here, there)


def test_texts_are_compared_without_what_changes_from_process_to_process() -> None:
    text = "x = 1  # /tmp/a/b.py:3 in f\n#include <x.h>\n// a comment\nload('/tmp/run-1/cache/k.py', 140273645)\n\n"
    assert comparable(text) == "x = 1\n#include <x.h>\nload('k.py', N)"
    assert comparable("at 0x7f1e2c3b4d50") == comparable("at 0x7f1e2c3b4d51")


@pytest.mark.parametrize(
    ("other", "alike"), [("loss 0.50001 in 3", True), ("loss 0.6 in 3", False), ("loss 0.5 in 4", False), ("x", False)]
)
def test_printed_numbers_may_be_rounded(other: str, alike: bool) -> None:
    assert prints_alike("loss 0.5 in 3", other) is alike
