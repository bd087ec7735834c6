"""Who reads the output may leave early, or read no UTF-8, which is no error.

Any other broken pipe is a bug, and shows as one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pt2bugs
import pytest
from seeded import write_case, write_journal

BUG = """
import os, sys
from pt2bugs.cli import main
from pt2bugs.commands import list

def run(options):
    reader, writer = os.pipe()
    os.close(reader)
    os.write(writer, b"arguments")

list.run = run
sys.exit(main(["list"]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    return tmp_path


@pytest.fixture
def without_reader() -> Iterator[int]:
    """The end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def environ(unbuffered: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(pt2bugs.__file__).parent.parent), "PYTHONUNBUFFERED": unbuffered}


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", ["--help", "--version", "list", "list --help", "export --format json", "matrix"])
def test_a_reader_that_has_left_is_no_error(folder: Path, without_reader: int, arguments: str, unbuffered: str) -> None:
    command = [sys.executable, "-m", "pt2bugs", *arguments.split()]
    done = subprocess.run(
        command, cwd=folder, env=environ(unbuffered), stdout=without_reader, stderr=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "BrokenPipe" not in done.stderr
    # With both in one pipe, as in `2>&1 | head`.
    both = subprocess.run(
        command, cwd=folder, env=environ(unbuffered), stdout=without_reader, stderr=subprocess.STDOUT, check=False
    )
    assert both.returncode == 0


@pytest.mark.parametrize("out", [subprocess.PIPE, subprocess.DEVNULL], ids=["pipe", "nowhere"])
def test_a_broken_pipe_that_is_not_the_output_shows(folder: Path, out: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUG], cwd=folder, env=environ(""), stdout=out, stderr=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.endswith("BrokenPipeError: [Errno 32] Broken pipe\n")


def test_a_reader_that_has_left_changes_no_exit_code(folder: Path, without_reader: int) -> None:
    write_journal(folder, write_case(folder, "pytorch_2"), {"2.9.1": ".", "2.10.0": "B"})
    command = [sys.executable, "-m", "pt2bugs", "compare", "2.9.1", "2.10.0", "--offline"]
    for unbuffered in ("", "1"):
        done = subprocess.run(
            command, cwd=folder, env=environ(unbuffered), stdout=without_reader, stderr=subprocess.PIPE, check=False
        )
        assert done.returncode == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_reader_of_any_encoding(tmp_path: Path, encoding: str) -> None:
    """Bytes of a path that are no UTF-8, and characters that the terminal does not have, are printed as escapes."""
    path = write_case(tmp_path / os.fsdecode(b"caf\xe9"), "pytorch_1", title="A \u2014 title")
    command = [sys.executable, "-m", "pt2bugs", "list", "--cases", str(path.parent)]
    for more in ([], ["--json"]):
        done = subprocess.run(
            [*command, *more], env={**environ(""), "PYTHONIOENCODING": encoding}, capture_output=True, check=False
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    (case,) = json.loads(done.stdout)
    assert case["title"] == "A \u2014 title"
    assert case["path"] == str(path)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_stream_that_is_closed_changes_no_exit_code(folder: Path, closed: str) -> None:
    """Nor does it lend its descriptor: what is printed would go to the next file that is opened."""
    for arguments, code in (("compare 2.10.0 2.9.1 --offline", 1), ("compare 2.9.1 2.10.0 --offline", 0), ("-h", 0)):
        command = f"{sys.executable} -m pt2bugs {arguments} {closed}"
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environ(""), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert bool(done.stdout) is (" >&-" not in f" {closed}")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", ["compare 2.9.1 2.10.0 --offline", "compare 2.10.0 2.9.1 --offline", "--help"])
def test_an_answer_that_cannot_be_written_is_none(folder: Path, arguments: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pt2bugs", *arguments.split()],
            cwd=folder, env=environ(unbuffered), stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.endswith("pt2bugs: the output cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr
