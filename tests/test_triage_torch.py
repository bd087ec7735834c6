"""`pt2bugs triage` on the real torch of the running interpreter."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.cli import main
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import Classification, classify, metadata_mismatch
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import (
    CROSSREF,
    FAKE_TENSORS,
    INSIDE_AOT,
    NO_DECOMPOSITION,
    TORCHS_COMPILERS,
    Climber,
    Ladder,
    Step,
)
from pt2bugs.triage.program import load_program
from pt2bugs.triage.reproduce import Oracle, Reproduction, reproduce
from pt2bugs.triage.runner import ProgramRunner, RunResult


def triage(folder: Path, capsys: pytest.CaptureFixture[str], program: str, *arguments: str) -> dict[str, Any]:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    (folder / "cases").mkdir(exist_ok=True)
    options = ["--times", "1", "--cases", str(folder / "cases"), "-o", str(folder / "out"), "--json", *arguments]
    code = main(["triage", str(path), *options])
    answer = dict(json.loads(capsys.readouterr().out))
    assert code == {"not-a-bug": 4, None: 0}.get(answer["verdict"], 1)
    return answer


def test_a_wrong_result_of_functionalization(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Upstream issue 198102: a write to overlapping windows of a view loses the elements between them."""
    program = """
        import torch

        def windows(x):
            x.unfold(0, 2, 5).mul_(10)
            return x + 0

        x = torch.arange(1.0, 13.0)
        torch.testing.assert_close(torch.compile(windows)(x.clone()), windows(x), rtol=0, atol=0)
    """
    answer = triage(tmp_path, capsys, program, "--skip", "minimize", "--skip", "artifacts")
    assert (answer["outcome"], answer["first_failing"]) == ("wrong", "aot_eager")
    assert (answer["class"], answer["component"]) == ("wrong-result", "functionalization")
    assert "does not fail as the program does" not in (tmp_path / "out" / "report.md").read_text()


def test_a_program_that_passes_in_many_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
        import torch

        @torch.compile(backend="eager", dynamic=False)
        def f(x):
            if x.sum().item() > 3:
                x = x * 2
            return x + 1

        for size in (2, 3, 4):
            f(torch.ones(size))
    """
    compilation = triage(tmp_path, capsys, program)["compilation"]
    assert (compilation["breaks"], compilation["recompiles"]) == (3, 4)
    broken = next(place for place in compilation["places"] if place["what"] == "break")
    assert broken["where"] == "program.py:6"
    assert any("capture_scalar_outputs" in hint for hint in broken["hints"])


@pytest.mark.parametrize(
    "call",
    [
        "torch.compile(lambda x: x + 1)(torch.ones(3, device='cuda'))",
        "torch.compile(lambda x: x.to('cuda:0') + 1, backend='eager')(torch.ones(3))",
        "torch.compile(torch.nn.Linear(3, 3), backend='eager')(torch.ones(3)); torch.nn.Linear(3, 3).cuda()",
    ],
)
def test_a_program_for_a_gpu_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str], call: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(f"import torch\nif torch.cuda.is_available():\n    raise SystemExit\n{call}\n")
    code = main(["triage", str(path), "--times", "1", "-o", str(tmp_path / "out")])
    shown = capsys.readouterr().err
    if "never enters the compiler" in shown:
        pytest.skip("this machine has a GPU")
    assert code == 2
    assert "needs a GPU, and this machine has none" in shown


def test_a_failure_that_the_program_catches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
        import torch

        def broken(x):
            torch._dynamo.graph_break()
            return x + 1

        def main():
            x = torch.ones(2)
            print("eager:", broken(x))
            try:
                print("compiled:", torch.compile(broken, fullgraph=True)(x))
            except Exception as error:
                print("it failed:", error)

        if __name__ == "__main__":
            main()
    """
    answer = triage(tmp_path, capsys, program, "--minutes", "10")
    assert answer["identity"]["error_type"] == "torch._dynamo.exc.Unsupported"
    assert [step["outcome"] for step in answer["ladder"][:2]] == ["pass", "raise"]
    assert (answer["first_failing"], answer["class"], answer["component"]) == ("eager", "graph-break", "dynamo")
    assert answer["minimized"]["lines_after"] < answer["minimized"]["lines_before"]
    # Under fullgraph the break is raised and not logged: the trace is what is left to keep.
    assert any("tlparse" in path for path in answer["artifacts"])
    small = Path(answer["minimized"]["path"]).read_text()
    assert "except" not in small
    assert "does not fail as the program does" not in (tmp_path / "out" / "report.md").read_text()


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with ProgramRunner(Path(sys.executable), Budget(5), 60, ()) as opened:
        yield opened


def classified(path: Path, shown: RunResult, passes: str) -> Classification:
    """The class and component of a program that fails on the rung `aot_eager` and passes on the rung `passes`."""
    steps = [Step("aot_eager", shown.identity, same=True), Step(passes, Identity(Outcome.PASS), same=False)]
    reproduction = Reproduction(shown, shown.identity, 1, 1, Oracle())
    return classify(load_program(path), reproduction, Ladder(steps, "aot_eager"))


