"""`pt2bugs compare A B`: what a move from release A to B fixes and breaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path

from packaging.version import Version

from pt2bugs.bisect.accepted import Accepted, load_accepted
from pt2bugs.bisect.compare import UNSURE_SHARE, Change, Comparison, Difference, by_case
from pt2bugs.case.cells import Cell
from pt2bugs.case.model import Case
from pt2bugs.case.selectors import with_text
from pt2bugs.case.vocabulary import COUNTED, number_of
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, is_terminal, print_json, say, warn
from pt2bugs.commands.machines import run_cells
from pt2bugs.commands.options import (
    OfflineOptions,
    ResultsOptions,
    RunningOptions,
    SelectionOptions,
    TextOptions,
    option,
)
from pt2bugs.commands.selection import (
    open_store,
    package_sources,
    results_of,
    run_options,
    select_cases,
    select_cells,
    targets_for,
    tell_newest,
    without_release,
)
from pt2bugs.envs.releases import Release, ReleaseError, known_releases, one_release, one_release_request
from pt2bugs.errors import InputError, NothingSelected, install_command
from pt2bugs.report.comparison import FOLDED, as_markdown, notes_of
from pt2bugs.results.folder import Among, Results
from pt2bugs.results.history import FLAKY_REPEATS, Finding, Histories
from pt2bugs.run.plan import Work, belongs, may_be_here

EXAMPLES = (
    ("pt2bugs compare 2.9.1 2.13", "what is broken, what is fixed, worst first; 2.13 is its newest patch"),
    ("pt2bugs compare 2.9.1 2.12 2.13 --group-by component", "two moves, each by layer of the compiler"),
    ("pt2bugs compare 2.9.1 latest --offline --markdown", "from the journal alone, to paste into a pull request"),
    ("pt2bugs compare 2.9.1 2.13 --allow accepted.toml", "in CI: exit 1 only for what is not accepted"),
    (
        "pt2bugs compare 2.13 --backend mine --with mine==1.0 --against mine==1.1",
        "two versions of a backend on one release of torch",
    ),
)
_FORMS = "2.9.1 (that release), 2.9 (its newest patch) or latest"
_RELEASE = re.compile(r"\d+\.\d+(\.\d+)?((a|b|rc)\d+)?(\.dev\d+)?|latest")
"""Pattern of further releases after A and B. No case has such a name."""


@dataclass(frozen=True, kw_only=True)
class Options(SelectionOptions, TextOptions, ResultsOptions, RunningOptions, OfflineOptions):
    """Options of `compare`. `patterns` may begin with further releases."""

    before: str = option("A", default="", help=f"the release to come from: {_FORMS}")
    after: str = option(
        "B", default="", help="the release to go to, written the same way; more may follow, each to go to next"
    )
    against: Sequence[str] = option(
        "--against",
        default=(),
        metavar="REQ",
        help="go from the packages of --with to this one instead, on release A (default: the newest)",
    )
    group_by: str = option(
        "--group-by",
        default="",
        choices=("component", "symptom"),
        metavar="WORD",
        help="count the changes of each component or symptom, and list them together",
    )
    all: bool = option("--all", default=False, help="list also what passes in both, and what was seen of each check")
    allow: Path | None = option(
        "--allow",
        "--baseline",
        parse=Path,
        metavar="FILE",
        help="accepted failures: a TOML file of [[accepted]] entries, each with a reason and an end date; "
        "that of `backend --baseline` is one",
    )
    markdown: bool = option("--markdown", default=False, exclusive=True, help="print it for an issue or a pull request")
    json: bool = option("--json", default=False, exclusive=True, help="print the differences as JSON")

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """The releases named, in the order of the moves, and the other words, which name cases."""
        named = [self.before, self.after] if not self.against else []
        rest = [*([self.before, self.after] if self.against else []), *self.patterns]
        releases = [word for word in rest if _RELEASE.fullmatch(word)]
        return named + releases, [word for word in rest if word and word not in releases]


def run(options: Options) -> int:
    """Select, plan, measure, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    selection = select(options)
    planned = plan(options, selection)
    failed = measure(options, planned)
    comparisons = query(options, selection, planned)
    return render(options, comparisons, failed=failed)


