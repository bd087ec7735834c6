"""From a script to a good case: each command is the one that the output of the step before names."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from fake_torch import Faults, build_wheels, serve_index
from pt2bugs.case.header import parse_case
from pt2bugs.cli import main
from pt2bugs.curate.placeholders import PLACEHOLDER
from pt2bugs.run.plan import may_be_here

SCRIPT = """
import torch


def double(x):
    return x * 2


x = torch.ones(3)
torch.testing.assert_close(torch.compile(double)(x), double(x))
"""
RELEASES = {"2.30.0": {}, "2.31.0": {"double": "raise"}, "2.32.0": {"double": "raise"}, "2.33.0": {}}


TOLD = ["--component", "dynamo", "--symptom", "internal-error", "--title", "A product with two does not compile"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a script and an empty corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    Path("cases").mkdir()
    Path("script.py").write_text(SCRIPT)


def test_each_step_names_the_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def step(command: str, *more: str) -> str:
        """Run it; returns the command that it names."""
        main([*shlex.split(command)[1:], *more])
        named = re.findall(r"^(?:next|then): (pt2bugs .*)$", capsys.readouterr().err, re.MULTILINE)
        return str(named[-1]) if named else ""

    with serve_index(build_wheels(tmp_path / "wheels", RELEASES), tmp_path / "index") as index:
        run = step("pt2bugs new 7 --from script.py", *TOLD)
        path = Path("cases/dynamo/pytorch_7.py")
        path.write_text(path.read_text().replace(PLACEHOLDER, "Because"))
        assert step(f"pt2bugs check --watch {path}") == run == "pt2bugs run pytorch_7 --torch minors --bisect"
        bless = step(run, "--index", index)
        check = step(bless)
    assert bless == "pt2bugs bless pytorch_7"
    assert check == "pt2bugs check --fix pytorch_7"
    # Whether it is the bug that was seen, a person says.
    assert main([*shlex.split(check)[1:], "--no-run"]) == 1
    assert "no line if this is the bug, blocked = true if it keeps the check from it" in capsys.readouterr().out
    path.write_text("\n".join(line for line in path.read_text().split("\n") if PLACEHOLDER not in line))
    # A program of the fake torch is none for the torch of this Python.
    assert main([*shlex.split(check)[1:], "--no-run"]) == 0
    case = parse_case(path)
    assert [(str(bug.torch), bug.match) for bug in case.bugs] == [("<2.33,>=2.31", "cannot compile double")]
    assert case.dependencies[0] == "torch==2.32.0"


def test_a_failure_in_other_words_leaves_no_edge_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides fail, so that the bug neither comes nor goes there; but each has an entry, which ends somewhere."""
    kinds = {30: {}, **{minor: {"double": "raise" if minor < 35 else "wrong"} for minor in range(31, 39)}}
    releases = {f"2.{minor}.0": faults for minor, faults in kinds.items()}
    main(["new", "7", "--from", "script.py", *TOLD])
    with serve_index(build_wheels(tmp_path / "wheels", releases), tmp_path / "index") as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index)
        main(["run", "pytorch_7", "--torch", "minors", "--bisect"])
    told = capsys.readouterr().err
    assert "not run, since the releases on both sides answer alike: 2 cells" in told
    # Of an index that is not named nobody says that it has such builds only.
    assert ("--torch-backend cpu" in told) is not may_be_here("cuda")
    assert main(["bless", "pytorch_7"]) == 0
    assert "not measured" not in capsys.readouterr().err
    case = parse_case(Path("cases/dynamo/pytorch_7.py"))
    assert sorted(str(bug.torch) for bug in case.bugs) == ["<2.35,>=2.31", ">=2.35"]


