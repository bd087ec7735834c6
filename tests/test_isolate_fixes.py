"""`results/fixes`: written, read, and never made worse."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.isolate import fixes


def isolation(**settings: Any) -> dict[str, Any]:
    return {
        "case": "a",
        "check": "test_a",
        "device": "cpu",
        "backend": "inductor",
        "bad": "2.12.1",
        "good": "2.13.0",
        "direction": "fixed",
        "evidence": "proved",
        "units": [{"file": "_decomp/decompositions.py", "qualname": "embedding", "kind": "function"}],
        **settings,
    }


def test_a_weaker_answer_does_not_replace_a_stronger_one(tmp_path: Path) -> None:
    fixes.save(tmp_path, [isolation(trials=1)])
    fixes.save(tmp_path, [isolation(evidence="executed", units=[])])
    assert fixes.of_case(tmp_path, "a") == [isolation(trials=1, named_in_pull_request=None)]
    fixes.save(tmp_path, [isolation(trials=2), isolation(direction="introduced", bad="2.13.0", good="2.12.1")])
    assert [isolation.get("trials") for isolation in fixes.load(tmp_path)] == [2, None]
    assert fixes.of_case(tmp_path, "b") == []


def test_two_that_end_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `isolate` and `isolate --introduced` of one case did: the second wrote what it had read before the first."""
    read = fixes.of_case

    def slowly(results: Path, case: str) -> list[dict[str, Any]]:
        known = read(results, case)
        time.sleep(0.05)
        return known

    monkeypatch.setattr(fixes, "of_case", slowly)
    questions = [isolation(check=f"test_{number}") for number in range(4)]
    with ThreadPoolExecutor(len(questions)) as pool:
        list(pool.map(lambda question: fixes.save(tmp_path, [question]), questions))
    assert {told["check"] for told in fixes.load(tmp_path)} == {told["check"] for told in questions}


@pytest.mark.parametrize("file", ["../numpy/__init__.py", "/etc/passwd", "a/../../b.py"])
def test_a_unit_lies_in_the_torch_folder(tmp_path: Path, file: str) -> None:
    """A hotfix of results that are another's replaced files of the environment itself."""
    (tmp_path / "fixes").mkdir()
    unit = {"file": file, "qualname": "", "kind": "header"}
    (tmp_path / "fixes" / "a.json").write_text(json.dumps({"schema": 1, "isolations": [isolation(units=[unit])]}))
    with pytest.raises(fixes.FixesError, match="is no file in the torch folder"):
        list(fixes.load(tmp_path))


def test_what_a_thread_names_is_entered(tmp_path: Path) -> None:
    (tmp_path / "fixes").mkdir()
    threads = tmp_path / "fixes" / "threads.toml"
    threads.write_text('[PR1]\nnames = ["embedding"]\n[PR2]\nnames = ["lowering.py"]\n')
    fixes.save(tmp_path, [isolation(case=case, pull_request=case) for case in ("PR1", "PR2", "PR3")])
    assert [told["named_in_pull_request"] for told in fixes.load(tmp_path)] == [True, False, None]
    threads.write_text("[PR1]\n")
    with pytest.raises(fixes.FixesError, match=r"threads\.toml"):
        fixes.save(tmp_path, [isolation()])


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"schema": 2, "isolations": []}', '{"schema": 1, "isolations": [{}]}', '{"schema": 1}']
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "a.json").write_text(text)
    with pytest.raises(fixes.FixesError, match=r"a\.json"):
        fixes.of_case(tmp_path, "a")


@pytest.mark.parametrize("units", [5, {"a": 1}, ["x"], [[]], [None], [{"file": "a.py"}], "\ud800"], ids=str)
def test_units_that_are_none(tmp_path: Path, units: Any) -> None:
    """As `match`, `report` and `bisect` name the functions of an isolation, and met them with a traceback."""
    (tmp_path / "fixes").mkdir()
    (tmp_path / "fixes" / "a.json").write_text(json.dumps({"schema": 1, "isolations": [isolation(units=units)]}))
    with pytest.raises(fixes.FixesError, match=r"a\.json: is no isolation"):
        list(fixes.load(tmp_path))


def test_a_sentence_names_what_has_evidence() -> None:
    assert fixes.sentence(isolation()) == "by a change of _decomp/decompositions.py: embedding (proved)"
    assert fixes.sentence(isolation(evidence="swap")) == ""


def test_the_committed_ones_can_be_read() -> None:
    """Locations and hashes alone: no text of PyTorch's sources."""
    folder = Path(__file__).resolve().parent.parent / "results"
    names = fixes.threads(folder)
    for isolation in fixes.load(folder):
        assert isolation["named_in_pull_request"] == fixes.is_named(isolation, names), isolation["case"]
        assert isolation["evidence"] in fixes.EVIDENCE
        assert isolation["label"] in fixes.LABELS
        assert (isolation["evidence"] == "proved") == (not isolation["reason"] and isolation["label"] != "unknown"), (
            isolation["case"]
        )
        text = json.dumps(isolation)
        assert "\\n" not in text.replace(json.dumps(isolation["reason"]), ""), isolation["case"]
