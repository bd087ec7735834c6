"""Names of cells: they are the tuples that files and tests write, and say their parts by name."""

from __future__ import annotations

from pt2bugs.case.cells import CellName
from pt2bugs.results.line import CellKey

CELL = CellName("pytorch_1", "test_it", "cpu", "inductor")
KEY = CellKey(*CELL, "turbine", "2.9.1", "3.11")


def test_a_name_is_its_tuple() -> None:
    assert CELL == ("pytorch_1", "test_it", "cpu", "inductor")
    assert {CELL: 1}[CellName("pytorch_1", "test_it", "cpu", "inductor")] == 1
    assert CELL.which_check == ("pytorch_1", "test_it")


def test_parts_of_the_key_of_a_line() -> None:
    assert KEY.cell == KEY.row.cell == CELL
    assert CellKey(*KEY.cell, *KEY.environment) == KEY
    assert KEY.row == (*CELL, "turbine")
    assert KEY.environment == ("turbine", "2.9.1", "3.11")
