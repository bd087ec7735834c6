"""The verdict of a triage on real torch: mistakes of users and rounding are no bug of the compiler."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.cli import main
from pt2bugs.triage.statements import statements

pytest.importorskip("torch")

OPTIONS = ["--times", "1", "--skip", "minimize", "--skip", "artifacts", "--json"]


def triage(folder: Path, capsys: pytest.CaptureFixture[str], program: str) -> tuple[int, dict[str, Any]]:
    path = folder / "mistake.py"
    path.write_text("import torch\n" + textwrap.dedent(program))
    (folder / "cases").mkdir()
    code = main(["triage", str(path), "--cases", str(folder / "cases"), "-o", str(folder / "out"), *OPTIONS])
    shown = capsys.readouterr()
    assert shown.out, f"exit code {code}, and no answer: {shown.err}"
    return code, json.loads(shown.out)


MISTAKES = {
    "matmul": """
        @torch.compile
        def f(x):
            y = x + 1
            return y @ torch.ones(4, 4)

        f(torch.ones(2, 3))
        """,
    "cat": """
        def f(x):
            return torch.cat([x, x.reshape(3, 2)])

        torch.compile(f, backend="eager")(torch.ones(2, 3))
        """,
    "view": """
        def f(x):
            return x.t().view(-1)

        torch.compile(f, fullgraph=True)(torch.ones(2, 3))
        """,
    "linear": """
        model = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(5, 4)))
        model(torch.ones(2, 4))
        """,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_that_fails_without_the_compiler_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code, answer = triage(tmp_path, capsys, MISTAKES[name])
    assert (code, answer["verdict"], answer["reason"]) == (4, "not-a-bug", "fails-without-compiler")
    assert answer["workarounds"] == []
    written = {file.name for file in (tmp_path / "out").iterdir()}
    assert written == {"report.md", "triage.json", "program.py"}
    assert "No bug of the compiler" in (tmp_path / "out" / "report.md").read_text()


REFUSED = {
    "mode": 'torch.compile(torch.sin, mode="max_autotune")(torch.ones(2))',
    "option": 'torch.compile(torch.sin, options={"nope": 1})(torch.ones(2))',
    "type": 'torch.compile(torch.sin, options={"max_autotune": "yes"})(torch.ones(2))',
    "both": 'torch.compile(torch.sin, mode="max-autotune", options={"max_autotune": True})(torch.ones(2))',
    "backend": 'torch.compile(torch.sin, backend="nope")(torch.ones(2))',
    "callable": "torch.compile(3)(torch.ones(2))",
    "dynamic_shapes": """
        module, dim = torch.nn.Linear(2, 2), torch.export.Dim("b")
        torch.export.export(module, (torch.ones(2, 2),), dynamic_shapes={"y": {0: dim}})
        """,
    "args": "torch.export.export(torch.nn.Linear(2, 2), torch.ones(2, 2))",
    "mod": "torch.export.export(torch.sin, (torch.ones(2),))",
    "state_dict": """
        compiled = torch.compile(torch.nn.Linear(2, 2))
        torch.nn.Linear(2, 2).load_state_dict(compiled.state_dict())
        """,
}


def test_each_statement_has_its_program() -> None:
    assert len(statements()["refused"]) == len(REFUSED)
    for entries in statements().values():
        for entry in entries:
            assert re.compile(entry["match"]) and entry["source"]


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, answer = triage(tmp_path, capsys, REFUSED[name])
    assert (code, answer["verdict"], answer["reason"]) == (4, "not-a-bug", "refused-argument")


ROUNDING = {
    "softmax": """
        def f(x):
            return torch.softmax(x * 1.7, -1) * torch.exp(x.sin())

        x = torch.randn(64, 1000)
        torch.testing.assert_close(torch.compile(f)(x), f(x), rtol=0, atol=0)
        """,
    "half precision": """
        def f(x):
            return ((x * 1.1 + 0.3) * 1.7 - x) * 3.1

        x = torch.randn(1000, dtype=torch.bfloat16)
        torch.testing.assert_close(torch.compile(f)(x), f(x), rtol=0, atol=0)
        """,
    "layers that compare the types of their inputs": """
        torch.manual_seed(0)
        layers = [torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.InstanceNorm2d(8), torch.nn.SiLU()]
        f = torch.nn.Sequential(*layers, torch.nn.Conv2d(8, 2, 1)).eval()
        x = torch.randn(2, 4, 48, 48)
        with torch.no_grad():
            expected, actual = f(x), torch.compile(f)(x)
        assert torch.equal(actual, expected)
        """,
}


@pytest.mark.parametrize("name", ROUNDING)
def test_rounding(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, answer = triage(tmp_path, capsys, ROUNDING[name])
    assert (code, answer["verdict"], answer["reason"]) == (4, "not-a-bug", "rounding")


def test_random_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
        def f(x):
            return torch.nn.functional.dropout(x, 0.5)

        x = torch.ones(1000)
        torch.manual_seed(0)
        expected = f(x)
        torch.manual_seed(0)
        torch.testing.assert_close(torch.compile(f)(x), expected)
        """
    code, answer = triage(tmp_path, capsys, program)
    assert (code, answer["verdict"], answer["reason"]) == (4, "not-a-bug", "randomness")


def test_a_limitation_that_torch_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
        @torch.compile(fullgraph=True)
        def f(x):
            return x + 1 if x.sum() > 0 else x - 1

        f(torch.ones(3))
        """
    code, answer = triage(tmp_path, capsys, program)
    assert (code, answer["verdict"], answer["reason"]) == (1, "limitation", None)
    assert "torch.cond" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize("break_", ["torch._dynamo.graph_break()", "torch.compiler.disable(torch.neg)(x)"])
def test_a_graph_break_that_the_program_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], break_: str
) -> None:
    program = f"""
        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            {break_}
            return x + 1

        f(torch.ones(3))
        """
    code, answer = triage(tmp_path, capsys, program)
    assert (code, answer["verdict"], answer["reason"]) == (1, "limitation", None)


def test_a_dimension_that_the_program_fixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
        class Shift(torch.nn.Module):
            def forward(self, x):
                return x + torch.ones(3, 4)

        torch.export.export(Shift(), (torch.ones(3, 4),), dynamic_shapes={"x": {0: torch.export.Dim("batch")}})
        """
    code, answer = triage(tmp_path, capsys, program)
    assert (code, answer["verdict"], answer["reason"]) == (1, "limitation", None)


def test_a_wrong_result_is_a_bug(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Upstream issue 198102; `aot_eager` is the first rung that fails."""
    program = """
        def windows(x):
            x.unfold(0, 2, 5).mul_(10)
            return x + 0

        x = torch.arange(1.0, 13.0)
        torch.testing.assert_close(torch.compile(windows)(x.clone()), windows(x), rtol=0, atol=0)
        """
    code, answer = triage(tmp_path, capsys, program)
    assert (code, answer["verdict"], answer["reason"]) == (1, "bug", None)
    assert {"what": 'torch.compile(..., backend="eager")', "passes": True}.items() <= answer["workarounds"][0].items()
