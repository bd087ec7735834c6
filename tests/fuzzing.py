"""What is fuzzed: for each kind of text that comes from outside, how one is made, and what must hold for any.

`test_fuzz.py` tries some in every run of the tests, and all that was ever found; ``benchmarks/fuzz.py`` goes on for as
long as it is told.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import suite
from hypothesis import strategies as st
from pt2bugs.case.cells import Cell
from pt2bugs.case.corpus import find_case_files
from pt2bugs.case.expectation import Where, judge
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import CaseError
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.cli import main
from pt2bugs.curate import bless
from pt2bugs.curate.case_text import NewHeader, case_text
from pt2bugs.curate.rules import problems_of
from pt2bugs.curate.script import script_to_check
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.engine.protocol import ChildExit, ReportReader, StopReason
from pt2bugs.errors import InputError
from pt2bugs.match.known import KnownBugs
from pt2bugs.results.folder import open_results
from pt2bugs.results.journal import (
    KEYS,
    OPTIONAL_KEYS,
    JournalError,
    as_line,
    journal_files,
    new_record,
    problem_of,
    read_journal,
)
from pt2bugs.run.measurement import observe_exit
from pt2bugs.triage import minimize
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.inlining import with_bodies, with_one_pass, with_settings, with_values
from pt2bugs.triage.program import (
    CannotRun,
    expects_exception,
    load_program,
    with_modules,
    without_header,
    without_import,
)
from pt2bugs.triage.redact import redact, redact_source, secrets_in
from pt2bugs.triage.reproducer import pattern_of
from pt2bugs.triage.statements import stated, statements
from pt2bugs.triage.unused import without_calls, without_unused
from pt2bugs.triage.workarounds import with_dims, without_compiling
from seeded import SEEN, START, git_of

ROOT = Path(__file__).resolve().parent.parent
MAX_S = 5.0
"""No text of some thousand characters may take longer."""

Edits = Sequence[tuple[int, int, str]]


@dataclass(frozen=True)
class Target:
    """A kind of text: how one is made, and the function that fails if anything does not hold for it in a folder."""

    values: st.SearchStrategy[Any]
    hold: Callable[[Path, Any], None]


def edited(text: str, edits: Edits) -> str:
    """A text with pieces in place of others; a place beyond the end counts from the start again."""
    for place, length, piece in edits:
        at = place % (len(text) + 1)
        text = f"{text[:at]}{piece}{text[at + length :]}"
    return text


def edits(pieces: Sequence[str], most: int = 6) -> st.SearchStrategy[Edits]:
    piece = st.sampled_from(pieces) | st.text(max_size=4)
    return st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 400), piece), max_size=most)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["2.13.0", "3.11.7", "pass", "crash", "\x1b[31m", "\ud800", "9" * 400, "a" * 9000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


# Headers.

HEADER_PIECES = (
    "\n", "# ", "# ///\n", "# /// script\n", '"', "'''", "[", "]", "{", "}", "=", ",", "\\", "\0", "\t", "\r",
    "\u2028", "[tool.pt2bugs]", "[[tool.pt2bugs.bug]]\n", "[" * 500, "9" * 5000, "inf", "nan", "-1", "1e400", "true",
    "[]", "{}", '""', "1979-05-27", '# timeout = 1e308\n', '# memory = -1\n', '# env = {PATH = ""}\n',
    '# devices = ["tpu"]\n', '# match = "("\n', '# match = "(a+)+$"\n', '# match = "(?P<a>b)(?P=a)"\n',
    '# torch = ">=2,<1"\n', '# torch = "==*"\n', '# backends = ["eager", "eager"]\n', '# blocked = true\n',
    '# python = "~=3"\n', '# packages = {numpy = "<2"}\n', "\ndef test_b(device, backend): pass\n",
    "\nclass TestA:\n    def test_c(self): pass\n", "async ", "\f", "\ufeff", "def test_a(*a, b=1, **c): return a\n",
    "lambda: ", "(" * 300, "if 1:\n" * 3, "1" + "+1" * 800, "\N{LATIN SMALL LETTER DOTLESS I}",
)  # fmt: skip
OBSERVED = (
    *SEEN.values(),
    Observation(Outcome.RAISE, "torch._dynamo.exc.Unsupported", "a" * 4000, "torch/a.py:1 f"),
    Observation(Outcome.WRONG, "AssertionError", "\\(?P<x>[[" * 40 + "\n" + '"""' * 9),
    Observation(Outcome.TIMEOUT, message="still running", frames=["torch/a.py:1 f"] * 20),
    Observation(Outcome.OOM, message="over its limit", signal="SIGKILL"),
)


