"""A comparison in words: for a terminal or a pipe, and as Markdown for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pt2bugs.bisect.accepted import Accepted
from pt2bugs.bisect.compare import Change, Comparison, Difference, by_case

FOLDED = (Change.STILL, Change.FINE)
"""Changes that a move does not cause: Markdown folds them away, the terminal shows a line for each case."""


def as_text(comparison: Comparison, *, everything: bool, cut: Callable[[str], str]) -> str:
    """By what becomes of the checks, worst first, and by case. `cut` shortens a line to what the reader shows.

    What the move does not cause is a line for each case, unless `everything` is asked for.
    """
    lines = [f"torch {comparison.before} -> {comparison.after}", f"{comparison.counts or 'no check'}"]
    for title, differences in _groups(comparison, everything=everything):
        short = title in map(str, FOLDED) and not everything
        lines += ["", f"{title} ({len(differences)}){'; --all says what was seen' if short else ''}"]
        for case, group in by_case(differences):
            if short:
                lines.append(cut(f"  {case.id}  {case.title}"))
                continue
            lines += [cut(f"  {case.id}  {case.title}"), f"    {case.issue}"]
            for one in group:
                lines.append(cut(f"    {one.cell.name}  {_line(one.why)}"))
                lines += [cut(f"      {note}") for note in _notes(comparison, one)]
    return "\n".join(lines)


def as_markdown(comparison: Comparison, *, everything: bool) -> str:
    """As `as_text`, with links; what the move does not cause is folded away."""
    lines = [f"### torch {comparison.before} to {comparison.after}", "", f"{comparison.counts}."]
    for title, differences in _groups(comparison, everything=everything):
        folded = title in map(str, FOLDED)
        head = f"{title} ({len(differences)})"
        lines += ["", *(["<details>", f"<summary>{head}</summary>"] if folded else [f"#### {head}"]), ""]
        for case, group in by_case(differences):
            lines.append(f"- [{case.id}]({case.issue}): {_escaped(case.title)}")
            for one in group:
                lines.append(f"  - {_code(one.cell.name)}: {_code(_line(one.why))}")
                lines += [f"    {_escaped(note)}" for note in _notes(comparison, one)]
        lines += ["", "</details>"] if folded else []
    return "\n".join(lines)


def _groups(comparison: Comparison, *, everything: bool) -> Iterator[tuple[str, Sequence[Difference]]]:
    for change in Change:
        found = comparison.of(change)
        if found and (change is not Change.FINE or everything):
            yield str(change), found
        if change is Change.BROKEN and comparison.accepted:
            yield "broken but accepted", list(comparison.accepted)


def _notes(comparison: Comparison, one: Difference) -> Iterator[str]:
    entry: Accepted | None
    if entry := comparison.accepted.get(one):
        yield f"accepted {entry.summary}"
    elif entry := comparison.ended.get(one):
        yield f"was accepted {entry.summary}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in _line(text))


def _code(text: str) -> str:
    """A code span, whatever backticks the text has."""
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"
