"""`csv`: the matrix, a row per check x device x backend x extras and a column per release."""

from __future__ import annotations

from pt2bugs.export import Selected
from pt2bugs.results.tables import cells_table, csv_text, matrix_table


def render(selected: Selected) -> bytes:
    return csv_text(matrix_table(cells_table(selected.lines), selected.cases.values())).encode()
