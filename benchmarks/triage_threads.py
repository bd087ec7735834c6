"""The accuracy of triage on programs that no rule of it was made after: those of `benchmarks/threads`.

    python benchmarks/triage_threads.py --python-exe PYTHON -o FILE.jsonl   measure, one line for each program
    python benchmarks/triage_threads.py --only NAME ... -o FILE.jsonl        some of them, as after a rule has changed
    python benchmarks/triage_threads.py --table FILE.jsonl [FILE.jsonl ...]  what was right, and what was not

`truth.toml` beside the programs says what each is. A program is measured by `pt2bugs triage`, as a bot would: the whole
folder, one program after the other, without network. A later line of a program in a file replaces the earlier one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parent / "threads"
RIGHT = ("verdict", "rung", "class", "component", "known")
"""What a program is asked for; a mistake and a limitation for the verdict alone."""
KINDS = ("identity", "structure")
"""How a known bug is recognized: one with words of its own by these, a wrong result by what the program does."""

Row = dict[str, Any]


def truths(folder: Path = FOLDER) -> dict[str, Row]:
    """Return what each program is, by its name."""
    known: dict[str, Row] = tomllib.loads((folder / "truth.toml").read_text())
    return known


def row_of(answer: Mapping[str, Any], seconds: float) -> Row:
    """Return what triage says of one program, of the line that it prints for it."""
    lines = answer.get("minimized") or {}
    return {
        "program": Path(answer["program"]).stem,
        "torch": answer.get("torch"),
        "verdict": answer.get("verdict") or answer.get("problem"),
        "reason": answer.get("reason"),
        "rung": answer.get("first_failing"),
        "class": answer.get("class"),
        "component": answer.get("component"),
        "known": [[match["kind"], match["case"]] for match in answer.get("known", [])],
        "lines": [lines.get("lines_before"), lines.get("lines_after")],
        "seconds": round(seconds),
    }


def rights_of(row: Row, truth: Row) -> dict[str, bool]:
    """Return what is right about an answer, of what the program was asked for."""
    right = {"verdict": row["verdict"] == truth["verdict"]}
    if truth["verdict"] == "bug":
        right |= {
            "rung": row["rung"] in truth["rung"],
            "class": row["class"] == truth["class"],
            "component": row["component"] in truth["component"],
        }
    if "known" in truth:
        cases = (truth["known"], *truth.get("known-too", ()))
        right["known"] = bool(row["known"]) and row["known"][0] in [[kind, case] for kind in KINDS for case in cases]
    return right


def measure(options: argparse.Namespace) -> None:
    """Append one line for each program, as soon as it is there."""
    programs = options.folder / "programs"
    programs.mkdir(parents=True)
    for path in sorted(FOLDER.glob("*.py")):
        if not options.only or path.stem in options.only:
            shutil.copy(path, programs)
    command = [sys.executable, "-m", "pt2bugs", "triage", str(programs), "--json", "--skip", "artifacts"]
    command += ["--python-exe", str(options.python_exe), "--minutes", str(options.minutes), "-o", str(options.folder)]
    began = time.monotonic()
    with (
        options.output.open("a") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as triage,
    ):
        for line in triage.stdout or ():
            now = time.monotonic()
            answer = json.loads(line)
            written = options.folder / Path(answer["program"]).name / "triage.json"
            data = json.loads(written.read_text()) if written.exists() else {}
            spent = {"processor_s": data.get("processor_s"), "answered_s": data.get("answered_s")}
            file.write(json.dumps({**row_of(answer, now - began), **spent}) + "\n")
            file.flush()
            began = now


def rows_of(path: Path) -> list[Row]:
    """Return the newest line of each program of a file."""
    rows = map(json.loads, path.read_text().splitlines())
    return list({row["program"]: row for row in rows}.values())


def table(paths: Sequence[Path]) -> None:
    """Print how many answers are right, by file, and the programs of the first."""
    known = truths()
    measured = {path: rows_of(path) for path in paths}
    heads = [
        "rows",
        *RIGHT,
        "mistakes called a bug",
        "recognized by structure",
        "at most half of the lines",
        "median s to the answer",
        "processor s to it",
        "median s",
        "median processor s",
    ]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for path, rows in measured.items():
        print(f"| {' | '.join([path.stem, *totals_of(rows, known)])} |")
    heads = ["program", "thread", "it is", "verdict", "first failing rung", "class", "component", "lines", "s", "wrong"]
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for row in next(iter(measured.values())):
        print(line_of(row, known[row["program"]]))


def totals_of(rows: Sequence[Row], known: Mapping[str, Row]) -> list[str]:
    """The cells of the first table, for one file."""
    rights = [rights_of(row, known[row["program"]]) for row in rows]
    asked = {name: [right[name] for right in rights if name in right] for name in RIGHT}
    mistakes = [row for row in rows if known[row["program"]]["verdict"] != "bug"]
    alike = [
        row for row in rows for kind, case in row["known"]
        if kind == "structure" and case == known[row["program"]].get("known")
    ]  # fmt: skip
    reduced = [row["lines"] for row in rows if row["lines"][1] is not None]
    processor = [row["processor_s"] for row in rows if row.get("processor_s")]
    answered = [row["answered_s"] for row in rows if row.get("answered_s")]
    return [
        *(f"{sum(answers)} of {len(answers)}" for answers in asked.values()),
        f"{sum(row['verdict'] == 'bug' for row in mistakes)} of {len(mistakes)}",
        str(len(alike)),
        f"{sum(2 * after <= before for before, after in reduced)} of {len(reduced)}",
        *(str(round(statistics.median(times))) for times in zip(*answered, strict=True)),
        *([] if answered else ["-", "-"]),
        str(round(statistics.median(row["seconds"] for row in rows))),
        str(round(statistics.median(processor))) if processor else "-",
    ]


def line_of(row: Row, truth: Row) -> str:
    """One program as a line of a table."""
    wrong = [name for name, right in rights_of(row, truth).items() if not right]
    what = ", ".join([truth.get("class") or truth["verdict"], *truth.get("rung", ()), *truth.get("component", ())[:1]])
    said = row["verdict"] + (f" ({row['reason']})" if row["reason"] else "")
    before, after = row["lines"]
    lines = f"{before} to {after}" if after is not None else "-"
    cells = [row["program"], truth["thread"], what, said, row["rung"], row["class"], row["component"], lines]
    cells += [row["seconds"], ", ".join(wrong)]
    return f"| {' | '.join(str(cell or '-') for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python-exe", type=Path, default=Path(sys.executable))
    parser.add_argument("--minutes", type=float, default=2, help="for each program (default: 2)")
    parser.add_argument("--folder", type=Path, default=Path("triage-threads"), help="what triage writes")
    parser.add_argument("-o", "--output", type=Path, default=Path("triage-threads.jsonl"))
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the programs")
    parser.add_argument("--table", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    if options.table:
        table(options.table)
    else:
        measure(options)


if __name__ == "__main__":
    main()
