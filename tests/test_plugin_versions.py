"""The plugin beside other people's plugins, options and pytests; each pytest in a virtual environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pt2bugs
import pytest
from suite import Suite
from uv import find_uv_bin

HARNESS = Path(pt2bugs.__file__).parent.parent
TAKEN = """
def pytest_addoption(parser):
    parser.addoption("--device", default="mine")
    parser.addoption("--backend", default="mine")
    parser.addoption("--repeat", default="mine")

def pytest_report_header(config):
    return "device of this suite: " + config.getoption("--device")
"""


def test_a_suite_that_has_such_options_itself(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(TAKEN)
    (tmp_path / "test_it.py").write_text(
        "def test_it(request):\n    assert request.config.getoption('--device') == 'x'\n"
    )
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run([*command, "--device", "x"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "device of this suite: x" in done.stdout
    assert "- pt2bugs -" not in done.stdout


def test_long_names_where_the_short_ones_are_taken(suite: Suite) -> None:
    (suite.cases / "conftest.py").write_text(TAKEN)
    suite.case("a", "def test_a(device): assert device == 'cuda'", devices=["cpu", "cuda"], compiles=False)
    done = suite.run("--pt2bugs-device", "cuda", "--pt2bugs-repeat", "2")
    assert [(record["device"], record["repeats"]) for record in done.records] == [("cuda", 2)] * 2, done.output


@pytest.mark.parametrize("name", ["--device cuda", "--pt2bugs-device=cuda"])
def test_both_names_mean_the_same(suite: Suite, name: str) -> None:
    suite.case("a", "def test_a(device): pass", devices=["cpu", "cuda"], compiles=False)
    assert [record["device"] for record in suite.run(*name.split()).records] == ["cuda"]


@pytest.fixture(scope="module", params=["pytest==8.2.*", "pytest"])
def other_python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with that pytest, without pytest-timeout and pytest-forked."""
    folder = tmp_path_factory.mktemp("venv")
    for command in (
        ["venv", "--python", sys.executable, str(folder)],
        ["pip", "install", "--python", str(folder / "bin" / "python"), request.param, "packaging", "regex", "tomli"],
    ):
        done = subprocess.run([find_uv_bin(), *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"uv cannot make an environment with {request.param}: {done.stderr[-200:]}")
    return folder / "bin" / "python"


def test_under_other_pytests(suite: Suite, other_python: Path) -> None:
    suite.case("passes", "def test_a(): pass", compiles=False)
    suite.case("dies", "import os\ndef test_a(): os.abort()", bugs=[{"outcome": "crash", "signal": "SIGABRT"}])
    command = [str(other_python), *suite.command("-p", "pt2bugs.plugin")[1:]]
    environ = suite.environ(PYTHONPATH=f"{HARNESS}{os.pathsep}{suite.torch}")
    done = subprocess.run(command, cwd=suite.folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {record["case"]: record["verdict"] for record in suite.records()} == {"passes": "pass", "dies": "xfail"}
    assert suite.survivors() == []
