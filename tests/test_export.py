"""Every format is read back by somebody else's reader: pandas, an XML schema check, the standard library."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import bounded
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.cli import main
from pt2bugs.errors import install_command
from pt2bugs.export import FORMATS
from pt2bugs.results.journal import KEYS, LATER_KEYS, JournalWriter
from pt2bugs.results.tables import CELL_COLUMNS
from seeded import BLOCKED, BUG, write_case, write_journal

RELEASES = ("2.2.2", "2.9.1", "2.10.0", "2.13.0")
ROWS = {"pytorch_1": ("b", "B", ".", "."), "pytorch_2": ("B", ".", "F", "E"), "pytorch_3": ("s", "B.", "B", ".")}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three cases with every verdict there is."""
    for name, letters in ROWS.items():
        path = write_case(tmp_path, name, bugs=[BLOCKED, BUG])
        write_journal(tmp_path, path, dict(zip(RELEASES, letters, strict=True)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


Export = Callable[..., bytes]


@pytest.fixture
def export(project: Path) -> Export:
    """`pt2bugs export` into a file, as bytes."""

    def run(name: str, *arguments: str) -> bytes:
        assert main(["export", "--format", name, "-o", "out", *arguments]) == 0
        return Path("out").read_bytes()

    return run


def test_csv_is_the_matrix(export: Export) -> None:
    table = pd.read_csv(io.BytesIO(export("csv")), keep_default_na=False)
    assert list(table.columns) == ["case", "check", "component", "symptom", "device", "backend", "extras", *RELEASES]
    assert table[["case", *RELEASES]].to_numpy().tolist() == [
        ["pytorch_1", "skip", "xfail:wrong", "pass", "pass"],
        ["pytorch_2", "fail", "xpass", "fail", "error"],
        ["pytorch_3", "skip", "flaky", "fail", "pass"],
    ]


def test_cells_has_a_row_per_cell(export: Export) -> None:
    rows = list(csv.DictReader(io.StringIO(export("cells").decode(), newline="")))
    assert list(rows[0]) == CELL_COLUMNS
    assert [(row["case"], row["torch"]) for row in rows] == [(case, torch) for case in ROWS for torch in RELEASES]
    assert rows[5]["verdict"] == "xpass"
    assert rows[6]["signal"] == "SIGSEGV"


def test_json_has_all_keys_and_what_the_case_says(export: Export) -> None:
    rows = json.loads(export("json"))
    assert len(rows) == 12
    assert all(set(row) == {*KEYS, "component", "symptom", "issue", "title", "release"} for row in rows)
    assert (rows[1]["torch"], rows[1]["release"], rows[1]["title"]) == ("2.9.1+cpu", "2.9.1", "A title")


def test_junit_is_valid_by_its_schema(export: Export) -> None:
    schema = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))
    schema.assertValid(etree.fromstring(export("junit")))


def test_the_junit_schema_refuses_what_consumers_refuse(export: Export) -> None:
    schema = etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))
    for wrong in (b'tests="3"', b'hostname="localhost"', b' type="environment"', b"<system-out />"):
        text = export("junit")
        assert wrong in text
        assert not schema.validate(etree.fromstring(text.replace(wrong, b""))), wrong


def test_junit_says_what_ci_systems_count(export: Export) -> None:
    root = ET.fromstring(export("junit"))
    seen = {
        (suite.get("name"), case.get("classname")): (case[0].tag if len(case) else "passed")
        for suite in root
        for case in suite.iter("testcase")
    }
    results = ["skipped", "skipped", "passed", "passed", "failure", "failure", "failure", "error", "skipped", "failure"]
    assert [seen[f"torch {r}", f"dynamo.{case}"] for case in ROWS for r in RELEASES] == [
        *results,
        "failure",
        "passed",
    ]
    for suite in root:
        counts = Counter(case[0].tag if len(case) else "passed" for case in suite.iter("testcase"))
        stated = {name: int(suite.get(name) or -1) for name in ("tests", "failures", "errors", "skipped")}
        assert stated == {
            "tests": 3, "failures": counts["failure"], "errors": counts["error"], "skipped": counts["skipped"]
        }  # fmt: skip
        properties = {element.get("name"): element.get("value") for element in suite.iter("property")}
        assert f"torch {properties['torch']}" == f"{suite.get('name')}+cpu"
        assert properties["device"] == "cpu"


