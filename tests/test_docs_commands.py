"""The commands of the documents that measure something, each run over releases of a fake torch.

Those that only read results are run on the committed ones, in `test_docs`. What takes a GPU, PyTorch's own indexes, a
build of PyTorch or a person who edits is parsed there, and no more.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index, write_backend, write_torch
from pt2bugs.cli import main
from suite import case_text
from test_docs import PAGES, commands, is_read
from test_isolate_isolation import CHECK as ROW_CHECK
from test_isolate_isolation import OLD, new
from test_upgrade_exposure import CLAMP, PROGRAM

PARSED = {
    "--device cuda": "a GPU",
    "--torch-backend": "PyTorch's own indexes",
    "--verify": "a build of PyTorch",
    "pt2bugs bench": "cases with benches, and minutes: `test_speed` has some",
    "--watch": "a person who edits",
    "$NIGHTLY_INDEX": "PyTorch's index of nightly builds",
    "$CANDIDATE_INDEX": "PyTorch's index of release candidates",
    "pt2bugs merge shards/*": "the results of several machines: `test_ci_recipe` merges some",
    "pt2bugs merge out.jsonl": "a journal from elsewhere: `test_results_merge` has some",
    "pt2bugs diff first second": "two full runs: `test_commands_diff` compares small ones",
    "pt2bugs check --fix pytorch_172073.py": "a draft that `new` has just made: `test_curate_new` mends one",
    "--pt2bugs-upgrade": "a suite of a user: `test_upgrade_suite` has one",
    "pt2bugs repair score": "a task that somebody has worked on: `test_repair_score` scores patches",
    "pt2bugs isolate --component": "a night: `test_isolate_command` asks of one case",
    "--introduced": "releases the other way round: `test_isolate_command` has them",
    "--python 3.12": "a second Python",
    "old/bin/python": "two interpreters of a user: `test_upgrade_move` has some",
    "triage script.py": "an interpreter with a fake torch: `test_triage` runs it",
    "triage issues/": "a folder of programs: `test_triage` runs one",
}
RELEASES: dict[str, dict[str, str]] = {
    "2.9.1": {"doubled": "raise"},
    "2.10.0": {},
    "2.12.1": {},
    "2.13.0": {"flipped": "wrong"},
}
FILES = {
    "2.9.1": {"lowering.py": OLD},
    "2.12.1": {"lowering.py": OLD},
    "2.13.0": {"lowering.py": new(CLAMP)},
}
"""The sources of two releases differ: what `isolate` finds, and `hotfix` makes a patch of."""
ROWS = ("pytorch_154036", "pytorch_183771")
"""Cases that are there for the commands that ask what fixed them."""
ROW = {"torch": "<2.13", "outcome": "wrong", "error": "AssertionError", "match": "row -3 gives loaded"}
CHECK = '''
"""A compiled function doubles its input.

What the function gives compiled is what it gives in eager mode. Source: a fake torch.
"""

import torch

def test_{name}(backend, device):
    def {name}(x):
        return x * 2

    x = torch.arange(4, device=device)
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))
'''
SCRIPT = """
import torch


def flipped(x):
    return x * 2


