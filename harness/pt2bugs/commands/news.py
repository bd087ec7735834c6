"""`pt2bugs news`: what broke and what was fixed in the releases and nightlies measured since a day."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from datetime import date, datetime, timezone
from pathlib import Path

from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import add_results, add_selection
from pt2bugs.commands.selection import LinesOptions, select_cases, select_lines
from pt2bugs.files import write_text
from pt2bugs.report.history import histories
from pt2bugs.report.news import Split, feed, markdown, news
from pt2bugs.results.folder import open_results

EXAMPLES = (
    ("pt2bugs news --since 2026-11-15", "what a week of nightlies broke and fixed, as Markdown"),
    ("pt2bugs news --since 2026-11-15 --feed site/news.xml", "the same, and an Atom feed beside the page"),
)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """What the command takes; `since` is a moment in UTC, ISO 8601."""

    since: str
    feed: Path | None = None
    output: Path | None = None
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_results(parser)
    parser.add_argument(
        "--since",
        type=moment,
        required=True,
        metavar="DATE",
        help="measured from then on: 2026-11-15, or with a time; UTC",
    )
    parser.add_argument("--feed", type=Path, metavar="FILE", help="write an Atom feed there, best beside the page")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of stdout")
    parser.add_argument("--json", action="store_true", help="as JSON: an object for each release")


def moment(text: str) -> str:
    """A day or a moment as journal lines write theirs, for argparse."""
    try:
        if len(text) == len("2026-11-15"):
            return date.fromisoformat(text).isoformat()
        # Python 3.10 does not read a Z.
        at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as 2026-11-15 or 2026-11-15T06:00") from None
    utc = at.astimezone(timezone.utc) if at.tzinfo else at
    return utc.replace(tzinfo=None).isoformat(timespec="milliseconds")


def run(options: Options) -> int:
    corpus, cases = select_cases(options)
    split = Split(corpus, options.since)
    open_results(options.results, options.backend).read([split], warn)
    now, then = (histories(select_lines(options, one.newest.lines(), cases), one) for one in (split.now, split.then))
    found = news(split, now, then)
    if options.json:
        print_json([one.as_dict() for one in found])
    else:
        text = markdown(found, options.since)
        if options.output is None:
            sys.stdout.write(text)
        else:
            write_text(options.output, text)
    if options.feed is not None:
        write_text(options.feed, feed(found, options.feed.name))
    told = sum(len(one.steps) for one in found)
    say(f"{len(found)} releases measured since {options.since}: {told} checks changed in them")
    return OK
