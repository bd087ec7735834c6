"""What is recorded of a program on the installed torch: graphs, breaks, guards, calls compared with eager."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pt2bugs.upgrade.recorded import Recorded, Recorder

PROGRAM = """
import torch


def odd(x):
    y = x.sin()
    print("broken here")
    return y * 2


@torch.compile(backend="aot_eager")
def step(x, state):
    state.add_(1)
    return x.relu().sum() + state.sum(), state[1:]


def doubled(gm, inputs):
    return lambda *args: [2 * value for value in gm(*args)]


torch.compile(odd, backend="eager")(torch.ones(3))
base = torch.ones(6)
for size in (3, 4):
    loss, _ = step(torch.ones(size, requires_grad=True), base[:4])
    loss.backward()
torch.compile(lambda x: x + 1, backend=doubled)(torch.ones(2))
print(int(base.sum()))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    program = tmp_path_factory.mktemp("program") / "train.py"
    program.write_text(PROGRAM)
    with Recorder(Path(sys.executable), program, timeout_s=120) as recorder:
        return recorder.record(compare=True)


def test_the_program_ran_as_it_is(recorded: Recorded) -> None:
    assert recorded.passed, recorded.text
    assert recorded.stdout.splitlines() == ["broken here", "14"], "comparisons change no input of the program"


def test_what_was_compiled(recorded: Recorded) -> None:
    assert recorded.seen.graphs == len(recorded.artifacts["graphs"]) >= 4
    assert recorded.artifacts["AOT graphs"]
    assert recorded.artifacts["guards"]
    assert {(line, file.rpartition("/")[2]) for _, file, line in recorded.breaks} == {(7, "train.py")}
    assert any(entry["again"] for entry in recorded.compiled), "another size is a recompilation"


def test_calls_are_compared_with_eager(recorded: Recorded) -> None:
    assert not recorded.problems
    wrong = {call.place: call.differences for call in recorded.mismatches}
    assert wrong == {"train.py:26 <lambda>": (("output 0", "values", 2.0),)}, wrong
    assert len([call for call in recorded.calls if "step" in call.place]) == 2
