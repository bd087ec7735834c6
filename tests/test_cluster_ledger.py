"""What a cluster's driver keeps: whole series of lines once for each cell, and what a cell asks of a worker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pt2bugs.case.cells import cells_of
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.words import Outcome, Verdict
from pt2bugs.cluster.ledger import Attempt, Ledger, Owed
from pt2bugs.cluster.plan import Plan, Settings
from pt2bugs.cluster.session import Session, Worker
from pt2bugs.cluster.task import InstallOptions
from pt2bugs.engine.facts import EnvironmentFacts
from pt2bugs.envs.environment import Key
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import Results
from pt2bugs.results.record import new_record
from pt2bugs.results.writer import as_line
from pt2bugs.run.runner import Progress
from pt2bugs.run.schedule import RunOptions, Target, Work
from suite import case_text

REPEATS, CELLS = 3, 4

MakeWork = Callable[..., Work]


@pytest.fixture(scope="module")
def work_of(tmp_path_factory: pytest.TempPathFactory) -> MakeWork:
    """Makes the work of one case with some checks, on the CPU and where the case is for it on CUDA."""

    def make(**header: Any) -> Work:
        path = tmp_path_factory.mktemp("case") / "one.py"
        path.write_text(case_text("\n".join(f"def test_{n}(device): pass" for n in range(CELLS)), **header))
        return Work(Target(Key("2.5.0", "3.11")), list(cells_of(parse_case(path), ("cpu", "cuda"))))

    return make


def line(owed: Owed, repeat: int, run_id: str) -> bytes:
    facts = EnvironmentFacts(torch="2.5.0", python="3.11.1")
    record = new_record(
        owed.cell, Observation(Outcome.PASS), Verdict.PASS, facts,
        run_id=run_id, started=datetime.now(timezone.utc), extras=(), repeat=repeat, repeats=REPEATS,
    )  # fmt: skip
    return as_line(record)


ARRIVALS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, CELLS - 1), st.integers(1, REPEATS)), max_size=60)


@given(arrivals=ARRIVALS)
@settings(max_examples=50, deadline=None)
def test_each_cell_has_one_whole_series(work_of: MakeWork, arrivals: list[tuple[int, int, int]]) -> None:
    """Two attempts at the same cells; any lines of theirs are lost, late or double."""
    work = _once(work_of)
    with tempfile.TemporaryDirectory() as name:
        results = Results(Path(name))
        ledger = Ledger(results, Progress(), lambda _: None)
        owed = [Owed(n, work, cell, 1.0, 1.0, frozenset(), frozenset()) for n, cell in enumerate(work.cells)]
        attempts = [Attempt(name, "", work, owed) for name in ("first", "second")]
        seen: dict[tuple[int, int], set[int]] = {}
        for which, place, repeat in arrivals:
            seen.setdefault((which, place), set()).add(repeat)
            if series := attempts[which].receive(place, line(owed[place], repeat, attempts[which].name)):
                ledger.write(owed[place], series)
        ledger.close()
        by_check: dict[str, list[tuple[str, int]]] = {}
        for record in read_journal(journal_files(results.journal_folder), lambda _: None):
            by_check.setdefault(record["check"], []).append((record["run_id"], record["repeat"]))
    whole = {place for (_, place), repeats in seen.items() if len(repeats) == REPEATS}
    assert set(by_check) == {owed[place].cell.check.name for place in whole}
    for lines in by_check.values():
        assert [repeat for _, repeat in lines] == [1, 2, 3]
        assert len({run_id for run_id, _ in lines}) == 1


_made: list[Work] = []


def _once(work_of: MakeWork) -> Work:
    if not _made:
        _made.append(work_of())
    return _made[0]


class TestPlacement:
    def plan(self, work: Work, **workers: dict[str, Any]) -> Plan:
        # A session that is connected to nobody: the plan asks only who is there.
        session = Session(client=None, where="", log=print)
        for name, facts in workers.items():
            offers = frozenset(facts.get("offers", ()))
            there = set(facts.get("environments", ()))
            session.workers[name] = Worker(
                name, name, facts.get("site", name), offers, there, facts.get("seats", 1), facts.get("gpus", 0), None
            )
        plan = Plan(session, Settings(InstallOptions()), RunOptions(), "run", [work])
        for worker in session.workers.values():
            plan.seat(worker)
        return plan

    def devices(self, plan: Plan, seat: str) -> set[str]:
        """The devices of the cells that a seat gets, as long as it gets any."""
        found: set[str] = set()
        while (batch := plan.placement.next_batch(seat)) is not None:
            for number in batch.items:
                found.add(plan.owed[number].cell.device)
                plan.placement.done(seat, number)
        return found

    def test_a_gpu_takes_its_resource(self, work_of: MakeWork) -> None:
        work = work_of(devices=["cpu", "cuda"])
        plan = self.plan(work, plain={}, card={"gpus": 1, "seats": 2})
        assert self.devices(plan, "plain#0") == {"cpu"}
        assert plan.placement.stranded() == []
        assert self.devices(plan, "card#1") == set(), "one card, one seat that has it"
        assert self.devices(plan, "card#0") == {"cuda"}
        assert self.plan(work, plain={}).placement.stranded() == ["torch-2.5.0-py3.11#0"]

    def test_a_platform_and_a_python_come_first_where_they_are(self, work_of: MakeWork) -> None:
        work = work_of(bugs=[{"outcome": "raise", "platform": "avx512"}])
        old, new = {"offers": ["python 3.11", "avx2"]}, {"offers": ["python 3.11", "avx2", "avx512"]}
        plan = self.plan(work, old=old, new=new)
        assert self.devices(plan, "old#0") == set()
        assert self.devices(plan, "new#0") == {"cpu"}
        assert self.devices(self.plan(work, old=old), "old#0") == {"cpu"}, "nobody has it: the cell says so"
        other = {"offers": ["python 3.12"]}
        assert self.devices(self.plan(work, other=other, old=old), "other#0") == set()
        assert self.devices(self.plan(work, other=other), "other#0") == {"cpu"}, "uv fetches that Python there"

    def test_who_has_the_environment_begins_it(self, work_of: MakeWork) -> None:
        has = {"environments": ["torch-2.5.0-py3.11"]}
        plan = self.plan(work_of(), fresh={}, owner=has)
        assert self.devices(plan, "fresh#0") == set()
        assert self.devices(plan, "owner#0") == {"cpu"}
        plan = self.plan(work_of(), first={"site": "one disk"}, second={"site": "one disk"})
        plan.has(plan._session.workers["first"], plan.owed[0].work, ["first#0", "second#0"])
        batch = plan.placement.next_batch("second#0")
        assert batch is not None
        assert not batch.installs
