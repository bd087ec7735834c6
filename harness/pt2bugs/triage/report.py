"""The report of a triage: the JSON contract, a few lines for the terminal, and a page to paste into an issue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pt2bugs.case.observation import shortened, telling_line
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Outcome, number_of
from pt2bugs.report.markdown import code, escape, link, table
from pt2bugs.report.templates import markdown_templates
from pt2bugs.triage.classify import Classification
from pt2bugs.triage.compilation import Compilation
from pt2bugs.triage.identity import Identity
from pt2bugs.triage.ladder import (
    FAKE_TENSORS,
    FUNCTIONALIZE,
    INSIDE_AOT,
    INSIDE_INDUCTOR,
    NO_EXPORT,
    SETTINGS,
    SHAPES,
    Ladder,
)
from pt2bugs.triage.minimize import Minimized
from pt2bugs.triage.reproduce import Reproduction
from pt2bugs.triage.reproducer import TEST_FILES, Reproducers
from pt2bugs.triage.since_when import Releases
from pt2bugs.triage.verdict import NOT_A_BUG, Verdict
from pt2bugs.triage.workarounds import Workaround, of_releases

LIMIT = 4096
"""Bytes of the page beside the program and the traceback."""
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
_VARIANTS = {*SHAPES, *SETTINGS, *FAKE_TENSORS, *INSIDE_AOT, *INSIDE_INDUCTOR, FUNCTIONALIZE}
_VERSIONS = (
    "PyTorch version",
    "Python version",
    "OS:",
    "CUDA used",
    "GPU",
    "Model name",
    "[pip3] torch",
    "[pip3] triton",
)
"""Begins of the lines of `collect_env` that the page repeats."""


@dataclass
class Triage:
    """The result of all steps; fields of steps that gave no answer are empty."""

    name: str
    torch: str
    reproduction: Reproduction
    ladder: Ladder = field(default_factory=Ladder)
    classification: Classification | None = None
    verdict: Verdict | None = None
    known: list[dict[str, Any]] = field(default_factory=list)
    releases: Releases | None = None
    artifacts: list[Path] = field(default_factory=list)
    minimized: Minimized | None = None
    minimal_path: Path | None = None
    handed: Reproducers | None = None
    tried: list[Workaround] = field(default_factory=list)
    compilation: Compilation | None = None
    versions: str = ""
    notes: list[str] = field(default_factory=list)
    answered_s: tuple[float, ...] = ()
    """Wall and processor seconds after which layer, class, known bugs and verdict were there."""

    @property
    def is_examined(self) -> bool:
        """True once the failure has a class."""
        return self.classification is not None

    @property
    def workarounds(self) -> list[Workaround]:
        """Everything that was tried, what passes first."""
        is_bug = self.verdict is not None and self.verdict.verdict != NOT_A_BUG
        every = [*self.tried, *(of_releases(self.releases) if is_bug else ())]
        return sorted(every, key=lambda workaround: not workaround.passes)

    def as_json(self, base: Path | None = None) -> dict[str, Any]:
        """Return the JSON contract.

        Args:
            base: folder to which paths are relative; None: they are as the command was given its folder.
        """

        def shown(path: Path | None) -> str | None:
            if path is None:
                return None
            return path.relative_to(base).as_posix() if base is not None else path.as_posix()

        identity = self.reproduction.identity
        minimized = self.minimized
        return {
            "outcome": str(identity.outcome),
            "identity": identity.as_json(),
            "rate": [self.reproduction.failed, self.reproduction.runs],
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
            "workarounds": [workaround.as_json() for workaround in self.workarounds],
            **({"compilation": self.compilation.as_json()} if self.compilation is not None else {}),
        }


def summary(triage: Triage) -> str:
    """Return a few lines for the terminal.

    Args:
        triage: the result.
    """
    reproduction, ladder, classification = triage.reproduction, triage.ladder, triage.classification
    if not reproduction.is_failure:
        lines = [_rate(triage)]
        lines += [f"  {sentence}" for sentence in triage.compilation.sentences()] if triage.compilation else []
        lines += [f"  {sentence}" for sentence in triage.releases.sentences()] if triage.releases else []
        return "\n".join([*lines, *(f"  note: {note}" for note in triage.notes)])
    identity = reproduction.identity
    lines = [f"{identity.outcome} in {reproduction.failed} of {reproduction.runs} runs on torch {public(triage.torch)}"]
    lines.append(f"  {shortened(identity.headline, 240)}")
    if identity.place:
        lines.append(f"  in {identity.frame}")
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
    lines += [f"  passes with {workaround.what}" for workaround in triage.workarounds if workaround.passes]
    for match in triage.known[:MAX_SIMILAR]:
        lines.append(f"  {match['kind']}: {match['case']} {match['title']} ({match['advice']})")
    if triage.releases is not None:
        lines += [f"  {sentence}" for sentence in triage.releases.sentences()]
    minimized = triage.minimized
    if minimized is not None and minimized.lines_after < minimized.lines_before:
        lines.append(f"  minimized from {minimized.lines_before} to {number_of(minimized.lines_after, 'line')} of code")
    lines += [f"  note: {note}" for note in triage.notes]
    return "\n".join(lines)


def _rate(triage: Triage) -> str:
    """Return how often the program passes, or fails."""
    reproduction, torch = triage.reproduction, public(triage.torch)
    if reproduction.is_failure:
        return f"In {reproduction.failed} of {reproduction.runs} runs on torch {torch}"
    return f"passes in {reproduction.runs - reproduction.failed} of {reproduction.runs} runs on torch {torch}"


def _short(identity: Identity) -> str:
    """Return a failure on one line."""
    text = f"{identity.error_type}: {telling_line(identity.message)}".strip(": ")
    return f"{identity.outcome}, {text[:120]}" if text else str(identity.outcome)


# --- the page ------------------------------------------------------------------------------------------


def report(triage: Triage, source: str, folder: Path) -> str:
    """Return the page in Markdown: at most `LIMIT` bytes beside the program and the traceback.

    Args:
        triage: the result.
        source: the smallest program so far, without secrets.
        folder: that the page stands in.
    """
    kept = (_program(source), triage.reproduction.result.text.strip())
    page = ""
    for divisor in (1, 2, 4, 8):
        page = _page(triage, kept[0], folder, divisor)
        if len(page.encode()) - sum(len(text.encode()) for text in kept) <= LIMIT:
            break
    return page


def _page(triage: Triage, program: str, folder: Path, divisor: int) -> str:
    """Return the page; every text of it but the program and the traceback has that part of its room."""

    def short(text: str, room: int) -> str:
        limit = room // divisor
        return text if len(text) <= limit else f"{text[: limit - 4].rstrip()} ..."

    environment = markdown_templates("pt2bugs.triage")
    environment.filters["short"] = short
    reproduction, releases = triage.reproduction, triage.releases
    identity = reproduction.identity
    does = "passes" if releases is None or not releases.bad else "runs otherwise"
    same = [match for match in triage.known if match["kind"] == "identity"]
    component = triage.classification.component if triage.classification else None
    page = environment.get_template("report.md.j2").render(
        triage=triage,
        reproduction=reproduction,
        title=identity.headline
        if reproduction.is_failure
        else f"{triage.name}: {does} on torch {public(triage.torch)}",
        is_no_bug=triage.verdict is not None and triage.verdict.verdict == NOT_A_BUG,
        rate=_rate(triage),
        compilation=triage.compilation.sentences() if triage.compilation is not None else [],
        manner=_manner(reproduction),
        said=f"{identity.error_type}{': ' if identity.error_type else ''}{identity.message}",
        known=same or triage.known[:MAX_SIMILAR],
        link=link,
        passing=[workaround for workaround in triage.workarounds if workaround.passes],
        program=program,
        reduction=_reduction(triage.minimized),
        versions="\n".join(line for line in triage.versions.splitlines() if line.strip().startswith(_VERSIONS)),
        ladder=_layers(triage.ladder, short) if triage.ladder.steps else "",
        layer=list(_about_layer(triage.ladder)),
        releases=_releases(releases, short) if releases is not None else "",
        test_file=TEST_FILES.get(component or "", ("test/dynamo/test_repros.py", ""))[0],
        artifacts=artifact_lines([_relative(path, folder) for path in triage.artifacts])[: 8 // divisor],
    )
    return f"{page.strip()}\n"


def _manner(reproduction: Reproduction) -> str:
    """Return the way in which a program fails, in words."""
    identity = reproduction.identity
    return {
        "wrong": "the program's own comparison fails",
        "raise": "the compiler raises, and the program catches it" if reproduction.result.is_caught else "it raises",
        "crash": f"the process dies by {identity.signal}" if identity.signal else "the process leaves without a word",
        "timeout": "it does not end",
        "oom": "it runs out of memory",
    }.get(str(identity.outcome), str(identity.outcome))


def _program(source: str) -> str:
    """Return a program, as far as the page has room for it."""
    lines = source.strip("\n").splitlines()
    if len(lines) > MAX_PROGRAM_LINES:
        lines = [*lines[:MAX_PROGRAM_LINES], f"# ... and {len(lines) - MAX_PROGRAM_LINES} more lines: see minimal.py"]
    return "\n".join(lines)


def _reduction(minimized: Minimized | None) -> str:
    """Return what became of the program, in words."""
    if minimized is None:
        return ""
    if minimized.why_not and minimized.lines_after >= minimized.lines_before:
        return f"The program was not reduced: {minimized.why_not}."
    text = (
        f"{number_of(minimized.lines_before, 'line')} of code became {minimized.lines_after} "
        f"({minimized.tries} programs were tried; each kept had this failure at this layer)."
    )
    return f"{text} The reduction ended early: {minimized.why_not}." if minimized.why_not else text


def _layers(ladder: Ladder, short: Callable[[str, int], str]) -> str:
    """Return the layers, and the rungs that name one, as a table."""
    exports = any(step.rung in NO_EXPORT for step in ladder.steps)
    rows = []
    for step in ladder.steps:
        if step.rung in _VARIANTS:
            continue
        title = "no torch.compile; it exports" if exports and step.rung == "none" else _RUNG_TITLES.get(step.rung)
        name = f"{step.rung} ({title})" if title else step.rung
        says = escape(short(telling_line(step.identity.message), 80))
        rows.append((name, str(step.identity.outcome), "yes" if step.same else "no", says))
    return table(("rung", "outcome", "as above", "says"), rows)


def _about_layer(ladder: Ladder) -> list[str]:
    """Return what the variants of the first failing rung and torch's bisector say, in Markdown."""
    lines = []
    # Where fake tensors are compared nothing is compiled: that it passes is no way out.
    variants = [step for step in ladder.steps if step.rung in _VARIANTS - {*FAKE_TENSORS}]
    for words, steps in (
        ("It passes with", [step for step in variants if step.identity.outcome is Outcome.PASS]),
        ("It fails in this way with", [step for step in variants if step.same]),
    ):
        if steps:
            lines.append(f"{words} {', '.join(code(step.rung) for step in steps)}.")
    if other := ladder.fails_otherwise:
        how = escape(_short(other.identity))
        lines.append(f"Below it {code(other.rung)} fails in another way ({how}): what is wrong may begin there.")
    if ladder.pass_:
        lines.append(f"Torch's CompilerBisector names {escape(ladder.pass_)}.")
    return lines


def _releases(releases: Releases, short: Callable[[str, int], str]) -> str:
    """Return the answers of the releases as a table."""
    rows = []
    for name, answer in releases.as_json().items():
        says = escape(short(answer["message"] or answer["change"], 100))
        rows.append((name, answer["outcome"], "" if answer["seconds"] is None else str(answer["seconds"]), says))
    return table(("torch", "outcome", "seconds", "says"), rows)


def artifact_lines(paths: list[str]) -> list[str]:
    """Return a line for each kind of artifact: where a reader begins, and how much more there is.

    Args:
        paths: of the files, below the folder of the page.
    """
    kinds: dict[str, list[str]] = {}
    for path in paths:
        kinds.setdefault("/".join(path.split("/")[:2]), []).append(path)
    lines = []
    for kind, files in kinds.items():
        first = next((path for name in _BEGIN for path in files if path.endswith(f"/{name}")), files[0])
        more = f", and {len(files) - 1} more files in `{kind}/`" if len(files) > 2 else ""
        lines += [f"`{path}`{more}" for path in ([first] if more else files)]
    return lines


_BEGIN = ("index.html", "repro.py", "output_code.py")


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
