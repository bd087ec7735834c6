"""A kernel is compiled once for all runs of a triage, and what a compile reads decides which one it is."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from pt2bugs.triage.inside import kernels


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Put a compiler in the place of torch's that copies what it reads, and return the commands that it gets."""
    commands: list[str] = []

    def run_compile_cmd(cmd_line: str, cwd: str) -> None:
        commands.append(cmd_line)
        words = cmd_line.split()
        Path(cwd, words[-1]).write_text(Path(cwd, words[1]).read_text())

    builder = ModuleType("torch._inductor.cpp_builder")
    vars(builder)["run_compile_cmd"] = run_compile_cmd
    monkeypatch.setitem(sys.modules, "torch._inductor.cpp_builder", builder)
    for name in ("torch", "torch._inductor"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    kernels.share(str(tmp_path))
    return commands


def compile_in(folder: Path, text: str, flag: str = "-O3", ending: str = "so") -> str:
    """Compile a text in a folder of its own, as a run does, and return what came of it."""
    folder.mkdir(exist_ok=True)
    (folder / "kernel.cpp").write_text(text)
    run = vars(sys.modules["torch._inductor.cpp_builder"])["run_compile_cmd"]
    run(f"g++ {folder}/kernel.cpp {flag} -o {folder}/kernel.{ending}", str(folder))
    return (folder / f"kernel.{ending}").read_text()


def test_second_run_compiles_nothing(compiled: list[str], tmp_path: Path) -> None:
    assert [compile_in(tmp_path / name, "int a;") for name in ("first", "second")] == ["int a;", "int a;"]
    assert len(compiled) == 1


@pytest.mark.parametrize(("text", "flag", "ending"), [("int b;", "-O3", "so"), ("int a;", "-O0", "so")])
def test_other_text_or_flag_is_another_kernel(
    compiled: list[str], tmp_path: Path, text: str, flag: str, ending: str
) -> None:
    compile_in(tmp_path / "first", "int a;")
    assert compile_in(tmp_path / "second", text, flag, ending) == text
    assert len(compiled) == 2


def test_anything_but_a_library_is_made_each_time(compiled: list[str], tmp_path: Path) -> None:
    for name in ("first", "second"):
        compile_in(tmp_path / name, "int a;", ending="i")
    assert len(compiled) == 2


def test_failure_is_not_kept(compiled: list[str], tmp_path: Path) -> None:
    run = vars(sys.modules["torch._inductor.cpp_builder"])["run_compile_cmd"]
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            run(f"g++ {tmp_path}/missing.cpp -o {tmp_path}/missing.so", str(tmp_path))
    assert len(compiled) == 2
