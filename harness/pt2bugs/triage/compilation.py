"""Graph breaks and repeated compilations of a program that passes: how many, where, and what torch suggests."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

from pt2bugs.case.vocabulary import number_of
from pt2bugs.engine.folders import RunFolder
from pt2bugs.triage.program import Program
from pt2bugs.triage.runner import ProgramRunner, RunResult
from pt2bugs.triage.statements import rewrites

_PREFIX = re.compile(r"^(?:\[[^\]]*\]:? ?)*[VDIWE]\d{4} [\d:.]+ \d+ \S+:\d+\](?: \[[^\]]*\])* ?", re.MULTILINE)
"""Begin of every line that torch logs: time, process, place in torch, number of the compilation."""
_BREAK = re.compile(r"^Graph break[^\n]* in user code at (?P<file>\S+?):(?P<line>\d+)$", re.MULTILINE)
_RECOMPILED = re.compile(r"^Recompiling function (?P<name>\S+) in (?P<file>\S+?):(?P<line>\d+)$", re.MULTILINE)
_REASON = re.compile(r"^(?:Graph Break )?Reason: (?P<reason>.+)$", re.MULTILINE)
_CALL = "Encountered graph break when attempting to trace"
"""A reason that names no more than the instruction; the next paragraph has the cause."""
_GUARD = re.compile(r"^\s*- \d+/\d+: (?P<guard>.+)$", re.MULTILINE)
MAX_PLACES = 5


@dataclass(frozen=True)
class Place:
    """A line of the program at which graphs break or are compiled again.

    Attributes:
        what: ``break`` or ``recompilation``.
        where: File and line.
        times: How often.
        reason: As torch logs it.
        hints: Rewrites that torch suggests.
    """

    what: str
    where: str
    times: int
    reason: str
    hints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compilation:
    """Numbers of a run that passes, and the places of its graph breaks and repeated compilations."""

    graphs: int
    breaks: int
    recompiles: int
    places: tuple[Place, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as it stands in the JSON of a triage."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return it in words, the most frequent place first."""
        told = [
            f"Dynamo made {number_of(self.graphs, 'graph')}, with {number_of(self.breaks, 'graph break')}, "
            f"and compiled {number_of(self.recompiles, 'time')} again."
        ]
        for place in self.places[:MAX_PLACES]:
            what = "Graph break" if place.what == "break" else "Compiled again"
            told.append(f"{what} at {place.where} ({number_of(place.times, 'time')}): {place.reason[:160]}")
            told += [f"  torch suggests: {hint[:200]}" for hint in place.hints[:2]]
        if len(self.places) > MAX_PLACES:
            told.append(f"{number_of(len(self.places) - MAX_PLACES, 'more place')}: see triage.json.")
        return told


def compilation_of(runner: ProgramRunner, program: Program, result: RunResult) -> Compilation:
    """Run a program that passes once more, with torch's logs, and return what they say.

    Args:
        runner: runs programs.
        program: the program.
        result: a run of it, with its numbers.

    Raises:
        EngineError: the engine cannot be started.
    """
    with RunFolder.create("logs") as folder:
        logs = folder / "torch_logs.txt"
        env = {"TORCH_LOGS": "graph_breaks,recompiles", "TORCH_LOGS_OUT": str(logs)}
        runner.run(program.path, env=env, write=logs.parent, fresh=True)
        text = logs.read_text(encoding="utf-8", errors="replace") if logs.is_file() else ""
    places = places_in(runner.hide(text, program.path))
    return Compilation(result.graphs, result.breaks, result.recompiles, tuple(places))


def places_in(logs: str) -> list[Place]:
    """Return the places that torch's logs name, the most frequent first.

    Args:
        logs: the text that `TORCH_LOGS=graph_breaks,recompiles` makes torch write.
    """
    text = _PREFIX.sub("", logs)
    begins = sorted([*_BREAK.finditer(text), *_RECOMPILED.finditer(text)], key=lambda match: match.start())
    ends = [match.start() for match in begins[1:]] + [len(text)] * bool(begins)
    times: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], Place] = {}
    for match, end in zip(begins, ends, strict=True):
        part = text[match.end() : end]
        what = "break" if match.re is _BREAK else "recompilation"
        where = f"{match['file'].rpartition('/')[2]}:{match['line']}"
        reason, hints = _guards(part) if match.re is _RECOMPILED else _reason(part)
        times[what, where] += 1
        places.setdefault((what, where), Place(what, where, 0, reason, hints))
    return [replace(places[key], times=count) for key, count in times.most_common()]


def _reason(part: str) -> tuple[str, tuple[str, ...]]:
    """Return the cause of a graph break, and the rewrites that torch suggests."""
    match = _REASON.search(part)
    reason = match["reason"].strip() if match is not None else ""
    if match is not None and reason.startswith(_CALL):
        lines = [line.strip() for line in part[match.end() :].splitlines() if line.strip()]
        reason = lines[0] if lines else reason
    return reason, rewrites(part)


def _guards(part: str) -> tuple[str, tuple[str, ...]]:
    """Return the guard that failed, and what torch suggests about it."""
    guards = [match["guard"].partition("  #")[0].strip() for match in _GUARD.finditer(part)]
    hint = re.search(r"\(HINT: (?P<hint>[^)]+)\)", part)
    return (guards[0] if guards else ""), ((hint["hint"],) if hint else ())