@dataclass(frozen=True)
class Selected:
    """The corpus, and the cells that are compared."""

    corpus: Sequence[Case]
    cells: Sequence[Cell]
    packages: Sequence[Packages]
    accepted: Sequence[Accepted]


@dataclass(frozen=True)
class Packages:
    """The packages beside torch: those of the options, or those of `--against`."""

    options: Options
    extras: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """A release with its packages: where a move begins or ends."""

    name: str
    release: Release
    packages: Packages

    def finding(self, histories: Histories, cell: Cell) -> Finding | None:
        """Return what was seen of a cell there.

        Args:
            histories: of the corpus.
            cell: of any release.
        """
        return histories.of(cell, self.packages.extras).finding(str(self.release))


@dataclass(frozen=True)
class Planned:
    """The sides, what the journal says of them, and the cells that it does not answer, with their repeats."""

    results: Results
    histories: Histories
    sides: Sequence[Side]
    work: Sequence[tuple[Work, int]] = ()


def select(options: Options) -> Selected:
    """Return the cells to compare: without those of a GPU that is absent, if they were never measured.

    Args:
        options: of the command.

    Raises:
        InputError: an option is wrong.
        NothingSelected: no cell is left.
    """
    specs, patterns = options.words
    if options.against and len(specs) > 1:
        raise InputError(f"--against compares packages on one release; name one, not {' '.join(specs)}")
    if not options.against and not (options.before and options.after):
        raise InputError("compare needs two releases, A and B; or --against REQ, to compare packages on one")
    for spec in specs:
        one_release_request(spec)
    options = replace(options, patterns=patterns)
    corpus, cases = select_cases(options)
    shape = without_release(options, options.backend)
    packages = [Packages(options, shape.key.extras)]
    if options.against:
        others = replace(options, packages=options.against)
        packages.append(Packages(others, without_release(others, options.backend).key.extras))
        if packages[0].extras == packages[1].extras:
            raise InputError(f"--against {' '.join(options.against)}: is what it is compared with")
    accepted = load_accepted(options.allow) if options.allow else []
    cells = [cell for cell in select_cells(options, with_text(cases, options.text)) if belongs(cell, shape)]
    if not cells:
        raise NothingSelected("nothing selected: the selected cases need an extra; name it with --extra")
    if not options.device:
        measurable = [
            cell for cell in cells if not cell.case.unmeasured or (not options.offline and may_be_here(cell.device))
        ]
        if len(measurable) < len(cells):
            say(f"left aside: {number_of(len(cells) - len(measurable), 'check')} for a GPU that were never measured")
        cells = measurable
    return Selected(corpus, cells, packages, accepted)


def plan(options: Options, selection: Selected) -> Planned:
    """Return the releases meant, and what is to be run of them. The package index is asked only if something is.

    Args:
        options: of the command.
        selection: the cells.

    Raises:
        InputError: a release is not known, or all are the same.
        ReleaseError: the package index cannot be asked.
    """
    results = results_of(options, options.backend)
    specs = options.words[0] or ["latest"]
    histories = results.load(selection.corpus, warn, options.python, _meant_by(specs))
    measured = [Release(version, ()) for version in _measured(selection, histories)]
    if not all(_is_among(spec, measured) for spec in specs):
        # What there is instead is told.
        histories = results.load(selection.corpus, lambda _: None, options.python)
        measured = [Release(version, ()) for version in _measured(selection, histories)]
    try:
        asks_index = not options.offline and (options.index or options.find_links or "latest" in specs)
        known = known_releases(package_sources(options), warn) if asks_index else measured
        releases = [one_release(spec, known) for spec in specs]
    except ReleaseError:
        if options.offline:
            raise InputError(f"{_unmeasured(specs, measured, results)}; without --offline it is run") from None
        try:
            known = known_releases(package_sources(options), warn)
        except ModuleNotFoundError:
            remedy = f"what runs it is not installed: {install_command('envs')}"
            raise InputError(f"{_unmeasured(specs, measured, results)}; {remedy}") from None
        try:
            releases = [one_release(spec, known) for spec in specs]
        except ReleaseError as error:
            there = f"; the journal has {measured[0]} to {measured[-1]}" if measured else ""
            raise InputError(f"{error}{there}") from None
    for before, after in pairwise(releases):
        if before == after:
            raise InputError(f"compare {' '.join(specs)}: both are torch {before}; name two different releases")
    tell_newest(specs, known)
    sides = _sides(selection, releases)
    planned = Planned(results, histories, sides)
    if options.offline or not (owed := [cell for side in sides for cell in _owed(selection, histories, side)]):
        return planned
    try:
        index = {release.version: release for release in known_releases(package_sources(options), warn)}
        targets = [
            targets_for(side.packages.options, [index.get(side.release.version, side.release)], options.backend)[0]
            for side in sides
        ]
    except ModuleNotFoundError:
        remedy = f"what runs them is not installed: {install_command('envs')}"
        say(f"not in the journal: {number_of(len(owed), 'cell')}; {remedy}")
        return planned
    work = []
    for is_flaky, repeat in ((False, options.repeat), (True, max(options.repeat, FLAKY_REPEATS))):
        for target, side in zip(targets, sides, strict=True):
            cells = [cell for cell in _owed(selection, histories, side) if cell.case.flaky is is_flaky]
            if cells:
                work.append((Work(target, cells), repeat))
    return replace(planned, work=work)


