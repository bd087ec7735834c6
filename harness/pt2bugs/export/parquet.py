"""`parquet`: the records of `json` as a table."""

from __future__ import annotations

import io

import pandas as pd

from pt2bugs.errors import install_command
from pt2bugs.export import ExportError, Selected
from pt2bugs.export.json import records
from pt2bugs.results.journal import KEYS

COLUMNS = [*KEYS, "component", "symptom", "issue", "title", "release"]


def render(selected: Selected) -> bytes:
    table = pd.DataFrame(list(records(selected)), columns=COLUMNS)
    table = table.astype(dict.fromkeys(("graphs", "breaks", "kernels", "fallbacks", "exit_status"), "Int64"))
    buffer = io.BytesIO()
    try:
        table.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError:
        raise ExportError(f"--format parquet needs pyarrow: {install_command('parquet')}") from None
    return buffer.getvalue()
