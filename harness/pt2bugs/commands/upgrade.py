"""`pt2bugs upgrade`: what a move from one release to another changes for a program of one's own."""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import Version

from pt2bugs.case.corpus import corpus_roots
from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import fit, print_json, say, warn
from pt2bugs.commands.options import ProgramOptions, folder, option
from pt2bugs.commands.program import exposure_command, select_interpreters, select_known, select_program
from pt2bugs.commands.selection import open_environments
from pt2bugs.engine.client import EngineError
from pt2bugs.envs.environment import EnvironmentFailure
from pt2bugs.envs.in_use import Environments
from pt2bugs.errors import InputError, last_line
from pt2bugs.files import write_text
from pt2bugs.match.known import KnownBugs
from pt2bugs.report.upgrade import as_markdown, as_page
from pt2bugs.results.folder import open_results
from pt2bugs.run.interpreter import Interpreter, Interpreters, named_interpreter
from pt2bugs.upgrade.exposure import Isolation, exposure_of
from pt2bugs.upgrade.move import (
    CAVEAT,
    LISTS,
    REPLAYS,
    RUNS,
    TITLES,
    Move,
    Replayed,
    Side,
    digest_of,
    not_covered,
    notes_of,
    prevented,
    recognizer,
)
from pt2bugs.upgrade.recorded import Program, Recorder

EXAMPLES = (
    ("pt2bugs upgrade train.py --from 2.9.1 --to 2.13", "what the move breaks, fixes and changes for train.py"),
    (
        "pt2bugs upgrade train.py --from 2.9.1 --to 2.13 --with timm -o answer",
        "with its packages; as a page, too",
    ),
    ("pt2bugs upgrade train.py --python-exe old/bin/python new/bin/python", "in two environments of your own"),
)
ROWS, COLUMNS = 24, 80
"""The least screen, which an answer fits; the page has all of it."""


@dataclass(frozen=True, kw_only=True)
class Options(ProgramOptions):
    """Options of `upgrade`."""

    before: str | None = option("--from", metavar="RELEASE", help="the release to come from")
    after: Sequence[str] = option(
        "--to", default=(), metavar="RELEASE", help="the release to go to; more of them, each from the one before"
    )
    python_exe: Sequence[Path] | None = option(
        "--python-exe", parse=Path, nargs=2, metavar=("A", "B"), help="two interpreters with torch, instead of releases"
    )
    output: Path | None = option(
        "-o", "--output", parse=folder, metavar="DIR", help="write index.html, upgrade.md and upgrade.json there"
    )


def run(options: Options) -> int:
    """Select, measure, query, render. Return the exit code.

    Args:
        options: of the command.

    Raises:
        InputError: the program is none, or can be run on none of the releases.
    """
    program = select_program(options)
    with open_environments(options) as environments:
        chosen = select(options, environments)
        sides = measure(options, program, chosen, select_interpreters(options, environments))
    for side in sides:
        if not side.is_there and not side.replays:
            raise InputError(f"torch {side.release}: nothing could be run there: {side.problem}")
    moves = query(options, sides)
    render(options, program.path.name, sides, moves)
    return UNEXPECTED if any(move.breaks_for_you for move in moves) else OK


# --- select --------------------------------------------------------------------------------------------


def select(options: Options, environments: Environments) -> list[str | Path]:
    """Return the releases in their order, or the interpreters that were named.

    Args:
        options: of the command.
        environments: know the releases.

    Raises:
        InputError: both or neither are named, or a release twice.
    """
    if options.python_exe is not None:
        if options.before or options.after:
            raise InputError("--python-exe names both interpreters; leave --from and --to out")
        return list(options.python_exe)
    if not options.before or not options.after:
        raise InputError("name the releases with --from and --to, or two interpreters with --python-exe")
    releases = [environments.release(word) for word in (options.before, *options.after)]
    if any(Version(old) >= Version(new) for old, new in pairwise(releases)):
        raise InputError(f"--from {releases[0]} --to {' '.join(releases[1:])}: each must be newer than the one before")
    return list(releases)


# --- measure -------------------------------------------------------------------------------------------


