"""The steps of a triage, each by itself."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pt2bugs.case.failure import Level
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.curate.script import script_to_check
from pt2bugs.files import write_text
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import Classification, classify, operator_of
from pt2bugs.triage.identity import Identity, is_repeated, is_repeated_verbatim
from pt2bugs.triage.ladder import Ladder, Step
from pt2bugs.triage.minimize import (
    has_same_failure,
    without_empty_names,
    without_handlers,
    without_idle_statements,
    without_main,
)
from pt2bugs.triage.program import Program, expects_exception, load_program, without_import
from pt2bugs.triage.report import artifact_lines
from pt2bugs.triage.reproduce import Oracle, Reproduction
from pt2bugs.triage.reproducer import case_text, pattern_of, shows_failure
from pt2bugs.triage.reproducer import test_text as unit_test_text
from pt2bugs.triage.runner import Runners, RunResult
from pt2bugs.triage.since_when import since_when
from triage_bench import PROGRAM, python_with

# --- putting a program into a function ----------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "x = [1]\ndef f():\n    return x[0] + 1\nprint(f())\n",
        "def f():\n    return x + 1\nx = int('2')\nprint(f())\nx = 5\nprint(f())\n",
        "import functools\n@functools.lru_cache\ndef f(n):\n    return n and n + f(n - 1)\nprint(f(9))\n",
        'def main():\n    print("""a\n  b""")\nif __name__ == "__main__":\n    main()\n    print("""c\nd""")\n',
        "from math import *\nn = int('4')\nfrom os.path import *\nprint(sqrt(n), join('a', 'b'))\n",
        "class A:\n    def add(self):\n        global n\n        n += 1\nn = int('0')\nA().add()\nprint(n)\n",
        "try:\n    import no_such_module\nexcept ImportError as error:\n    print(type(error).__name__)\n",
        "for i in range(2):\n    squares = [i * i for i in range(3)]\nprint(i, squares)\n",
        '"""A docstring."""\nprint([y for y in (1, 2) if y])\n',
        "",
    ],
)
def test_the_function_does_what_the_program_does(source: str) -> None:
    made = script_to_check(source, "program", judge=False).program("run")
    assert _printed(made) == _printed(source)


def test_only_names_that_functions_share_are_global() -> None:
    source = "def f(x):\n    return x + n\nn = int('2')\nx = f(1)\nprint([x for x in (1,)])\n"
    assert script_to_check(source, "program", judge=False).shared == ("n",)
    assert script_to_check(f"{source}exec('x')\n", "program", judge=False).shared == ("n", "x")


def _printed(source: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "program", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def test_a_program_that_lets_its_exceptions_out() -> None:
    source = "import contextlib\nwith contextlib.suppress(ValueError):\n    try:\n        int('x')\n"
    source += "    except ValueError:\n        pass\n"
    with pytest.raises(ValueError, match="invalid literal"):
        exec(without_handlers(source), {})


def test_an_import_that_is_not_used_leaves_no_trace_but_its_lines() -> None:
    source = "import os, tqdm.auto as bar\nfrom tqdm import (\n    trange,\n)\nprint(os.sep)\n"
    left = without_import(source, "tqdm")
    assert left == "import os\npass\n\n\nprint(os.sep)\n"
    assert without_import(f"{source}trange(3)\n", "tqdm") is None
    assert without_import("from tqdm import *\n", "tqdm") is None


def test_what_a_reducer_leaves_where_a_call_was() -> None:
    source = "def f():\n    0\n    x\nfor i in range(2):\n    i\n    f()\nelse:\n    None\n"
    assert without_idle_statements(source) == "def f():\n    pass\nfor i in range(2):\n    f()\n"


def test_what_a_reducer_leaves_of_targets_and_of_main() -> None:
    """Names it made up and nothing reads go, and `main` stands where it was called."""
    source = "def main():\n    a, unique_name_0 = (f(), 0)\n    for unique_name_1, b in g(a):\n        h(b)\nmain()\n"
    named = without_empty_names(source)
    assert named == "def main():\n    a = f()\n    for _, b in g(a):\n        h(b)\nmain()\n"
    assert without_main(named) == "a = f()\nfor _, b in g(a):\n    h(b)\n"
    kept = "unique_name_0, unique_name_1 = (f(), g())\nprint(unique_name_0)\n"
    assert without_empty_names(kept) == kept.replace("unique_name_1", "_")


def test_an_import_more_stands_with_the_others() -> None:
    top = "import math\nimport torch\n\n\ndef f():\n    import os\n"
    source = f"{top}f()\n"
    classification = Classification("wrong-result", "inductor", "", "", (), "")
    lines = unit_test_text(source, classification, "program").splitlines()
    assert lines[3:6] == [
        "import math",
        "import torch",
        "from torch.testing._internal.common_utils import TestCase, run_tests",
    ]
    assert unit_test_text("f()\n", classification, "program").count("import TestCase") == 1


# --- identity -----------------------------------------------------------------------------------------


def failing(message: str, frame: str = "", kind: str = "RuntimeError", line: int = 0) -> Identity:
    return Identity(Outcome.RAISE, kind, message, frame, line=line)


def test_what_is_the_same_failure_in_runs_of_one_program() -> None:
    """By MESSAGE: other words are another failure, also where they come from one function of torch."""
    first = failing("size 3 at 0x7f00aa", "torch/a.py:10 f")
    assert is_repeated(failing("size 4 at 0x7f00bb", "torch/b.py:1 g"), first)
    assert not is_repeated(failing("other words", "torch/a.py:12 f"), first)
    assert not is_repeated(failing(first.message, first.frame, "ValueError"), first)
    assert not is_repeated(Identity(Outcome.PASS), first)
    assert not is_repeated(first, Identity(Outcome.PASS))
    assert not is_repeated(Identity(Outcome.CRASH, signal="SIGSEGV"), Identity(Outcome.CRASH, signal="SIGABRT"))
    assert is_repeated_verbatim(first, first)
    assert not is_repeated_verbatim(failing("size 4 at 0x7f00aa", first.frame), first)


def test_an_exception_without_a_word_is_the_same_in_one_place() -> None:
    silent = failing("", "torch/a.py:1 f", "AssertionError")
    assert is_repeated(failing("", "torch/a.py:2 f", "AssertionError"), silent)
    assert not is_repeated(failing("", "torch/b.py:1 g", "AssertionError"), silent)


def test_an_assertion_of_the_program_is_the_same_on_one_line() -> None:
    """It prints what it compared: its words differ from rung to rung."""
    shown = Identity(Outcome.WRONG, "AssertionError", "tensor([nan])", line=7)
    assert is_repeated(replace(shown, message="tensor([-inf, 2.])"), shown)
    assert not is_repeated(replace(shown, message="tensor([-inf, 2.])", line=8), shown)
    assert not has_same_failure(replace(shown, message="tensor([-inf, 2.])"), shown), (
        "lines move while a program shrinks"
    )
    assert has_same_failure(replace(shown, message="tensor([nan])", line=2), shown)


def test_the_backend_that_wraps_an_error_is_no_part_of_it() -> None:
    """Nor is the wrapper: below the layer that wraps it is raised as it is."""
    inner = "raised:\nValueError: no\n\nSet TORCHDYNAMO_VERBOSE=1 for more"
    kind = "torch._dynamo.exc.BackendCompilerFailed"
    first, second = (failing(f"backend='{name}' {inner}", kind=kind) for name in ("inductor", "aot_eager"))
    assert is_repeated(first, second)
    assert is_repeated(failing("no", kind="ValueError"), first)
    assert not is_repeated(failing("yes", kind="ValueError"), first)


def test_the_backend_that_asks_for_a_graph_break_is_no_part_of_it() -> None:
    """As in pytorch_152122: every layer from AOTAutograd on asks for it."""
    text = "Backend compiler exception\n  Explanation: Backend compiler `{0}` failed with {1}.\n\n  Backend: {0}\n"
    again = "torch/_dynamo/eval_frame.py:841 compile_wrapper"
    first, second, third = (
        failing(text.format(name, operator), again, "torch._dynamo.exc.Unsupported")
        for name, operator in (("inductor", "aten.a"), ("aot_eager", "aten.a"), ("inductor", "aten.b"))
    )
    assert is_repeated(first, second)
    assert not is_repeated(first, third)


def test_the_context_of_a_graph_break_is_part_of_it() -> None:
    text = "Unsupported call\n  Explanation: no\n\n  Developer debug context: unsupported operator: {0}\n"
    first, second = (failing(text.format(name), kind="Unsupported") for name in ("aten.x.y", "aten.z.y"))
    assert not is_repeated(first, second)
    assert not has_same_failure(first, second)


@pytest.mark.parametrize("message", ["Tensor-likes are not close!", "size [3, 4] (50.0%) at 0x7f", "a\\b 'c' \"d\" $"])
def test_the_pattern_of_a_message_matches_it(message: str) -> None:
    assert re.search(pattern_of(Identity(Outcome.RAISE, "E", message)), message)


def test_the_pattern_of_a_graph_break_has_its_context() -> None:
    message = (
        "Unsupported call\n  Explanation: no\n\n  Developer debug context: unsupported operator: aten.x.y\n\n More"
    )
    assert not re.search(pattern_of(Identity(Outcome.RAISE, "E", message)), message.replace("aten.x.y", "aten.z.y"))


def test_a_failure_without_a_word_is_told_by_its_place() -> None:
    silent = Identity(Outcome.RAISE, "AssertionError", "", "torch/export/a.py:10 check")
    assert silent.headline == "AssertionError: without a word, in check of torch/export/a.py"
    reproduction = Reproduction(RunResult(Observation(Outcome.RAISE, "AssertionError")), silent, 1, 1, Oracle())
    classification = Classification("internal-error", "export", "", "", (), "")
    text = case_text("f()\n", reproduction, classification, "word", "2.9.1")
    assert "# frame = 'torch/export/a\\.py:.* check'" in text


@pytest.mark.parametrize("message", ["\U0001f389 broke", "\x7f \u2028 \ud83c", 'a """ b', "it's \\d"])
def test_a_case_of_any_message_can_be_read(tmp_path: Path, message: str) -> None:
    identity = Identity(Outcome.RAISE, "RuntimeError", message)
    reproduction = Reproduction(RunResult(Observation(Outcome.RAISE, "RuntimeError")), identity, 1, 1, Oracle())
    classification = Classification("internal-error", "export", "", "", (), message)
    path = tmp_path / "case.py"
    write_text(path, case_text("f()\n", reproduction, classification, "word", "2.9.1"))
    (bug,) = parse_case(path).bugs
    assert bug.match is not None and re.search(bug.match, message.encode("utf-8", "replace").decode())


