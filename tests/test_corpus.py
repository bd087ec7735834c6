"""The page of the corpus: counts add up, lives are as measured, left-out bugs are named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pt2bugs
import pytest
import yaml
from pt2bugs.case.corpus import load_cases
from pt2bugs.report.corpus import Census, cases_by_area, corpus_page, known_areas
from pt2bugs.results.folder import Results
from pt2bugs.results.history import History, Life
from seeded import BLOCKED, BUG, write_case, write_journal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("BB..", "2.8.0 to 2.9.1: there from the first, fixed in 2.10.0"),
        (".B..", "2.9.1 to 2.9.1: introduced after 2.8.0, fixed in 2.10.0"),
        ("..BB", "2.10.0 to 2.11.0: introduced after 2.9.1, not fixed yet"),
        (
            "B.B.",
            "2.8.0 to 2.8.0: there from the first, fixed in 2.9.1; "
            "2.10.0 to 2.10.0: introduced after 2.9.1, fixed in 2.11.0",
        ),
        ("BsB.", "2.8.0 to 2.10.0: there from the first, fixed in 2.11.0"),
        ("EFs.", "passes wherever measured"),
    ],
)
def test_life(tmp_path: Path, letters: str, expected: str) -> None:
    releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), dict(zip(releases, letters, strict=True)))
    assert Life.of(rows_of(tmp_path)).sentence == expected


def rows_of(folder: Path) -> list[History]:
    return Results(folder / "results").load(load_cases([folder / "cases"]), pytest.fail).rows()


def test_page(tmp_path: Path) -> None:
    for number, component, symptom in ((1, "dynamo", "crash"), (2, "dynamo", "hang"), (3, "inductor", "crash")):
        settings: dict[str, Any] = {
            "component": component,
            "symptom": symptom,
            "title": f"a | b {number}",
            "guard": number == 3,
        }
        path = write_case(tmp_path, f"pytorch_{number}", **settings, bugs=[])
    write_journal(tmp_path, path, {"2.9.1": "."})
    (tmp_path / "left_out.toml").write_text('[pytorch_9]\nissue = "https://example.org/9"\nwhy = "needs a GPU"\n')
    page = corpus_page(load_cases([tmp_path]), rows_of(tmp_path), [tmp_path])
    (tmp_path / "ABOUT.md").write_text("## How they were chosen\n\nWith care.\n")
    assert "With care." in corpus_page(load_cases([tmp_path]), rows_of(tmp_path), [tmp_path])
    assert "3 cases with 3 checks, measured on torch 2.9.1." in page
    assert "| 2.9.1 | 1 | 0 |" in page
    assert "| hangs | 1 | 0 |  | fewer than three |" in page
    assert "not measured on cpu" in page
    assert "| dynamo |  |  |  |  |  | 1 | 1 |  |  |  | 2 |" in page
    assert "| all | 0 | 0 | 0 | 0 | 0 | 2 | 1 | 0 | 0 | 0 | 3 |" in page
    assert "a \\| b 1" in page
    assert "guard: passes wherever measured" in page
    assert "- [pytorch_9](https://example.org/9): needs a GPU" in page


def test_the_census(tmp_path: Path) -> None:
    """Twins count once, guards and what was not measured not at all; what is for accelerators alone counts apart."""
    for number, settings, letters in (
        (1, {}, "BB.."),
        (2, {"same_fix": "pytorch_1"}, "B..."),
        (3, {"same_fix": "pytorch_4", "devices": ["cpu", "cuda"]}, ".BBB"),
        (4, {"same_fix": "pytorch_3"}, ".BB."),
        (5, {"guard": True, "bugs": []}, "...."),
        (6, {"devices": ["cuda"]}, ""),
        (7, {}, "...."),
        (8, {}, "B.B."),
    ):
        path = write_case(tmp_path, f"pytorch_{number}", **settings)
        if letters:
            releases = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
            write_journal(tmp_path, path, dict(zip(releases, letters, strict=True)))
    census = Census(load_cases([tmp_path / "cases"]), rows_of(tmp_path))
    assert sorted(census.seen_failing) == [f"pytorch_{number}" for number in (1, 2, 3, 4, 8)]
    assert census.distinct_bugs == 3
    assert [case.id for case in census.gpu_cases] == ["pytorch_6"]
    assert [case.id for case in census.also_cuda] == ["pytorch_3"]
    assert [case.id for case in census.unseen] == ["pytorch_7"]
    assert [case.id for case in census.waiting] == ["pytorch_6"]
    assert len(census.counted) == 7
    assert set(census.measured_devices) == {"cpu"}
    assert census.cells_by_release[0] == ("2.8.0", 7, 0)
    lives = census.lives
    assert {key: lives[key] for key in ("seen", "open", "gone", "from_first", "came", "came_back")} == {
        "seen": 5, "open": 1, "gone": 4, "from_first": 2, "came": 3, "came_back": 1,
    }  # fmt: skip
    assert lives["spans"] == [(1, 1), (2, 3)]


def test_what_is_no_bug_is_counted_beside(tmp_path: Path) -> None:
    """A limitation that was seen failing is a case, and no bug; a guard is of no kind."""
    seen = {"upstream": "open", "upstream_seen": "2026-11-20"}
    guard: dict[str, Any] = {"guard": True, "bugs": []}
    for number, settings in enumerate(({}, seen, {"kind": "limitation", **seen}, guard)):
        path = write_case(tmp_path, f"pytorch_{number}", **settings)
        write_journal(tmp_path, path, {"2.9.1": "." if settings is guard else "B"})
    census = Census(load_cases([tmp_path / "cases"]), rows_of(tmp_path))
    assert census.distinct_bugs == 2
    assert census.kinds == [("bug", 2, 2, [1, 0]), ("limitation", 1, 1, [1, 0])]


def test_why_a_life_is_left_censored(tmp_path: Path) -> None:
    """The oldest release has it, an older one fails in another way, or has no such API; one that came later is not."""
    for number, letters in enumerate(("BB", "bB", "sB", ".B")):
        path = write_case(tmp_path, f"pytorch_{number}", bugs=[BLOCKED, BUG])
        write_journal(tmp_path, path, dict(zip(("2.2.0", "2.9.1"), letters, strict=True)))
    path = tmp_path / "cases" / "dynamo" / "pytorch_0.py"
    path.write_text(path.read_text().replace('"<2.3"', '"<2.1"'))
    lives = Census(load_cases([tmp_path / "cases"]), rows_of(tmp_path)).lives
    assert lives["censored"] == {"oldest": 1, "hidden": 1, "absent": 1}
    assert lives["from_first"] == 3


@pytest.mark.parametrize(
    ("program", "settings", "areas"),
    [
        ("class F(torch.autograd.Function): pass", {}, {"autograd.Function"}),
        (
            "torch.func.grad(f)(F(torch.autograd.Function))",
            {},
            {"autograd.Function", "autograd.Function under torch.func"},
        ),
        ("torch.cond(x, f, g, (x,))", {}, {"control flow (cond, while_loop, scan, map)"}),
        ("x.register_hook(print)", {"labels": ["cache"]}, {"hooks", "caches"}),
        ("'flexible attention is no flex' + 'attention'", {"component": "quantization"}, {"quantization"}),
        ("pass", {"symptom": "hang"}, {"hangs"}),
        ("pass", {"symptom": "missing-error"}, {"checks that eager makes and compiled code drops"}),
        (
            "F.scaled_dot_product_attention(q, k, v)",
            {"labels": ["threads"]},
            {"attention: flex attention, SDPA and its fusion", "threads"},
        ),
        ("assert y.stride() == (1, 4)", {"labels": ["accuracy"]}, {"strides", "numerical accuracy"}),
        ("pass", {}, set()),
    ],
)
def test_areas(tmp_path: Path, program: str, settings: dict[str, Any], areas: set[str]) -> None:
    """By label, component, symptom, or what the program uses; header and docstring are not the program."""
    path = write_case(tmp_path, "pytorch_1", **{"symptom": "graph-break", "title": "numpy and torch.cond", **settings})
    path.write_text(
        path.read_text().replace("def test_it", f'"""Freezing of torch.optim."""\n\n{program}\n\ndef test_it')
    )
    by_area = cases_by_area(load_cases([tmp_path]))
    assert {area.name for area, cases in by_area if cases} == areas
    assert len(by_area) == len(known_areas())


def test_the_citation_is_valid() -> None:
    """The keys that the Citation File Format 1.2.0 requires, and none that it does not know."""
    root = Path(__file__).parent.parent
    cited = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    known = {
        "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi", "identifiers", "keywords",
        "license", "license-url", "message", "preferred-citation", "references", "repository", "repository-artifact",
        "repository-code", "title", "type", "url", "version",
    }  # fmt: skip
    assert set(cited) <= known
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] in ("software", "dataset")
    assert all(set(author) & {"name", "family-names", "given-names", "alias"} for author in cited["authors"])
    assert len(set(cited["keywords"])) == len(cited["keywords"])
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (pt2bugs.__version__, project["license"])
    assert cited.get("repository-code") == project.get("urls", {}).get("Repository")