def measure(options: Options, program: Program, chosen: Sequence[str | Path], interpreters: Interpreters) -> list[Side]:
    """Run the program and its graphs on each release, and ask for its exposure.

    Args:
        options: of the command.
        program: what is run.
        chosen: the releases in their order, or the interpreters.
        interpreters: make the environments.
    """
    with contextlib.ExitStack() as stack:
        pairs = [_opened(word, program, interpreters, stack) for word in chosen]
        for side, recorder, _ in pairs:
            if recorder is not None and not side.problem:
                _run(side, recorder)
        graphs: dict[str, dict[str, Any]] = {}
        for side, _, _ in pairs:
            graphs |= {name: {**graph, "id": name} for name, graph in side.graphs.items()}
        for side, recorder, _ in pairs:
            if recorder is not None and graphs:
                _replay(side, recorder, list(graphs.values()))
    known = select_known(options)
    for number, (side, _, interpreter) in enumerate(pairs):
        if interpreter is None or not side.is_there:
            continue
        # What could not be opened is named as the user wrote it, which need not be a release.
        older = pairs[number - 1][0].release if number and pairs[number - 1][2] else ""
        newer = pairs[number + 1][0].release if number + 1 < len(pairs) and pairs[number + 1][2] else ""
        asked = _asked_between(older, side.release, newer)
        if any(asked(isolation) for isolation in known.isolations):
            command = partial(exposure_command, options)
            side.exposure = exposure_of(program, interpreter, known, interpreters, say, command, asked)
    return [side for side, _, _ in pairs]


def _asked_between(older: str, release: str, newer: str) -> Callable[[Isolation], bool]:
    """Return whether a fix is asked about: it comes with the next release, or its bug came after the one before."""

    def is_asked(isolation: Isolation) -> bool:
        bad, good = Version(isolation["bad"]), Version(isolation["good"])
        if isolation["direction"] == "fixed":
            return bool(newer) and Version(release) <= bad and good <= Version(newer)
        return bool(older) and Version(older) <= good and bad <= Version(release)

    return is_asked


def _opened(
    word: str | Path, program: Program, interpreters: Interpreters, stack: contextlib.ExitStack
) -> tuple[Side, Recorder | None, Interpreter | None]:
    """Return a release with the recorder of the program there; without its packages where they do not resolve."""
    side = Side(str(word))
    try:
        if isinstance(word, Path):
            interpreter = interpreters.existing(named_interpreter(word))
        else:
            try:
                interpreter = interpreters.of(word)
            except EnvironmentFailure as error:
                if not interpreters.has_packages:
                    raise
                side.problem = f"its packages do not resolve, only its graphs are replayed there: {last_line(error)}"
                interpreter = interpreters.of(word, alone=True)
        side.release = interpreter.release
        recorder = program.recorder(interpreter.exe)
        stack.callback(recorder.close)
        recorder.start()
        if recorder.removed:
            say(f"torch {side.release}: without the variables {', '.join(recorder.removed)}")
    except (EnvironmentFailure, EngineError) as error:
        side.problem = last_line(error)
        return side, None, None
    return side, recorder, interpreter


def _run(side: Side, recorder: Recorder) -> None:
    for number in range(1, RUNS + 1):
        say(f"torch {side.release}: the program, run {number} of {RUNS}")
        run = recorder.record(capture=number == 1, share=False)
        if why := prevented(run):
            side.problem, side.runs = why, []
            return
        side.runs.append(run)
    side.notes += notes_of(side.runs[0])
    for graph in side.runs[0].graphs:
        if graph["inputs"]:
            side.graphs.setdefault(digest_of(graph), graph)


def _replay(side: Side, recorder: Recorder, graphs: Sequence[dict[str, Any]]) -> None:
    for number in range(1, REPLAYS + 1):
        say(f"torch {side.release}: the captured graphs, replay {number} of {REPLAYS}")
        replayed: dict[str, Replayed] = {}
        for entry in recorder.replay(graphs):
            name = entry["graph"]
            if entry["kind"] == "replayed":
                told = tuple((what, how, size) for what, how, size in entry["differences"])
                replayed[name] = Replayed(name, told, entry["eager_s"], entry["compiled_s"])
            elif entry["kind"] == "not replayed":
                replayed[name] = Replayed(name, problem=entry["reason"])
        side.replays.append(replayed)


# --- query ---------------------------------------------------------------------------------------------