def _meant_by(specs: Sequence[str]) -> Among | None:
    """Return which releases the words can mean, so that no other is read: ``2.13`` is any of 2.13; None for all."""
    words = [re.fullmatch(r"(\d+\.\d+)(\.\d+)?", spec) for spec in specs]
    if not all(words):
        return None
    return lambda torch: any(torch == spec or torch.startswith(f"{spec}.") for spec in specs)


def _measured(selection: Selected, histories: Histories) -> list[Version]:
    """Return the releases that the journal has, in order: of packages that are compared, those measured with them."""
    if len(selection.packages) == 1:
        return histories.releases(selection.cells)
    rows = (histories.of(cell, packages.extras) for cell in selection.cells for packages in selection.packages)
    return sorted({Version(release) for row in rows for release in row.findings})


def _sides(selection: Selected, releases: Sequence[Release]) -> list[Side]:
    """Return the releases with the same packages, or one release with each of the packages, named by what differs."""
    if len(selection.packages) == 1:
        return [Side(str(release), release, selection.packages[0]) for release in releases]
    shared = set.intersection(*(set(packages.extras) for packages in selection.packages))
    return [
        Side(" ".join(word for word in packages.extras if word not in shared) or "without", releases[0], packages)
        for packages in selection.packages
    ]


def measure(options: Options, planned: Planned) -> bool:
    """Run what the journal does not answer. Return True if an environment failed.

    Args:
        options: of the command.
        planned: with the cells to run.
    """
    if options.offline:
        return False
    if not planned.work:
        say("answered by the journal, nothing was run")
        return False
    for part, _ in planned.work:
        say(f"{part.target}: {number_of(len(part.cells), 'cell')} to run")
    how = run_options(options)
    batches = groupby(planned.work, key=lambda item: item[1])
    run_cells(
        options,
        open_store(options),
        planned.results,
        planned.histories,
        (([part for part, _ in group], replace(how, repeat=repeat)) for repeat, group in batches),
    )
    # The tables are those of all releases.
    planned.results.derive(planned.results.load(planned.histories.cases.values(), lambda _: None))
    return any(part.failure for part, _ in planned.work)


def query(options: Options, selection: Selected, planned: Planned) -> list[Comparison]:
    """Return what each move does to every cell.

    Args:
        options: of the command.
        selection: the cells.
        planned: the releases, and what is known of them.
    """
    histories = planned.histories
    return [
        Comparison(
            before.name,
            after.name,
            [
                Difference(cell, before.finding(histories, cell), after.finding(histories, cell))
                for cell in selection.cells
            ],
            selection.accepted,
            torch=str(after.release) if options.against else "",
        )
        for before, after in pairwise(planned.sides)
    ]