@lru_cache(maxsize=1)
def case_texts() -> list[str]:
    """Texts of every twentieth case, and one of the tests."""
    paths = list(find_case_files([ROOT / "cases"], lambda _: None))
    return [suite.case_text("def test_a(): pass\n"), *(path.read_text() for path in paths[::20])]


def hold_header(folder: Path, value: tuple[int, Edits, Sequence[int]]) -> None:
    """It is a case, or refused with its path. Whatever was measured of it is judged, and `bless` leaves a case."""
    number, changes, seen = value
    texts = case_texts()
    path = folder / "cases" / "pytorch_1.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(edited(texts[number % len(texts)], changes), encoding="utf-8", errors="surrogatepass", newline="")
    assert all(problem.text for problem in problems_of(path))
    try:
        case = parse_case(path)
    except CaseError as error:
        assert str(path) in str(error)
        return
    lines = []
    for at, check in enumerate(case.checks):
        for device in case.devices[:1]:
            for release, which in zip(("2.9.1", "2.12.0", "2.13.0"), seen, strict=False):
                cell, observed = Cell(case, check, device, "inductor"), OBSERVED[(which + at) % len(OBSERVED)]
                judged = judge(case, check.name, Where(release, "3.11.7", device, "inductor"), observed)
                facts = EnvironmentFacts(torch=release, torch_git=git_of(release), python="3.11.7")
                lines.append(
                    as_line(new_record(cell, observed, judged.verdict, facts, run_id="a", started=START, extras=()))
                )
    journal = folder / "results" / "journal" / "a.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    journal.write_bytes(b"".join(line + b"\n" for line in lines))
    command(folder, "matrix")
    command(folder, "bless", str(path))
    parse_case(path)


# Journals.


@lru_cache(maxsize=1)
def journal_lines() -> list[bytes]:
    """Lines of the committed journal: the first of each file, and the longest."""
    lines = []
    for path in journal_files(ROOT / "results" / "journal"):
        read = path.read_bytes().splitlines()
        lines += [read[0], max(read, key=len)]
    return lines


JOURNAL_PIECES = (
    "\n", "{", "}", '"', ",", ":", "[" * 3000, "9" * 5000, "\\ud800", "\\u0000", "null", "1e999", "NaN", "-0", "true",
    '"schema": 2, ', '"schema": 3, ', '"kind": "run", ', '"repeat": 0, ', '"torch": "2.13", ', '"verdict": "xpass", ',
    '"torch": "2.13.0.dev20260101+cpu", ', '"extras": ["a", "a"], ', '"case": "../../x", ',
    '"message": "\\u001b[2J", ', '"started": "9999-99-99", ', '"duration_s": 1e308, ', '"backend": "\\u202e", ',
    '"device": "", ', "\x00", "\ufeff",
)  # fmt: skip


def hold_journal(folder: Path, value: Sequence[tuple[int, Edits, dict[str, Any]]]) -> None:
    """Every line is a record or dropped, costs no other, and no table or export fails by it."""
    known = journal_lines()
    guard = known[0] + b"\n"
    text = guard
    for number, changes, keys in value:
        line = known[number % len(known)].decode()
        if keys:
            line = json.dumps({**json.loads(line), **keys})
        text += edited(line, changes).encode("utf-8", "surrogatepass") + b"\n" + guard
    path = folder / "results" / "journal" / "a.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    (folder / "cases").mkdir(exist_ok=True)
    try:
        records = list(read_journal([path], lambda _: None))
    except JournalError as error:
        assert "is newer than" in str(error)
        return
    assert len([record for record in records if record == records[0]]) >= len(value) + 1
    assert [problem_of({**record}) for record in records] == [""] * len(records)
    for words in (
        ("export", "--format", "csv"),
        ("export", "--format", "junit"),
        ("matrix",),
        ("diff", "results", "results"),
    ):
        command(folder, *words)


