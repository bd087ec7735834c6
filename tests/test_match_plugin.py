"""`pytest --pt2bugs-match` in the suite of somebody else: it names known bugs, and changes no result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pt2bugs.case.corpus import brought, load_cases
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import Outcome

SUITE = """\
def lift():
    raise RuntimeError({message!r})


def test_known():
    lift()


def test_other():
    raise ValueError("of its own")


def test_fine():
    pass
"""
MESSAGE = (
    '!at::functionalization::impl::isFunctionalTensor(self) INTERNAL ASSERT FAILED at "../aten/src/ATen/a.cpp":1, '
    "please report a bug to PyTorch. "
)


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A suite whose torch is an old release by its metadata, and nothing else."""
    (tmp_path / "test_team.py").write_text(SUITE.format(message=MESSAGE))
    return tmp_path


def run(team: Path, *options: str, torch: str = "2.0.1") -> str:
    info = team / "lib" / f"torch-{torch}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}+cpu\n")
    program = f"import sys, pytest; sys.path.insert(0, {str(team / 'lib')!r}); code = pytest.main(sys.argv[1:])\n"
    program += "print('read the journal:', 'pt2bugs.match.known' in sys.modules, 'code:', int(code))"
    command = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    command += ["-c", "/dev/null", "--rootdir", str(team)]
    done = subprocess.run(
        [*command, *options, str(team / "test_team.py")], cwd=team, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_a_bug_of_the_corpus_that_this_relies_on() -> None:
    (case,) = (known for known in load_cases([brought("cases")]) if known.id == "pytorch_105327")
    assert isinstance(case, Case)
    assert any(b.outcome is Outcome.RAISE and b.error == "RuntimeError" and "2.0.1" in b.torch for b in case.bugs)


@pytest.mark.parametrize("options", [(), ("--tb=short", "--show-capture=no"), ("--tb=native",)])
def test_known_failures_are_named(team: Path, options: tuple[str, ...]) -> None:
    out = run(team, "--pt2bugs-match", *options)
    known = out.partition("test_known")[2]
    assert "known PyTorch bug: pytorch_105327" in known
    assert "https://github.com/pytorch/pytorch/issues/105327" in known
    assert "known PyTorch bug" not in known.partition("test_other")[2]
    assert "2 failed, 1 passed" in out
    assert "code: 1" in out


def test_a_release_that_does_not_have_it_is_told_nothing(team: Path) -> None:
    assert "known PyTorch bug" not in run(team, "--pt2bugs-match", torch="2.13.0")


def test_nothing_is_read_where_nothing_is_asked_or_nothing_fails(team: Path) -> None:
    out = run(team)
    assert "read the journal: False code: 1" in out
    assert "known PyTorch bug" not in out
    out = run(team, "--pt2bugs-match", "-k", "fine")
    assert "1 passed, 2 deselected" in out
    assert "read the journal: False code: 0" in out
    assert "read the journal: True code: 1" in run(team, "--pt2bugs-match")


def test_xfail_stays_xfail(team: Path) -> None:
    text = (
        (team / "test_team.py")
        .read_text()
        .replace("def test_known", "import pytest\n\n\n@pytest.mark.xfail\ndef test_known")
    )
    (team / "test_team.py").write_text(text)
    out = run(team, "--pt2bugs-match")
    assert "1 failed, 1 passed, 1 xfailed" in out


def test_a_module_that_fails_when_collected(team: Path) -> None:
    (team / "test_team.py").write_text(f"raise RuntimeError({MESSAGE!r})\n")
    out = run(team, "--pt2bugs-match")
    assert "known PyTorch bug: pytorch_105327" in out
    assert "code: 2" in out


def test_with_workers(team: Path) -> None:
    pytest.importorskip("xdist")
    # Workers start from the command line: they see the metadata through the path.
    import os

    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(team / "lib"), os.environ.get("PYTHONPATH", "")])}
    run(team, "-k", "fine")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command += ["--rootdir", str(team), "--pt2bugs-match", "test_team.py"]
    done = subprocess.run(command, cwd=team, env=env, capture_output=True, text=True, check=False)
    assert "known PyTorch bug: pytorch_105327" in done.stdout
    assert done.returncode == 1
