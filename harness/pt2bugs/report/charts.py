"""Charts of trends as inline SVG. Colours are classes of the style sheet, which has them for dark and light."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from pt2bugs.report.trends import Trends

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 900, 260, 34, 46, 14


@dataclass(frozen=True)
class Series:
    """One part of every column: `values` in the order of the columns, `css` its class in the style sheet."""

    name: str
    css: str
    values: Sequence[int]


def columns(title: str, labels: Sequence[str], series: Sequence[Series], pale: Collection[str] = ()) -> Markup:
    """Return stacked columns with a total above each; each part names itself on hover.

    Args:
        title: the name for screen readers.
        labels: one for each column.
        series: the parts of the columns.
        pale: the labels of pale columns.
    """
    totals = [sum(part.values[at] for part in series) for at in range(len(labels))]
    most = max([*totals, 1])
    step = (_WIDTH - _LEFT) / max(1, len(labels))
    width = min(46.0, step * 0.72)
    scale = (_HEIGHT - _TOP - _BOTTOM) / most
    floor = _HEIGHT - _BOTTOM
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        *_lines(most, floor, scale),
    ]
    for at, label in enumerate(labels):
        parts.append(f'<g class="{"column pale" if label in pale else "column"}">')
        left = _LEFT + step * at + (step - width) / 2
        top = float(floor)
        for part in series:
            value = part.values[at]
            if value:
                top -= value * scale
                parts.append(
                    f'<rect class="{part.css}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                    f'height="{value * scale:.1f}"><title>{escape(f"{label}: {value} {part.name}")}</title></rect>'
                )
        middle = left + width / 2
        if totals[at]:
            parts.append(f'<text class="total" x="{middle:.1f}" y="{top - 4:.1f}">{totals[at]}</text>')
        turned = f"translate({middle + 4:.1f} {floor + 12}) rotate(-40)"
        parts.append(f'<text class="tick" transform="{turned}">{escape(label)}</text>')
        parts.append("</g>")
    parts.append("</svg>")
    return Markup("\n".join(parts))


def _lines(most: int, floor: int, scale: float) -> list[str]:
    """Return horizontal lines at round numbers."""
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if most / size <= 5)
    lines = []
    for value in range(0, most + 1, step):
        y = floor - value * scale
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text class="scale" x="{_LEFT - 6}" y="{y + 4:.1f}">{value}</text>')
    return lines


PARTS = 6
"""Components that a chart tells apart; the rest is one part."""


def open_chart(trends: Trends) -> Markup:
    """Return the number of bugs that each release has, by component.

    Args:
        trends: of the corpus.
    """
    names, others = trends.components[:PARTS], trends.components[PARTS:]
    parts = [(name, f"part-{at}", {name}) for at, name in enumerate(names)]
    parts += [("others", "part-rest", set(others))] if others else []
    series = [
        Series(
            name,
            css,
            [sum(life.case.component in wanted for life in trends.open_in(release)) for release in trends.releases],
        )
        for name, css, wanted in parts
    ]
    return columns("Documented bugs that each release has, by component", trends.releases, series, trends.partial)


def changes_chart(trends: Trends) -> Markup:
    """Return the numbers of bugs that each release introduced and fixed; the first has none before it to compare.

    Args:
        trends: of the corpus.
    """
    releases = trends.releases[1:]
    series = [
        Series("fixed", "pass", [len(trends.fixed_in(release)) for release in releases]),
        Series("introduced", "xfail", [len(trends.introduced_in(release)) for release in releases]),
    ]
    return columns("Bugs that each release fixed and introduced", releases, series, trends.partial)


def lengths_chart(trends: Trends) -> Markup:
    """Return how many bugs lived over how many releases.

    Args:
        trends: of the corpus.
    """
    lengths = trends.lengths()
    series = [
        Series("fixed", "pass", [ended for _, ended, _ in lengths]),
        Series("still open", "xfail", [open_ for _, _, open_ in lengths]),
    ]
    return columns("Over how many releases bugs were seen", [str(number) for number, _, _ in lengths], series)


def chart_parts(trends: Trends) -> list[tuple[str, str]]:
    """Return name and class of each part of `open_chart`.

    Args:
        trends: of the corpus.
    """
    names = [(name, f"part-{at}") for at, name in enumerate(trends.components[:PARTS])]
    return [*names, *([("others", "part-rest")] if trends.components[PARTS:] else [])]
