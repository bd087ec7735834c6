"""Cells on a device that the machine cannot have cost no environment, unless somebody asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.cli import main
from pt2bugs.run.plan import may_be_here
from suite import case_text


@pytest.mark.parametrize(
    ("device", "sign", "is_told"),
    [("cuda", "dev/nvidiactl", True), ("cuda", "dev/kfd", True), ("cuda", "dev/null", False), ("xpu", "dev/dri", True)],
)
def test_signs_of_a_device(tmp_path: Path, device: str, sign: str, is_told: bool) -> None:
    assert not may_be_here(device, tmp_path)
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).touch()
    assert may_be_here(device, tmp_path) is is_told


@pytest.mark.parametrize("device", ["cpu", "meta", "one_of_a_vendor"])
def test_what_has_no_signs_is_asked_of_torch(tmp_path: Path, device: str) -> None:
    assert may_be_here(device, tmp_path)


@pytest.mark.skipif(may_be_here("cuda"), reason="this machine may have such a device")
def test_only_asked_for_are_they_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cases").mkdir()
    check = "def test_it(device, backend):\n    raise AssertionError\n"
    (tmp_path / "cases" / "gpu_1.py").write_text(case_text(check, devices=["cuda"], bugs=[]))
    (tmp_path / "cases" / "both_1.py").write_text(case_text(check, devices=["cpu", "cuda"]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
    where = ["--cases", "cases", "--results", "results", "--dry-run"]
    left_out = "left out: 1 cell on cuda; this machine has no such device (--device cuda asks torch itself)"
    assert main(["run", *where]) == 0
    told = capsys.readouterr().err
    assert left_out in told
    assert "1 cell in 1 environment: 0 answered by the journal, 1 to run" in told
    assert main(["run", *where, "--device", "cuda"]) == 0
    told = capsys.readouterr().err
    assert left_out not in told
    assert "2 cells in 1 environment" in told
    assert main(["plan", "--cases", "cases", "--results", "results", "--shards", "1"]) == 0
    told = capsys.readouterr().err
    assert left_out in told
    assert "1 cell in 1 environment, divided into 1 shard" in told