def query(options: Options, sides: Sequence[Side]) -> list[Move]:
    """Return the answer to each move.

    Args:
        options: of the command.
        sides: the releases in their order.
    """
    known = recognizer(lambda: KnownBugs.load(open_results(options.results), corpus_roots(options.cases), warn))
    return [Move.of(before, after, known) for before, after in pairwise(sides)]


# --- render --------------------------------------------------------------------------------------------


def as_dict(sides: Sequence[Side], moves: Sequence[Move]) -> dict[str, Any]:
    """Return the answer as ``--json`` prints it; of several moves their lists together.

    Args:
        sides: the releases in their order.
        moves: between them.
    """
    lists = {name: [entry.as_dict() for move in moves for entry in getattr(move, name)] for name in LISTS}
    replay = []
    for side in sides:
        for name in dict.fromkeys(name for graphs in side.replays for name in graphs):
            some = [graphs[name] for graphs in side.replays if name in graphs]
            sizes = [size for comparison in some for _, _, size in comparison.differences if size is not None]
            replay.append(
                {
                    "graph": name,
                    "torch": side.release,
                    "same": None if some[0].problem else not some[0].differences,
                    "max_difference": max(sizes, default=None if some[0].problem else 0.0),
                    "problem": some[0].problem,
                }
            )
    return {
        "from": sides[0].release,
        "to": [side.release for side in sides[1:]],
        "runs": [side.as_dict() for side in sides],
        "replay": replay,
        **lists,
        "exposure": [side.exposure.as_dict() for side in sides if side.exposure is not None],
    }


def render(options: Options, name: str, sides: Sequence[Side], moves: Sequence[Move]) -> None:
    """Print the answer, and write the files that were asked for.

    Args:
        options: of the command.
        name: of the program.
        sides: the releases in their order.
        moves: between them.
    """
    answer = as_dict(sides, moves)
    foot = f"{not_covered(sides)} {CAVEAT}"
    if options.output is not None:
        write_text(options.output / "upgrade.json", json.dumps(answer, indent=1) + "\n")
        write_text(options.output / "upgrade.md", as_markdown(name, answer, TITLES, foot))
        write_text(options.output / "index.html", as_page(name, answer, TITLES, foot))
        say(f"written to {options.output}")
    if options.json:
        print_json(answer)
        return
    for line in lines(name, sides, moves):
        print(fit(line))


def lines(name: str, sides: Sequence[Side], moves: Sequence[Move]) -> Iterator[str]:
    """Yield the answer as a screen of text; of several moves, each is one.

    Args:
        name: of the program.
        sides: the releases in their order.
        moves: the answer.
    """
    foot = [not_covered(sides), CAVEAT]
    if broken := [move.after.release for move in moves if move.breaks_for_you]:
        foot.append(f"next: pt2bugs triage {name} --torch {broken[0]}")
    # The prompt of the shell takes a row, too.
    taken = 2 + sum(map(_rows, foot))
    for move in moves:
        yield f"{name}, torch {move.before.release} -> {move.after.release}"
        left = ROWS - taken - len(TITLES)
        lists = {key: [_shortened(str(entry)) for entry in getattr(move, key)] for key in TITLES}
        for number, (key, title) in enumerate(TITLES.items()):
            entries = lists[key]
            yield f"{title}: {len(entries) or 'nothing'}"
            # Each list that follows keeps room for its first entry and the number of the others.
            room = left - sum(_least(lists[later]) for later in list(TITLES)[number + 1 :])
            shown = 0
            for entry in entries:
                rest = len(entries) > shown + 1
                if shown and _rows(entry) + rest > room:
                    break
                yield entry
                shown, room, left = shown + 1, room - _rows(entry), left - _rows(entry)
            if shown < len(entries):
                left -= 1
                yield f"  and {len(entries) - shown} more (-o DIR, --json)"
    yield from foot


def _shortened(text: str) -> str:
    """Return an entry as a line that takes two rows at most."""
    return f"  {textwrap.shorten(text, 2 * COLUMNS - 12, placeholder=' ...')}"


def _least(entries: Sequence[str]) -> int:
    """Return the rows of the first entry, and of the number of the others."""
    return _rows(entries[0]) + (len(entries) > 1) if entries else 0


def _rows(line: str) -> int:
    return len(textwrap.wrap(line, COLUMNS, subsequent_indent="    "))
