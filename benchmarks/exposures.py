"""How often `exposure` and `upgrade` are right on programs of which the truth is known, and what they cost.

    python benchmarks/exposures.py own|bitten|pairs|models [NAME ...] [--limit N]     measure what was not measured yet
    python benchmarks/exposures.py table                                     the tables of docs/evaluation/upgrade.md

`own`: cases with an isolated fix, which must bite them. `bitten`: programs of `programs/bitten`, each written around a
documented bug. `pairs`: cases in a random order, asked for all fixes; a fix of another root that one executes is a
pair. `models`: programs of `programs/models`, which nothing should break; each is moved twice. Rows go to
`exposures.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from pt2bugs.case.cells import cells_of
from pt2bugs.case.corpus import corpus_roots, load_cases, roots_of
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands.exposure import Options
from pt2bugs.commands.program import exposure_command, select_interpreters, select_known, select_program
from pt2bugs.commands.selection import open_environments
from pt2bugs.errors import Pt2bugsError
from pt2bugs.isolate import fixes
from pt2bugs.report.markdown import filled, table
from pt2bugs.upgrade.exposure import EXECUTED, exposure_of
from triage import program_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evaluation" / "upgrade.md"
ROWS = ROOT / "benchmarks" / "exposures.jsonl"
PROGRAMS = ROOT / "benchmarks" / "programs"
TRUTH = PROGRAMS / "truth.toml"
"""Which fix bites a program of `programs/bitten`, and what reading a bite of a pair has shown."""
MOVE = ("2.9.1", "2.13.0", "2.15.0")
RELEASE = "2.12.1"
"""Of pairs: the release that most fixes are isolated in."""
MINUTES = 2.0
TIMES = {"compile_s", "speedup", "peak_memory_mb"}
"""Keys of a run that no two runs share."""

Row = dict[str, Any]


def rows_of(kind: str = "") -> list[Row]:
    """The rows that were measured, of one kind."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()] if ROWS.exists() else []
    return [row for row in rows if kind in ("", row["kind"])]


def add(row: Row) -> None:
    with ROWS.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(json.dumps(row)[:300], flush=True)


def truth() -> Mapping[str, Any]:
    told: dict[str, Any] = tomllib.loads(TRUTH.read_text(encoding="utf-8"))
    return told


def isolations() -> list[Mapping[str, Any]]:
    """Those that exposure asks about."""
    return [told for told in fixes.load(ROOT / "results") if told["evidence"] in ("patch", "proved") and told["units"]]


# --- measuring -----------------------------------------------------------------------------------------


def expose(path: Path, release: str) -> Row:
    """Ask about every fix, as `pt2bugs exposure` does."""
    options = Options(script=str(path), torch=release, minutes=MINUTES)
    began = time.monotonic()
    with open_environments(options) as environments:
        interpreters = select_interpreters(options, environments)
        program, known = select_program(options), select_known(options)
        # A row names the program, and not the folder in which it was run.
        command = partial(exposure_command, replace(options, script=path.name))
        told = exposure_of(program, interpreters.of(release), known, interpreters, lambda _: None, command)
    asked = [bug.as_dict() for bug in told.bugs if bug.units]
    return {
        "release": release,
        "covered": told.covered,
        "bugs": [{key: bug[key] for key in ("case", "level", "where", "what")} for bug in asked],
        "without_fix": sum(not bug.units for bug in told.bugs),
        "without_fix_executed": sum(not bug.units and bug.what.endswith(EXECUTED) for bug in told.bugs),
        "seconds": round(time.monotonic() - began, 1),
    }


def as_program(case: Case, check: str, backend: str, folder: Path) -> Path:
    """A check as a program, in a file of its own."""
    given = {"device": "cpu", "backend": backend}
    (parameters,) = [known.parameters for known in case.checks if known.name == check]
    path = folder / "program.py"
    path.write_text(program_of(case.path.read_text(encoding="utf-8"), check, [given[name] for name in parameters]))
    return path


