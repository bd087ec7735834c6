"""Letters and colours of verdicts and groups: a matrix reads with colour and without."""

from __future__ import annotations

from dataclasses import dataclass

from pt2bugs.backends.answers import Group


@dataclass(frozen=True)
class VerdictStyle:
    """`letter` stands for the verdict, `terminal` is a rich style; the rest are CSS colours.

    `fill` and `ink` are for a light page, `dark_fill` and `dark_ink` for a dark one.
    """

    letter: str
    terminal: str
    fill: str
    ink: str
    dark_fill: str
    dark_ink: str
    meaning: str


STYLES = {
    "pass": VerdictStyle(".", "green", "#d7f0dc", "#14532d", "#14371f", "#86efac", "passes"),
    "xfail": VerdictStyle("x", "red", "#f6c9c4", "#7f1d1d", "#5f1d1d", "#fecaca", "the documented bug"),
    "xpass": VerdictStyle("P", "bold magenta", "#e4c8f5", "#581c87", "#4a1d6b", "#e9d5ff", "expected to fail, passed"),
    "fail": VerdictStyle(
        "F", "bold white on red", "#b3261e", "#ffffff", "#f87171", "#2a0505", "another failure than the documented one"
    ),
    "flaky": VerdictStyle("~", "bold yellow", "#fde68a", "#713f12", "#57430f", "#fde68a", "repeats disagree"),
    "skip": VerdictStyle("s", "dim", "#e5e7eb", "#4b5563", "#272d36", "#a3abb8", "cannot apply here, or blocked"),
    "error": VerdictStyle("E", "bold blue", "#bfdbfe", "#1e3a8a", "#1e3a6e", "#bfdbfe", "the environment is broken"),
    "": VerdictStyle(" ", "", "none", "#4b5563", "none", "#a3abb8", "not run"),
}
GROUP_STYLES = {
    Group.ONLY_YOURS: ("F", "fail", "its own", "fails here, passes on eager and aot_eager"),
    Group.INHERITED: ("i", "xfail", "inherited", "fails the same from eager or aot_eager on"),
    Group.NOT_YOURS: ("+", "xpass", "Inductor's", "passes, where Inductor fails"),
    Group.NOT_CLAIMED: ("-", "skip", "not claimed", "the check demands what the backend does not claim to do"),
    Group.CANNOT_SAY: ("?", "flaky", "cannot say", "was not run, is skipped, or the layers above fail in another way"),
    Group.PASSES: (".", "pass", "passes", "passes, as Inductor does"),
}
"""Groups of answers about a backend, each with a letter, the verdict whose colour it has, its name, its meaning."""

OUTCOME_LETTERS = {"wrong": "w", "raise": "r", "crash": "c", "timeout": "t", "oom": "m"}
"""A documented failure shows how it failed."""


def style_of(value: str) -> tuple[str, VerdictStyle]:
    """Return the letter and style of a value of the matrix.

    Args:
        value: as ``pass`` or ``xfail:crash``.
    """
    verdict, _, outcome = value.partition(":")
    style = STYLES[verdict]
    return OUTCOME_LETTERS.get(outcome, style.letter), style
