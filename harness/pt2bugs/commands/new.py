"""`pt2bugs new`: a case file from an issue and a script, complete but for what only a person knows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version

from pt2bugs.case.words import COMPONENTS, SYMPTOMS
from pt2bugs.commands import OK
from pt2bugs.commands.console import say
from pt2bugs.curate.draft import case_text, empty_script, name_of, read_script
from pt2bugs.curate.marks import marks_in
from pt2bugs.errors import InputError
from pt2bugs.files import write_text

EXAMPLES = (("pt2bugs new 163640 --from script.py", "a case file from a script that shows the bug"),)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command takes. `script` is a script, or the folder that a triage left."""

    issue: str
    script: Path | None = None
    title: str = ""
    component: str = ""
    symptom: str = ""
    cases: Path = Path("cases")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("issue", metavar="ISSUE|ID", help="an issue's number or address, or an id")
    parser.add_argument(
        "--from", dest="script", type=Path, metavar="SCRIPT", help="the program, or the folder that `triage -o` left"
    )
    parser.add_argument("--title", default="", help="the bug in one line")
    parser.add_argument(
        "--component", default="", choices=COMPONENTS, metavar="NAME", help="the layer that has the bug"
    )
    parser.add_argument("--symptom", default="", choices=SYMPTOMS, metavar="NAME", help="how it shows")
    parser.add_argument(
        "--cases", type=Path, default=Path("cases"), metavar="DIR", help="the corpus (default: ./cases)"
    )


def run(options: Options) -> int:
    name = name_of(options.issue)
    script = read_script(options.script) if options.script else empty_script()
    settings = {"title": options.title, "component": options.component, "symptom": options.symptom}
    text = case_text(name, script, settings, _torch())
    component = options.component or dict(script.told).get("component", "")
    # A corpus with an unfinished header stops every command: without a component the file waits outside.
    is_ready = component in COMPONENTS and 'title = ""' not in text and 'symptom = ""' not in text
    path = (options.cases / component if is_ready else Path()) / f"{name.id}.py"
    known = [path, *options.cases.rglob(f"{name.id}.py")]
    for one in known:
        if one.exists():
            raise InputError(f"{one}: is there already; name another id, or edit it")
    write_text(path, text)
    print(path)
    marks = marks_in(text)
    for mark in marks:
        say(f"{path}:{mark.line}: {mark.text}")
    if marks:
        say(f"next: fill these lines in, with pt2bugs check --watch {path}")
    say(f"then: pt2bugs run {name.id} --torch minors" if is_ready else f"then: pt2bugs check --fix {path}")
    return OK


def _torch() -> str:
    """The installed torch release; empty if there is none."""
    try:
        return Version(metadata.version("torch")).public
    except (metadata.PackageNotFoundError, InvalidVersion):
        return ""
