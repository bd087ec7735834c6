"""How often triage is right: every check of the corpus that fails on a release, without its header and its words.

    python benchmarks/triage.py --python-exe PYTHON -o FILE.jsonl     measure, one line for each check
    python benchmarks/triage.py --table FILE.jsonl [FILE.jsonl ...]   the tables of docs/evaluation/triage.md

A check becomes a program: no header, no docstring, no comment, no name of its own; it asks for the default backend.
Only if that does not show the documented failure (its bug needs another backend) it asks for the one its header names.
Torch's bisector is left out: no class and no component depends on it. Right are the first failing rung and the class:
`RUNGS` says which rungs fit a header's component, and was fixed before the first run of all. `SHARED` and `NARROWER`
came later, before the runs whose rows are kept: the table has a column without them.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pt2bugs.case.corpus import load_cases
from pt2bugs.case.failure import documents
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import classify, is_named_by_a_frame, metadata_mismatch
from pt2bugs.triage.ladder import CROSSREF, NO_DECOMPOSITION, Climber, Ladder
from pt2bugs.triage.program import load_program
from pt2bugs.triage.reproduce import NeverCompiles, reproduce
from pt2bugs.triage.runner import ProgramRunner

EXPORTS = {"export", "export_strict", "export_non_strict"}
RUNGS = {
    "dynamo": {"eager"},
    "dynamic-shapes": {"eager", "aot_eager"},
    "fake-tensor": {"eager", "aot_eager"},
    "higher-order-ops": {"eager", "aot_eager"},
    "custom-op": {"eager", "aot_eager"},
    "aotautograd": {"aot_eager"},
    "functionalization": {"aot_eager", "none"},
    "functorch": {"eager", "aot_eager", "none"},
    "fx": {"eager", "none"},
    "decomposition": {"aot_eager_decomp_partition"},
    "inductor": {"inductor"},
    "aot-inductor": {"inductor", "none"},
    "export": EXPORTS,
    "quantization": {*EXPORTS, "inductor"},
}
"""The first failing rungs that fit each component of a header; `none` for programs that only trace."""
SHARED = {"dynamic-shapes", "fake-tensor", "higher-order-ops", "custom-op"}
"""Components below every way into the compiler. Where a program compiles nothing, the way that it takes has their rung:
those of export, or `none` where it only traces. This was added after the first results; `table` also counts without."""
NARROWER = {NO_DECOMPOSITION: {"decomposition"}, CROSSREF: {"decomposition", "fake-tensor"}}
"""Rungs between two layers, and the only components that fit where such a rung tells the layers apart: AOTAutograd
fails, and not without the decompositions of its own trace; Inductor fails, and a fake tensor is not as the real one.
This was added later still; `table` also counts without."""

SILENT, LOUD = {"wrong-result", "missing-error"}, {"internal-error", "backend-failure"}
"""Classes that no exception documents, and those that only one does."""
REFUSED = "refused"
"""What stands for the rung of a program that never enters the compiler: triage refuses it, with exit code 3."""


def class_of(case: Case, check: str, torch: str) -> str:
    """The class that a check documents: the header's, if its own entry can be of that class.

    One header speaks for all checks of a case, of which one may raise what the other returns in silence.
    """
    entries = [bug for bug in case.bugs if not bug.blocked and bug.check in (None, check) and bug.torch.contains(torch)]
    if not entries:
        return case.symptom
    if case.symptom in SILENT and all(bug.outcome is Outcome.RAISE for bug in entries):
        return "backend-failure" if any(_is_backends(bug) for bug in entries) else "internal-error"
    if case.symptom in LOUD and all(bug.outcome is Outcome.WRONG for bug in entries):
        return "wrong-result"
    return case.symptom


def _is_backends(bug: Bug) -> bool:
    return (bug.error or "").endswith(("BackendCompilerFailed", "InductorError"))


def program_of(source: str, check: str, arguments: list[str]) -> str:
    """The check as a program of its own."""
    tree = ast.parse(source)
    tree.body = [statement for statement in tree.body if not _is_left_out(statement, check)]
    taken = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    name = next(name for name in ("run", "main", "reproduce") if name not in taken)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef) and node.name == check:
            node.name = name
        if isinstance(node, ast.Name) and node.id == check:
            node.id = name
    call = f"{name}({', '.join(repr(argument) for argument in arguments)})"
    return f"{ast.unparse(ast.fix_missing_locations(tree))}\n\n{call}\n"


def _is_left_out(statement: ast.stmt, check: str) -> bool:
    """Return whether it is the main block or another check."""
    if isinstance(statement, ast.FunctionDef):
        return statement.name.startswith("test_") and statement.name != check
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def failing(torch: str, cells: Path) -> list[dict[str, str]]:
    """The cells of that release in which the documented bug was seen, the first check of every case before the others.

    So a run that is stopped early has seen as many different bugs as it could.
    """
    with cells.open() as file:
        rows = [row for row in csv.DictReader(file) if row["torch"] == torch and row["verdict"] == "xfail"]
    nth: Counter[str] = Counter()
    order = []
    for row in rows:
        order.append(nth[row["case"]])
        nth[row["case"]] += 1
    return [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]


def triage(runner: ProgramRunner, case: Case, check_name: str, backend: str) -> dict[str, Any]:
    check = next(known for known in case.checks if known.name == check_name)
    answer: dict[str, Any] = {
        "case": case.id,
        "check": check_name,
        "component": case.component,
        "symptom": case.symptom,
    }
    runner.budget, runner.timeout_s = Budget(15), min(120.0, case.timeout)
    with tempfile.TemporaryDirectory() as folder:
        for asked in dict.fromkeys(("inductor", backend)):
            given = {"device": "cpu", "backend": asked}
            path = Path(folder) / "program.py"
            source = case.path.read_text(encoding="utf-8")
            path.write_text(
                program_of(source, check_name, [given[name] for name in check.parameters]), encoding="utf-8"
            )
            program = load_program(path)
            try:
                reproduction = reproduce(runner, program, 1)
            except NeverCompiles as refused:
                return answer | {"first_failing": REFUSED, "class": "", "said": "", "why": str(refused)}
            if any(documents(bug, reproduction.result.observation) for bug in case.bugs if not bug.blocked):
                break
        answer |= {
            "backend": asked,
            "outcome": str(reproduction.outcome),
            "message": reproduction.identity.message[:200],
        }
        climber = Climber(runner, program, reproduction, lambda _: None)
        ladder = climber.climb()
        climber.narrow(is_named=is_named_by_a_frame(reproduction, ladder), inside=False)
        classification = classify(program, reproduction, ladder)
        return answer | {
            "first_failing": ladder.first_failing,
            "class": classification.symptom,
            "said": classification.component,
            "why": classification.why,
            "narrower": narrower(ladder),
            "ladder": {step.rung: f"{step.identity.outcome}{' same' if step.same else ''}" for step in ladder.steps},
        }


def narrower(ladder: Ladder) -> str:
    """The rung of `NARROWER` that tells the first failing layer from the one below, if there is one."""
    if ladder.first_failing == "aot_eager" and ladder.heals(NO_DECOMPOSITION):
        return NO_DECOMPOSITION
    if ladder.first_failing == "inductor" and metadata_mismatch(ladder):
        return CROSSREF
    return ""


def measure(options: argparse.Namespace) -> None:
    cases = {case.id: case for case in load_cases([options.cases], lambda message: print(message, file=sys.stderr))}
    done = set()
    if options.output.exists():
        done = {
            (answer["case"], answer["check"]) for answer in map(json.loads, options.output.read_text().splitlines())
        }
    rows = [row for row in failing(options.torch, options.results / "cells.csv") if not cases[row["case"]].extra]
    rows = [row for row in rows if not options.only or row["case"] in options.only]
    rows = [row for row in rows if (row["case"], row["check"]) not in done][: options.limit]
    with ProgramRunner(options.python_exe, Budget(15), 120.0, ()) as runner:
        _measure(runner, cases, rows, options.output)


def _measure(runner: ProgramRunner, cases: Mapping[str, Case], rows: list[dict[str, str]], output: Path) -> None:
    for row in rows:
        case = cases[row["case"]]
        began = time.monotonic()
        try:
            answer = triage(runner, case, row["check"], row["backend"])
        except Exception as error:
            answer = {"case": case.id, "check": row["check"], "component": case.component, "symptom": case.symptom}
            answer |= {"first_failing": "", "class": "", "said": "", "why": f"{type(error).__name__}: {error}"}
        answer["seconds"] = round(time.monotonic() - began, 1)
        with output.open("a") as file:
            file.write(json.dumps(answer) + "\n")
        print(f"{case.id} {row['check']}: {answer['first_failing']} {answer['class']} {answer['said']}", flush=True)


Rows = list[dict[str, Any]]


def is_rung(row: Mapping[str, Any], *, as_first: bool = False, layers_only: bool = False) -> bool:
    """Return whether the first failing rung fits the header's component.

    Args:
        as_first: by `RUNGS` alone.
        layers_only: without `NARROWER`.
    """
    rung, component = row["first_failing"], row["component"]
    if (between := row.get("narrower")) and not (layers_only or as_first):
        return component in NARROWER[between]
    compiles_nothing = row.get("ladder", {}).get("eager") == "skip"
    if compiles_nothing and component in SHARED and rung in {*EXPORTS, "none"} and not as_first:
        return True
    return rung in RUNGS.get(component, set())


def is_class(row: Mapping[str, Any], *, by_header: bool = False) -> bool:
    """Return whether the class is documented; `by_header` by the header's word alone, whatever the entry says."""
    return bool(row["class"] == (row["symptom"] if by_header else row.get("documented", row["symptom"])))


