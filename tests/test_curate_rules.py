"""The rules of admission, on files, on journal lines, and on real runs of the torch at hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case
from pt2bugs.case.observation import NOT_IMPORTED
from pt2bugs.cli import main
from pt2bugs.curate.rules import (
    RULES,
    Prober,
    check_compiles,
    check_duration,
    check_edges,
    check_graphs,
    check_header,
    check_imports,
    check_main,
    check_pinned,
    check_releases,
    check_size,
    check_unique,
    findings_of,
)
from pt2bugs.curate.script import lines_of_code
from pt2bugs.engine.sandbox import WRITE_VARIABLE
from suite import case_text

DOC = '"""Why it happens,\nwhat is right,\nand the source."""\n'
BUG = {"torch": "<2.14", "outcome": "wrong", "error": "AssertionError", "match": "Mismatched elements: 3 / 3"}
GOOD = """
import torch


def double(x):
    return x * 2


def test_double(device, backend):
    x = torch.ones(3, device=device)
    torch.testing.assert_close(torch.compile(double, backend=backend)(x), {right})


if __name__ == "__main__":
    test_double("cpu", "eager")
"""
RIGHT = GOOD.format(right="double(x)")
# Wrong with the compiler alone, as a bug is: eager never gets here with a traced value.
BROKEN = RIGHT.replace("return x * 2", "return x * (3 if torch.compiler.is_compiling() else 2)")


def write(folder: Path, program: str = RIGHT, name: str = "pytorch_1", **settings: Any) -> Case:
    path = folder / f"{name}.py"
    path.write_text(case_text(DOC + program, **{"backends": ["eager"], "symptom": "wrong-result", **settings}))
    return parse_case(path)


def line(torch: str, verdict: str, **more: Any) -> Any:
    where = {"check": "test_double", "device": "cpu", "backend": "eager", "outcome": "wrong"}
    return {
        "torch": torch,
        "verdict": verdict,
        "message": "",
        "graphs": 1,
        "duration_s": 0.5,
        "frame": "",
        "python": "3.11.7",
        "platform": "linux",
        "cpu_capability": "",
        "extras": [],
        **where,
        **more,
    }


def test_a_complete_header(tmp_path: Path) -> None:
    assert check_header(write(tmp_path, bugs=[BUG])).holds
    assert check_header(write(tmp_path, guard=True)).holds


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "neither a [[tool.pt2bugs.bug]] entry nor guard = true"),
        ({"bugs": [{"outcome": "raise", "error": "X"}]}, "needs error and match"),
        ({"bugs": [{"outcome": "crash"}]}, "needs signal"),
        ({"bugs": [BUG], "symptom": "crash"}, "symptom 'crash' is shown by no entry: they say wrong"),
        (
            {
                "bugs": [{"outcome": "raise", "error": "torch._inductor.exc.InductorError", "match": "no such size"}],
                "symptom": "internal-error",
            },
            "symptom 'internal-error': InductorError is a 'backend-failure'",
        ),
    ],
)
def test_an_incomplete_header(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    finding = check_header(write(tmp_path, **settings))
    assert finding.holds is False
    assert message in finding.message


def test_a_docstring_that_says_too_little(tmp_path: Path) -> None:
    path = tmp_path / "pytorch_1.py"
    path.write_text(case_text('"""Short."""\n' + RIGHT, bugs=[BUG]))
    assert "the docstring has 1 line, not 3 to 10" in check_header(parse_case(path)).message


def test_imports(tmp_path: Path) -> None:
    assert check_imports(write(tmp_path)).holds
    finding = check_imports(write(tmp_path, "import numpy.linalg\n" + RIGHT))
    assert (finding.holds, finding.message) == (False, "imports numpy")
    assert check_imports(write(tmp_path, "import numpy.linalg\n" + RIGHT, labels=["numpy"])).holds


def test_what_registers_a_private_backend_may_be_imported(tmp_path: Path) -> None:
    (tmp_path / "pt2bugs.toml").write_text('[backends.toyc]\nimport = "toyc.register"\n')
    assert check_imports(write(tmp_path, "import toyc\n" + RIGHT, backends=["toyc"])).holds
    assert check_imports(write(tmp_path, "import toyc\n" + RIGHT)).message == "imports toyc"


def test_a_release_that_cannot_import_the_file_is_named(tmp_path: Path) -> None:
    case = write(tmp_path, bugs=[BUG])
    lacking = f"{NOT_IMPORTED}: cannot import name 'lookup_backend' from 'torch._dynamo'"
    records = [line("2.0.1", "error", message=lacking), line("2.1.2+cpu", "error", message=lacking)]
    finding = check_imports(case, [*records, line("2.2.2", "xfail"), line("2.3.1", "error", message="no compiler")])
    assert finding.holds is False
    assert finding.message.startswith("torch 2.0.1, 2.1.2 cannot import the file: ")
    assert "requires-torch" in finding.message
    answered = [line("2.0.1", "skip"), line("2.1.2", "pass", check="test_other")]
    assert check_imports(case, [*records, *answered]).holds, "an answer of another Python or by the header"


def test_lines_of_code() -> None:
    text = '"""Doc\nstring."""\n\n# comment\nx = """a\nb"""\n\ndef f():\n    "doc"\n    return (1,\n        2)\n'
    assert lines_of_code(text) == 5


def test_size(tmp_path: Path) -> None:
    assert check_size(write(tmp_path)).holds
    assert not check_size(write(tmp_path, RIGHT + "x = 1\n" * 80)).holds


def test_unique(tmp_path: Path) -> None:
    case = write(tmp_path, bugs=[BUG])
    renamed = write(tmp_path, RIGHT.replace("double", "twice"), "pytorch_2", bugs=[BUG])
    other = write(tmp_path, RIGHT.replace("x * 2", "x.sin()"), "pytorch_3", bugs=[BUG])
    assert check_unique(case, [case, other]).holds
    finding = check_unique(case, [case, renamed, other])
    assert (finding.holds, finding.message) == (False, "does the same as pytorch_2")


@pytest.mark.parametrize(
    ("guard", "verdicts", "holds", "message"),
    [
        (False, {"2.9.1": "xfail", "2.14.0": "pass"}, True, "fails on 2.9.1 to 2.9.1, passes on 2.14.0"),
        (False, {"2.9.1": "xfail", "2.14.0": "xfail"}, True, "on every release with an answer: not fixed yet"),
        (False, {"2.9.1": "pass"}, False, "seen failing on no release"),
        (False, {"2.9.1": "xfail", "2.10.0": "fail"}, False, "not as its header says on 2.10.0"),
        (False, {"2.9.1": "error", "2.10.0": "skip"}, False, "nothing measured"),
        (False, {}, False, "nothing measured; `pt2bugs run pytorch_1 --torch minors --bisect`"),
        (True, {"2.9.1": "pass", "2.10.0": "pass"}, True, "guard: passes on 2 releases"),
    ],
)
def test_releases(tmp_path: Path, guard: bool, verdicts: dict[str, str], holds: bool, message: str) -> None:
    case = write(tmp_path, **({"guard": True} if guard else {"bugs": [BUG]}))
    finding = check_releases(case, [line(torch, verdict) for torch, verdict in verdicts.items()])
    assert finding.holds is holds
    assert message in finding.message


@pytest.mark.parametrize(
    ("lines", "holds", "message"),
    [
        ([line("2.13.0", "xfail")], True, "fails on 2.13.0"),
        ([line("2.12.1", "xfail")], False, "is not measured on torch 2.13.0; `pt2bugs run pytorch_1 --torch 2.13.0`"),
        ([line("2.13.0", "pass")], False, "does not show the bug on torch 2.13.0: pin the newest release that shows"),
        ([line("2.13.0", "pass"), line("2.13.0", "xfail", check="test_other")], False, "call test_other there"),
        ([line("2.13.0", "xfail", backend="aot_eager")], False, "is not measured on torch 2.13.0"),
    ],
)
def test_the_program_at_the_release_it_pins(tmp_path: Path, lines: list[Any], holds: bool, message: str) -> None:
    """The main block runs `test_double` with eager."""
    case = write(tmp_path, bugs=[BUG], backends=["eager", "aot_eager"])
    finding = check_pinned(case, lines)
    assert (finding.holds, message in finding.message) == (holds, True), finding.message


def test_what_was_not_measured_is_asked_for_by_one_rule(tmp_path: Path) -> None:
    """One run answers them all: `releases` names it, and nothing is said of graphs that no run could count."""
    case = write(tmp_path, bugs=[BUG])
    findings = [check_pinned(case, []), check_compiles(case, []), check_releases(case, [])]
    assert [finding.holds for finding in findings] == [None, None, False]


def test_the_pin_is_the_newest_release_that_fails(tmp_path: Path) -> None:
    case = write(tmp_path, bugs=[BUG])
    finding = check_pinned(case, [line("2.13.0+cpu", "xfail"), line("2.13.1+cpu", "xfail"), line("2.14.0", "pass")])
    assert (finding.holds, "fails on torch 2.13.1, too" in finding.message) == (False, True)
    other = line("2.13.1", "xfail", check="test_other")
    assert check_pinned(case, [line("2.13.0", "xfail"), other]).holds, "what the main block runs is what counts"
    of_a_python = {**BUG, "torch": ">=2.14", "python": ">=3.13"}
    case = write(tmp_path, bugs=[{**BUG, "torch": "<2.14"}, of_a_python])
    lines = [line("2.13.0", "xfail"), line("2.14.0", "xfail", python="3.13.1")]
    assert check_pinned(case, lines).holds, "a pin names no Python"


def test_the_main_block_runs_all_checks(tmp_path: Path) -> None:
    assert check_main(write(tmp_path, guard=True)).holds
    more = RIGHT.replace("if __name__", "def test_other(device):\n    pass\n\n\nif __name__")
    finding = check_main(write(tmp_path, more, bugs=[BUG]))
    assert (finding.holds, finding.message) == (False, "the main block does not run test_other")
    without = write(tmp_path, RIGHT.partition("if __name__")[0], bugs=[BUG])
    assert check_main(without).holds is False
    assert check_pinned(without, [line("2.13.0", "xfail")]).holds is None


def test_two_cases_with_one_fix(tmp_path: Path) -> None:
    fix = "https://github.com/pytorch/pytorch/pull/9"
    case = write(tmp_path, bugs=[BUG], fix=fix)
    program = RIGHT.replace("x * 2", "x.sin()")
    other = write(tmp_path, program, "pytorch_2", bugs=[BUG], fix=fix)
    finding = check_unique(case, [case, other])
    assert (finding.holds, finding.message) == (False, "has the fix of pytorch_2: name the root of both in same-fix")
    other = write(tmp_path, program, "pytorch_2", bugs=[BUG], fix=fix, **{"same-fix": "pytorch_1"})
    assert check_unique(case, [case, other]).holds
    assert check_unique(other, [case, other]).holds


@pytest.mark.parametrize(
    ("releases", "gap"),
    [
        (
            {"2.12.1": "xfail", "2.15.0": "pass"},
            "2.13, 2.14 not measured; "
            "`pt2bugs run pytorch_1 --torch 2.12.1 --torch 2.13 --torch 2.14 --torch 2.15.0 --bisect`",
        ),
        ({"2.12.1": "xfail", "2.13.0": "error", "2.14.0": "xfail", "2.15.0": "pass"}, ""),
        (
            {"2.13.0": "xfail", "2.14.0": "error", "2.15.0": "pass"},
            "2.14 not measured; `pt2bugs run pytorch_1 --torch 2.14`",
        ),
        ({"2.13.0": "xfail", "2.14.0": "skip", "2.15.0": "pass"}, ""),
        ({"2.10.0": "xfail", "2.14.0": "xfail", "2.15.0": "pass"}, ""),
    ],
)
def test_edges_lie_between_neighbours(tmp_path: Path, releases: dict[str, str], gap: str) -> None:
    """An entry that ends in a gap says more than was seen: the bug may be gone since any release in it."""
    case = write(tmp_path, bugs=[{**BUG, "torch": "<2.15"}])
    finding = check_edges(case, [line(f"{torch}+cpu", verdict) for torch, verdict in releases.items()])
    assert finding.holds is (not gap)
    assert gap in finding.message


@pytest.mark.parametrize(("before", "holds"), [("2.1.2", True), ("2.0.1", False)])
def test_edges_ask_for_no_release_without_the_extra(tmp_path: Path, before: str, holds: bool) -> None:
    """Turbine is not made for torch 2.2: nothing can be measured there."""
    case = write(tmp_path, bugs=[{**BUG, "torch": ">=2.3"}], extra="turbine")
    finding = check_edges(case, [line(before, "pass"), line("2.3.1", "xfail")])
    assert finding.holds is holds
    assert ("and 2.1 not measured" in finding.message) is not holds


def test_a_fix_by_more_graphs_says_why(tmp_path: Path) -> None:
    fails, passes = line("2.13.0", "xfail", outcome="wrong"), line("2.14.0", "pass", outcome="pass")
    case = write(tmp_path, bugs=[BUG])
    assert check_graphs(case, [fails, passes]).holds
    finding = check_graphs(case, [passes | {"graphs": 2}, fails])
    assert (finding.holds, "test_double on torch 2.14.0" in finding.message) == (False, True)
    assert not check_graphs(case, [fails | {"breaks": 0}, passes | {"breaks": 1}]).holds
    assert check_graphs(case, [fails | {"breaks": None}, passes | {"breaks": 1}]).holds, "not counted there"
    told = write(tmp_path, f"# From torch 2.14 on a graph break keeps it out.\n{RIGHT}", bugs=[BUG])
    assert check_graphs(told, [fails, passes | {"graphs": 2}]).holds


def test_the_pull_request_of_an_unmeasured_case_is_its_fix(tmp_path: Path) -> None:
    program = f'"""Why it happens,\nwhat is right.\nSource: issue 1, PR 22."""\n{RIGHT}'
    path = tmp_path / "pytorch_1.py"
    path.write_text(case_text(program, devices=["cuda"], symptom="wrong-result"))
    finding = check_header(parse_case(path))
    assert "the docstring names PR 22: give its address as fix" in finding.message


@pytest.mark.parametrize("named", [False, True, None])
def test_a_pull_request_that_names_another_file_is_looked_at_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: bool | None
) -> None:
    address = "https://github.com/pytorch/pytorch/pull/22"
    write(tmp_path, bugs=[BUG], fix=address)
    unit = {"file": "_inductor/lowering.py", "qualname": "embedding", "kind": "function"}
    isolation = {
        "case": "pytorch_1", "check": "test_double", "device": "cpu", "backend": "inductor", "bad": "2.9.1",
        "good": "2.10.0", "direction": "fixed", "evidence": "proved", "units": [unit], "pull_request": address,
        "named_in_pull_request": named,
    }  # fmt: skip
    (tmp_path / "results" / "fixes").mkdir(parents=True)
    text = json.dumps({"schema": 1, "isolations": [isolation]})
    (tmp_path / "results" / "fixes" / "pytorch_1.json").write_text(text)
    main(["check", "--no-run", "--cases", str(tmp_path), "--results", str(tmp_path / "results")])
    said = f"_inductor/lowering.py: embedding (proved), and the thread of {address} names none of it"
    assert (said in capsys.readouterr().err) is (named is False)


def test_compiles_and_duration(tmp_path: Path) -> None:
    case = write(tmp_path, bugs=[BUG])
    assert check_compiles(case, [line("2.9.1", "xfail")]).holds
    assert not check_compiles(case, [line("2.9.1", "fail", graphs=0)]).holds
    assert check_compiles(case, [line("2.9.1", "xfail", graphs=0, frame="torch/_dynamo/exc.py:1 f")]).holds
    below = {"frame": "torch/__init__.py:1 _check", "frames": ["torch/_inductor/lowering.py:2 g"]}
    assert check_compiles(case, [line("2.9.1", "xfail", graphs=0, **below)]).holds
    assert check_compiles(write(tmp_path, compiles=False), []).holds is None
    died = line("2.9.1", "xfail", graphs=None, outcome="crash")
    assert check_compiles(case, [died]).holds is None
    assert not check_compiles(case, [died, line("2.10.0", "pass", graphs=0, outcome="pass")]).holds
    assert not check_duration(case, [line("2.9.1", "xfail", duration_s=61.0)]).holds


@pytest.fixture(scope="module")
def prober(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prober]:
    """On the real torch that is installed here; cells may write where tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(WRITE_VARIABLE, str(tmp_path_factory.getbasetemp()))
        opened = Prober()
    yield opened
    opened.close()


