"""The report of a triage: the JSON contract, and a page fit to paste into an issue."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pt2bugs.case.expectation import public
from pt2bugs.case.observation import telling_line
from pt2bugs.report.markdown import code, code_block, escape
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import NO_EXPORT, Ladder
from pt2bugs.triage.minimize import Minimized
from pt2bugs.triage.redact import redact_source
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.reproducer import TEST_FILES, Reproducers
from pt2bugs.triage.since_when import Releases
from pt2bugs.triage.verdict import NOT_A_BUG, Verdict
from pt2bugs.triage.workarounds import workarounds

MAX_PROGRAM_LINES = 150
MAX_SIMILAR = 2
"""Matches that are only similar, told where none is the same."""
_RUNG_TITLES = {
    "none": "no compiler",
    "eager": "Dynamo alone",
    "aot_eager": "and AOTAutograd",
    "aot_eager_decomp_partition": "and decompositions, partitioner",
    "inductor": "and Inductor",
}


@dataclass
class Triage:
    """All that was found out, step by step; what a step has not answered is empty."""

    name: str
    torch: str
    found: Reproduction
    ladder: Ladder = field(default_factory=Ladder)
    classification: Classification | None = None
    verdict: Verdict | None = None
    known: list[dict[str, Any]] = field(default_factory=list)
    releases: Releases | None = None
    artifacts: list[Path] = field(default_factory=list)
    minimized: Minimized | None = None
    minimal_path: Path | None = None
    handed: Reproducers | None = None
    versions: str = ""
    notes: list[str] = field(default_factory=list)

    def as_json(self, base: Path | None = None) -> dict[str, Any]:
        """The contract. Paths are as the command was given its folder, or relative to `base`."""

        def shown(path: Path | None) -> str | None:
            if path is None:
                return None
            return path.relative_to(base).as_posix() if base is not None else path.as_posix()

        identity = self.found.identity
        minimized = self.minimized
        return {
            "outcome": str(identity.outcome),
            "identity": identity.as_json(),
            "rate": [self.found.failed, self.found.runs],
            "ladder": [step.as_json() for step in self.ladder.steps],
            "first_failing": self.ladder.first_failing or None,
            "class": self.classification.symptom if self.classification else None,
            "component": self.classification.component if self.classification else None,
            "known": self.known,
            "releases": self.releases.as_json() if self.releases else {},
            "artifacts": [shown(path) for path in self.artifacts],
            "minimized": {
                "lines_before": minimized.lines_before if minimized else None,
                "lines_after": minimized.lines_after if minimized else None,
                "path": shown(self.minimal_path),
            },
            "torch": self.torch,
            "verdict": self.verdict.verdict if self.verdict else None,
            "reason": (self.verdict.reason or None) if self.verdict else None,
            "workarounds": [workaround.as_json() for workaround in workarounds(self.ladder, self.releases)],
        }


def summary(triage: Triage) -> str:
    """A few lines for the terminal."""
    found, ladder, classification = triage.found, triage.ladder, triage.classification
    if not found.is_failure:
        lines = [_passes(triage)]
        trial = found.trial
        if trial.breaks or trial.recompiles:
            lines.append(
                f"  Dynamo made {trial.graphs} graphs, with {trial.breaks} graph breaks, "
                f"and compiled {trial.recompiles} times again"
            )
        lines += [f"  {sentence}" for sentence in triage.releases.sentences()] if triage.releases else []
        return "\n".join([*lines, *(f"  note: {note}" for note in triage.notes)])
    lines = [f"{found.identity.outcome} in {found.failed} of {found.runs} runs on torch {public(triage.torch)}"]
    lines.append(f"  {found.identity.headline[:240]}")
    if found.identity.place:
        lines.append(f"  in {found.identity.frame}")
    if ladder.first_failing:
        lines.append(f"  first failing: {ladder.first_failing}" + (f" ({ladder.pass_})" if ladder.pass_ else ""))
    if other := ladder.fails_otherwise:
        lines.append(f"  {other.rung} below it fails in another way: {_short(other.identity)}")
    if classification is not None and classification.symptom:
        lines.append(f"  class: {classification.symptom}, component: {classification.component} ({classification.why})")
    if triage.verdict is not None and triage.verdict.verdict == NOT_A_BUG:
        lines.append(f"  no bug of the compiler ({triage.verdict.reason}): {triage.verdict.why}")
    elif triage.verdict is not None and triage.verdict.verdict != "bug":
        lines.append(f"  a {triage.verdict.verdict}: {triage.verdict.why}")
        lines += [f"    {hint}" for hint in triage.verdict.hints]
    lines += [f"  passes with {one.what}" for one in workarounds(ladder, triage.releases) if one.passes]
    for match in triage.known[:MAX_SIMILAR]:
        lines.append(f"  {match['kind']}: {match['case']} {match['title']} ({match['advice']})")
    if triage.releases is not None:
        lines += [f"  {sentence}" for sentence in triage.releases.sentences()]
    minimized = triage.minimized
    if minimized is not None and minimized.lines_after < minimized.lines_before:
        lines.append(f"  minimized from {minimized.lines_before} to {minimized.lines_after} lines of code")
    lines += [f"  note: {note}" for note in triage.notes]
    return "\n".join(lines)


def _short(identity: Identity) -> str:
    """A failure on one line."""
    text = f"{identity.error_type}: {telling_line(identity.message)}".strip(": ")
    return f"{identity.outcome}, {text[:120]}" if text else str(identity.outcome)


def report(triage: Triage, source: str, folder: Path) -> str:
    """The page in Markdown."""
    if not triage.found.is_failure:
        return _report_of_a_pass(triage, source)
    classification = triage.classification
    parts = [f"# {escape(triage.found.identity.headline[:160])}", "", *_verdict(triage)]
    if triage.verdict is not None and triage.verdict.verdict == NOT_A_BUG:
        program = code_block("\n".join(_program(source)), "python")
        parts += ["## What happens", "", *_what(triage), "", "## Program", "", program, ""]
        return "\n".join([*parts, *(["## Layer", "", *_layer(triage), ""] if triage.ladder.steps else [])])
    parts += ["## What happens", "", *_what(triage), ""]
    program = code_block("\n".join(_program(source)), "python")
    parts += ["## Minimal program", "", program, "", *_shrunk(triage), ""]
    parts += ["## Layer", "", *_layer(triage), ""]
    if classification is not None and classification.symptom:
        parts += ["## Class", "", *_class(classification), ""]
    if triage.releases is not None and triage.releases.answers:
        parts += ["## Since when", "", *_releases(triage.releases), ""]
    parts += ["## Known?", "", *_known(triage), ""]
    parts += ["## What was tried, and what is here", "", *_tried(triage, folder), ""]
    if triage.versions:
        parts += ["## Versions", "", code_block(triage.versions), ""]
    return "\n".join(parts)


def _verdict(triage: Triage) -> list[str]:
    """Return what to do, before anything else: whose fault it is, and what passes."""
    lines: list[str] = []
    if triage.verdict is not None:
        title = {"bug": "A bug", "limitation": "A limitation", NOT_A_BUG: "No bug of the compiler"}
        lines += [f"**{title[triage.verdict.verdict]}**: {escape(triage.verdict.why)}.", ""]
        lines += [f"- torch suggests: {escape(hint)}" for hint in triage.verdict.hints]
    lines += [
        f"- passes with {code(workaround.what)} ({workaround.graphs} graphs, {workaround.breaks} breaks)"
        for workaround in workarounds(triage.ladder, triage.releases)
        if workaround.passes
    ]
    return [*lines, ""] if lines and lines[-1] else lines


def _report_of_a_pass(triage: Triage, source: str) -> str:
    """The page of a program that has no failure: what it does on each release."""
    does = "passes" if triage.releases is None or not triage.releases.bad else "runs otherwise"
    parts = [f"# {triage.name}: {does} on torch {public(triage.torch)}", "", f"It {_passes(triage)}.", ""]
    if triage.releases is not None and triage.releases.answers:
        parts += ["## From release to release", "", *_releases(triage.releases), ""]
    parts += [*(f"- {note}" for note in triage.notes), *([""] if triage.notes else [])]
    return "\n".join([*parts, "## Program", "", code_block("\n".join(_program(source)), "python"), ""])


def _passes(triage: Triage) -> str:
    found = triage.found
    return f"passes in {found.runs - found.failed} of {found.runs} runs on torch {public(triage.torch)}"


def _what(triage: Triage) -> list[str]:
    found = triage.found
    identity = found.identity
    rate = f"In {found.failed} of {found.runs} runs on torch {public(triage.torch)}"
    how = {
        "wrong": "the program's own comparison fails",
        "raise": "the compiler raises, and the program catches it" if found.trial.is_caught else "it raises",
        "crash": f"the process dies by {identity.signal}" if identity.signal else "the process leaves without a word",
        "timeout": "it does not end",
        "oom": "it runs out of memory",
    }.get(str(identity.outcome), str(identity.outcome))
    said = f"{identity.error_type}{': ' if identity.error_type else ''}{identity.message}"
    lines = [f"{rate} {how}:", "", code_block(said)]
    if identity.place:
        lines += ["", f"The innermost torch frame is `{identity.frame}`."]
    if found.trial.text:
        lines += [
            "",
            "<details><summary>Traceback</summary>",
            "",
            code_block(found.trial.text.strip()),
            "",
            "</details>",
        ]
    return lines


def _program(source: str) -> list[str]:
    lines = redact_source(source).strip("\n").splitlines()
    if len(lines) > MAX_PROGRAM_LINES:
        return [*lines[:MAX_PROGRAM_LINES], f"# ... and {len(lines) - MAX_PROGRAM_LINES} more lines: see minimal.py"]
    return lines


def _shrunk(triage: Triage) -> list[str]:
    one = triage.minimized
    if one is None:
        return []
    if one.why_not and one.lines_after >= one.lines_before:
        return [f"The program was not reduced: {one.why_not}."]
    text = f"{one.lines_before} lines of code became {one.lines_after}"
    text += f" ({one.tries} programs were tried; each kept had this failure at this layer)."
    return [text if not one.why_not else f"{text} The reduction ended early: {one.why_not}."]


def _layer(triage: Triage) -> list[str]:
    ladder = triage.ladder
    if not ladder.steps:
        return ["No rung was tried."]
    lines = ["| rung | outcome | as above | says |", "| --- | --- | --- | --- |"]
    exports = any(step.rung in NO_EXPORT for step in ladder.steps)
    for step in ladder.steps:
        title = "no torch.compile; it exports" if exports and step.rung == "none" else _RUNG_TITLES.get(step.rung)
        name = f"{step.rung} ({title})" if title else step.rung
        says = telling_line(step.identity.message).replace("|", "\\|")[:100]
        lines.append(f"| {name} | {step.identity.outcome} | {'yes' if step.same else 'no'} | {says} |")
    if ladder.first_failing:
        lines += ["", f"The first rung that fails in this way is `{ladder.first_failing}`."]
    if other := ladder.fails_otherwise:
        lines.append(
            f"Below it `{other.rung}` fails in another way ({_short(other.identity)}): what is wrong may begin there."
        )
    if ladder.pass_:
        lines.append(f"Torch's CompilerBisector names {ladder.pass_}.")
    elif ladder.why_no_pass:
        lines.append(f"Torch's CompilerBisector cannot narrow it: {ladder.why_no_pass}.")
    return lines


def _class(classification: Classification) -> list[str]:
    lines = [f"- class: {classification.symptom}", f"- component: {classification.component}"]
    if classification.operator:
        lines.append(f"- operator: `{classification.operator}`")
    lines += [f"- labels upstream: {', '.join(classification.labels)}", f"- because: {classification.why}"]
    return lines


def _releases(releases: Releases) -> list[str]:
    lines = ["| torch | outcome | seconds | says |", "| --- | --- | --- | --- |"]
    for name, answer in releases.as_json().items():
        says = (answer["message"] or releases.changes.get(name, ""))[:160].replace("|", chr(92) + "|")
        seconds = "" if answer["seconds"] is None else answer["seconds"]
        lines.append(f"| {name} | {answer['outcome']} | {seconds} | {says} |")
    return [*lines, "", *releases.sentences()]


def _known(triage: Triage) -> list[str]:
    if not triage.known:
        return ["No bug of the corpus matches."]
    same = [match for match in triage.known if match["kind"] == "identity"]
    return [
        f"- {match['kind']} ({match['score']:.2f}): [{match['case']}]({match['issue']}) {match['title']}. "
        f"{match['advice']}"
        for match in same or triage.known[:MAX_SIMILAR]
    ]


def _tried(triage: Triage, folder: Path) -> list[str]:
    lines = []
    if triage.handed is not None:
        component = triage.classification.component if triage.classification else None
        belongs = TEST_FILES.get(component or "", ("test/dynamo/test_repros.py", ""))[0]
        lines += [
            f"- `{triage.handed.case.name}`: a case for the corpus",
            f"- `{triage.handed.test.name}`: a unit test; it belongs to `{belongs}` (beside torch it needs expecttest)",
        ]
    lines += artifact_lines([_relative(path, folder) for path in triage.artifacts])
    lines += [f"- {note}" for note in triage.notes]
    return lines or ["Nothing beside the above."]


def artifact_lines(paths: list[str]) -> list[str]:
    """A line for each kind of artifact: where a reader begins, and how much more there is."""
    kinds: dict[str, list[str]] = {}
    for path in paths:
        kinds.setdefault("/".join(path.split("/")[:2]), []).append(path)
    lines = []
    for kind, files in kinds.items():
        first = next((path for name in _BEGIN for path in files if path.endswith(f"/{name}")), files[0])
        more = f", and {len(files) - 1} more files in `{kind}/`" if len(files) > 2 else ""
        lines += [f"- `{path}`{more}" for path in ([first] if more else files)]
    return lines


_BEGIN = ("index.html", "repro.py", "output_code.py")


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
