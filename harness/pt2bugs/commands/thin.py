"""`pt2bugs thin`: the nightlies of a journal without those between changes."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from datetime import timedelta

from pt2bugs.bisect.accepted import current_day
from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import CorpusOptions, ResultsOptions, option
from pt2bugs.commands.selection import load_corpus
from pt2bugs.errors import NothingSelected
from pt2bugs.results.folder import open_all_results
from pt2bugs.results.thinning import Thinned, thin

EXAMPLES = (
    ("pt2bugs thin", "of the nightlies older than thirty days keep those on both sides of every change"),
    ("pt2bugs thin --older-than 7 --dry-run", "how much that would be"),
)


def _days(text: str) -> int:
    """Return a number of days, for argparse."""
    if not text.isdigit() or len(text) > 5:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions, ResultsOptions):
    """Options of `thin`."""

    older_than: int = option(
        "--older-than", default=30, parse=_days, metavar="DAYS", help="keep all that is younger (default: 30)"
    )
    dry_run: bool = option("--dry-run", default=False, help="say what it would remove, change nothing")
    json: bool = option("--json", default=False, help="print what was removed as JSON")


def run(options: Options) -> int:
    """Query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, query(options))


def query(options: Options) -> Thinned:
    """Remove the lines, and derive the tables anew.

    Args:
        options: of the command.

    Raises:
        CaseError: a file of the corpus breaks the contract.
        JournalError: a journal cannot be read or written.
        NothingSelected: there is none.
    """
    corpus = load_corpus(corpus_roots(options.cases))
    results = open_all_results(options.results)
    if not results.releases():
        raise NothingSelected(f"nothing to thin: {results.folder} has no journal")
    before = current_day() - timedelta(days=options.older_than)
    done = thin(results.folder, results.load(corpus, warn), before, lambda _: None, dry_run=options.dry_run)
    if done.lines and not options.dry_run:
        results.derive(results.load(corpus, lambda _: None))
    return done


def render(options: Options, done: Thinned) -> int:
    """Print what was removed. Return the exit code.

    Args:
        options: of the command.
        done: what it was.
    """
    if options.json:
        print_json(asdict(done))
    would = "would go" if options.dry_run else "removed"
    say(
        f"{done.lines} lines of {done.nightlies} nightlies {would}, {done.bytes / 1e6:.1f} MB: "
        "the releases around them show the same"
        if done.lines
        else f"no line of a nightly older than {options.older_than} days goes"
    )
    return OK
