"""`cells`: one row per cell, with its outcome and identity."""

from __future__ import annotations

from pt2bugs.export import Selected
from pt2bugs.results.tables import cells_table, csv_text


def render(selected: Selected) -> bytes:
    return csv_text(cells_table(selected.lines)).encode()
