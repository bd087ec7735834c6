"""Entries from the journal: ranges from what was measured, identity from what was seen, the rest untouched."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.cli import main
from pt2bugs.curate.bless import ThinJournal, entries_of, measured_of, rewrite
from pt2bugs.curate.case_text import toml_item
from pt2bugs.curate.placeholders import placeholders_in
from pt2bugs.curate.specificity import identity_problem
from seeded import write_case, write_journal
from suite import case_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROGRAM = """
def test_a(backend):
    pass


def test_b(backend):
    pass
"""
KNOWN = {"torch": "<2.3", "outcome": "raise", "error": "RuntimeError", "match": "two devices"}


def write(folder: Path, *bugs: dict[str, Any], **settings: Any) -> Case:
    path = folder / "pytorch_1.py"
    path.write_text(case_text(PROGRAM, bugs=bugs, backends=["eager", "inductor"], **settings))
    return parse_case(path)


def line(torch: str, outcome: str, check: str = "test_a", backend: str = "eager", **more: Any) -> Any:
    record = {"torch": f"{torch}+cpu", "check": check, "backend": backend, "device": "cpu", "outcome": outcome}
    if outcome == "raise":
        record |= {"error_type": "RuntimeError", "message": "found two devices"}
    return {**record, "verdict": "fail", "extras": [], **more}


def measured(*pairs: tuple[str, str]) -> Any:
    """The same outcome of both checks on both backends."""
    return [
        line(torch, outcome, check, backend)
        for torch, outcome in pairs
        for check in ("test_a", "test_b")
        for backend in ("eager", "inductor")
    ]


def ranges(case: Case, records: Any) -> list[tuple[str, str | None, str | None]]:
    return [(entry.versions, entry.check, entry.backend) for entry in entries_of(measured_of(case, records))]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("raise raise pass pass", "<2.7"),
        ("pass raise raise pass", ">=2.6,<2.8"),
        ("pass pass raise raise", ">=2.7"),
        ("raise raise raise raise", ""),
    ],
)
def test_ranges_from_transitions(tmp_path: Path, outcomes: str, expected: str) -> None:
    releases = ("2.5.1", "2.6.0", "2.7.1", "2.8.0")
    records = measured(*zip(releases, outcomes.split(), strict=True))
    assert ranges(write(tmp_path, KNOWN), records) == [(expected, None, None)]


def test_a_change_between_patches_is_put_at_the_patch(tmp_path: Path) -> None:
    records = measured(("2.5.0", "pass"), ("2.5.1", "raise"))
    assert ranges(write(tmp_path, KNOWN), records) == [(">=2.5.1", None, None)]


def test_a_gap_between_measured_releases_is_marked(tmp_path: Path) -> None:
    """Which minor release in the gap changed it nobody saw; once they are measured the mark goes."""
    case = write(tmp_path, KNOWN)
    records = measured(("2.12.1", "raise"), ("2.15.0", "pass"))
    (entry,) = entries_of(measured_of(case, records))
    assert (entry.versions, entry.unmeasured) == ("<2.15", ("2.13", "2.14"))
    case.path.write_text(rewrite(case, case.path.read_text(), [entry], measured_of(case, records)))
    (placeholder,) = placeholders_in(case.path.read_text())
    assert placeholder.text == "is to be filled in: 2.13, 2.14 not measured"
    again, records = parse_case(case.path), [*records, *measured(("2.13.0", "raise"), ("2.14.1", "pass"))]
    new = rewrite(again, case.path.read_text(), entries_of(measured_of(again, records)), measured_of(again, records))
    assert not placeholders_in(new)
    assert '"<2.14"' in new


def test_a_bug_that_comes_back(tmp_path: Path) -> None:
    records = measured(("2.5.1", "raise"), ("2.6.0", "pass"), ("2.7.1", "raise"), ("2.8.0", "pass"))
    assert ranges(write(tmp_path, KNOWN), records) == [("<2.6", None, None), (">=2.7,<2.8", None, None)]


def test_skips_and_errors_are_no_answers(tmp_path: Path) -> None:
    records = measured(("2.5.1", "skip"), ("2.6.0", "raise"), ("2.7.1", "error"), ("2.8.0", "pass"))
    assert ranges(write(tmp_path, KNOWN), records) == [("<2.8", None, None)]


def test_one_check_or_one_backend(tmp_path: Path) -> None:
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    case = write(tmp_path, KNOWN)
    for record in records:
        if record["check"] == "test_b":
            record |= line("2.6.0", "raise", "test_b", record["backend"]) | {"torch": record["torch"]}
    assert ranges(case, records) == [("", "test_b", None)]
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    records = [r if r["backend"] == "eager" else line(r["torch"][:5], "raise", r["check"], "inductor") for r in records]
    assert ranges(case, records) == [("", None, "inductor")]


def test_a_new_identity(tmp_path: Path) -> None:
    records = measured(("2.5.1", "raise"), ("2.6.0", "pass"))
    for record in records:
        if record["torch"].startswith("2.6"):
            record |= {"outcome": "crash", "signal": "SIGSEGV", "message": "died by SIGSEGV"}
    known, new = entries_of(measured_of(write(tmp_path, KNOWN), records))
    assert (known.identity.known, known.versions) == (0, "<2.6")
    assert (new.identity.known, new.versions, str(new.identity.outcome), new.identity.signal) == (
        None,
        ">=2.6",
        "crash",
        "SIGSEGV",
    )


def test_failures_with_one_first_line_in_several_functions_are_a_question(tmp_path: Path) -> None:
    """Whether the failure moved, or these are several, the words cannot say."""
    frames = {
        "2.5.1": "torch/_dynamo/builder.py:1 wrap",
        "2.6.0": "torch/_dynamo/builder.py:9 wrap",
        "2.7.1": "torch/fx/node.py:3 call",
        "2.8.0": "",
    }
    records = [line(torch, "raise", frame=frame) for torch, frame in frames.items()]
    case = write(tmp_path)
    measured = measured_of(case, [*records, line("2.9.1", "pass")])
    case.path.write_text(rewrite(case, case.path.read_text(), entries_of(measured), measured))
    new, moved = (placeholder.text for placeholder in placeholders_in(case.path.read_text()))
    assert "blocked" in new
    assert "fails on 2.6.0 in torch/_dynamo/builder.py wrap, 2.7.1 in torch/fx/node.py call" in moved
    # An entry that a person has seen is not asked about again.
    case.path.write_text("\n".join(text for text in case.path.read_text().split("\n") if "TO FILL IN" not in text))
    again = parse_case(case.path)
    measured = measured_of(again, [*records, line("2.9.1", "pass")])
    assert not placeholders_in(rewrite(again, case.path.read_text(), entries_of(measured), measured))


def test_the_pattern_of_a_new_identity_leaves_numbers_open(tmp_path: Path) -> None:
    message = "backend='inductor' raised:\nLoweringException: AssertionError: size 12 of arg0_1 (got 3.5)"
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    records[-1] |= {"outcome": "raise", "error_type": "torch.X", "message": message}
    (entry,) = entries_of(measured_of(write(tmp_path), records))
    assert entry.identity.match == r"size \d+ of arg\d+_\d+ \(got \d+\.\d+\)"
    assert re.search(entry.identity.match, message)


@pytest.mark.parametrize("outcome", ["timeout", "oom"])
def test_the_signal_that_ended_a_cell_over_its_limit_is_not_the_bug(tmp_path: Path, outcome: str) -> None:
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    records[-1] |= {"outcome": outcome, "signal": "SIGKILL", "message": "killed"}
    path = write(tmp_path).path
    case = parse_case(path)
    entries = entries_of(measured_of(case, records))
    path.write_text(rewrite(case, path.read_text(), entries, measured_of(case, records)))
    (bug,) = parse_case(path).bugs
    assert (str(bug.outcome), bug.signal) == (outcome, None)


@pytest.mark.parametrize(
    ("message", "pattern"),
    [
        (
            "Tensor-likes are not close!\n\nMismatched elements: 3 / 12 (25.0%)\n"
            "Greatest absolute difference: 0.07130113 at index (1, 7) (up to 1e-05 allowed)\n",
            r"Mismatched elements: 3 / 12 \([\d.]+%\)\nGreatest absolute difference: 0\.0713\d* ",
        ),
        ("f(x) == 4 is false: 3.1415926", r"f\(x\) == 4 is false: 3\.1415\d*"),
        (
            "The values for attribute 'shape' do not match: torch.Size([2]) != torch.Size([3]).",
            r"The values for attribute 'shape' do not match: torch\.Size\(\[2\]\) != torch\.Size\(\[3\]\)\.",
        ),
        ("Scalars are not equal!\n\nExpected 7 but got -1.\nAbsolute difference: 8\n", r"Expected 7 but got -1"),
    ],
)
def test_a_wrong_number_is_told_by_its_numbers(tmp_path: Path, message: str, pattern: str) -> None:
    """`check` refuses the words alone, which `assert_close` says of any two numbers."""
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    records[-1] |= {"outcome": "wrong", "error_type": "AssertionError", "message": message}
    case = write(tmp_path)
    (entry,) = entries_of(measured_of(case, records))
    assert entry.identity.match == pattern
    assert re.search(pattern, message)
    bug = Bug(Outcome.WRONG, error="AssertionError", match=pattern)
    assert identity_problem(case, bug, [Observation.from_dict(records[-1])]) == ""


def test_a_dtype_is_no_size(tmp_path: Path) -> None:
    """The number of a dtype is part of what tells the bug from another."""
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    message = "bfloat16 and uint8 gave torch.float32, not int64, at point 3"
    records[-1] |= {"outcome": "raise", "error_type": "AssertionError", "message": message}
    (entry,) = entries_of(measured_of(write(tmp_path), records))
    assert entry.identity.match == r"bfloat16 and uint8 gave torch\.float32, not int64, at point \d+"


def test_a_thin_journal(tmp_path: Path) -> None:
    case = write(tmp_path, KNOWN)
    with pytest.raises(ThinJournal, match="no release has an answer"):
        entries_of(measured_of(case, []))
    with pytest.raises(ThinJournal, match="only 1 release"):
        entries_of(measured_of(case, measured(("2.5.1", "raise"))))
    flaky = measured(("2.5.1", "raise"), ("2.6.0", "raise"))
    flaky[0] |= {"verdict": "flaky", "message": "repeats disagree: pass 1/2, raise 1/2"}
    with pytest.raises(ThinJournal, match=r"test_a is flaky on torch 2\.5\.1\+cpu: repeats disagree"):
        entries_of(measured_of(case, flaky))


def test_the_text_keeps_all_else(tmp_path: Path) -> None:
    case = write(tmp_path, KNOWN, labels=["x"])
    text = case.path.read_text().replace("# torch =", "# # measured by hand\n# torch =")
    records = measured(("2.5.1", "raise"), ("2.6.0", "raise"), ("2.7.1", "pass"))
    new = rewrite(case, text, entries_of(measured_of(case, records)), measured_of(case, records))
    assert new == text.replace('"<2.3"', '"<2.7"').replace("# [[", "#\n# [[")
    case.path.write_text(new)
    again = parse_case(case.path)
    assert again.hash == case.hash
    assert rewrite(again, new, entries_of(measured_of(again, records)), measured_of(again, records)) == new


def test_an_entry_for_what_was_not_measured_stays(tmp_path: Path) -> None:
    cuda = {"torch": ">=2.2", "device": "cuda", "outcome": "crash", "signal": "SIGSEGV"}
    case = write(tmp_path, KNOWN, cuda, devices=["cpu", "cuda"])
    records = measured(("2.2.2", "pass"), ("2.6.0", "pass"))
    new = rewrite(case, case.path.read_text(), entries_of(measured_of(case, records)), measured_of(case, records))
    case.path.write_text(new)
    assert [bug.device for bug in parse_case(case.path).bugs] == ["cuda"], "the other one was seen nowhere"


def test_an_entry_that_shows_twice_is_repeated(tmp_path: Path) -> None:
    case = write(tmp_path, KNOWN)
    records = measured(("2.5.1", "raise"), ("2.6.0", "pass"), ("2.7.1", "raise"))
    answers = measured_of(case, records)
    case.path.write_text(rewrite(case, case.path.read_text(), entries_of(answers), answers))
    assert [(str(bug.torch), bug.match) for bug in parse_case(case.path).bugs] == [
        ("<2.6", "two devices"),
        (">=2.7", "two devices"),
    ]


@pytest.mark.parametrize(
    "text", ["plain", r"a\d+ b", "it's \\d", 'a "quoted" \\ text', "üñ", "\x7f\x00\u2028\x85", "\U0001f389 'a' \\"]
)
def test_strings_survive_toml(text: str) -> None:
    assert tomllib.loads(f"x = {toml_item(text).as_string()}")["x"] == text


def test_a_failure_without_words_is_told_by_having_none(tmp_path: Path) -> None:
    records = measured(("2.5.1", "pass"), ("2.6.0", "pass"))
    records[-1] |= {"outcome": "raise", "error_type": "AssertionError", "message": "\n"}
    (entry,) = entries_of(measured_of(write(tmp_path), records))
    assert re.search(entry.identity.match, "\n\nYou can suppress this exception")
    assert re.search(entry.identity.match, "")
    assert not re.search(entry.identity.match, "words")


@pytest.mark.parametrize(
    ("letters", "specifier"),
    [
        ({"2.8.0": "B", "2.12.1": "."}, "<2.10"),  # says what was seen, and more
        ({"2.8.0": "B", "2.9.1": ".", "2.12.1": "."}, "<2.9"),
        ({"2.8.0": "B", "2.10.0": "B", "2.12.1": "."}, "<2.12"),
        ({"2.8.0": "B"}, "<2.10"),  # too thin
    ],
)
def test_only_a_header_that_is_wrong_is_changed(
    tmp_path: Path, letters: dict[str, str], specifier: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_case(tmp_path, "pytorch_1")
    write_journal(tmp_path, path, letters)
    code = main(["bless", "--cases", str(tmp_path / "cases"), "--results", str(tmp_path / "results")])
    assert code == (1 if len(letters) < 2 else 0)
    assert [str(bug.torch) for bug in parse_case(path).bugs] == [specifier]
    assert bool(capsys.readouterr().out) == (specifier != "<2.10"), "the diff is shown"


def versions(*triples: tuple[str, str, str]) -> Any:
    """The outcome of one check on a release beside a version of a package."""
    return [line(torch, outcome, extras=[f"mine=={version}"]) for torch, version, outcome in triples]


def test_a_bug_that_a_version_of_a_package_has(tmp_path: Path) -> None:
    """A wrong identity is replaced, and what the entry says of other packages stays."""
    old = {**KNOWN, "packages": {"numpy": "<2", "mine": "<2"}}
    del old["torch"]
    case = write(tmp_path, old, {"packages": {"mine": "<2"}, "outcome": "crash"})
    answers = measured_of(
        case, versions(("2.13.0", "1.0", "raise"), ("2.13.0", "1.1", "raise"), ("2.13.0", "1.2", "pass"))
    )
    assert answers.axis == "mine"
    case.path.write_text(rewrite(case, case.path.read_text(), entries_of(answers), answers))
    (bug,) = parse_case(case.path).bugs
    assert ({name: str(spec) for name, spec in bug.packages.items()}, str(bug.torch), bug.match) == (
        {"numpy": "<2", "mine": "<1.2"}, "", KNOWN["match"],
    )  # fmt: skip


def test_a_bug_of_every_version_of_a_package_names_none(tmp_path: Path) -> None:
    case = write(tmp_path, {"packages": {"mine": "<2"}, "outcome": "crash"})
    answers = measured_of(case, versions(("2.13.0", "1.0", "raise"), ("2.13.0", "1.1", "raise")))
    case.path.write_text(rewrite(case, case.path.read_text(), entries_of(answers), answers))
    (bug,) = parse_case(case.path).bugs
    assert (bug.packages, str(bug.outcome), bug.error) == ({}, "raise", "RuntimeError")


def test_releases_count_where_versions_of_a_package_agree(tmp_path: Path) -> None:
    both = [(torch, version, seen) for torch, seen in (("2.9.1", "raise"), ("2.10.0", "pass")) for version in "12"]
    answers = measured_of(write(tmp_path, KNOWN), versions(*both))
    assert (answers.axis, [entry.versions for entry in entries_of(answers)]) == ("torch", ["<2.10"])


def test_where_both_differ_a_person_writes(tmp_path: Path) -> None:
    records = versions(
        ("2.9.1", "1", "raise"), ("2.9.1", "2", "pass"), ("2.10.0", "1", "pass"), ("2.10.0", "2", "raise")
    )
    with pytest.raises(ThinJournal, match="by the versions of torch and of mine"):
        measured_of(write(tmp_path, KNOWN), records)
