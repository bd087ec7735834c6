"""`pt2bugs bench`: how fast compiled code is beside eager, a column for each release."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version
from rich.console import Console
from rich.table import Table

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import elided, fit, is_terminal, print_drawn, print_json, say, side_by_side, warn
from pt2bugs.commands.options import (
    EnvironmentOptions,
    LinesOptions,
    RerunOptions,
    option,
)
from pt2bugs.commands.selection import open_environments, select_cases
from pt2bugs.engine.client import EngineError
from pt2bugs.envs.environment import EnvironmentFailure
from pt2bugs.envs.in_use import Environments
from pt2bugs.envs.releases import FORMS, select_releases
from pt2bugs.errors import InputError, NothingSelected
from pt2bugs.results.folder import open_results
from pt2bugs.speed import journal
from pt2bugs.speed.history import Slower, in_words, search, slower_steps
from pt2bugs.speed.journal import BenchKey, SpeedLine, Speeds
from pt2bugs.speed.measurement import Bench, Stopwatch, benches_of, program_hashes

EXAMPLES = (
    ("pt2bugs bench", "the measured releases: compiled time as a multiple of eager's, and where it grew"),
    ("pt2bugs bench pytorch_183610 --torch 2.12.1 --torch 2.13.0", "measure two releases"),
    ("pt2bugs bench pytorch_183610 --torch '>=2.9' --bisect", "measure only what decides where it became slower"),
)


@dataclass(frozen=True, kw_only=True)
class Options(LinesOptions, EnvironmentOptions, RerunOptions):
    """Options of `bench`."""

    torch: Sequence[str] = option(
        "--torch",
        default=(),
        metavar="SPEC",
        help=f"measure these releases, each written as {FORMS}; default: show what was measured",
    )
    bisect: bool = option(
        "--bisect", default=False, help="measure only the releases that decide where it became slower"
    )
    json: bool = option("--json", default=False, help="print the lines and what became slower as JSON")


@dataclass(frozen=True)
class Selected:
    """The benches, the folder of the results, and the hashes of the cases' programs."""

    benches: Sequence[Bench]
    results: Path
    programs: dict[str, str]

    def speeds(self, python: str | None) -> Speeds:
        """Return the lines of these benches.

        Args:
            python: a minor version; None: any.
        """
        keys = {bench.key for bench in self.benches}
        lines = journal.read(self.results, self.programs, warn, python or "")
        return {key: by_release for key, by_release in lines.items() if key in keys}


@dataclass
class Measured:
    """What was asked of releases: the lines that answer, known before or new, and which environments could not."""

    lines: dict[tuple[BenchKey, str], SpeedLine] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def run(options: Options) -> int:
    """Select, measure, query, render. Return the exit code.

    Args:
        options: of the command.
    """
    selected = select(options)
    measured = measure(options, selected) if options.torch else Measured()
    return render(options, selected, measured, query(options, selected))


def select(options: Options) -> Selected:
    """Return the benches of the selected cases.

    Args:
        options: of the command.

    Raises:
        NothingSelected: no selected case has a bench on such a device.
        InputError: there is nothing to search.
    """
    if options.bisect and not options.torch:
        raise InputError("--bisect searches among releases: name them, as --torch '>=2.9'")
    _, cases = select_cases(options)
    benches = list(benches_of(cases, tuple(options.device) or ("cpu",), tuple(options.backend)))
    if not benches:
        raise NothingSelected("none of the selected cases has a bench (`def bench_..`) on that device")
    return Selected(benches, open_results(options.results).folder, program_hashes(cases))


def measure(options: Options, selected: Selected) -> Measured:
    """Measure what the journal of speed does not have yet.

    Args:
        options: of the command.
        selected: the benches.

    Raises:
        EnvironmentFailure: the only environment cannot be made.
        SpeedJournalError: the journal cannot be written.
    """
    with open_environments(options) as environments, contextlib.ExitStack() as stack:
        releases = [str(release) for release in select_releases(options.torch, environments.releases)]
        releases.sort(key=Version)
        bench_lines = _Measuring(options, selected, environments, stack)
        for bench in selected.benches if options.bisect else ():
            answered = search(releases, lambda release, bench=bench: bench_lines.of(bench, release))  # type: ignore[misc]
            for step in answered.transitions():
                say(f"{bench}: changes between torch {step.before} and {step.after}")
        if not options.bisect:
            for release in releases:
                for bench in selected.benches:
                    bench_lines.of(bench, release)
        return bench_lines.measured