def test_a_long_title_ends_with_a_word() -> None:
    """Of a graph break what Dynamo met is told, and no word is cut."""
    reproduction = Reproduction(
        RunResult(Observation(Outcome.RAISE, "Unsupported")), Identity(Outcome.RAISE), 1, 1, Oracle()
    )
    classification = Classification("graph-break", "dynamo", "", "", (), "")

    def title(message: str) -> str:
        broken = Identity(Outcome.RAISE, "torch._dynamo.exc.Unsupported", message)
        text = case_text("f()\n", replace(reproduction, identity=broken), classification, "word", "2.9.1")
        (line,) = [line for line in text.splitlines() if line.startswith("# title")]
        return line.partition(" = ")[2].strip('"')

    context = "unsupported operator: aten._nested_tensor_from_mask_left_aligned.default"
    message = f"Operator does not support running with fake tensors\n  Developer debug context: {context}\n"
    assert title(message) == f"Unsupported: {context}"
    sentence = "a longer sentence " * 10
    assert title(sentence) == "Unsupported: " + "a longer sentence " * 5 + "a ..."


def test_a_smaller_program_says_the_same_in_the_same_place() -> None:
    """By FRAME: a reducer slides from one bug into another of the same type, or with the same words elsewhere."""
    message = (
        "Dynamo failed to run FX node: add(*(FakeTensor(size=(2,)), x), **{}): got RuntimeError('devices meta, cpu')"
    )
    first = failing(message, "torch/_subclasses/fake_tensor.py:9 merge_devices", "TorchRuntimeError")
    smaller = replace(first, message=message.replace("(2,)), x", "(3, 4)), 0"))
    slid = replace(first, message=message.replace("meta", "cuda:0"))
    assert first.headline == "TorchRuntimeError: RuntimeError('devices meta, cpu')"
    assert has_same_failure(smaller, first)
    assert has_same_failure(replace(smaller, frame="torch/_subclasses/fake_tensor.py:11 merge_devices"), first)
    assert not has_same_failure(replace(smaller, frame="torch/_subclasses/fake_tensor.py:9 other"), first)
    assert not has_same_failure(slid, first)
    assert re.search(pattern_of(first), smaller.message)
    assert not re.search(pattern_of(first), slid.message)