def measure_own(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    cases = {case.id: case for case in load_cases(corpus_roots([]), print)}
    for told in isolations():
        name = f"{told['case']}::{told['check']} {told['backend']}"

        def measured(told: Mapping[str, Any] = told) -> Row:
            with tempfile.TemporaryDirectory() as folder:
                path = as_program(cases[told["case"]], told["check"], told["backend"], Path(folder))
                return {"case": told["case"], "evidence": told["evidence"], **expose(path, told["bad"])}

        if not names or told["case"] in names:
            yield name, measured


def measure_bitten(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    bad = {told["case"]: str(told["bad"]) for told in isolations()}
    for name, case in truth()["bitten"].items():
        if not names or name in names:
            yield (
                name,
                lambda name=name, case=case: {  # type: ignore[misc]
                    "case": case,
                    **expose(PROGRAMS / "bitten" / f"{name}.py", bad[case]),
                },
            )


def measure_pairs(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    cases = load_cases(corpus_roots([]), print)
    cells = [cell for case in cases if not case.extra and not case.network for cell in cells_of(case, ("cpu",))]
    random.Random(0).shuffle(cells)
    for cell in cells:
        case, check = cell.case, cell.check.name

        def measured(case: Case = case, check: str = check, backend: str = cell.backend) -> Row:
            with tempfile.TemporaryDirectory() as folder:
                return {"case": case.id, **expose(as_program(case, check, backend, Path(folder)), RELEASE)}

        if not names or case.id in names:
            yield f"{case.id}::{check} {cell.backend}", measured


def measure_models(names: Sequence[str]) -> Iterator[tuple[str, Callable[[], Row]]]:
    for path in sorted((PROGRAMS / "models").glob("*.py")):
        for number in (1, 2):
            if not names or path.stem in names:
                yield f"{path.stem} {number}", lambda path=path, number=number: move(path, number)  # type: ignore[misc]


def move(path: Path, number: int) -> Row:
    """Move a program over the releases; the first time also run it by hand, twice on each release."""
    requirements = PROGRAMS / "models" / "requirements.txt"
    releases = ("--from", MOVE[0], *(word for release in MOVE[1:] for word in ("--to", release)))
    command = [sys.executable, "-m", "pt2bugs", "upgrade", str(path), *releases, "--json"]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--requirements", str(requirements)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    seconds = round(time.monotonic() - began, 1)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{path}: exit {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout.replace(f"{ROOT}/", ""))
    for told in answer["exposure"]:
        told["bugs"] = [bug for bug in told["bugs"] if bug["units"]]
    row = {"number": number, "exit": done.returncode, "seconds": seconds, "answer": answer}
    return row | ({"by_hand_s": by_hand(path, requirements)} if number == 1 else {})


def by_hand(path: Path, requirements: Path) -> float:
    """Seconds of two runs on each release, with cold caches and one thread."""
    options = Options(script=str(path), requirements=requirements)
    seconds = 0.0
    with open_environments(options) as environments:
        interpreters = select_interpreters(options, environments)
        for release in MOVE:
            python = interpreters.of(release).exe
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    env = {
                        "TORCHINDUCTOR_CACHE_DIR": folder,
                        "OMP_NUM_THREADS": "1",
                        "HOME": folder,
                        "PATH": "/usr/bin",
                    }
                    began = time.monotonic()
                    subprocess.run([python, path], cwd=folder, env=env, capture_output=True, check=True)
                    seconds += time.monotonic() - began
    return round(seconds, 1)


MEASURED = {"own": measure_own, "bitten": measure_bitten, "pairs": measure_pairs, "models": measure_models}


# --- tables --------------------------------------------------------------------------------------------


def level_of(row: Row) -> tuple[str, str]:
    """The level of the row's own fix, and what it says."""
    told = {bug["case"]: bug for bug in row["bugs"]}.get(row["case"], {"level": "unknown", "what": "", "where": ""})
    return told["level"], f"{told['where']}: {told['what']}".removeprefix(": ").replace("|", "\\|")


def own_table() -> Iterator[str]:
    rows = rows_of("own")
    for evidence in ("proved", "patch"):
        levels = Counter(level_of(row)[0] for row in rows if row["evidence"] == evidence)
        told = ", ".join(f"{count} `{level}`" for level, count in levels.most_common())
        yield f"- `{evidence}`: {sum(levels.values())} asked: {told or 'none'}"
    yield ""
    yield table(
        ["check", "fix", "its level", "what", "s"],
        (
            [f"`{row['name']}`", row["evidence"], f"`{level_of(row)[0]}`", level_of(row)[1], f"{row['seconds']:.0f}"]
            for row in sorted(rows, key=lambda row: (row["evidence"] != "proved", row["name"]))
        ),
    )


def bitten_table() -> Iterator[str]:
    rows = rows_of("bitten")
    bites = sum(level_of(row)[0] == "bites" for row in rows)
    yield f"{bites} of {len(rows)} are found."
    yield ""
    yield table(
        ["program", "documented bug", "torch", "level", "what", "s"],
        (
            [
                f"`{row['name']}`",
                row["case"],
                row["release"],
                f"`{level_of(row)[0]}`",
                level_of(row)[1],
                f"{row['seconds']:.0f}",
            ]
            for row in rows
        ),
    )


def pairs_of(rows: Iterable[Row]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each program with each fix of another root that it executes; one fix counts once for a case."""
    roots = roots_of(load_cases(corpus_roots([]), lambda _: None))
    seen = set()
    for row in rows:
        for bug in row["bugs"]:
            is_elsewhere = "asks there" in bug["what"]
            pair = (row.get("case", row["name"]), bug["case"])
            if bug["level"] == "not-executed" or is_elsewhere or pair in seen:
                continue
            if roots.get(row["case"], row["case"]) != roots.get(bug["case"], bug["case"]):
                seen.add(pair)
                yield row["name"], bug


def pairs_table() -> Iterator[str]:
    """All pairs of all measured programs: those of `own` and `bitten` meet fixes of other roots as well."""
    pairs = list(pairs_of([*rows_of("pairs"), *rows_of("own"), *rows_of("bitten")]))
    levels = Counter(bug["level"] for _, bug in pairs)
    told = ", ".join(f"{count} `{level}`" for level, count in levels.most_common())
    cases = len(rows_of("pairs"))
    yield f"{cases} cases in a random order, and the programs above: {len(pairs)} pairs: {told or 'none'}."
    read = truth().get("read", {})
    bites = [(name, bug) for name, bug in pairs if bug["level"] == "bites"]
    if bites:
        yield ""
        yield table(
            ["program", "fix", "what", "read"],
            (
                [f"`{name}`", bug["case"], bug["what"], read.get(f"{name} {bug['case']}", "not read")]
                for name, bug in bites
            ),
        )
    why = Counter(re.sub(r"\d+", "N", bug["what"])[:90] for _, bug in pairs if bug["level"] == "unknown")
    if why:
        yield ""
        yield from (f"- `unknown`, {count}: {what}" for what, count in why.most_common())


def facts(answer: Mapping[str, Any]) -> Any:
    """What of an answer two runs must share: all but times and memory, and the lines on them."""
    runs = [{key: value for key, value in run.items() if key not in TIMES} for run in answer["runs"]]
    lists = {
        name: [
            entry["what"]
            for entry in answer[name]
            if not re.search(r"times as fast|MB of peak|seconds of compilation", entry["what"])
        ]
        for name in ("breaks_for_you", "fixed_for_you", "changes_for_you", "not_known")
    }
    replay = [(entry["graph"], entry["torch"], entry["same"]) for entry in answer["replay"]]
    bugs = [(told["torch"], bug["case"], bug["level"]) for told in answer["exposure"] for bug in told["bugs"]]
    return runs, lists, replay, bugs


def models_table() -> Iterator[str]:
    rows = rows_of("models")
    if not rows:
        yield "None of them was moved yet."
        return
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row["name"].split()[0], []).append(row)
    breaks = sum(bool(row["answer"]["breaks_for_you"]) for row in rows)
    moves = " -> ".join(MOVE)
    moved = f"{number_of(len(by_name), 'program')}, {number_of(len(rows), 'move')}"
    yield f'torch {moves}: {moved}, with a line under "breaks for you" in {breaks}.'
    yield ""

    def lines() -> Iterator[list[str]]:
        for name, some in by_name.items():
            first = some[0]
            answer, hand = first["answer"], first.get("by_hand_s")
            equal = "-" if len(some) < 2 else "yes" if facts(answer) == facts(some[1]["answer"]) else "no"
            lists = [
                str(len(answer[key])) for key in ("breaks_for_you", "fixed_for_you", "changes_for_you", "not_known")
            ]
            graphs = {entry["graph"] for entry in answer["replay"]}
            cost = (
                f"{first['seconds']:.0f}",
                f"{hand:.0f}" if hand else "-",
                f"{first['seconds'] / hand:.1f}" if hand else "-",
            )
            yield [f"`{name}`", *lists, str(len(graphs)), equal, *cost]

    head = [
        "program",
        "breaks",
        "fixed",
        "changes",
        "not known",
        "graphs replayed",
        "two moves agree",
        "s",
        "by hand, s",
        "times",
    ]
    yield table(head, lines())


TABLES = {"own": own_table, "bitten": bitten_table, "pairs": pairs_table, "models": models_table}


def page(text: str) -> str:
    """The page with the tables of the committed rows."""
    return filled(text, lambda name: "\n".join(TABLES[name]()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*MEASURED, "table"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=1000, help="rows that are added")
    options = parser.parse_args()
    if options.kind == "table":
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    done = {row["name"] for row in rows_of(options.kind)}
    left = options.limit
    for name, measured in MEASURED[options.kind](options.names):
        if name in done or left <= 0:
            continue
        try:
            add({"kind": options.kind, "name": name, **measured()})
        except Pt2bugsError as error:
            print(f"{name}: {error}", file=sys.stderr)
        left -= 1


if __name__ == "__main__":
    main()
