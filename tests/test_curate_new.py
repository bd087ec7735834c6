"""`pt2bugs new`: a script becomes a check, with marks for what only a person knows; `check --watch`, `--fix`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.vocabulary import COMPONENTS, SYMPTOMS
from pt2bugs.cli import main
from pt2bugs.curate.new_case import name_of
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.curate.rules import problems_of
from pt2bugs.curate.script import CheckSource, script_to_check
from pt2bugs.errors import InputError


def draft(source: str) -> CheckSource:
    return script_to_check(textwrap.dedent(source), "script.py")


def body(source: str) -> str:
    return draft(source).program("test_it")


@pytest.mark.parametrize(
    ("word", "id_", "issue"),
    [
        ("163640", "pytorch_163640", "https://github.com/pytorch/pytorch/issues/163640"),
        ("pytorch_163640", "pytorch_163640", "https://github.com/pytorch/pytorch/issues/163640"),
        ("https://github.com/pytorch/pytorch/issues/5#issuecomment-1", "pytorch_5", ".../pytorch/pytorch/issues/5"),
        ("https://github.com/llvm/torch-mlir/issues/3024", "torch_mlir_3024", ".../llvm/torch-mlir/issues/3024"),
        ("inductor_shift", "inductor_shift", ""),
    ],
)
def test_names(word: str, id_: str, issue: str) -> None:
    assert (name_of(word).id, name_of(word).issue) == (id_, issue.replace("...", "https://github.com"))


@pytest.mark.parametrize("word", ["", "-1", "Shift", "a/b", "https://example.org/1"])
def test_bad_names(word: str) -> None:
    with pytest.raises(InputError, match="not an issue's number"):
        name_of(word)


def test_backend_and_device_become_parameters() -> None:
    made = draft("""
        import torch

        def f(x):
            return x.sin()

        x = torch.randn(3, device="cuda")
        assert torch.compile(f, backend="aot_eager")(x.cuda()).equal(f(x))
    """)
    assert (made.parameters, made.backends, made.devices) == (("device", "backend"), ("aot_eager",), ("cpu", "cuda"))
    program = made.program("test_it")
    assert "torch.randn(3, device=device)" in program
    assert "torch.compile(f, backend=backend)(x.to(device))" in program
    assert program.endswith('if __name__ == "__main__":\n    test_it("cpu", "aot_eager")\n')
    assert "torch.manual_seed(0)" in program
    compile(program, "program", "exec")


def test_a_decorator_and_a_bare_compile_are_inductors() -> None:
    made = draft("import torch\n\n@torch.compile\ndef f(x):\n    return x\n\nassert f(torch.ones(1)) == 1\n")
    assert made.backends == ("inductor",)
    assert "    compiled_f = torch.compile(f, backend=backend)\n    actual = compiled_f(" in made.program("test_it")


def test_several_backends_are_left_to_the_script() -> None:
    for second in ("name", "'inductor'"):
        calls = f"torch.compile(f, backend='eager'), torch.compile(f, backend={second})"
        assert draft(f"import torch\n{calls}\n").parameters == ()


def test_functions_stay_outside_unless_they_use_what_the_check_makes() -> None:
    program = body("""
        import torch

        weight = torch.ones(3)

        def free(x):
            return x + 1

        def bound(x):
            return x * weight

        torch.testing.assert_close(torch.compile(bound)(free(weight)), bound(free(weight)))
    """)
    head, _, check = program.partition("def test_it")
    assert "def free(x)" in head
    assert "def bound(x)" in check


def test_a_printed_comparison_is_asserted() -> None:
    program = body("""
        import torch
        f = lambda x: x
        g = torch.compile(f)
        x = torch.ones(1)
        print("same?", torch.allclose(f(x), g(x)))
    """)
    assert "torch.testing.assert_close(f(x), g(x), rtol=1e-05, atol=1e-08)" in program
    assert "print" not in program
    assert PLACEHOLDER not in program


def test_two_printed_calls_are_compared() -> None:
    program = body("""
        import torch
        def f(x):
            return x
        g = torch.compile(f)
        x = torch.ones(1)
        print("eager", f(x))
        print("compiled", g(x))
    """)
    assert "torch.testing.assert_close(g(x), f(x))" in program
    assert PLACEHOLDER not in program


def test_a_call_that_nobody_looks_at_is_compared_with_eager() -> None:
    program = body("""
        import torch
        def f(x):
            return x.add_(1)
        g = torch.compile(f)
        x = torch.ones(1)
        g(x)
    """)
    assert "import copy" in program
    assert (
        "expected = f(copy.deepcopy(x))\n    actual = g(x)\n    torch.testing.assert_close(actual, expected)" in program
    )


def test_every_call_that_nobody_looks_at_is_compared() -> None:
    program = body("""
        import torch
        @torch.compile
        def f(x):
            return x + flag
        flag = 1
        f(torch.ones(1))
        flag = 2
        f(torch.ones(1))
    """)
    assert program.count("torch.testing.assert_close(actual, expected)") == 2
    assert program.count("expected = f(torch.ones(1))") == 2
    assert program.index("flag = 2") < program.rindex("expected = f(")


def test_a_function_that_draws_gets_its_seed_before_either_call() -> None:
    program = body("""
        import torch
        def f(x):
            return x + torch.rand(3)
        torch.compile(f)(torch.ones(3))
    """)
    assert program.count("torch.manual_seed(0)\n") == 2


def test_of_a_function_that_gives_nothing_the_arguments_are_compared() -> None:
    program = body("""
        import torch
        def f(x):
            x.add_(1)
        x = torch.ones(1)
        torch.compile(f)(x)
    """)
    assert "expected, actual = [copy.deepcopy(x)], [x]\n    f(*expected)\n" in program
    assert "torch.testing.assert_close(actual, expected)" in program


def test_a_fragment_of_a_test_suite() -> None:
    made = draft("""
            def test_it(self):
                def f(x):
                    return x + 1
                self.assertEqual(torch.compile(f)(torch.ones(1)), f(torch.ones(1)))
                self.assertTrue(Dim)
                unknown(f)
    """)
    program = made.program("test_it")
    assert "import torch\nfrom torch.export import Dim\n" in program
    assert "torch.testing.assert_close(torch.compile(f, backend=backend)(torch.ones(1)), f(torch.ones(1)))" in program
    assert "assert Dim, 'Dim is false'\n" in program
    assert f"# {PLACEHOLDER}: the script does not say what unknown is" in program
    assert "self" not in program


def test_what_was_printed_stays_where_it_was() -> None:
    program = body("""
        import torch
        def f(x):
            return x
        print(f(1))
        x = 2
        print(f(x))
    """)
    assert program.index("    f(1)\n") < program.index("x = 2") < program.index("    f(x)\n")
    assert program.count(PLACEHOLDER) == 2


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nfor x in range(3):\n    print(torch.ones(x))\n",
        "import torch\nx = torch.ones(1)\nprint(torch.compile(torch.sin, dynamic=True))\n",
        "import torch\ntry:\n    torch.compile(f)(1)\nexcept Exception as error:\n    print(error)\n",
    ],
)
def test_what_cannot_be_told_is_marked(source: str) -> None:
    assert PLACEHOLDER in body(source)


def test_main_block_and_docstring() -> None:
    made = draft("""
        '''The sum is off by one.'''
        import torch

        def main():
            assert torch.compile(lambda x: x)(torch.ones(1)) == 1

        if __name__ == "__main__":
            main()
    """)
    assert made.doc == "The sum is off by one."
    assert made.program("test_it").count("__main__") == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cases").mkdir()
    (tmp_path / "script.py").write_text(
        "import torch\n\n\ndef f(x):\n    return x + 1\n\n\n"
        "x = torch.ones(3)\ntorch.testing.assert_close(torch.compile(f)(x), f(x))\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


TOLD = ["--title", "Off by one", "--component", "inductor", "--symptom", "wrong-result"]


def test_told_everything_it_is_a_case(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "7", "--from", "script.py", *TOLD]) == 0
    out, err = capsys.readouterr()
    path = Path(out.strip())
    assert path == Path("cases/inductor/pytorch_7.py")
    case = parse_case(path)
    assert (case.title, case.component, case.issue) == (
        "Off by one",
        "inductor",
        "https://github.com/pytorch/pytorch/issues/7",
    )
    assert not case.bugs, "what was not measured is not said"
    assert f"{path}:12: is to be filled in: why it happens" in err
    assert "then: pt2bugs run pytorch_7 --torch minors --bisect" in err
    assert main(["new", "7", "--from", "script.py"]) == 2
    assert "is there already" in capsys.readouterr().err


def test_an_issue_that_the_installed_corpus_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder without a corpus goes by that one: the nearest cases of a bug are told beside it, never in its place."""
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text("import torch\n\nprint(torch.compile(torch.sin)(torch.ones(3)))\n")
    assert main(["new", "163640", "--from", "script.py"]) == 2
    assert re.search(r"pytorch_163640: is documented by .*/pytorch_163640\.py;", capsys.readouterr().err)
    assert main(["new", "7", "--from", "script.py"]) == 0


