"""The folder of a task and the patch in it: what a write reaches, what is refused, what gives a patch away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_torch import write_torch
from pt2bugs.case.corpus import load_cases
from pt2bugs.envs.environment import Environment, Key
from pt2bugs.repair import workplace
from pt2bugs.repair.patch import Patch, read_patch
from pt2bugs.repair.tasks import Task, tasks_of
from pt2bugs.repair.workplace import WorkplaceError, start
from test_repair_score import CASE, ISOLATION


@pytest.fixture
def torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(workplace, "LARGE", 8)
    packages = tmp_path / "env" / "site-packages"
    return write_torch(packages, files={"include/a.h": "// a\n", "lib/libtorch.so": "\x7fELF binary"}) / "torch"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "pytorch_1.py").write_text(CASE.lstrip())
    return Task(load_cases([tmp_path / "cases"])[0], ISOLATION)


@pytest.fixture
def work(tmp_path: Path, torch: Path, task: Task) -> Path:
    start(
        task, Environment(Key("2.90.0", "3"), tmp_path / "env"), torch, tmp_path / "work", tmp_path / "store", "shown"
    )
    return tmp_path / "work"


def texts(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_write_never_reaches_the_environment(work: Path, torch: Path, task: Task, tmp_path: Path) -> None:
    before = texts(torch)
    assert texts(work / "torch") == before
    for path in (work / "torch").rglob("*"):
        if path.is_file():
            assert not path.samefile(torch / path.relative_to(work / "torch"))
            path.chmod(0o600)
            with path.open("r+") as file:
                file.write("written")
    assert texts(torch) == before
    # The next folder has the libraries of the environment again, not what was written to those of another one.
    start(task, Environment(Key("2.90.0", "3"), tmp_path), torch, tmp_path / "next", tmp_path / "store")
    assert texts(tmp_path / "next" / "torch") == before


def test_the_program_and_nothing_that_tells_the_cause(work: Path) -> None:
    assert sorted(path.name for path in work.iterdir()) == ["program.py", "python", "shown.txt", "torch"]
    program = (work / "program.py").read_text()
    assert "told here" not in program
    assert "and here" not in program.lower()
    assert "pt2bugs" not in program
    assert "test_other" not in program
    assert program.endswith("    test_row(device='cpu', backend='inductor')\n")
    compile(program, "program.py", "exec")


def test_a_folder_with_something_in_it_is_refused(work: Path, torch: Path, task: Task, tmp_path: Path) -> None:
    with pytest.raises(WorkplaceError, match="is not an empty folder"):
        start(task, Environment(Key("2.90.0", "3"), tmp_path), torch, work, tmp_path / "store")


def test_a_patch_is_text(work: Path, torch: Path) -> None:
    assert read_patch(work, torch).texts == {}
    (work / "torch" / "version.pyc").unlink(missing_ok=True)
    (work / "torch" / "_dynamo" / "exc.py").write_text("class Unsupported(Exception):\n    pass\n")
    (work / "torch" / "_dynamo" / "new.py").write_text("")
    (work / "torch" / "include" / "a.h").write_text("// b\n")
    (work / "torch" / "__pycache__").mkdir()
    (work / "torch" / "__pycache__" / "version.pyc").write_bytes(b"\0")
    assert sorted(read_patch(work, torch).texts) == ["_dynamo/exc.py", "_dynamo/new.py", "include/a.h"]


@pytest.mark.parametrize("what", ["a pipe", "a pipe in place of a file", "no end", "no name"])
def test_what_cannot_be_read_is_refused(work: Path, torch: Path, what: str) -> None:
    """A pipe was waited for for ever, and the others were tracebacks."""
    path = work / "torch" / ("_dynamo/exc.py" if what == "a pipe in place of a file" else "new.py")
    if "pipe" in what:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    elif what == "no end":
        with path.open("w") as file:
            file.truncate(1 << 40)
    else:
        path.with_name(os.fsdecode(b"\xff.py")).touch()
    with pytest.raises(WorkplaceError, match=r"is no file of at most|a patch has no file of such a name"):
        read_patch(work, torch)


def test_what_is_no_text_is_refused(work: Path, torch: Path) -> None:
    folder = work / "torch"

    def refused(match: str) -> None:
        with pytest.raises(WorkplaceError, match=match):
            read_patch(work, torch)

    library = folder / "lib" / "libtorch.so"
    kept = library.read_bytes()
    library.unlink()
    refused(r"libtorch\.so: is gone")
    library.write_bytes(b"\x7fELF other!")
    refused(r"a patch is of \.py, ")
    library.write_bytes(kept)
    (folder / "extra.so").write_bytes(b"")
    refused(r"extra\.so: a patch is of")
    (folder / "extra.so").unlink()
    exc = folder / "_dynamo" / "exc.py"
    exc.write_bytes(b"x = '\xff'\n")
    refused(r"exc\.py: is no text")
    exc.unlink()
    exc.symlink_to(torch / "_dynamo" / "exc.py")
    refused(r"exc\.py: is a link")
    exc.unlink()
    os.link(torch / "_dynamo" / "exc.py", exc)
    refused(r"exc\.py: is a hard link")
    exc.unlink()
    refused(r"exc\.py: is gone")
    (folder / "version.py").write_text("__version__ = '2.91.0'\n")
    refused("version")


@pytest.mark.parametrize(
    ("file", "line", "told"),
    [
        ("_dynamo/a.py", "counters['stats']['x'] = 1", "touches counters"),
        ("_dynamo/a.py", "import os; os.environ['X']", r"looks at os\.environ"),
        ("_dynamo/a.py", "if name == 'lookup': pass", "names lookup of the program"),
        ("_dynamo/a.py", "if '1' in path: pass", "names 1 of the program"),
        ("testing/__init__.py", "x = 1", r"torch\.testing is what checks compare with"),
    ],
)
def test_what_gives_a_patch_away(file: str, line: str, told: str, task: Task) -> None:
    patch = Patch({file: f"{line}\n"}, {file: ""})
    assert told.replace("\\", "") in " ".join(patch.signs_of_going_around(task.program, task.id))
    comment = Patch({file: f"# {line}\n"}, {file: ""})
    assert list(comment.signs_of_going_around(task.program, task.id)) == []


def test_tasks_are_what_is_proved(tmp_path: Path, task: Task) -> None:
    from pt2bugs.isolate import fixes

    fixes.save(tmp_path, [ISOLATION, {**ISOLATION, "check": "test_other", "evidence": "patch"}])
    (derived,) = tasks_of(tmp_path, [task.case])
    assert derived.as_dict() == {
        "task": "pytorch_1", "torch": "2.90.0", "device": "cpu", "backend": "inductor", "component": "inductor",
        "symptom": "missing-error", "fixed_in": "2.91.0", "twins": 0,
    }  # fmt: skip
    assert not derived.can_be_scored
