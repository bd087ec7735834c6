"""A comparison of two releases as Markdown, for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from pt2bugs.bisect.accepted import Accepted
from pt2bugs.bisect.compare import Change, Comparison, Difference, by_case
from pt2bugs.report.markdown import case_link, code, escape

FOLDED = (Change.STILL, Change.FINE)
"""Changes that a move does not cause: Markdown folds them away, the terminal shows a line for each case."""


def as_markdown(comparison: Comparison, *, everything: bool) -> str:
    """Return the comparison by change, worst first; changes that the move does not cause are folded away.

    Args:
        comparison: of two releases.
        everything: show also the checks that pass in both.
    """
    lines = [f"### {comparison.title.replace(' -> ', ' to ')}", "", f"{comparison.counts}."]
    for title, differences in comparison.groups(everything=everything):
        folded = title in map(str, FOLDED)
        head = f"{title} ({len(differences)})"
        lines += ["", *(["<details>", f"<summary>{head}</summary>"] if folded else [f"#### {head}"]), ""]
        for case, group in by_case(differences):
            lines.append(f"- {case_link(case)} ({case.component}, {case.symptom}): {escape(case.title)}")
            for difference in group:
                lines.append(f"  - {code(difference.cell.name)}: {code(difference.why)}")
                lines += [f"    {escape(note)}" for note in notes_of(comparison, difference)]
        lines += ["", "</details>"] if folded else []
    return "\n".join(lines)


def notes_of(comparison: Comparison, difference: Difference) -> Iterator[str]:
    """Yield what is to be said of a difference that is or was accepted.

    Args:
        comparison: with the accepted failures.
        difference: one of its differences.
    """
    entry: Accepted | None
    if entry := comparison.accepted.get(difference):
        yield f"accepted {entry.summary}"
    elif entry := comparison.ended.get(difference):
        yield f"was accepted {entry.summary}"
