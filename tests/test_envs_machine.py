"""`pt2bugs doctor`: it sees what is there, and names the remedy of what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pt2bugs.cli import main
from seeded import write_case


def doctor(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, object]]]:
    status = main(["doctor", "--json"])
    return status, {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}


def test_a_machine_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    status, findings = doctor(capsys)
    assert status == 1
    assert findings["C++ compiler"]["is_fine"] is False
    assert "CXX" in str(findings["C++ compiler"]["remedy"])


def test_what_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'compiler 1.2'\necho more\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "not" / "yet"))
    _, findings = doctor(capsys)
    assert findings["C++ compiler"]["seen"] == "compiler 1.2"
    assert "TORCH_COMPILE_DISABLE" in str(findings["variables"]["seen"])
    assert str(findings["uv"]["seen"]).startswith("uv ")
    assert "free for environments" in str(findings["disk"]["seen"])


def test_on_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    assert len(capsys.readouterr().out.splitlines()) <= 24


def test_results_without_a_journal_are_not_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_case(tmp_path, "pytorch_1")
    (tmp_path / "results").write_text("a file")
    monkeypatch.chdir(tmp_path)
    _, findings = doctor(capsys)
    assert findings["results"]["is_fine"] is None
    assert findings["results"]["seen"] == "results: has no journal"