def runs(case: Case, prober: Prober) -> dict[str, bool | None]:
    return {
        finding.rule: finding.holds
        for finding in (prober.check_program(case), prober.check_eager(case), prober.check_repeats(case))
    }


def test_runs_of_a_bug_that_is_there(tmp_path: Path, prober: Prober) -> None:
    case = write(tmp_path, BROKEN, bugs=[{**BUG, "torch": ">=2"}])
    assert runs(case, prober) == {"program": True, "eager": True, "repeats": True}


def test_a_program_that_does_not_show_its_bug(tmp_path: Path, prober: Prober) -> None:
    case = write(tmp_path, RIGHT, bugs=[{**BUG, "torch": ">=2"}])
    assert runs(case, prober)["program"] is False


@pytest.mark.parametrize(("called", "holds"), [("eager", True), ("aot_eager", False)])
def test_ends_well_only_on_a_backend_that_no_entry_speaks_of(
    tmp_path: Path, prober: Prober, called: str, holds: bool
) -> None:
    program = RIGHT.replace('test_double("cpu", "eager")', f'test_double("cpu", "{called}")')
    bugs = [{**BUG, "torch": ">=2", "backend": "aot_eager"}]
    finding = prober.check_program(write(tmp_path, program, bugs=bugs, backends=["eager", "aot_eager"]))
    assert (finding.holds, finding.message.startswith("ends well")) == (holds, True)