# Reports.

NONCE = "0123456789abcdef"
REPORT = {"observation": Observation(Outcome.WRONG, "AssertionError", "not close").as_dict(), "text": "Traceback"}
KINDS = ("started", "report", "setup", "healthy", "entered-compile", "", "\N{SNOWMAN}", "report x")
_reports = st.builds(
    lambda told, top: {**REPORT, "observation": {**REPORT["observation"], **told}, **top},  # type: ignore[dict-item]
    st.dictionaries(st.sampled_from([*Observation.__dataclass_fields__, "x"]), JSON_VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["observation", "text", "x"]), JSON_VALUES, max_size=1),
)
_frames = st.tuples(st.sampled_from(KINDS), JSON_VALUES | _reports).map(
    lambda frame: f"{NONCE} {frame[0]} {json.dumps(frame[1])}\n".encode()
)


def hold_report(folder: Path, value: tuple[Sequence[bytes], int, int | None, int | None, str, str]) -> None:
    """Whatever is written to the pipe of a report, its cell has a line that can be read again."""
    chunks, size, signal, status, stopped, output = value
    written = b"".join(chunks)
    reader, writer = os.pipe()
    report = ReportReader(reader, NONCE)
    try:
        for start in range(0, len(written), size):
            os.write(writer, written[start : start + size])
            assert report.read()
        frames = report.frames()
    finally:
        os.close(reader)
        os.close(writer)
    ended = ChildExit(frames, StopReason(stopped) if stopped else None, signal, status, 1.0, 1.0, output)
    if "setup" in frames and not stopped:
        ended.stopped, ended.detail = StopReason.SETUP, str(frames["setup"])
    ended = ChildExit.from_dict(json.loads(json.dumps(ended.as_dict())))
    seen, text = observe_exit(ended, 1.0, 64)
    assert isinstance(text, str)
    seen.present(lambda text: text)
    path = folder / "pytorch_1.py"
    path.write_text(suite.case_text("def test_a(): pass\n"))
    case = parse_case(path)
    verdict = judge(case, "test_a", Where("2.13.0", "3.11.7", "cpu", "inductor"), seen).verdict
    facts = EnvironmentFacts(torch="2.13.0", python="3.11.7")
    cell = Cell(case, case.check("test_a"), "cpu", "inductor")
    line = as_line(new_record(cell, seen, verdict, facts, run_id="a", started=START, extras=()))
    assert b"\n" not in line and len(line) < 200_000
    assert problem_of(json.loads(line)) == ""
    (folder / "a.jsonl").write_bytes(line + b"\n")
    assert len(list(read_journal([folder / "a.jsonl"], lambda _: None))) == 1


# Texts for `match`.

TRACEBACK_PIECES = (
    "\n", "Traceback (most recent call last):\n", '  File "a.py", line 1, in f\n',
    '  File "torch/_dynamo/a.py", line 9\n', "    ^^^^\n", "RuntimeError: ", "torch._dynamo.exc.Unsupported: ",
    "[rank0]: ", "> ", "\x1b[31m", "E   ", "\r\n", "\r",
    "The above exception was the direct cause of the following exception:\n\n",
    "Fatal Python error: Segmentation fault\n", "Current thread 0x1 (most recent call first):\n",
    "  + Exception Group Traceback (most recent call last):\n", "  | ", "Aborted (core dumped)\n", "SIGSEGV",
    "INTERNAL ASSERT FAILED", "2026-01-01 00:00:00,000 ", "\t", "-" * 300, "((((", "Error", ": ", "\0", "\ufeff",
    "\u2028", "a" * 3000, "AssertionError\n", "raise ", "[" * 200, "1e999", "\\", "'", '"',
)  # fmt: skip