def test_a_smaller_wrong_result_has_other_numbers() -> None:
    wrong = Identity(Outcome.WRONG, "AssertionError", "Scalars are not equal!\n\nExpected 3 but got 4.", line=9)
    assert has_same_failure(replace(wrong, message=wrong.message.replace("3", "1"), line=2), wrong)
    assert not has_same_failure(replace(wrong, message="Tensor-likes are not close!"), wrong)


def test_what_was_made_of_a_program_shows_its_failure() -> None:
    first = failing("size 3", "torch/a.py:1 f")
    assert shows_failure(failing("size 4", "torch/b.py:1 g"), first, Level.MESSAGE)
    assert not shows_failure(failing("other words", first.frame), first, Level.MESSAGE)
    assert shows_failure(failing("other words"), first, Level.TYPE), "another release says it in other words"
    prints = Identity(Outcome.WRONG, "", "prints otherwise")
    assert shows_failure(Identity(Outcome.WRONG, "AssertionError", "[1, 2]"), prints, Level.MESSAGE)
    assert not shows_failure(Identity(Outcome.RAISE, "ValueError", "[1, 2]"), prints, Level.MESSAGE)


# --- classes ------------------------------------------------------------------------------------------


def _class_of(
    identity: Identity, *, rung: str = "eager", handled: bool = False, source: str = "pass\n", **facts: int
) -> tuple[str | None, str | None]:
    seen = Observation(identity.outcome, identity.error_type, identity.message, identity.frame)
    result = RunResult(seen, entered=("compile",), recompiles=facts.get("recompiles", 0), breaks=facts.get("breaks", 0))
    passed = RunResult(Observation(Outcome.PASS), handled=(("RuntimeError", "f", 1),) if handled else ())
    steps = [Step("none", Identity(Outcome.PASS), same=False, result=passed), Step(rung, identity, same=True)]
    reproduction = Reproduction(result, identity, 1, 1, Oracle())
    classification = classify(Program(Path("p.py"), source), reproduction, Ladder(steps, rung))
    return classification.symptom, classification.component