def test_told_nothing_it_waits_outside_the_corpus(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "7", "--from", "script.py"]) == 0
    path = Path("pytorch_7.py")
    texts = [problem.text for problem in problems_of(path)]
    assert sum("is to be filled in" in text for text in texts) == 5
    assert not any("needs" in text for text in texts), "what is marked is not told twice"
    capsys.readouterr()
    assert main(["check", "pytorch_7.py", "--no-run"]) == 2
    err = capsys.readouterr().err
    assert "pytorch_7.py:7: title is to be filled in: the bug in one line" in err
    assert f"component is to be filled in: {' '.join(COMPONENTS)}\n" in err
    assert f"symptom is to be filled in: {' '.join(SYMPTOMS)}\n" in err


def test_check_refuses_marked_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "7", "--from", "script.py", *TOLD])
    capsys.readouterr()
    assert main(["check", "7", "--no-run"]) == 1
    assert "filled: cases/inductor/pytorch_7.py:12: is to be filled in" in capsys.readouterr().out


def test_fix_mends_what_is_mechanical(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "7", "--from", "script.py"])
    path = Path("pytorch_7.py")
    text = path.read_text()
    for key, value in {"title": "Off by one", "component": "inductor", "symptom": "wrong-result"}.items():
        line = next(line for line in text.split("\n") if line.startswith(f"# {key} = "))
        text = text.replace(line, f'# {key} = "{value}"   ')
    path.write_text(text.partition("\n\n\nif __name__")[0].replace("\n", "\r\n"), newline="")
    capsys.readouterr()
    main(["check", "pytorch_7.py", "--fix", "--no-run"])
    moved = Path("cases/inductor/pytorch_7.py")
    assert not path.exists()
    data = moved.read_bytes()
    assert b"\r" not in data
    assert b" \n" not in data
    assert data.endswith(b'if __name__ == "__main__":\n    test_issue("inductor")\n')
    assert "fixed: moved to cases/inductor/pytorch_7.py" in capsys.readouterr().err


