"""The letters and colours of the pages: each can be read, and told from the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import pytest
from pt2bugs.report.style import OUTCOME_LETTERS, STYLES
from pt2bugs.report.templates import markup_templates


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrasts() -> Iterator[tuple[str, str, str]]:
    for name, style in STYLES.items():
        yield name, style.ink, style.fill if name else "#ffffff"
        yield f"{name} dark", style.dark_ink, style.dark_fill if name else "#0f1318"


@pytest.mark.parametrize(("name", "ink", "fill"), list(contrasts()))
def test_letters_can_be_read(name: str, ink: str, fill: str) -> None:
    low, high = sorted((luminance(ink), luminance(fill)))
    assert (high + 0.05) / (low + 0.05) >= 4.5, "WCAG 2 level AA"


def test_verdicts_differ_without_colour() -> None:
    shown = [style.letter for name, style in STYLES.items() if name != "xfail"] + list(OUTCOME_LETTERS.values())
    assert all(a != b for a, b in combinations(shown, 2))


def test_numbers_above_pale_columns_are_not_pale() -> None:
    style = markup_templates().loader.get_source(markup_templates(), "style.css.j2")[0]  # type: ignore[union-attr]
    faded = re.findall(r"^([^{\n]+)\{[^}]*opacity", style, re.MULTILINE)
    assert [rule.strip() for rule in faded if ".chart" in rule] == [".chart .pale rect"]
