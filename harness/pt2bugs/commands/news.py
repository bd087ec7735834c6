"""`pt2bugs news`: what broke, what was fixed and what became slower in the releases measured since a day."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from datetime import date, datetime, timezone
from pathlib import Path

from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import fit, print_json, print_markdown, say, warn
from pt2bugs.commands.options import LinesOptions, option
from pt2bugs.commands.selection import results_of, select_cases, select_lines
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.report.news import ReleaseNews, Split, feed, markdown, news
from pt2bugs.speed import journal
from pt2bugs.speed.history import SLOWER, Slower, in_words, slower_steps
from pt2bugs.speed.measurement import program_hashes

EXAMPLES = (
    ("pt2bugs news --since 2026-11-15", "what a week of nightlies broke and fixed, as Markdown"),
    ("pt2bugs news --since 2026-11-15 --feed site/news.xml", "the same, and an Atom feed beside the page"),
    ("pt2bugs news --since 2026-11-15 --slower", "benches whose compiled code takes longer than in the release before"),
)


def moment(text: str) -> str:
    """Return a day or a moment as journal lines write theirs, for argparse.

    Args:
        text: as people write it.

    Raises:
        argparse.ArgumentTypeError: neither a day nor a moment.
    """
    try:
        if len(text) == len("2026-11-15"):
            return date.fromisoformat(text).isoformat()
        # Python 3.10 does not read a Z.
        at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date as 2026-11-15 or 2026-11-15T06:00") from None
    utc = at.astimezone(timezone.utc) if at.tzinfo else at
    return utc.replace(tzinfo=None).isoformat(timespec="milliseconds")


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """Options of `news`; `since` is a moment in UTC, ISO 8601."""

    since: str = option(
        "--since",
        default=MISSING,
        parse=moment,
        metavar="DATE",
        help="measured from then on: 2026-11-15, or with a time; UTC",
    )
    feed: Path | None = option(
        "--feed", parse=Path, metavar="FILE", help="write an Atom feed there, best beside the page"
    )
    output: Path | None = option(
        "-o", "--output", parse=Path, metavar="FILE", exclusive=True, help="write there instead of stdout"
    )
    slower: bool = option(
        "--slower",
        default=False,
        help=f"instead: what became slower (at least {SLOWER:g} times as long beside eager, in each process)",
    )
    json: bool = option("--json", default=False, exclusive=True, help="as JSON: an object for each release")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    corpus, cases = select_cases(options)
    if options.slower:
        return render_slower(options, query_slower(options, cases))
    return render(options, query(options, corpus, cases))


def query(options: Options, corpus: Sequence[Case], cases: Sequence[Case]) -> list[ReleaseNews]:
    """Return what changed in each release that was measured since the moment asked for.

    Args:
        options: of the command.
        corpus: all cases.
        cases: the selected ones.
    """
    split = Split(corpus, options.since)
    results_of(options, options.backend).read(split, warn)
    now, then = (half.rows(select_lines(options, half.lines(), cases)) for half in (split.now, split.then))
    return news(split, now, then)


def render(options: Options, told: Sequence[ReleaseNews]) -> int:
    """Print or write the news. Return the exit code.

    Args:
        options: of the command.
        told: of each release.
    """
    if options.json:
        print_json([release.as_dict() for release in told])
    elif options.output is None:
        print_markdown(markdown(told, options.since))
    else:
        write_text(options.output, markdown(told, options.since))
    if options.feed is not None:
        write_text(options.feed, feed(told, options.feed.name))
    changed = sum(len(release.steps) for release in told)
    measured = f"{number_of(len(told), 'release')} measured since {options.since}"
    say(f"{measured}: {number_of(changed, 'check')} changed in them")
    return OK


def query_slower(options: Options, cases: Sequence[Case]) -> list[Slower]:
    """Return the benches that became slower in a release that was measured since the moment asked for.

    Args:
        options: of the command.
        cases: the selected ones.

    Raises:
        InputError: an option is for the other news.
    """
    if options.feed or options.output:
        raise InputError("--slower prints on stdout; leave --feed and --output out")
    programs = program_hashes(cases)
    speeds = journal.read(results_of(options, ()).folder, programs, warn)
    return list(slower_steps(speeds, options.since))


def render_slower(options: Options, steps: Sequence[Slower]) -> int:
    """Print what became slower. Return the exit code.

    Args:
        options: of the command.
        steps: from one release to the next.
    """
    if options.json:
        print_json([step.as_dict() for step in steps])
    for text in () if options.json else in_words(steps):
        print(fit(text))
    say(f"{number_of(len(steps), 'slowdown')} in what was measured since {options.since}")
    return OK
