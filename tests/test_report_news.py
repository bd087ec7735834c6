"""What broke and what was fixed since a day: only what the lines from before do not show already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pt2bugs.cli import main
from seeded import START, write_case, write_journal

DAY = (START + timedelta(days=10)).date().isoformat()
SINCE = START + timedelta(days=10, hours=3)
NIGHTLY, NEXT = "2.11.0.dev20260110", "2.11.0.dev20260111"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seed(project: Path, name: str, then: Mapping[str, str], now: Mapping[str, str], **settings: Any) -> None:
    path = write_case(project, name, **settings)
    write_journal(project, path, then)
    write_journal(project, path, now, start=SINCE)


def news(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    assert main(["news", "--since", DAY, "--json", *arguments]) == 0
    return {entry["release"]: entry for entry in json.loads(capsys.readouterr().out)}


def ids(steps: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(step["case"], step["release_before"]) for step in steps]


def test_a_nightly_against_what_was_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed(project, "pytorch_1", {"2.9.1": "B", "2.10.0": "."}, {NIGHTLY: "F"})
    seed(project, "pytorch_2", {"2.9.1": "B", "2.10.0": "B"}, {NIGHTLY: "."})
    seed(project, "pytorch_3", {"2.9.1": "B", "2.10.0": "."}, {NIGHTLY: "."})
    seed(project, "pytorch_4", {"2.9.1": "B", "2.10.0": "F"}, {NIGHTLY: "E", NEXT: "B"})
    told = news(capsys)
    assert list(told) == [NEXT, NIGHTLY], "the newest first"
    nightly = told[NIGHTLY]
    assert (nightly["new"], nightly["checks"]) == (True, 3)
    assert ids(nightly["broken"]) == [("pytorch_1", "2.10.0")]
    assert ids(nightly["fixed"]) == [("pytorch_2", "2.10.0")]
    assert ids(told[NEXT]["different"]) == [("pytorch_4", "2.10.0")], "against the last release that could say"
    assert nightly["broken"][0]["commits"].endswith(f"compare/{'2100'.ljust(40, '0')}...2110dev20260110{'0' * 24}") or (
        nightly["broken"][0]["commits"] == ""
    )


def test_what_was_known_is_no_news(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed(project, "pytorch_1", {"2.9.1": "B", "2.10.0": "."}, {"2.9.1": "B", "2.10.0": "."})
    told = news(capsys)
    assert not told["2.10.0"]["new"]
    assert [told[release][kind] for release in told for kind in ("broken", "different", "fixed")] == [[]] * 6


def test_a_new_answer_about_an_old_release_is_news(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed(project, "pytorch_1", {"2.9.1": ".", "2.10.0": "."}, {"2.10.0": "F"})
    assert ids(news(capsys)["2.10.0"]["broken"]) == [("pytorch_1", "2.9.1")]


def test_a_new_case_says_nothing_new_of_old_releases(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed(project, "pytorch_1", {"2.9.1": "B", "2.10.0": "."}, {})
    seed(project, "pytorch_2", {}, {"2.9.1": "B", "2.10.0": ".", NIGHTLY: "F"})
    told = news(capsys)
    assert told["2.10.0"]["fixed"] == []
    assert ids(told[NIGHTLY]["broken"]) == [("pytorch_2", "2.10.0")]


def test_as_markdown_and_as_a_feed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seed(project, "pytorch_1", {"2.10.0": "."}, {NIGHTLY: "F"}, title="A | <b>title</b> of @someone")
    assert main(["news", "--since", f"{DAY}T01:00:00Z", "--feed", "site/news.xml"]) == 0
    page = capsys.readouterr().out
    assert f"## torch {NIGHTLY}: 1 broken" in page
    assert "- [pytorch_1](https://example.org/issues/1) A \\| &#60;b>title&#60;/b> of &#64;someone" in page
    assert "against torch 2.10.0: passes -> another failure: crash SIGSEGV" in page
    atom = "{http://www.w3.org/2005/Atom}"
    feed = ElementTree.parse(project / "site" / "news.xml").getroot()
    (entry,) = feed.iter(f"{atom}entry")
    assert entry.findtext(f"{atom}title") == f"torch {NIGHTLY}: 1 broken"
    assert entry.findtext(f"{atom}updated") == "2026-01-11T03:00:00.001Z"
    assert entry.find(f"{atom}link").attrib["href"] == f"compare.html?a=2.10.0&b={NIGHTLY}"  # type: ignore[union-attr]
    assert main(["news", "--since", f"{DAY}T05:00:00+01:00", "-o", "news.md"]) == 0
    assert (project / "news.md").read_text() == f"# torch releases measured since {DAY}T04:00:00.000\n\nNone.\n"


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "20260101x", ""])
def test_what_is_no_day(project: Path, capsys: pytest.CaptureFixture[str], day: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["news", "--since", day])
    assert left.value.code == 2
    assert "is not a date as 2026-11-15" in capsys.readouterr().err
