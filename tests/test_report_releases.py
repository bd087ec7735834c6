"""What the pages tell about releases, Pythons and devices, each on a small project of its own."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import html5lib
import pytest
from pt2bugs.cli import main
from pt2bugs.results.journal import KEYS
from report_project import folder_options, line_of, text_of
from seeded import BUG, write_case, write_journal


def test_the_newest_python_shows_and_the_others_are_told(tmp_path: Path) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, {"2.9.1": "F"})
    journal = tmp_path / "results" / "journal" / "pytorch_1.jsonl"
    line = json.loads(journal.read_text())
    assert set(line) == set(KEYS)
    other = {**line, "python": "3.12.1", "outcome": "pass", "signal": "", "message": ""}
    journal.write_text("".join(json.dumps(element) + "\n" for element in (line, other)))
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    page = html5lib.parse((tmp_path / "site" / "case" / "pytorch_1.html").read_text(), namespaceHTMLElements=False)
    cells = [" ".join(text_of(element.find("summary")).split()) for element in page.iter("details")]
    assert cells.pop(0) == "Its header", "the fold of the program's header comes before the history"
    assert cells[0].endswith("torch 2.9.1: xpass (pass)")
    assert cells[1].endswith("torch 2.9.1, Python 3.11.7: fail (crash) SIGSEGV died by SIGSEGV")


def test_guards_are_no_bugs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, guard in (("bug", False), ("guard", True)):
        path = write_case(tmp_path, name, bugs=[] if guard else [BUG], guard=guard)
        write_journal(tmp_path, path, {"2.9.1": "." if guard else "B", "2.10.0": "."})
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    assert "1 bug and 1 guard, 2 checks x 2 torch releases" in capsys.readouterr().err
    page = html5lib.parse((tmp_path / "site" / "index.html").read_text(), namespaceHTMLElements=False)
    numbers = {
        text_of(element.find("dt")): text_of(element.find("dd"))
        for element in page.iter("div")
        if element.find("dt") is not None
    }
    assert numbers["documented bugs"] == "1"
    assert numbers["of them in torch 2.10.0"] == "0"
    assert numbers["guards that must pass"] == "1"
    groups = [text_of(element) for element in page.iter("tr") if element.get("class") == "group"]
    assert groups[1].startswith("guards"), "last, before the counts"


def test_equal_neighbours_are_one_line(tmp_path: Path) -> None:
    releases = ("2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0")
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), dict(zip(releases, "BBF..", strict=True)))
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    page = html5lib.parse((tmp_path / "site" / "case" / "pytorch_1.html").read_text(), namespaceHTMLElements=False)
    heads = [" ".join(text_of(element.find("summary")).split()) for element in page.iter("details")]
    assert heads.pop(0) == "Its header", "the fold of the program's header comes before the history"
    assert [head.partition(": ")[0] for head in heads] == [
        ". torch 2.10.0 to 2.11.0", "F torch 2.9.1", "w torch 2.7.1 to 2.8.0"
    ]  # fmt: skip
    for release in releases:
        assert line_of(page, f"test_it-cpu-inductor-{release}") is not None, "each has its address"


def test_lives_and_trends(tmp_path: Path) -> None:
    releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
    for name, letters in {"gone": "BB..", "open": "..BB", "back": "B.B.", "never": "...."}.items():
        write_journal(tmp_path, write_case(tmp_path, name), dict(zip(releases, letters, strict=True)))
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    lives = {
        element["case"]: element for element in json.loads((tmp_path / "site" / "data" / "lives.json").read_text())
    }
    assert lives["gone"]["open_in"] == ["2.8.0", "2.9.1"]
    assert (lives["gone"]["introduced"], lives["gone"]["fixed"], lives["gone"]["open"]) == ([], ["2.10.0"], False)
    assert (lives["open"]["introduced"], lives["open"]["fixed"], lives["open"]["open"]) == (["2.10.0"], [], True)
    assert (lives["back"]["introduced"], lives["back"]["fixed"]) == (["2.10.0"], ["2.9.1", "2.11.0"])
    assert lives["never"]["open_in"] == []
    page = html5lib.parse((tmp_path / "site" / "trends.html").read_text(), namespaceHTMLElements=False)
    totals = [text_of(element) for element in page.iter() if element.get("class") == "total"]
    assert totals[:4] == ["2", "1", "2", "1"], "bugs that each release has"
    feed = ElementTree.fromstring((tmp_path / "site" / "feed.xml").read_bytes())
    atom = "{http://www.w3.org/2005/Atom}"
    titles = [text_of(entry.find(f"{atom}title")) for entry in feed.iter(f"{atom}entry")]
    assert titles == ["torch 2.11.0: 1 fixed", "torch 2.10.0: 2 broken, 1 fixed", "torch 2.9.1: 1 fixed"]


def test_a_device_that_was_never_measured_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1", devices=["cpu", "cuda"]), {"2.9.1": "B"})
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    assert "cpu, cuda (not measured)" in (tmp_path / "site" / "case" / "pytorch_1.html").read_text()
    assert "Not measured: the device cuda." in (tmp_path / "site" / "index.html").read_text()
    assert not (tmp_path / "site" / "backends.html").exists()
    main(["export", "--format", "csv", *folder_options(tmp_path)])
    assert "cuda" not in capsys.readouterr().out


def test_releases_with_few_results_are_pale(tmp_path: Path) -> None:
    for name, letters in {"one": "BB", "two": "B"}.items():
        write_journal(tmp_path, write_case(tmp_path, name), dict(zip(("2.9.1", "2.10.0"), letters, strict=False)))
    assert main(["report", "-o", str(tmp_path / "site"), *folder_options(tmp_path)]) == 0
    page = html5lib.parse((tmp_path / "site" / "trends.html").read_text(), namespaceHTMLElements=False)
    columns = [
        (element.get("class"), text_of(element).split()[-1])
        for element in page.iter()
        if "column" in element.get("class", "")
    ]
    assert columns[:2] == [("column", "2.9.1"), ("column pale", "2.10.0")]
    assert "(2.10.0: 50 %)" in text_of(page)