@lru_cache(maxsize=1)
def tracebacks() -> list[str]:
    return [path.read_text() for path in sorted((ROOT / "tests" / "tracebacks").iterdir())]


@lru_cache(maxsize=1)
def known_bugs() -> KnownBugs:
    return KnownBugs.load(open_results(ROOT / "results"), [ROOT / "cases"], lambda _: None)


def hold_match(folder: Path, value: tuple[int, Edits]) -> None:
    """It is answered in time, in JSON that holds the contract."""
    number, changes = value
    texts = ["", *tracebacks()]
    text = edited(texts[number % len(texts)], changes).encode("utf-8", "replace").decode()
    known = known_bugs()
    for recognized in known.recognize(text, "2.13.0"):
        assert recognized.traceback.chain
        told = [known.as_dict(match, "2.13.0") for match in recognized.matches]
        assert json.loads(json.dumps(told)) == told
        assert recognized.is_known == any(match["kind"] == "identity" for match in told[:1])


# Programs and messages for `triage`.

PROGRAM_PIECES = (
    "\n", "    ", "\t", "(", ")", ":", "'''", "\\\n", "\0", "\f", "\r", "\ufeff", "#", ";", "\nimport numpy\n", "@",
    "\nfrom os import *\n", "try:\n    pass\nexcept Exception: pass\n", "\ndef main():\n    return 1\nmain()\n",
    "(" * 150, "1" + "+1" * 1500, "-" * 500 + "1", "a" + ".b" * 800, "[" * 60 + "]" * 60, "f(" * 60 + ")" * 60,
    "not " * 900 + "1", "\nif 0:\n  if 1: pass\n  elif 2: pass\n  else: pass\n",
    "\nx: int = lambda *a, **k: (yield)\n", "\nmatch x:\n  case _: 1\n", 'api_key = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"\n',
    "token=f'{a}'\n", "\nwith a as b, c: pass\n", "\nclass A:\n  def f(self): 1\n",
    "\nfor i in range(1000): print(i)\n", "\nasync def f():\n  await g()\n", "\nglobal x\n", "print(f'{x!r:>{w}}')\n",
    "del x\n", "\nif __name__ == '__main__':\n    f()\n", "assert f(x), 'wrong'\n", "*a, b = 1, 2\n",
    "x = (y := 1)\n", "\u0130", "\u2028", '\nd = torch.export.Dim("d")\n', "# /// script\n# ///\n", "%%bash\n",
    "!ls\n", "return\n", "yield\n", "def f(): return\n", "elif 1: pass\n", "else:\n    pass\n",
    "unique_name_1, _ = (b, 0)\n", "0x" + "f" * 9000, "1" * 5000, "'" + "\\" * 999,
)  # fmt: skip
_REWRITES: tuple[Callable[[str], str | None], ...] = (
    redact_source,
    without_header,
    lambda source: without_import(source, "numpy"),
    lambda source: without_compiling(source, "f"),
    lambda source: with_dims(source, {"d": 'Dim("d", max=4)'}),
    minimize.without_handlers,
    minimize.without_idle_statements,
    minimize.without_empty_names,
    minimize.without_main,
    lambda source: minimize.with_small_counts(source, _parses),
    lambda source: minimize.without_statements(source, _parses),
    without_unused,
    lambda source: without_calls(source, _parses),
    lambda source: with_settings(source, _parses),
    lambda source: with_bodies(source, _parses),
    lambda source: with_values(source, _parses),
    lambda source: with_one_pass(source, _parses),
)
"""What triage makes of the text of a program before anything of it is run."""


