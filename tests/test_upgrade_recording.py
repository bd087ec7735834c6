"""What is recorded of a program on the installed torch, and its graphs replayed without it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pt2bugs.upgrade.inside import replay
from pt2bugs.upgrade.inside.replay import _best
from pt2bugs.upgrade.recorded import Recorded, Recorder

PROGRAM = """
import torch


def odd(x):
    y = x.sin()
    print("broken here")
    return y * 2


@torch.compile(backend="aot_eager", dynamic=True)
def step(x, state, view, rows):
    state.add_(1)
    return x.relu().sum() + view.sum(), torch.nn.functional.embedding(rows, x)[:, ::2]


def doubled(gm, inputs):
    return lambda *args: [2 * value for value in gm(*args)]


class Own(torch.Tensor):
    pass


torch.compile(odd, backend="eager")(torch.ones(3))
base = torch.ones(6)
for size in (3, 4):
    x = torch.randn(size, 4).t().requires_grad_()
    loss, _ = step(x, base, base[1:3], torch.tensor([0, 3]))
    loss.backward()
torch.compile(lambda x: x + 1, backend=doubled)(torch.ones(2))
torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2).as_subclass(Own))
print(int(base.sum()))
"""
LINES = {text: number for number, text in enumerate(PROGRAM.splitlines(), 1)}


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    program = tmp_path_factory.mktemp("program") / "train.py"
    program.write_text(PROGRAM)
    with Recorder(Path(sys.executable), program, timeout_s=120) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def recorded(recorder: Recorder) -> Recorded:
    return recorder.record(compare=True, capture=True)


def test_the_program_ran_as_it_is(recorded: Recorded) -> None:
    assert recorded.passed, recorded.text
    assert recorded.stdout.splitlines() == ["broken here", "18"], "comparisons change no input of the program"


def test_what_was_compiled(recorded: Recorded) -> None:
    assert recorded.seen.graphs == len(recorded.artifacts["graphs"]) >= 4
    assert recorded.artifacts["AOT graphs"]
    assert recorded.artifacts["guards"]
    broken = LINES['    print("broken here")']
    assert {(line, file.rpartition("/")[2]) for _, file, line in recorded.breaks} == {(broken, "train.py")}


def test_calls_are_compared_with_eager(recorded: Recorded) -> None:
    wrong = {call.place: call.differences for call in recorded.calls if call.differences}
    line = LINES["torch.compile(lambda x: x + 1, backend=doubled)(torch.ones(2))"]
    assert wrong == {f"train.py:{line} <lambda>": (("output 0", "values", 2.0),)}, wrong
    assert any("Own" in problem for problem in recorded.problems)
    assert sum("step" in call.place for call in recorded.calls) == 2


def test_graphs_are_replayed_without_the_program(recorder: Recorder, recorded: Recorded) -> None:
    """Aliased, strided and mutated inputs, symbolic shapes and the backward."""
    assert any("Own" in reason for reason in recorded.uncaptured), recorded.uncaptured
    graphs = [{**graph, "id": str(graph["number"])} for graph in recorded.graphs if graph["inputs"]]
    (step,) = [graph for graph in graphs if "embedding" in graph["graph"]["text"]]
    assert (step["backend"], step["graph"]["is_dynamic"], len(step["inputs"])) == ("aot_eager", True, 2)
    tensors = [told for told in step["inputs"][0] if "shape" in told]
    assert len({told["storage"] for told in tensors}) == len(tensors) - 1, "two inputs share memory"
    assert any(told["stride"] == [1, 4] and told["requires_grad"] for told in tensors)
    text = "def forward(self):\n    raise KeyError\n"
    broken = {**step, "id": "broken", "graph": {**step["graph"], "text": text}}
    entries: dict[Any, Any] = {(entry["kind"], entry["graph"]): entry for entry in recorder.replay([step, broken])}
    assert entries["replayed", step["id"]]["differences"] == [], entries
    assert 0 < entries["replayed", step["id"]]["compiled_s"] < math.inf
    assert ("begun", "broken") in entries


def test_calls_are_timed_behind_the_first_and_with_inputs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling may take all the time that is there for calls, and a call may change its inputs."""
    monkeypatch.setattr(replay, "TIMING_S", 0.0)
    seen = []
    state = torch.ones(2)
    assert 0 < _best(lambda x: seen.append(x.add_(1).tolist()), [state]) < math.inf
    assert (seen, state.tolist()) == ([[2.0, 2.0]] * 2, [1.0, 1.0])


def test_symbolic_shapes_are_replayed_with_each_size(recorder: Recorder, recorded: Recorded) -> None:
    (step,) = [graph for graph in recorded.graphs if "embedding" in graph["graph"]["text"]]
    sizes = [next(told["shape"] for told in inputs if told.get("requires_grad")) for inputs in step["inputs"]]
    assert sizes == [[4, 3], [4, 4]]
    (entry,) = [entry for entry in recorder.replay([{**step, "id": "g"}]) if entry["kind"] == "replayed"]
    assert (len(entry["digests"]), len(set(entry["digests"]))) == (2, 2)


def test_a_graph_that_takes_its_process_along(recorder: Recorder, recorded: Recorded) -> None:
    """Those behind it are replayed all the same."""
    (step,) = [graph for graph in recorded.graphs if "embedding" in graph["graph"]["text"]]
    text = "def forward(self, *args):\n    import os\n    os.abort()\n"
    fatal = {**step, "id": "fatal", "graph": {**step["graph"], "text": text}}
    told = {entry["graph"]: entry for entry in recorder.replay([fatal, {**step, "id": "behind"}])}
    assert told["fatal"]["kind"] == "not replayed"
    assert "SIGABRT" in told["fatal"]["reason"]
    assert told["behind"]["kind"] == "replayed"