def totals_of(rows: Rows) -> dict[str, str]:
    """How many of those that enter the compiler are right in what, and how many do not enter it."""
    entered = [row for row in rows if row["first_failing"] != REFUSED]

    def how_many(*questions: Callable[[Mapping[str, Any]], bool]) -> str:
        right = sum(all(ask(row) for ask in questions) for row in entered)
        return f"{right} of {len(entered)} ({100 * right / max(1, len(entered)):.0f} %)"

    return {
        "refused": str(len(rows) - len(entered)),
        "rung": how_many(is_rung),
        "class": how_many(is_class),
        "rung and class": how_many(is_rung, is_class),
        "layers alone": how_many(partial(is_rung, layers_only=True), is_class),
        "class by the header alone": how_many(partial(is_rung, layers_only=True), partial(is_class, by_header=True)),
        "rungs as first fixed": how_many(partial(is_rung, as_first=True), partial(is_class, by_header=True)),
        "component": how_many(lambda row: row["said"] == row["component"]),
    }


def rows_of(path: Path, cases: Mapping[str, Case], torch: str) -> Rows:
    """The measured rows of a file, with what the headers say today."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        {
            **row,
            "component": cases[row["case"]].component,
            "symptom": cases[row["case"]].symptom,
            "documented": class_of(cases[row["case"]], row["check"], torch),
        }
        for row in sorted(rows, key=lambda row: (cases[row["case"]].component, row["case"], row["check"]))
    ]


def table(paths: list[Path], roots: list[Path]) -> None:
    """How often each file's rows are right, by the headers as they are now; all rows of the first, the wrong ones of
    the others.

    Args:
        paths: files that are named ``triage-RELEASE.jsonl``, or ``triage-unseen-RELEASE.jsonl``: cases that were
            triaged for the first time in that run.
    """
    cases = {case.id: case for case in load_cases(roots, lambda message: print(message, file=sys.stderr))}
    measured = {
        name: rows_of(path, cases, name.rpartition("-")[2])
        for path in paths
        if (name := path.stem.removeprefix("triage-"))
    }
    totals = {name: totals_of(rows) for name, rows in measured.items()}
    heads = ["torch", *next(iter(totals.values()))]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for name, row in totals.items():
        print(f"| {name.replace('-', ', ')} | {' | '.join(row.values())} |")
    for number, rows in enumerate(measured.values()):
        print("\n| check | header | first failing rung | class | component named | right |\n|" + " --- |" * 6)
        for row in rows:
            if number == 0 or not (is_rung(row) and is_class(row)):
                print(line_of(row))


def line_of(row: Mapping[str, Any]) -> str:
    """One check as a line of a table."""
    misses = [name for name, ok in (("rung", is_rung(row)), ("class", is_class(row))) if not ok]
    right = "refused" if row["first_failing"] == REFUSED else f"no: {', '.join(misses)}" if misses else "yes"
    rung = ", ".join(filter(None, (row["first_failing"], row.get("narrower")))) or "-"
    header = row["symptom"] if row["symptom"] == row["documented"] else f"{row['symptom']} ({row['documented']})"
    return (
        f"| {row['case']} {row['check']} | {row['component']}, {header} | {rung} | "
        f"{row['class'] or '-'} | {row['said'] or '-'} | {right} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default="2.13.0")
    parser.add_argument("--python-exe", type=Path, default=Path(sys.executable))
    parser.add_argument("--cases", type=Path, default=Path("cases"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("-o", "--output", type=Path, default=Path("triage.jsonl"))
    parser.add_argument("--limit", type=int, metavar="N", help="measure so many more, and stop")
    parser.add_argument("--only", action="append", metavar="CASE", help="measure these cases, not all")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    if options.table:
        table(options.table, [options.cases])
    else:
        measure(options)


if __name__ == "__main__":
    main()