x = torch.arange(4)
torch.testing.assert_close(torch.compile(flipped)(x), flipped(x))
"""
PLACEHOLDERS = {
    "/elsewhere": "elsewhere",
    "<id>": "pytorch_163640",
    "NAME": "inductor-freezing",
    "NUMBER": "163641",
}


@dataclass(frozen=True)
class World:
    """A folder with a small corpus and what the documents name, and an index of a fake torch."""

    folder: Path
    index: str
    torch: Path

    def case(self, folder: str, name: str, check: str) -> None:
        path = self.folder / folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        error = "torch._dynamo.exc.InternalTorchDynamoError"
        bug = {"torch": "<2.10", "outcome": "raise", "error": error, "match": f"cannot compile {check}"}
        issue = f"https://github.com/pytorch/pytorch/issues/{name.rpartition('_')[2]}"
        component = path.parent.name if path.parent.parent.name == "cases" else "inductor"
        path.write_text(case_text(CHECK.format(name=check), bugs=[bug], issue=issue, component=component))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    wheels = build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES, FILES)
    write_backend(wheels, "timm", {}, module="timm")
    write_backend(wheels, "openvino", {"doubled": "wrong"}, version="2026.4.1")
    for place in (wheels, folder, folder / "dist"):
        place.mkdir(exist_ok=True)
        write_backend(place, "mine", {"doubled": "raise"}, module="torch")
    write_backend(wheels, "mine", {}, version="1.1", module="torch")
    torch = write_torch(tmp_path_factory.mktemp("torch"), "2.13.0", RELEASES["2.13.0"])
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as index:
        made = World(folder, index, torch)
        made.case("cases/dynamo", "pytorch_163640", "doubled")
        made.case("cases/dynamo", "pytorch_172213", "doubled")
        made.case("elsewhere/my_cases", "mine_1", "doubled")
        for name in ("script.py", "repro.py"):
            (folder / name).write_text(SCRIPT)
        (folder / "accepted.toml").write_text("[[accepted]]\ncase = 'pytorch_1'\noutcome = 'wrong'\n")
        yield made


def lines() -> list[str]:
    """Every command that measures, once, in the order of the documents."""
    measuring = (line for _, line in commands() if not is_read(line) and not any(word in line for word in PARSED))
    return list(dict.fromkeys(measuring))


@pytest.mark.parametrize("line", lines())
def test_a_command_of_the_documents_works(
    world: World, line: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.folder)
    for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_DEFAULT_INDEX", world.index)
    monkeypatch.setenv("PT2BUGS_HOME", str(world.folder / "home"))
    if "--torch" not in line:
        monkeypatch.setenv("PYTHONPATH", str(world.torch))
    arguments = [argument for word in shlex.split(replaced(line))[1:] for argument in globbed(word)]
    prepare(world, arguments)
    status = main(arguments)
    # 1: a documented bug is there, or a case is not a good one.
    assert status in (0, 1), line


def shell_lines() -> list[str]:
    """The lines of the documents in which another command than pt2bugs comes first."""
    blocks = (block for page in PAGES for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    lines = (line for block in blocks for line in block.splitlines())
    measuring = (line for line in lines if not any(word in line for word in PARSED))
    return list(dict.fromkeys(line for line in measuring if re.match(r"pytest |python train\.py", line)))


@pytest.mark.parametrize("line", shell_lines())
def test_a_line_of_a_shell_works(world: World, line: str) -> None:
    prepare(world, [])
    (world.folder / "train.py").write_text("raise RuntimeError('a failure of a user')\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**os.environ, "PATH": path, "PYTHONPATH": str(world.torch), "PT2BUGS_HOME": str(world.folder / "home")}
    command = ["bash", "-c", replaced(line)]
    done = subprocess.run(command, cwd=world.folder, env=environ, capture_output=True, text=True, check=False)
    # 1: a failure that is not known; 5: `--pt2bugs-match` finds no test of a user here.
    assert done.returncode in ((0, 5) if line.startswith("pytest") else (1,)), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def replaced(line: str) -> str:
    for placeholder, other in PLACEHOLDERS.items():
        line = line.replace(placeholder, other)
    return line


def globbed(word: str) -> list[str]:
    """What a shell makes of a word."""
    return sorted(map(str, Path().glob(word))) if "*" in word and "/" in word else [word]


def prepare(world: World, arguments: list[str]) -> None:
    """The case that a command makes is not there before; the one that it is about is."""
    for pattern in (
        "pytorch_123456.py",
        "pytorch_138654.py",
        "pytorch_16364?.py",
        "pytorch_172073.py",
        *(f"{name}.py" for name in ROWS),
    ):
        for path in world.folder.rglob(pattern):
            path.unlink()
    if arguments[:1] == ["new"]:
        return
    prepare_rows(world, arguments)
    world.case("cases/dynamo", "pytorch_163640", "doubled")
    # What `new` makes a page further up, in a test that another worker may run.
    world.case("cases/decomposition", "pytorch_172073", "doubled")
    if "pytorch_123456.py" in arguments:
        world.case(".", "pytorch_123456", "flipped")
    elif "pytorch_123456" in arguments:
        world.case("cases/inductor", "pytorch_123456", "flipped")


def prepare_rows(world: World, arguments: list[str]) -> None:
    """The program of a user; and where a fix is asked about, two releases of its case, and the proof."""
    verb = (arguments or [""])[0]
    calls = f"{ROW_CHECK}\n\ntest_row('cpu', 'inductor')\n"
    (world.folder / "train.py").write_text(calls if verb == "isolate" else PROGRAM)
    shutil.rmtree(world.folder / "work", ignore_errors=True)
    if verb in ("isolate", "hotfix", "repair"):
        for name in ROWS:
            path = world.folder / "cases" / "dynamo" / f"{name}.py"
            path.write_text(
                case_text(ROW_CHECK, bugs=[ROW], issue=f"https://github.com/pytorch/pytorch/issues/{name[8:]}")
            )
        assert main(["run", *ROWS, "--torch", "2.12.1", "--torch", "2.13.0"]) == 0
    if verb in ("hotfix", "repair"):
        assert main(["isolate", "pytorch_183771"]) == 0