class _Measuring:
    """Measures benches on releases, each at most once, and writes the journal at once."""

    def __init__(
        self, options: Options, selected: Selected, environments: Environments, stack: contextlib.ExitStack
    ) -> None:
        self._options, self._selected, self._environments, self._stack = options, selected, environments, stack
        self._known = {} if options.rerun else selected.speeds(options.python)
        self._open: dict[str, Stopwatch] = {}
        self.measured = Measured()

    def of(self, bench: Bench, release: str) -> SpeedLine | None:
        """Return the line of a bench in a release; None if its environment cannot say."""
        lines = self.measured.lines
        line = lines.get((bench.key, release)) or self._known.get(bench.key, {}).get(release)
        if line is not None:
            lines[bench.key, release] = line
        if line is not None or release in self.measured.failures:
            return line
        try:
            line = self._stopwatch(release).measure(bench)
        except (EnvironmentFailure, EngineError) as error:
            self.measured.failures[release] = str(error)
            return None
        journal.append(self._selected.results, [line])
        lines[bench.key, release] = line
        say(f"torch {release} {bench}: {_told(line)}")
        return line

    def _stopwatch(self, release: str) -> Stopwatch:
        if release not in self._open:
            # One torch in memory at a time.
            self._stack.close()
            (environment,) = self._environments.of(release)
            watch = Stopwatch(environment.python, self._selected.benches)
            self._open = {release: self._stack.enter_context(contextlib.closing(watch))}
        return self._open[release]


def query(options: Options, selected: Selected) -> tuple[Speeds, list[Slower]]:
    """Return the lines, and where benches became slower.

    Args:
        options: of the command.
        selected: the benches.
    """
    speeds = selected.speeds(options.python)
    return speeds, list(slower_steps(speeds))


def render(options: Options, selected: Selected, measured: Measured, told: tuple[Speeds, list[Slower]]) -> int:
    """Print a row for each bench and a column for each release, and what became slower. Return the exit code.

    Args:
        options: of the command.
        selected: the benches.
        measured: what was measured for it.
        told: the lines, and what became slower.
    """
    speeds, slower = told
    if options.json:
        lines = [line.as_dict() for by_release in speeds.values() for line in by_release.values()]
        print_json({"lines": lines, "slower": [step.as_dict() for step in slower]})
    elif speeds:
        _print_table(speeds)
        for text in in_words(slower):
            print(fit(text))
    else:
        say("no line yet: --torch names the releases to measure")
    for release, failure in measured.failures.items():
        say(f"torch {release}: {failure}")
    silent = [bench for bench in selected.benches if bench.key not in speeds]
    if silent and speeds:
        say(f"not measured: {', '.join(map(str, silent))}")
    # A bench may use what an older release does not have; where none has times, nothing was said.
    is_silent = bool(measured.lines) and all(line.ratio is None for line in measured.lines.values())
    return UNEXPECTED if measured.failures or is_silent else OK


def _told(line: SpeedLine) -> str:
    if line.ratio is None:
        return f"no times: {line.problem}"
    return f"{line.ratio:.2f} of eager's time ({line.spread}; {min(line.compiled_s) * 1e3:.3g} ms)"


def rows(speeds: Speeds) -> tuple[list[str], list[list[str]]]:
    """Return the releases, and for each bench its name and its ratio in each of them.

    Args:
        speeds: of the journal.
    """
    releases = sorted({release for lines in speeds.values() for release in lines}, key=Version)
    table: list[list[str]] = []
    for key, lines in speeds.items():
        suffix = "" if (key.device, key.backend) == ("cpu", "inductor") else f" [{key.device}-{key.backend}]"
        table.append([f"{key.case} {key.bench}{suffix}", *(_cell(lines.get(release)) for release in releases)])
    return releases, table


def _cell(line: SpeedLine | None) -> str:
    if line is None:
        return "·"
    return "-" if line.ratio is None else f"{line.ratio:.2f}"


def _print_table(speeds: Speeds) -> None:
    releases, table = rows(speeds)
    # The newest release stands where the eye is, as in the matrix.
    releases, table = releases[::-1], [[row[0], *row[:0:-1]] for row in table]
    if not is_terminal():
        print("\t".join(["bench", *releases]))
        for row in table:
            print("\t".join(row))
        return
    say("compiled time as a multiple of eager's; - no times, · not measured")
    columns = Console().width
    width = max(len(row[0]) for row in table)
    label = min(width, max(columns * 2 // 5, columns - 8 * len(releases)))
    for shown in side_by_side(releases, columns - label - 3):
        drawn = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        drawn.add_column("bench", no_wrap=True, max_width=label)
        for release in shown:
            drawn.add_column(release, justify="right", no_wrap=True)
        for name, row in zip(elided([row[0] for row in table], label), table, strict=True):
            by_release = dict(zip(releases, row[1:], strict=True))
            drawn.add_row(name, *(by_release[release] for release in shown))
        print_drawn(drawn)