def test_junit_gives_the_reason_of_what_it_skips(export: Export) -> None:
    reasons = {
        (case.get("classname"), suite.get("name")): case[0].get("message")
        for suite in ET.fromstring(export("junit"))
        for case in suite.iter("testcase")
        if len(case)
    }
    documented = "documented: https://example.org/issues/1 (wrong AssertionError: Tensor-likes are not close!)"
    assert reasons["dynamo.pytorch_1", "torch 2.9.1"] == documented
    blocked = "blocked by another limitation: raise NotImplementedError: no such operator"
    assert reasons["dynamo.pytorch_1", "torch 2.2.2"] == blocked
    assert reasons["dynamo.pytorch_3", "torch 2.2.2"] == "skip: needs torch >=2.4"


# The field list of oss_ci_benchmark_v3 as pytorch/test-infra publishes it, types as Python has them. Ingestion fills
# what a record leaves out.
TEXTS = dict.fromkeys(("name", "dtype", "mode"), str)
RUNNER = {
    **dict.fromkeys(("name", "type", "cpu_info", "mem_info", "gpu_info", "gpu_mem_info"), str),
    **dict.fromkeys(("cpu_count", "avail_mem_in_gb", "gpu_count", "avail_gpu_mem_in_gb"), int),
    "extra_info": {str: str},
}
V3 = {
    **dict.fromkeys(("schema_version", "name", "repo", "head_branch", "head_sha"), str),
    **dict.fromkeys(("timestamp", "workflow_id", "run_attempt", "job_id"), int),
    **dict.fromkeys(("servicelab_experiment_id", "servicelab_trial_id"), int),
    "runners": [RUNNER],
    "benchmark": {**TEXTS, "extra_info": {str: str}},
    "model": {**dict.fromkeys(("name", "type", "backend"), str), "origins": [str], "extra_info": {str: str}},
    "inputs": {str: {"dtype": str, "extra_info": {str: str}}},
    "dependencies": {str: {**dict.fromkeys(("repo", "branch", "sha", "version"), str), "extra_info": {str: str}}},
    "metric": {"name": str, "benchmark_values": [float], "target_value": float, "extra_info": {str: str}},
}


def fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(fits(item, kind[0]) for item in value)
    if isinstance(kind, dict):
        keys = {key: (kind.get(key) or kind.get(str)) for key in value}
        return all(keys[key] is not None and fits(item, keys[key]) for key, item in value.items())
    return type(value) is kind


def test_hud_has_the_fields_of_the_benchmark_database(export: Export) -> None:
    records = json.loads(export("hud"))
    assert [entry for entry in records if not fits(entry, V3)] == []
    # Skipped cells and errors have no answer, so no record.
    assert [
        (entry["model"]["name"], entry["head_branch"], entry["metric"]["benchmark_values"]) for entry in records
    ] == [
        ("pytorch_1::test_it", "v2.9.1", [0.0]),
        ("pytorch_1::test_it", "v2.10.0", [1.0]),
        ("pytorch_1::test_it", "v2.13.0", [1.0]),
        ("pytorch_2::test_it", "v2.2.2", [0.0]),
        ("pytorch_2::test_it", "v2.9.1", [1.0]),
        ("pytorch_2::test_it", "v2.10.0", [0.0]),
        ("pytorch_3::test_it", "v2.9.1", [1.0]),
        ("pytorch_3::test_it", "v2.10.0", [0.0]),
        ("pytorch_3::test_it", "v2.13.0", [1.0]),
    ]
    assert not fits({**records[0], "verdict": "pass"}, V3)
    assert not fits({**records[0], "timestamp": "now"}, V3)


def shown_by_the_view(record: dict[str, Any]) -> tuple[str, str]:
    """Device and architecture as test-infra's view oss_ci_benchmark_metadata_mv takes them from a record."""
    runner, about = record["runners"][0], record["benchmark"]["extra_info"]
    device = runner.get("name") or about.get("device") or "cpu"
    return device, runner.get("type") or about.get("arch") or runner.get("cpu_info", "")


