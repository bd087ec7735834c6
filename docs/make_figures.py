"""Writes docs/evaluation/lives.md and its picture from the data set: `python docs/make_figures.py`.

pandas reads the files of `pt2bugs dataset`, as anybody would who has them alone.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
from pt2bugs.cli import main
from pt2bugs.report.markdown import table

DOCS = Path(__file__).resolve().parent
PAGE, PICTURE = DOCS / "evaluation" / "lives.md", DOCS / "assets" / "lives.svg"
GROUPS = {
    "wrong results": ("wrong-result",),
    "failures of the compiler": ("internal-error", "backend-failure", "crash", "triton", "hang"),
    "graph breaks and others": ("graph-break", "recompilation", "missing-error", "memory"),
}
COLOURS = ("#b3261e", "#1f5fbf", "#5f6368")
WIDTH, HEIGHT, LEFT, TOP, FLOOR = 760, 320, 46, 14, 270


def counted(folder: Path) -> pd.DataFrame:
    """The rows of the data set that are of kind `bug`: limitations and what is missing or meant have no life."""
    bugs = pd.read_parquet(folder / "bugs.parquet")
    return bugs[bugs.kind == "bug"]


def lives_of(bugs: pd.DataFrame) -> pd.DataFrame:
    """The Kaplan-Meier curve of some bugs: days, whether the bug ended then, and the share that is alive after it."""
    seen = bugs[bugs.first_failing_on.notna() & bugs.last_failing_on.notna()]
    born, died, last = (pd.to_datetime(seen[f"{name}_on"]) for name in ("first_failing", "fixed", "last_failing"))
    lives = pd.DataFrame({"days": (died.fillna(last) - born).dt.days, "ended": died.notna()})
    lives = lives.sort_values(["days", "ended"], ascending=[True, False], ignore_index=True)
    lives["alive"] = (1 - lives.ended / (len(lives) - lives.index)).cumprod().round(9)
    return lives


def quantile(lives: pd.DataFrame, share: float) -> str:
    """The day by which no more than that share is alive; a dash where the curve does not come so low."""
    days = lives.days[lives.alive <= share]
    return str(int(days.min())) if len(days) else "-"


def picture(curves: dict[str, pd.DataFrame]) -> str:
    """The curves as steps; a small stroke is a bug that is still there."""
    most = max(int(curve.days.max()) for curve in curves.values())
    across, down = (WIDTH - LEFT - 10) / most, FLOOR - TOP

    def x(days: float) -> str:
        return f"{LEFT + days * across:.1f}"

    def y(alive: float) -> str:
        return f"{FLOOR - alive * down:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        "<title>Share of the bugs that are alive, by days since the first release that has them</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path d="M{LEFT} {y(share)}H{WIDTH - 10}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(y(share)) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for year in range(most // 365 + 1):
        parts.append(f'<text x="{x(365 * year)}" y="{FLOOR + 16}" text-anchor="middle">{year} y</text>')
    for (name, curve), colour in zip(curves.items(), COLOURS, strict=True):
        steps = "".join(f"H{x(row.days)}V{y(row.alive)}" for row in curve.itertuples())
        parts.append(f'<path d="M{x(0)} {y(1)}{steps}" fill="none" stroke="{colour}" stroke-width="2"/>')
        marks = "".join(
            f"M{x(row.days)} {float(y(row.alive)) - 4:.1f}v8" for row in curve.itertuples() if not row.ended
        )
        parts.append(f'<path d="{marks}" stroke="{colour}"/>')
        at = LEFT + 250 * list(curves).index(name)
        parts.append(f'<text x="{at}" y="{HEIGHT - 12}" fill="{colour}">{name} ({len(curve)})</text>')
    return "\n".join([*parts, "</svg>", ""])


def where_fixes_sit(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Return how many isolations have each label, and how many isolated units are in each file."""
    labels: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sorted((folder / "fixes").glob("*.json")):
        for isolation in json.loads(path.read_text(encoding="utf-8"))["isolations"]:
            if isolation["direction"] == "fixed":
                labels[isolation["label"]] += 1
                files.update({unit["file"] for unit in isolation["units"]})
    return labels, files


