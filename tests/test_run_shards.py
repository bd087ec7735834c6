"""A selection in shards: each cell in one, the same on every machine, environments whole where that is fair."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pt2bugs.case.cells import Cell, cells_of
from pt2bugs.case.header import parse_case
from pt2bugs.envs.environment import Key
from pt2bugs.errors import InputError
from pt2bugs.run.plan import Target, Work
from pt2bugs.run.shards import SETUP_S, Division, Durations, ShardName, divide, read_durations, write_durations
from suite import case_text


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    path = tmp_path_factory.mktemp("cases") / "many.py"
    path.write_text(case_text("".join(f"def test_{number:02}():\n    pass\n" for number in range(40))))
    return list(cells_of(parse_case(path)))


def work_of(cells: list[Cell], sizes: Mapping[str, int], python: str = "3.11") -> list[Work]:
    return [Work(Target(Key(torch, python)), cells[:size]) for torch, size in sizes.items()]


def named(division: Division) -> list[list[tuple[str, str]]]:
    return [
        [(work.target.key.torch, cell.check.name) for work in shard for cell in work.cells] for shard in division.shards
    ]


def loads(division: Division, seconds: float) -> list[float]:
    return [sum(SETUP_S + seconds * len(work.cells) for work in shard) for shard in division.shards]


def test_environments_stay_whole_where_that_is_balanced(cells: list[Cell]) -> None:
    division = divide(work_of(cells, {"2.1.0": 40, "2.2.0": 40, "2.3.0": 20, "2.4.0": 20}), 3, lambda _: 30.0)
    parts = [sorted(work.target.key.torch for work in shard) for shard in division.shards]
    assert sorted(parts) == [["2.1.0"], ["2.2.0"], ["2.3.0", "2.4.0"]]


def test_an_environment_is_cut_where_balance_asks_for_it(cells: list[Cell]) -> None:
    division = divide(work_of(cells, {"2.1.0": 40, "2.2.0": 10}), 5, lambda _: 100.0)
    assert max(loads(division, 100.0)) <= 1.25 * (50 * 100.0 / 5 + SETUP_S)
    assert sum(len(shard) for shard in division.shards) <= 7


def test_more_shards_than_cells(cells: list[Cell]) -> None:
    division = divide(work_of(cells, {"2.1.0": 2}), 5, lambda _: 200.0)
    assert sorted(len(shard) for shard in division.shards) == [0, 0, 0, 1, 1]
    assert named(divide([], 3, lambda _: 1.0)) == [[], [], []]


@settings(max_examples=20)
@given(
    sizes=st.dictionaries(st.sampled_from([f"2.{minor}.0" for minor in range(12)]), st.integers(1, 40), max_size=12),
    count=st.integers(1, 30),
    seed=st.integers(0, 1000),
    most=st.sampled_from([0.0, 1.0, 300.0]),
)
def test_every_cell_is_in_one_shard_on_every_machine(
    cells: list[Cell], sizes: dict[str, int], count: int, seed: int, most: float
) -> None:
    source = random.Random(seed)
    known = {cell.key: source.uniform(0, most) for cell in cells}
    division = divide(work_of(cells, sizes), count, lambda cell: known[cell.key])
    assert len(division.shards) == count
    all_cells = sorted(name for shard in named(division) for name in shard)
    assert all_cells == sorted((torch, cell.check.name) for torch, size in sizes.items() for cell in cells[:size])
    backwards = [Work(work.target, work.cells[::-1]) for work in work_of(cells, sizes, "3.13")[::-1]]
    elsewhere = divide(backwards, count, lambda cell: known[cell.key])
    assert named(elsewhere) == named(division), "whatever the order, and with another Python"
    assert elsewhere.digest == division.digest
    if sizes:
        total = sum(known[cell.key] for size in sizes.values() for cell in cells[:size])
        longest = max(known[cell.key] for cell in cells[: max(sizes.values())])
        best = max((total + SETUP_S * max(count, len(sizes))) / count, SETUP_S + longest)
        worst = max(sum(SETUP_S + sum(known[c.key] for c in work.cells) for work in shard) for shard in division.shards)
        assert worst <= 1.3 * best + SETUP_S + longest


def test_a_name_means_one_division(cells: list[Cell]) -> None:
    work = work_of(cells, {"2.1.0": 40})
    division = divide(work, 2, lambda _: 10.0)
    name = division.name(2)
    assert ShardName.parse(str(name)) == name
    assert division.shard(name) == division.shard(ShardName(2, 2)) == division.shards[1]
    other = divide(work_of(cells, {"2.1.0": 39}), 2, lambda _: 10.0)
    with pytest.raises(InputError, match=f"--shard 2/2@{division.digest}: the selection has changed since"):
        other.shard(name)


@pytest.mark.parametrize("text", ["", "3", "0/3", "4/3", "1/1001", "1/2@", "1/2@xyz", "-1/2", "1/2/3", " 1/2"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match="is no shard; write for example 3/10"):
        ShardName.parse(text)


class TestDurations:
    def test_of_known_and_unknown_cells(self, cells: list[Cell], tmp_path: Path) -> None:
        path = tmp_path / "durations.csv"
        write_durations(path, {cells[0].key: 12.3456, cells[1].key: 0.001, cells[2].key: 2.0})
        assert path.read_text().splitlines()[1:] == [
            "many,test_00,cpu,inductor,12", "many,test_01,cpu,inductor,0.1", "many,test_02,cpu,inductor,2",
        ]  # fmt: skip
        durations = read_durations(path)
        assert [durations.of(cell) for cell in cells[:4]] == [12, 0.1, 2, 2], "the median of all, for one that is new"

    def test_without_a_file_all_last_the_same(self, cells: list[Cell], tmp_path: Path) -> None:
        durations: Durations = read_durations(tmp_path / "none.csv")
        assert durations.of(cells[0]) == durations.of(cells[1]) > 0

    @pytest.mark.parametrize("line", ["a,b,c", "a,b,c,d,soon", "a,b,c,d,-1", "a,b,c,d,nan", "a,b,c,d,inf"])
    def test_a_damaged_file(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "durations.csv"
        path.write_text(f"case,check,device,backend,seconds\n{line}\n")
        with pytest.raises(InputError, match=r"durations.csv:2: is no line of case,check"):
            read_durations(path)
