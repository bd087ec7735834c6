"""Charts as inline SVG: columns per release. Colours are classes of the style sheet, which knows dark and light."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 900, 260, 34, 46, 14


@dataclass(frozen=True)
class Series:
    """One part of every column: `values` in the order of the columns, `css` its class in the style sheet."""

    name: str
    css: str
    values: Sequence[int]


def columns(title: str, labels: Sequence[str], series: Sequence[Series], pale: Collection[str] = ()) -> Markup:
    """Stacked columns with a total above each; what each part is shows on hover. Those of `pale` labels are pale."""
    totals = [sum(one.values[at] for one in series) for at in range(len(labels))]
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
        for one in series:
            value = one.values[at]
            if value:
                top -= value * scale
                parts.append(
                    f'<rect class="{one.css}" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
                    f'height="{value * scale:.1f}"><title>{escape(f"{label}: {value} {one.name}")}</title></rect>'
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
    """Horizontal lines at round numbers."""
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if most / size <= 5)
    found = []
    for value in range(0, most + 1, step):
        y = floor - value * scale
        found.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        found.append(f'<text class="scale" x="{_LEFT - 6}" y="{y + 4:.1f}">{value}</text>')
    return found