@pytest.mark.parametrize(
    ("identity", "rung", "expected"),
    [
        (Identity(Outcome.CRASH, signal="SIGSEGV"), "inductor", ("crash", "inductor")),
        (Identity(Outcome.OOM), "inductor", ("memory", "inductor")),
        (
            Identity(Outcome.RAISE, "torch._dynamo.exc.UncapturedHigherOrderOpError", "no"),
            "eager",
            ("internal-error", "dynamo"),
        ),
        (Identity(Outcome.RAISE, "torch._dynamo.exc.Unsupported", "call f"), "eager", ("graph-break", "dynamo")),
        (
            Identity(Outcome.RAISE, "torch._inductor.exc.InductorError", "x"),
            "inductor",
            ("backend-failure", "inductor"),
        ),
        (Identity(Outcome.RAISE, "triton.CompilationError", "x"), "inductor", ("triton", "inductor")),
        (
            Identity(Outcome.RAISE, "AssertionError", "x", "torch/_subclasses/fake_tensor.py:3 validate"),
            "aot_eager",
            ("internal-error", "fake-tensor"),
        ),
        (
            Identity(Outcome.RAISE, "KeyError", "s0", "torch/fx/experimental/symbolic_shapes.py:3 f"),
            "inductor",
            ("internal-error", "dynamic-shapes"),
        ),
        (
            Identity(Outcome.RAISE, "torch._inductor.exc.InductorError", "nan", "torch/utils/_sympy/functions.py:3 f"),
            "inductor",
            ("backend-failure", "inductor"),
        ),
        (
            Identity(Outcome.RAISE, "TypeError", "nan", "torch/utils/_sympy/functions.py:3 f"),
            "eager",
            ("internal-error", "dynamic-shapes"),
        ),
        (
            Identity(
                Outcome.RAISE, "torch._dynamo.exc.BackendCompilerFailed", "x", "torch/_higher_order_ops/scan.py:9 f"
            ),
            "aot_eager_decomp_partition",
            ("backend-failure", "higher-order-ops"),
        ),
        (Identity(Outcome.WRONG, "AssertionError", "Tensor-likes are not close!"), "none", (None, None)),
        (
            Identity(Outcome.WRONG, "AssertionError", "Tensor-likes are not close!"),
            "my_npu",
            ("wrong-result", "backend"),
        ),
        (Identity(Outcome.RAISE, "AssertionError", "x"), "my_npu", ("backend-failure", "backend")),
    ],
)
def test_rows_of_the_table(identity: Identity, rung: str, expected: tuple[str | None, str | None]) -> None:
    assert _class_of(identity, rung=rung) == expected