@pytest.fixture
def watching(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A watch of a new case, pytorch_7."""
    main(["new", "7", "--from", "script.py", *TOLD])
    command = [sys.executable, "-m", "pt2bugs", "check", "--watch", "cases/inductor/pytorch_7.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_watch_shows_all_problems_and_ends_when_there_are_none(watching: subprocess.Popen[str]) -> None:
    """With the marked lines filled in it ends: the entries are measured, and it names how."""
    assert watching.stdout is not None and watching.stderr is not None
    path = Path("cases/inductor/pytorch_7.py")
    assert watching.stdout.readline().startswith(f"{path}:12: is to be filled in: why it happens")
    text = path.read_text().replace(f"{PLACEHOLDER}: why it happens, in the field's terms", "It adds two.")
    path.write_text(text.replace(f"{PLACEHOLDER}: what correct behaviour is", "Correct: it adds one."))
    rest = watching.stdout.read()
    assert watching.wait() == 0
    assert rest.splitlines()[-1] == "1 file: no problem"
    assert watching.stderr.read().splitlines()[-1] == "next: pt2bugs run pytorch_7 --torch minors --bisect"


def test_watch_outlives_a_file_that_is_away(watching: subprocess.Popen[str]) -> None:
    """As while an editor puts another in its place."""
    assert watching.stdout is not None
    path, away = Path("cases/inductor/pytorch_7.py"), Path("away")
    first = watching.stdout.readline()
    path.rename(away)
    lines = iter(watching.stdout.readline, "")
    assert any(line.startswith(f"{path}: cannot be read: ") for line in lines)
    away.rename(path)
    assert next(lines) == first


def test_watch_is_ended_by_ctrl_c(watching: subprocess.Popen[str]) -> None:
    """It has measured nothing, so that it speaks of no journal."""
    assert watching.stdout is not None and watching.stderr is not None
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    assert "journal" not in watching.stderr.read()
    assert watching.wait() == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "7", "--from", "nowhere.py"], "nowhere.py: cannot be read"),
        (["new", "7", "--from", "cases"], "`pt2bugs triage SCRIPT -o DIR` leaves one"),
        (["new", "7", "--from", "broken.py"], "broken.py:1: is not Python"),
        (["new", "Seven"], "Seven: not an issue's number"),
    ],
)
def test_bad_input(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    Path("broken.py").write_text("def f(:\n")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_from_a_triage(folder: Path) -> None:
    """What a triage measured is taken over; what it could not know is marked."""
    main(["new", "some_bug", "--from", "script.py", *TOLD])
    made = Path("cases/inductor/some_bug.py")
    entry = ["[[tool.pt2bugs.bug]]", 'torch = "==2.9.1"', 'outcome = "raise"', 'error = "RuntimeError"', 'match = "no"']
    lines = "".join(f"# {line}\n" for line in entry)
    text = made.read_text().replace("# ///\n", f"#\n{lines}# ///\n")
    text = re.sub(r'"torch[^"]*"', '"torch==2.8.0"', text, count=1)
    Path("found").mkdir()
    Path("found/case.py").write_text(text)
    made.unlink()
    assert main(["new", "8", "--from", "found"]) == 0
    case = parse_case(Path("cases/inductor/pytorch_8.py"))
    assert (case.component, case.title, [str(bug.torch) for bug in case.bugs]) == (
        "inductor",
        "Off by one",
        ["==2.9.1"],
    )
    assert case.dependencies[0] == "torch==2.8.0", "the release that the triage pinned"


def test_the_program_is_laid_out(folder: Path) -> None:
    values = ", ".join(["0.25"] * 60)
    Path("script.py").write_text(f"import torch\nx = torch.tensor([{values}], device='cuda')\nassert x.sum() == 15\n")
    assert main(["new", "7", "--from", "script.py", *TOLD]) == 0
    lines = Path("cases/inductor/pytorch_7.py").read_text().split("\n")
    assert max(map(len, lines)) <= 120
    assert "        device=device," in lines
    assert main(["new", "8", "--from", "script.py"]) == 0
    assert max(map(len, Path("pytorch_8.py").read_text().split("\n"))) <= 120