def test_a_release_that_cannot_import_the_case_ends_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The header has to say first which releases can: those below cannot answer."""
    Path("script.py").write_text(SCRIPT.replace("import torch\n", "import torch\nimport torch.newer\n", 1))
    releases = {f"2.{minor}.0": {"double": "raise"} if minor > 33 else {} for minor in range(30, 38)}
    files = {version: {"newer.py": ""} for version in [*releases][2:]}
    main(["new", "7", "--from", "script.py", *TOLD])
    with serve_index(build_wheels(tmp_path / "wheels", releases, files), tmp_path / "index") as index:
        main(["run", "pytorch_7", "--torch", "minors", "--bisect", "--index", index])
        told = capsys.readouterr().err
        assert "--bisect: no more was run of a file that a release cannot import: pytorch_7" in told
        assert re.findall(r"^installing torch (\S+),", told, re.MULTILINE) == ["2.30.0", "2.37.0"]
        step = "requires-torch in the header, if torch 2.30.0 has no such API, then pt2bugs run pytorch_7 again"
        assert f"next: {step}" in told
        path = Path("cases/dynamo/pytorch_7.py")
        path.write_text(path.read_text().replace("# devices", '# requires-torch = ">=2.32"\n# devices'))
        main(["run", "pytorch_7", "--torch", "minors", "--bisect", "--index", index])
    assert "next: pt2bugs bless pytorch_7" in capsys.readouterr().err


def test_an_error_is_no_answer_to_a_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The canary fails from 2.35 on: what lies between two errors does not answer alike, and they are tried again."""
    broken, bug = {"program": "raise"}, {"double": "raise"}
    releases: dict[str, Faults] = {
        f"2.{minor}.0": broken if minor >= 35 else bug if minor >= 33 else {} for minor in range(30, 40)
    }
    main(["new", "7", "--from", "script.py", *TOLD])
    with serve_index(build_wheels(tmp_path / "wheels", releases), tmp_path / "index") as index:
        command = ["run", "pytorch_7", "--torch", "minors", "--bisect", "--index", index]
        capsys.readouterr()
        main(command)
        told = capsys.readouterr().err
        assert "not run, since the releases on both sides answer alike: 1 cell\n" in told
        assert "not run, since no release on one side has an answer: 2 cells\n" in told
        assert "the same command tries again: torch 2.35.0, torch 2.36.0, torch 2.39.0\n" in told
        assert told.count("kept from the cells") <= 1
        main([*command, "--dry-run"])
        assert capsys.readouterr().out.split()[:2] == ["torch", "2.39.0"]


def test_a_dry_search_says_what_it_begins_with_and_what_it_takes_at_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["new", "7", "--from", "script.py", *TOLD])
    releases: dict[str, Faults] = {f"2.{minor}.0": {} for minor in range(30, 40)}
    with serve_index(build_wheels(tmp_path / "wheels", releases), tmp_path / "index") as index:
        command = ["run", "pytorch_7", "--torch", "minors", "--bisect", "--dry-run", "--index", index]
        capsys.readouterr()
        assert main(command) == 0
        out, told = capsys.readouterr()
        assert re.findall(r"^torch (\S+)", out, re.MULTILINE) == ["2.30.0", "2.39.0"]
        assert "would begin with 2 cells in 2 environments, 2 of them to be installed: about 10.0 GiB and" in told
        assert "a check that changes once needs 6 of the 10 releases at most: about 30.0 GiB\n" in told
        assert "would run at most 10 cells in 10 environments, 10 of them to be installed: about 50.0 GiB and" in told
        assert main([*command, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert [len(part["to_install"]) for part in (facts, facts["at_most"])] == [2, 10]
    assert not (tmp_path / "home" / "envs").exists()


@pytest.mark.skipif(may_be_here("cuda"), reason="builds for CUDA are wanted here")
@pytest.mark.parametrize("there", [("2.30.0",), ("2.30.0", "2.31.0")])
def test_smaller_builds_are_advised_for_what_no_folder_has(
    there: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of wheels need not have every release; the others come from the index, which has builds for CUDA."""
    main(["new", "7", "--from", "script.py", *TOLD])
    folder = build_wheels(tmp_path / "folder", {version: {} for version in there})
    releases: dict[str, Faults] = {"2.30.0": {}, "2.31.0": {}}
    with serve_index(build_wheels(tmp_path / "wheels", releases), tmp_path / "index") as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index)
        main(["run", "pytorch_7", "--torch", "minors", "--dry-run", "--find-links", str(folder)])
    assert ("--torch-backend cpu" in capsys.readouterr().err) is (len(there) < 2)
