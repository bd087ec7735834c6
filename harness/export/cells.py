"""`cells`: one row per cell, with its outcome and identity."""

from __future__ import annotations

from harness.export import Selected
from harness.matrix import cells_table, csv_text


def render(selected: Selected) -> bytes:
    return csv_text(cells_table(selected.lines)).encode()
