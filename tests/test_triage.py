"""`pt2bugs triage` on a fake torch: whole runs of the command, in milliseconds each."""

from __future__ import annotations

import json
import os
import textwrap
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, serve_index, write_torch
from pt2bugs.cli import main
from pt2bugs.curate.marks import marks_in
from suite import case_text

KEYS = {
    "outcome", "identity", "rate", "ladder", "first_failing", "class", "component", "known", "releases", "artifacts",
    "minimized", "torch",
}  # fmt: skip
LAYERS = ["none", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor"]
PROGRAM = """
import torch


def unused(x):
    return x + 41


def double(x):
    return x * 2


y = unused(torch.ones(2))
x = torch.arange(4)
torch.testing.assert_close(torch.compile(double)(x), double(x))
print("done")
"""


def python_with(folder: Path, faults: Mapping[str, str], version: str = "2.90.0") -> Path:
    """An interpreter that has nothing but a fake torch."""
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python3.*/site-packages")
    write_torch(site, version, faults)
    return folder / "bin" / "python"


class Bench:
    """A folder with a program, and the command."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.out = folder / "out"

    def program(self, text: str, name: str = "program.py") -> Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def triage(self, *arguments: str, faults: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of one run."""
        python = self.folder / "env" / "bin" / "python"
        if not python.exists():
            python_with(self.folder / "env", faults or {})
        command = ["triage", *arguments]
        at = command.index("--") if "--" in command else len(command)
        code = main([*command[:at], "--python-exe", str(python), "-o", str(self.out), *command[at:]])
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err

    def answer(self, *arguments: str, faults: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON of a program that fails."""
        code, out, _ = self.triage(*arguments, "--json", faults=faults)
        assert code == 1
        return dict(json.loads(out))


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Bench:
    (tmp_path / "cases").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "cache"))
    return Bench(tmp_path, capsys)


def test_the_whole_of_it(bench: Bench) -> None:
    path = bench.program(PROGRAM)
    answer = bench.answer(str(path), faults={"double": "raise@aot_eager"})
    assert set(answer) == KEYS
    assert answer["outcome"] == "raise"
    assert answer["identity"]["error_type"] == "torch._dynamo.exc.InternalTorchDynamoError"
    assert answer["identity"]["message"] == "cannot compile double"
    assert answer["identity"]["frame"].startswith("torch/__init__.py:")
    assert answer["rate"] == [3, 3]
    assert [one["rung"] for one in answer["ladder"][:5]] == LAYERS
    assert [one["outcome"] for one in answer["ladder"][:5]] == ["pass", "pass", "raise", "raise", "raise"]
    assert answer["first_failing"] == "aot_eager"
    assert (answer["class"], answer["component"]) == ("internal-error", "aotautograd")
    assert answer["torch"] == "2.90.0"
    small = answer["minimized"]
    assert small["lines_before"] == 9 > small["lines_after"]
    assert "unused" not in Path(small["path"]).read_text()
    # The test file of the answer is named after the program.
    names = {file.name for file in bench.out.iterdir()}
    assert names >= {"report.md", "case.py", "test_program.py", "minimal.py", "triage.json"}
    report = (bench.out / "report.md").read_text()
    assert "cannot compile double" in report
    assert "does not fail as the program does" not in report
    assert '  File "torch/__init__.py", line' in report
    assert "run_redirected" not in report
    for file in bench.out.rglob("*"):
        if file.is_file():
            assert str(bench.folder) not in file.read_text()


def test_the_case_is_a_case(bench: Bench) -> None:
    path = bench.program(PROGRAM)
    bench.answer(str(path), "--skip", "minimize", "--skip", "artifacts", faults={"double": "wrong@inductor"})
    (bench.folder / "cases" / "found.py").write_text((bench.out / "case.py").read_text())
    code = main(["list", "--json"])
    (case,) = json.loads(bench._capsys.readouterr().out)
    assert code == 0
    assert (case["component"], case["symptom"]) == ("inductor", "wrong-result")
    bug = (bench.out / "case.py").read_text()
    assert '# match = "Tensor-likes are not close!"' in bug
    assert [mark.text.partition(": ")[2] for mark in marks_in(bug)] == [
        "the address of the issue",
        "why it happens, in the field's terms",
    ]


@pytest.mark.parametrize(
    ("fault", "outcome", "class_"),
    [("wrong", "wrong", "wrong-result"), ("abort", "crash", "crash"), ("hang", "timeout", "hang")],
)
def test_every_way_to_fail(bench: Bench, fault: str, outcome: str, class_: str) -> None:
    path = bench.program(PROGRAM)
    arguments = ["--timeout", "1", "--times", "1", "--skip", "minimize", "--skip", "artifacts"]
    answer = bench.answer(str(path), *arguments, faults={"double": fault})
    assert (answer["outcome"], answer["class"], answer["first_failing"]) == (outcome, class_, "eager")
    assert answer["identity"]["signal"] == ("SIGABRT" if fault == "abort" else "")


def test_an_error_that_nothing_raises(bench: Bench) -> None:
    """Without the compiler none is raised either: that does not clear the compiler, which should refuse."""
    text = """
        import torch

        def main():
            try:
                torch.compile(lambda x: x * 2)(torch.arange(3))
            except RuntimeError:
                return
            raise AssertionError("a length that was marked dynamic became a constant")

        main()
    """
    answer = bench.answer(str(bench.program(text)), "--times", "1", "--skip", "minimize", "--skip", "artifacts")
    assert (answer["first_failing"], answer["class"]) == ("eager", "missing-error")


def test_a_program_that_passes(bench: Bench) -> None:
    code, out, _ = bench.triage(str(bench.program(PROGRAM)))
    assert code == 0
    assert out == "passes in 3 of 3 runs on torch 2.90.0\n"
    report = (bench.out / "report.md").read_text()
    assert report.startswith("# program: passes on torch 2.90.0\n\nIt passes in 3 of 3 runs on torch 2.90.0.\n")
    assert "## Minimal program" not in report


def test_what_fails_without_the_compiler_is_no_bug_of_it(bench: Bench) -> None:
    path = bench.program(f"{PROGRAM}\nraise ValueError('my own mistake')\n")
    answer = bench.answer(str(path))
    assert (answer["first_failing"], answer["class"], answer["component"]) == ("none", None, None)
    assert [one["outcome"] for one in answer["ladder"]] == ["raise", "skip", "skip", "skip", "skip"]


@pytest.mark.parametrize(
    ("text", "words"),
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
def test_what_cannot_be_run(bench: Bench, text: str, words: str) -> None:
    code, out, err = bench.triage(str(bench.program(text)))
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("pt2bugs: ")]
    assert words in line


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


def test_what_shows_without_the_compiler_too_is_another_failure(bench: Bench) -> None:
    """No layer refuses; the value differs from AOTAutograd on, so that one is the layer."""
    path = bench.program("""
        import torch

        def double(x):
            return x * 2

        try:
            value = torch.compile(double)(torch.arange(4)).sum()
        except RuntimeError:
            pass
        else:
            raise AssertionError(f"accepted, gave {value}")
    """)
    skip = ("--times", "1", "--skip", "artifacts", "--skip", "minimize")
    answer = bench.answer(str(path), *skip, faults={"double": "wrong@aot_eager"})
    assert (answer["first_failing"], answer["class"]) == ("aot_eager", "missing-error")
    assert [one["message"][-2:] for one in answer["ladder"][:3]] == ["12", "12", "16"]


def test_where_every_layer_accepts_the_one_that_gives_this_result_counts(bench: Bench) -> None:
    """Without the compiler it passes, as nothing was compiled; Dynamo alone gives what eager gives."""
    path = bench.program("""
        import torch
        from torch._dynamo.utils import counters

        def double(x):
            return x * 2

        try:
            value = torch.compile(double)(torch.arange(4)).sum()
        except RuntimeError:
            pass
        else:
            assert not counters["stats"]["unique_graphs"], f"accepted, gave {value}"
    """)
    skip = ("--times", "1", "--skip", "artifacts", "--skip", "minimize")
    answer = bench.answer(str(path), *skip, faults={"double": "wrong@aot_eager"})
    assert (answer["first_failing"], answer["class"]) == ("aot_eager", "missing-error")
    assert [one["outcome"] for one in answer["ladder"][:3]] == ["pass", "wrong", "wrong"]
    assert [one["message"][-2:] for one in answer["ladder"][1:3]] == ["12", "16"]


def test_secrets_are_not_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, other = "hunter2-is-my-secret", "hf_AbCdEfGhIjKlMnOpQrStUv"
    monkeypatch.setenv("SERVICE_PASSWORD", secret)
    path = bench.program(
        f"{PROGRAM}\nhub_token = {other!r}\nprint('logged in with', hub_token, {secret!r})\n".replace(
            "torch.testing", f"print('https://me:{secret}@example.org')\ntorch.testing"
        )
    )
    bench.answer(str(path), "--skip", "artifacts", faults={"double": "raise"})
    written = "".join(file.read_text() for file in bench.out.rglob("*") if file.is_file())
    assert secret not in written
    assert other not in written


def test_a_budget_that_is_over_keeps_what_is_there(bench: Bench) -> None:
    path = bench.program(PROGRAM)
    answer = bench.answer(str(path), "--minutes", "0.0001", faults={"double": "raise@inductor"})
    assert answer["outcome"] == "raise"
    assert answer["first_failing"] is None, "no rung was tried"
    report = (bench.out / "report.md").read_text()
    assert "case.py was not seen to fail: the budget was spent" in report
    assert "does not fail as the program does" not in report


def test_verify_a_fix(bench: Bench, tmp_path: Path) -> None:
    path = bench.program(PROGRAM)
    bench.answer(str(path), "--skip", "artifacts", faults={"double": "raise@aot_eager"})
    for name, faults, answer, code in (
        ("same", {"double": "raise@aot_eager"}, "not fixed", 1),
        ("fixed", {}, "fixed", 0),
        ("otherwise", {"double": "abort"}, "fails otherwise", 1),
    ):
        python = python_with(tmp_path / name, faults)
        assert main(["triage", str(bench.out), "--verify", "--python-exe", str(python), "--json"]) == code
        found = json.loads(bench._capsys.readouterr().out)
        assert found["files"][0]["answer"] == answer
        assert found["fixed"] == (code == 0)


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


def test_releases_from_an_index(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    releases = {"2.30.0": {}, "2.31.0": {"double": "raise"}, "2.32.0": {"double": "raise"}, "2.33.0": {}}
    path = bench.program(PROGRAM)
    with serve_index(build_wheels(tmp_path / "wheels", releases), tmp_path / "index") as index:
        arguments = [
            "--times",
            "1",
            "--skip",
            "minimize",
            "--skip",
            "artifacts",
            "-o",
            str(bench.out),
            "--index",
            index,
            "--json",
        ]
        assert main(["triage", str(path), "--torch", "minors", *arguments]) == 1
        answer = json.loads(bench._capsys.readouterr().out)
        assert answer["torch"] == "2.32.0"
        assert {name: one["outcome"] for name, one in answer["releases"].items()} == {
            "2.30.0": "pass", "2.31.0": "raise", "2.32.0": "raise", "2.33.0": "pass",
        }  # fmt: skip
        assert "Fixed in torch 2.33.0" in (bench.out / "report.md").read_text()
        assert '# torch = ">=2.31.0,<2.33.0"' in (bench.out / "case.py").read_text()
        assert main(["triage", str(path), "--torch", "2.30.0", "--torch", "2.33.0", *arguments]) == 0


def test_a_known_bug(bench: Bench) -> None:
    identity = {"outcome": "raise", "error": "torch._dynamo.exc.InternalTorchDynamoError"}
    bug = {"torch": ">=2.80", **identity, "match": "cannot compile double in any known way"}
    text = case_text("import torch\ndef test_it(): torch.compile(len)\n", bugs=[bug], title="Doubles do not compile")
    (bench.folder / "cases" / "known_bug.py").write_text(text)
    path = bench.program(
        """
        import torch

        def double(x):
            raise torch._dynamo.exc.InternalTorchDynamoError("cannot compile double in any known way") from None

        torch.compile(double)(1)
        """
    )
    answer = bench.answer(str(path), "--times", "1", "--skip", "minimize", "--skip", "artifacts")
    assert [(one["case"], one["kind"]) for one in answer["known"]] == [("known_bug", "identity")]


def test_verify_needs_a_triage(bench: Bench) -> None:
    code, _, err = bench.triage(str(bench.folder), "--verify")
    assert code == 2
    assert "holds no triage.json" in err


def test_environment_variables_do_not_decide(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "TORCH_COMPILE_DISABLE", "1")
    path = bench.program(PROGRAM + "\nimport os\nassert 'TORCH_COMPILE_DISABLE' not in os.environ\n")
    assert bench.triage(str(path), "--times", "1")[0] == 0
