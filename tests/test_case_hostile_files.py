"""Files that are no good cases, or no cases at all: one clear error, or left alone, in no time."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pt2bugs.case.corpus import find_case_files, is_case_file, load_cases
from pt2bugs.case.header import find_block, is_case_text, parse_case
from pt2bugs.case.model import CaseError
from suite import case_text

GOOD = case_text("def test_a():\n    pass\n")


def write(folder: Path, text: str | bytes, name: str = "a.py") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def with_line(line: str) -> str:
    """A good case with one more line in its table."""
    return GOOD.replace('# symptom = "crash"', f'# symptom = "crash"\n# {line}')


HEADERS = {
    "timeout = inf": "timeout must be greater than zero seconds and at most a day",
    "timeout = nan": "timeout must be greater than zero seconds and at most a day",
    "timeout = 1e10": "timeout must be greater than zero seconds and at most a day",
    f"timeout = {'9' * 5000}": "cannot be parsed",
    "memory = 0": "memory must be MiB, greater than zero",
    "fix = 5": "fix must be a string, not 5",
    'fix = "a\\u001b[31mred"': "fix holds a control character",
    'env = { "A=B" = "1" }': "env cannot set 'A=B'",
    'env = { A = "\\u0000" }': "no NUL anywhere",
    "bug = [1]": "bug must be written as [[tool.pt2bugs.bug]] entries",
    "bug = " + "[" * 5000: "cannot be parsed",
    "devices = [1]": "devices must be a list of non-empty strings",
    'demands = ["flying"]': "unknown demand 'flying'",
    'demands = { test_b = ["training"] }': "demands names 'test_b', which is no check; did you mean 'test_a'?",
    f'requires-torch = ">={"9" * 5000}"': "is not a PEP 440 specifier set",
    '[[tool.pt2bugs.bug]]\n# outcome = "raise"\n# match = "a{99999999999}"': "match is not a regular expression",
    f'[[tool.pt2bugs.bug]]\n# outcome = "raise"\n# match = "{"(" * 5000}"': "match is not a regular expression",
    f'[[tool.pt2bugs.bug]]\n# outcome = "raise"\n# frame = "{"(?:" * 5000}x{")" * 5000}"': "frame is not a regular",
    '[[tool.pt2bugs.bug]]\n# outcome = "raise"\n# output = "["': "output is not a regular expression",
}


@pytest.mark.parametrize("line", HEADERS, ids=lambda line: line[:40])
def test_a_bad_line_of_a_header(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, with_line(line))
    with pytest.raises(CaseError, match=re.escape(HEADERS[line])) as caught:
        parse_case(path)
    assert caught.value.line is not None
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("dependencies = 5", "dependencies must be a list of strings, not 5"),
        ("requires-python = 3", "requires-python must be a PEP 440 specifier set, not 3"),
        ("tool = 5", "has no [tool.pt2bugs] table"),
        ("[[tool]]\n# x = 1 # tool.pt2bugs", "has no [tool.pt2bugs] table"),
    ],
)
def test_a_bad_block(tmp_path: Path, metadata: str, message: str) -> None:
    if "tool" in metadata:
        text = f"# /// script\n# {metadata}\n# ///\n# tool.pt2bugs\ndef test_a(): pass\n"
    else:
        text = re.sub(rf"# {metadata.split()[0]} = .*", f"# {metadata}", GOOD)
    with pytest.raises(CaseError, match=re.escape(message)):
        parse_case(write(tmp_path, text))


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("def test_a():\n    yield 1\n", "check test_a holds a yield: a generator never runs"),
        ("class TestX:\n    def test_b(self): pass\n\ndef test_a(): pass\n", "test_b would never run"),
        ("def test_a():\n    def test_b(): pass\n", "test_b would never run"),
        ("if True:\n    def test_b(): pass\n\ndef test_a(): pass\n", "test_b would never run"),
        ("def test_a(device, /):\n    pass\n", "check test_a takes a positional-only parameter"),
        ("async def test_a():\n    pass\n", "must be a plain function, not async"),
        ("def test_a():\n    x = " + "(" * 5000 + "\n", "is not Python"),
        ("def test_a():\n    x = " + "-" * 100_000 + "1\n", "is not Python that can be parsed"),
        ("def test_a():\n    x = 'a\0b'\n", "is not Python"),
    ],
)
def test_a_bad_program(tmp_path: Path, program: str, message: str) -> None:
    with pytest.raises(CaseError, match=re.escape(message)):
        parse_case(write(tmp_path, case_text(program)))


def test_no_title_drives_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="title holds a control character"):
        parse_case(write(tmp_path, GOOD.replace("A title", "A \\u001b[31mred title")))


@pytest.mark.parametrize("name", ["a\u202eb", "a\x1b[31mb", "a\nb", os.fsdecode(b"a\xffb")])
def test_no_id_drives_a_terminal(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaseError, match="the name of the file is the case's id, and holds a control character"):
        parse_case(write(tmp_path, GOOD, f"{name}.py"))


def test_a_yield_of_an_inner_function_is_its_own(tmp_path: Path) -> None:
    text = case_text("def test_a():\n    def inner():\n        yield 1\n    list(inner())\n")
    assert [check.name for check in parse_case(write(tmp_path, text)).checks] == ["test_a"]


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = with_line("timeout = -1\n# tiemout = 3\n# devices = []")
    path = write(
        tmp_path, text.replace('component = "dynamo"', 'component = "dynamop"') + "\nasync def test_b(): pass\n"
    )
    with pytest.raises(CaseError) as caught:
        parse_case(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    assert all(line.startswith(f"{path}:") for line in lines)
    assert [problem.line for problem in caught.value.problems] == sorted(
        other.line or 0 for other in caught.value.problems
    )


def test_of_every_file_too(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path, with_line("timeout = -1"), f"{name}.py")
    with pytest.raises(CaseError, match=r"a\.py:\d+: (?s:.*)b\.py:\d+: "):
        load_cases([tmp_path])


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + GOOD.encode())
    assert is_case_file(path)
    assert parse_case(path).hash == parse_case(write(tmp_path, GOOD, "b.py")).hash


def test_a_header_of_ten_megabytes(tmp_path: Path) -> None:
    text = GOOD.replace("# [tool.pt2bugs]\n", "# [tool.pt2bugs]\n" + "# #\n" * 2_500_000, 1)
    with pytest.raises(CaseError, match="is larger than 1 MiB"):
        parse_case(write(tmp_path, text))


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_change_nothing(tmp_path: Path, end: str) -> None:
    path = write(tmp_path, GOOD.replace("\n", end))
    assert is_case_file(path)
    assert parse_case(path).hash == parse_case(write(tmp_path, GOOD, "b.py")).hash


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD.encode("utf-16"), "looks like a case, but it is UTF-16: save it as UTF-8"),
        (b'"""Text."""\n' + GOOD.encode(), "looks like a case, but code stands before"),
        (b'"""Text."""\r' + GOOD.replace("\n", "\r").encode(), "looks like a case, but code stands before"),
    ],
)
def test_what_looks_like_a_case_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    warnings: list[str] = []
    assert list(find_case_files([write(tmp_path, data).parent], warnings.append)) == []
    assert len(warnings) == 1
    assert message in warnings[0]


def test_a_text_that_holds_a_case_is_none(tmp_path: Path) -> None:
    warnings: list[str] = []
    write(tmp_path, f"TEXT = '''\n{GOOD}'''\n")
    assert list(find_case_files([tmp_path], warnings.append)) == []
    assert warnings == []


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "nowhere.py").symlink_to("nothing")
    write(tmp_path, GOOD)
    warnings: list[str] = []
    assert [case.id for case in load_cases([tmp_path], warnings.append)] == ["a"]
    assert warnings == [f"{tmp_path}/{name}.py: left out: it is not a regular file" for name in ("pipe", "zero")]


@pytest.mark.parametrize(
    "text",
    ["# a comment\n" + "\n" * 40, "# a comment\n" + "\n" * 100_000 + "x", "#\n" * 100_000 + "# /// script\n" * 1000],
)
def test_no_text_takes_long(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text + "# tool.pt2bugs\n")
    began = time.process_time()
    is_case_file(path)
    assert time.process_time() - began < 5


@settings(max_examples=300)
@given(st.lists(st.sampled_from(["#", "# ", "# ///", "# /// script", "", " ", "x", "# [tool.pt2bugs]", "\t#", "\r"])))
def test_any_text_is_a_case_or_not(rows: list[str]) -> None:
    text = "\n".join(rows)
    block = find_block(text)
    if block is not None:
        assert text.split("\n")[block.opening] == "# /// script"
        assert is_case_text(text) in (True, False)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [
                "title",
                "timeout",
                "bug",
                "env",
                "devices",
                "guard",
                "demands",
                "x",
                "[tool.pt2bugs]",
                "[[tool.pt2bugs.bug]]",
            ]
        ).flatmap(
            lambda key: st.sampled_from(
                ["1", '"a"', "[]", "{}", "true", "nan", "1979-05-27", "[[]]", "{ a = [1] }", "", "-1", '"\\u0000"']
            ).map(lambda value: key if key.startswith("[") else f"{key} = {value}")
        ),
        max_size=8,
    )
)
def test_any_header_is_read_or_refused(tmp_path: Path, lines: list[str]) -> None:
    text = "# /// script\n# [tool.pt2bugs]\n" + "".join(f"# {line}\n" for line in lines) + "# ///\ndef test_a(): pass\n"
    path = write(tmp_path, text)
    try:
        parse_case(path)
    except CaseError as error:
        assert str(path) in str(error)


PIECES = (
    "[", "]", "{", "}", '"', "'", "\\", "#", "# ///", "\n", "\n# ", "=", ",", ".", "\0", "\x1b", "\ufeff", "\u2028",
    "\udc80", "9" * 400, "(" * 300, "yield", "async ",
)  # fmt: skip
"""What is put into a good case."""


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.integers(0, 12), st.sampled_from(PIECES) | st.text(max_size=3)),
        min_size=1,
        max_size=4,
    )
)
def test_any_change_of_a_case_is_read_or_refused(tmp_path: Path, changes: list[tuple[int, int, str]]) -> None:
    text = GOOD
    for place, length, piece in changes:
        text = f"{text[:place]}{piece}{text[place + length :]}"
    path = write(tmp_path, text.encode("utf-8", "surrogatepass"))
    for _ in find_case_files([tmp_path], lambda _: None):
        try:
            parse_case(path)
        except CaseError as error:
            assert str(path) in str(error)