def page(folder: Path) -> str:
    """The page."""
    bugs = counted(folder)
    seen = bugs[bugs.first_failing_on.notna()]
    total, older = len(bugs), int(seen.left_censored.sum())
    silent = lives_of(bugs[(bugs.component == "inductor") & (bugs.symptom == "wrong-result")])
    labels, files = where_fixes_sit(folder)
    by_label = ", ".join(f"{count} `{label}`" for label, count in labels.most_common())
    by_file = table(("file with isolated units", "bugs"), ((f"`{name}`", n) for name, n in sorted(files.items())))
    back = seen[seen.intervals.map(comes_back)]
    again = table(("bug", "lives"), ((row.bug, "; ".join(row.intervals)) for row in back.itertuples()))
    return f"""# How long bugs live, and where their fixes sit

From the [data set](../reference/dataset.md) alone, by pandas: `python docs/make_figures.py` writes this page and its
picture. {len(seen)} of its {total} bugs (of kind `bug`) were seen by a measurement of a released torch. A life begins
with the first release that shows the bug and ends with the first that does not; the days are those on which these were
published.

- A bug that the newest release has lives on: it counts until the last release that shows it, and is no end.
- {older} were there in the first release that can say: their lives are left-censored, longer than what is counted, and
  the figures are lower bounds. An older release may lack the API, or fail in another way before the bug is reached.
- The corpus is what was reported and could be made to run, not a sample of all bugs. Newer releases have had less time.

## Lives

Half of the silent wrong results of Inductor are gone after **{quantile(silent, 0.5)} days** ({len(silent)} bugs,
{int(silent.ended.sum())} of them fixed).

![Share of the bugs that are alive, by days](../assets/lives.svg)

{lives_table(bugs, seen)}

The shares are Kaplan-Meier's; lifelines gave the same days for five rows that were compared. A dash: fewer are
gone yet.

## Kinds over the years

The year of the first release that shows the bug. 2023 has what is older, too, as torch 2.0 is of that year.

{years_table(seen)}

## Where fixes sit

Of the bugs whose fix was searched between two wheels ([how](fixes.md)), by label: {by_label}.

{by_file}

## What comes back

{len(back)} bugs have more than one life: a check of theirs failed again after it had passed, or another joined later.

{again}
"""


def lives_table(bugs: pd.DataFrame, seen: pd.DataFrame) -> str:
    """Quartiles of the lives, by group of symptoms and by component with ten bugs or more."""
    sizes = seen.groupby("component").size()
    parts = {name: bugs[bugs.symptom.isin(symptoms)] for name, symptoms in GROUPS.items()}
    parts |= {name: seen[seen.component == name] for name in sizes[sizes >= 10].index}
    curves = {name: lives_of(some) for name, some in parts.items()}
    return table(
        ("bugs", "seen", "left-censored", "fixed", "a quarter is gone after (days)", "half", "three quarters"),
        (
            (
                name,
                len(curve),
                int(parts[name].left_censored.fillna(value=False).sum()),
                int(curve.ended.sum()),
                *(quantile(curve, share) for share in (0.75, 0.5, 0.25)),
            )
            for name, curve in curves.items()
        ),
    )


def years_table(seen: pd.DataFrame) -> str:
    """Return how many bugs of each symptom are first seen in releases of each year."""
    counts = pd.crosstab(seen.symptom, seen.first_failing_on.str[:4])
    rows = ((name, *row) for name, row in zip(counts.index, counts.to_numpy(), strict=True))
    return table(("symptom", *counts.columns), rows)


def comes_back(intervals: list[str]) -> bool:
    """True for the lives of a bug that begins more than once."""
    begins = {told.partition(" to ")[0] for told in intervals}
    return len(begins) > 1 and any("introduced after" in told for told in intervals)


def write() -> None:
    """Write the page and the picture."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "dataset"
        with contextlib.redirect_stderr(io.StringIO()):
            assert main(["dataset", "-o", str(folder)]) == 0
        PAGE.write_text(page(folder), encoding="utf-8")
        bugs = counted(folder)
        curves = {name: lives_of(bugs[bugs.symptom.isin(symptoms)]) for name, symptoms in GROUPS.items()}
        PICTURE.write_text(picture(curves), encoding="utf-8")


if __name__ == "__main__":
    write()