def test_what_an_assertion_of_the_program_says() -> None:
    compiled = Identity(Outcome.WRONG, "AssertionError", "compiled 4 times for 4 calls")
    accepted = Identity(Outcome.WRONG, "AssertionError", "accepted a float16 input")
    alive = Identity(Outcome.WRONG, "AssertionError", "input still alive")
    missed = Identity(Outcome.WRONG, "AssertionError", "0 hits and 2 misses in the AOTAutograd cache")
    assert _class_of(compiled, recompiles=3)[0] == "recompilation"
    assert _class_of(missed, recompiles=1)[0] == "recompilation"
    assert _class_of(compiled)[0] == "wrong-result"
    graphs = Identity(Outcome.WRONG, "AssertionError", "2 graphs for one step")
    assert _class_of(graphs, recompiles=1, breaks=1)[0] == "recompilation"
    assert _class_of(graphs, breaks=1)[0] == "graph-break"
    assert _class_of(graphs)[0] == "wrong-result"
    assert _class_of(accepted, handled=True)[0] == "missing-error"
    assert _class_of(accepted)[0] == "wrong-result"
    assert _class_of(alive)[0] == "memory"


def test_what_dynamo_alone_captures_is_no_graph_break() -> None:
    refused = Identity(Outcome.RAISE, "torch._dynamo.exc.Unsupported", "no")
    seen = RunResult(Observation(Outcome.RAISE, refused.error_type, "no"), entered=("compile",))
    steps = [Step(rung, Identity(Outcome.PASS), same=False) for rung in ("none", "eager")]
    ladder = Ladder([*steps, Step("aot_eager", refused, same=True)], "aot_eager")
    classification = classify(Program(Path("p.py"), "pass\n"), Reproduction(seen, refused, 1, 1, Oracle()), ladder)
    assert (classification.symptom, classification.component) == ("internal-error", "aotautograd")


def test_an_export_breaks_no_graph() -> None:
    refused = Identity(Outcome.RAISE, "torch._dynamo.exc.UserError", "mismatch")
    seen = Observation(Outcome.RAISE, refused.error_type, "mismatch")
    for entered, symptom in ((("export",), "internal-error"), (("compile",), "graph-break")):
        reproduction = Reproduction(RunResult(seen, entered=entered), refused, 1, 1, Oracle())
        classification = classify(
            Program(Path("p.py"), "pass\n"), reproduction, Ladder([Step("export", refused, same=True)], "export")
        )
        assert classification.symptom == symptom


@pytest.mark.parametrize(
    ("node", "operator"),
    [
        ("bmm", "aten.bmm"),
        ("index_put_1", "aten.index_put"),
        ("_softmax_default_2", "aten._softmax"),
        ("getitem_3", ""),
    ],
)
def test_the_operator_that_the_bisector_names(node: str, operator: str) -> None:
    wrong = Identity(Outcome.WRONG, "AssertionError", "2 is not 3")
    reproduction = Reproduction(RunResult(Observation(Outcome.WRONG)), wrong, 1, 1, Oracle())
    assert operator_of(reproduction, Ladder(pass_=f"lowerings, application 3 of 3: {node}")) == operator


def test_artifacts_are_told_by_where_to_begin() -> None:
    pages = [f"artifacts/tlparse/pages/{name}" for name in ("a.json", "b.txt", "index.html")]
    assert artifact_lines(["artifacts/logs/torch_logs.txt", *pages]) == [
        "`artifacts/logs/torch_logs.txt`",
        "`artifacts/tlparse/pages/index.html`, and 2 more files in `artifacts/tlparse/`",
    ]


