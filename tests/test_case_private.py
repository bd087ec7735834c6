"""`pt2bugs.toml` beside a private corpus: what it adds, and what is said of one that is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pt2bugs.backends.spec import backend_spec, known_backends
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.model import CaseError
from pt2bugs.cli import main
from pt2bugs.envs.extras import known_extras
from seeded import write_case

SETTINGS = """\
components = ["lowering"]

[extras.toyrt]
torch = ">=2.8"
packages = ["toyrt==1.0"]

[backends.toyc]
about = "the compiler of toys"
packages = ["toyc==1.0", "wheels/toyrt.whl"]
import = "toyc.torch"
not-claimed = ["training"]
"""


def test_a_corpus_brings_components_extras_and_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "toyrt.whl").write_text("")
    (tmp_path / "pt2bugs.toml").write_text(SETTINGS)
    write_case(tmp_path, "toy_1", component="lowering", extra="toyrt", backends=["toyc"])
    assert "toyc" not in known_backends()
    (case,) = load_cases([tmp_path / "cases"])
    assert (case.component, case.extra) == ("lowering", "toyrt")
    assert known_extras()["toyrt"].requirements_for("2.13.0") == ("toyrt==1.0",)
    assert known_extras()["toyrt"].requirements_for("2.7.0") is None
    spec = backend_spec("toyc")
    assert spec.setup.imports == ("toyc.torch",)
    assert spec.setup.not_claimed == ("training",)
    assert [path for _, path in spec.installs] == ["toyc==1.0", str(tmp_path / "wheels" / "toyrt.whl")]
    assert spec.supports("2.13.0")
    monkeypatch.chdir(tmp_path)
    assert main(["corpus"]) == 0
    assert "lowering" in capsys.readouterr().out


def test_a_folder_below_the_home_has_no_settings_of_others(tmp_path: Path) -> None:
    """Beside the corpus, not in any folder above it."""
    (tmp_path / "pt2bugs.toml").write_text(SETTINGS)
    write_case(tmp_path / "work" / "clone", "toy_1", component="lowering")
    with pytest.raises(CaseError, match="unknown component 'lowering'"):
        load_cases([tmp_path / "work" / "clone" / "cases"])


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("components = [", 1, "cannot be read as TOML"),
        ("\nbackend = {}", 2, "unknown key 'backend'; did you mean 'backends'?"),
        ('components = ["dynamo"]', 1, "components: 'dynamo' is no word, or a component that there is already"),
        ("components = 3", 1, "components must be a list of strings"),
        ("[extras.toyrt]", 1, "[extras.toyrt] needs packages: what to install"),
        ('[extras.turbine]\npackages = ["a"]', 1, "a name that there is already"),
        ("[backends.toyc]\npakages = []", 2, "[backends.toyc]: unknown key 'pakages'; did you mean 'packages'?"),
        ('[backends.toyc]\ntorch = "newest"', 2, "torch = 'newest' is not a PEP 440 specifier set"),
        ('[backends.toyc]\npackages = "toyc"', 2, "packages must be a list of strings"),
        ('[backends.toyc]\nnot-claimed = ["trainin"]', 2, "unknown word 'trainin'; did you mean 'training'?"),
        ("backends = 3", 1, "backends must be written as [backends.NAME] tables"),
    ],
)
def test_what_is_wrong_is_said_once_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "cases" / "pt2bugs.toml"
    for name in ("toy_1", "toy_2"):
        write_case(tmp_path, name)
    path.write_text(text)
    with pytest.raises(CaseError) as raised:
        load_cases([tmp_path / "cases"])
    message = str(raised.value)
    assert message.startswith(f"{path}:{line}: ")
    assert problem in message
    assert message.count(problem) == 1


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_settings_that_are_no_file_are_named(tmp_path: Path, make: Callable[[Path], None]) -> None:
    write_case(tmp_path, "toy_1")
    make(tmp_path / "pt2bugs.toml")
    with pytest.raises(CaseError, match=r"pt2bugs\.toml:1: is not a regular file"):
        load_cases([tmp_path / "cases"])
