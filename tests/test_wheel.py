"""The wheel, used in an empty folder: it carries the corpus and its results, and needs no torch."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    python = ["--no-build-isolation", "--python", sys.executable]
    command = ["uv", "build", "--wheel", *python, "--out-dir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("pt2bugs-*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer makes of it."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


_WITHOUT = """
import importlib.abc, sys
class Wall(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "uv", "pypi_simple", "filelock", "requests"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Wall())
sys.path.insert(0, sys.argv.pop(1))
from pt2bugs.cli import main
sys.exit(main())
"""


def pt2bugs(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command of the wheel, in a Python that has neither torch nor uv."""
    command = [sys.executable, "-I", "-c", _WITHOUT, str(site), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_it_holds(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"pt2bugs"}
    assert "pt2bugs/py.typed" in names
    assert [name for name in names if name.startswith("pt2bugs/_corpus/cases/") and name.endswith(".py")]
    assert "pt2bugs/_corpus/results/matrix.csv" in names
    assert "pt2bugs/_corpus/docs/evaluation/datasheet.md" in names
    metadata = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert "License-Expression: BSD-3-Clause" in metadata
    needs = [line.split(":", 1)[1] for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    assert not [need for need in needs if "torch" in need and "extra ==" not in need]


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--json"),
        ("matrix", "pytorch_163640"),
        ("compare", "2.9.1", "2.13.0", "--offline", "--json"),
        ("bisect", "pytorch_163640", "--offline", "--json"),
        ("export", "--format", "csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_answers_from_its_own_results(site: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (site / "pt2bugs" / "_corpus").rglob("*")}
    done = pt2bugs(site, tmp_path, *arguments)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert "pytorch_163640" in done.stdout
    if "--json" in arguments:
        json.loads(done.stdout)
    assert {path: path.stat().st_mtime_ns for path in (site / "pt2bugs" / "_corpus").rglob("*")} == before
    assert list(tmp_path.iterdir()) == []


def test_what_runs_says_which_extra_it_needs(site: Path, tmp_path: Path) -> None:
    done = pt2bugs(site, tmp_path, "run", "pytorch_163640", "--torch", "2.13.0")
    assert done.returncode == 2
    assert "pip install 'pt2bugs[envs]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_pytest_runs_the_corpus_of_the_wheel(site: Path, tmp_path: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(site)!r}); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "--pyargs", "pt2bugs", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "pytorch_163640.py::test_padding_mask[cpu-eager]" in done.stdout


def lines_of_the_tutorial() -> list[str]:
    """Its commands that install a wheel."""
    page = (ROOT / "docs" / "tutorial" / "index.md").read_text(encoding="utf-8")
    return [line.partition("  #")[0].strip() for line in re.findall(r"^uv.*dist/.*$", page, re.MULTILINE)]


@pytest.fixture(scope="module")
def tool(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a machine whose uv has no tools, in whose folder `dist` the wheel lies."""
    folder = tmp_path_factory.mktemp("tool")
    (folder / "dist").mkdir()
    shutil.copy(wheel, folder / "dist")
    places = {"UV_TOOL_DIR": "tools", "UV_TOOL_BIN_DIR": "bin", "PT2BUGS_HOME": "home", "PWD": "."}
    return {**os.environ, **{name: str((folder / place).resolve()) for name, place in places.items()}}


def shell(command: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=environ["PWD"], env=environ, capture_output=True, text=True, check=False
    )


def test_the_tutorial_installs_it_as_a_tool(tool: dict[str, str]) -> None:
    install, once = lines_of_the_tutorial()
    assert (install.split()[:3], once.split()[0]) == (["uv", "tool", "install"], "uvx")
    done = shell(install, tool)
    assert done.returncode == 0, done.stderr
    for command in (f"$UV_TOOL_BIN_DIR/{once[once.index('pt2bugs compare') :]}", once):
        done = shell(command, tool)
        assert done.returncode == 1, done.stderr
        assert "torch 2.9.1 -> 2.13.0" in done.stdout
    done = shell("$UV_TOOL_BIN_DIR/pt2bugs run pytorch_163640 --torch 2.13.0", tool)
    assert done.returncode == 2
    assert "uv tool install --force 'pt2bugs[envs] @ file:///" in done.stderr, "no index has the name"
