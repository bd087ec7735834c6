"""The static site: pages that open from the file system, without a server and without a network.

Texts of cases and failures are data: every template escapes what it prints, and scripts write text only
(that the links of a header are web addresses, its reader has checked). The same results give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from pt2bugs import __version__
from pt2bugs.backends.known import REFERENCES, known_backends
from pt2bugs.backends.report import Group
from pt2bugs.case.observation import telling_line
from pt2bugs.files import write_bytes
from pt2bugs.report.charts import Series, columns
from pt2bugs.report.downloads import FILES, data_files, feed
from pt2bugs.report.program import highlighted, rules
from pt2bugs.report.site import (
    QUIET,
    REPOSITORY,
    Site,
    answer_anchor,
    aria,
    backend_command,
    backend_href,
    case_href,
    commits_between,
    label,
    reason,
    reflowed,
    reproduce,
    reproduce_cell,
    shown_path,
    source_href,
    stretches,
)
from pt2bugs.report.style import GROUP_STYLES, OUTCOME_LETTERS, STYLES, style_of
from pt2bugs.report.trends import Trends

MARK = '<meta name="generator" content="pt2bugs">'
"""Every page has it: so a later report knows which pages of an earlier one it may remove."""

PARTS = 6
"""Components that a chart tells apart; the rest is one part."""


def open_chart(trends: Trends) -> Markup:
    """How many bugs each release has, by component."""
    names, others = trends.components[:PARTS], trends.components[PARTS:]
    parts = [(name, f"part-{at}", {name}) for at, name in enumerate(names)]
    parts += [("others", "part-rest", set(others))] if others else []
    series = [
        Series(
            name, css, [sum(life.case.component in wanted for life in trends.open_in(one)) for one in trends.releases]
        )
        for name, css, wanted in parts
    ]
    return columns("Documented bugs that each release has, by component", trends.releases, series, trends.partial)


def changes_chart(trends: Trends) -> Markup:
    """How many bugs each release introduced and fixed against the one before."""
    # Against nothing the first release changed nothing.
    releases = trends.releases[1:]
    series = [
        Series("fixed", "pass", [len(trends.fixed_in(one)) for one in releases]),
        Series("introduced", "xfail", [len(trends.introduced_in(one)) for one in releases]),
    ]
    return columns("Bugs that each release fixed and introduced", releases, series, trends.partial)


def lengths_chart(trends: Trends) -> Markup:
    """Over how many releases bugs lived."""
    found = trends.lengths()
    series = [
        Series("fixed", "pass", [ended for _, ended, _ in found]),
        Series("still open", "xfail", [open_ for _, _, open_ in found]),
    ]
    return columns("Over how many releases bugs were seen", [str(number) for number, _, _ in found], series)


def chart_parts(trends: Trends) -> list[tuple[str, str]]:
    """Name and class of the parts of `open_chart`."""
    names = [(name, f"part-{at}") for at, name in enumerate(trends.components[:PARTS])]
    return [*names, *([("others", "part-rest")] if trends.components[PARTS:] else [])]


def _first(text: str) -> str:
    return telling_line(text)[:200]


def breakable(name: str) -> Markup:
    """A name that a narrow screen breaks behind its parts, and not within a word."""
    return Markup(re.sub(r"(_|::|/|\.(?=\w))", r"\1<wbr>", str(escape(name))).replace("[", "<wbr>["))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pt2bugs.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "label": label,
        "aria": aria,
        "telling": _first,
        "breakable": breakable,
        "reflowed": reflowed,
        "highlighted": highlighted,
    }
    environment.globals |= {
        "mark": MARK,
        "version": __version__,
        "repository": REPOSITORY,
        "styles": STYLES,
        "letters": OUTCOME_LETTERS,
        "style_of": style_of,
        "case_href": case_href,
        "shown_path": shown_path,
        "source_href": source_href,
        "reason": reason,
        "reproduce": reproduce,
        "reproduce_cell": reproduce_cell,
        "backend_href": backend_href,
        "backend_command": backend_command,
        "answer_anchor": answer_anchor,
        "groups": Group,
        "group_styles": GROUP_STYLES,
        "known_backends": known_backends(),
        "references": REFERENCES,
        "commits_between": commits_between,
        "stretches": stretches,
        "open_chart": open_chart,
        "changes_chart": changes_chart,
        "lengths_chart": lengths_chart,
        "chart_parts": chart_parts,
        "program_rules": rules(),
        "quiet": QUIET,
        "downloads": FILES,
    }
    return environment


def render(site: Site) -> dict[str, str]:
    """Every file of the site by its path from the top."""
    environment = _environment()

    def page(template: str, **values: Any) -> str:
        return environment.get_template(template).render(site=site, **values)

    files = {"style.css": page("style.css.j2")}
    for script in ("matrix.js", "compare.js", "page.js"):
        files[script] = environment.loader.get_source(environment, script)[0]  # type: ignore[union-attr]
    for case in site.cases:
        program = case.path.read_text(encoding="utf-8-sig", errors="replace")
        files[f"case/{case.id}.html"] = page("case.html.j2", case=case, histories=site.of_case(case), program=program)
    for name in site.components:
        files[f"component/{name}.html"] = page("component.html.j2", component=name, part=site.of_component(name))
    files |= data_files(site.cases, site.histories, site.trends)
    changes = [site.changes_between(*pair) for pair in pairwise(site.releases)]
    files["feed.xml"] = feed(site.releases, changes, site.histories, REPOSITORY)
    for backend in site.backends:
        files[backend_href(backend)] = page("backend.html.j2", backend=backend)
    for name in ("data", "trends", "compare", *(["backends"] if site.backends else []), "index"):
        files[f"{name}.html"] = page(f"{name}.html.j2")
    return files


def write_site(folder: Path, files: dict[str, str]) -> None:
    """Write the files, each whole, the first page last; pages of cases that are gone are removed.

    Raises:
        OSError: the folder cannot be written.
    """
    for path, text in files.items():
        write_bytes(folder / path, text.encode())
    for kind in ("case", "component", "backend"):
        for page in _pages(folder / kind):
            if f"{kind}/{page.name}" not in files:
                page.unlink()
    if "backends.html" not in files:
        for page in _pages(folder):
            if page.name == "backends.html":
                page.unlink()


def _pages(folder: Path) -> Sequence[Path]:
    """The pages in a folder that a report has written."""
    found: Iterable[Path] = sorted(folder.glob("*.html"))
    return [page for page in found if MARK.encode() in page.read_bytes()[:1000]]
