"""What a terminal gets, and a pipe does not: colours, links, a pager for what is longer than the screen."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from pt2bugs.cli import PAGED, main
from pt2bugs.commands import envs
from pt2bugs.commands.console import on_a_terminal, print_styled, print_table, say
from pt2bugs.envs.environment import Environment, Key
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import Store
from seeded import write_case, write_journal

ISSUE = "https://github.com/pytorch/pytorch/issues/22"
ROOT = Path(__file__).parent.parent
LINKED = f"\x1b]8;;{ISSUE}\x1b\\\x1b[1mpytorch_22\x1b[0m\x1b]8;;\x1b\\"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 80 columns and 24 lines, with a pager that shows nothing."""
    screen = Terminal()
    for name, value in {"COLUMNS": "80", "LINES": "24", "TERM": "xterm", "PAGER": "false"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return screen


def shown(terminal: Terminal, text: str) -> str:
    with redirect_stdout(terminal), on_a_terminal(paged=False):
        print(text)
    return terminal.getvalue().removesuffix("\n")


def test_a_case_is_a_link_to_its_issue(terminal: Terminal) -> None:
    assert shown(terminal, "  pytorch_22  a title") == f"  {LINKED}  a title"


def test_an_address_is_a_link_without_the_sign_behind_it(terminal: Terminal) -> None:
    assert shown(terminal, f"{ISSUE}, fixed") == f"\x1b]8;;{ISSUE}\x1b\\{ISSUE}\x1b]8;;\x1b\\, fixed"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("broken (3)", "1;31"),
        ("still there (6); --all says what was seen", "1;33"),
        ("fixed (6)", "1;32"),
        ("  introduced between torch 2.9.1 and 2.10.0", "31"),
        ("only yours: fails here, passes on eager and aot_eager (3)", "1;31"),
        ("from the layers above: fails the same without your backend (3)", "1;33"),
        ("not claimed: the check demands what the backend does not claim to do (3)", "1;33"),
        ("not yours: inductor fails, your backend passes (3)", "1;32"),
        ("passes, as inductor does (3)", "1;32"),
    ],
)
def test_a_title_has_its_colour(terminal: Terminal, line: str, code: str) -> None:
    assert shown(terminal, line) == f"\x1b[{code}m{line}\x1b[0m"


@pytest.mark.parametrize(
    ("line", "coloured", "code"),
    [
        ("torch 2.9.1 own::test_it[cpu-inductor]: verdict pass -> fail", "pass -> fail", "31"),
        ("torch 2.9.1 own::test_it[cpu-inductor]: verdict fail -> pass", "fail -> pass", "32"),
        ("torch 2.9.1 own::test_it[cpu-inductor]: verdict pass -> not measured", "pass -> not measured", "33"),
        ("ipex         2.8.0     316    41", "ipex", "1"),
        ("tvm                   -  does not run: torch imports tvm.relay", "does not run", "31"),
        ("new: own::test_it[cpu-mine]  raise", "new", "31"),
        ("gone: own::test_it[cpu-mine]  pass", "gone", "32"),
    ],
)
def test_what_a_row_says_has_its_colour(terminal: Terminal, line: str, coloured: str, code: str) -> None:
    assert shown(terminal, line) == line.replace(coloured, f"\x1b[{code}m{coloured}\x1b[0m", 1)


@pytest.mark.parametrize("line", ["6 still there, 6 fixed", "what fails: a check (once)"])
def test_other_lines_stay_as_they_are(terminal: Terminal, line: str) -> None:
    assert shown(terminal, line) == line


def test_what_has_its_own_colours_stays_as_it_is(terminal: Terminal) -> None:
    with redirect_stdout(terminal), on_a_terminal(paged=False):
        print_styled("\x1b[31mown pytorch_1\x1b[0m")
    assert terminal.getvalue() == "\x1b[31mown pytorch_1\x1b[0m"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert shown(terminal, f"broken (3)\n  pytorch_22 {ISSUE}") == f"broken (3)\n  pytorch_22 {ISSUE}"


def paged_lines(terminal: Terminal, count: int) -> None:
    with redirect_stdout(terminal), on_a_terminal(paged=True):
        for number in range(count):
            print("line", number)


@pytest.mark.parametrize("blanks", ["", "  "])
def test_a_message_wraps_but_a_command_that_comes_next_does_not(terminal: Terminal, blanks: str) -> None:
    with redirect_stderr(terminal):
        say(f"{blanks}{'word ' * 30}")
        say("next: pt2bugs run " + "pytorch_1 " * 10)
    lines = terminal.getvalue().splitlines()
    assert [len(line) <= 80 for line in lines] == [True, True, False]
    assert lines[1].startswith(f"{blanks}  word")


def test_a_column_that_does_not_fit_stands_below_its_row(terminal: Terminal) -> None:
    rows = [("a", "first", "short"), ("longer", "b", "word " * 20)]
    with redirect_stdout(terminal):
        print_table(rows)
    lines = terminal.getvalue().splitlines()
    assert lines[:2] == ["a       first  short", "longer  b"]
    assert lines[2].startswith("    word word")
    assert all(len(line) <= 80 for line in lines)


