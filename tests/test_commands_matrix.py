"""The matrix in a terminal of any width, plain in a pipe, and as a picture."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import xml.etree.ElementTree as ET
from fcntl import ioctl
from pathlib import Path

import pt2bugs
import pytest
from pt2bugs.cli import main
from pt2bugs.commands.console import elided
from pt2bugs.report.style import STYLES
from seeded import BLOCKED, BUG, write_case, write_journal

RELEASES = tuple(f"2.{minor}.0" for minor in range(5, 15))
OUTCOMES = "w wrong, r raise, c crash, t timeout, m oom"
ROWS = {"pytorch_1": "sbBBB.....", "pytorch_22": "B.FE......"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, letters in ROWS.items():
        path = write_case(tmp_path, name, bugs=[{**BLOCKED, "torch": "<2.7"}, BUG])
        write_journal(tmp_path, path, dict(zip(RELEASES, letters, strict=True)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_terminal(*arguments: str, columns: int, **env: str) -> list[str]:
    """The matrix that `pt2bugs` writes to a terminal of that width, below its legend, stderr left aside."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environ = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    environ |= {"TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parent.parent), **env}
    command = [sys.executable, "-m", "pt2bugs", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environ) as process:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the other end is closed
            pass
        _, errors = process.communicate()
    os.close(ours)
    assert process.returncode == 0, errors.decode()
    lines = text.decode().splitlines()
    assert lines[0].startswith(". pass,")
    return lines[next(at for at, line in enumerate(lines) if without_colour(line).split()[0] in ("check", "che…")) :]


