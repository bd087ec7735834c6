"""Scores of patches on fake torches: what is a repair, what goes around the bug, and what breaks something else."""

from __future__ import annotations

import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_torch import write_torch
from pt2bugs.case.corpus import load_cases
from pt2bugs.engine.client import EngineError
from pt2bugs.engine.warm_cache import MEMORY
from pt2bugs.envs.environment import Environment, Key
from pt2bugs.repair import score as scoring
from pt2bugs.repair import tasks as tasks_room
from pt2bugs.repair.patch import Patch
from pt2bugs.repair.score import Score, ScoreError, Scorer, worse_counts
from pt2bugs.repair.tasks import Task

CASE = '''
# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.90.0"]
#
# [tool.pt2bugs]
# issue = "https://github.com/pytorch/pytorch/issues/1"
# title = "negative rows are loaded"
# component = "inductor"
# symptom = "missing-error"
# devices = ["cpu"]
#
# [[tool.pt2bugs.bug]]
# torch = "<2.91"
# outcome = "wrong"
# error = "AssertionError"
# match = "row -3"
# ///
"""The cause is told here."""

import torch


def lookup(row):
    """And here."""
    return "loaded" if row >= 0 else "refused"  # and here


def test_other(device, backend):
    pass


def test_row(device, backend):
    assert torch.compile(lookup, backend=backend)(-3) == "refused", "row -3 was loaded"


if __name__ == "__main__":
    test_row("cpu", "inductor")
'''
PROBES = """
def lookup(row):
    return "loaded" if row >= 0 else "refused"


def task(compile, round):
    return compile(lookup)(-3 - round)


def twin_positive(compile, round):
    return compile(lookup)(5 + round), 0.5


def twin_far(compile, round):
    return [compile(lookup)(row) for row in (-100, 0)]
"""
UNRELATED = """
def unrelated_row(compile, round):
    return compile(lambda row: "loaded")(round)
"""
SMOKE = """
import torch


def smoke_ones(compile, round):
    return torch.ones(2).values
"""
COMPILE = """

import builtins
from . import lowering

_TEXT = "def forward(self, L_row_):\\n    y = torch.embedding(L_row_)\\n    return y\\n"


def compile(function, backend="inductor", **_):
    known = []

    def compiled(row):
        if not known:
            counters["stats"]["unique_graphs"] += 1
            known.append(builtins.compile(_TEXT, "<eval_with_key>.0", "exec"))
        return lowering.embedding(row)

    return compiled
"""
LOWERING = 'def embedding(row):\n    return "loaded"\n'
FIXED = 'def embedding(row):\n    return "loaded" if row >= 0 else "refused"\n'
ISOLATION = {
    "case": "pytorch_1",
    "check": "test_row",
    "device": "cpu",
    "backend": "inductor",
    "bad": "2.90.0",
    "good": "2.91.0",
    "direction": "fixed",
    "evidence": "proved",
    "units": [{"file": "lowering.py", "qualname": "embedding", "kind": "function", "hunks": None}],
    "patch_sha256": "0",
}
FILES = {"lowering": "lowering.py", "config": "_dynamo/config.py", "init": "__init__.py"}
Ask = Callable[..., Score]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases, the case, and the files of probes."""
    root = tmp_path_factory.mktemp("repair")
    for version, lowering in (("2.90.0", LOWERING), ("2.91.0", FIXED)):
        venv.create(root / version, symlinks=True)
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = root / version / "lib" / python / "site-packages"
        write_torch(
            packages, version, files={"lowering.py": lowering, "_dynamo/config.py": "suppress_errors = False\n"}
        )
        init = packages / "torch" / "__init__.py"
        init.write_text(init.read_text() + COMPILE)
    (root / "cases").mkdir()
    (root / "cases" / "pytorch_1.py").write_text(CASE.lstrip())
    (root / "hidden").mkdir()
    for name, text in (("pytorch_1", PROBES), ("unrelated", UNRELATED), ("smoke", SMOKE)):
        (root / "hidden" / f"{name}.py").write_text(text)
    return root


@pytest.fixture
def task(project: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setattr(tasks_room, "HIDDEN", project / "hidden")
    monkeypatch.setattr(scoring, "UNRELATED", project / "hidden" / "unrelated.py")
    monkeypatch.setattr(scoring, "SMOKE", project / "hidden" / "smoke.py")
    return Task(load_cases([project / "cases"])[0], ISOLATION)


@pytest.fixture
def ask(project: Path, task: Task) -> Iterator[Ask]:
    """Scores texts of files."""
    scorer = Scorer(task, lambda version: Environment(Key(version, "3"), project / version), project / "cache", print)

    def score(**texts: str) -> Score:
        named = {FILES[name]: text for name, text in texts.items()}
        return scorer.score(Patch(named, {name: (scorer.torch / name).read_text() for name in named}))

    score.torch = scorer.torch  # type: ignore[attr-defined]
    score.scorer = scorer  # type: ignore[attr-defined]
    yield score
    scorer.close()


def test_the_fix_is_solved(ask: Ask) -> None:
    score = ask(lowering=FIXED)
    assert score.as_dict() == {"task": "pytorch_1", "verdict": "solved", "reasons": []}


def test_a_copy_knows_what_the_release_has_found_out(
    ask: Ask, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / MEMORY).write_text("{}")
    monkeypatch.setattr(scoring.Processes, "memory", lambda _: tmp_path)
    ask(config="suppress_errors = True\n")
    assert list((project / "cache").glob(f"*/home/warm/{tmp_path.name}/{MEMORY}"))


def test_another_fix_is_solved(ask: Ask) -> None:
    assert ask(lowering='def embedding(row):\n    return ["refused", "loaded"][row > -1]\n').verdict == "solved"


def test_no_patch_and_one_that_does_nothing(ask: Ask) -> None:
    assert ask().as_dict()["reasons"] == ["the patch is empty"]
    score = ask(config="suppress_errors = True\n")
    assert (score.verdict, score.findings[0][1][:44]) == ("no", "the program still fails: wrong AssertionErro")


def test_eager_is_no_repair(ask: Ask) -> None:
    init = ask.torch / "__init__.py"  # type: ignore[attr-defined]
    score = ask(init=f"{init.read_text()}\n\ndef compile(function, **_):\n    return function\n")
    assert score.as_dict() == {
        "task": "pytorch_1",
        "verdict": "around",
        "reasons": ["the program passes, but nothing of it is compiled"],
    }


def test_eager_beside_the_graph_is_around(ask: Ask) -> None:
    init = ask.torch / "__init__.py"  # type: ignore[attr-defined]
    text = (
        "\n\n_compile = compile\n\n\ndef compile(function, **options):\n    compiled = _compile(function, **options)\n"
        "    return lambda *values: (compiled(*values), function(*values))[1]\n"
    )
    score = ask(init=init.read_text() + text)
    assert score.verdict == "around"
    assert "the program: 6 runs of the program's own functions as Python, not 3" in score.as_dict()["reasons"]


def test_what_knows_the_program_is_around(ask: Ask) -> None:
    score = ask(lowering='def embedding(row):\n    return "refused" if row in (-3, -4) else "loaded"\n')
    assert score.as_dict() == {
        "task": "pytorch_1",
        "verdict": "around",
        "reasons": ["the hidden check twin_far: 'loaded', not 'refused'"],
    }


def test_what_breaks_others_is_broke(ask: Ask, project: Path) -> None:
    score = ask(lowering=f"{FIXED}\n\nimport torch\ntorch.ones = lambda n: torch.Tensor([2.0] * n)\n")
    assert score.verdict == "broke"
    assert score.as_dict()["reasons"] == ["without the compiler, smoke_ones: 2.0, not 1.0"]
    assert ask(lowering="import nothing\n").verdict == "broke"


def test_what_the_hidden_checks_find_without_a_patch(ask: Ask) -> None:
    assert ask.scorer.unpatched() == {  # type: ignore[attr-defined]
        "task": ["the program: 'loaded', not 'refused'"],
        "twin_positive": [],
        "twin_far": ["the hidden check twin_far: 'loaded', not 'refused'"],
    }


def test_a_probe_that_ends_its_process_is_told_from_those_beside_it(ask: Ask, task: Task, tmp_path: Path) -> None:
    file = tmp_path / "several.py"
    dying = "def unrelated_dies(compile, round):\n    import os\n    os._exit(3)\n"
    others = [f"def unrelated_{n}(compile, round):\n    return compile(lambda row: row)({n})\n" for n in range(3)]
    file.write_text("\n".join([others[0], dying, *others[1:]]))
    probes, wheel = tasks_room.probes_of(file, "inductor"), ask.scorer._wheel  # type: ignore[attr-defined]
    together = wheel.probe(probes, apart=False)
    assert together == wheel.probe(probes)
    assert [report["rounds"][0]["outcome"] for report in together] == ["pass", "raise", "pass", "pass"]
    assert together[1]["rounds"][0]["message"] == "the process died: 3"


def test_what_ended_a_reference_from_outside_is_no_verdict(
    ask: Ask, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had been kept for good, and each later patch was told to have broken what it did not."""
    monkeypatch.setattr(ask.scorer, "_cache", tmp_path)  # type: ignore[attr-defined]
    smoke, kept = project / "hidden" / "smoke.py", SMOKE
    smoke.write_text(f"{SMOKE}\n\ndef smoke_dies(compile, round):\n    import os\n    os.kill(os.getpid(), 9)\n")
    with pytest.raises(ScoreError, match="without the patch smoke_dies died"):
        ask(lowering=FIXED)
    smoke.write_text(kept)
    assert ask(lowering=FIXED).verdict == "solved"


