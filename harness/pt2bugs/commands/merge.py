"""`pt2bugs merge`: the results of several machines as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.case.model import Case
from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import CorpusOptions, folder, option
from pt2bugs.commands.selection import load_corpus
from pt2bugs.results.folder import Results
from pt2bugs.results.journal import Record
from pt2bugs.results.merge import Merge, merge
from pt2bugs.speed import journal as speed_journal

EXAMPLES = (
    ("pt2bugs merge shards/* -o results", "what the machines of a CI have measured, into the results here"),
    ("pt2bugs merge out.jsonl -o results", "a journal that `pytest cases/ --journal out.jsonl` wrote"),
)

SHOWN = 20
"""Disagreements that are told one by one."""


@dataclass(frozen=True, kw_only=True)
class Options(CorpusOptions):
    """Options of `merge`."""

    sources: Sequence[Path] = option(
        "DIR", default=MISSING, nargs="+", parse=folder, help="folders of results, or journals; also folders of those"
    )
    output: Path = option(
        "-o",
        "--output",
        default=MISSING,
        parse=folder,
        metavar="DIR",
        help="the results folder that gets their lines",
    )
    json: bool = option("--json", default=False, help="print what was found as JSON")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, query(options, select(options)))


def select(options: Options) -> list[Case]:
    """Return the corpus.

    Args:
        options: of the command.

    Raises:
        CaseError: a file breaks the contract.
    """
    return load_corpus(corpus_roots(options.cases))


def query(options: Options, corpus: Sequence[Case]) -> Merge:
    """Add the lines of the sources to the results, and derive the tables anew.

    Args:
        options: of the command.
        corpus: all cases.

    Raises:
        InputError: a source does not exist, or has lines of a newer schema; the output cannot be written.
        NothingSelected: no source has a journal.
    """
    cases = {case.id: case for case in corpus}
    results = Results(options.output)

    def _route(record: Record) -> Path:
        return results.journal_folder_of(record, cases.get(record["case"])).relative_to(options.output)

    speeds = speed_journal.unknown_lines(options.sources, options.output, warn)
    merged = merge(options.sources, options.output, _route, warn, apart=speed_journal.FOLDER)
    speed_journal.append(options.output, speeds)
    merged.speeds = len(speeds)
    results = Results(options.output, sorted(merged.backends))
    results.derive(results.load(corpus, lambda _: None))
    return merged


def render(options: Options, merged: Merge) -> int:
    """Print what was read and added, and where the sources disagree. Return the exit code.

    Args:
        options: of the command.
        merged: the lines.
    """
    for conflict in merged.conflicts:
        warn(conflict)
    for disagreement in merged.disagreements[:SHOWN]:
        say(f"answers differ: {disagreement.text}")
    if len(merged.disagreements) > SHOWN:
        say(f"answers differ for {len(merged.disagreements) - SHOWN} more cells (--json has all)")
    if options.json:
        print_json(
            {
                "read": merged.read,
                "added": merged.added,
                "duplicates": merged.duplicates,
                "speeds": merged.speeds,
                "dropped": merged.dropped,
                "conflicts": merged.conflicts,
                "disagreements": [disagreement.text for disagreement in merged.disagreements],
            }
        )
    if merged.speeds:
        say(f"{options.output}: {number_of(merged.speeds, 'line')} of speed added")
    say(
        f"{options.output}: {number_of(merged.read, 'line')} read, {merged.added} added, "
        f"{merged.duplicates} were there; "
        f"{len(merged.dropped)} damaged and left out, {len(merged.conflicts)} in conflict; tables written anew "
        f"(a line is the answer of a cell; {COUNTED})"
    )
    # A line that a killed run has torn is what its reader drops every time.
    return UNEXPECTED if merged.conflicts else OK
