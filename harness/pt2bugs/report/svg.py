"""The matrix as a picture: one SVG file, readable without colour."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from pt2bugs.report.style import OUTCOME_LETTERS, STYLES, style_of
from pt2bugs.report.templates import markup_templates
from pt2bugs.report.trends import Trends

HEAD = 7
"""Columns of the matrix table before the releases."""

_CELL, _ROW, _TOP, _LETTER = 26, 17, 34, 6.7


def matrix_svg(matrix: pd.DataFrame, title: str) -> str:
    """Return the matrix as a picture.

    Args:
        matrix: from `pt2bugs.results.tables.matrix_table`.
        title: drawn above it.
    """
    releases = list(matrix.columns[HEAD:])
    records = matrix.to_dict("records")
    labels = [row_label(row) for row in records]
    left = round(max((len(label) for label in labels), default=10) * _LETTER) + 16
    rows: list[dict[str, Any]] = []
    for label, row in zip(labels, records, strict=True):
        cells = []
        for release in releases:
            letter, style = style_of(row[release])
            cells.append(
                {"letter": letter, "style": style, "title": f"{label} on {release}: {row[release] or 'not run'}"}
            )
        rows.append({"label": label, "cells": cells})
    return (
        markup_templates()
        .get_template("matrix.svg.j2")
        .render(
            title=title,
            releases=releases,
            rows=rows,
            left=left,
            cell=_CELL,
            row=_ROW,
            top=_TOP,
            width=max(left + _CELL * len(releases) + 10, 640),
            height=_TOP + 20 + _ROW * len(rows) + 44,
            styles={name: style for name, style in STYLES.items() if name not in ("", "xfail")},
            xfail=STYLES["xfail"],
            letters=OUTCOME_LETTERS,
        )
    )


def summary_svg(trends: Trends, title: str) -> str:
    """Return a picture with a row per component: the number of bugs that each release has, darker where it is larger.

    The last row is the share of the checks that were measured on each release.

    Args:
        trends: the lives of the bugs.
        title: drawn above it.
    """
    names = trends.components
    counts = {
        name: [sum(life.case.component == name for life in trends.open_in(release)) for release in trends.releases]
        for name in names
    }
    most = max((count for row in counts.values() for count in row), default=0) or 1
    left, cell, row = round(max(map(len, [*names, "all"]), default=10) * _LETTER) + 20, 40, 24
    rows = [
        {"label": name, "cells": [{"count": count, "strength": round(count / most, 2)} for count in counts[name]]}
        for name in names
    ]
    totals = [len(trends.open_in(release)) for release in trends.releases]
    return (
        markup_templates()
        .get_template("summary.svg.j2")
        .render(
            title=title,
            releases=trends.releases,
            rows=rows,
            totals=totals,
            shares=[f"{trends.shares[release]:.0%}".removesuffix("%") for release in trends.releases],
            left=left,
            cell=cell,
            row=row,
            top=_TOP,
            width=max(left + cell * len(trends.releases) + 10, 480),
            height=_TOP + 20 + row * (len(rows) + 2) + 16,
            ink=STYLES["xfail"].ink,
        )
    )


def row_label(row: Mapping[Hashable, Any]) -> str:
    """Return the name of a row: case, check, backend, and the device and extras that are not the usual.

    Args:
        row: a row of the matrix table.
    """
    parts = [row["case"], row["check"].removeprefix("test_"), row["backend"]]
    if row["device"] != "cpu":
        parts.append(row["device"])
    if row["extras"]:
        parts.append(f"+{row['extras']}")
    return " ".join(parts)