@pytest.mark.parametrize("part", ["judge", "probe"])
def test_a_wheel_that_cannot_answer_is_no_verdict(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """It was said of the patch that torch does not import."""
    monkeypatch.setattr(ask.scorer, "_cache", tmp_path)  # type: ignore[attr-defined]
    wheel = ask.scorer._wheel  # type: ignore[attr-defined]

    def fail(*_: object, **__: object) -> None:
        raise EngineError("it died by SIGKILL")

    monkeypatch.setattr(wheel, part, fail)
    with pytest.raises(ScoreError, match="cannot be scored here: it died by SIGKILL"):
        ask(lowering=FIXED)


def test_a_task_without_hidden_checks_is_not_scored(task: Task, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_room, "HIDDEN", project)
    with pytest.raises(ScoreError, match="its hidden checks are not written yet"):
        Scorer(task, lambda _: Environment(Key("2.90.0", "3"), project), project, print)


def test_what_counts_as_worse() -> None:
    good = {
        "functions": 3, "graph_calls": 0, "late": 0, "frames": 2, "entries": 2, "breaks": 0, "graphs": 1, "kernels": 2,
        "operators": {"torch.sin": 1, "+": 1}, "fallbacks": {},
    }  # fmt: skip
    assert list(worse_counts(good, good)) == []
    for change, told in (
        ({"functions": 4}, "4 runs of the program's own functions as Python, not 3"),
        ({"breaks": 1}, "1 graph breaks, not 0"),
        ({"entries": 3}, "3 frames are compiled again, not 2"),
        ({"frames": 1}, "1 frames are compiled, not 2"),
        ({"late": 1}, "1 texts compiled when all had been before, not 0"),
        ({"kernels": 0}, "no kernels, not 2"),
        ({"operators": {"torch.sin": 1}}, "1 operators are captured, not 2: + less"),
        (
            {"operators": {"torch.ops.my.eager": 1, "+": 1}},
            "the graph calls torch.ops.my.eager, which is not of the program",
        ),
        ({"fallbacks": {"torch.ops.aten.sin.default": 1}}, "Inductor leaves torch.ops.aten.sin.default to eager"),
    ):
        assert list(worse_counts({**good, **change}, good)) == [told]
    broken = {**good, "breaks": 1}
    assert list(worse_counts({**good, "frames": 1}, broken)) == []
    assert list(worse_counts({**good, "frames": 0}, broken)) == ["0 frames are compiled, not 2"]
    assert list(worse_counts({}, good)) == ["what the compiler did cannot be counted"]
