"""Placing cells on workers: everything is handed out once, installs stay few, faults lose nothing."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pt2bugs.run.placement import Costs, Placement

COSTS = Costs(install=100.0, start=10.0, batch=10.0)
Item = tuple[str, int]


def placement_of(sizes: dict[str, int], seconds: float = 5.0) -> Placement[Item]:
    placement: Placement[Item] = Placement(COSTS)
    for environment, count in sizes.items():
        placement.add(environment, [((environment, number), seconds) for number in range(count)])
    return placement


def drain(placement: Placement[Item], name: str) -> list[Item]:
    """All that one worker gets, each batch finished before the next."""
    found: list[Item] = []
    while (batch := placement.next_batch(name)) is not None:
        assert {item[0] for item in batch.items} == {batch.environment}
        for item in batch.items:
            placement.done(name, item)
        found += batch.items
    return found


def test_one_worker_does_all_one_environment_after_the_other() -> None:
    placement = placement_of({"a": 30, "b": 50})
    placement.add_worker("w")
    found = drain(placement, "w")
    assert placement.is_finished
    assert len(found) == len(set(found)) == 80
    assert [item[0] for item in found] == ["b"] * 50 + ["a"] * 30, "the largest first, none left before its end"


def test_batches_shrink_and_the_longest_come_first() -> None:
    placement: Placement[int] = Placement(COSTS)
    placement.add("a", [(number, float(number)) for number in range(1, 40)])
    for name in ("v", "w"):
        placement.add_worker(name)
    first = placement.next_batch("v")
    assert first is not None
    assert first.installs
    assert first.items[0] == 39
    assert first.seconds <= sum(range(40)) / 2
    seconds: list[float] = []
    while (batch := placement.next_batch("w")) is not None:
        assert batch.installs is (not seconds)
        seconds.append(batch.seconds)
    assert seconds[-1] < seconds[0]


def test_a_worker_begins_what_it_has_on_its_disk() -> None:
    placement = placement_of({"a": 10, "b": 40})
    placement.add_worker("owner", has=["a", "b"])
    placement.add_worker("other", has=["a"])
    first = placement.next_batch("other")
    assert first is not None
    assert (first.environment, first.installs) == ("a", False), "although b is larger"


def test_no_environment_is_installed_for_what_its_workers_finish_sooner() -> None:
    placement = placement_of({"a": 20})
    placement.add_worker("v", has=["a"])
    placement.add_worker("w")
    assert placement.next_batch("v") is not None
    assert placement.next_batch("w") is None, "100 s of work, 110 s until it could help"
    placement.lose("v")
    assert drain(placement, "w"), "now nobody else does it"
    assert placement.is_finished


def test_workers_that_share_a_disk_install_once() -> None:
    placement = placement_of({"a": 100})
    for name in ("v", "w"):
        placement.add_worker(name)
    first = placement.next_batch("v")
    placement.installed("a", ["v", "w"])
    second = placement.next_batch("w")
    assert [batch.installs for batch in (first, second) if batch is not None] == [True, False]


def test_what_may_last_long_is_handed_out_first_and_alone() -> None:
    placement: Placement[str] = Placement(COSTS)
    placement.add("a", [("usual", 5.0), ("rare", 1.0), ("brief", 4.0)], longest={"rare": 300.0})
    placement.add_worker("w")
    batches = []
    while (batch := placement.next_batch("w")) is not None:
        batches.append(batch.items)
        for item in batch.items:
            placement.done("w", item)
    assert batches == [("rare",), ("usual", "brief")]


def test_a_worker_that_is_ready_needs_no_help_with_its_set_up() -> None:
    placement = placement_of({"a": 30})
    placement.add_worker("v")
    placement.add_worker("w")
    assert placement.next_batch("v") is not None
    placement.ready("v")
    assert placement.next_batch("w") is not None, "150 s of work, 110 s until it could help"
    placement = placement_of({"a": 21})
    placement.add_worker("v")
    placement.add_worker("w")
    assert placement.next_batch("v") is not None
    placement.ready("v")
    assert placement.next_batch("w") is None, "105 s of work"


def test_items_with_needs_go_where_they_are_met_and_come_first_there() -> None:
    placement = placement_of({"a": 100})
    placement.add("a", [(("gpu", 1), 1.0)], needs=["GPU"])
    assert placement.stranded() == ["a"], "there is no worker at all"
    placement.add_worker("plain", has=["a"])
    assert placement.stranded() == ["a"], "nobody has a GPU"
    placement.add_worker("big", has=["a"], offers=["GPU"])
    assert placement.stranded() == []
    batch = placement.next_batch("big")
    assert batch is not None
    assert batch.items == (("gpu", 1),)
    while (plain := placement.next_batch("plain")) is not None:
        assert ("gpu", 1) not in plain.items


def test_a_worker_on_which_an_environment_fails_is_not_asked_again_for_it() -> None:
    placement = placement_of({"a": 10, "b": 10})
    placement.add_worker("w")
    batch = placement.next_batch("w")
    assert batch is not None
    assert placement.refuse("w", batch.environment) == list(batch.items)
    assert {item[0] for item in drain(placement, "w")} == {"a", "b"} - {batch.environment}
    assert placement.stranded() == [batch.environment]
    assert sorted(placement.abandon(batch.environment)) == [(batch.environment, number) for number in range(10)]
    assert placement.is_finished


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sizes=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 25), min_size=1),
    seconds=st.floats(0.01, 200),
    steps=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["work", "work", "work", "die", "fail"])), max_size=80),
)
def test_nothing_is_lost_and_nothing_is_done_twice(
    sizes: dict[str, int], seconds: float, steps: list[tuple[int, str]]
) -> None:
    placement = placement_of(sizes, seconds)
    done: list[Item] = []
    alive: set[str] = set()
    for number, what in steps:
        name = f"w{number}"
        if name not in alive:
            placement.add_worker(name)
            alive.add(name)
        batch = placement.next_batch(name)
        if batch is None:
            continue
        part = batch.items if what == "work" else batch.items[: len(batch.items) // 2]
        for item in part:
            placement.done(name, item)
        done += part
        if what == "die":
            assert sorted(placement.lose(name)) == sorted(set(batch.items) - set(part))
            alive.discard(name)
        elif what == "fail":
            placement.refuse(name, batch.environment)
    for name in alive:
        placement.lose(name)
    placement.add_worker("last")
    done += drain(placement, "last")
    assert placement.is_finished
    assert sorted(done) == sorted(
        (environment, number) for environment, count in sizes.items() for number in range(count)
    )
