"""`pt2bugs merge`: the results of several machines as one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.corpus import load_cases
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say, warn
from pt2bugs.commands.options import folder
from pt2bugs.commands.selection import corpus_roots
from pt2bugs.results.matrix import Results
from pt2bugs.results.merge import merge
from pt2bugs.results.record import Record

EXAMPLES = (
    ("pt2bugs merge shards/* -o results", "what the machines of a CI have measured, into the results here"),
    ("pt2bugs merge out.jsonl -o results", "a journal that `pytest cases/ --journal out.jsonl` wrote"),
)

SHOWN = 20
"""Disagreements that are told one by one."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command takes."""

    sources: Sequence[Path]
    output: Path
    cases: Sequence[Path] = ()
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="+", type=folder, metavar="DIR", help="folders of results, or journals; also folders of those"
    )
    parser.add_argument(
        "-o", "--output", type=folder, required=True, metavar="DIR", help="the results folder that gets their lines"
    )
    parser.add_argument(
        "--cases", action="append", default=[], type=Path, metavar="DIR", help="another corpus (default: ./cases)"
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(options: Options) -> int:
    corpus = load_cases(corpus_roots(options.cases), warn)
    cases = {case.id: case for case in corpus}
    results = Results(options.output)

    def route(record: Record) -> Path:
        return results.journal_folder_of(record, cases.get(record["case"])).relative_to(options.output)

    done = merge(options.sources, options.output, route, warn)
    results = Results(options.output, sorted(done.backends))
    results.derive(results.load(corpus, lambda _: None))
    for conflict in done.conflicts:
        warn(conflict)
    for one in done.disagreements[:SHOWN]:
        say(f"answers differ: {one.text}")
    if len(done.disagreements) > SHOWN:
        say(f"answers differ for {len(done.disagreements) - SHOWN} more cells (--json has all)")
    if options.json:
        print_json(
            {
                "read": done.read,
                "added": done.added,
                "duplicates": done.duplicates,
                "dropped": done.dropped,
                "conflicts": done.conflicts,
                "disagreements": [one.text for one in done.disagreements],
            }
        )
    say(
        f"{options.output}: {done.read} lines read, {done.added} added, {done.duplicates} were there; "
        f"{len(done.dropped)} damaged and left out, {len(done.conflicts)} in conflict; tables written anew"
    )
    # A line that a killed run has torn is what its reader drops every time.
    return UNEXPECTED if done.conflicts else OK
