"""`pt2bugs corpus`: the corpus as a Markdown page."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.model import Case
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, print_markdown
from pt2bugs.commands.options import ShownOptions, file, option
from pt2bugs.commands.selection import SelectedResults, select_results
from pt2bugs.files import write_text
from pt2bugs.report.corpus import corpus_page
from pt2bugs.results.history import Life, lives_of

EXAMPLES = (("pt2bugs corpus -o docs/reference/corpus.md", "the page of this repository"),)


@dataclass(frozen=True, kw_only=True)
class Options(ShownOptions):
    """Options of `corpus`."""

    output: Path | None = option(
        "-o", "--output", parse=file, metavar="FILE", exclusive=True, help="write there instead of stdout"
    )
    json: bool = option(
        "--json",
        default=False,
        exclusive=True,
        help="print the cases as JSON, each with the releases that have its bug",
    )


def run(options: Options) -> int:
    """Select, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, select_results(options))


def render(options: Options, selected: SelectedResults) -> int:
    """Print or write the page, or its cases as JSON. Return the exit code.

    Args:
        options: of the command.
        selected: the cases and their rows.
    """
    if options.json:
        lives = {life.case.id: life for life in lives_of(selected.rows)}
        print_json([_as_dict(case, lives.get(case.id)) for case in selected.cases])
        return OK
    page = corpus_page(selected.cases, selected.rows, corpus_roots(options.cases))
    if options.output is None:
        print_markdown(page)
    else:
        write_text(options.output, page)
    return OK


def _as_dict(case: Case, life: Life | None) -> dict[str, Any]:
    intervals = life.intervals if life else ()
    return {
        "case": case.id,
        "component": case.component,
        "symptom": case.symptom,
        "title": case.title,
        "measured": life is not None,
        "intervals": [asdict(interval) for interval in intervals],
    }
