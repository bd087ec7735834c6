"""The pages as files: valid HTML, links that lead somewhere, counts that add up, text that stays text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib
import pandas as pd
import pytest
from links import dead_links
from pt2bugs.cli import main
from pt2bugs.report.site import reflowed, short_address
from pt2bugs.report.style import OUTCOME_LETTERS, STYLES
from pt2bugs.results.folder import backend_folder
from report_project import HOSTILE, HOSTILE_ISSUE, RELEASES, ROWS, find, folder_options, line_of, text_of, write_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    assert main(["report", "-o", str(folder / "site"), *folder_options(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def pages(project: Path) -> dict[str, Element]:
    """Every page, parsed by a parser that refuses what the HTML standard calls an error."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    site = project / "site"
    return {str(path.relative_to(site)): parser.parse(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_a_page_per_case(pages: dict[str, Element]) -> None:
    names = {f"case/{name}.html" for name in (*ROWS, "pytorch_9", "hostile")}
    tops = {"index.html", "compare.html", "trends.html", "data.html", "fixes.html", "backends.html"}
    parts = {"component/dynamo.html", "component/inductor.html", "backend/mine.html", ODD}
    assert set(pages) == {*tops, *parts, *names}


def test_ids_are_unique_and_fields_have_labels(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        ids = [element.get("id") for element in page.iter() if element.get("id")]
        assert len(ids) == len(set(ids)), name
        for reference in ("aria-labelledby", "for"):
            named = {element.get(reference) for element in page.iter() if element.get(reference)}
            assert named <= set(ids), name
        fields = [element for kind in ("input", "select") for element in page.iter(kind)]
        labelled = [
            element for label in page.iter("label") for element in label.iter() if element.tag in ("input", "select")
        ]
        assert fields == [element for element in page.iter() if element in labelled], name
        heads = [element for element in page.iter("th") if not element.get("scope")]
        assert heads == [], name


def test_every_link_leads_somewhere(project: Path, pages: dict[str, Element]) -> None:
    site = (project / "site").resolve()
    assert dead_links(site, [site / name for name in pages])[2] == []
    addresses = {link.get("href") or "" for page in pages.values() for link in page.iter("a")}
    assert all(address.startswith("https://") for address in addresses if re.match(r"\w+:", address))


def test_nothing_comes_from_elsewhere(project: Path, pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        used = [element.get("src") or "" for element in page.iter() if element.get("src")]
        used += [element.get("href") or "" for element in page.iter("link")]
        for address in used:
            assert address == "data:," or ((project / "site" / name).parent / address).is_file(), address
    for file in project.glob("site/*.[jc]s*"):
        assert not re.search(r"https?:|import |@import|url\(", file.read_text()), file


def letters(page: Element) -> dict[str, list[str]]:
    table = find(page, id="matrix")
    rows = [row for row in table.iter("tr") if row.get("data-anchor")]
    return {text_of(row.find("th/small")): [text_of(cell).strip() for cell in row.iter("td")] for row in rows}


def test_the_matrix_is_that_of_the_export(project: Path, pages: dict[str, Element]) -> None:
    assert main(["export", "--format", "csv", "-o", str(project / "matrix.csv"), *folder_options(project)]) == 0
    matrix = pd.read_csv(project / "matrix.csv", keep_default_na=False)
    by_value = {**{name: style.letter.strip() for name, style in STYLES.items()}}
    by_value |= {f"xfail:{outcome}": letter for outcome, letter in OUTCOME_LETTERS.items()}
    expected = {
        f"{row['case']}::{row['check']}[cpu-inductor]": [by_value[row[release]] for release in reversed(RELEASES)]
        for _, row in matrix.iterrows()
    }
    assert letters(pages["index.html"]) == expected
    heads = [text_of(element) for element in find(pages["index.html"], id="matrix").findall("thead/tr/th")]
    assert heads == ["Check", *reversed(RELEASES)], "the newest first"


def test_counts_add_up(pages: dict[str, Element]) -> None:
    page = pages["index.html"]
    counts = {
        row.get("data-count") or "": [int(text_of(cell)) for cell in row.iter("td")]
        for row in page.iter("tr")
        if row.get("data-count")
    }
    total = counts.pop("all")
    assert total == [5] * len(RELEASES)
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == total
    (lede,) = (" ".join(text_of(element).split()) for element in page.iter("p") if element.get("class") == "lede")
    assert lede.startswith("5 cases with 5 checks, 5 rows x 4 torch releases: 20 cells, ")
    stated = {name: int(number) for number, name in re.findall(r"(\d+) (not run|\w+)[,.]", lede.split("cells, ")[1])}
    assert stated == {name.replace("none", "not run"): sum(row) for name, row in counts.items()}
    assert sum(stated.values()) == 20


def test_a_history_has_the_transitions_of_bisect(
    project: Path, pages: dict[str, Element], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["bisect", "--torch", "all", "--thorough", "--offline", "--json", *folder_options(project)])
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert sum(len(answer["transitions"]) for answer in answers) == 4
    for answer in answers:
        shown = [
            re.match(r"(\w+) between torch (\S+) and ([\d.]*\d)", text_of(item))
            for block in pages[f"case/{answer['case']}.html"].iter("ul")
            if block.get("class") == "transitions"
            for item in block
        ]
        expected = [(change["kind"], change["before"], change["after"]) for change in answer["transitions"]]
        assert [change.groups() for change in shown if change] == expected


def test_a_transition_names_what_cannot_say_and_links_the_commits(pages: dict[str, Element]) -> None:
    (block,) = (element for element in pages["case/pytorch_4.html"].iter("ul") if element.get("class") == "transitions")
    shown = "introduced between torch 2.2.2 and 2.13.0 (2.9.1, 2.10.0 cannot say): the commits between"
    assert " ".join(text_of(block).split()) == shown
    (link,) = block.iter("a")
    before, after = "222".ljust(40, "0"), "2130".ljust(40, "0")
    assert link.get("href") == f"https://github.com/pytorch/pytorch/compare/{before}...{after}"


def test_the_newest_release_is_compared_as_compare_does(
    project: Path, pages: dict[str, Element], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["compare", *RELEASES[-2:], "--offline", *folder_options(project)])
    (told,) = (line for line in capsys.readouterr().err.splitlines() if " -> " in line)
    counts = told.rpartition(": ")[2].split(", ")
    shown = [text_of(text) for text in pages["index.html"].iter("span") if text.get("class") == "count"]
    # The command also counts the case without results among those it cannot say.
    assert [text for text in shown if text[0] != "0" and "say" not in text] == [
        text for text in counts if "say" not in text
    ]
    assert sum(int(text.split()[0]) for text in shown) == 5


def test_text_stays_text(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        scripts = [element for element in page.iter("script") if element.get("type") != "application/json"]
        assert [text_of(element) for element in scripts] == [""] * len(scripts), name
        assert [element for element in page.iter() if any(key.startswith("on") for key in element.keys())] == [], name  # noqa: SIM118
        assert list(page.iter("img")) == [], name
        assert not any((element.get("href") or "").startswith("javascript") for element in page.iter()), name
    page = pages["case/hostile.html"]
    assert text_of(page.find(".//h1")) == HOSTILE
    assert HOSTILE_ISSUE in [text_of(element) for element in page.iter("a")]
    messages = [text_of(element) for element in page.iter("pre") if element.get("aria-label") == "Message"]
    assert messages == [HOSTILE, HOSTILE]
    assert HOSTILE in text_of(find(page, **{"class": "program"}))
    assert HOSTILE in text_of(pages["index.html"])


def test_a_cell_of_a_case_page_tells_all(pages: dict[str, Element]) -> None:
    cell = text_of(line_of(pages["case/pytorch_2.html"], "test_it-cpu-inductor-2.10.0"))
    for text in ("fail", "crash", "SIGSEGV", "expected to pass on torch 2.10.0", "2.10.0+cpu", "3.11.7"):
        assert text in cell
    assert "pt2bugs run pytorch_2 --torch 2.10.0 --device cpu --backend inductor --rerun" in cell
    xpass = text_of(line_of(pages["case/pytorch_2.html"], "test_it-cpu-inductor-2.9.1"))
    assert "passed, but the documented bug was expected: fixed?" in xpass


def test_the_command_of_a_cell_is_one(
    project: Path, pages: dict[str, Element], capsys: pytest.CaptureFixture[str]
) -> None:
    cell = text_of(line_of(pages["case/pytorch_2.html"], "test_it-cpu-inductor-2.10.0"))
    command = re.search(r"pt2bugs (run .*--rerun)", cell)
    assert command
    # Nothing is run: the index does not answer.
    arguments = [*command[1].split(), *folder_options(project), "--index", "http://127.0.0.1:9/"]
    assert main(arguments) == 2
    assert "package index cannot be asked" in capsys.readouterr().err


def test_a_case_without_results_says_so(pages: dict[str, Element]) -> None:
    assert "No results yet: pt2bugs run pytorch_9" in text_of(pages["case/pytorch_9.html"])
    assert "Without results (1 case)" in text_of(pages["index.html"])


def test_a_case_page_begins_with_what_a_reader_asks(pages: dict[str, Element]) -> None:
    page = pages["case/pytorch_1.html"]
    heads = [text_of(element) for element in page.iter("h2")]
    assert heads == ["The program", "History", "What the header says"]
    assert (
        text_of(find(page, **{"class": "verdict"})) == "Not in the newest release: 2.9.1 (1 release), fixed in 2.10.0."
    )
    assert "Not measured." in text_of(pages["case/pytorch_9.html"])


def test_isolated_fixes_are_named_where_the_evidence_suffices(pages: dict[str, Element]) -> None:
    cause = "ixed in 2.10.0 by a change of _decomp/decompositions.py: embedding (proved)"
    assert f"F{cause}." in text_of(pages["case/pytorch_1.html"])
    assert "by a change of" not in text_of(pages["case/pytorch_3.html"])
    page = text_of(pages["fixes.html"])
    assert "1 of 3 searched are named" in page
    named, _, without = page.partition("Searched without a name (2)")
    assert "Bug pytorch_1" in named
    assert "Bug pytorch_3" in without
    assert HOSTILE in without


def test_addresses_of_issues_are_short() -> None:
    assert short_address("https://github.com/pytorch/pytorch/issues/163640") == "#163640"
    assert short_address("https://github.com/llvm/torch-mlir/pull/2065") == "llvm/torch-mlir#2065"
    assert short_address("https://discuss.pytorch.org/t/1") == "https://discuss.pytorch.org/t/1"


def test_a_search_finds_explanations(pages: dict[str, Element]) -> None:
    texts = json.loads(text_of(find(pages["index.html"], id="texts")))
    assert any(HOSTILE.lower() in text for text in texts)


def test_groups_of_zero_are_dropped(pages: dict[str, Element]) -> None:
    counts = [text_of(text) for text in pages["index.html"].iter("span") if text.get("class") == "count"]
    assert counts
    assert not [text for text in counts if text.startswith("0 ")]
    numbers = find(pages["backend/mine.html"], **{"class": "numbers"})
    assert "0" not in [text_of(text) for text in numbers.iter("dd")]


def test_what_scrolls_takes_the_focus(pages: dict[str, Element]) -> None:
    for name, page in pages.items():
        for element in page.iter("div"):
            if {"short", "figure"} & set((element.get("class") or "").split()):
                assert element.get("tabindex") == "0", name


def test_no_path_of_the_machine(project: Path) -> None:
    for path in (project / "site").rglob("*.*"):
        assert str(project) not in path.read_text()


def test_same_results_same_bytes(project: Path, tmp_path: Path) -> None:
    assert main(["report", "-o", str(tmp_path), *folder_options(project)]) == 0
    for path in tmp_path.rglob("*.*"):
        assert path.read_bytes() == (project / "site" / path.relative_to(tmp_path)).read_bytes()


def test_pages_of_cases_that_are_gone_go_too(project: Path, tmp_path: Path) -> None:
    assert main(["report", "-o", str(tmp_path), *folder_options(project)]) == 0
    own = tmp_path / "case" / "notes.html"
    own.write_text("<!DOCTYPE html><title>mine</title>")
    assert main(["report", "pytorch_1", "-o", str(tmp_path), *folder_options(project)]) == 0
    assert sorted(path.name for path in (tmp_path / "case").iterdir()) == ["notes.html", "pytorch_1.html"]


def test_bad_input(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert main(["report", "-o", str(file), *folder_options(project)]) == 2
    assert file.read_text() == "mine"
    assert main(["report", "pytorch_9", "-o", str(tmp_path / "site"), *folder_options(project)]) == 3
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "nothing to report" in err
    assert not (tmp_path / "site").exists()


def test_soft_line_breaks_are_undone() -> None:
    assert reflowed("a long line of text\nwrapped here.\n\nb\n  c\n- d\n- e") == (
        "a long line of text wrapped here.\n\nb\n  c\n- d\n- e"
    )
    assert reflowed("") == ""


ODD = f"backend/{backend_folder('odd<b>&')}.html"


def test_backends_are_told_apart_from_the_layers_above(
    project: Path, pages: dict[str, Element], capsys: pytest.CaptureFixture[str]
) -> None:
    page = pages["backends.html"]
    table = next(element for element in page.iter("table") if "numbers-table" in (element.get("class") or ""))
    rows = [[text_of(cell) for cell in row.iter("td")] for row in table.findall("tbody/tr")]
    # Its own, inherited, Inductor's, not claimed, cannot say, passes; one case was never run.
    assert rows == [
        ["mine", "2.13.0", "1", "2", "1", "0", "1", "1"],
        ["odd<b>&", "2.13.0", "0", "0", "2", "0", "2", "2"],
    ]
    matrix = next(element for element in page.iter("table") if "matrix" in (element.get("class") or ""))
    letters = {
        text_of(row.find("th/small")).partition("::")[0]: [text_of(cell) for cell in row.iter("td")]
        for row in matrix.iter("tr")
        if row.find("td") is not None
    }
    assert letters == {
        "pytorch_1": ["i", "?"], "pytorch_2": ["F", "."], "pytorch_3": [".", "."], "pytorch_4": ["+", "+"],
        "pytorch_9": ["?", "?"], "hostile": ["i", "+"],
    }  # fmt: skip
    (element,) = (
        each for each in pages["backend/mine.html"].iter("details") if each.get("class") == "cell"
        and "pytorch_2::" in text_of(each)
    )  # fmt: skip
    again = "pt2bugs run pytorch_2 --torch 2.13.0 --device cpu --backend mine --with mine==1.0 --rerun"
    assert again in text_of(element)
    assert "pt2bugs backend mine --torch 2.13.0 --with mine==1.0" in text_of(pages["backend/mine.html"])
    # The command says the same.
    main(["backend", "mine", "--with", "mine==1.0", "--offline", "--json", *folder_options(project)])
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [str(count) for count in groups.values()] == rows[0][2:]


def test_the_data_of_the_page_is_that_of_the_export(project: Path) -> None:
    for name, file in (("csv", "matrix.csv"), ("cells", "cells.csv")):
        assert main(["export", "--format", name, "-o", str(project / file), *folder_options(project)]) == 0
        assert (project / file).read_bytes() == (project / "site" / "data" / file).read_bytes()


def test_filters_of_the_command(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "report",
        "-o",
        str(tmp_path),
        "--torch",
        "2.10",
        "--torch",
        "latest",
        "--verdict",
        "flaky",
        *folder_options(project),
    ]
    assert main(arguments) == 3, "flaky only in 2.9.1"
    arguments[arguments.index("2.10")] = "2.9"
    assert main(arguments) == 0
    page = html5lib.parse((tmp_path / "index.html").read_text(), namespaceHTMLElements=False)
    assert letters(page) == {"pytorch_3::test_it[cpu-inductor]": [".", "~"]}
    assert "2.9 is torch 2.9.1" in capsys.readouterr().err