def test_a_program_that_calls_aotautograd_by_itself(tmp_path: Path, runner: ProgramRunner) -> None:
    """Without the compiler `aot_function` gives the function back: the layer is AOTAutograd, not "no compiler"."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nfrom functorch.compile import aot_function\n\n"
        "def broken(graph, inputs):\n    raise ValueError('no')\n\n"
        "print(aot_function(torch.sin, broken)(torch.ones(2)))\n"
    )
    program = load_program(path)
    ladder = Climber(runner, program, reproduce(runner, program, 1), lambda _: None).climb()
    assert [step.rung for step in ladder.steps if step.same] == ["aot_eager"]
    assert (ladder.first_failing, ladder.below) == ("aot_eager", "none")


def test_compiled_autograd_is_a_way_into_the_compiler(tmp_path: Path, runner: ProgramRunner) -> None:
    """Also where the backward fails before a graph of it reaches `torch.compile`: as in upstream issue 138901."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nfrom torch._dynamo import compiled_autograd\n\n"
        "with compiled_autograd._enable(torch.compile):\n    assert compiled_autograd.compiled_autograd_enabled\n"
    )
    shown, without = runner.run(path), runner.run(path, {"backend": "none"})
    assert (shown.outcome, shown.entered) == (Outcome.PASS, ("compile",))
    assert without.outcome is Outcome.WRONG


def test_compilers_of_the_programs_own(tmp_path: Path, runner: ProgramRunner) -> None:
    """They see the graphs of AOTAutograd, so that is the rung; with torch's compilers it passes."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nfrom functorch.compile import make_boxed_func\n"
        "from torch._dynamo.backends.common import aot_autograd\n\n"
        "def forward(graph, inputs):\n    return make_boxed_func(graph)\n\n"
        "def backward(graph, inputs):\n    raise ValueError('no backward')\n\n"
        "backend = aot_autograd(fw_compiler=forward, bw_compiler=backward)\n"
        "torch.compile(torch.sin, backend=backend)(torch.ones(2, requires_grad=True)).sum().backward()\n"
    )
    assert runner.run(path, {"backend": "eager"}).outcome is Outcome.PASS
    assert runner.run(path, INSIDE_AOT[TORCHS_COMPILERS]).outcome is Outcome.PASS
    shown = runner.run(path, {"backend": "aot_eager"})
    assert (shown.outcome, shown.own_compilers) == (Outcome.RAISE, True)
    classification = classified(path, shown, passes=TORCHS_COMPILERS)
    assert (classification.symptom, classification.component) == ("backend-failure", "backend")


def test_a_decomposition_of_aotautograds_own_trace(tmp_path: Path, runner: ProgramRunner) -> None:
    """Upstream issue 175154: in Python nearest interpolation resamples a dimension that keeps its size."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\n\ndef enlarge(x):\n"
        "    return torch.nn.functional.interpolate(x, scale_factor=1.3, mode='nearest')\n\n"
        "x = torch.tensor([[[[1.0, 2.0]]]])\n"
        "assert torch.equal(torch.compile(enlarge, backend='aot_eager')(x), enlarge(x))\n"
    )
    shown = runner.run(path)
    assert shown.outcome is Outcome.WRONG
    assert runner.run(path, INSIDE_AOT[NO_DECOMPOSITION]).outcome is Outcome.PASS
    assert classified(path, shown, passes=NO_DECOMPOSITION).component == "decomposition"