def test_a_rung_below_that_fails_otherwise() -> None:
    passes, raises = Identity(Outcome.PASS), Identity(Outcome.RAISE, "TypeError", "no")
    wrong = Identity(Outcome.WRONG, "AssertionError", "2 is not 3")
    steps = [Step("none", passes, same=False), Step("eager", wrong, same=False), Step("aot_eager", raises, same=True)]
    below = Ladder(steps, "aot_eager").fails_otherwise
    assert below is not None
    assert below.rung == "eager"
    assert Ladder([*steps[:1], *steps[2:]], "aot_eager").fails_otherwise is None
    assert Ladder(steps).fails_otherwise is None, "no rung is known to be the first"


_REFUSED = "def f():\n    try:\n        g()\n    except E:\n        return True\n    return False\n"


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        ("try:\n    f()\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError\n", 6, True),
        ("def g():\n    try:\n        f()\n    except E:\n        return\n    raise AssertionError\n", 6, True),
        ("def g():\n    try:\n        f()\n    except E:\n        pass\n    raise AssertionError\n", 6, False),
        ("def g():\n    try:\n        assert f()\n    except E:\n        return\n    raise A\n", 3, False),
        ("def g():\n  with h():\n    try:\n      f()\n    except E:\n      return\n  raise A\n", 7, True),
        ("assert f()\n", 1, False),
        (f"{_REFUSED}assert f()\n", 7, True),
        (f"{_REFUSED}assert not f()\n", 7, False),
        (f"{_REFUSED.replace('False', 'g() == 2')}assert f()\n", 7, False),
    ],
)
def test_what_is_reached_only_without_an_exception(source: str, line: int, expected: bool) -> None:
    assert expects_exception(source, line) is expected


# --- releases -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    faults = {
        "2.90.0": {},
        "2.91.0": {},
        "2.92.0": {"double": "raise"},
        "2.93.0": {"double": "raise"},
        "2.94.0": {},
    }
    folder = tmp_path_factory.mktemp("envs")
    return {version: python_with(folder / version, each, version) for version, each in faults.items()}


def _search(program: Path, pythons: dict[str, Path], names: list[str]) -> list[str]:
    releases = since_when(load_program(program), names, Runners(pythons.__getitem__, 30), Budget(5), lambda _: None)
    return releases.sentences()


def test_introduced_and_fixed(tmp_path: Path, pythons: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path))
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert _search(path, pythons, ["2.90.0", "2.91.0", "2.92.0", "2.93.0"]) == [
        "It fails so since torch 2.92.0; torch 2.91.0 does not."
    ]
    assert _search(path, pythons, ["2.93.0", "2.94.0"]) == ["Fixed in torch 2.94.0; torch 2.93.0 still has it."]
    (passes,) = _search(path, pythons, ["2.90.0", "2.91.0"])
    assert passes.startswith("It passes on torch 2.90.0, 2.91.0, prints the same text on each, and takes ")
    gone = {**pythons, "2.91.0": tmp_path / "no" / "python"}
    assert _search(path, gone, ["2.90.0", "2.91.0"])[0] == "It passes on torch 2.90.0."
    assert _search(path, gone, ["2.90.0", "2.91.0"])[1].startswith("Torch 2.91.0 gave no answer: ")
    assert _search(path, pythons, ["2.92.0", "2.93.0"]) == [
        "It fails so on every release that can say, 2.92.0 to 2.93.0."
    ]


def test_an_upgrade_that_prints_otherwise(
    tmp_path: Path, pythons: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path))
    path = tmp_path / "program.py"
    path.write_text(f"{PROGRAM.replace('double', 'twice')}\nprint(torch.__version__ >= '2.91.0')\n")
    assert _search(path, pythons, ["2.90.0", "2.91.0", "2.94.0"]) == [
        "It prints another text (line 2 is 'True', not 'False') since torch 2.91.0; torch 2.90.0 does not."
    ]
    path.write_text(f"{PROGRAM.replace('double', 'twice')}\nimport time\nprint(time.perf_counter_ns())\n")
    passes, varies = _search(path, pythons, ["2.90.0", "2.91.0"])
    assert passes.startswith("It passes on torch 2.90.0, 2.91.0, prints another text in each run, and takes ")
    assert varies.startswith("What it prints differs from run to run (line ")
