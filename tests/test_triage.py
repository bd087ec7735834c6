"""`pt2bugs triage` on a fake torch: whole runs of the command, in milliseconds each."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.cli import main
from pt2bugs.curate.placeholders import placeholders_in
from pt2bugs.triage.budget import Budget
from suite import case_text, compiles
from triage_bench import PROGRAM, Bench, python_with

KEYS = {
    "outcome", "identity", "rate", "ladder", "first_failing", "class", "component", "known", "releases", "artifacts",
    "minimized", "torch", "verdict", "reason", "workarounds",
}  # fmt: skip
SMALL = ("--skip", "minimize", "--skip", "artifacts")
LAYERS = ["none", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor"]


def test_the_whole_of_it(bench: Bench) -> None:
    path = bench.program(PROGRAM)
    answer = bench.answer(str(path), faults={"double": "raise@aot_eager"})
    assert set(answer) == KEYS
    assert answer["outcome"] == "raise"
    assert answer["identity"]["error_type"] == "torch._dynamo.exc.InternalTorchDynamoError"
    assert answer["identity"]["message"] == "cannot compile double"
    assert answer["identity"]["frame"].startswith("torch/__init__.py:")
    assert answer["rate"] == [3, 3]
    assert [entry["rung"] for entry in answer["ladder"][:5]] == LAYERS
    assert [entry["outcome"] for entry in answer["ladder"][:5]] == ["pass", "pass", "raise", "raise", "raise"]
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
    assert "triage/inside" not in report and "run_call" not in report
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
    assert [mark.text.partition(": ")[2] for mark in placeholders_in(bug)] == [
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


def test_what_fails_without_the_compiler_is_no_bug_of_it(bench: Bench) -> None:
    path = bench.program(f"{PROGRAM}\nraise ValueError('my own mistake')\n")
    answer = bench.answer(str(path))
    assert (answer["first_failing"], answer["class"], answer["component"]) == ("none", None, None)
    assert (answer["verdict"], answer["reason"]) == ("not-a-bug", "fails-without-compiler")
    assert [entry["outcome"] for entry in answer["ladder"]] == ["raise", "skip", "skip", "skip", "skip"]


def ladder_of_accepted(bench: Bench, complaint: str) -> list[dict[str, str]]:
    """Of a program that complains where no layer refuses. Its value differs from AOTAutograd on: that is the layer."""
    path = bench.program(f"""
        import torch
        from torch._dynamo.utils import counters

        def double(x):
            return x * 2

        try:
            value = torch.compile(double)(torch.arange(4)).sum()
        except RuntimeError:
            pass
        else:
            {complaint}
    """)
    skip = ("--times", "1", "--skip", "artifacts", "--skip", "minimize")
    answer = bench.answer(str(path), *skip, faults={"double": "wrong@aot_eager"})
    assert (answer["first_failing"], answer["class"]) == ("aot_eager", "missing-error")
    return list(answer["ladder"])


def test_what_shows_without_the_compiler_too_is_another_failure(bench: Bench) -> None:
    ladder = ladder_of_accepted(bench, 'raise AssertionError(f"accepted, gave {value}")')
    assert [entry["message"][-2:] for entry in ladder[:3]] == ["12", "12", "16"]


def test_where_every_layer_accepts_the_one_that_gives_this_result_counts(bench: Bench) -> None:
    """Without the compiler it passes, as nothing was compiled; Dynamo alone gives what eager gives."""
    complaint = 'assert not counters["stats"]["unique_graphs"], f"accepted, gave {value}"'
    ladder = ladder_of_accepted(bench, complaint)
    assert [entry["outcome"] for entry in ladder[:3]] == ["pass", "wrong", "wrong"]
    assert [entry["message"][-2:] for entry in ladder[1:3]] == ["12", "16"]


def test_what_a_person_reads_names_the_release(bench: Bench) -> None:
    """Which build of it stands in the versions of the report, and in the JSON."""
    python_with(bench.folder / "env", {"double": "raise"}, "2.90.0+cpu")
    skip = ("--times", "1", "--skip", "artifacts", "--skip", "minimize")
    path = bench.program(PROGRAM)
    assert bench.triage(str(path), *skip)[1].startswith("raise in 1 of 1 runs on torch 2.90.0\n")
    assert "In 1 of 1 runs on torch 2.90.0 it raises" in (bench.out / "report.md").read_text()
    assert json.loads((bench.out / "triage.json").read_text())["torch"] == "2.90.0+cpu"
    refused = bench.triage(str(bench.program("import no_such_module\n")))[2]
    assert "cannot import what it needs with torch 2.90.0: " in refused


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
    assert answer["verdict"] is None, "nobody is accused"
    assert "**Not decided**" in (bench.out / "report.md").read_text()
    assert not (bench.out / "case.py").exists()


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
        told = json.loads(bench._capsys.readouterr().out)
        assert told["files"][0]["answer"] == answer
        assert told["fixed"] == (code == 0)


def test_verify_tells_what_the_budget_left_out(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two", "three"):
        (bench.folder / "cases" / f"{name}.py").write_text(case_text(compiles(name), component="aotautograd"))
    skip = ("--times", "1", "--skip", "artifacts", "--skip", "minimize")
    bench.answer(str(bench.program(PROGRAM)), *skip, faults={"double": "raise@aot_eager"})
    command = ["triage", str(bench.out), "--verify", "--python-exe", str(python_with(tmp_path / "fixed", {}))]

    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["neighbours"], told["neighbours_not_run"]) == (3, 0)

    asked = itertools.count()
    over = property(lambda _: next(asked) > 3)  # three files and one neighbour are asked for first
    monkeypatch.setattr(Budget, "is_over", over)
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["neighbours"], told["neighbours_not_run"]) == (1, 2)

    monkeypatch.setattr(Budget, "is_over", property(lambda _: True))
    assert main(command) == 1
    out = capsys.readouterr().out
    assert "case.py: cannot say (the budget was spent)" in out
    assert "3 of 3 cells were not run: the budget was spent" in out


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
        assert {name: entry["outcome"] for name, entry in answer["releases"].items()} == {
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
    assert [(entry["case"], entry["kind"]) for entry in answer["known"]] == [("known_bug", "identity")]


def test_verify_needs_a_triage(bench: Bench) -> None:
    code, _, err = bench.triage(str(bench.folder), "--verify")
    assert code == 2
    assert "holds no triage.json" in err


def test_a_secret_that_the_exception_quotes(bench: Bench) -> None:
    path = bench.program(f"password = 'open sesame'\n{PROGRAM}\nraise ValueError(f'login as open sesame failed')\n")
    bench.answer(str(path))
    for file in bench.out.rglob("*"):
        assert "open sesame" not in file.read_text()


def test_a_secret_whose_line_the_minimal_program_lacks(bench: Bench) -> None:
    """Its message still quotes the value."""
    path = bench.program("""
        import torch

        api_token = "zq8-velvet-hammer"

        def double(x):
            return x * 2

        try:
            torch.compile(double)(torch.arange(4))
        except RuntimeError:
            raise ValueError("login as zq8-velvet-hammer failed")
    """)
    answer = bench.answer(str(path), "--skip", "artifacts", faults={"double": "raise@aot_eager"})
    assert "api_token" not in Path(answer["minimized"]["path"]).read_text()
    for file in bench.out.rglob("*.*"):
        assert "velvet" not in file.read_text()


@pytest.mark.parametrize(
    "begin",
    [
        "os.remove(__file__)",
        "os.rename(__file__, f'{__file__}.old')",
        # What a link in its place leads to is no program, and may not be shown to the next run.
        "os.remove(__file__); os.symlink('/nowhere/secret', __file__)",
    ],
)
def test_a_program_that_is_gone_when_it_ends(bench: Bench, begin: str) -> None:
    path = bench.program(f"import os\n{begin}\n{PROGRAM}")
    answer = bench.answer(str(path), "--skip", "minimize", "--skip", "artifacts", faults={"double": "raise@aot_eager"})
    assert (answer["rate"], answer["first_failing"]) == ([3, 3], "aot_eager")
    assert path.exists()
    assert "does not fail as the program does" not in (bench.out / "report.md").read_text()


def test_a_message_cannot_end_its_fence(bench: Bench) -> None:
    path = bench.program(f"{PROGRAM}\nraise ValueError('```\\n# not a title\\n@somebody')\n")
    bench.answer(str(path))
    report = (bench.out / "report.md").read_text()
    assert "````\nValueError: ```" in report


def notebook(*cells: str) -> str:
    """The text of a notebook with these code cells, and one of words."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "# words"}, *code], "nbformat": 4})