def render(options: Options, comparisons: Sequence[Comparison], *, failed: bool) -> int:
    """Print the comparisons. Return the exit code.

    Args:
        options: of the command.
        comparisons: of neighbouring releases.
        failed: an environment could not answer.
    """
    if options.json:
        answers = [comparison.as_dict() for comparison in comparisons]
        print_json(answers[0] if len(answers) == 1 else answers)
    elif options.markdown:
        print("\n\n".join(as_markdown(comparison, everything=options.all) for comparison in comparisons))
    else:
        print("\n\n".join("\n".join(_text(comparison, options)) for comparison in comparisons))
    _tell_accepted(options, comparisons)
    is_text = not (options.json or options.markdown)
    say(f"{number_of(len(comparisons[0].differences), 'check')} ({COUNTED})")
    for comparison in comparisons:
        if not (is_text and is_terminal()):
            say(f"{comparison.title}: {comparison.counts}")
        if comparison.is_unanswered:
            unsure, there = comparison.unsure
            is_owed = any(
                difference.before is None or difference.after is None for difference in comparison.of(Change.UNSURE)
            )
            remedy = "; without --offline what was not run is run" if options.offline and is_owed else ""
            say(f"cannot say for {unsure} of {there} checks, more than {UNSURE_SHARE:.0%}{remedy}")
    is_bad = any(comparison.is_unanswered or comparison.of(Change.BROKEN) for comparison in comparisons)
    return UNEXPECTED if failed or is_bad else OK


# --- words ---------------------------------------------------------------------------------------------


def _unmeasured(specs: Sequence[str], measured: Sequence[Release], results: Results) -> str:
    """Say which release the journal has not, and which it has."""
    spec = next(spec for spec in specs if not _is_among(spec, measured))
    there = f"it has {measured[0]} to {measured[-1]}" if measured else "it has none"
    return f"the journal in {results.journal_folder} has no answer for torch {spec}; {there}"


def _is_among(spec: str, releases: Sequence[Release]) -> bool:
    try:
        one_release(spec, releases)
    except ReleaseError:
        return False
    return True


def _owed(selection: Selected, histories: Histories, side: Side) -> Iterator[Cell]:
    for cell in selection.cells:
        finding = side.finding(histories, cell)
        if finding is None or not finding.suffices:
            yield cell


def _tell_accepted(options: Options, comparisons: Sequence[Comparison]) -> None:
    """Warn of accepted failures that are there no more, have no end, or have ended."""
    first, *others = comparisons
    for entry in first.needless:
        if all(entry in other.needless for other in others):
            warn(f"{options.allow}: {entry}: covers nothing here; remove it")
    for comparison in comparisons:
        endless = [entry for entry in comparison.accepted.values() if not (entry.reason and entry.until)]
        if endless:
            warn(f"{options.allow}: {len(endless)} of the entries in use have no reason or no end date")
        for difference, entry in comparison.ended.items():
            warn(f"{options.allow}: {difference.cell.key} was accepted until {entry.until}: decide anew")


def _text(comparison: Comparison, options: Options) -> Iterator[str]:
    """Yield the lines of a comparison: by change, worst first, and by case.

    What the move does not cause is a line for each case, unless everything is asked for.
    """
    yield comparison.title
    yield fit(comparison.counts or "no check")
    if options.group_by:
        yield from _table(comparison, options.group_by)
    for title, differences in comparison.groups(everything=options.all):
        is_short = title in map(str, FOLDED) and not options.all
        yield ""
        yield f"{title} ({len(differences)}){'; --all says what was seen' if is_short else ''}"
        groups: dict[str, list[Difference]] = {}
        for difference in differences:
            word = str(getattr(difference.cell.case, options.group_by)) if options.group_by else ""
            groups.setdefault(word, []).append(difference)
        for word, group in sorted(groups.items()):
            if word:
                yield f" {word} ({len(group)})"
            for case, of_case in by_case(group):
                yield fit(f"  {case.id}  [{case.component}, {case.symptom}]  {case.title}")
                if is_short:
                    continue
                yield f"    {case.issue}"
                for difference in of_case:
                    yield fit(f"    {difference.cell.name}  {' '.join(difference.why.split())}")
                    yield from (fit(f"      {note}") for note in notes_of(comparison, difference))


def _table(comparison: Comparison, group_by: str) -> Iterator[str]:
    """Yield a line for each component or symptom, with how many of its checks changed in which way."""
    counted = {
        change: Counter(getattr(difference.cell.case, group_by) for difference in comparison.of(change))
        for change in Change
    }
    words = sorted({word for counts in counted.values() for word in counts})
    width = max(map(len, [group_by, *words]))
    yield ""
    yield "  ".join([f"{group_by:{width}}", *map(str, Change)])
    for word in words:
        yield "  ".join([f"{word:{width}}", *(f"{counted[change][word]:{len(str(change))}}" for change in Change)])
