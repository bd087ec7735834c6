"""The functions for Python programs: light to import, typed, and the examples of their page run."""

from __future__ import annotations

import csv
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pt2bugs
import pytest
from pt2bugs.case.model import Case
from pt2bugs.errors import InputError, Pt2bugsError
from seeded import write_case, write_journal
from suite import Suite, case_text

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
CHECK = """
import torch

def double(x):
    return x * 2

def test_it(backend):
    x = torch.ones(3)
    torch.testing.assert_close(torch.compile(double, backend=backend)(x), double(x))
"""
BUG = {"outcome": "wrong", "error": "AssertionError", "match": "not close"}


def python(*code: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "\n".join(code)]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=200
    )


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_that_read(tmp_path: Path) -> None:
    for name in ("cases", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = python(*examples()[:2], cwd=tmp_path, PYTHONPATH=str(ROOT / "harness"))
    assert done.returncode == 0, done.stderr
    assert f"{len(pt2bugs.load_cases(ROOT / 'cases'))} cases" in done.stdout
    assert "cases show their bug on the newest release" in done.stdout


@pytest.mark.parametrize(("faults", "message"), [({"double": "wrong"}, "wrong xfail"), ({}, "pass xpass")])
def test_the_example_that_runs(suite: Suite, faults: dict[str, str], message: str) -> None:
    """On a fake torch, with a case of that id."""
    from fake_torch import write_torch

    suite.case("pytorch_163640", CHECK, bugs=[BUG])
    fake = write_torch(suite.folder / "other", "2.91.0", faults)
    done = python("import pt2bugs", examples()[2], cwd=suite.folder, PYTHONPATH=f"{ROOT / 'harness'}:{fake}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"2.91.0 {message}\n")
    assert ("the documented bug: Tensor-likes are not close!" in done.stdout) is bool(faults)


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys; import pt2bugs; print([n for n in sys.modules if n.startswith('pt2bugs.') or n == 'pandas'])"
    assert python(code, cwd=ROOT, PYTHONPATH=str(ROOT / "harness")).stdout == "[]\n"
    code = "import sys; import pt2bugs; pt2bugs.load_cases('cases'); print({'pandas', 'torch'} & set(sys.modules))"
    assert python(code, cwd=ROOT, PYTHONPATH=str(ROOT / "harness")).stdout == "set()\n"


def test_names_of_the_package() -> None:
    assert {"load_cases", "load_cells", "run_cell", "CellResult"} <= set(dir(pt2bugs)) & set(pt2bugs.__all__)
    with pytest.raises(AttributeError, match="module 'pt2bugs' has no attribute 'load_case'"):
        getattr(pt2bugs, "load_case")  # noqa: B009 - mypy knows that there is none
    for name in ("load_cases", "load_cells", "run_cell", "match", "bisect", "triage"):
        function = inspect.unwrap(getattr(pt2bugs, name))
        assert function.__doc__
        parameters = inspect.signature(getattr(pt2bugs, name)).parameters.values()
        assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)
        (heading,) = re.findall(rf"^## {name}\((.*)\)$", PAGE, re.MULTILINE)
        told = [text.strip().partition("=")[0] for text in heading.replace("\\*", "*").split(",")]
        assert [text for text in told if text != "*"] == [parameter.name for parameter in parameters]


def test_the_page_names_every_field_of_a_result() -> None:
    fields = pt2bugs.CellResult.__dataclass_fields__
    (told,) = re.findall(r"`CellResult` is a frozen dataclass with (.*?), as\n", PAGE, re.DOTALL)
    assert re.findall(r"`(\w+)`", told) == list(fields)


def test_cells(tmp_path: Path) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.13.0": ".", "2.12.1": "E"})
    cells = pt2bugs.load_cells(tmp_path / "results", tmp_path / "cases")
    assert list(cells["torch"]) == ["2.9.1", "2.12.1", "2.13.0"]
    assert list(cells["verdict"]) == ["xfail", "error", "pass"]
    others = {"graphs": "Int64", "started": "datetime64[ns, UTC]", "duration_s": "float64"}
    assert {name: str(cells[name].dtype) for name in others} == others
    assert {str(dtype) for dtype in cells.drop(columns=list(others)).dtypes} == {"string"}
    assert set(cells["component"]) == {"dynamo"}
    assert set(cells["issue"]) == {"https://example.org/issues/1"}
    assert cells["started"].dt.year.eq(2026).all()
    assert not cells.drop(columns="graphs").isna().any().any()


def test_cells_of_the_committed_results_are_those_of_the_table() -> None:
    cells = pt2bugs.load_cells(ROOT / "results", ROOT / "cases")
    with (ROOT / "results" / "cells.csv").open(newline="", encoding="utf-8") as file:
        assert list(cells.columns) == [*next(csv.reader(file)), "component", "issue", "started", "duration_s"]
    assert isinstance(cells, pd.DataFrame)
    assert len(cells)


def test_a_case_as_a_dict_has_its_attributes_as_keys() -> None:
    for case in pt2bugs.load_cases(ROOT / "cases")[:3]:
        assert [name for name in case.as_dict() if not hasattr(case, name)] == []
        assert {"case": case.id, "case_hash": case.hash}.items() <= case.as_json().items()


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or folder"):
        pt2bugs.load_cases(tmp_path / "none")
    with pytest.raises(InputError, match="there is no such folder of results"):
        pt2bugs.load_cells(tmp_path / "none")


@pytest.fixture
def case(tmp_path: Path) -> Case:
    path = tmp_path / "pytorch_1.py"
    path.write_text(case_text(CHECK + "\ndef test_other():\n    pass\n", backends=["eager", "inductor"]))
    (only,) = pt2bugs.load_cases(path)
    return only


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pytorch_1 has 2 checks: name one of test_it, test_other"),
        ({"check": "test_none"}, r"has no cell test_none\[cpu-eager\]: checks test_it, test_other; devices cpu"),
        ({"check": "test_it", "device": "cuda"}, r"has no cell test_it\[cuda-eager\]"),
        ({"check": "test_it", "python": "/nowhere/python"}, "cannot be started"),
    ],
)
def test_what_cannot_be_asked(case: Case, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(Pt2bugsError, match=message):
        pt2bugs.run_cell(case, **arguments)


def test_a_word_that_names_no_case() -> None:
    with pytest.raises(InputError, match="no case 'pytorch_0'"):
        pt2bugs.run_cell("pytorch_0")


def test_a_bisection_by_what_was_measured(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, {"2.8.0": ".", "2.9.1": "B", "2.10.0": "."})
    result = pt2bugs.bisect(str(path), offline=True, results=tmp_path / "results")
    introduced, fixed = result.changes
    assert (introduced.kind, introduced.before, introduced.after) == ("introduced", "2.8.0", "2.9.1")
    assert (fixed.kind, fixed.before, fixed.after) == ("fixed", "2.9.1", "2.10.0")
    assert result.decided
    assert result.releases == {"2.8.0": "no bug", "2.9.1": "bug", "2.10.0": "no bug"}
    (case,) = pt2bugs.load_cases(path)
    assert pt2bugs.bisect(case, offline=True, results=tmp_path / "results") == result


def test_a_traceback_is_recognized(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: unheard of\n'
    (recognition,) = pt2bugs.match(text, results=tmp_path / "results", folder=tmp_path / "cases")
    assert "unheard of" in recognition.text
    assert not recognition.is_known


@pytest.mark.parametrize(
    "imports",
    [
        ["import pt2bugs"],
        ["import pt2bugs.match.known, pt2bugs.bisect.search, pt2bugs.triage.program"],
        ["import pt2bugs", "before = pt2bugs.match, pt2bugs.bisect, pt2bugs.triage", "import pt2bugs.match.known"],
    ],
)
def test_functions_with_the_name_of_a_room(imports: list[str]) -> None:
    """Whoever imported a module of the room before, or imports one later."""
    code = [
        *imports,
        "from pt2bugs import bisect, match, triage",
        "print(*(name.__wrapped__.__module__ for name in (match, bisect, triage)), match('ValueError: x')[0].is_known)",
        "import pt2bugs.match.tracebacks",
        "print(pt2bugs.match is match, callable(pt2bugs.match), pt2bugs.match.tracebacks.__name__)",
    ]
    done = python(*code, cwd=ROOT, PYTHONPATH=str(ROOT / "harness"))
    assert done.stdout.splitlines() == [
        "pt2bugs.api pt2bugs.api pt2bugs.api False",
        "True True pt2bugs.match.tracebacks",
    ], done.stderr


def test_a_triage(suite: Suite) -> None:
    """Of a program on a fake torch whose compiled programs compute something else."""
    from fake_torch import write_torch

    fake = write_torch(suite.folder / "other", "2.91.0", {"double": "wrong"})
    (suite.folder / "program.py").write_text(
        CHECK.replace("test_it(backend)", "main()").replace(", backend=backend", "") + "\nmain()\n"
    )
    code = (
        "import pt2bugs; r = pt2bugs.triage('program.py', minutes=1, skip=['artifacts', 'minimize'], folder='cases'); "
    )
    code += "print(r.outcome, r.verdict, r.symptom, r.layer, r.folder, (r.folder / 'report.md').exists())"
    (suite.folder / "cases").mkdir(exist_ok=True)
    done = python(code, cwd=suite.folder, PYTHONPATH=f"{ROOT / 'harness'}:{fake}")
    assert done.stdout == "wrong bug wrong-result eager triage-program True\n", done.stderr
