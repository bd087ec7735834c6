"""`pt2bugs plan`: usage, and the file of durations; how shards come out of it is walked in test_ci_recipe.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from pt2bugs.cli import main
from pt2bugs.run.shards import read_durations
from seeded import write_case, write_journal

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("arguments", [[], ["--shards", "1001"]])
def test_into_how_many(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *arguments]) == 2
    assert "plan: say into how many parts with --shards N, at most 1000" in capsys.readouterr().err


@pytest.mark.parametrize("shard", ["0/2", "3/2", "half"])
def test_a_shard_that_is_none(shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["run", "--shard", shard])
    assert left.value.code == 2
    assert f"'{shard}' is no shard; write for example 3/10" in capsys.readouterr().err


def test_durations_are_written_from_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_case(tmp_path, "pytorch_1")
    (tmp_path / "results").mkdir()
    assert main(["plan", "--update-durations"]) == 3
    assert "no durations: results has no results of this corpus" in capsys.readouterr().err
    write_journal(tmp_path, path, {"2.9.1": "B", "2.10.0": "."})
    assert main(["plan", "--update-durations"]) == 0
    text = (tmp_path / "results" / "durations.csv").read_text()
    assert text == "case,check,device,backend,seconds\npytorch_1,test_it,cpu,inductor,0.1\n"
    assert main(["plan", "--update-durations", "--durations", "mine.csv"]) == 0
    assert (tmp_path / "mine.csv").read_text() == text


def test_the_committed_durations_can_be_read() -> None:
    path = ROOT / "results" / "durations.csv"
    assert path.exists()
    read_durations(path)
