"""Step 4: the logs and files that a class of bug is reported with, each gathered in a run of its own.

Every run has a folder for what torch writes. Of that text files are kept, bounded, without paths of the machine and
without secrets.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.observation import bounded
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.engine.folders import RunFolder
from pt2bugs.errors import install_command
from pt2bugs.files import write_text
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import LAYERS, Ladder
from pt2bugs.triage.program import Program
from pt2bugs.triage.runner import ProgramRunner

MAX_FILE = 100_000
"""Characters kept of a file, its head and its tail."""
MAX_TOTAL = 3_000_000
TLPARSE_S = 120.0
"""Seconds for a trace to be rendered."""
MAX_FILES = 60
_TEXT = {".py", ".txt", ".log", ".cpp", ".h", ".json", ".html", ".ttir", ".cu", ".dot", ""}

LOGS = {
    "graph-break": "graph_breaks,graph_code",
    "recompilation": "recompiles,guards",
    "wrong-result": "graph_code,aot_graphs,output_code",
    "missing-error": "graph_code,aot_graphs,output_code",
    "backend-failure": "graph_code,aot_graphs,output_code",
    "internal-error": "graph_code,aot_graphs",
    "triton": "output_code",
    "crash": "graph_code,aot_graphs,output_code",
    "hang": "graph_code,aot_graphs",
    "memory": "graph_code,aot_graphs",
}
"""TORCH_LOGS for each class."""
REPRO, REPRO_AFTER = "repro.py", "TORCHDYNAMO_REPRO_AFTER"
_FOLDER_OF_RUN = re.compile(
    r"os\.environ\['(TORCHINDUCTOR_CACHE_DIR|TRITON_CACHE_DIR|TORCH_COMPILE_DEBUG_DIR|_TORCH\w+)'\]"
)
_NODES = re.compile(r"\d+")
_SAVE_DIR = re.compile(r"save_dir='[^']*'")
TRACEBACK = "traceback"
"""The run with TORCHDYNAMO_VERBOSE: without it Dynamo leaves its own frames out of the traceback."""
_DYNAMIC = "dynamic"
_DEBUG_FOLDER = {"wrong-result", "backend-failure", "missing-error", "triton", "crash"}
_MINIFIED = {"backend-failure": "2", "crash": "2", "internal-error": "2", "wrong-result": "4"}
"""Classes that torch's minifier knows, and its level: 2 asks for any failure, 4 for another result."""


@dataclass(frozen=True)
class _Plan:
    """One run: its name, the variables it is made with, and what it says when nothing came of it."""

    name: str
    env: dict[str, str]


def gather(
    runner: ProgramRunner,
    program: Program,
    classification: Classification,
    ladder: Ladder,
    folder: Path,
    budget: Budget,
    log: Callable[[str], None],
) -> tuple[list[Path], list[str]]:
    """Make the runs that the class asks for, and keep the files that they leave.

    Args:
        runner: runs programs.
        program: the program.
        classification: its class.
        ladder: the rungs that were tried.
        folder: to write to.
        budget: of this step.
        log: told of each run.

    Returns:
        The files below `folder`, and a sentence for each thing that could not be had.

    Raises:
        EngineError: the engine cannot be started.
    """
    kept: list[Path] = []
    missing: list[str] = []
    redirect = {"backend": ladder.first_failing} if ladder.first_failing in LAYERS[1:] else {}
    failing = ladder.step(ladder.first_failing)
    identity = failing.identity if failing is not None else Identity(Outcome.PASS)
    for plan in _plans(classification, ladder, is_raised_again=bool(identity.frame) and not identity.place):
        if budget.is_over:
            missing.append(f"{plan.name}: the budget was spent")
            continue
        log(f"artifacts: {plan.name}")
        with RunFolder.create("artifacts") as run_folder:
            env = {name: value.replace("@", str(run_folder)) for name, value in plan.env.items()}
            result = runner.run(program.path, redirect, env=env, write=run_folder, fresh=True)
            problem = f"torch wrote nothing ({result.observation.summary[:120]})"
            if plan.name == TRACEBACK and result.text:
                write_text(run_folder / "traceback.txt", result.text)
            if plan.name == "minifier":
                if not _launchers(run_folder) and env[REPRO_AFTER] == "aot" and not budget.is_over:
                    # The passes that Inductor runs before it compiles a graph are outside of what "aot" watches.
                    log(f"artifacts: {plan.name}, after Dynamo")
                    env = {**env, REPRO_AFTER: "dynamo"}
                    result = runner.run(program.path, redirect, env=env, write=run_folder, fresh=True)
                _run_launchers(runner, run_folder)
                settle_repro(run_folder)
            if plan.name == "tlparse":
                problem = _render(run_folder, budget.cap(TLPARSE_S))
            written = list(_keep(runner, program, run_folder, folder / plan.name, MAX_TOTAL - _size(kept)))
        if problem and (not written or plan.name == "tlparse"):
            missing.append(f"{plan.name}: {problem}")
        kept += written
    return kept, missing


