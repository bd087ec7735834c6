"""`hud`: records in the layout of PyTorch's benchmark database, table oss_ci_benchmark_v3.

Field names and types are those of its published schema (pytorch/test-infra,
clickhouse_db_schema/oss_ci_benchmark_v3/schema.sql). One record per cell; the metric is 1 where the check
gives the right answer, else 0, and the words are in `extra_info`. A cell without an answer has no record.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from pt2bugs.case.vocabulary import Verdict
from pt2bugs.export import Selected
from pt2bugs.export.json import one_per_line, records

_NO_ANSWER = (Verdict.SKIP, Verdict.ERROR)
_MACHINE = re.compile(r"x86_64|aarch64|arm64|ppc64le|s390x|riscv64|AMD64")


def record_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return one record; every value of a map is a string, as the schema asks.

    Args:
        row: a cell as `json` has it.
    """
    return {
        "timestamp": int(datetime.fromisoformat(row["started"].replace("Z", "+00:00")).timestamp()),
        "schema_version": "v3",
        "name": "pt2bugs",
        "repo": "pytorch/pytorch",
        "head_branch": f"v{row['release']}",
        "head_sha": row["torch_git"],
        "workflow_id": 0,
        "run_attempt": 1,
        "job_id": 0,
        "runners": [_runner(row)],
        "benchmark": {
            "name": "pt2bugs",
            "mode": "correctness",
            "dtype": "",
            "extra_info": {"run_id": row["run_id"], "harness": row["harness"]},
        },
        "model": {
            "name": f"{row['case']}::{row['check']}",
            "type": row["component"],
            "backend": row["backend"],
            "origins": [row["issue"]] if row["issue"] else [],
            "extra_info": {"symptom": row["symptom"], "extras": "+".join(row["extras"])},
        },
        "dependencies": {"torch": {"repo": "pytorch/pytorch", "sha": row["torch_git"], "version": row["torch"]}},
        "metric": {
            "name": "right_answer",
            "benchmark_values": [1.0 if row["outcome"] == "pass" else 0.0],
            "target_value": 1.0,
            "extra_info": {
                "verdict": row["verdict"],
                "outcome": row["outcome"],
                "error_type": row["error_type"],
                "signal": row["signal"],
            },
        },
    }


def _runner(row: dict[str, Any]) -> dict[str, Any]:
    # test-infra's view takes the device from `name`, and "cpu" where that is empty; the architecture from `type`.
    machine = _MACHINE.search(row["platform"])
    architecture = machine[0] if machine else ""
    about = {"name": row["device"], "extra_info": {"platform": row["platform"], "python": row["python"]}}
    if row["device"] == "cpu":
        return {**about, "type": architecture, "cpu_info": f"{row['device_name']} {row['cpu_capability']}".strip()}
    gpu = {"gpu_info": row["device_name"], "gpu_count": 1}
    return {**about, "type": row["device_name"] or architecture, "cpu_info": row["cpu_capability"], **gpu}


def render(selected: Selected) -> bytes:
    return one_per_line(record_of(row) for row in records(selected) if row["verdict"] not in _NO_ANSWER)