def test_environments_with_many_packages_fit(terminal: Terminal, tmp_path: Path) -> None:
    key = Key("2.13.0", "3.11", ("torchvision", "timm", "transformers", "diffusers"))
    store, environment = Store(Sources(), tmp_path), Environment(key, Path("/home/of/environments") / key.folder)
    with redirect_stdout(terminal):
        envs.render(envs.Options(), store, [(environment, 2**30, 2**20)])
        envs.render_removable(store, [(environment, 2**20)])
    lines = terminal.getvalue().splitlines()
    assert [line.strip() for line in lines].count(str(environment.path)) == 2, lines
    assert all(len(line) <= 80 for line in lines if str(environment.path) not in line), lines


def test_in_a_pipe_a_row_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([("a", "word " * 20)])
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "compare 2.9.1 2.13 --offline",
        "bisect 163640 --offline",
        "backend inductor --offline",
        "backend",
        "matrix --component export",
        "match docs/guides/traceback.txt",
        "news --since 2026-11-01 --component export",
        "plan --shards 2",
        "check --no-run 163640 171673",
        "bless 163640",
        "repair list",
        "corpus --component export",
        "doctor",
    ],
)
def test_an_answer_fits_eighty_columns(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Only a command, which is there to be copied, and a single word such as an address are longer."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(terminal), redirect_stderr(terminal):
        assert main([*words.split(), *(["--no-pager"] if words.split()[0] in PAGED else [])]) in (0, 1)
    whole = re.compile(r" *(?:(?:source|reproduce|issue): +)?(?:https?:|pt2bugs |uv run |\S+$)")
    lines = re.sub(r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", terminal.getvalue()).splitlines()
    assert [line for line in lines if len(line) > 80 and not whole.match(line)] == []


def test_what_fits_the_screen_is_not_paged(terminal: Terminal) -> None:
    paged_lines(terminal, 20)
    assert terminal.getvalue().splitlines() == [f"line {number}" for number in range(20)]


def test_a_long_answer_goes_through_the_pager(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PAGER", f"tee {tmp_path / 'read'}")
    paged_lines(terminal, 50)
    assert terminal.getvalue() == ""
    assert (tmp_path / "read").read_text().splitlines()[-1] == "line 49"


def test_what_is_said_of_an_answer_stands_behind_it(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").write_text("RuntimeError: nobody knows it\n")
    write_case(tmp_path, "pytorch_1")
    with redirect_stdout(terminal), redirect_stderr(terminal):
        assert main(["match", "log"]) == 1
    lines = terminal.getvalue().splitlines()
    assert [line.split(":")[0] for line in lines[-4:]] == ["RuntimeError", "  no known bug", "not known", "next"]


@pytest.mark.parametrize("pager", ["cat", "", "no-such-pager-here -R", "'"])
def test_without_a_pager_it_is_printed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, pager: str) -> None:
    monkeypatch.setenv("PAGER", pager)
    paged_lines(terminal, 50)
    assert len(terminal.getvalue().splitlines()) == 50


def test_a_pager_that_is_left_early_ends_nothing(terminal: Terminal) -> None:
    paged_lines(terminal, 50_000)
    assert terminal.getvalue() == ""


def test_a_verb_on_a_terminal(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(22, 50):
        path = write_case(tmp_path, f"pytorch_{number}")
    write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    with redirect_stdout(terminal):
        assert main(["list"]) == 0
        assert terminal.getvalue() == "", "it is longer than the screen"
        assert main(["list", "--no-pager"]) == 0
    assert terminal.getvalue().startswith(LINKED)
    assert len(terminal.getvalue().splitlines()) >= 28


def test_a_comparison_is_summed_up_once(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    command = ["compare", "2.9.1", "2.10.0", "--offline", "--no-pager"]
    with redirect_stdout(terminal), redirect_stderr(terminal):
        assert main(command) == 0
    assert terminal.getvalue().count("1 fixed") == 1
    assert main(command) == 0
    told = capsys.readouterr()
    assert "1 fixed" in told.out
    assert "1 fixed" in told.err, "for who reads what is told while the answer goes to a file"


def test_the_releases_of_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path, "pytorch_1")
    (tmp_path / "results").mkdir()
    assert main(["list", "--releases"]) == 3
    (tmp_path / "results" / "matrix.csv").write_text("case,check,2.9.1,2.10.0\n")
    assert main(["list", "--releases"]) == 0
    assert capsys.readouterr().out == "2.10.0\n2.9.1\n"


def test_no_message_steers_the_terminal(terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one of a journal line that no pt2bugs has written."""
    monkeypatch.chdir(tmp_path)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_22"), {"2.9.1": "B", "2.10.0": "."})
    journal = tmp_path / "results" / "journal" / "pytorch_22.jsonl"
    journal.write_text(journal.read_text().replace("not close!", "not \\u202eclose\\u001b]0;title"))
    monkeypatch.setenv("TERM", "dumb")  # no colours of ours
    for words in ("compare 2.9.1 2.10.0 --offline", "bisect --offline", "news --since 2025-01-01", "matrix"):
        with redirect_stdout(terminal):
            main(words.split())
    assert "not \\u202eclose\\x1b]0;title" in terminal.getvalue()
    assert "\u202e" not in terminal.getvalue()
    assert "\x1b]0;" not in terminal.getvalue()