def test_the_view_of_the_database_shows_device_and_architecture(project: Path, export: Export) -> None:
    journal = next((project / "results" / "journal").glob("*.jsonl"))
    line = next(entry for entry in map(json.loads, journal.read_text().splitlines()) if entry["outcome"] == "pass")
    line["platform"] = "Linux-6.1-x86_64-with-glibc2.36"
    lines = [
        line,
        {**line, "device": "cuda", "device_name": "NVIDIA H200"},
        {**line, "device": "xpu", "device_name": ""},
    ]
    journal.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines))
    records = [entry for entry in json.loads(export("hud")) if entry["model"]["name"].startswith(line["case"])]
    assert [entry for entry in records if not fits(entry, V3)] == []
    assert [shown_by_the_view(entry) for entry in records] == [
        ("cpu", "x86_64"), ("cuda", "NVIDIA H200"), ("xpu", "x86_64"),
    ]  # fmt: skip


def test_parquet_holds_what_json_holds(export: Export) -> None:
    rows = json.loads(export("json"))
    table = pd.read_parquet(io.BytesIO(export("parquet")))
    assert list(table["verdict"]) == [row["verdict"] for row in rows]
    assert list(table["message"]) == [row["message"] for row in rows]
    assert [list(extras) for extras in table["extras"]] == [row["extras"] for row in rows]


@pytest.mark.parametrize("name", FORMATS)
def test_a_selection(export: Export, name: str) -> None:
    text = export(name, "pytorch_2")
    assert b"pytorch_2" in text
    assert b"pytorch_1" not in text


@pytest.mark.parametrize("name", FORMATS)
def test_stdout_gets_the_same_bytes(export: Export, name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["export", "--format", name]) == 0
    assert capsysbinary.readouterr().out == export(name)


def test_written_whole_or_not_at_all(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.d").mkdir()
    assert main(["export", "--format", "csv", "-o", "out.d"]) == 2
    assert capsys.readouterr().err.startswith("pt2bugs: ")
    assert sorted(path.name for path in project.iterdir()) == ["cases", "out.d", "results"], "nothing is left behind"


def test_what_was_there_stays_when_a_format_fails(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("out").write_text("before")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", "--format", "parquet", "-o", "out"]) == 2
    assert capsys.readouterr().err == f"pt2bugs: --format parquet needs pyarrow: {install_command('parquet')}\n"
    assert Path("out").read_text() == "before"


def test_no_results(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--format", "csv", "--results", "nowhere"]) == 3
    assert "nothing to export: nowhere has no results" in capsys.readouterr().err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text(max_size=60))
def test_any_message_survives_every_format(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    case = parse_case(write_case(folder, "pytorch_1"))
    message = bounded(text, 4000)  # as the harness records it
    record: Any = {
        **dict.fromkeys(KEYS, ""), **dict.fromkeys(LATER_KEYS), "schema": 1,
        "started": "2026-01-01T00:00:00.000Z", "case": case.id,
        "check": "test_it", "case_hash": case.hash, "torch": "2.13.0+cpu", "python": "3.11.7", "device": "cpu",
        "backend": "inductor", "extras": [], "repeat": 1, "repeats": 1, "outcome": str(Outcome.RAISE),
        "verdict": "fail", "error_type": "RuntimeError", "message": message, "device_name": text, "graphs": None,
        "exit_status": 0, "duration_s": 0.5, "peak_rss_mb": 1.0,
    }  # fmt: skip
    writer = JournalWriter(folder / "results" / "journal" / "a.jsonl")
    writer.append(record)
    writer.close()

    def export(name: str) -> bytes:
        where = ["--cases", str(folder / "cases"), "--results", str(folder / "results")]
        assert main(["export", "--format", name, "-o", str(folder / "out"), *where]) == 0
        return (folder / "out").read_bytes()

    assert json.loads(export("json"))[0]["message"] == message
    assert pd.read_parquet(io.BytesIO(export("parquet")))["message"][0] == message
    (row,) = csv.DictReader(io.StringIO(export("cells").decode(), newline=""))
    assert row["message"].removeprefix("'") == message.removeprefix("'")
    assert not row["message"].startswith(("=", "+", "-", "@", "\t", "\r"))
    (failure,) = ET.fromstring(export("junit")).iter("failure")
    assert (failure.text or "") == message