def test_an_oracle_that_eager_fails(tmp_path: Path, prober: Prober) -> None:
    case = write(tmp_path, GOOD.format(right="x"), bugs=[{**BUG, "torch": ">=2"}])
    assert runs(case, prober) == {"program": True, "eager": False, "repeats": True}


def test_a_program_that_skips_says_nothing(tmp_path: Path, prober: Prober) -> None:
    program = BROKEN.replace(
        "    x = torch", "    import unittest\n    raise unittest.SkipTest('no grid')\n    x = torch"
    )
    case = write(tmp_path, program, bugs=[{**BUG, "torch": ">=2"}])
    finding = prober.check_program(case)
    assert (finding.holds, "no grid" in finding.message) == (None, True)


@pytest.mark.parametrize(("blocked", "holds"), [(True, None), (False, False)])
def test_a_limitation_of_the_release_is_no_fault_of_the_oracle(
    tmp_path: Path, prober: Prober, blocked: bool, holds: bool | None
) -> None:
    program = RIGHT.replace("    x = torch", "    raise NotImplementedError('no grid on the CPU')\n    x = torch")
    bug = {"torch": ">=2", "outcome": "raise", "error": "NotImplementedError", "match": "no grid on the CPU"}
    case = write(tmp_path, program, bugs=[{**bug, **({"blocked": True} if blocked else {})}])
    assert prober.check_eager(case).holds is holds


def test_a_program_that_disagrees_with_itself(tmp_path: Path, prober: Prober) -> None:
    odd = "    import os\n    raise type('E' + os.urandom(8).hex(), (Exception,), {})\n"
    program = RIGHT.replace("    x = torch", f"{odd}    x = torch")
    assert runs(write(tmp_path, program), prober)["repeats"] is False


def test_all_rules_are_answered(tmp_path: Path, prober: Prober) -> None:
    case = write(tmp_path, BROKEN, bugs=[{**BUG, "torch": ">=2"}])
    findings = findings_of(case, [case], [line("2.13.0", "xfail", outcome="wrong")], prober)
    assert tuple(finding.rule for finding in findings) == RULES
    assert all(finding.holds for finding in findings)
    skipped = findings_of(write(tmp_path, bugs=[BUG], devices=["cuda"]), [case], [], prober)
    assert [finding.message for finding in skipped[-3:]] == ["needs cuda"] * 3