def _parses(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


@lru_cache(maxsize=1)
def programs() -> list[str]:
    return [path.read_text() for path in sorted((ROOT / "benchmarks" / "threads").glob("*.py"))]


def hold_triage(folder: Path, value: tuple[int, Edits, str, str]) -> None:
    """A program is refused, or all that is made of it is Python; any message has a pattern that finds it."""
    number, changes, message, error_type = value
    texts = ["", *programs()]
    path = folder / "program.py"
    path.write_text(edited(texts[number % len(texts)], changes), encoding="utf-8", errors="surrogatepass", newline="")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            source = load_program(path).source
        except CannotRun as error:
            assert str(path) in str(error)
        else:
            _hold_program(source, folder)
    for kind in statements():
        stated(kind, message)
    redact(message)
    observed = Observation(Outcome.RAISE, error_type, message)
    observed.present(redact)
    identity = Identity.of(observed)
    assert "\n" not in identity.headline
    pattern = pattern_of(identity)
    assert re.search(pattern, identity.message), pattern
    for outcome in (Outcome.RAISE, Outcome.WRONG):
        blessed = bless._pattern(replace(observed, outcome=outcome))
        assert re.search(blessed, identity.message), blessed
    settings = {"issue": "https://example.org/1", "title": "A title", "component": "dynamo", "symptom": "crash"}
    header = NewHeader("2.13.0", settings, [{"torch": "==2.13.0", "outcome": "raise", "match": pattern}])
    written = folder / "pytorch_1.py"
    written.write_text(case_text(header, [observed.summary], "def test_a(): pass\n"), encoding="utf-8")
    assert parse_case(written).bugs[0].match == pattern


def _hold_program(source: str, folder: Path) -> None:
    secrets_in(source)
    for line in (1, source.count("\n") // 2, source.count("\n")):
        expects_exception(source, line)
    assert _parses(with_modules(source, folder))
    for rewrite in _REWRITES:
        made = rewrite(source)
        assert made is None or _parses(made), rewrite
    for judge_ in (False, True):
        with contextlib.suppress(InputError):
            script_to_check(source, "program", judge=judge_).program("test_a")


def command(folder: Path, *words: str) -> str:
    """The output of a command in a folder with a corpus and results."""
    where = ["--cases", str(folder / "cases"), "--results", str(folder / "results")]
    if words[0] == "diff":
        words, where = ("diff", str(folder / "results"), str(folder / "results")), where[:2]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        status = main([*words, *where])
    assert status in (0, 1, 2, 3), (words, status)
    return printed.getvalue()


def timed(hold: Callable[[Path, Any], None]) -> Callable[[Path, Any], None]:
    """The same, but it fails as well if it takes too long; seconds of the processor, as the machine may be busy."""

    def held(folder: Path, value: Any) -> None:
        began = time.process_time()
        hold(folder, value)
        assert time.process_time() - began < MAX_S, "it takes too long"

    return held


_which = st.integers(0, 1000)
TARGETS = {
    "header": Target(st.tuples(_which, edits(HEADER_PIECES), st.lists(_which, max_size=3)), timed(hold_header)),
    "journal": Target(
        st.lists(
            st.tuples(
                _which,
                edits(JOURNAL_PIECES, 3),
                st.dictionaries(st.sampled_from([*KEYS, *OPTIONAL_KEYS]), JSON_VALUES, max_size=2),
            ),
            min_size=1,
            max_size=4,
        ),
        timed(hold_journal),
    ),
    "report": Target(
        st.tuples(
            st.lists(st.binary(max_size=30) | _frames | st.just(b"x" * 70_000), max_size=5),
            st.integers(1, 60_000),
            st.none() | st.integers(1, 64),
            st.none() | st.just(0) | st.integers(-(1 << 31), 1 << 31),
            st.sampled_from(["", "", *map(str, StopReason)]),
            st.text(max_size=40) | st.just("a" * 90_000),
        ),
        timed(hold_report),
    ),
    "match": Target(st.tuples(_which, edits(TRACEBACK_PIECES, 10)), timed(hold_match)),
    "triage": Target(
        st.tuples(
            _which,
            edits(PROGRAM_PIECES),
            st.lists(st.sampled_from(TRACEBACK_PIECES) | st.text(max_size=6), max_size=8).map("".join),
            st.sampled_from(["RuntimeError", "", "torch._dynamo.exc.Unsupported", "a.\u0130", "x" * 400]),
        ),
        timed(hold_triage),
    ),
}