def test_a_fake_tensor_that_is_not_as_the_real_one(tmp_path: Path, runner: ProgramRunner) -> None:
    """Upstream issue 198364: the fake kernel of copysign forgets the layout of its input. Only Inductor goes by it."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\n\nx, y = torch.ones(6, 5).mT, torch.ones(5, 6)\n"
        "strides = torch.compile(torch.copysign)(x, y).stride()\nassert strides == (1, 5), strides\n"
    )
    shown, compared = runner.run(path), runner.run(path, FAKE_TENSORS[CROSSREF])
    assert shown.outcome is Outcome.WRONG
    ladder = Ladder([Step("inductor", shown.identity, same=True)], "inductor")
    assert metadata_mismatch(ladder) == ""
    lazy = replace(compared.identity, message=compared.identity.message.replace("Stride", "Conj"))
    assert metadata_mismatch(Ladder([Step(CROSSREF, lazy, same=False)])) == "", "no graph goes by that bit"
    sparse = replace(
        compared.identity, message=compared.identity.message.replace("copysign.Tensor", "_indices.default")
    )
    assert metadata_mismatch(Ladder([Step(CROSSREF, sparse, same=False)])) == "", "nobody knows how many there are"
    ladder.steps.append(Step(CROSSREF, compared.identity, same=False))
    mismatch = metadata_mismatch(ladder)
    assert mismatch.startswith("the fake tensor of aten.copysign.Tensor is not as the real one: Stride mismatch")
    classification = classify(load_program(path), Reproduction(shown, shown.identity, 1, 1, Oracle()), ladder)
    assert (classification.symptom, classification.component) == ("wrong-result", "fake-tensor")
    assert mismatch in classification.why


def test_only_what_is_compiled_has_its_fake_tensors_compared(tmp_path: Path, runner: ProgramRunner) -> None:
    """With the backward of what is compiled, and where a module is."""
    for name, program, outcome in (
        ("outside", "torch.copysign(x, y)\ntorch.compile(lambda a: a + 1)(x)", Outcome.PASS),
        ("function", "torch.compile(lambda a, b: torch.copysign(a, b))(x, y)", Outcome.RAISE),
        ("decorated", "@torch.compile(dynamic=True)\ndef f(a, b): return torch.copysign(a, b)\nf(x, y)", Outcome.RAISE),
        (
            "module",
            "class M(torch.nn.Module):\n    def forward(self, a, b): return torch.copysign(a, b)\n"
            "m = M()\nm.compile()\nm(x, y)",
            Outcome.RAISE,
        ),
        (
            "backward",
            "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a): return a.clone()\n"
            "    @staticmethod\n    def backward(ctx, g): return torch.copysign(x, y)\n"
            "torch.compile(F.apply)(x.clone().requires_grad_()).sum().backward()",
            Outcome.RAISE,
        ),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(f"import torch\n\nx, y = torch.ones(6, 5).mT, torch.ones(5, 6)\n{program}\n")
        assert runner.run(path, FAKE_TENSORS[CROSSREF]).outcome is outcome, name


def test_without_a_decomposition(tmp_path: Path, runner: ProgramRunner) -> None:
    """The rung takes it from the table that Inductor gives to AOTAutograd; where there is none it says so."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nfrom torch._inductor.decomposition import select_decomp_table\n"
        "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
        "assert torch.ops.aten.hardswish.default in select_decomp_table()\n"
    )
    assert runner.run(path).outcome is Outcome.PASS
    assert runner.run(path, {"no_decomposition": ["aten.hardswish"]}).outcome is Outcome.WRONG
    kept = runner.run(path, {"no_decomposition": ["aten.no_such_operator"]})
    assert (kept.outcome, len(kept.absent)) == (Outcome.PASS, 1)


def test_what_an_export_is_needed_for(tmp_path: Path, runner: ProgramRunner) -> None:
    """Below its rungs every module runs as it is: what fails there in the same way is no bug of export."""
    for name, forward, expected in (
        ("breaks", "self.no_such_thing = 1; return x + 1 if x.sum() > 0 else x", ("export_non_strict", "no_export")),
        ("own", "raise RuntimeError('mine')", ("none", "")),
        ("compares", "return x", ("export_non_strict", "")),
    ):
        path = tmp_path / f"{name}.py"
        path.write_text(
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        " + forward + "\n"
            "program = torch.export.export(M(), (torch.ones(2),), strict=False)\n"
            "assert hasattr(program.module(), 'no_such_thing')\n"
        )
        program = load_program(path)
        ladder = Climber(runner, program, reproduce(runner, program, 1), lambda _: None).climb()
        assert (ladder.first_failing, ladder.below) == expected


def test_what_comes_out_of_an_export_climbs_its_rungs(tmp_path: Path, runner: ProgramRunner) -> None:
    """Also where the program compiles as well, and the export fails only then: as in upstream issue 150926."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\n\ngraphs = []\n\n\ndef backend(graph, inputs):\n    graphs.append(graph)\n    return graph\n\n\n"
        "class M(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x + 1 if graphs and x.sum() > 0 else x\n\n\n"
        "torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))\n"
        "torch.export.export(M(), (torch.ones(2),), strict=False)\n"
    )
    program = load_program(path)
    reproduction = reproduce(runner, program, 1)
    assert reproduction.result.entered == ("compile", "export")
    ladder = Climber(runner, program, reproduction, lambda _: None).climb()
    assert (ladder.first_failing, ladder.below) == ("export_non_strict", "no_export")
    assert classify(program, reproduction, ladder).component == "export"


def test_what_aot_inductor_is_needed_for(tmp_path: Path, runner: ProgramRunner) -> None:
    """Without it the exported program runs: what only the package does is AOTInductor's."""
    path = tmp_path / "program.py"
    path.write_text(
        "import torch\nimport torch._inductor\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x + 1\n\n"
        "exported = torch.export.export(M(), (torch.ones(2),), strict=False)\n"
        "package = torch._inductor.aoti_compile_and_package(exported, package_path='no/such/folder.zip')\n"
        "assert torch._inductor.aoti_load_package(package)(torch.ones(2)).tolist() == [2.0, 2.0]\n"
    )
    program = load_program(path)
    reproduction = reproduce(runner, program, 1)
    ladder = Climber(runner, program, reproduction, lambda _: None).climb()
    assert (ladder.first_failing, ladder.below) == ("inductor", "no_aot_inductor")
    assert classify(program, reproduction, ladder).component == "aot-inductor"
