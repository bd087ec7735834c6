"""Which workarounds are tried, and when they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import NO_DECOMPOSITION, Ladder, Step
from pt2bugs.triage.program import Program
from pt2bugs.triage.reproduce import Oracle, Reproduction
from pt2bugs.triage.runner import ProgramRunner, RunResult
from pt2bugs.triage.workarounds import Workaround, suspects, try_workarounds, with_dims, without_compiling

SOURCE = """\
import torch


def helper(x):
    return x.nonzero()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return helper(x + 1)


def main(x):
    return Net()(x)


torch.compile(main)(torch.ones(3))
"""
MESSAGE = """\
Data-dependent operator
  Hint: Set `torch._dynamo.config.capture_dynamic_output_shape_ops = True` to include it.
To fix the error, insert one of the following checks before this call:
  1. torch._check(x.size(0) > 2)
  2. torch._check(u0 > 2)

from user code:
   File "/tmp/program.py", line 17, in main
    return Net()(x)
  File "/tmp/program.py", line 5, in helper
    return x.nonzero()
"""
PASSES = Observation(Outcome.PASS)


@dataclass
class Answers:
    """A runner of programs that passes those with a text in them, or one setting."""

    folder: Path
    passing: str
    graphs: int = 2
    budget: Budget = field(default_factory=lambda: Budget(5))
    sources: list[str] = field(default_factory=list)

    def run(self, path: Path, redirect: Mapping[str, Any], **_: Any) -> RunResult:
        self.sources.append(path.read_text())
        passes = self.passing in f"{self.sources[-1]} {redirect}"
        seen = PASSES if passes else Observation(Outcome.RAISE, "RuntimeError", MESSAGE)
        return RunResult(seen, entered=("compile",), graphs=self.graphs, breaks=1)


def tried(folder: Path, passing: str, *, graphs: int = 2, steps: tuple[Step, ...] = ()) -> list[Workaround]:
    program = Program(folder / "given.py", f"# a comment\n{SOURCE}")
    small = Program(folder / "small.py", SOURCE)
    for written in (program, small):
        written.path.write_text(written.source)
    result = RunResult(Observation(Outcome.RAISE, "RuntimeError", MESSAGE), entered=("compile",))
    failure = Reproduction(result, result.identity, 1, 1, Oracle())
    runner = cast(ProgramRunner, Answers(folder, passing, graphs))
    ladder = Ladder([*steps], "inductor")
    return try_workarounds(runner, (program, failure), (small, failure), ladder, "aten.mm", folder, lambda _: None)


def test_settings_lines_and_functions_are_tried(tmp_path: Path) -> None:
    """What passes comes first, with its graphs and breaks. A check on a symbol of the compiler is no line to write."""
    setting = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
    answers = tried(tmp_path, "capture_dynamic")
    assert answers[0] == Workaround(setting, passes=True, graphs=2, breaks=1)
    assert [workaround.what for workaround in answers[1:]] == [
        "torch._check(x.size(0) > 2) before the line that fails",
        "@torch.compiler.disable on helper",
        "@torch.compiler.disable on Net.forward",
    ]
    assert not any(workaround.passes for workaround in answers[1:])


def test_a_workaround_must_pass_with_the_given_program(tmp_path: Path) -> None:
    """This one passes with the small program alone."""
    (first, *_) = tried(tmp_path, "import torch\n\n\n@__import__")
    assert (first.what, first.passes) == ("@torch.compiler.disable on helper", True)
    assert not any(workaround.passes for workaround in tried(tmp_path, "no such text"))


def test_what_compiles_nothing_any_more_is_no_workaround(tmp_path: Path) -> None:
    assert "helper" not in "".join(workaround.what for workaround in tried(tmp_path, ".compiler.disable", graphs=0))


def test_an_operator_kept_from_its_decomposition(tmp_path: Path) -> None:
    step = Step(NO_DECOMPOSITION, Identity(Outcome.PASS), same=False, result=RunResult(PASSES))
    answers = tried(tmp_path, "no_decomposition", steps=(step,))
    assert (answers[0].what, answers[0].passes) == (
        "torch._inductor.decomposition.decompositions without aten.mm",
        True,
    )


def test_functions_that_may_be_left_uncompiled() -> None:
    """Those that the failure names come first; what is compiled itself and constructors are none of them."""
    result = RunResult(Observation(Outcome.RAISE, "RuntimeError", MESSAGE))
    assert suspects(SOURCE, Reproduction(result, result.identity, 1, 1, Oracle())) == ["helper", "Net.forward"]
    text = without_compiling(SOURCE, "Net.forward")
    assert text is not None
    assert '    @__import__("torch").compiler.disable\n    def forward' in text
    assert without_compiling(SOURCE, "gone") is None


def test_dimensions_that_export_suggests() -> None:
    source = "import torch\nb = torch.export.Dim('b')\nc = torch.export.Dim('c')\n"
    assert with_dims(source, {"b": "Dim('b', max=10)", "c": "4"}) == (
        "import torch\nb = torch.export.Dim('b', max=10)\nc = 4\n"
    )
    assert with_dims(source, {"d": "4"}) is None
