"""Benches of cases: their journal, what became slower, and `pt2bugs bench` over real environments of a fake torch."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index
from matrix_project import Project
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import CaseError
from pt2bugs.cli import main
from pt2bugs.speed import journal
from pt2bugs.speed.history import Slower, in_words, is_slower, search, slower_steps
from pt2bugs.speed.journal import SpeedLine
from pt2bugs.speed.measurement import PROCESSES, Stopwatch, benches_of, program_hash
from seeded import write_case, write_journal
from suite import case_text

CHECK = """
import torch

def test_sum(device, backend):
    f = torch.compile(lambda x: x.sum(), backend=backend)
    assert f(torch.ones(3, device=device)) == 3
"""
BENCH = """

def bench_sum(device):
    def total(x):
        return x.sum()

    return total, (torch.ones(3, device=device),)
"""
MAIN = """

if __name__ == "__main__":
    test_sum("cpu", "eager")
"""


def line(torch: str, *ratios: float, started: str = "2026-11-20T00:00:00.000", **values: object) -> SpeedLine:
    """A line of a bench whose eager call takes a second."""
    made = SpeedLine(
        case="c", bench="bench_sum", device="cpu", backend="inductor", program="p", torch=torch, python="3.11.7",
        cpu="a CPU", capability="AVX2", threads=1, started=started, eager_s=(1.0,) * len(ratios), compiled_s=ratios,
        counts={"kernels": 1}, problem="" if ratios else "raise RuntimeError",
    )  # fmt: skip
    return replace(made, **values)  # type: ignore[arg-type]


def write(folder: Path, text: str, name: str = "c") -> Path:
    path = folder / "cases" / "dynamo" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# --- in a case -----------------------------------------------------------------------------------------


def test_a_bench_leaves_the_verdicts_of_a_case_alone(tmp_path: Path) -> None:
    """To add one must not ask for new measurements of what is judged."""
    without = parse_case(write(tmp_path, case_text(CHECK + MAIN)))
    program = program_hash(without)
    with_one = parse_case(write(tmp_path, case_text(CHECK + BENCH + MAIN)))
    assert program_hash(with_one) != program
    decorated = BENCH.replace("def bench_sum", "@torch.no_grad()\ndef bench_sum")
    assert [bench.name for bench in with_one.benches] == ["bench_sum"]
    assert with_one.hash == without.hash == parse_case(write(tmp_path, case_text(CHECK + decorated + MAIN))).hash
    assert parse_case(write(tmp_path, case_text(CHECK + "\n\nx = 1\n" + MAIN))).hash != without.hash


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def bench_a(size): ...", "bench bench_a takes 'size'; a bench takes only the parameters"),
        ("async def bench_a(): ...", "bench bench_a must be a plain function"),
        ("def bench_a():\n    yield 1", "bench bench_a holds a yield"),
        ("def bench_a(): ...\ndef bench_a(): ...", "bench bench_a is defined twice"),
    ],
)
def test_a_wrong_bench_is_named(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(CaseError) as caught:
        parse_case(write(tmp_path, case_text(f"{CHECK}\n{text}\n")))
    assert problem in str(caught.value)


# --- the journal ---------------------------------------------------------------------------------------


def test_lines_come_back(tmp_path: Path) -> None:
    lines = [line("2.10.0+cpu", 0.5, 0.6, 0.5), line("2.9.1", 0.4, 0.4, 0.4), line("2.9.1", 0.3, 0.3, 0.3)]
    journal.append(tmp_path, lines)
    (told,) = journal.read(tmp_path, {"c": "p"}, pytest.fail).values()
    assert told == {"2.9.1": lines[2], "2.10.0": lines[0]}
    assert list(told) == ["2.9.1", "2.10.0"]
    assert sorted(path.name for path in (tmp_path / "perf").iterdir()) == [
        "torch-2.10.0-py3.11.jsonl",
        "torch-2.9.1-py3.11.jsonl",
    ]


def test_lines_of_another_program_or_python_say_nothing(tmp_path: Path) -> None:
    journal.append(tmp_path, [line("2.9.1", 0.4)])
    assert not journal.read(tmp_path, {"c": "another"}, pytest.fail)
    assert not journal.read(tmp_path, {"c": "p"}, pytest.fail, python="3.1")
    assert journal.read(tmp_path, {"c": "p"}, pytest.fail, python="3.11")


@pytest.mark.parametrize(
    "spoilt",
    [
        '{"schema": 1}',
        "[]",
        "5",
        "{",
        json.dumps({**line("2.9.1", 0.4).as_dict(), "schema": 2}),
        json.dumps({**line("2.9.1", 0.4).as_dict(), "eager_s": [0.0]}),
        json.dumps({**line("2.9.1", 0.4).as_dict(), "eager_s": [1.0, 1.0]}),
        json.dumps({**line("2.9.1", 0.4).as_dict(), "torch": 5}),
        json.dumps({**line("2.9.1", 0.4).as_dict(), "counts": None}),
        json.dumps({**line("2.9.1", 0.4).as_dict(), "more": 1}),
    ],
)
def test_a_spoilt_line_is_told_and_left_out(spoilt: str, tmp_path: Path) -> None:
    journal.append(tmp_path, [line("2.9.1", 0.4)])
    path = tmp_path / "perf" / "torch-2.9.1-py3.11.jsonl"
    path.write_text(f"{spoilt}\n{path.read_text()}")
    told: list[str] = []
    (lines,) = journal.read(tmp_path, {"c": "p"}, told.append).values()
    assert list(lines) == ["2.9.1"]
    assert len(told) == 1
    assert told[0].startswith(f"{path}:1: ")


def test_merge_adds_the_lines_of_speed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, shard = tmp_path / "results", tmp_path / "shards" / "1"
    lines = [line(release, 0.5) for release in ("2.9.1", "2.10.0")]
    journal.append(here, lines[:1])
    journal.append(shard, lines)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "."}, results="shards/1")
    command = ["merge", str(shard.parent), "-o", str(here), "--cases", str(tmp_path / "cases")]
    assert main(command) == 0
    told = capsys.readouterr().err
    assert "1 line of speed added" in told
    assert "1 line read, 1 added, 0 were there; 0 damaged" in told
    assert {path.name for path in (here / "perf").iterdir()} == {
        "torch-2.9.1-py3.11.jsonl",
        "torch-2.10.0-py3.11.jsonl",
    }
    assert main(command) == 0
    assert "of speed" not in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "perf").write_text("")
    with pytest.raises(journal.SpeedJournalError, match="perf"):
        journal.append(tmp_path, [line("2.9.1", 0.4)])


# --- what became slower --------------------------------------------------------------------------------


def test_slower_is_each_process_against_each() -> None:
    base = line("2.9.1", 0.5, 0.6, 0.5)
    assert is_slower(base, line("2.10.0", 0.8, 0.9, 0.8)) is True
    assert is_slower(base, line("2.10.0", 0.7, 0.9, 0.9)) is False, "one of the three is within the spread"
    assert is_slower(base, line("2.10.0")) is None
    assert is_slower(None, base) is None


def test_steps_are_between_neighbours_that_can_say() -> None:
    lines = [line("2.9.1", 0.5), line("2.10.0"), line("2.11.0", 1.0), line("2.12.0", 1.1), line("2.13.0", 3.0)]
    speeds = {lines[0].key: {item.torch: item for item in lines}}
    steps = list(slower_steps(speeds))
    assert [(step.before.torch, step.after.torch) for step in steps] == [("2.9.1", "2.11.0"), ("2.12.0", "2.13.0")]
    assert [round(step.factor, 2) for step in steps] == [2.0, 2.73]
    assert not list(slower_steps(speeds, since="2026-11-21"))
    # The most first; counts that differ say where to look.
    with_counts = Slower(replace(lines[0], counts={"kernels": 2, "lines": 9}), lines[2])
    texts = list(in_words([with_counts, steps[1]]))
    assert texts[0].startswith("c bench_sum: torch 2.13.0 takes 2.7 times as long")
    assert texts[1:] == [
        "c bench_sum: torch 2.11.0 takes 2.0 times as long beside eager as 2.9.1 "
        "(0.50 to 0.50, then 1.00 to 1.00; a compiled call 2.0 times)",
        "  kernels 2 -> 1",
    ]


def test_a_search_measures_only_what_decides() -> None:
    releases = [f"2.{minor}.0" for minor in range(20)]
    asked: list[str] = []

    def line_of(release: str) -> SpeedLine:
        asked.append(release)
        return line(release, 2.0 if releases.index(release) >= 13 else 1.0)

    (step,) = search(releases, line_of).transitions()
    assert (step.before, step.after) == ("2.12.0", "2.13.0")
    assert len(set(asked)) < 9


def test_the_table_fits_a_terminal(tmp_path: Path) -> None:
    """Newest first; what does not fit stands in a table of its own."""
    case = write(tmp_path, case_text(CHECK + BENCH.replace("bench_sum", f"bench_{'long_' * 12}sum")))
    program = program_hash(parse_case(case))
    name = parse_case(case).benches[0].name
    releases = [f"2.{minor}.0" for minor in range(5, 15)]
    journal.append(tmp_path / "results", [line(r, 0.5, bench=name, program=program) for r in releases])
    command = f"stty cols 80; {sys.executable} -m pt2bugs bench --no-pager"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\\\", "", done.stdout)
    heads = [row.split()[1:] for row in text.splitlines() if row.startswith("bench ")]
    assert [release for head in heads for release in head] == releases[::-1]
    assert len(heads) > 1
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("0.50") == 10


# --- measuring -----------------------------------------------------------------------------------------


def test_a_bench_on_the_installed_torch(tmp_path: Path) -> None:
    """Counts repeat exactly; a bench that cannot be timed says why, and is no reason to stop."""
    wrong = BENCH.replace("bench_sum", "bench_wrong").replace("return total, (", "return total(").replace(",)", ")")
    broken = BENCH.replace("bench_sum", "bench_broken").replace("return x.sum()", "return x.no_such_method()")
    case = parse_case(write(tmp_path, case_text(CHECK + BENCH + wrong + broken, backends=["aot_eager"])))
    benches = list(benches_of([case], ["cpu", "cuda"]))
    assert [bench.function.name for bench in benches] == ["bench_sum", "bench_wrong", "bench_broken"]
    with contextlib.closing(Stopwatch(Path(sys.executable), benches)) as watch:
        good, no_pair, raising = (watch.measure(bench) for bench in benches)
    assert len(good.ratios) == PROCESSES
    assert (good.counts["graphs"], good.counts["breaks"], good.problem) == (1, 0, "")
    assert good.program == program_hash(case)
    assert no_pair.ratio is None
    assert "a bench returns a function and a tuple of its arguments, not Tensor" in no_pair.problem
    assert "no_such_method" in raising.problem
    assert SpeedLine.of(json.loads(json.dumps(good.as_dict()))) == good


FAULTS = {"2.5.0": {}, "2.6.0": {}, "2.7.0": {"total": "slower"}, "2.8.0": {"total": "slower"}, "2.9.0": {}}
SLEEPING = BENCH.replace("return x.sum()", "time.sleep(0.005)\n        return x.sum()").replace(
    "\ndef bench", "\nimport time\n\n\ndef bench", 1
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    wheels = build_wheels(tmp_path_factory.mktemp("wheels"), FAULTS)
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.mark.timeout(300)
def test_the_release_that_became_slower(
    tmp_path: Path, home: Path, index: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, home, index)
    write(tmp_path, case_text(CHECK + SLEEPING))
    done = project.run("bench", "--torch", ">=2.5,<2.9", "--bisect", "--index", index)
    assert done.returncode == 0, done.stderr
    assert "c bench_sum: changes between torch 2.6.0 and 2.7.0" in done.stderr
    assert "c bench_sum: torch 2.7.0 takes" in done.stdout
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "results" / "perf").iterdir()}
    assert project.run("bench", "--torch", "2.6.0", "--torch", "2.7.0", "--index", index).returncode == 0
    assert before == {path: path.read_bytes() for path in (tmp_path / "results" / "perf").iterdir()}, "known already"
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(step["release_before"], step["release_after"]) for step in told["slower"]] == [("2.6.0", "2.7.0")]
    assert main(["news", "--since", "2026-01-01", "--slower"]) == 0
    captured = capsys.readouterr()
    assert "c bench_sum: torch 2.7.0 takes" in captured.out
    assert "1 slowdown in what was measured since 2026-01-01" in captured.err
    assert main(["news", "--since", "2999-01-01", "--slower", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.timeout(300)
def test_no_times_at_all_are_no_success(tmp_path: Path, home: Path, index: str) -> None:
    project = Project(tmp_path, home, index)
    write(tmp_path, case_text(CHECK + BENCH.replace("return x.sum()", "return x.no_such_method()")))
    for _ in range(2):
        done = project.run("bench", "--torch", "2.6.0", "--index", index)
        assert done.returncode == 1, "measured, and known already"
    write(tmp_path, case_text(CHECK + BENCH))
    assert project.run("bench", "--torch", "2.6.0", "--index", index).returncode == 0


def test_what_cannot_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, case_text(CHECK))
    assert main(["bench"]) == 3
    assert "none of the selected cases has a bench" in capsys.readouterr().err
    write(tmp_path, case_text(CHECK + BENCH))
    assert main(["bench"]) == 0
    assert "no line yet" in capsys.readouterr().err
    assert main(["bench", "--bisect"]) == 2
    assert "name them" in capsys.readouterr().err
    assert main(["news", "--since", "2026-01-01", "--slower", "-o", "news.md"]) == 2