def without_colour(line: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", line).rstrip()


def test_plain_in_a_pipe(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix"]) == 0
    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split() == list(RELEASES)[::-1], "newest first, as on the page"
    assert "\x1b" not in out
    legend, builds = err.splitlines()
    assert legend == f". pass, P xpass, F fail, ~ flaky, s skip, E error; documented bug: {OUTCOMES}"
    assert builds == "builds: " + ", ".join(f"{release}+cpu" for release in RELEASES)
    assert [row.split() for row in rows] == [
        ["pytorch_1", "it", "inductor", *".....wwwss"],
        ["pytorch_22", "it", "inductor", *".....PEFPF"],
    ]
    for at, release in enumerate(RELEASES[::-1]):
        column = head.index(release)
        assert rows[0][column : column + len(release)].strip() == rows[0].split()[3 + at], "letters stand below heads"


def test_in_a_wide_terminal(project: Path) -> None:
    lines = in_terminal("matrix", columns=120)
    assert [without_colour(line).split() for line in lines] == [
        ["check", *RELEASES[::-1]],
        ["pytorch_1", "it", "inductor", *".....wwwss"],
        ["pytorch_22", "it", "inductor", *".....PEFPF"],
    ]
    assert re.search(r"\x1b\[31m *w", lines[1]), "red"


@pytest.mark.parametrize(("columns", "tables"), [(44, 4), (60, 2), (80, 2), (100, 1)])
def test_in_a_narrow_terminal(project: Path, columns: int, tables: int) -> None:
    """Several tables, one below the other, that together have every release once."""
    lines = [without_colour(line) for line in in_terminal("matrix", columns=columns)]
    assert max(map(len, lines)) <= columns
    heads = [line.split()[1:] for line in lines if line.startswith("check")]
    assert len(heads) == tables
    assert [release for head in heads for release in head] == list(RELEASES[::-1])
    letters = [line.split()[3:] for line in lines if line.startswith("pytorch_22")]
    assert [letter for part in letters for letter in part] == list(".....PEFPF")


def test_narrower_than_a_name(project: Path) -> None:
    lines = [without_colour(line) for line in in_terminal("matrix", columns=24)]
    assert max(map(len, lines)) <= 24
    parts = [part for line in lines if line.startswith("pytorch_22") for part in line.split()]
    assert [part for part in parts if len(part) == 1 and part != "…"] == list(".....PEFPF")


def test_labels_that_are_cut_tell_checks_apart() -> None:
    case = "aotautograd_detached_alias_replay"
    labels = elided([f"{case} {check} aot_eager" for check in ("detached", "detached_dynamic")], 40)
    assert labels == ["aotautograd_det…eplay detached aot_eager", "aotautograd_det…tached_dynamic aot_eager"]
    assert {len(label) for label in labels} == {40}


def test_labels_that_would_be_alike_if_cut_are_whole() -> None:
    cases = ("aotautograd_detached_no_replay", "aotautograd_detached_view_replay", "pytorch_1")
    labels = elided([f"{case} detached_and_view aot_eager" for case in cases], 40)
    assert labels == [
        "aotautograd_detached_no_replay\n  detached_and_view aot_eager",
        "aotautograd_detached_view_replay\n  detached_and_view aot_eager",
        "pytorch_1 detached_and_view aot_eager",
    ]


def test_a_terminal_shows_the_newest_patches(project: Path) -> None:
    write_journal(project, project / "cases" / "dynamo" / "pytorch_1.py", {"2.9.1": "."})
    heads = [without_colour(line).split()[1:] for line in in_terminal("matrix", columns=120) if "check" in line]
    assert heads == [[release if release != "2.9.0" else "2.9.1" for release in RELEASES[::-1]]]
    (every,) = [line for line in in_terminal("matrix", "--torch", "all", columns=120) if "check" in line]
    assert "2.9.1 2.9.0" in without_colour(every)


def test_other_pythons(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / "cases" / "dynamo" / "pytorch_1.py"
    write_journal(project, path, {"2.9.0": "B"}, python="3.10.9", run_id="other")
    assert main(["matrix", "--json", "--axis", "python", "pytorch_1"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    shown = {name: value for name, value in row["releases"].items() if name.startswith("2.9.0")}
    assert shown == {"2.9.0+py3.10": "xfail:wrong", "2.9.0+py3.11": "xfail:wrong"}


def test_without_colour(project: Path) -> None:
    lines = in_terminal("matrix", columns=120, NO_COLOR="1")
    assert not [line for line in lines if "\x1b[3" in line]


def test_the_picture(project: Path) -> None:
    assert main(["matrix", "--svg", "matrix.svg"]) == 0
    svg = ET.parse("matrix.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert svg.get("aria-label") == "2 documented compiler bugs x 10 torch releases"
    titles = [title.text for title in svg.iter(f"{space}title")]
    assert "pytorch_22 it inductor on 2.7.0: fail" in titles
    assert len(titles) == 20
    fills = {rect.get("fill") for rect in svg.iter(f"{space}rect")}
    assert STYLES["fail"].fill in fills


def test_a_picture_is_of_a_selection(project: Path) -> None:
    assert main(["matrix", "pytorch_1", "--svg", "matrix.svg"]) == 0
    text = Path("matrix.svg").read_text()
    assert "pytorch_1 " in text
    assert "pytorch_22" not in text


def test_nothing_to_show(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--device", "xpu"]) == 3
    assert "nothing to show" in capsys.readouterr().err


def test_as_json_by_release_and_verdict(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--json", "--torch", "2.7", "--torch", "latest", "--verdict", "fail"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["case"], row["check"], row["releases"]) == (
        "pytorch_22",
        "test_it",
        {"2.7.0": "fail", "2.14.0": "pass"},
    )


def test_colour_where_it_is_forced(project: Path) -> None:
    environ = {**os.environ, "FORCE_COLOR": "1", "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent)}
    command = [sys.executable, "-m", "pt2bugs", "matrix"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert "\x1b[31m" in done.stdout


def test_mixed_builds_are_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for journal in Path("results/journal").iterdir():
        journal.write_text(journal.read_text().replace("2.9.0+cpu", "2.9.0+cu128"))
    assert main(["matrix"]) == 0
    assert (
        "builds of different kinds are mixed: CUDA builds of 2.9.0; CPU builds of the others" in capsys.readouterr().err
    )
