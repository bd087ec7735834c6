"""Which cell a worker of a cluster gets next: by devices, platforms, Pythons, and the environments that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pt2bugs.case.cells import cells_of
from pt2bugs.case.header import parse_case
from pt2bugs.cluster.queue import CellQueues, ClusterWorker, OwedCell
from pt2bugs.envs.environment import Key
from pt2bugs.run.plan import Target, Work
from suite import case_text

CELLS = 4

MakeWork = Callable[..., Work]


@pytest.fixture(scope="module")
def work_of(tmp_path_factory: pytest.TempPathFactory) -> MakeWork:
    """Makes the work of one case with some checks, on the CPU and where the case is for it on CUDA."""

    def make(release: str = "2.5.0", **header: Any) -> Work:
        path = tmp_path_factory.mktemp("case") / "case_1.py"
        path.write_text(case_text("\n".join(f"def test_{n}(device): pass" for n in range(CELLS)), **header))
        return Work(Target(Key(release, "3.11")), list(cells_of(parse_case(path), ("cpu", "cuda"))))

    return make


class Workers:
    """Workers, and the queues of a run."""

    def __init__(self, *work: Work, **workers: dict[str, Any]) -> None:
        self.workers: dict[str, ClusterWorker] = {}
        self.made: dict[str, set[str]] = {}
        for name, facts in workers.items():
            facts = {"site": name, "install_s": 0.0, **facts}
            self.made.setdefault(facts["site"], set()).update(facts.pop("environments", ()))
            self.workers[name] = ClusterWorker(name, **{**facts, "offers": frozenset(facts.get("offers", ()))})
        self.queues = CellQueues(work, lambda *_: (1.0, 1.0), self.workers, self.made)
        self.queues.workers_changed()

    def take(self, name: str) -> OwedCell | None:
        """The next cell of a worker, finished at once."""
        worker = self.workers[name]
        if (owed := self.queues.take(worker)) is not None:
            worker.sent.clear()
        return owed

    def devices(self, name: str) -> set[str]:
        """The devices of the cells that a worker gets, as long as it gets any."""
        devices: set[str] = set()
        while (owed := self.take(name)) is not None:
            devices.add(owed.cell.device)
        return devices


def test_a_gpu_takes_its_resource(work_of: MakeWork) -> None:
    work = work_of(devices=["cpu", "cuda"])
    there = Workers(work, plain={}, card={"gpus": 1, "threads": 3})
    first = [there.queues.take(there.workers["card"]) for _ in range(4)]
    devices = [owed.cell.device for owed in first if owed is not None]
    assert devices == ["cuda", "cuda", "cpu", "cpu"], "one on the card, one behind it, and the other threads on the CPU"
    assert there.queues.take(there.workers["card"]) is None
    assert there.devices("plain") == {"cpu"}
    there.workers["card"].sent.clear()
    assert there.devices("card") == {"cuda"}
    assert list(there.queues) == []
    alone = Workers(work, plain={})
    assert alone.devices("plain") == {"cpu"}
    assert {owed.cell.device for owed in alone.queues} == {"cuda"}


def test_a_platform_and_a_python_come_first_where_they_are(work_of: MakeWork) -> None:
    work = work_of(bugs=[{"outcome": "raise", "platform": "avx512"}])
    old, new = {"offers": ["python 3.11", "avx2"]}, {"offers": ["python 3.11", "avx2", "avx512"]}
    there = Workers(work, old=old, new=new)
    assert there.devices("old") == set()
    assert there.devices("new") == {"cpu"}
    assert Workers(work, old=old).devices("old") == {"cpu"}, "nobody has it: the cell says so"
    other = {"offers": ["python 3.12"]}
    assert Workers(work, other=other, old=old).devices("other") == set()
    assert Workers(work, other=other).devices("other") == {"cpu"}, "uv fetches that Python there"
    python_alone, platform_alone = {"offers": ["python 3.11"]}, {"offers": ["avx512"]}
    both = Workers(work, first=python_alone, second=platform_alone)
    assert both.devices("first") == {"cpu"}, "nobody has both: either will do"


def test_a_worker_stays_then_begins_then_helps(work_of: MakeWork) -> None:
    many, few, last = work_of("2.5.0"), work_of("2.6.0"), work_of("2.7.0")
    few.cells, last.cells = few.cells[:1], last.cells[:1]
    there = Workers(few, many, last, a={}, b={}, c={"install_s": 1000.0})

    def release(name: str) -> str:
        owed = there.take(name)
        return owed.work.target.key.torch if owed else ""

    assert [release("b"), release("a"), release("a")] == ["2.6.0", "2.5.0", "2.5.0"]
    assert release("b") == "2.7.0", "nobody has begun it"
    assert release("c") == "", "its installation would last longer than what is left"
    assert release("b") == "2.5.0", "it helps"


def test_who_has_the_environment_begins_it(work_of: MakeWork) -> None:
    first, second = work_of("2.5.0"), work_of("2.6.0")
    there = Workers(first, second, owner={"environments": ["torch-2.6.0-py3.11"]}, fresh={})
    owed = there.take("owner")
    assert owed is not None
    assert owed.work is second
    there = Workers(first, left={"site": "a disk", "install_s": 1000.0}, right={"site": "a disk", "install_s": 1000.0})
    assert there.take("left") is not None
    assert there.take("right") is not None, "workers of one disk share it"


def test_a_site_that_fails_gets_no_more(work_of: MakeWork) -> None:
    work = work_of()
    there = Workers(work, bad={}, good={})
    owed = there.take("bad")
    assert owed is not None
    assert there.queues.avoid("bad", 0)
    assert not there.queues.avoid("bad", 0)
    there.queues.put_back([owed])
    assert there.take("bad") is None
    assert [worker.address for worker in there.queues.able(owed)] == ["good"]
    assert there.take("good") is owed


def test_behind_a_short_cell_waits_another(work_of: MakeWork) -> None:
    work = work_of()
    durations = {work.cells[0].key: 30.0, **{cell.key: 0.1 for cell in work.cells[1:]}}
    worker = ClusterWorker("a")
    queues = CellQueues([work], lambda _, cell: (1.0, durations[cell.key]), {"a": worker}, {})
    queues.workers_changed()
    owed = queues.take(worker)
    assert owed is not None
    assert owed.longest == 30, "the longest comes first"
    assert queues.take(worker) is None, "nothing waits behind it"
    worker.sent.clear()
    assert queues.take(worker) is not None
    assert queues.take(worker) is not None
    assert queues.take(worker) is None


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["done", "lost"])), max_size=40))
@settings(max_examples=50)
def test_each_cell_is_handed_out_until_it_is_done(work_of: MakeWork, events: list[tuple[str, str]]) -> None:
    """Whatever workers finish or lose, in any order: every cell is finished once, and none is left."""
    work = work_of(devices=["cpu", "cuda"])
    there = Workers(work, a={"gpus": 1, "threads": 2}, b={"gpus": 1, "site": "a"})
    done: list[OwedCell] = []
    for name, event in [*events, *[("a", "done"), ("b", "done")] * 40]:
        worker = there.workers[name]
        while there.queues.take(worker) is not None:
            pass
        if worker.sent and event == "done":
            done.append(worker.sent.pop(0))
        elif event == "lost":
            there.queues.put_back(worker.sent)
            worker.sent = []
    assert len(done) == len(set(map(id, done))) == len(work.cells)
    assert list(there.queues) == []
