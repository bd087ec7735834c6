"""A small corpus whose bugs were seen to fail, in a journal, for the tests of `match`."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pt2bugs.case.cells import Cell
from pt2bugs.case.expectation import Where, judge
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.results.journal import JournalWriter, new_record
from suite import case_text

UNSUPPORTED = "torch._dynamo.exc.Unsupported"
BACKEND_FAILED = "torch._dynamo.exc.BackendCompilerFailed"
INTERNAL = "torch._dynamo.exc.InternalTorchDynamoError"

BUGS: dict[str, dict[str, Any]] = {
    "pytorch_1": {
        "title": "A padding mask makes the frobnicator untraceable",
        "component": "dynamo",
        "fix": "https://github.com/pytorch/pytorch/pull/11",
        "bug": {"torch": "<2.10", "outcome": "raise", "error": UNSUPPORTED, "match": "_frobnicate_left_aligned_mask"},
        "message": "call torch._frobnicate_left_aligned_mask returned a bool\n\nfrom user code:\n"
        '   File "pytorch_1.py", line 3, in f\n    return frobnicate(x, mask=mask)\n',
        "frames": ["torch/_dynamo/exc.py:70 unimplemented", "torch/_dynamo/variables/torch.py:300 call_function"],
    },
    "pytorch_2": {
        "title": "An internal assertion without words",
        "component": "dynamo",
        "bug": {"outcome": "raise", "error": INTERNAL, "match": "^$"},
        "message": "",
        "frames": [
            "torch/_dynamo/guards.py:11 check_quux",
            "torch/_dynamo/guards.py:90 build_quux",
            "torch/_dynamo/convert_frame.py:500 compile_inner",
        ],
    },
    "pytorch_3": {
        "title": "A sum over a flipped view is wrong",
        "component": "inductor",
        "bug": {"torch": ">=2.8", "outcome": "wrong", "error": "AssertionError", "match": "Tensor-likes are not close"},
        "message": "Tensor-likes are not close!\n\nMismatched elements: 1 / 3\nGreatest absolute difference: 3.0",
        "frames": [],
    },
    "pytorch_4": {
        "title": "The backward crashes",
        "component": "inductor",
        "bug": {"outcome": "crash", "signal": "SIGSEGV", "output": "plugh_kernel_launch"},
        "message": "died by SIGSEGV",
        "frames": [],
        "signal": "SIGSEGV",
        "output": "plugh_kernel_launch: bad grid\n",
    },
    "pytorch_5": {
        "title": "Lowering of glorp divides by zero",
        "component": "inductor",
        "bug": {"outcome": "raise", "error": BACKEND_FAILED, "match": "glorp lowering got an empty reduction range"},
        "message": "backend='inductor' raised:\nLoweringException: ZeroDivisionError: glorp lowering got an empty "
        "reduction range 0\n  target: aten.glorp.default",
        "frames": ["torch/_inductor/lowering.py:7 glorp"],
    },
    "pytorch_6": {
        "title": "A correct expand is refused",
        "component": "fake-tensor",
        "bug": {
            "outcome": "raise",
            "error": "torch._dynamo.exc.TorchRuntimeError",
            "match": "expand: the requested shape has too few dimensions",
        },
        "message": "Failed running call_method expand: expand: the requested shape has too few dimensions!",
        "frames": [f"torch/_refs/__init__.py:{line} {name}" for line, name in enumerate(("quux", "corge", "expand"))],
    },
    "pytorch_7": {
        "title": "The backend prints what it cannot do",
        "component": "backend",
        "bug": {
            "outcome": "raise",
            "error": BACKEND_FAILED,
            "match": "JIT compilation failed",
            "output": "xyzzy cannot be legalized",
        },
        "message": "backend='xyzzy' raised:\nRuntimeError: JIT compilation failed. See diagnostics.",
        "frames": ["torch/_dynamo/output_graph.py:7 call_user_compiler"],
        "output": "error: xyzzy cannot be legalized\n",
    },
}
PROGRAMS = {
    "pytorch_3": "def flipped(x):\n    return torch.flip(x.transpose(0, 1), (0,)).sum(dim=1)\n\n",
}
RELEASES = ("2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0")


def write_known_bugs(folder: Path) -> tuple[Path, Path]:
    """The folders `cases` and `results` of the corpus."""
    cases, results = folder / "cases", folder / "results"
    for number, (name, given) in enumerate(BUGS.items(), 1):
        path = cases / given["component"] / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = {"fix": given["fix"]} if "fix" in given else {}
        body = f"{PROGRAMS.get(name, '')}def test_it(backend):\n    pass\n"
        path.write_text(
            case_text(
                body,
                bugs=[given["bug"]],
                issue=f"https://github.com/pytorch/pytorch/issues/{number}",
                title=given["title"],
                component=given["component"],
                symptom="internal-error",
                **settings,
            )
        )
        _write_journal(results, path, given)
    return cases, results


def _write_journal(results: Path, path: Path, given: dict[str, Any]) -> None:
    case = parse_case(path)
    writer = JournalWriter(results / "journal" / f"{case.id}.jsonl")
    for release in RELEASES:
        where = Where(release, "3.11.7", "cpu", "inductor")
        seen = Observation(Outcome.PASS)
        if case.bugs[0].torch.contains(release):
            first, *others = given["frames"] or [""]
            seen = Observation(
                Outcome(given["bug"]["outcome"]), given["bug"].get("error", ""), given["message"], first, others,
                signal=given.get("signal", ""), output_tail=given.get("output", ""),
            )  # fmt: skip
        facts = EnvironmentFacts(torch=f"{release}+cpu", python="3.11.7")
        verdict = judge(case, "test_it", where, seen).verdict
        cell, started = Cell(case, case.checks[0], "cpu", "inductor"), datetime(2026, 1, 1, tzinfo=timezone.utc)
        writer.append(new_record(cell, seen, verdict, facts, run_id="seeded", started=started, extras=()))
    writer.close()
