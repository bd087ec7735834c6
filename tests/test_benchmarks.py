"""What the benchmarks measure on is what the project writes; their figures are for `docs/evaluation/performance.md`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from browser import needs_browser

ROOT = Path(__file__).resolve().parent.parent


def test_a_generated_journal_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from generated import releases, write_corpus, write_journal
    from pt2bugs.case.corpus import load_cases
    from pt2bugs.results.journal import problem_of

    corpus, journal = tmp_path / "cases", tmp_path / "journal"
    write_corpus(corpus, 5)
    cells = write_journal(tmp_path, corpus, 40, releases(3))
    checks = sum(len(case.checks) for case in load_cases([corpus]))
    assert cells == 3 * checks
    lines = [json.loads(line) for file in sorted(journal.iterdir()) for line in file.read_text().splitlines()]
    assert len(lines) == cells * max(1, 40 // cells)
    assert [problem for line in lines if (problem := problem_of(line))] == []


# Those of mistakes.py define operators of torch when they are imported.
PROGRAMS = [path for path in sorted((ROOT / "benchmarks").glob("*.py")) if path.stem != "mistakes"]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_can_be_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the modules that it takes from beside it and from the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delitem(sys.modules, path.stem, raising=False)
    __import__(path.stem)


def test_every_program_of_a_thread_has_its_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from pt2bugs.case.corpus import load_cases
    from triage_threads import FOLDER, truths

    known = truths()
    assert set(known) == {path.stem for path in FOLDER.glob("*.py")}
    cases = {case.id: case for case in load_cases([ROOT / "cases"])}
    for name, truth in known.items():
        case = cases.get(truth.get("known", ""))
        of_thread = truth["known"] if case else truth.get("case-since", "")
        assert (f"pytorch_{truth['thread']}" in cases) == (of_thread in cases), f"{name}: the thread has a case"
        assert case is None or case.component in truth["component"], name


def test_what_is_right_about_a_triage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from triage_threads import rights_of

    truth = {"verdict": "bug", "rung": ["eager"], "class": "crash", "component": ["dynamo"], "known": "pytorch_1"}
    row = {"verdict": "bug", "rung": "eager", "class": "crash", "component": "fx", "known": [["similar", "pytorch_1"]]}
    assert rights_of(row, truth) == {"verdict": True, "rung": True, "class": True, "component": False, "known": False}
    assert rights_of(row, {"verdict": "not-a-bug"}) == {"verdict": False}


def test_the_tables_of_exposure_are_those_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import exposures

    text = exposures.PAGE.read_text(encoding="utf-8")
    assert text == exposures.page(text), "python benchmarks/exposures.py table"


def test_every_bitten_program_has_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import exposures

    told = exposures.truth()["bitten"]
    assert set(told) == {path.stem for path in (exposures.PROGRAMS / "bitten").glob("*.py")}
    assert set(told.values()) <= {isolation["case"] for isolation in exposures.isolations()}


def test_what_two_moves_must_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from exposures import facts

    run = {"torch": "2.13.0", "graphs": 2, "compile_s": 3.5, "speedup": 1.2, "peak_memory_mb": 400.0}
    lists: dict[str, list[object]] = {"breaks_for_you": [], "fixed_for_you": [], "not_known": []}
    slower = {"what": "9 seconds of compilation (before: 3)"}
    answer = {"runs": [run], "replay": [], "exposure": [], "changes_for_you": [], **lists}
    assert facts(answer) == facts({**answer, "runs": [{**run, "compile_s": 9.0}], "changes_for_you": [slower]})
    assert facts(answer) != facts({**answer, "runs": [{**run, "graphs": 3}]})
    assert facts(answer) != facts({**answer, "changes_for_you": [{"what": "3 graphs (before: 2)"}]})


PAGE = """<!doctype html><html><head><title>a page</title>
<meta name="viewport" content="width=device-width">{style}</head><body style="margin: 0; background: #fff">
<p id="here" style="color: {colour}">Words</p><a href="{link}" style="color: #00c">a link</a>
<details><summary>more</summary><div style="width: {width}">folded</div></details>
<div style="overflow: auto; width: 100px"{reached}><p style="width: 300px">long</p></div>
<input placeholder="words"></body></html>"""
GOOD = {
    "style": "<style>::placeholder { color: #000 }</style>", "colour": "#595959", "link": "#here", "width": "50px",
    "reached": " tabindex=0",
}  # fmt: skip


@needs_browser
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, ""),
        ({"colour": "#959595"}, "a.html at 360, light: contrast of p. 3.0"),
        ({"style": "<style>::placeholder { color: #aaa }</style>"}, "contrast of input. 2.3"),
        ({"style": GOOD["style"] + "<style>p::after { content: 'x'; color: #999 }</style>"}, "contrast of p. 2.8"),
        ({"width": "700px"}, "a.html at 360, light: is 700 wide"),
        ({"reached": ""}, "a.html at 360, dark: no key scrolls div. long"),
        ({"link": "#there"}, "leads nowhere: a.html: #there"),
        ({"link": "b.html"}, "leads nowhere: a.html: b.html"),
    ],
)
def test_what_is_wrong_with_a_page(
    wrong: dict[str, str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import screens

    (tmp_path / "a.html").write_text(PAGE.format(**{**GOOD, **wrong}))
    monkeypatch.setattr(sys, "argv", ["screens.py", str(tmp_path), "--widths", "360"])
    assert screens.main() == (1 if told else 0)
    assert told in capsys.readouterr().err


@needs_browser
def test_nothing_is_wrong_with_the_pages_of_a_report(
    browsed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import screens

    monkeypatch.setattr(sys, "argv", ["screens.py", str(browsed / "site"), "--widths", "360", "1400"])
    assert screens.main() == 0, capsys.readouterr().err


@needs_browser
def test_the_ground_that_a_browser_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that names no colours is light on dark where its reader asks for that."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import screens

    (tmp_path / "a.html").write_text("<!doctype html><style>:root { color-scheme: light dark }</style><p>Words")
    monkeypatch.setattr(sys, "argv", ["screens.py", str(tmp_path), "--widths", "768"])
    assert screens.main() == 0
