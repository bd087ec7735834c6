"""What a cell says about a backend, and what differs from a baseline, by records alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.backends import baseline as base
from pt2bugs.backends.answers import Group, answer_for, of_group
from pt2bugs.backends.references import LAYERS, REFERENCES, reference_cells, setup_beside
from pt2bugs.backends.spec import BackendOverrides, backend_spec, known_backends, on_its_device, special_backends
from pt2bugs.bisect.accepted import load_accepted
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import DEMANDS, EXTRAS, Outcome, Verdict
from pt2bugs.engine.environment import EnvironmentFacts
from pt2bugs.envs.packages import folder_word, package_word
from pt2bugs.errors import InputError
from pt2bugs.report.annotations import baseline_annotations
from pt2bugs.results.journal import Record, new_record
from suite import case_text

PROGRAM = "def test_it(device, backend):\n    pass\n"
RAISED: dict[str, Any] = {"error_type": "RuntimeError", "message": "cannot lower aten.foo with 3 inputs"}


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return _cell(tmp_path, demands=["training"])


def _cell(folder: Path, **settings: Any) -> Cell:
    path = folder / "one.py"
    path.write_text(case_text(PROGRAM, **settings))
    (cell,) = cells_of(parse_case(path), (), ("mine",))
    return cell


def line(cell: Cell, outcome: Outcome, backend: str = "mine", verdict: Verdict = Verdict.FAIL, **seen: Any) -> Record:
    facts = EnvironmentFacts(torch="2.13.0", python="3.11.7")
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    of_backend = replace(cell, backend=backend)
    return new_record(of_backend, Observation(outcome, **seen), verdict, facts, run_id="r", started=now, extras=())


def group(cell: Cell, mine: Record | None, *, claims: bool = True, **others: Record) -> Group:
    return answer_for(cell, mine, others, () if claims else ("training",)).group


def test_only_yours_needs_a_pass_of_the_layers_above(cell: Cell) -> None:
    fails, passes = line(cell, Outcome.RAISE, **RAISED), line(cell, Outcome.PASS)
    assert group(cell, fails, eager=passes, aot_eager=passes, inductor=passes) is Group.ONLY_YOURS
    assert group(cell, fails, eager=passes, aot_eager=passes, inductor=fails) is Group.ONLY_YOURS
    assert group(cell, fails, eager=passes) is Group.CANNOT_SAY
    assert group(cell, fails) is Group.CANNOT_SAY
    assert group(cell, fails, eager=passes, aot_eager=line(cell, Outcome.ERROR)) is Group.CANNOT_SAY


def test_what_inductor_shares_comes_after_what_is_its_own(cell: Cell) -> None:
    fails, passes = line(cell, Outcome.RAISE, **RAISED), line(cell, Outcome.PASS)
    otherwise = line(cell, Outcome.WRONG, error_type="AssertionError", message="x")
    answers = [
        answer_for(cell, fails, {"eager": passes, "aot_eager": passes, "inductor": answer}, ())
        for answer in (fails, passes, otherwise)
    ]
    assert [answer.is_inductors_too for answer in of_group(answers, Group.ONLY_YOURS)] == [False, False, True]
    assert of_group(answers, Group.ONLY_YOURS)[-1] is answers[0]
    assert not answer_for(cell, passes, {"inductor": passes}, ()).is_inductors_too


def test_inherited_is_by_identity(cell: Cell) -> None:
    fails, passes = line(cell, Outcome.RAISE, **RAISED), line(cell, Outcome.PASS)
    other = line(cell, Outcome.RAISE, error_type="KeyError", message="x")
    wrapped = line(
        cell,
        Outcome.RAISE,
        error_type="torch._dynamo.exc.BackendCompilerFailed",
        message="backend='aot_eager' raised:\nRuntimeError: cannot lower aten.foo with 7 inputs\n\nSet TORCH...",
    )
    assert group(cell, fails, eager=passes, aot_eager=fails) is Group.INHERITED
    assert group(cell, fails, eager=passes, aot_eager=wrapped) is Group.INHERITED
    assert group(cell, fails, eager=other, aot_eager=fails) is Group.INHERITED
    assert group(cell, fails, eager=other, aot_eager=passes) is Group.CANNOT_SAY
    assert group(cell, fails, eager=passes, aot_eager=other) is Group.CANNOT_SAY
    crashes = line(cell, Outcome.CRASH, signal="SIGABRT")
    assert group(cell, fails, eager=crashes, aot_eager=fails) is Group.INHERITED
    assert group(cell, fails, eager=crashes, aot_eager=passes) is Group.CANNOT_SAY


@pytest.mark.parametrize("rung", ["aot_autograd_nop", "aot_eager_decomp_partition"])
def test_what_a_rung_below_aot_eager_shows_is_inherited(cell: Cell, rung: str) -> None:
    fails, passes = line(cell, Outcome.RAISE, **RAISED), line(cell, Outcome.PASS)
    other = line(cell, Outcome.RAISE, error_type="KeyError", message="x")
    groups = [
        answer_for(cell, fails, {"eager": passes, "aot_eager": passes, rung: seen}, ()).group
        for seen in (fails, passes, other)
    ]
    assert groups == [Group.INHERITED, Group.ONLY_YOURS, Group.ONLY_YOURS], "a backend need not have that layer"


def test_the_rung_of_a_plain_aot_autograd_is_registered_where_torch_is(cell: Cell) -> None:
    name = "aot_autograd_nop"
    assert special_backends(REFERENCES).keys() == {name}
    module = "pt2bugs.backends.aot_autograd_nop"
    assert backend_spec(name).setup.imports == (module,)
    assert setup_beside(name, backend_spec("openxla")).imports == ("torch_xla", module)
    __import__(module)


def test_the_documented_bug_is_the_same_failure_in_other_words(tmp_path: Path) -> None:
    cell = _cell(tmp_path, bugs=[{"outcome": "raise", "match": "aten.foo"}])
    mine = line(cell, Outcome.RAISE, error_type="RuntimeError", message="cannot lower aten.foo")
    other = line(cell, Outcome.RAISE, error_type="torch.Unsupported", message="no meta kernel for aten.foo")
    assert group(cell, mine, eager=other) is Group.INHERITED


def test_the_other_groups(cell: Cell) -> None:
    fails, passes = line(cell, Outcome.RAISE, **RAISED), line(cell, Outcome.PASS)
    assert group(cell, passes, inductor=fails) is Group.NOT_YOURS
    assert group(cell, passes, inductor=passes) is Group.PASSES
    assert group(cell, fails, claims=False, aot_eager=passes) is Group.NOT_CLAIMED
    for mine in (
        None,
        line(cell, Outcome.SKIP),
        line(cell, Outcome.ERROR),
        line(cell, Outcome.PASS, verdict=Verdict.FLAKY),
    ):
        assert group(cell, mine, aot_eager=passes) is Group.CANNOT_SAY


def test_a_case_about_the_backend_itself_is_its_own(tmp_path: Path) -> None:
    cell = _cell(tmp_path, backends=["mine"])
    assert group(cell, line(cell, Outcome.WRONG)) is Group.ONLY_YOURS


def test_the_known_backends_are_described_in_words_that_exist() -> None:
    for name, known in known_backends().items():
        assert known.setup.name == name
        assert set(known.setup.not_claimed) <= set(DEMANDS)
        assert not known.extra or known.extra in EXTRAS
        assert known.about
        for package in known.packages:
            assert package_word(package)[0]
    assert known_backends()["openvino"].supports("2.13.0")
    assert not known_backends()["ipex"].supports("2.9.0")


def test_what_a_user_says_counts_before_what_is_known(tmp_path: Path, cell: Cell) -> None:
    assert backend_spec("openvino").extras == known_backends()["openvino"].packages
    own = backend_spec("openvino", BackendOverrides(packages=("openvino==2099.1",), imports=("mine",)))
    assert (own.extras, own.setup.imports, own.supports("2.0.0")) == (("openvino==2099.1",), ("mine",), True)
    assert special_backends(["inductor", "eager", "elsewhere"]) == {}
    assert on_its_device([replace(cell, backend="openxla")], special_backends(["openxla"]))[0].device == "xla"
    with pytest.raises(InputError, match="--with is for one backend"):
        special_backends([], BackendOverrides(packages=("x",)))
    with pytest.raises(InputError, match="neither a requirement"):
        package_word(str(tmp_path / "no such thing"))


def test_the_layers_above_are_those_of_its_device(cell: Cell) -> None:
    on_xla = reference_cells(backend_spec("openxla"), [cell.case])
    assert [layer.key[2:] for layer in on_xla.plain] == [("cpu", "inductor")]
    assert [layer.key[2:] for layer in on_xla.beside] == [("xla", name) for name in LAYERS]
    on_the_cpu = reference_cells(backend_spec("aot_eager"), [cell.case])
    others = [name for name in REFERENCES if name != "aot_eager"]
    assert [layer.key[2:] for layer in on_the_cpu.plain] == [("cpu", name) for name in others]
    assert on_the_cpu.beside == ()


def test_a_wheel_that_was_built_again_is_another_package(tmp_path: Path) -> None:
    wheel = tmp_path / "mine-1.0-py3-none-any.whl"
    wheel.write_bytes(b"one")
    first, installed = package_word(str(wheel))
    wheel.write_bytes(b"two")
    assert first != package_word(str(wheel))[0]
    assert installed == str(wheel)
    assert str(tmp_path) not in first
    assert folder_word("turbine") == "turbine"
    assert folder_word(first) != folder_word(package_word(str(wheel))[0])


def test_a_baseline_is_read_back_as_it_was_written(tmp_path: Path, cell: Cell) -> None:
    path = tmp_path / "known.toml"
    failing = {cell.key: line(cell, Outcome.RAISE, error_type="RuntimeError", message='say "no" \\ to\x7f this')}
    kept = [replace(entry, reason="ours", until=date(2026, 6, 1)) for entry in base.updated([], failing)]
    base.write_baseline(path, kept)
    assert load_accepted(path) == kept
    assert base.differences(kept, failing, date(2026, 6, 1)) == [], "the last day"
    assert [entry.change for entry in base.differences(kept, failing, date(2026, 6, 2))] == [base.Change.EXPIRED]
    assert base.updated(kept, failing) == kept
    assert base.updated(kept, {cell.key: line(cell, Outcome.PASS)}) == []


def test_an_entry_by_hand_is_as_good_as_a_written_one(tmp_path: Path, cell: Cell) -> None:
    path = tmp_path / "accepted.toml"
    path.write_text(
        "[[accepted]]\ncase = 'one'\noutcome = 'raise'\nerror = 'RuntimeError'\nmatch = 'aten.foo'\ntorch = '<2.14'\n"
    )
    (entry,) = known = load_accepted(path)
    today = date(2026, 1, 1)
    wrapped = line(
        cell,
        Outcome.RAISE,
        error_type="torch._dynamo.exc.BackendCompilerFailed",
        message="backend='mine' raised:\nRuntimeError: cannot lower aten.foo with 7 inputs",
    )
    for record in (line(cell, Outcome.RAISE, **RAISED), wrapped):
        assert base.differences(known, {cell.key: record}, today) == []
        assert base.updated(known, {cell.key: record}) == [entry]
    for other in ({"message": "cannot lower aten.bar"}, {"error_type": "KeyError"}):
        record = line(cell, Outcome.RAISE, **{**RAISED, **other})
        (difference,) = base.differences(known, {cell.key: record}, today)
        assert difference.change is base.Change.DIFFERENT
        (new,) = base.updated(known, {cell.key: record})
        assert new.covers(cell.key, record)
    newer = line(cell, Outcome.RAISE, **RAISED)
    newer["torch"] = "2.14.0"
    assert [told.change for told in base.differences(known, {cell.key: newer}, today)] == [base.Change.NEW]


def test_a_cell_that_gives_no_answer_is_not_gone(cell: Cell) -> None:
    known = base.updated([], {cell.key: line(cell, Outcome.RAISE, **RAISED)})
    today = date(2026, 1, 1)
    assert base.differences(known, {cell.key: line(cell, Outcome.SKIP)}, today) == []
    assert base.updated(known, {cell.key: line(cell, Outcome.SKIP)}) == known
    assert base.differences(known, {}, today) == []
    (gone,) = base.differences(known, {cell.key: line(cell, Outcome.PASS)}, today)
    assert gone.change is base.Change.GONE
    (other,) = base.differences(known, {cell.key: line(cell, Outcome.WRONG, error_type="AssertionError")}, today)
    assert other.change is base.Change.DIFFERENT
    cases = {"one": replace(cell.case, path=Path("a,b.py"))}
    warning, error = baseline_annotations([gone, other], cases, Path.cwd()).splitlines()
    assert warning.startswith("::warning file=a%2Cb.py,")
    assert error.startswith(f"::error file=a%2Cb.py,line={cell.check.line},title=different%3A one")


def hang(cell: Cell, frame: str) -> Record:
    stack = ['  File "torch/nn.py", line 1 in f', frame, '  File "one.py", line 3 in test_it']
    dump = "\n".join(["Thread 0x... (most recent call first):", *stack])
    return line(cell, Outcome.TIMEOUT, message="still running after its timeout of 30 s", output_tail=dump)


WAITS = '  File "mine/runtime.py", line 7 in wait'


def test_failures_of_one_frame_stand_together(tmp_path: Path) -> None:
    cells: list[Cell] = []
    for name in ("one", "two", "three", "four"):
        path = tmp_path / f"{name}.py"
        path.write_text(case_text(PROGRAM))
        cells += cells_of(parse_case(path), (), ("mine",))
    raised = line(cells[3], Outcome.RAISE, **RAISED, outside="mine/runtime.py:7 wait")
    records = [hang(cells[0], WAITS), line(cells[1], Outcome.RAISE, **RAISED), hang(cells[2], WAITS), raised]
    others = dict.fromkeys(("eager", "aot_eager"), line(cells[0], Outcome.PASS))
    answers = [answer_for(cell, record, others, ()) for cell, record in zip(cells, records, strict=True)]
    assert [answer.frame for answer in answers] == ["mine/runtime.py:7 wait", "", *["mine/runtime.py:7 wait"] * 2]
    assert [answer.cell.case.id for answer in of_group(answers, Group.ONLY_YOURS)] == ["one", "three", "four", "two"]
    assert answers[0].as_dict("")["frame"] == "mine/runtime.py:7 wait"


def test_a_hang_that_moves_is_not_the_known_one(tmp_path: Path, cell: Cell) -> None:
    path, today = tmp_path / "known.toml", date(2026, 1, 1)
    base.write_baseline(path, base.updated([], {cell.key: hang(cell, WAITS)}))
    assert 'backend-frame = "mine/runtime.py wait"' in path.read_text()
    known = load_accepted(path)
    assert base.differences(known, {cell.key: hang(cell, WAITS.replace("7", "9"))}, today) == [], "another line"
    (moved,) = base.differences(known, {cell.key: hang(cell, WAITS.replace("wait", "lower"))}, today)
    assert moved.change is base.Change.DIFFERENT
    assert "mine/runtime.py wait" in moved.summary


def test_git_takes_the_results_of_known_backends_alone() -> None:
    folder = Path(__file__).resolve().parent.parent / "results" / "backends"
    kept = {line.strip("!/") for line in (folder / ".gitignore").read_text().splitlines() if line.startswith("!")}
    assert kept == {".gitignore", *known_backends()}