def test_the_code_cells_of_a_notebook(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "study.ipynb"
    path.write_text(notebook("%matplotlib inline\n!pip install torch\nimport torch?", "%%bash\nls", PROGRAM))
    answer = bench.answer(str(path), "--times", "1", *SMALL, faults={"double": "raise@aot_eager"})
    assert answer["first_failing"] == "aot_eager"
    assert (bench.out / "test_study.py").exists()
    for text, problem in (("{}", "is not a notebook"), ("[", "is not a notebook"), (notebook(), "has no code cell")):
        path.write_text(text)
        code, _, err = bench.triage(str(path))
        assert code == 2
        assert problem in err


def test_a_folder_of_programs(bench: Bench) -> None:
    """A line of JSON for each, also for those that cannot be run; none has a network."""
    folder = bench.folder / "issues"
    folder.mkdir()
    (folder / "fails.py").write_text(PROGRAM)
    (folder / "passes.ipynb").write_text(notebook(PROGRAM.replace("double", "twice")))
    (folder / "broken.py").write_text("import torch\nx = (")
    (folder / "alone.py").write_text(
        "import socket, torch\ntorch.compile(len)([1])\nsocket.create_connection(('192.0.2.1', 80), timeout=5)\n"
    )
    (folder / "notes.txt").write_text("no program")
    code, out, _ = bench.triage(
        str(folder), "--json", "--jobs", "2", "--times", "1", *SMALL, faults={"double": "raise@aot_eager"}
    )
    answers = {answer["program"]: answer for answer in map(json.loads, out.splitlines())}
    assert code == 1
    assert sorted(answers) == ["alone.py", "broken.py", "fails.py", "passes.ipynb"]
    assert "is not Python" in answers["broken.py"]["problem"]
    assert set(answers["fails.py"]) == {"program", *KEYS}
    assert answers["passes.ipynb"]["outcome"] == "pass"
    # Where the system does not let a network be taken away, no program is run.
    alone = answers["alone.py"]
    assert "unreachable" in alone.get("identity", {"message": "unreachable"})["message"]
    assert (bench.out / "fails.py" / "report.md").exists()
    (bench.folder / "empty").mkdir()
    assert bench.triage(str(bench.folder / "empty"))[0] == 3


def test_the_page_is_short(bench: Bench) -> None:
    """At most 4 kB beside the program and the traceback, whatever the program says."""
    complaint = "raise ValueError('no | <b>' + 'word ' * 4000)"
    path = bench.program(f"{PROGRAM}\n{complaint}\n".replace("def double(x):\n", f"def double(x):\n    {complaint}\n"))
    bench.answer(str(path), *SMALL, "--times", "1")
    page = (bench.out / "report.md").read_text()
    program, traceback = path.read_text(), page.partition("<summary>Traceback</summary>")[2].partition("</details>")[0]
    assert len(page) - len(traceback) - len(program) <= 4096
    assert page.index("**No bug") < page.index("## What happens") < page.index("## Program") < page.index("## Ladder")


def test_what_can_be_done_comes_first(bench: Bench) -> None:
    """Each workaround was tried: also to leave one function uncompiled."""
    source = PROGRAM.replace(
        "def double(x):\n    return x * 2", "def helper(x):\n    return x * 2\n\n\ndef double(x):\n    return helper(x)"
    )
    bench.answer(str(bench.program(source)), *SMALL, "--times", "1", faults={"double": "raise@inductor"})
    page = (bench.out / "report.md").read_text()
    assert 'passes with `torch.compile(..., backend="aot_eager")` (' in page
    assert page.index("known: no bug") < page.index("passes with") < page.index("## What happens")


def test_a_program_that_asks_for_a_gpu_by_itself(bench: Bench) -> None:
    path = bench.program(
        "import torch\nclass cuda:\n    is_available = staticmethod(lambda: False)\nassert cuda.is_available()\n"
    )
    code, _, err = bench.triage(str(path))
    assert code == 2
    assert "needs a GPU" in err


TOUCHED = """
import os

touched = []


def is_available():
    touched.append(os.getpid())
    return False


def __getattr__(name):
    touched.append(os.getpid())
    raise AttributeError(name)
"""
"""A `torch.cuda` that keeps which process asks it for anything."""


def test_a_process_that_is_forked_never_touches_a_gpu(bench: Bench) -> None:
    """A fork inherits the list: what the program finds there before it asks anything, a parent has asked."""
    python = python_with(bench.folder / "env", {"double": "raise"})
    (site,) = (bench.folder / "env").glob("lib/python3.*/site-packages")
    (site / "torch" / "cuda.py").write_text(TOUCHED)
    begin = "import os, torch.cuda\nassert not torch.cuda.touched\ntorch.cuda.is_available()\n"
    path = bench.program(f"{begin}assert torch.cuda.touched == [os.getpid()]\n{PROGRAM}")
    assert python.exists()
    answer = bench.answer(str(path), *SMALL, "--times", "1")
    assert (answer["outcome"], answer["identity"]["message"]) == ("raise", "cannot compile double")


def test_the_name_of_the_program_is_no_part_of_its_failure(bench: Bench) -> None:
    path = bench.folder / "u06.py"
    path.write_text(
        f"{(bench.program(PROGRAM)).read_text()}\nimport os\nraise ValueError(os.path.basename(__file__))\n"
    )
    assert bench.answer(str(path))["identity"]["message"] == "program.py"