def _plans(classification: Classification, ladder: Ladder, *, is_raised_again: bool) -> Iterator[_Plan]:
    symptom = classification.symptom or ""
    logs = LOGS.get(symptom, "graph_code")
    if classification.component == "dynamic-shapes":
        logs += f",{_DYNAMIC}"
    yield _Plan("logs", {"TORCH_LOGS": logs, "TORCH_LOGS_OUT": "@/torch_logs.txt"})
    yield _Plan("tlparse", {"TORCH_TRACE": "@"})
    if is_raised_again:
        yield _Plan(TRACEBACK, {"TORCHDYNAMO_VERBOSE": "1"})
    if symptom in _DEBUG_FOLDER and ladder.first_failing in ("inductor", "aot_eager_decomp_partition"):
        yield _Plan("debug", {"TORCH_COMPILE_DEBUG": "1", "TORCH_COMPILE_DEBUG_DIR": "@"})
    if (level := _MINIFIED.get(symptom)) and ladder.first_failing in LAYERS[1:]:
        after = "aot" if ladder.first_failing == LAYERS[-1] else "dynamo"
        yield _Plan(
            "minifier",
            {
                REPRO_AFTER: after,
                "TORCHDYNAMO_REPRO_LEVEL": level,
                "TORCH_COMPILE_DEBUG_DIR": "@",
            },
        )


def _run_launchers(runner: ProgramRunner, run_folder: Path) -> None:
    """Run what the first run left to be run: it minifies the graph and writes `repro.py`."""
    for launcher in _launchers(run_folder)[:1]:
        # It writes where it stands, and a run stands in a folder that is gone after it.
        program = run_folder / "minify.py"
        there = f"os.chdir({str(run_folder)!r})"
        write_text(program, f"import os, runpy\n{there}\nrunpy.run_path({str(launcher)!r}, run_name='__main__')\n")
        runner.run(program, env={"TORCH_COMPILE_DEBUG_DIR": str(run_folder)}, write=run_folder, fresh=True)
        program.unlink()


def _launchers(run_folder: Path) -> list[Path]:
    return sorted(run_folder.rglob("minifier_launcher.py"))


def settle_repro(run_folder: Path) -> None:
    """Leave of the minifier's checkpoints the smallest, as `repro.py`, without the folders of its run.

    Args:
        run_folder: where the minifier ran; it names a checkpoint after the number of its nodes.
    """
    nodes = {
        path: int(number[0]) for path in run_folder.rglob("checkpoints/*.py") if (number := _NODES.search(path.stem))
    }
    if not nodes:
        return
    lines = min(nodes, key=lambda path: nodes[path]).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not _FOLDER_OF_RUN.match(line)) + "\n"
    write_text(run_folder / REPRO, _SAVE_DIR.sub("save_dir=None", text))
    for path in nodes:
        path.unlink()


def _render(run_folder: Path, seconds: float) -> str:
    """Have tlparse make pages of a trace, in its place; what is wrong, if it cannot."""
    traces = sorted(run_folder.glob("*.log"))
    if not traces:
        return "torch wrote no trace"
    beside = Path(sys.executable).parent / "tlparse"
    program = str(beside) if beside.exists() else shutil.which("tlparse")
    if program is None:
        return f"it is not installed: {install_command('triage')}; the raw trace is kept"
    pages = run_folder / "pages"
    command = [program, str(traces[0]), "-o", str(pages), "--no-browser"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"it was not done with the trace after {seconds:.0f} s; the raw trace is kept"
    if not (pages / "index.html").exists():
        return (done.stderr.strip().splitlines() or ["it wrote no page"])[-1][:200]
    for trace in traces:
        trace.unlink()
    (pages / "raw.log").unlink(missing_ok=True)
    return ""


def _size(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _keep(runner: ProgramRunner, program: Program, run_folder: Path, target: Path, room: int) -> Iterator[Path]:
    """Copy the text files of a folder, bounded and cleaned; the smallest first, as long as there is room."""
    files = [
        file for file in run_folder.rglob("*") if file.is_file() and not file.is_symlink() and file.suffix in _TEXT
    ]
    for file in sorted(files, key=lambda file: file.stat().st_size)[:MAX_FILES]:
        text = file.read_bytes()[: 8 * MAX_FILE].decode("utf-8", "backslashreplace")
        if file.stat().st_size > 8 * MAX_FILE:
            text = text.rpartition("\n")[0]  # the last line may end in half a path
        if not text.strip() or "\0" in text:
            continue
        text = bounded(runner.hide(text.replace(str(run_folder), "<artifacts>"), program.path), MAX_FILE)
        if room < len(text):
            continue
        room -= len(text)
        path = target / file.relative_to(run_folder)
        write_text(path, text)
        yield path
