"""The page and the command line are queries over the same histories."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pt2bugs.case.corpus import load_cases
from pt2bugs.cli import main
from pt2bugs.report.site import Site
from pt2bugs.results.folder import open_results

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site() -> Site:
    """What the pages show of the committed results."""
    cases = load_cases([ROOT / "cases"])
    return Site(cases, open_results(ROOT / "results").load(cases, print).rows(), [])


@pytest.mark.parametrize(("before", "after"), [("2.9.1", "2.13.0"), ("2.5.1", "2.9.1"), ("2.13.0", "2.12.1")])
def test_the_page_counts_as_compare_does(
    site: Site, before: str, after: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    main(["compare", before, after, "--offline", "--json"])
    told = json.loads(capsys.readouterr().out)
    shown = site.comparison()
    old, new = shown["releases"].index(before), shown["releases"].index(after)
    changes = Counter(
        shown["names"][check["changes"][check["kinds"][old]][check["kinds"][new]]] for check in shown["checks"]
    )
    summary = told["summary"]
    assert {name: summary[name] for name in shown["names"]} == {name: changes[name] for name in shown["names"]}
    assert summary["checks"] == len(shown["checks"]) == len(site.compare(before, after).differences)


def test_cases_that_are_gone_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from seeded import write_case, write_journal

    monkeypatch.chdir(tmp_path)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B"})
    gone = write_case(tmp_path, "pytorch_2")
    write_journal(tmp_path, gone, {"2.9.1": "B"})
    gone.unlink()
    main(["doctor", "--json"])
    (finding,) = [told for told in json.loads(capsys.readouterr().out) if told["name"] == "results"]
    assert finding["seen"] == "results: lines of cases that do not exist: pytorch_2"
    main(["check", "--no-run"])
    assert "lines of cases that do not exist, and no table has them: pytorch_2" in capsys.readouterr().err


def test_a_journal_named_by_another_release_is_read_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from seeded import write_case, write_journal

    monkeypatch.chdir(tmp_path)
    case = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, case, {"2.9.1": "B"})
    write_journal(tmp_path, case, {"2.10.0": "."}, results="other")
    moved = Path("results/journal/torch-2.8.0-py3.11.jsonl")
    Path("other/journal/pytorch_1.jsonl").rename(moved)
    main(["compare", "2.9.1", "2.10.0", "--offline", "--json"])
    told = capsys.readouterr()
    assert json.loads(told.out)["summary"]["fixed"] == 1
    problem = f"{moved}: has lines of torch 2.10.0, though it is named by torch 2.8.0"
    assert problem in told.err
    main(["doctor", "--json"])
    (finding,) = [told for told in json.loads(capsys.readouterr().out) if told["name"] == "results"]
    assert (finding["is_fine"], finding["seen"].startswith(problem)) == (None, True)
    moved.rename(moved.with_name("torch-2.10.0-py3.11.jsonl"))
    main(["doctor", "--json"])
    (finding,) = [told for told in json.loads(capsys.readouterr().out) if told["name"] == "results"]
    assert (finding["is_fine"], finding["seen"]) == (True, "results: every line has its case")


def test_only_the_releases_asked_for_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from seeded import write_case, write_journal

    monkeypatch.chdir(tmp_path)
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.9.1": "B", "2.10.0": "."})
    (journal,) = (tmp_path / "results" / "journal").iterdir()
    of_release = dict.fromkeys(("2.9.1", "2.10.0"), "")
    for line in journal.read_text().splitlines():
        of_release[json.loads(line)["torch"].partition("+")[0]] += f"{line}\n"
    for release, lines in of_release.items():
        journal.with_name(f"torch-{release}-py3.11.jsonl").write_text(lines)
    journal.unlink()
    journal.with_name("torch-2.8.0-py3.11.jsonl").write_text("torn\n")
    main(["compare", "2.9", "2.10", "--offline"])
    told = capsys.readouterr()
    assert "1 fixed" in told.out
    assert "torn" not in told.err
    # A journal of another name may hold any release; and what there is instead of a release is told from all.
    journal.write_text("torn\n")
    main(["compare", "2.9", "2.10", "--offline"])
    assert f"{journal.relative_to(tmp_path)}:1: dropped a torn line" in capsys.readouterr().err
    assert main(["compare", "2.9", "2.11", "--offline"]) == 2
    assert "it has 2.9.1 to 2.10.0" in capsys.readouterr().err
