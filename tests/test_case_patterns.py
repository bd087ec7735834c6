"""Patterns of a header are searched under a deadline, whatever they are."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pt2bugs.case import patterns
from pt2bugs.case.expectation import Where, judge
from pt2bugs.case.header import parse_case
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome, Verdict
from suite import case_text

WHERE = Where("2.13.0", "3.11.7", "cpu", "inductor")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "DEADLINE_S", 0.5)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", r"(?:.|\s|\w)+$(?=x)"])
def test_a_pattern_without_end_is_given_up(short: None, pattern: str) -> None:
    began = time.monotonic()
    with pytest.raises(patterns.PatternTimeout):
        patterns.search(pattern, "a" * 4000 + "!")
    assert time.monotonic() - began < 30
    assert patterns.search(r"(b+)+c", "abbc"), "and the next one is searched again"


@pytest.mark.parametrize("pattern", ["(.*.*.*.*.*)*x", r"(a*)\1*b"])
def test_what_needs_a_character_that_is_not_there_ends_at_once(short: None, pattern: str) -> None:
    assert not patterns.search(pattern, "a" * 4000 + "!")


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("abc", 3),
        (r"a\.b\[c\]\n", 7),
        (r"\d+ of \w*", 4),
        ("ab?c*d+", 2),
        ("(?:abc|d)e", 2),
        ("(?P<name>abc)?d", 1),
        ("(abc){2}", 3),
        ("[abc][^]]x", 1),
        ("abc|de", 2),
        ("(?i)ab", 2),
    ],
)
def test_characters_that_a_pattern_fixes(pattern: str, length: int) -> None:
    assert patterns.literal_length(pattern) == length


def test_the_verdict_names_the_entry(short: None, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(case_text("def test_a(): pass\n", bugs=[{"outcome": "raise", "match": "(a+)+$"}]))
    case = parse_case(path)
    judged = judge(case, "test_a", WHERE, Observation(Outcome.RAISE, "RuntimeError", "a" * 4000 + "!"))
    assert judged.verdict is Verdict.ERROR
    assert f"a.py: entries in lines {case.bugs[0].line}" in judged.reason


@given(
    pattern=st.sampled_from(
        ["a", "a+", "^a.*b$", "[ab]{2,}", "a?b", "(ab)+", "a.*b.*c", "(?:a|b)c", "(?i)AB", r"\d+ / \d+", "(?=a)b*"]
    ),
    text=st.text("abc/ 12", max_size=30),
)
def test_finds_what_re_finds(pattern: str, text: str) -> None:
    assert patterns.search(pattern, text) is (re.search(pattern, text) is not None)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("-.#&~ 0123456789")))
def test_the_pattern_for_a_line_fits_it_with_any_numbers(line: str) -> None:
    pattern = patterns.pattern_for(line)
    assert patterns.search(pattern, line)
    assert patterns.search(pattern, re.sub("[0-9]+", "7", line))


def test_the_pattern_for_a_line_keeps_its_types() -> None:
    pattern = patterns.pattern_for("size -1 of float64, 3.5 of int8")
    assert pattern == r"size -\d+ of float64, \d+\.\d+ of int8"
