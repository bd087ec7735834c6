"""The static site: pages that open from the file system, without a server and without a network.

Texts of cases and failures are data: every template escapes what it prints, and scripts write text only
(that the links of a header are web addresses, its reader has checked). The same results give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from pt2bugs import __version__
from pt2bugs.backends.answers import Group
from pt2bugs.backends.references import REFERENCES
from pt2bugs.backends.spec import known_backends
from pt2bugs.case.observation import shortened, telling_line
from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.files import write_text
from pt2bugs.report.charts import changes_chart, chart_parts, lengths_chart, open_chart
from pt2bugs.report.downloads import FILES, data_files, feed
from pt2bugs.report.site import (
    QUIET,
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
    short_address,
    shown_path,
    stretches,
)
from pt2bugs.report.style import GROUP_STYLES, OUTCOME_LETTERS, STYLES, style_of
from pt2bugs.report.templates import markup_templates
from pt2bugs.results.history import Life

MARK = '<meta name="generator" content="pt2bugs">'
"""Every page has it: so a later report knows which pages of an earlier one it may remove."""


def _telling(text: str) -> str:
    return shortened(telling_line(text), 200)


def _highlighted(program: str) -> Markup:
    """Return a program as spans with classes; Pygments escapes it."""
    return Markup(highlight(program, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


def _program_rules() -> str:
    """Return the style rules of these spans, for a light page and a dark one."""
    light, dark = (
        HtmlFormatter(style=style, nobackground=True).get_token_style_defs(".program")
        for style in ("default", "github-dark")
    )
    return "\n".join([*light, "@media (prefers-color-scheme: dark) {", *dark, "}"])


def _breakable(name: str) -> Markup:
    """Return a name that a narrow screen breaks behind its parts, and not within a word."""
    return Markup(re.sub(r"(_|::|/|\.(?=\w))", r"\1<wbr>", str(escape(name))).replace("[", "<wbr>["))


def _environment() -> jinja2.Environment:
    environment = markup_templates()
    environment.filters |= {
        "label": label,
        "aria": aria,
        "telling": _telling,
        "breakable": _breakable,
        "reflowed": reflowed,
        "highlighted": _highlighted,
        "short_address": short_address,
    }
    environment.globals |= {
        "mark": MARK,
        "counted": COUNTED,
        "number_of": number_of,
        "version": __version__,
        "styles": STYLES,
        "letters": OUTCOME_LETTERS,
        "style_of": style_of,
        "case_href": case_href,
        "shown_path": shown_path,
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
        "program_rules": _program_rules(),
        "quiet": QUIET,
        "downloads": FILES,
    }
    return environment


def render(site: Site) -> Iterator[tuple[str, str]]:
    """Yield every file of the site by its path from the top, the first page last.

    One by one, since all together are larger than the journal that they are made from.

    Args:
        site: the contents.
    """
    environment = _environment()

    def page(template: str, **values: Any) -> str:
        return environment.get_template(template).render(site=site, **values)

    yield "style.css", page("style.css.j2")
    for script in ("matrix.js", "compare.js", "page.js", "favicon.svg"):
        yield script, environment.loader.get_source(environment, script)[0]  # type: ignore[union-attr]
    for case in site.cases:
        program = case.path.read_text(encoding="utf-8-sig", errors="replace")
        rows = site.of_case(case)
        life = Life.of(rows) if rows else None
        yield f"case/{case.id}.html", page("case.html.j2", case=case, histories=rows, life=life, program=program)
    for name in site.components:
        yield f"component/{name}.html", page("component.html.j2", component=name, part=site.of_component(name))
    yield from data_files(site.cases, site.histories, site.trends)
    yield "feed.xml", feed((site.compare(*pair) for pair in pairwise(site.releases)), site.histories)
    for backend in site.backends:
        yield backend_href(backend), page("backend.html.j2", backend=backend)
    optional = [*(["fixes"] if site.isolated else []), *(["backends"] if site.backends else [])]
    for name in ("data", "trends", "compare", *optional, "index"):
        yield f"{name}.html", page(f"{name}.html.j2")


def write_site(folder: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write the files, each whole, in their order; pages of cases that are gone are removed.

    Args:
        folder: the top of the site.
        files: from `render`.

    Raises:
        OSError: the folder cannot be written.
    """
    written = set()
    for path, text in files:
        write_text(folder / path, text)
        written.add(path)
    for kind in ("case", "component", "backend"):
        for page in _pages(folder / kind):
            if f"{kind}/{page.name}" not in written:
                page.unlink()
    for page in _pages(folder):
        if page.name in ("fixes.html", "backends.html") and page.name not in written:
            page.unlink()


def _pages(folder: Path) -> Sequence[Path]:
    """Return the pages in a folder that a report has written."""
    return [page for page in sorted(folder.glob("*.html")) if MARK.encode() in page.read_bytes()[:1000]]
