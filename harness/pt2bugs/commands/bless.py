"""`pt2bugs bless`: rewrite the bug entries of headers from the journal."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.case.expectation import pinned
from pt2bugs.case.model import Case
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import Verdict
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import LinesOptions, option
from pt2bugs.commands.selection import SelectedResults, select_results
from pt2bugs.curate.bless import NOT_MEASURED, ThinJournal, entries_of, measured_of, rewrite
from pt2bugs.curate.placeholders import placeholders_in
from pt2bugs.errors import InputError
from pt2bugs.files import write_text
from pt2bugs.results.journal import Record

EXAMPLES = (("pt2bugs bless pytorch_163640", "the entries of its header, set to what was measured"),)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions):
    """Options of `bless`."""

    dry_run: bool = option("--dry-run", default=False, help="show the diff, change nothing")
    json: bool = option("--json", default=False, help="each case with its diff, or why it is left alone, as JSON")


def run(options: Options) -> int:
    """Select, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(options, query(select(options)))


@dataclass(frozen=True)
class Blessing:
    """A case with its new text, or why it is left alone; `is_thin` if the journal says too little of it."""

    case: Case
    old: str = ""
    new: str = ""
    left_alone: str = ""
    is_thin: bool = False

    @property
    def diff(self) -> str:
        """The change of the file."""
        name = self.case.path.as_posix()
        return "".join(difflib.unified_diff(self.old.splitlines(True), self.new.splitlines(True), name, name, n=1))


def select(options: Options) -> SelectedResults:
    """Return the cases whose entries are to be written. Entries speak of all devices and backends.

    Args:
        options: of the command.

    Raises:
        InputError: a check is named.
    """
    for word in options.patterns:
        if "::" in word:
            raise InputError(f"{word}: the entries of a header speak of all checks; name the case alone")
    return select_results(options, everywhere=True)


def query(selected: SelectedResults) -> list[Blessing]:
    """Return what the journal makes of each header.

    Args:
        selected: the cases and their lines.
    """
    return [
        _blessing(case, [record for record in selected.own_lines(case) if case.extra in ("", *record["extras"])])
        for case in selected.cases
    ]


def _blessing(case: Case, records: Sequence[Record]) -> Blessing:
    if case.guard or case.flaky:
        # What shows only sometimes has no range that the journal could give.
        return Blessing(case, left_alone="a guard has no entries" if case.guard else "its header says flaky")
    try:
        measured = measured_of(case, records)
        entries = entries_of(measured)
    except ThinJournal as error:
        return Blessing(case, left_alone=f"{error}; {_measures(case, records)}", is_thin=True)
    text = case.path.read_text(encoding="utf-8")
    is_wrong = any(record["verdict"] in (Verdict.FAIL, Verdict.XPASS) for record in records)
    if not is_wrong and not any(line.text.endswith(NOT_MEASURED) for line in placeholders_in(text)):
        # It says what was seen. Elsewhere a person may know more than the nearest release that was run.
        return Blessing(case, left_alone="its entries say what was seen")
    return Blessing(case, text, rewrite(case, text, entries, measured))


def _measures(case: Case, records: Sequence[Record]) -> str:
    """Return the command that measures more of a case: on other releases, or with another version of its package."""
    pins = sorted({pin for record in records for pin in pinned(record["extras"])})
    if not pins or not records:
        return f"`pt2bugs run {case.id} --torch minors --bisect` measures it"
    (name, _), torch = pins[0], public_or_empty(records[0]["torch"])
    command = f"pt2bugs run {case.id} --backend {records[0]['backend']} --with {name}==VERSION --torch {torch}"
    return f"`{command}` measures another version of {name}"


def render(options: Options, blessings: Sequence[Blessing]) -> int:
    """Show the changes and, unless it is a dry run, write them. Return the exit code.

    Args:
        options: of the command.
        blessings: of the selected cases.

    Raises:
        FileError: a case cannot be written.
    """
    changed = [blessing for blessing in blessings if blessing.new != blessing.old]
    for blessing in blessings:
        if blessing.left_alone and (blessing.is_thin or options.patterns):
            say(f"{blessing.case.id}: left alone: {blessing.left_alone}")
    for blessing in changed:
        if not options.json:
            sys.stdout.write(blessing.diff)
        if not options.dry_run:
            write_text(blessing.case.path, blessing.new)
            for placeholder in placeholders_in(blessing.new):
                say(f"{blessing.case.path.as_posix()}:{placeholder.line}: {placeholder.text}")
    if options.json:
        print_json(
            [
                {"case": blessing.case.id, "left_alone": blessing.left_alone, "diff": blessing.diff}
                for blessing in blessings
            ]
        )
    if changed and not options.dry_run:
        say(f"next: pt2bugs check --fix {' '.join(blessing.case.id for blessing in changed)}")
    return UNEXPECTED if any(blessing.is_thin for blessing in blessings) else OK
