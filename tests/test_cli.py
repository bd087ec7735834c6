"""The command line: exit codes, one clear line for bad input, stdout for data and stderr for talk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pt2bugs.cli import COMMANDS, main

CASE = '''\
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/{number}"
# title = "Bug {number}"
# component = "{component}"
# symptom = "wrong-result"
# labels = ["gradient"]
# ///
"""Why."""


def test_it(backend):
    pass
'''


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a corpus of two cases, made the current one."""
    for number, component in ((1, "dynamo"), (22, "inductor")):
        path = tmp_path / "cases" / component / f"pytorch_{number}.py"
        path.parent.mkdir(parents=True)
        path.write_text(CASE.format(number=number, component=component))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_list(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["pytorch_1", "pytorch_22"]
    assert err == "2 cases, 2 checks\n"


def test_cases_stand_anywhere(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "pytorch_1", "--component", "inductor", "--component", "dynamo", "pytorch_2*"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["pytorch_1", "pytorch_22"]
    assert main(["compare", "2.9.1", "2.10.0", "--offline", "pytorch_3"]) == 2
    assert "no case 'pytorch_3'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "--nosuch", "pytorch_1"], "unrecognized arguments: --nosuch\n"),
        (["envs", "list", "more"], "unrecognized arguments: more"),
        (["compare", "2.9.1"], "the following arguments are required: B\n"),
    ],
)
def test_unrecognized_or_missing(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert words in capsys.readouterr().err


def test_list_as_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "pytorch_2*", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)
    assert (case["case"], case["component"], case["checks"]) == ("pytorch_22", "inductor", ["test_it"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["list", "pytorch_3"], 2, "no case 'pytorch_3'; did you mean pytorch_1?; `pt2bugs list` shows all"),
        (["list", "--component", "export"], 3, "nothing selected: --component leaves none of 2 cases"),
        (["list", "pytorch_1", "--component", "inductor"], 3, "--component leaves none of 1 cases"),
        (["list", "--label", "x"], 3, "nothing selected: --label leaves none of 2 cases"),
        (["list", "--device", "cuda"], 3, "no selected case names the device cuda"),
        (["list", "--cases", "nowhere"], 2, "--cases nowhere: there is no such file or folder"),
        (["run", "pytorch_3"], 2, "no case 'pytorch_3'"),
        (["run", "--device", "cuda"], 3, "no check of the selected cases runs on --device cuda"),
        (["run", "--extra", "turbin", "--torch", "2.13.0"], 2, "--extra turbin: unknown; there is turbine"),
        (["run", "--torch", "newest", "--index", "http://127.0.0.1:9/"], 2, "--torch newest: not a release"),
        (["run", "--torch", "minors", "--index", "http://127.0.0.1:9/"], 2, "check the network"),
        (["run", "--results", "/proc/nowhere"], 2, "cannot be written"),
        (["envs", "gc", "--budget", "much"], 2, "--budget: 'much' is not a size"),
        (["envs", "create"], 2, "say which releases with --torch"),
        (["matrix"], 3, "nothing to show"),
    ],
)
def test_bad_input(
    corpus: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("pt2bugs: ")
    assert words in last
    assert "Traceback" not in err


def test_a_bad_case_file_stops_everything(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("cases/dynamo/pytorch_1.py")
    path.write_text(path.read_text().replace("labels", "labls"))
    for command in ("list", "run", "matrix", "export --format csv"):
        assert main(command.split()) == 2
        err = capsys.readouterr().err
        assert err == f"pt2bugs: {path}:10: unknown key 'labls' in [tool.pt2bugs]; did you mean 'labels'?\n"


def test_a_journal_of_a_newer_schema(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Path("results/journal/a.jsonl")
    journal.parent.mkdir(parents=True)
    journal.write_text('{"schema": 99}\n')
    assert main(["export", "--format", "csv"]) == 2
    assert "journal schema 99 is newer than 1" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["nothing"], ["list", "--nothing"], ["export"], ["run", "--jobs", "0"]])
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: pt2bugs" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: pt2bugs {command}")


def test_a_reader_that_stops_early(corpus: Path) -> None:
    command = f"{sys.executable} -m pt2bugs.cli list | true"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environ)
    assert "Traceback" not in done.stderr
