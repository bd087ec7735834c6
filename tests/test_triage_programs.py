"""`pt2bugs triage` and the programs it is given: what cannot be run, what they print, import and break."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.program import raises, with_modules
from pt2bugs.triage.runner import ProgramRunner
from triage_bench import PROGRAM, Bench


def test_a_program_that_passes(bench: Bench) -> None:
    code, out, _ = bench.triage(str(bench.program(PROGRAM)))
    assert code == 0
    assert out == "passes in 3 of 3 runs on torch 2.90.0\n"
    report = (bench.out / "report.md").read_text()
    assert report.startswith("# program: passes on torch 2.90.0\n\nIt passes in 3 of 3 runs on torch 2.90.0.\n")
    assert "## Minimal program" not in report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch\nx = (", "is not Python"),
        ("import torch, no_such_module", "No module named 'no_such_module'"),
        (
            "import torch\ntorch.compile(len)\nraise RuntimeError('Found no NVIDIA driver on your system')",
            "needs a GPU",
        ),
        ("import torch\ntorch.compile(len)\ninput('which? ')", "asks for input"),
        ("import torch\nopen('weights.bin')", "needs a file that is not there"),
    ],
)
def test_what_cannot_be_run(bench: Bench, text: str, message: str) -> None:
    code, out, err = bench.triage(str(bench.program(text)))
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("pt2bugs: ")]
    assert message in line


def test_an_import_that_is_not_needed(bench: Bench) -> None:
    path = bench.program(f"import matplotlib.pyplot as plt, json\nfrom tqdm import (\n    tqdm,\n)\n{PROGRAM}")
    code, _, err = bench.triage(str(path), faults={"double": "raise"})
    assert code == 2
    assert "--drop-unused-imports leaves it out" in err
    arguments = ["--drop-unused-imports", "--skip", "minimize", "--skip", "artifacts", "--times", "1"]
    assert bench.answer(str(path), *arguments)["identity"]["message"] == "cannot compile double"
    assert "the import of tqdm" in (bench.out / "report.md").read_text()


def test_what_never_compiles(bench: Bench) -> None:
    code, _, err = bench.triage(str(bench.program("import torch\nassert torch.ones(2).sum() == 2")))
    assert code == 3
    assert "never enters the compiler" in err


def test_what_another_process_compiles(bench: Bench) -> None:
    """That is not followed; where its failure comes back, the refusal says so."""
    text = """
        import multiprocessing
        import torch

        def work(n):
            raise torch._dynamo.exc.InternalTorchDynamoError("not here")

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.map(work, [3])
    """
    code, _, err = bench.triage(str(bench.program(text)))
    assert code == 3
    assert "not here; what another process compiles that it starts is not seen" in err


def test_a_module_beside_the_program(bench: Bench) -> None:
    """It can be imported by the program without its unused imports, and by what is made of that while it shrinks."""
    (bench.folder / "helper.py").write_text("def extra(x):\n    return x + 41\n")
    path = bench.program(f"import tqdm\nfrom helper import extra\n{PROGRAM.replace('x + 41', 'extra(x)')}")
    arguments = ["--drop-unused-imports", "--skip", "artifacts", "--times", "1"]
    answer = bench.answer(str(path), *arguments, faults={"double": "raise"})
    assert answer["identity"]["message"] == "cannot compile double"
    assert "helper" not in Path(answer["minimized"]["path"]).read_text()
    assert "does not fail as the program does" not in (bench.out / "report.md").read_text()


def test_what_is_handed_over_has_the_modules_beside_it(bench: Bench) -> None:
    """In its own text, as whoever gets the case has only that."""
    (bench.folder / "other.py").write_text("FACTOR = 2\n")
    (bench.folder / "helper.py").write_text(
        "import torch\nimport other\n\n\ndef double(x):\n    return x * other.FACTOR\n"
    )
    path = bench.program("import torch\nfrom helper import double\nprint(torch.compile(double)(torch.arange(4)))\n")
    bench.answer(str(path), "--skip", "artifacts", "--times", "1", faults={"double": "raise"})
    report = (bench.out / "report.md").read_text()
    assert "does not fail as the program does" not in report
    assert "import helper" not in (bench.out / "case.py").read_text()
    assert str(bench.folder) not in report


@pytest.mark.parametrize(
    "program",
    [
        "import helper\nprint(helper)\n",
        "from helper import double\ndouble = 3\n",
    ],
)
def test_modules_that_no_text_can_stand_for(tmp_path: Path, program: str) -> None:
    """They are used as objects, or their names are taken."""
    (tmp_path / "helper.py").write_text("def double(x):\n    return x * 2\n")
    assert with_modules(program, tmp_path) == program


def test_a_program_beside_temporary_files() -> None:
    """A script in the folder of all temporary files: of what else lies there the names stay those that are known."""
    temporary = Path(tempfile.gettempdir())
    runner = ProgramRunner(Path(sys.executable), Budget(1), beside=temporary)
    text = f"{temporary}/pt2bugs-a1b2/cell-c3/x.cpp, {temporary}/helper.py"
    assert runner.hide(text, temporary / "program.py") == "<cell>/x.cpp, helper.py"


def test_how_a_program_is_written_down(bench: Bench) -> None:
    text = f"# \N{LATIN SMALL LETTER E WITH ACUTE}\n{PROGRAM}"
    path = bench.folder / "program.py"
    path.write_bytes(text.encode("utf-8-sig"))
    assert bench.triage(str(path), "--times", "1")[0] == 0
    path.write_bytes(f"# -*- coding: latin-1 -*-\n{text}".encode("latin-1"))
    code, _, err = bench.triage(str(path))
    assert code == 2
    assert "is not UTF-8 (" in err


@pytest.mark.parametrize("what", ["no_such_case", "no_such_file.py"])
def test_what_is_not_there(bench: Bench, what: str) -> None:
    code, _, err = bench.triage(what)
    assert code == 2
    assert what in err


def test_arguments_of_the_program(bench: Bench) -> None:
    path = bench.program(PROGRAM.replace('print("done")', "import sys\nassert sys.argv[1:] == ['--n', '3']"))
    code, out, _ = bench.triage(str(path), "--times", "1", "--", "--n", "3")
    assert (code, out.splitlines()[0]) == (0, "passes in 1 of 1 runs on torch 2.90.0")


def test_printing_another_text(bench: Bench) -> None:
    text = "import torch\ndef double(x):\n    return x * 2\nprint(torch.compile(double)(torch.arange(3)).values)\n"
    path = bench.program(text)
    code, _, _ = bench.triage(str(path), faults={"double": "wrong@inductor"})
    assert code == 0
    answer = bench.answer(str(path), "--compare-output", "--skip", "artifacts")
    assert (answer["outcome"], answer["first_failing"], answer["class"]) == ("wrong", "inductor", "wrong-result")
    assert "line 1 is '[1, 3, 5]', not '[0, 2, 4]'" in answer["identity"]["message"]
    assert "does not fail" not in (bench.out / "report.md").read_text()


def test_a_text_that_varies_is_not_compared(bench: Bench) -> None:
    path = bench.program("import time, torch\ntorch.compile(len)\nprint('it took', time.perf_counter_ns())\n")
    code, out, _ = bench.triage(str(path), "--compare-output", "--times", "1")
    assert code == 0
    assert "what it prints was not compared: it differs from run to run" in out


def test_a_program_that_breaks_what_reports_need(bench: Bench) -> None:
    spoil = (
        "import builtins, json, os, sys, time\nos.write = json.dumps = time.time = builtins.len = sys.stdout = None\n"
    )
    answer = bench.answer(
        str(bench.program(PROGRAM.replace("torch.testing", f"{spoil}torch.testing"))),
        *("--times", "1", "--skip", "minimize", "--skip", "artifacts"),
        faults={"double": "raise@inductor"},
    )
    assert (answer["outcome"], answer["first_failing"]) == ("raise", "inductor")


def test_endless_output(bench: Bench) -> None:
    text = "import torch\ntorch.compile(len)\nwhile True:\n    print('again ' * 1000)\n"
    answer = bench.answer(str(bench.program(text)), "--times", "1", "--timeout", "1")
    assert answer["outcome"] == "timeout"
    assert sum(file.stat().st_size for file in bench.out.rglob("*") if file.is_file()) < 4_000_000


def test_environment_variables_do_not_decide(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TORCH_COMPILE_DISABLE", "1")
    path = bench.program(PROGRAM + "\nimport os\nassert 'TORCH_COMPILE_DISABLE' not in os.environ\n")
    assert bench.triage(str(path), "--times", "1")[0] == 0


@pytest.mark.parametrize(
    ("statement", "ends"),
    [
        ("raise SystemExit('checksum')", True),
        ("sys.exit(1)", True),
        ("exit(2)", True),
        ("f(x)", False),
        ("y = 1", False),
    ],
)
def test_program_that_ends_itself_judges_a_result(statement: str, ends: bool) -> None:
    assert raises(f"import sys\n{statement}\n", 2) is ends
