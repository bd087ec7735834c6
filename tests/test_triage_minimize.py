"""Step 5: what a smaller program must show."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pt2bugs.triage.budget import Budget
from pt2bugs.triage.ladder import Climber, Ladder
from pt2bugs.triage.minimize import Interesting, minimize, with_small_counts, without_statements
from pt2bugs.triage.program import Program, load_program
from pt2bugs.triage.reproduce import Reproduction, reproduce
from pt2bugs.triage.runner import ProgramRunner
from triage_bench import python_with

PROGRAM = """
import torch


def double(x):
    return x * 2


def compare(backend):
    x = torch.arange(4)
    torch.testing.assert_close(torch.compile(double, backend=backend)(x), double(x))


compare("inductor")
"""


ACCEPTED = """
import torch
from torch._dynamo.utils import counters


def double(x):
    return x * 2


try:
    value = torch.compile(double)(torch.arange(4)).sum()
except RuntimeError:
    pass
else:
    assert not counters["stats"]["unique_graphs"], f"accepted, gave {value}"
"""
"""No layer refuses; a later one gives another value. Without the compiler it passes, as nothing was compiled."""
REFUSED = """
import torch
from torch._dynamo.utils import counters


def double(x):
    if not counters["stats"]["unique_graphs"]:
        raise ValueError("too long")
    return x * 2


try:
    torch.compile(double)(torch.arange(4))
except (ValueError, TypeError):
    pass
else:
    raise AssertionError("accepted")
"""
"""Refused without the compiler alone."""


@contextlib.contextmanager
def climbed(
    folder: Path, source: str, faults: Mapping[str, str]
) -> Iterator[tuple[ProgramRunner, Program, Reproduction, Ladder]]:
    """What minimizing takes: the program, how it fails and where."""
    path = folder / "program.py"
    path.write_text(source)
    program = load_program(path)
    with ProgramRunner(python_with(folder / "env", faults), Budget(2), 60, ()) as runner:
        reproduction = reproduce(runner, program, 1)
        yield runner, program, reproduction, Climber(runner, program, reproduction, lambda _: None).climb()


@contextlib.contextmanager
def asking(folder: Path, source: str, faults: Mapping[str, str]) -> Iterator[Interesting]:
    """Whoever asks smaller programs than this one."""
    with climbed(folder, source, faults) as (runner, program, reproduction, ladder):
        yield Interesting(runner, folder, program, reproduction, ladder)


def test_it_asks_for_a_backend_that_fails_as_written(tmp_path: Path) -> None:
    """On a rung any backend is replaced; what is handed over is run as it is."""
    with asking(tmp_path, PROGRAM, {"inductor:double": "raise"}) as asks:
        assert asks(PROGRAM)
        assert asks(PROGRAM.replace(", backend=backend", ""))
        assert not asks(PROGRAM.replace('compare("inductor")', "compare(0)"))


@pytest.mark.parametrize("condition", ['not counters["stats"]["unique_graphs"]', "False"])
def test_another_result_stays_another(tmp_path: Path, condition: str) -> None:
    """Dynamo accepts it, too: what AOTAutograd is blamed for is its result."""
    source = ACCEPTED.replace('not counters["stats"]["unique_graphs"]', condition)
    with asking(tmp_path, source, {"double": "wrong@aot_eager"}) as asks:
        assert asks(source)
        assert asks(source.replace("x * 2", "x"))
        assert not asks(source.replace("torch.compile(double)(torch.arange(4)).sum()", "torch.compile(len)([1])"))


def test_a_missing_exception_stays_the_one_that_is_missing(tmp_path: Path) -> None:
    with asking(tmp_path, REFUSED, {}) as asks:
        assert asks(REFUSED)
        assert not asks(REFUSED.replace('ValueError("too', 'TypeError("too'))
        assert not asks(REFUSED.replace("except (ValueError, TypeError)", "except BaseException"))
        aside = REFUSED.replace("else:\n    raise", 'if counters["stats"]["unique_graphs"]:\n    raise')
        assert not asks(aside), "it is raised whether or not an exception came"


def test_with_a_backend_of_its_own_it_passes_without_the_compiler(tmp_path: Path) -> None:
    source = PROGRAM.replace("inductor", "npu")
    with asking(tmp_path, source, {"npu:double": "wrong"}) as asks:
        assert asks(source)
        assert not asks(source.replace("(x), double(x))", "(x), double(x) + 3)"))


def test_what_no_rung_tells_from_a_false_assertion_is_not_reduced(tmp_path: Path) -> None:
    source = ACCEPTED.replace('not counters["stats"]["unique_graphs"]', "False")
    with climbed(tmp_path, source, {}) as (runner, program, reproduction, ladder):
        assert (ladder.first_failing, ladder.below) == ("eager", "")
        small = minimize(runner, program, reproduction, ladder, tmp_path, Budget(2), lambda _: None)
    assert (small.source, small.tries) == (source, 0)
    assert small.why_not.startswith("no rung passes or gives another result")


def test_a_program_does_not_grow(tmp_path: Path) -> None:
    """Written out, a statement a line, it is longer; with the budget spent nothing is taken away in return."""
    source = PROGRAM.replace("import torch\n", "import torch; import json; json.dumps(1)\n")
    with climbed(tmp_path, source, {"double": "raise"}) as (runner, program, reproduction, ladder):
        small = minimize(runner, program, reproduction, ladder, tmp_path, Budget(0), lambda _: None)
    assert (small.source, small.lines_after) == (source, small.lines_before)
    assert small.tries > 0


TRAINER = """
import json
import torch
EPOCHS = 5
WIDTH = 8

class Net:
    def __init__(self, n_layers=4):
        self.width = WIDTH

    def forward(self, x):
        for i in range(0, 7):
            x = x + i
        return x

def unused():
    return json.dumps(1)

def main():
    net = Net(n_layers=3)
    y = net.forward(2)
    unused()
    assert False
main()
"""


def test_epochs_steps_and_layers_become_one_first() -> None:
    """All at once; where that will not do, each by itself. Other numbers stay."""
    small = with_small_counts(TRAINER, lambda _: True)
    for text in ("EPOCHS = 1", "WIDTH = 8", "n_layers=1):", "range(0, 1)", "Net(n_layers=1)"):
        assert text in small
    small = with_small_counts(TRAINER, lambda source: "EPOCHS = 5" in source)
    assert "EPOCHS = 5" in small and "Net(n_layers=1)" in small


def test_whole_statements_go_before_their_parts() -> None:
    """What is still used is not even tried; the rest takes far fewer programs than it has statements."""
    asked: list[str] = []

    def check(source: str) -> bool:
        asked.append(source)
        return "net.forward(2)" in source and "assert False" in source and source.endswith("main()\n")

    small = without_statements(TRAINER, check)
    small = without_statements(small, check)
    assert "json" not in small and "EPOCHS" not in small and "unused" not in small
    assert len(asked) < 30
    assert all("import torch" in source or "torch" not in source for source in asked)
