"""The command line: exit codes, one clear line for bad input, stdout for data and stderr for messages."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pt2bugs
import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.case.header import parse_case
from pt2bugs.case.vocabulary import COUNTED
from pt2bugs.cli import COMMANDS, command_parser, main, overview, short_overview
from pt2bugs.errors import install_command
from pt2bugs.results.folder import Results
from seeded import write_case, write_journal

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
    assert err == f"2 cases, 2 checks ({COUNTED})\n"


def test_list_says_what_was_not_measured(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(corpus.rglob("pytorch_1.py"))
    path.write_text(path.read_text().replace("# [tool.pt2bugs]", '# [tool.pt2bugs]\n# devices = ["cpu", "cuda"]'))
    (corpus / "results").mkdir()
    table = "case,device,verdict\npytorch_1,cpu,xfail\npytorch_1,cuda,error\npytorch_22,cpu,skip\n"
    (corpus / "results" / "cells.csv").write_text(table)
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "not measured" not in out
    assert err == f"2 cases, 2 checks ({COUNTED})\nnot measured: 1 on cuda\n"
    assert main(["list", "--device", "cuda"]) == 0
    assert capsys.readouterr().out.endswith("  (not measured on cuda)\n")
    assert main(["list", "--json"]) == 0
    assert [case["not_measured"] for case in json.loads(capsys.readouterr().out)] == [["cuda"], []]
    (corpus / "results" / "cells.csv").write_text("something,else\n1,2\n")
    assert main(["list"]) == 0
    assert "cells.csv: is no table of cells; so it is not said" in capsys.readouterr().err


def test_cases_stand_anywhere(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "pytorch_1", "--component", "inductor", "--component", "dynamo", "pytorch_2*"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["pytorch_1", "pytorch_22"]
    assert main(["compare", "2.9.1", "2.10.0", "--offline", "pytorch_3"]) == 2
    assert "no case 'pytorch_3'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "--nosuch", "pytorch_1"], "unrecognized arguments: --nosuch\n"),
        (["envs", "list", "more"], "unrecognized arguments: more"),
        (["envs", "gc", "--budget", "5"], "argument --budget: '5' is not a size with its unit; write for example 60G"),
        (["compare", "2.9.1", "2.10.0", "--ofline"], "unrecognized arguments: --ofline; did you mean --offline?\n"),
        (["exposure", "train.py", "--ofline"], "unrecognized arguments: --ofline\n"),
        (["list", "--component", "dynmo"], "invalid choice: 'dynmo'; did you mean dynamo?\n"),
        (["export", "--format", "tsv"], "invalid choice: 'tsv'; did you mean csv?\n"),
        (["export", "--format", "x"], "invalid choice: 'x' (choose from csv, cells, json, junit, hud, parquet)\n"),
    ],
)
def test_unrecognized_or_missing(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err


def test_list_as_json(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "pytorch_2*", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)
    assert (case["case"], case["component"], case["checks"]) == ("pytorch_22", "inductor", ["test_it"])


def test_list_tells_the_devices_that_were_never_measured(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_case(tmp_path, "pytorch_4", devices=["cpu", "cuda"])
    assert main(["list", "pytorch_4", "--device", "cuda"]) == 0
    assert "not measured" not in "".join(capsys.readouterr()), "there are no results that could say"
    write_journal(tmp_path, path, {"2.9.1": "B"})
    Results(tmp_path / "results").derive(Results(tmp_path / "results").load([parse_case(path)], print))
    assert main(["list", "pytorch_4", "--device", "cuda"]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("(not measured on cuda)\n")
    assert "not measured: 1 on cuda" in err
    assert main(["list", "pytorch_4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["not_measured"] == ["cuda"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["list", "pytorch_3"], 2, "did you mean pytorch_1? `pt2bugs new pytorch_3` makes a case of it"),
        (["list", "--component", "export"], 3, "nothing selected: --component leaves none of 2 cases"),
        (["list", "pytorch_1", "--component", "inductor"], 3, "--component leaves none of 1 case"),
        (["list", "--label", "x"], 3, "nothing selected: --label leaves none of 2 cases"),
        (["list", "--device", "cuda"], 3, "no check of the selected cases runs on --device cuda"),
        (["list", "--cases", "nowhere"], 2, "--cases nowhere: there is no such file or folder"),
        (["run", "pytorch_3"], 2, "no case 'pytorch_3'"),
        (["run", "--device", "cuda"], 3, "no check of the selected cases runs on --device cuda"),
        (["compare", "2.9.1"], 2, "compare needs two releases, A and B; or --against REQ"),
        (["run", "--backend", "\x1b[31mred"], 2, r"'\x1b[31mred': not the name of a torch.compile backend"),
        (["backend", "a\nb", "--torch", "2.13.0"], 2, r"'a\nb': not the name of a torch.compile backend"),
        (["run", "--extra", "turbin", "--torch", "2.13.0"], 2, "--extra turbin: unknown; there is turbine"),
        (["run", "--torch", "newest", "--index", "http://127.0.0.1:9/"], 2, "--torch newest: not a release"),
        (["run", "--torch", "minors", "--index", "http://127.0.0.1:9/"], 2, "check the network"),
        (["run", "--results", "/proc/nowhere"], 2, "cannot be written"),
        (["run", "--torch", "", "--index", "http://127.0.0.1:9/"], 2, "--torch"),
        (["envs", "create"], 2, "say which releases with --torch"),
        (["matrix"], 3, "nothing to show"),
    ],
)
def test_bad_input(
    corpus: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("pt2bugs: ")
    assert message in last
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
    assert "journal schema 99 is newer than 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--nothing"],
        ["export"],
        ["run", "--jobs", "0"],
        ["run", "--jobs", "99999999999"],
        ["run", "--results", ""],
        ["matrix", "--results", "a\0b"],
        ["report", "-o", ""],
        ["export", "--format", "csv", "-o", ""],
        ["corpus", "-o", ""],
    ],
)
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: pt2bugs" in capsys.readouterr().err


@pytest.mark.parametrize("more", ["--nothing", "list"])
def test_help_takes_one_command(more: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["help", "run", more])
    assert capsys.readouterr() == ("", f"pt2bugs help: takes one command, and no {more}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: pt2bugs {command}")


def test_a_reader_that_stops_early(corpus: Path) -> None:
    command = f"{sys.executable} -m pt2bugs list | true"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environ)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "speaks"), [("run", True), ("triage", False)])
def test_ctrl_c_speaks_of_the_journal_where_there_is_one(
    command: str, speaks: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"pt2bugs.commands.{command}.run", stop)
    assert main([command, "pytorch_1"]) == 130
    assert ("in the journal" in capsys.readouterr().err) is speaks


def test_ctrl_c_inside_executed_text_is_handled_too(tmp_path: Path) -> None:
    """As while Dask is imported; CPython would kill the process with SIGINT at exit (`run_eval_code_obj`)."""
    program = """
        import sys
        from pt2bugs import cli

        def interrupted(argv):
            exec("raise KeyboardInterrupt")

        cli._parse = interrupted
        sys.exit(cli.main(["list"]))
    """
    (tmp_path / "interrupted.py").write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "pt2bugs: stopped\n")


def test_a_command_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["comapre", "2.9.1", "2.13"])
    assert "no command 'comapre'; did you mean compare? `pt2bugs --help` lists all" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--versoin"])
    assert "no option '--versoin'; did you mean --version? `pt2bugs --help`" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_short_help_is_a_screen_and_the_long_one_has_everything(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit, match="0"):
        main([command, "-h"])
    short = capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main(["help", command])
    whole = capsys.readouterr().out
    assert len(short.splitlines()) <= 23, "below it stands the prompt"
    assert [line for line in short.splitlines() if line.endswith("...") and not line.endswith(", ...")] == []
    parser, module = command_parser(command)
    assert f"  {module.EXAMPLES[0][0]}\n" in short
    for action in parser._actions:
        for option in action.option_strings[-1:]:
            assert re.search(rf"^ .*{option}\b", whole, re.MULTILINE)
    for group in parser._action_groups[2:]:
        assert str(group.title).partition(" (")[0] in " ".join(short.split())


@pytest.mark.parametrize("columns", [1, 20, 40])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_short_help_of_a_narrow_terminal(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names every option; a command line to be copied, and the name of an option, are not broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit, match="0"):
        main([command, "-h"])
    lines = capsys.readouterr().out.splitlines()
    parser, _ = command_parser(command)
    for action in [*parser._positionals._group_actions, *parser._optionals._group_actions]:
        if action.dest not in ("help", "no_pager"):
            assert [line for line in lines if line.split()[:1] == [parser._name_of(action).split()[0]]], action.dest
    if columns == 40:
        assert [line for line in lines if len(line) > 40 and not line.startswith("  ")] == []


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("-V", "--version"):
        with pytest.raises(SystemExit, match="0"):
            main([option])
        assert capsys.readouterr().out == f"pt2bugs {pt2bugs.__version__}\n"


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_overview_fits_and_names_every_command(columns: int) -> None:
    text = overview(columns)
    assert max(map(len, text.splitlines())) <= columns
    for command in COMMANDS:
        assert len(re.findall(rf"^  {command} ", text, re.MULTILINE)) == 1


def test_the_short_overview_is_a_screen_that_names_every_command() -> None:
    text = short_overview(80)
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80
    assert [command for command in COMMANDS if not re.search(rf"\b{command}\b", text)] == []


@pytest.mark.parametrize(("words", "is_short"), [([], True), (["-h"], True), (["--help"], False), (["help"], False)])
def test_which_overview(words: list[str], is_short: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    printed = "".join(capsys.readouterr())
    assert ("All commands:" in printed) is is_short


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_sixty_columns(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    parser, _ = command_parser(command)
    lines = [line for line in parser.format_help().splitlines() if not line.startswith("  pt2bugs")]
    assert max(map(len, lines)) <= 60, "but for the examples, which are to be copied"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained_and_every_command_has_an_example(command: str) -> None:
    parser, module = command_parser(command)
    assert [action.dest for action in parser._actions if not action.help] == []
    for example, why in module.EXAMPLES:
        arguments = shlex.split(example.rpartition("| ")[2])
        assert arguments[:2] == ["pt2bugs", command]
        assert why
        parser.parse_known_args(arguments[2:])


def test_completion_of_fish(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--print-completion", "fish"])
    lines = capsys.readouterr().out.splitlines()
    assert "complete -c pt2bugs -n '__fish_seen_subcommand_from compare' -l offline" in lines
    assert any("-n __fish_use_subcommand -a compare " in line for line in lines)
    assert any("-l torch -x -k -a '(pt2bugs list --releases" in line for line in lines)
    assert "complete -c pt2bugs -n '__fish_seen_subcommand_from match' -F" in lines
    assert any("from dataset' -s o -l output -r -F" in line for line in lines)
    assert any("from help' -a 'list run " in line for line in lines)
    # With -r, fish names files beside the words.
    assert [line for line in lines if "from envs' -l budget -x" in line]
    assert all(line.replace("\\'", "").count("'") % 2 == 0 for line in lines)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell: str, corpus: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent)}
    command = [sys.executable, "-m", "pt2bugs", "--print-completion", shell]
    script = subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout
    assert "compare" in script
    assert "--torch-backend" in script
    assert "_pt2bugs_compare_pos_0_COMPGEN=_pt2bugs_releases" in script or shell == "zsh"
    if shell == "bash":
        (tmp_path / "pt2bugs").write_text(f'#!/bin/sh\nexec {sys.executable} -m pt2bugs "$@"\n')
        (tmp_path / "pt2bugs").chmod(0o755)
        (tmp_path / "traceback.txt").touch()
        (tmp_path / "wheels").mkdir()
        asked = {
            "run pytorch_2": "pytorch_22",
            "hotfix pytorch_2": "pytorch_22",
            "run --find-links wh": "wheels",
            "match trace": "traceback.txt",
            "help compa": "compare",
            "list --no-p": "--no-pager",
            "--versio": "--version",
        }
        for words, answer in asked.items():
            typed = f"COMP_WORDS=(pt2bugs {words}); COMP_CWORD={len(words.split())}"
            done = subprocess.run(
                ["bash", "-c", f'{script}\n{typed}; _shtab_pt2bugs; echo "${{COMPREPLY[@]}}"'],
                cwd=tmp_path, capture_output=True, text=True, check=False,
                env={**environ, "PATH": f"{tmp_path}:{environ['PATH']}"},
            )  # fmt: skip
            assert answer in done.stdout.split(), (words, done.stderr)


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "uv", "filelock", "pypi_simple", "requests", "pytest", "pyarrow"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from pt2bugs.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "compare 2.9 2.10 --offline",
        "compare 2.9 2.10",
        "bisect --offline",
        "bisect",
        "matrix",
        "report -o site",
        "export --format csv",
        "export --format junit",
        "list",
        "corpus",
        "envs list",
    ],
)
def test_reading_results_takes_neither_torch_nor_uv(arguments: str, tmp_path: Path) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent), "PT2BUGS_HOME": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT, *arguments.split()]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_clone_is_found_from_elsewhere(tmp_path: Path) -> None:
    """An editable install, used where neither `cases` nor `results` are, answers from its clone."""
    for arguments in ("list pytorch_163640", "matrix pytorch_163640", "compare 2.9.1 2.13 --offline pytorch_163640"):
        command = [sys.executable, "-m", "pt2bugs", *arguments.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "pytorch_163640" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_remedy_fits_the_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone = Path(pt2bugs.__file__).resolve().parent.parent.parent
    monkeypatch.chdir(clone)
    assert install_command("run") == "pip install -e '.[run]'"
    monkeypatch.chdir(tmp_path)
    assert install_command("run") == f"pip install -e '{clone}[run]'"


def test_what_the_journal_lacks_is_said_where_nothing_can_be_run(tmp_path: Path) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    write_journal(tmp_path, write_case(tmp_path, "pytorch_2"), {"2.9.1": "B"})
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent), "PT2BUGS_HOME": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT, "compare", "2.9", "2.10"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "not in the journal: 1 cell; what runs them is not installed: pip install -e" in done.stderr
    assert "1 cannot say, 1 fixed" in done.stdout
    command[-1] = "2.99"
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no answer for torch 2.99; it has 2.9.1 to 2.10.0; what runs it is not installed" in done.stderr


def test_an_unknown_issue_comes_before_a_missing_torch(tmp_path: Path) -> None:
    write_case(tmp_path, "pytorch_1")
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent), "PT2BUGS_HOME": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT, "check", "99999"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no case '99999'; `pt2bugs new 99999` makes a case of it" in done.stderr


def test_what_takes_uv_says_so(tmp_path: Path) -> None:
    write_case(tmp_path, "pytorch_1")
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent), "PT2BUGS_HOME": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT, "run", "--torch", "2.9.1"]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    clone = Path(pt2bugs.__file__).resolve().parent.parent.parent
    assert f"pip install -e '{clone}[envs]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_edited_case_says_that_its_lines_are_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pytorch_1", "pytorch_2"):
        path = write_case(tmp_path, name)
        write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    path.write_text(path.read_text() + "\n# changed\nchanged = 1\n")
    assert main(["matrix"]) == 0
    err = capsys.readouterr().err
    assert "edited since they were measured, so that lines are left out: pytorch_2;" in err
    assert "pt2bugs run pytorch_2 --torch 2.9.1 2.10.0 --python 3.1" in err, "the releases that were measured"
    write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    assert main(["matrix"]) == 0
    assert "edited" not in capsys.readouterr().err


def test_a_dry_run_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.90.1": "B"})
    write_case(tmp_path, "pytorch_2")
    wheels = build_wheels(tmp_path / "wheels", {"2.90.1": {}, "2.91.0": {}})
    with serve_index(wheels, tmp_path / "index") as index:
        assert main(["run", "--torch", "2.90", "--torch", "2.91", "--index", index, "--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[:4] for line in out.splitlines()] == [
        ["torch", "2.90.1", "1", "cells"], ["torch", "2.91.0", "2", "cells"]
    ]  # fmt: skip
    assert "would run 3 cells in 2 environments, 2 of them to be installed: about 10.0 GiB and" in err
    assert not (tmp_path / "home" / "envs").exists()


@pytest.mark.parametrize("character", ["\x1b[31m", "\x07", "\x9b", "\u202e", "\u2066"])
def test_no_argument_steers_the_terminal(character: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", f"no{character}file"]) == 2
    error = capsys.readouterr().err
    assert character not in error
    assert character.encode("unicode_escape").decode() in error


def test_a_full_disk_is_no_traceback(
    corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor exit 1, which means that something of the answer is not as it should be."""

    def full(_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pt2bugs.commands.list.run", full)
    assert main(["list"]) == 2
    assert capsys.readouterr().err == "pt2bugs: [Errno 28] No space left on device\n"


def test_the_package_imports_next_to_nothing() -> None:
    """The console script imports it before the command can answer Ctrl-C in a line."""
    program = "import sys; there = set(sys.modules); import pt2bugs.__main__; print(*(set(sys.modules) - there))"
    environ = {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert "typing" not in done.stdout.split()
    assert len([name for name in done.stdout.split() if name.startswith("pt2bugs")]) == 2


def test_ctrl_c_while_modules_are_imported(tmp_path: Path) -> None:
    program = """
        import importlib.abc, os, signal, sys

        class Interrupted(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == "pt2bugs.commands.options":
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Interrupted())
        from pt2bugs.__main__ import main
        sys.exit(main())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "pt2bugs: stopped\n")
